// libFuzzer's way into what the dashboard reads of requests: the first byte chooses what reads the
// rest. What is refused has to be refused as BadRequest, and what is accepted to be what was asked.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dashboard/actions.hpp"
#include "dashboard/bodies.hpp"
#include "dashboard/bulk.hpp"
#include "dashboard/router.hpp"
#include "dashboard/streams.hpp"

namespace {

using namespace belay::tool::dashboard;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

std::string percent_encoded(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return out;
}

void read_target(std::string_view text) {
    const std::size_t blank = text.find(' ');
    const std::string_view method = text.substr(0, blank);
    const std::string_view target =
        blank == std::string_view::npos ? std::string_view() : text.substr(blank + 1);
    const Route route = find_route(method, target, "");
    require(route.status == 200 || route.status == 400 || route.status == 404 ||
            route.status == 405);
    require((route.status == 200) == (route.place != Place::kNone));
    // Nothing but POST and DELETE changes something.
    require(!route.changes() || method == "POST" || method == "DELETE");
    if (route.place == Place::kRead) {
        const auto pattern = std::ranges::find_if(
            read_patterns(), [&](const auto& p) { return p.name == route.read; });
        require(pattern != read_patterns().end() && method == "GET" && !route.hub.empty());
        for (const auto& [key, value] : route.query) {
            require(std::ranges::find(pattern->keys, key) != pattern->keys.end());
        }
        for (const auto& id : route.ids) {
            require(id.find('\0') == std::string::npos);
        }
    }
    // Below a base path it is the same.
    const Route below = find_route(method, "/base" + std::string(target), "/base");
    require(!target.starts_with('/') ||
            (below.place == route.place && below.ids == route.ids && below.query == route.query));
}

void read_percent(std::string_view text) {
    require(percent_decoded(percent_encoded(text), false) == std::string(text));
    for (const bool plus_is_blank : {false, true}) {
        if (const auto decoded = percent_decoded(text, plus_is_blank)) {
            require(decoded->size() <= text.size());
        }
    }
}

void read_action(const std::string& text) {
    try {
        const ActionCall call = parse_action(text);
        require(call.action != nullptr && (call.dry_run || !call.key.empty()));
        Values values;
        const std::string sql = statement_of(call, "app", "app", values);
        // Values are parameters: the statement has no part of the request in it.
        ActionCall other{.action = call.action, .key = "k"};
        Values others;
        for (const auto& argument : call.action->arguments) {
            other.args[argument.key] = call.args.value(argument.key, belay::tool::Json(nullptr));
        }
        require(sql == statement_of(other, "app", "app", others));
        (void)describe(call, "app", true);
    } catch (const BadRequest&) {
    }
}

void read_bulk(const std::string& text) {
    try {
        const BulkCall call = parse_bulk(text);
        require(call.bulk != nullptr && call.action != nullptr);
        require(call.selected == !call.ids.empty() && call.ids.size() <= 500);
        // All that match is bounded by what existed when the list was read.
        require(call.selected || call.filter.contains(call.bulk->upto));
        Values values;
        const std::string sql = bulk_statement(call, "app", text, values);
        Values again;
        require(sql == bulk_statement(call, "app", std::nullopt, again));
    } catch (const BadRequest&) {
    }
}

void read_want(const std::string& text) {
    const std::set<std::string> hubs = {"app", "app:b", "\"; DROP"};
    if (const auto want = parse_want(text, hubs)) {
        require(hubs.contains(want->hub));
        require(want->what + ":" + want->hub + ":" + want->id == text);
    }
}

void read_body(std::string_view text) {
    const std::vector<std::string> keys = {"card"};
    (void)redacted(text, keys);
    require(redacted(text, {}) == text);
    require(cut_at_character(text, 7).size() <= 7);
    belay::tool::Json answer = belay::tool::Json::parse(text, nullptr, false);
    if (answer.is_object()) {
        apply_policy(BodyPolicy{.redact = keys}, answer);
        apply_policy(BodyPolicy{.hidden = true}, answer);
        require(!answer.contains("payload") || !answer["payload"].is_string());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    // A copy of its own size: reading past its end is found.
    const std::vector<char> bytes(data + 1, data + size);
    const std::string_view text(bytes.data(), bytes.size());
    switch (data[0]) {
        case 'r':
            read_target(text);
            break;
        case 'p':
            read_percent(text);
            break;
        case 'a':
            read_action(std::string(text));
            break;
        case 'b':
            read_bulk(std::string(text));
            break;
        case 'w':
            read_want(std::string(text));
            break;
        case 'd':
            read_body(text);
            break;
        default:
            break;
    }
    return 0;
}
