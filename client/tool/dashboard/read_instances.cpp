// Reads of instances of orchestrations.
#include <algorithm>

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
        "'status', 'Pending', 'execution', NULL, 'custom_status', NULL, "
        "'parent_id', NULL, 'created_at_ms', " +
        ms("created_at") + ", 'updated_at_ms', " + ms("created_at") +
        ", 'ended_at_ms', NULL)), '[]') FROM (SELECT * FROM {h}.pending_starts LIMIT 20) AS p");
}

}  // namespace

Json read_instances(Reader& reader) {
    const Json filter = filter_of(
        reader, {"name", "prefix", "created_from_ms", "created_to_ms", "output", "input"});
    const auto order = order_of(reader.route());
    const bool is_created = !order || *order == "created";
    Json page =
        browse(reader, "browse_instances", filter, order, is_created ? "instances" : nullptr);
    for (auto& row : page["rows"]) {
        rename(row, "execution_id", "execution");
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

// The input that a first event has.
static OptionalText input_in(const Json& event) {
    if (!event.is_object() || !event.contains("input") || event["input"].is_null()) {
        return std::nullopt;
    }
    const Json& input = event["input"];
    return input.is_string() ? input.get<std::string>() : json_text(input);
}

OptionalText input_of(Reader& reader, const std::string& id, std::int64_t execution) {
    const Result first =
        reader.rows("SELECT event_data FROM {h}.read_history($1, $2, NULL, 1)", {id, execution});
    if (first.empty()) {
        return std::nullopt;
    }
    return input_in(Json::parse(first.get<std::string>(0, 0), nullptr, false));
}

namespace {

Json body_json(const OptionalText& text, std::size_t most = kBody) {
    return {{"text", text ? Json(cut_at_character(*text, most)) : Json(nullptr)},
            {"bytes", text ? text->size() : 0}};
}

}  // namespace

namespace {

// The members of an object that come before the place where it was cut off.
Json beginning_of(const std::string& text) {
    Json whole = Json::parse(text, nullptr, false);
    for (std::size_t at = text.size(); whole.is_discarded() && at > 1;) {
        at = text.rfind(",\"", at - 1);
        if (at == std::string::npos) {
            break;
        }
        whole = Json::parse(text.substr(0, at) + "}", nullptr, false);
    }
    return whole.is_object() ? whole : Json::object();
}

// What an instance waits for, and why it is not fetched. explain_fetch has no row while it can be
// fetched; "no messages" says nothing beside what explain_waits names.
void put_waits(Reader& reader, Json& instance) {
    const std::string fetch = "SELECT reason, detail, until_at FROM {h}.explain_fetch($1)";
    const std::string sql =
        "SELECT coalesce(json_agg(json_build_object('reason', reason, 'detail', "
        "json_build_object('text', detail), 'until_ms', " +
        ms("until_at") + ")), '[]') FROM (";
    // An older hub has no explain_waits.
    Json waits = reader.if_allowed(
        sql + fetch + " UNION ALL SELECT * FROM {h}.explain_waits($1, 20)) AS w", {reader.id()});
    if (waits.is_discarded()) {
        waits = reader.value(sql + fetch + ") AS w", {reader.id()});
    }
    instance["waits_sql"] = reader.last_shown();
    instance["waits"] = Json::array();
    for (auto& wait : waits) {
        if (wait["reason"] != "no_messages" || waits.size() == 1) {
            instance["waits"].push_back(std::move(wait));
        }
    }
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
            "'first', (SELECT event_data FROM {h}.read_history($1, i.current_execution_id, NULL, "
            "1))) FROM (SELECT) AS one LEFT JOIN LATERAL {h}.get_instance_info($1) "
            "AS "
            "i ON true LEFT JOIN {h}.pending_starts AS p ON p.instance_id = $1 AND i.instance_id "
            "IS "
            "NULL LEFT JOIN LATERAL {h}.get_custom_status($1, 0) AS c(custom_status) ON true "
            // One whose start has not come, or is in its first turn.
            "LEFT JOIN LATERAL (SELECT true FROM {h}.explain_fetch($1) AS e WHERE i.instance_id IS "
            "NULL AND p.instance_id IS NULL AND e.reason IN ('never_started', 'locked', "
            "'in_transaction', 'start_hidden', 'not_visible') LIMIT 1) AS m(is_there) ON true "
            "WHERE "
            "i.instance_id IS NOT NULL OR p.instance_id IS NOT NULL OR m.is_there",
        {reader.id()});
    const Json first = instance["first"].is_string()
                           ? Json::parse(instance["first"].get<std::string>(), nullptr, false)
                           : Json();
    instance.erase("first");
    instance["input"] = body_json(input_in(first));
    instance["waits"] = Json::array();
    instance["waits_sql"] = "";
    if (instance["status"] != "Completed" && instance["status"] != "Failed") {
        put_waits(reader, instance);
    }
    return instance;
}

namespace {

constexpr int kMostParsed = 8192;  // bytes of an event in which its name is looked for

// An event as the page has it. data: of the event, or the beginning of it.
Json event_json(const std::string& id, const std::string& type, const std::string& data,
                std::int64_t bytes, std::int64_t created_ms) {
    // Of a large event only the beginning is there; its names come before its data.
    const Json event = beginning_of(data);
    const auto of = [&](const char* key) {
        return event.contains(key) ? event[key] : Json(nullptr);
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
            {"name", of("name").is_null() ? text("key") : text("name")},
            {"source_event_id", source.is_number_integer()
                                    ? Json(std::to_string(source.get<std::int64_t>()))
                                    : Json(nullptr)},
            {"at_ms", at.is_number_integer() ? at : Json(created_ms)},
            {"turn_ms", created_ms},
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
            " THEN event_data ELSE left(event_data, 2000) END, octet_length(event_data), " +
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

namespace {

constexpr int kMostOfTree = 2000;           // descendants that are looked at
constexpr std::size_t kMostChildren = 200;  // of one instance that are shown
constexpr std::size_t kMostShown = 1000;

struct Tree {
    std::map<std::string, std::vector<std::string>> children;
    Json rows = Json::array();

    // Adds the instance and, each behind its parent, its descendants.
    void add(const std::string& id, int depth) {
        const std::size_t place = rows.size();
        rows.push_back({{"instance_id", id}, {"depth", depth}, {"more", 0}});
        std::size_t shown = 0;
        const auto& all = children[id];
        for (const auto& child : all) {
            if (shown < kMostChildren && rows.size() < kMostShown) {
                add(child, depth + 1);
                ++shown;
            }
        }
        rows[place]["more"] = all.size() - shown;
    }
};

}  // namespace

Json read_instance_tree(Reader& reader) {
    const Result found = reader.rows(
        "SELECT instance_id, parent_instance_id, depth FROM {h}.get_instance_tree($1) LIMIT " +
            std::to_string(kMostOfTree + 1),
        {reader.id()});
    Tree tree;
    for (int i = 1; i < std::min(found.size(), kMostOfTree); ++i) {
        tree.children[found.get<std::string>(i, 1)].push_back(found.get<std::string>(i, 0));
    }
    if (!found.empty()) {
        tree.add(found.get<std::string>(0, 0), 0);
    }
    Json ids = Json::array();
    for (const auto& row : tree.rows) {
        ids.push_back(row["instance_id"]);
    }
    Json page = reader.value(
        "SELECT json_build_object('at_ms', " + std::string(kNow) +
            ", 'rows', coalesce(json_agg(json_build_object('name', "
            "coalesce(i.orchestration_name, ''), 'status', coalesce(i.status, 'Pending')) ORDER "
            "BY n.nr), '[]')) FROM jsonb_array_elements_text($1) WITH ORDINALITY AS n(id, nr) "
            "LEFT JOIN LATERAL {h}.get_instance_info(n.id) AS i ON true",
        {JsonText{ids.dump()}});
    for (std::size_t i = 0; i < tree.rows.size(); ++i) {
        page["rows"][i].update(tree.rows[i]);
    }
    page["complete"] = found.size() <= kMostOfTree;
    return page;
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
