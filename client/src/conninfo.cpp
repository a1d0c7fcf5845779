// Where libpq connects to, and where a password may be sent when a hub has moved.
//
// May touch: nothing outside. Must not: connect; connection.cpp does.
#include "conninfo.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "belay/connection.hpp"
#include "belay/types.hpp"

namespace belay {

Conninfo::Conninfo(const std::string& text, const std::optional<HubPlace>& place) {
    add("fallback_application_name", "belay");
    if (!place) {
        add("dbname", text);
    } else {
        read(text);
        add("host", place->host);
        add("port", std::to_string(place->port));
    }
    add("client_encoding", "UTF8");
    for (const auto& [keyword, value] : parts) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
}

void Conninfo::add(std::string_view keyword, std::string_view value) {
    parts.emplace_back(keyword, value);
}

void Conninfo::read(const std::string& text) {
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
        PQconninfoParse(text.c_str(), nullptr), &PQconninfoFree);
    if (!parsed) {
        add("dbname", text);
        return;
    }
    for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
        const std::string_view keyword = option->keyword;
        if (option->val != nullptr && keyword != "host" && keyword != "hostaddr" &&
            keyword != "port" && keyword != "client_encoding") {
            add(option->keyword, option->val);
        }
    }
}

std::string conninfo_at(const std::string& text, const std::optional<HubPlace>& place) {
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
        PQconninfoParse(text.c_str(), nullptr), &PQconninfoFree);
    std::string made;
    const auto add = [&made](std::string_view keyword, std::string_view value) {
        made.append(made.empty() ? "" : " ").append(keyword).append("='");
        for (const char c : value) {
            made.append(c == '\'' || c == '\\' ? "\\" : "").append(1, c);
        }
        made += "'";
    };
    if (!parsed) {
        add("dbname", text);  // a text without parameters is the name of a database
    }
    bool has_limit = std::getenv("PGCONNECT_TIMEOUT") != nullptr;
    for (const PQconninfoOption* option = parsed.get();
         option != nullptr && option->keyword != nullptr; ++option) {
        const std::string_view keyword = option->keyword;
        const bool is_where = keyword == "host" || keyword == "hostaddr" || keyword == "port";
        if (option->val != nullptr && !(place && is_where)) {
            add(keyword, option->val);
            has_limit = has_limit || keyword == "connect_timeout";
        }
    }
    if (place) {
        add("host", place->host);
        add("port", std::to_string(place->port));
    }
    if (!has_limit) {
        add("connect_timeout", "5");
    }
    return made;
}

namespace {

// The hub that an error with a place is about.
std::string hub_of(const Error& error) {
    const Json detail = Json::parse(error.detail(), nullptr, false);
    const auto hub = detail.is_object() ? detail.find("hub") : detail.end();
    return hub != detail.end() && hub->is_string() ? hub->get<std::string>() : "";
}

// The places that connections of this process have followed, by conninfo and hub.
struct Followed {
    std::mutex mutex;
    std::map<std::string, std::map<std::string, HubPlace>> places;  // guarded by mutex
};

Followed& followed() {
    static Followed all;
    return all;
}

void remember_place(const std::string& conninfo, const std::string& hub, const HubPlace& place) {
    const std::lock_guard lock(followed().mutex);
    followed().places[conninfo][hub] = place;
}

// The place of the hub that a message names as a missing schema.
std::optional<HubPlace> place_of_missing(const std::string& conninfo, std::string_view message) {
    const std::lock_guard lock(followed().mutex);
    const auto hubs = followed().places.find(conninfo);
    if (hubs == followed().places.end()) {
        return std::nullopt;
    }
    for (const auto& [hub, place] : hubs->second) {
        if (message.find('"' + hub + '"') != std::string_view::npos) {
            return place;
        }
    }
    return std::nullopt;
}

bool is_address(std::string_view host) {
    return host.find(':') != std::string_view::npos ||
           host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// What follows the first label of a name, if it has two labels or more: "example.com" of
// "db.example.com". "" for other names: "com" belongs to no owner, and a bare name has no domain.
std::string_view domain_of(std::string_view host) {
    if (host.ends_with('.')) {
        host.remove_suffix(1);
    }
    const auto dot = host.find('.');
    if (is_address(host) || dot == std::string_view::npos) {
        return "";
    }
    const std::string_view domain = host.substr(dot + 1);
    const auto inner = domain.find('.');
    const bool has_two = inner != std::string_view::npos && inner > 0 &&
                         inner + 1 < domain.size() && domain[inner + 1] != '.';
    return has_two ? domain : "";
}

bool shares_domain(std::string_view host, std::string_view first) {
    const std::string_view domain = domain_of(first);
    return !domain.empty() && domain_of(host) == domain;
}

}  // namespace

void Servers::note(const Error& error, const std::string& conninfo,
                   const std::function<bool(const HubPlace&)>& may_follow) {
    change_ = Change::kNone;
    if (const auto named = error.elsewhere()) {
        if (may_follow(*named)) {
            remember_place(conninfo, hub_of(error), *named);
            next_place_ = named;
            change_ = Change::kRedirected;
        }
    } else if (error.sqlstate() == "3F000") {
        const auto known = place_of_missing(conninfo, error.what());
        if (known && may_follow(*known)) {
            const bool is_there =
                place_ && place_->host == known->host && place_->port == known->port;
            next_place_ = is_there ? std::nullopt : known;
            change_ = Change::kMissing;
        }
    }
}

bool Servers::change() {
    if (std::exchange(change_, Change::kNone) == Change::kNone) {
        return false;
    }
    place_ = std::exchange(next_place_, std::nullopt);
    return true;
}

ConnectionOptions options_at(const ConnectionOptions& options, const Connection& first,
                             const HubPlace& place, Where where) {
    const bool has_password = std::string_view(PQpass(first.raw())) != "";
    if (has_password && !is_trusted(place.host, PQhost(first.raw()), options.redirect_hosts)) {
        throw Error({.message = "the password of this connection may not go to " + place.host,
                     .hint = "Name the host in redirect_hosts."},
                    where);
    }
    ConnectionOptions made = options;
    made.conninfo = conninfo_at(options.conninfo, place);
    return made;
}

bool is_trusted(std::string_view host, std::string_view first,
                const std::vector<std::string>& allowed) {
    const bool local = host.starts_with('/') || host == "localhost";
    const bool first_local = first.empty() || first.starts_with('/') || first == "localhost";
    if (host == first || (local && first_local)) {
        return true;
    }
    if (!local && !first_local && shares_domain(host, first)) {
        return true;
    }
    return std::ranges::any_of(allowed, [host](const std::string& one) {
        return one.starts_with('.') ? host.ends_with(one) : host == one;
    });
}

}  // namespace belay
