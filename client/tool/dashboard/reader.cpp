// Statements, pages and checked parts of requests, for the reads of a hub.
//
// May touch: hubs, reading. Must not: build statements from what a request contains.
#include "reader.hpp"

#include <algorithm>

namespace belay::tool::dashboard {

namespace {

constexpr int kMostEvents = 10000;  // of a download

}  // namespace

std::string ms(const std::string& column) {
    return "(extract(epoch FROM " + column + ") * 1000)::bigint";
}

std::string body_sql(const std::string& text) {
    return "json_build_object('text', left(" + text + ", " + std::to_string(kBody) +
           "), 'bytes', coalesce(octet_length(" + text + "), 0))";
}

Uuid uuid_of(const std::string& text, const std::string& what) {
    const auto uuid = Uuid::parse(text);
    if (!uuid) {
        throw NotFound(what + " " + text + " does not exist");
    }
    return *uuid;
}

std::int64_t number_of(const std::string& text, const char* what, std::int64_t least,
                       std::int64_t most) {
    try {
        return parse_integer(text, least, most);
    } catch (const Error&) {
        throw BadRequest(std::string(what) + " is no number from " + std::to_string(least) +
                         " to " + std::to_string(most));
    }
}

int limit_of(const Route& route) {
    if (!route.get("format").empty()) {
        if (route.get("format") != "jsonl") {
            throw BadRequest("format is none or jsonl");
        }
        return kMostEvents;
    }
    return route.get("limit").empty()
               ? 50
               : static_cast<int>(number_of(route.get("limit"), "limit", 1, 5000));
}

void refuse_body_filters(const Json& filter, bool bodies_are_whole) {
    const std::string key = bodies_are_whole ? "" : body_filter_in(filter);
    if (!key.empty()) {
        throw BadRequest("filter \"" + key +
                         "\" looks into bodies, which this dashboard hides or redacts");
    }
}

Json filter_of(const Reader& reader, const std::set<std::string>& keys) {
    const Route& route = reader.route();
    if (route.get("filter").empty()) {
        return Json::object();
    }
    Json filter = Json::parse(route.get("filter"), nullptr, false);
    if (!filter.is_object()) {
        throw BadRequest("filter is no JSON object");
    }
    for (const auto& [key, value] : filter.items()) {
        if (!keys.contains(key)) {
            throw BadRequest("filter has an unrecognized key \"" + key + "\"");
        }
    }
    refuse_body_filters(filter, reader.shows_whole_bodies());
    return filter;
}

namespace {

// How many rows the planner believes that a table of the hub has.
std::string size_of(const std::string& table) {
    return "(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = to_regclass('{h}." +
           table + "'))";
}

}  // namespace

Json browse(Reader& reader, const std::string& function, const Json& filter,
            const OptionalText& order, const char* estimate, int preview,
            const std::string& newest) {
    constexpr int kMostOfOnePage = 1000;
    const int limit = limit_of(reader.route());
    const std::string& first = reader.route().get("after");
    OptionalText after = first.empty() ? OptionalText() : OptionalText(first);
    Json page = {{"rows", Json::array()}, {"scanned", 0}};
    for (;;) {
        const int wanted = std::min(kMostOfOnePage, limit - static_cast<int>(page["rows"].size()));
        const std::string call =
            "SELECT {h}." + function + "($1, $2, $3, " + std::to_string(wanted) +
            (preview == kPreview ? std::string() : ", p_preview => " + std::to_string(preview)) +
            ")";
        const Result answer = reader.rows_and(call,
                                              ", " + std::string(kNow) + ", " +
                                                  (estimate ? size_of(estimate) : "NULL") +
                                                  (newest.empty() ? "" : ", " + newest),
                                              {JsonText{filter.dump()}, order, after});
        Json got = Json::parse(answer.get<std::string>(0, 0));
        for (auto& row : got["rows"]) {
            page["rows"].push_back(std::move(row));
        }
        page["at_ms"] = answer.get<std::int64_t>(0, 1);
        const auto size = answer.get<OptionalNumber>(0, 2);
        page["estimate"] = size ? Json(*size) : Json(nullptr);
        page["scanned"] = page["scanned"].get<std::int64_t>() + got["scanned"].get<std::int64_t>();
        page["next"] = got["next"];
        const auto upto = newest.empty() ? OptionalText() : answer.get<OptionalText>(0, 3);
        page["upto"] = upto ? Json(*upto) : Json(nullptr);
        if (got["next"].is_null() || static_cast<int>(page["rows"].size()) >= limit ||
            limit <= kMostOfOnePage) {
            break;
        }
        after = got["next"].get<std::string>();
    }
    return page;
}

void rename(Json& row, const char* from, const char* to) {
    row[to] = std::move(row[from]);
    row.erase(from);
}

void as_text(Json& row, const char* key) {
    if (row[key].is_number_integer()) {
        row[key] = std::to_string(row[key].get<std::int64_t>());
    }
}

OptionalText order_of(const Route& route) {
    return route.get("order").empty() ? OptionalText() : OptionalText(route.get("order"));
}

}  // namespace belay::tool::dashboard
