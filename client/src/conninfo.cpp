// Where libpq connects to, and where a password may be sent when a hub has moved.
//
// May touch: nothing outside. Must not: connect; connection.cpp does.
#include "conninfo.hpp"

#include <algorithm>
#include <memory>

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

namespace {

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
