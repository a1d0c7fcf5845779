#include "api_reads.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "database.hpp"
#include "statement.hpp"

namespace belay::tool::dashboard {
namespace {

constexpr int kMostTimed = 1000;    // members of a flow whose attempts are read
constexpr int kPreview = 200;       // bytes of a body in a list
constexpr int kBody = 16 * 1024;    // bytes of a body on a page
constexpr int kMostEvents = 10000;  // of a download
constexpr std::size_t kMostSlice = 16 * 1024 * 1024;

// Runs statements and keeps their text and time for the answer.
class Reader {
 public:
    explicit Reader(ReadRequest& request) : request_(request) {}

    Hub& hub() { return request_.hub; }
    const Route& route() const { return request_.route; }
    const std::string& id(std::size_t at = 0) const { return request_.route.ids.at(at); }
    bool is_operator() const { return request_.is_operator; }

    // {h} stands for the hub's schema.
    Result rows(std::string_view sql, const Values& values = {}) {
        return rows_and(sql, "", values);
    }

    // With more columns than the page shows: the clock, an estimate.
    Result rows_and(std::string_view sql, const std::string& more, const Values& values) {
        const std::string text = with_schema(std::string(sql) + more, hub().schema());
        const auto begin = std::chrono::steady_clock::now();
        const Result result = hub().query(Effect::kRepeatable, text, params_of(values));
        took_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                     .count();
        shown_ += (shown_.empty() ? "" : "\n") +
                  shown(with_schema(sql, shown_identifier(hub().name())), values) + ";";
        return result;
    }

    // The JSON in the first field of the first row; null if there is none.
    Json value(std::string_view sql, const Values& values = {}) {
        const Result result = rows(sql, values);
        return result.empty() || result.is_null(0, 0) ? Json(nullptr)
                                                      : Json::parse(result.get<std::string>(0, 0));
    }

    // As value(), of an object that has to be there.
    Json object(const std::string& what, std::string_view sql, const Values& values = {}) {
        Json json = value(sql, values);
        if (json.is_null()) {
            throw NotFound(what + " does not exist");
        }
        return json;
    }

    // A statement that only some roles may run; discarded for others.
    Json if_allowed(std::string_view sql, const Values& values = {}) {
        try {
            return value(sql, values);
        } catch (const Error& error) {
            if (error.sqlstate() != "42501") {
                throw;
            }
            return Json(Json::value_t::discarded);
        }
    }

    // The answer with what every answer has.
    Json finished(Json json) const {
        json["took_ms"] = static_cast<double>(static_cast<std::int64_t>(took_ * 10)) / 10;
        json["sql"] = shown_;
        return json;
    }

 private:
    static std::string with_schema(std::string_view sql, const std::string& schema) {
        std::string text(sql);
        for (std::size_t at = 0; (at = text.find("{h}", at)) != std::string::npos;) {
            text.replace(at, 3, schema);
            at += schema.size();
        }
        return text;
    }

