// From method and target to a route, and the parts of a path and query.
//
// May touch: nothing outside. Must not: accept a path that is not in its list, or one with two
// spellings.
#include "router.hpp"

#include <algorithm>

namespace belay::tool::dashboard {
namespace {

int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0;;) {
        const std::size_t end = text.find(at, from);
        parts.push_back(text.substr(from, end - from));
        if (end == std::string_view::npos) {
            return parts;
        }
        from = end + 1;
    }
}

// Browsers resolve "." and "..": ids that are such, are empty or begin with a tilde have one in
// front.
std::optional<std::string> decoded_segment(std::string_view text) {
    auto decoded = percent_decoded(text, false);
    if (decoded && decoded->starts_with('~')) {
        decoded->erase(0, 1);
    }
    return decoded;
}

Route refused(int status, std::string allow = {}) {
    return {.place = Place::kNone, .status = status, .allow = std::move(allow)};
}

// The route if the method is the one that exists.
Route only(std::string_view method, std::string_view wanted, Place place) {
    return method == wanted ? Route{.place = place} : refused(405, std::string(wanted));
}

bool fits(const ReadPattern& pattern, const std::vector<std::string>& segments,
          std::vector<std::string>& ids) {
    if (pattern.segments.size() != segments.size()) {
        return false;
    }
    ids.clear();
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (std::string_view(pattern.segments[i]) == "*") {
            ids.push_back(segments[i]);
        } else if (pattern.segments[i] != segments[i]) {
            return false;
        }
    }
    return true;
}

// Fills route.query; false if a key is not allowed, comes twice, or is malformed.
bool read_query(std::string_view text, const std::vector<const char*>& keys, Route& route) {
    if (text.empty()) {
        return true;
    }
    for (const auto pair : split(text, '&')) {
        const std::size_t equals = pair.find('=');
        const auto key = percent_decoded(pair.substr(0, equals), true);
        const auto value = percent_decoded(
            equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
        if (!key || !value || std::ranges::find(keys, *key) == keys.end() ||
            !route.query.emplace(*key, *value).second) {
            return false;
        }
    }
    return true;
}

Route find_hub_route(std::string_view method, const std::vector<std::string>& segments,
                     std::string_view query) {
    // h/<hub>/...
    if (segments.size() < 3) {
        return refused(404);
    }
    const std::vector<std::string> rest(segments.begin() + 2, segments.end());
    Route route;
    if (rest.size() == 1 && rest[0] == "actions") {
        route = only(method, "POST", Place::kActions);
    } else if (rest[0] == "bulk" && (rest.size() == 1 || rest.size() == 3) &&
               (rest.size() == 3 || method == "POST")) {
        route = only(method, "POST", Place::kBulk);
        if (rest.size() == 3) {
            if (rest[2] != "stop" && rest[2] != "go-on") {
                return refused(404);
            }
            route.ids = {rest[1], rest[2]};
        }
    } else {
        for (const auto& pattern : read_patterns()) {
            if (fits(pattern, rest, route.ids)) {
                route.place = Place::kRead;
                route.read = pattern.name;
                if (method != "GET") {
                    return refused(405, "GET");
                }
                if (!read_query(query, pattern.keys, route)) {
                    return refused(400);
                }
                route.hub = segments[1];
                return route;
            }
        }
        return refused(404);
    }
    route.hub = segments[1];
    return query.empty() || route.status != 200 ? route : refused(400);
}

Route find_api_route(std::string_view method, const std::vector<std::string>& segments,
                     std::string_view query) {
    if (segments[0] == "h") {
        return find_hub_route(method, segments, query);
    }
    Route route = refused(404);
    if (segments.size() == 1 && segments[0] == "session") {
        route = method == "POST"     ? Route{.place = Place::kLogIn}
                : method == "DELETE" ? Route{.place = Place::kLogOut}
                                     : refused(405, "POST, DELETE");
    } else if (segments.size() == 1 && segments[0] == "me") {
        route = only(method, "GET", Place::kMe);
    } else if (segments.size() == 1 && segments[0] == "hubs") {
        route = only(method, "GET", Place::kHubs);
    } else if (segments.size() == 1 && segments[0] == "stream") {
        route = only(method, "GET", Place::kStream);
    } else if (segments.size() == 3 && segments[0] == "stream" && segments[2] == "watch") {
        route = only(method, "POST", Place::kWatch);
        route.ids = {segments[1]};
    }
    return query.empty() || route.status != 200 ? route : refused(400);
}

}  // namespace

