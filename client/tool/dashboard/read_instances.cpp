// Reads of instances of orchestrations.
#include "bodies.hpp"
#include "database.hpp"
#include "reads.hpp"

namespace belay::tool::dashboard {

namespace {

// Started, but no dispatcher has seen them yet: they have no row, so no page has them.
Json pending_instances(Reader& reader) {
    return reader.value(
        "SELECT coalesce(json_agg(json_build_object('instance_id', instance_id, 'name', "
        "coalesce(orchestration_name, ''), 'version', coalesce(orchestration_version, ''), "
        "'status', 'Pending', 'execution', NULL, 'custom_status', NULL, 'waits_for', NULL, "
        "'parent_id', NULL, 'created_at_ms', " +
        ms("created_at") + ", 'updated_at_ms', " + ms("created_at") +
        ", 'ended_at_ms', NULL)), '[]') FROM (SELECT * FROM {h}.pending_starts LIMIT 20) AS p");
}

}  // namespace

Json read_instances(Reader& reader) {
    const Json filter = filter_of(
        reader.route(), {"name", "prefix", "created_from_ms", "created_to_ms", "output", "input"});
    const auto order = order_of(reader.route());
    const bool is_created = !order || *order == "created";
    Json page =
        browse(reader, "browse_instances", filter, order, is_created ? "instances" : nullptr);
    for (auto& row : page["rows"]) {
        rename(row, "execution_id", "execution");
        row["waits_for"] = nullptr;
        for (const char* key : {"output", "output_bytes", "custom_status_bytes", "started_at_ms"}) {
            row.erase(key);
        }
    }
    if (filter.empty() && reader.route().get("after").empty() &&
        (is_created || *order == "running")) {
        Json pending = pending_instances(reader);
        for (auto& row : page["rows"]) {
            pending.push_back(std::move(row));
        }
        page["rows"] = std::move(pending);
    }
    page["upto"] = std::to_string(page["at_ms"].get<std::int64_t>());
    return page;
}

OptionalText input_of(Reader& reader, const std::string& id, std::int64_t execution) {
    const Result first =
        reader.rows("SELECT event_data FROM {h}.read_history($1, $2, NULL, 1)", {id, execution});
    if (first.empty()) {
        return std::nullopt;
    }
    const Json event = Json::parse(first.get<std::string>(0, 0), nullptr, false);
    if (!event.is_object() || !event.contains("input") || event["input"].is_null()) {
        return std::nullopt;
    }
    const Json& input = event["input"];
    return input.is_string() ? input.get<std::string>() : json_text(input);
}

namespace {

Json body_json(const OptionalText& text, std::size_t most = kBody) {
    return {{"text", text ? Json(cut_at_character(*text, most)) : Json(nullptr)},
            {"bytes", text ? text->size() : 0}};
}

}  // namespace

Json read_instance(Reader& reader) {
    Json instance = reader.object(
        "instance " + reader.id(),
        "SELECT json_build_object('at_ms', " + std::string(kNow) +
            ", 'instance_id', $1, 'name', coalesce(i.orchestration_name, p.orchestration_name, "
            "''), "
            "'version', coalesce(i.orchestration_version, p.orchestration_version, ''), 'status', "
            "coalesce(i.status, 'Pending'), "
            "'execution', current_execution_id, 'parent_id', parent_instance_id, "
            "'created_at_ms', " +
            ms("coalesce(i.created_at, p.created_at)") + ", 'updated_at_ms', " +
            ms("coalesce(i.updated_at, p.created_at)") + ", 'output', " + body_sql("i.output") +
            ", 'custom_status', " + body_sql("c.custom_status") +
            ", 'executions', coalesce((SELECT json_agg(json_build_object('execution', "
            "e.execution_id, 'status', coalesce(e.status, ''), 'started_at_ms', " +
            ms("e.started_at") + ", 'ended_at_ms', " + ms("e.completed_at") +
            ", 'events', e.event_count) ORDER BY e.execution_id) FROM (SELECT l.execution_id AS x "
            "FROM {h}.list_executions($1) AS l ORDER BY 1 DESC LIMIT 50) AS l CROSS JOIN LATERAL "
            "{h}.get_execution_info($1, l.x) AS e), '[]'), "
            "'waits', coalesce((SELECT json_agg(json_build_object('reason', w.reason, 'detail', "
            "json_build_object('text', w.detail), 'until_ms', " +
            ms("w.until_at") +
            ")) FROM {h}.explain_fetch($1) AS w WHERE coalesce(i.status, '') NOT IN ('Completed', "
            "'Failed')), '[]')) FROM (SELECT) AS one LEFT JOIN LATERAL {h}.get_instance_info($1) "
            "AS "
            "i ON true LEFT JOIN {h}.pending_starts AS p ON p.instance_id = $1 AND i.instance_id "
            "IS "
            "NULL LEFT JOIN LATERAL {h}.get_custom_status($1, 0) AS c(custom_status) ON true WHERE "
            "i.instance_id "
            "IS NOT NULL OR p.instance_id IS NOT NULL",
        {reader.id()});
    instance["input"] =
        body_json(instance["execution"].is_null()
                      ? std::nullopt
                      : input_of(reader, reader.id(), instance["execution"].get<std::int64_t>()));
    return instance;
}

namespace {

constexpr int kMostParsed = 8192;  // bytes of an event in which its name is looked for

// An event as the page has it. data: of the event, or the beginning of it.
Json event_json(const std::string& id, const std::string& type, const std::string& data,
                std::int64_t bytes, std::int64_t created_ms) {
    const Json event = Json::parse(data, nullptr, false);
    const auto of = [&](const char* key) {
        return event.is_object() && event.contains(key) ? event[key] : Json(nullptr);
    };
    const auto text = [&](const char* key) {
        const Json found = of(key);
        return found.is_string() ? found : Json(nullptr);
    };
    const Json source = of("source_event_id");
    const Json at = of("timestamp_ms");
    const Json child = text("child_instance_id");
    return {{"event_id", id},
            {"type", type},
            {"name", text("name")},
            {"source_event_id", source.is_number_integer()
                                    ? Json(std::to_string(source.get<std::int64_t>()))
                                    : Json(nullptr)},
            {"at_ms", at.is_number_integer() ? at : Json(created_ms)},
            {"due_ms", of("fire_at_ms").is_number_integer() ? of("fire_at_ms") : Json(nullptr)},
            {"child", child.is_null() ? text("instance") : child},
            {"preview", cut_at_character(data, kPreview)},
            {"bytes", bytes}};
}

// Newest first: pages of browse_history.
Json newest_events(Reader& reader, const OptionalNumber& execution) {
    const std::string& first = reader.route().get("after");
    OptionalText after = first.empty() ? OptionalText() : OptionalText(first);
    const Result result =
        reader.rows_and("SELECT {h}.browse_history($1, $2, '{}', 'newest', $3, " +
                            std::to_string(std::min(limit_of(reader.route()), 1000)) +
                            ", p_preview => " + std::to_string(kMostParsed) + ")",
                        ", " + std::string(kNow), {reader.id(), execution, after});
    Json page = Json::parse(result.get<std::string>(0, 0));
    page["at_ms"] = result.get<std::int64_t>(0, 1);
    page["estimate"] = nullptr;
    page["upto"] = nullptr;
    for (auto& row : page["rows"]) {
        row = event_json(
            std::to_string(row["event_id"].get<std::int64_t>()), row["type"].get<std::string>(),
            row["event_data"].is_null() ? "" : row["event_data"].get<std::string>(),
            row["event_data_bytes"].get<std::int64_t>(), row["created_at_ms"].get<std::int64_t>());
    }
    return page;
}

}  // namespace

Json read_instance_history(Reader& reader) {
    const Route& route = reader.route();
    const OptionalNumber execution =
        route.get("execution").empty()
            ? OptionalNumber()
            : number_of(route.get("execution"), "execution", 0, INT64_MAX);
    if (route.get("order") == "newest") {
        return newest_events(reader, execution);
    }
    if (!route.get("order").empty() && route.get("order") != "oldest") {
        throw BadRequest("order is newest or oldest");
    }
    const OptionalNumber after = route.get("after").empty()
                                     ? OptionalNumber()
                                     : number_of(route.get("after"), "after", 0, INT64_MAX);
    const int limit = limit_of(route);
    const std::string most = std::to_string(kMostParsed);
    // A large event is not sent just to find its name. All of a long history is read here, in
    // larger pages than browse_history has.
    const Result rows = reader.rows(
        "SELECT event_id, event_type, CASE WHEN octet_length(event_data) <= " + most +
            " THEN event_data ELSE left(event_data, 200) END, octet_length(event_data), " +
            ms("created_at") + ", " + kNow + " FROM {h}.read_history($1, $2, $3, " +
            std::to_string(limit) + ")",
        {reader.id(), execution, after});
    Json page = {{"at_ms", rows.empty() ? system_ms() : rows.get<std::int64_t>(0, 5)},
                 {"rows", Json::array()},
                 {"next", nullptr},
                 {"scanned", rows.size()},
                 {"estimate", nullptr},
                 {"upto", nullptr}};
    for (int i = 0; i < rows.size(); ++i) {
        page["rows"].push_back(event_json(rows.get<std::string>(i, 0), rows.get<std::string>(i, 1),
                                          rows.get<std::string>(i, 2), rows.get<std::int64_t>(i, 3),
                                          rows.get<std::int64_t>(i, 4)));
    }
    if (rows.size() == limit) {
        page["next"] = rows.get<std::string>(limit - 1, 0);
    }
    return page;
}

Json read_instance_tree(Reader& reader) {
    return reader.value("SELECT json_build_object('at_ms', " + std::string(kNow) +
                            ", 'rows', coalesce(json_agg(json_build_object('instance_id', "
                            "t.instance_id, 'name', coalesce(i.orchestration_name, ''), 'status', "
                            "coalesce(i.status, 'Pending'), 'depth', t.depth, 'more', 0) ORDER BY "
                            "t.place), '[]')) FROM (SELECT *, row_number() OVER () AS place FROM "
                            "{h}.get_instance_tree($1) LIMIT 200) AS t CROSS JOIN LATERAL "
                            "{h}.get_instance_info(t.instance_id) AS i",
                        {reader.id()});
}

Json read_instance_kv(Reader& reader) {
    return reader.value("SELECT json_build_object('at_ms', " + std::string(kNow) +
                            ", 'rows', coalesce(json_agg(json_build_object('key', key, "
                            "'value', left(value, 16384), 'bytes', octet_length(value), "
                            "'updated_at_ms', NULL) ORDER BY key), '[]'), 'next', NULL, "
                            "'scanned', count(*), 'estimate', NULL, 'upto', NULL) FROM "
                            "{h}.get_kv_all_values($1) AS k(key, value)",
                        {reader.id()});
}

}  // namespace belay::tool::dashboard