    ReadRequest& request_;
    std::string shown_;
    double took_ = 0;
};

constexpr const char* kNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

std::string ms(const std::string& column) {
    return "(extract(epoch FROM " + column + ") * 1000)::bigint";
}

// The first bytes of a text, and its size.
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

// The filter of a list, with nothing but these keys.
Json filter_of(const Route& route, const std::set<std::string>& keys) {
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
    return filter;
}

// How many rows the planner believes that a table of the hub has.
std::string size_of(const std::string& table) {
    return "(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = to_regclass('{h}." +
           table + "'))";
}

// A page of a browse function: its rows, and where it goes on. A download is several pages.
//
// estimate: the table whose size says how much there is to search; none if the order does not
// follow the whole table.
Json browse(Reader& reader, const std::string& function, const Json& filter,
            const OptionalText& order, const char* estimate, int preview = kPreview) {
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
        const Result answer = reader.rows_and(
            call, ", " + std::string(kNow) + ", " + (estimate ? size_of(estimate) : "NULL"),
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
        if (got["next"].is_null() || static_cast<int>(page["rows"].size()) >= limit ||
            limit <= kMostOfOnePage) {
            break;
        }
        after = got["next"].get<std::string>();
    }
    page["upto"] = nullptr;
    return page;
}

// What the page calls a body that the function calls otherwise.
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

// ---- Tasks. ----

Json read_tasks(Reader& reader) {
    Json filter =
        filter_of(reader.route(),
                  {"state", "queue", "kind", "tags", "worker", "created_from_ms", "created_to_ms",
                   "payload", "result", "failure", "message", "dedup_key", "flow_key", "flow_id"});
    // The page speaks of owners of leases.
    if (filter.contains("worker")) {
        rename(filter, "worker", "worker_instance");
    }
    const auto order = order_of(reader.route());
    Json page = browse(reader, "browse_tasks", filter, order,
                       !order || *order == "created" ? "tasks" : nullptr);
    for (auto& row : page["rows"]) {
        as_text(row, "lease_epoch");
        row["worker"] = row["worker_instance"];
        for (const char* key : {"worker_instance", "tags", "result", "result_bytes",
                                "progress_message", "progress_message_bytes"}) {
            row.erase(key);
        }
    }
    // What is created later is not among "all that match".
    page["upto"] = std::to_string(page["at_ms"].get<std::int64_t>());
    return page;
}

Json read_task(Reader& reader) {
    const Uuid id = uuid_of(reader.id(), "task");
    const auto field = [](const char* name) {
        return "'" + std::string(name) + "', t ->> '" + name + "'";
    };
    const auto plain = [](const char* name) {
        return "'" + std::string(name) + "', nullif(t -> '" + name + "', 'null')";
    };
    const auto body = [](const char* name) {
        return "'" + std::string(name) + "', " +
               body_sql("nullif(t -> '" + std::string(name) + "', 'null')::text");
    };
    std::string sql = "SELECT json_build_object('at_ms', " + std::string(kNow);
    for (const auto& part : {field("task_id"),
                             field("state"),
                             field("public_state"),
                             field("queue"),
                             field("kind"),
                             plain("priority"),
                             field("flow_id"),
                             field("flow_key"),
                             field("dedup_key"),
                             plain("capabilities"),
                             body("tags"),
                             plain("attempt_index"),
                             plain("retry_count"),
                             plain("reclaim_count"),
                             plain("replay_count"),
                             field("lease_epoch"),
                             plain("available_at_ms"),
                             plain("deadline_ms"),
                             plain("created_at_ms"),
                             plain("started_at_ms"),
                             plain("updated_at_ms"),
                             plain("terminal_at_ms"),
                             field("cancel_reason"),
                             field("cancelled_by"),
                             plain("progress"),
                             body("payload"),
                             body("result"),
                             body("checkpoint"),
                             plain("suspension")}) {
        sql += ", " + part;
    }
    sql +=
        ", 'lease', CASE WHEN t #>> '{lease,worker_instance}' IS NOT NULL THEN json_build_object("
        "'lease_id', t #>> '{lease,lease_id}', 'epoch', t ->> 'lease_epoch', "
        "'worker', t #>> '{lease,worker}', 'worker_instance', t #>> '{lease,worker_instance}', "
        "'until_ms', t #> '{lease,until_ms}', "
        "'live', (t #>> '{lease,until_ms}')::bigint > " +
        std::string(kNow) +
        ") END, 'failure', CASE WHEN t #>> '{failure,class}' IS NOT NULL THEN json_build_object("
        "'class', t #>> '{failure,class}', 'message', coalesce(t #>> '{failure,message}', ''), "
        "'details', " +
        body_sql("nullif(t #> '{failure,details}', 'null')::text") +
        ") END, 'policy', coalesce((SELECT json_agg(json_build_object('key', p.key, 'value', "
        "p.value::text, 'from', 'task')) FROM jsonb_each(CASE jsonb_typeof(t -> 'policy') WHEN "
        "'object' THEN t -> 'policy' END) AS p), '[]'), "
        "'attempts', coalesce((SELECT json_agg(json_build_object("
        "'attempt_index', a -> 'attempt_index', 'kind', a ->> 'kind', 'outcome', a ->> 'outcome', "
        "'epoch', a ->> 'epoch', 'lease_count', a -> 'lease_count', 'worker', a ->> 'worker', "
        "'worker_instance', a ->> 'worker_instance', 'started_ms', a -> 'started_ms', "
        "'ended_ms', nullif(a -> 'ended_ms', 'null'), 'error', CASE WHEN a #>> '{error,class}' IS "
        "NOT NULL THEN concat_ws(': ', a #>> '{error,class}', a #>> '{error,message}') END)) "
        "FROM jsonb_array_elements(t -> 'attempts') AS a), '[]'), "
        "'upstream', coalesce((SELECT json_agg(json_build_object('task_id', u.upstream_id, 'key', "
        "coalesce(u.key, ''), 'state', u.state)) FROM (SELECT * FROM "
        "{h}.upstream_results((t ->> 'task_id')::uuid) LIMIT 20) AS u WHERE t ->> 'flow_id' IS NOT "
        "NULL), '[]'), "
        "'downstream', coalesce((SELECT json_agg(json_build_object('task_id', m ->> 'task_id', "
        "'key', m ->> 'key', 'state', m ->> 'state')) FROM (SELECT m FROM "
        "(SELECT {h}.get_flow((t ->> 'flow_id')::uuid) AS f WHERE t ->> 'flow_id' IS NOT NULL) AS "
        "f, jsonb_array_elements(f.f -> 'edges') AS e, jsonb_array_elements(f.f -> 'members') AS m "
        "WHERE e ->> 'upstream_id' = t ->> 'task_id' AND m ->> 'task_id' = e ->> 'downstream_id' "
        "LIMIT 20) AS d), '[]')) FROM (SELECT {h}.get_task($1) AS t) AS g WHERE t IS NOT NULL";
    Json task = reader.object("task " + reader.id(), sql, {id});
    if (!task["suspension"].is_null()) {
        Json& given = task["suspension"];
        const auto of = [&](const char* key) {
            return given.contains(key) ? given[key] : Json(nullptr);
        };
        given = {{"reason_code", of("reason_code")},
                 {"since_ms", of("since_ms")},
                 {"timeout_at_ms", of("timeout_at_ms")},
                 {"on_timeout", of("on_timeout")}};
    }
    if (!task["progress"].is_null()) {
        Json& given = task["progress"];
        given = {{"percent", given.value("percent", Json(nullptr))},
                 {"message", given.value("message", Json(nullptr))},
                 {"at_ms", given.value("at_ms", task["updated_at_ms"])}};
    }
    return task;
}

Json read_task_explain(Reader& reader) {
    return reader.value("SELECT json_build_object('at_ms', " + std::string(kNow) +
                            ", 'rows', coalesce(json_agg(json_build_object('reason', "
                            "reason, 'detail', detail, "
                            "'until_ms', nullif(detail -> 'until_ms', 'null'))), '[]')) FROM "
                            "{h}.explain_claim($1)",
                        {uuid_of(reader.id(), "task")});
}

Json read_task_waitpoints(Reader& reader) {
    return reader.value(
        "SELECT json_build_object('at_ms', " + std::string(kNow) +
            ", 'rows', coalesce(json_agg(json_build_object('waitpoint_id', waitpoint_id, 'key', "
            "key, 'state', state, 'signals', signals, 'created_at_ms', created_at_ms, "
            "'expires_at_ms', expires_at_ms, 'closed_at_ms', closed_at_ms)), '[]'), 'next', NULL, "
            "'scanned', count(*), 'estimate', NULL, 'upto', NULL) FROM "
            "{h}.list_waitpoints($1)",
        {uuid_of(reader.id(), "task")});
}

// ---- Instances. ----

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

// The input that an execution began with: in its first event, if that is JSON.
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

Json body_json(const OptionalText& text, std::size_t most = kBody) {
    return {{"text", text ? Json(cut_at_character(*text, most)) : Json(nullptr)},
            {"bytes", text ? text->size() : 0}};
}

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

Json read_instance_history(Reader& reader) {
    const Route& route = reader.route();
    const OptionalNumber execution =
        route.get("execution").empty()
            ? OptionalNumber()
            : number_of(route.get("execution"), "execution", 0, INT64_MAX);
    const OptionalNumber after = route.get("after").empty()
                                     ? OptionalNumber()
                                     : number_of(route.get("after"), "after", 0, INT64_MAX);
    if (!route.get("order").empty() && route.get("order") != "forwards") {
        throw NotAvailable("histories are read forwards");
    }
    const int limit = limit_of(route);
    // A large event is not sent just to find its name.
    const Result rows = reader.rows(
        "SELECT event_id, event_type, CASE WHEN octet_length(event_data) <= 8192 THEN event_data "
        "ELSE left(event_data, 200) END, octet_length(event_data), " +
            ms("created_at") + ", " + kNow + " FROM {h}.read_history($1, $2, $3, " +
            std::to_string(limit) + ")",
        {reader.id(), execution, after});
    Json page = {{"at_ms", rows.empty() ? Json(system_ms()) : Json(nullptr)},
                 {"rows", Json::array()},
                 {"next", nullptr},
                 {"scanned", rows.size()},
                 {"estimate", nullptr},
                 {"upto", nullptr}};
    for (int i = 0; i < rows.size(); ++i) {
        const auto data = rows.get<std::string>(i, 2);
        const Json event = Json::parse(data, nullptr, false);
        const auto of = [&](const char* key) {
            return event.is_object() && event.contains(key) ? event[key] : Json(nullptr);
        };
        const Json source = of("source_event_id");
        const Json name = of("name");
        const Json at = of("timestamp_ms");
        const Json child = of("child_instance_id").is_null() ? of("instance") : Json(nullptr);
        page["at_ms"] = rows.get<std::int64_t>(i, 5);
        page["rows"].push_back(
            {{"event_id", rows.get<std::string>(i, 0)},
             {"type", rows.get<std::string>(i, 1)},
             {"name", name.is_string() ? name : Json(nullptr)},
             {"source_event_id", source.is_number_integer()
                                     ? Json(std::to_string(source.get<std::int64_t>()))
                                     : Json(nullptr)},
             {"at_ms", at.is_number_integer() ? at : Json(rows.get<std::int64_t>(i, 4))},
             {"due_ms", of("fire_at_ms").is_number_integer() ? of("fire_at_ms") : Json(nullptr)},
             {"child", of("child_instance_id").is_string() ? of("child_instance_id")
                       : child.is_string()                 ? child
                                                           : Json(nullptr)},
             {"preview", cut_at_character(data, kPreview)},
             {"bytes", rows.get<std::int64_t>(i, 3)}});
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

// ---- Flows. ----

Json read_flows(Reader& reader) {
    const Json filter =
        filter_of(reader.route(), {"state", "kind", "tags", "created_from_ms", "created_to_ms"});
    const auto order = order_of(reader.route());
    Json page = browse(reader, "browse_flows", filter, order,
                       !order || *order == "created" ? "flows" : nullptr);
    // Members are counted while they are few in all; of larger flows the row knows how many are
    // open.
    constexpr std::int64_t kMostMembers = 500;
    std::int64_t members = 0;
    std::string ids;
    for (auto& row : page["rows"]) {
        const auto count = row["member_count"].get<std::int64_t>();
        const auto open = row["open_count"].get<std::int64_t>();
        row["counts"] = {{"open", open}, {"ended", count - open}};
        if (reader.route().get("format").empty() && members + count <= kMostMembers) {
            members += count;
            ids += (ids.empty() ? "" : ",") + row["flow_id"].get<std::string>();
        }
    }
    if (ids.empty()) {
        return page;
    }
    const Json counted = reader.value(
        "SELECT json_object_agg(s.flow_id, json_build_object('blocked', s.blocked, 'delayed', "
        "s.delayed, 'ready', s.ready, 'active', s.active, 'suspended', s.suspended, 'completed', "
        "s.completed, 'failed', s.failed, 'cancelled', s.cancelled, 'expired', s.expired, "
        "'skipped', s.skipped)) FROM {h}.flow_summary AS s WHERE s.flow_id = ANY ($1::uuid[])",
        {"{" + ids + "}"});
    for (auto& row : page["rows"]) {
        const auto id = row["flow_id"].get<std::string>();
        if (!counted.is_object() || !counted.contains(id)) {
            continue;
        }
        row["counts"] = Json::object();
        for (const auto& [state, n] : counted[id].items()) {
            if (n != 0) {
                row["counts"][state] = n;
            }
        }
    }
    return page;
}

Json read_flow(Reader& reader) {
    const Uuid id = uuid_of(reader.id(), "flow");
    Json flow = reader.object("flow " + reader.id(),
                              "SELECT jsonb_set(f, '{at_ms}', to_jsonb(" + std::string(kNow) +
                                  ")) FROM (SELECT {h}.get_flow($1) AS f) AS g WHERE f IS NOT NULL",
                              {id});
    // Times of members that are not many.
    std::map<std::string, Json> times;
    if (flow["members"].size() <= kMostTimed) {
        const Json tasks = reader.value(
            "SELECT json_object_agg(a.task_id, json_build_object('from', a.f, 'attempts', a.n, "
            "'to', a.e)) FROM (SELECT task_id, min(started_ms) AS f, max(attempt_index) AS n, "
            "CASE WHEN count(*) = count(ended_ms) THEN max(ended_ms) END AS e FROM "
            "{h}.task_attempts WHERE task_id = ANY (ARRAY(SELECT (m ->> 'task_id')::uuid FROM "
            "jsonb_array_elements({h}.get_flow($1) -> 'members') AS m)) GROUP BY task_id) AS a",
            {id});
        if (tasks.is_object()) {
            for (const auto& [task, time] : tasks.items()) {
                times[task] = time;
            }
        }
    }
    static const std::set<std::string> open = {"blocked", "delayed", "ready", "active",
                                               "suspended"};
    for (auto& member : flow["members"]) {
        const auto found = times.find(member["task_id"].get<std::string>());
        const bool known = found != times.end();
        const bool ended = !open.contains(member["state"].get<std::string>());
        member["started_at_ms"] = known ? found->second["from"] : Json(nullptr);
        member["terminal_at_ms"] = !ended  ? Json(nullptr)
                                   : known ? found->second["to"]
                                           : flow["updated_at_ms"];
        member["attempt_index"] = known ? found->second["attempts"] : Json(0);
        member["failure_class"] = nullptr;
    }
    flow["graph_revision"] = std::to_string(flow["graph_revision"].get<std::int64_t>());
    return flow;
}

// ---- Queues, workers, schedules, subscriptions. ----

Json read_queue(Reader& reader) {
    Json queue =
        reader.object("queue " + reader.id(),
                      "SELECT json_build_object('at_ms', " + std::string(kNow) +
                          ", 'queue', to_json(q)) FROM {h}.list_queues() AS q WHERE q.queue = $1",
                      {reader.id()});
    Json& row = queue["queue"];
    const Json capped = row["capped"];
    for (const char* key : {"ready", "delayed", "active", "suspended", "blocked"}) {
        row[key] = {{"n", row[key]},
                    {"capped", std::ranges::find(capped, Json(key)) != capped.end()}};
    }
    rename(row, "overdue_leases", "overdue");
    row["overdue"] = {{"n", row["overdue"]}, {"capped", row["active"]["capped"]}};
    rename(row, "oldest_ready_age_ms", "oldest_ms");
    row.erase("capped");
    row["rates"] = nullptr;
    row["spark"] = Json::array();
    queue["policy"] = Json::array();
    queue["retention_ms"] = nullptr;
    queue["kinds"] = Json::array();
    queue["wait"] = nullptr;
    queue["run"] = nullptr;
    const Json owners = reader.value("SELECT {h}.list_owners(NULL, 1000)");
    queue["owners"] = Json::array();
    for (const auto& owner : owners["rows"]) {
        const Json& queues = owner["queues"];
        if (std::ranges::find(queues, Json(reader.id())) != queues.end()) {
            queue["owners"].push_back(owner);
        }
    }
    return queue;
}

Json read_owners(Reader& reader) {
    const std::string& after = reader.route().get("after");
    const Result answer = reader.rows_and(
        "SELECT {h}.list_owners($1, " + std::to_string(std::min(limit_of(reader.route()), 1000)) +
            ")",
        ", " + std::string(kNow), {after.empty() ? OptionalText() : OptionalText(after)});
    Json page = Json::parse(answer.get<std::string>(0, 0));
    page["at_ms"] = answer.get<std::int64_t>(0, 1);
    page["estimate"] = nullptr;
    page["upto"] = nullptr;
    return page;
}

Json read_schedules(Reader& reader) {
    return reader.value(
        "SELECT json_build_object('at_ms', " + std::string(kNow) +
        ", 'rows', coalesce(json_agg(json_build_object('name', name, 'cron', cron, 'time_zone', "
        "time_zone, 'catch_up', catch_up, 'paused', paused, 'task', task::text, 'queue', "
        "coalesce(task ->> 'queue', ''), 'next_ms', CASE WHEN paused OR next_due_ms IS NULL THEN "
        "'[]'::json ELSE json_build_array(next_due_ms) END, 'last_due_ms', last_due_ms, "
        "'last_task_id', NULL, 'last_error', last_error, 'created_at_ms', created_at_ms) ORDER BY "
        "name), '[]'), 'next', NULL, 'scanned', count(*), 'estimate', NULL, 'upto', NULL) FROM "
        "{h}.list_schedules()");
}

Json read_subscriptions(Reader& reader) {
    return reader.value(
        "SELECT json_build_object('at_ms', " + std::string(kNow) +
        ", 'rows', coalesce(json_agg(json_build_object('name', name, 'topics', topics, 'lag', "
        "json_build_object('n', lag_rows, 'capped', lag_rows >= 10000), 'lag_ms', (lag_seconds * "
        "1000)::bigint, 'lease_until_ms', " +
        ms("lease_until") + ", 'horizon_pid', horizon_pid, 'created_at_ms', " + ms("created_at") +
        ") ORDER BY name), '[]'), 'next', NULL, 'scanned', count(*), 'estimate', NULL, 'upto', "
        "NULL) FROM {h}.subscriptions");
}

// ---- Work items, messages, dead letters. ----

Json read_dead_letters(Reader& reader) {
    const Json filter =
        filter_of(reader.route(), {"queue", "reason", "name", "instance_id", "tag"});
    Json page = browse(reader, "browse_dead_letters", filter, order_of(reader.route()),
                       filter.contains("instance_id") ? nullptr : "dead_letters");
    std::int64_t newest = 0;
    for (auto& row : page["rows"]) {
        newest = std::max(newest, row["id"].get<std::int64_t>());
        as_text(row, "id");
        rename(row, "work_item", "preview");
        rename(row, "work_item_bytes", "bytes");
    }
    if (newest > 0) {
        page["upto"] = std::to_string(newest);
    }
    return page;
}

Json read_work_items(Reader& reader) {
    Json filter = filter_of(reader.route(), {"state", "name", "instance_id", "tag", "locked_by"});
    if (filter.contains("locked_by")) {
        rename(filter, "locked_by", "owner");
    }
    const auto order = order_of(reader.route());
    Json page = browse(reader, "browse_work_items", filter, order ? order : "oldest",
                       "worker_queue", 10000);
    for (auto& row : page["rows"]) {
        as_text(row, "id");
        as_text(row, "activity_id");
        rename(row, "work_item", "preview");
        rename(row, "work_item_bytes", "bytes");
    }
    return page;
}

Json read_work_item_explain(Reader& reader) {
    return reader.value("SELECT json_build_object('at_ms', " + std::string(kNow) +
                            ", 'rows', coalesce(json_agg(json_build_object('reason', reason, "
                            "'detail', json_build_object('owner', detail, 'text', detail), "
                            "'until_ms', " +
                            ms("until_at") + ")), '[]')) FROM {h}.explain_work_item($1)",
                        {number_of(reader.id(), "the id", 0, INT64_MAX)});
}

Json read_messages(Reader& reader) {
    const Json filter = filter_of(reader.route(), {"instance_id", "name"});
    const auto order = order_of(reader.route());
    Json page = browse(reader, "browse_messages", filter, order ? order : "oldest",
                       filter.contains("instance_id") ? nullptr : "orchestrator_queue");
    for (auto& row : page["rows"]) {
        as_text(row, "id");
        rename(row, "work_item", "preview");
        rename(row, "work_item_bytes", "bytes");
    }
    return page;
}

Json read_events(Reader& reader) {
    const Json filter =
        filter_of(reader.route(), {"topics", "types", "subject", "by", "from_ms", "to_ms"});
    Json page = browse(reader, "browse_events", filter, order_of(reader.route()),
                       filter.contains("subject") ? nullptr : "outbox_events", 2000);
    for (auto& row : page["rows"]) {
        if (row["details"].is_null()) {
            row["details"] = "";
        }
    }
    return page;
}

// ---- Search and health. ----

Json read_find(Reader& reader) {
    const std::string& text = reader.route().get("text");
    if (text.empty() || text.size() > 1024) {
        return {{"at_ms", system_ms()}, {"rows", Json::array()}};
    }
    return reader.value("SELECT json_build_object('at_ms', " + std::string(kNow) +
                            ", 'rows', coalesce(json_agg(f), '[]')) FROM {h}.find($1) AS f",
                        {text});
}

Json read_health(Reader& reader) {
    Json health = reader.value(
        "SELECT json_build_object('at_ms', " + std::string(kNow) +
            ", 'sizes', coalesce((SELECT json_agg(json_build_object('table', s.\"table\", "
            "'live_rows', live_rows, 'dead_rows', dead_rows, 'table_bytes', table_bytes, "
            "'index_bytes', index_bytes, 'toast_bytes', toast_bytes, 'last_autovacuum_ms', " +
            ms("last_autovacuum") +
            ") ORDER BY table_bytes + index_bytes + toast_bytes DESC) FROM belay.hub_sizes AS s "
            "WHERE hub = $1::name), '[]'), 'options', coalesce((SELECT json_agg(json_build_object("
            "'option', option, 'value', value, 'is_default', is_default) ORDER BY option) FROM "
            "belay.hub_options WHERE hub = $1::name), '[]'), 'links', coalesce((SELECT "
            "json_agg(json_build_object('target', target_hub, 'server', coalesce(server, ''), "
            "'waiting', NULL, 'last_error', NULL)) FROM "
            "{h}.hub_links), '[]'), 'check_estimate', coalesce((SELECT live_rows FROM "
            "belay.hub_sizes AS s WHERE hub = $1::name AND s.\"table\" = 'tasks'), 0))",
        {reader.hub().name()});
    // Nothing counts the intents that wait.
    health["intents"] = nullptr;
    const auto put = [&](const char* key, Json value) {
        // Absent: the role may not know.
        if (!value.is_discarded()) {
            health[key] = std::move(value);
        }
    };
    put("background_worker",
        reader.if_allowed("SELECT json_build_object('pid', pid, 'state', state, 'started_at_ms', " +
                          ms("started_at") + ", 'last_loop_ms', " + ms("last_loop_at") +
                          ") FROM belay.workers WHERE database = current_database() LIMIT 1"));
    health["duties"] = nullptr;
    put("duties",
        reader.if_allowed(
            "SELECT json_agg(json_build_object('duty', duty, 'last_run_ms', " + ms("last_run") +
            ", 'runs', runs, 'rows', rows, 'errors', errors, 'last_error', last_error, "
            "'last_error_at_ms', " +
            ms("last_error_at") + ") ORDER BY duty) FROM belay.pg_stat_belay_duty"));
    health["shared_memory"] = nullptr;
    put("shared_memory",
        reader.if_allowed(
            "SELECT json_build_array(json_build_object('what', 'waiting sessions', 'used', "
            "waiters, "
            "'of', NULL), json_build_object('what', 'channels', 'used', channels, 'of', NULL), "
            "json_build_object('what', 'leases', 'used', leases, 'of', NULL), "
            "json_build_object('what', 'counter slots', 'used', counter_slots, 'of', NULL)) FROM "
            "belay.shared_memory()"));
    health["oldest_snapshot"] = nullptr;
    put("oldest_snapshot",
        reader.if_allowed(
            "SELECT json_build_object('pid', pid, 'age_ms', (extract(epoch FROM clock_timestamp() "
            "- "
            "xact_start) * 1000)::bigint, 'application', coalesce(application_name, ''), 'state', "
            "coalesce(state, '')) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND "
            "xact_start "
            "IS NOT NULL AND pid <> pg_backend_pid() ORDER BY age(backend_xmin) DESC, xact_start "
            "LIMIT "
            "1"));
    return health;
}

// ---- Bodies. ----

// Which body read_body is asked for.
struct BodyOf {
    const char* what;
    std::string id;
    std::string field;
    OptionalText text;  // instead of it
};

BodyOf task_body(Reader& reader) {
    return {"task", uuid_of(reader.id(), "task").text(), reader.id(1), std::nullopt};
}

BodyOf instance_body(Reader& reader) {
    const std::string& field = reader.id(1);
    const std::size_t dot = field.find('.');
    if (field == "input") {
        // A part of the first event.
        const Result row = reader.rows("SELECT current_execution_id FROM {h}.get_instance_info($1)",
                                       {reader.id()});
        const bool known = !row.empty() && !row.is_null(0, 0);
        return {
            nullptr, "", "",
            known ? input_of(reader, reader.id(), row.get<std::int64_t>(0, 0)).value_or("") : ""};
    }
    if (dot == std::string::npos) {
        return {"instance", reader.id(), field, std::nullopt};
    }
    return {"history", reader.id(), field.substr(0, dot) + "/" + field.substr(dot + 1),
            std::nullopt};
}

BodyOf dead_letter_body(Reader& reader) {
    return {"dead_letter", reader.id(), reader.id(1), std::nullopt};
}

struct ReadEntry {
    const char* name;
    const char* level;
    Json (*read)(Reader&);
    BodyOf (*body)(Reader&);  // instead of read: a slice of one text
};

constexpr ReadEntry kReads[] = {
    {"find", "monitor", read_find, nullptr},
    {"owners", "monitor", read_owners, nullptr},
    {"schedules", "monitor", read_schedules, nullptr},
    {"subscriptions", "monitor", read_subscriptions, nullptr},
    {"health", "monitor", read_health, nullptr},
    {"queue", "monitor", read_queue, nullptr},
    {"tasks", "monitor", read_tasks, nullptr},
    {"task", "monitor", read_task, nullptr},
    {"task_explain", "monitor", read_task_explain, nullptr},
    {"task_waitpoints", "monitor", read_task_waitpoints, nullptr},
    {"task_body", "monitor", nullptr, task_body},
    {"instances", "monitor", read_instances, nullptr},
    {"instance", "monitor", read_instance, nullptr},
    {"instance_history", "monitor", read_instance_history, nullptr},
    {"instance_tree", "monitor", read_instance_tree, nullptr},
    {"instance_kv", "monitor", read_instance_kv, nullptr},
    {"instance_body", "monitor", nullptr, instance_body},
    {"flows", "monitor", read_flows, nullptr},
    {"flow", "monitor", read_flow, nullptr},
    {"work_items", "operator", read_work_items, nullptr},
    {"work_item_explain", "monitor", read_work_item_explain, nullptr},
    {"messages", "operator", read_messages, nullptr},
    {"dead_letters", "operator", read_dead_letters, nullptr},
    {"dead_letter_body", "operator", nullptr, dead_letter_body},
    {"events", "monitor", read_events, nullptr},
    // glance and series come from the sampler.
    {"glance", "monitor", nullptr, nullptr},
    {"series", "monitor", nullptr, nullptr},
};

const ReadEntry* find_read(const std::string& name) {
    const auto* found =
        std::ranges::find_if(kReads, [&](const ReadEntry& entry) { return name == entry.name; });
    return found == std::end(kReads) ? nullptr : found;
}

// A part of a body; all of it for a download.
ReadAnswer slice(Reader& reader, const BodyOf& body) {
    constexpr std::int64_t kMostOfOneCall = 1 << 20;
    const Route& route = reader.route();
    const bool download = !route.get("download").empty();
    std::int64_t offset =
        route.get("offset").empty() ? 0 : number_of(route.get("offset"), "offset", 0, INT32_MAX);
    std::int64_t left = download ? INT64_MAX
                        : route.get("length").empty()
                            ? 65536
                            : number_of(route.get("length"), "length", 1, kMostSlice);
    std::string text;
    std::int64_t bytes = 0;
    if (body.text) {
        bytes = static_cast<std::int64_t>(body.text->size());
        text = body.text->substr(static_cast<std::size_t>(std::min(offset, bytes)));
        text = download ? text : cut_at_character(text, static_cast<std::size_t>(left));
        left = 0;
    }
    while (left > 0) {
        const Json got =
            reader.value("SELECT {h}.read_body($1, $2, $3, $4, $5)",
                         {body.what, body.id, body.field, offset, std::min(left, kMostOfOneCall)});
        if (got.is_null()) {
            break;
        }
        const auto part = got["body"].get<std::string>();
        bytes = got["bytes"].get<std::int64_t>();
        text += part;
        left -= static_cast<std::int64_t>(part.size());
        offset = got["offset"].get<std::int64_t>() + static_cast<std::int64_t>(part.size());
        // A character that is cut off is no part of this slice.
        if (part.empty() || offset >= bytes || left < 4) {
            break;
        }
    }
    if (download) {
        return {.is_download = true, .download = text};
    }
    return {.json = {{"at_ms", system_ms()}, {"text", text}, {"bytes", bytes}}};
}

}  // namespace

std::string level_of_read(const std::string& read) {
    const ReadEntry* entry = find_read(read);
    return entry == nullptr ? "" : entry->level;
}

ReadAnswer run_read(ReadRequest& request) {
    const ReadEntry* entry = find_read(request.route.read);
    if (entry == nullptr || (entry->read == nullptr && entry->body == nullptr)) {
        throw NotFound("there is no such read");
    }
    Reader reader(request);
    if (entry->body != nullptr) {
        if (!request.shows_bodies) {
            throw NotFound("bodies are not shown");
        }
        return slice(reader, entry->body(reader));
    }
    return {.json = reader.finished(entry->read(reader))};
}

}  // namespace belay::tool::dashboard