const std::string& Route::get(const std::string& key) const {
    static const std::string kNone;
    const auto found = query.find(key);
    return found == query.end() ? kNone : found->second;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_blank) {
            decoded += ' ';
        } else if (text[i] != '%') {
            decoded += text[i];
        } else {
            const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return std::nullopt;
            }
            decoded += static_cast<char>(high << 4 | low);
            i += 2;
        }
    }
    return decoded;
}

const std::vector<ReadPattern>& read_patterns() {
    static const std::vector<ReadPattern> patterns = {
        {"glance", {"glance"}, {}},
        {"series", {"series"}, {"range", "queue"}},
        {"find", {"find"}, {"text"}},
        {"owners", {"owners"}, {"after", "limit", "format"}},
        {"schedules", {"schedules"}, {"format"}},
        {"subscriptions", {"subscriptions"}, {"format"}},
        {"health", {"health"}, {}},
        {"queue", {"queues", "*"}, {}},
        {"tasks", {"tasks"}, {"filter", "order", "after", "limit", "format"}},
        {"task", {"tasks", "*"}, {}},
        {"task_explain", {"tasks", "*", "explain"}, {}},
        {"task_waitpoints", {"tasks", "*", "waitpoints"}, {}},
        {"task_body", {"tasks", "*", "body", "*"}, {"offset", "length", "download"}},
        {"instances", {"instances"}, {"filter", "order", "after", "limit", "format"}},
        {"instance", {"instances", "*"}, {}},
        {"instance_history",
         {"instances", "*", "history"},
         {"execution", "order", "after", "limit", "format"}},
        {"instance_tree", {"instances", "*", "tree"}, {}},
        {"instance_kv", {"instances", "*", "kv"}, {}},
        {"instance_body", {"instances", "*", "body", "*"}, {"offset", "length", "download"}},
        {"flows", {"flows"}, {"filter", "order", "after", "limit", "format"}},
        {"flow", {"flows", "*"}, {}},
        {"work_items", {"work-items"}, {"filter", "order", "after", "limit", "format"}},
        {"work_item_explain", {"work-items", "*", "explain"}, {}},
        {"work_item_body", {"work-items", "*", "body", "*"}, {"offset", "length", "download"}},
        {"messages", {"messages"}, {"filter", "order", "after", "limit", "format"}},
        {"dead_letters", {"dead-letters"}, {"filter", "order", "after", "limit", "format"}},
        {"dead_letter_body", {"dead-letters", "*", "body", "*"}, {"offset", "length", "download"}},
        {"bulk_jobs", {"bulk"}, {}},
        {"bulk_job", {"bulk", "*"}, {}},
        {"events", {"events"}, {"filter", "order", "after", "limit", "format"}},
    };
    return patterns;
}

Route find_route(std::string_view method, std::string_view target, std::string_view base) {
    const std::size_t mark = target.find('?');
    std::string_view path = target.substr(0, mark);
    const std::string_view query =
        mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
    if (!path.starts_with(base) || (path.size() > base.size() && path[base.size()] != '/') ||
        target.find('#') != std::string_view::npos) {
        return refused(404);
    }
    path.remove_prefix(base.size());
    if (path == "/healthz") {
        return only(method, "GET", Place::kHealth);
    }
    constexpr std::string_view kApi = "/api/";
    constexpr std::string_view kAssets = "/assets/";
    if (path.starts_with(kAssets)) {
        const auto parts = split(path.substr(kAssets.size()), '/');
        if (parts.size() != 2 || !query.empty()) {
            return refused(404);
        }
        Route route = only(method, "GET", Place::kAsset);
        route.ids = {std::string(parts[0]), std::string(parts[1])};
        return route;
    }
    if (!path.starts_with(kApi)) {
        // The router in the page does the rest.
        return only(method, "GET", Place::kShell);
    }
    path.remove_prefix(kApi.size());
    if (!path.starts_with("v1/")) {
        return refused(404);
    }
    std::vector<std::string> segments;
    for (const auto part : split(path.substr(3), '/')) {
        auto segment = decoded_segment(part);
        if (!segment || part.empty() || segment->find('\0') != std::string::npos) {
            return refused(404);
        }
        segments.push_back(std::move(*segment));
    }
    return find_api_route(method, segments, query);
}

}  // namespace belay::tool::dashboard
