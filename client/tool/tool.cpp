// What the commands share: connection, hub, ids and output.
//
// May touch: the terminal's size, one connection, the streams. Must not: know a command.
#include "tool.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace belay::tool {
namespace {

std::string names_of(const std::vector<HubInfo>& hubs) {
    std::string names;
    for (const auto& hub : hubs) {
        names += (names.empty() ? "" : ", ") + hub.name;
    }
    return names;
}

std::optional<winsize> terminal_size() {
    winsize size{};
    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
        size.ws_col == 0 || size.ws_row == 0) {
        return std::nullopt;
    }
    return size;
}

}  // namespace

std::optional<std::size_t> terminal_width() {
    const auto size = terminal_size();
    return size ? std::optional<std::size_t>(size->ws_col) : std::nullopt;
}

std::optional<std::size_t> terminal_height() {
    const auto size = terminal_size();
    return size ? std::optional<std::size_t>(size->ws_row) : std::nullopt;
}

Uuid id_of(const std::string& text) {
    const auto id = Uuid::parse(text);
    if (!id) {
        throw UnknownId("\"" + text + "\" is not an id", "Ids of tasks and flows are UUIDs.");
    }
    return *id;
}

Json tags_of(const std::vector<std::string>& tags) {
    Json object = Json::object();
    for (const auto& tag : tags) {
        const std::size_t equals = tag.find('=');
        if (equals == std::string::npos) {
            throw UsageError("a header is given as KEY=VALUE");
        }
        object[tag.substr(0, equals)] = tag.substr(equals + 1);
    }
    return object;
}

ConnectionOptions Tool::connection_options() const {
    ConnectionOptions options{.conninfo = dsn};
    // A person does not want to wait long for a server that is away.
    options.reconnect_timeout = Milliseconds(5000);
    options.on_notice = [](std::string_view notice) {
        std::cerr << printable_lines(notice) << "\n";
    };
    return options;
}

Connection& Tool::connection() {
    if (!connection_) {
        connection_ = std::make_unique<Connection>(connection_options());
    }
    return *connection_;
}

const std::string& Tool::chosen_hub() {
    if (hub_name.empty()) {
        const auto hubs = admin().hubs();
        if (hubs.size() != 1) {
            throw hubs.empty() ? UsageError("this database has no hub",
                                            "SELECT belay.create_hub('app') makes one.")
                               : UsageError("this database has several hubs: name one with --hub",
                                            "Hubs: " + names_of(hubs) + ".");
        }
        hub_name = hubs[0].name;
    }
    return hub_name;
}

Hub Tool::hub(const std::string& name) {
    auto known = rights_.find(name);
    if (known == rights_.end()) {
        known = rights_.emplace(name, admin().rights_on(name)).first;
    }
    return Hub(connection(), name, server_clock(), known->second);
}

void Tool::check_can_work() {
    if (hub().rights() == Rights::kOwner) {
        throw UsageError("this role has more rights than the owner of hub \"" + chosen_hub() +
                             "\", whose code could use them",
                         "Connect as the owner, or as a role that has nothing but level worker.");
    }
}

std::optional<Tool::Missing> Tool::find_missing(const Error& error) noexcept {
    // A schema, table, view or function that does not exist.
    static constexpr std::string_view kStates[] = {"3F000", "42P01", "42883"};
    if (std::ranges::find(kStates, error.sqlstate()) == std::end(kStates)) {
        return std::nullopt;
    }
    try {
        const Result found = connection().call(
            Effect::kRepeatable,
            "SELECT current_database(), EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname "
            "= 'belay')");
        const std::string database = "database \"" + found.get<std::string>(0, 0) + "\"";
        if (!found.get<bool>(0, 1)) {
            return Missing{database + " does not have the extension belay",
                           "CREATE EXTENSION belay makes it; --dsn or PGDATABASE names another "
                           "database."};
        }
        const auto hubs = admin().hubs();
        if (hub_name.empty() ||
            std::ranges::find(hubs, hub_name, &HubInfo::name) != std::end(hubs)) {
            return std::nullopt;
        }
        return Missing{database + " has no hub \"" + hub_name + "\"",
                       hubs.empty() ? "SELECT belay.create_hub('" + hub_name + "') makes it."
                                    : "Hubs there: " + names_of(hubs) + "."};
    } catch (const std::exception&) {
        return std::nullopt;  // the error speaks for itself
    }
}

void Tool::print(const Json& rows, const std::vector<Column>& columns) const {
    if (json) {
        std::cout << json_text(rows) << "\n";
    } else {
        std::cout << table(rows, columns, terminal_width());
    }
}

void Tool::print_page(Json rows, const OptionalText& next,
                      const std::vector<Column>& columns) const {
    for (auto& row : rows) {
        row["cursor"] = nullptr;
    }
    if (!rows.empty()) {
        rows.back()["cursor"] = json_of(next);
    }
    print(rows, columns);
    if (!json && next) {
        std::cout << "more: --after " << printable(*next) << "\n";
    }
}

void Tool::say(const Json& object, const std::string& sentence) const {
    std::cout << (json ? json_text(object) : printable(sentence)) << "\n";
}

BrowsedRows browse(Hub& hub, const Browse& given) {
    constexpr int kMostRows = 1000;
    constexpr int kScan = 100000;
    const std::string sql =
        "SELECT " + hub.schema() + "." + given.function +
        "(CAST($1 AS jsonb), $2, $3, p_limit => $4, p_scan => $5" +
        (given.preview ? ", p_preview => " + std::to_string(*given.preview) : "") + ")";
    BrowsedRows found{Json::array(), given.after};
    int left = given.limit;
    do {
        const auto page = Json::parse(hub.query(Effect::kRepeatable, sql,
                                                {given.filter.dump(), std::string(given.order),
                                                 found.next, std::min(left, kMostRows), kScan})
                                          .get<std::string>(0, 0));
        for (const auto& row : page["rows"]) {
            found.rows.push_back(row);
        }
        found.next =
            page["next"].is_null() ? OptionalText() : OptionalText(page["next"].get<std::string>());
        left = given.limit - static_cast<int>(found.rows.size());
    } while (left > 0 && found.next);
    return found;
}

Json fields_of(const Json& row, const std::vector<Field>& fields) {
    Json chosen = Json::object();
    for (const auto& field : fields) {
        chosen[field.to] = row.at(field.from);
    }
    return chosen;
}

}  // namespace belay::tool
