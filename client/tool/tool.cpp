#include "tool.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

namespace belay::tool {
namespace {

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

void put_tags(Json& filter, const std::vector<std::string>& tags) {
    for (const auto& tag : tags) {
        const std::size_t equals = tag.find('=');
        if (equals == std::string::npos) {
            throw UsageError("a tag is given as KEY=VALUE");
        }
        filter["tags"][tag.substr(0, equals)] = tag.substr(equals + 1);
    }
}

ConnectionOptions Tool::connection_options() const {
    ConnectionOptions options{.conninfo = dsn};
    // A person does not want to wait long for a server that is away.
    options.reconnect_timeout = Milliseconds(5000);
    options.on_notice = [](std::string_view notice) { std::cerr << printable(notice) << "\n"; };
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
            throw UsageError(hubs.empty() ? "this database has no hub"
                                          : "this database has several hubs: name one with --hub");
        }
        hub_name = hubs[0].name;
    }
    return hub_name;
}

Hub Tool::hub() {
    const std::string& name = chosen_hub();
    return Hub(connection(), name);
}

void Tool::print(const Json& rows, const std::vector<Column>& columns) const {
    if (json) {
        std::cout << json_text(rows) << "\n";
    } else {
        std::cout << table(rows, columns, terminal_width());
    }
}

void Tool::say(const Json& object, const std::string& sentence) const {
    std::cout << (json ? json_text(object) : printable(sentence)) << "\n";
}

}  // namespace belay::tool
