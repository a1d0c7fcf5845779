// Reads of tasks.
#include "reads.hpp"

namespace belay::tool::dashboard {

Json read_tasks(Reader& reader) {
    Json filter = filter_of(
        reader, {"state", "queue", "kind", "tags", "worker", "created_from_ms", "created_to_ms",
                 "payload", "result", "failure", "message", "dedup_key", "flow_key", "flow_id"});
    // The page speaks of owners of leases.
    if (filter.contains("worker")) {
        rename(filter, "worker", "worker_instance");
    }
    const auto order = order_of(reader.route());
    Json page = browse(reader, "browse_tasks", filter, order,
                       !order || *order == "created" ? "tasks" : nullptr, kPreview,
                       "{h}.browse_tasks('{}', 'created', NULL, 1, 100, 0) #>> '{rows,0,task_id}'");
    constexpr std::size_t kVersionAt = 14;  // of a UUID as a text
    for (auto& row : page["rows"]) {
        // In the order of ids, that of time holds for those that belay makes.
        if ((!order || *order == "created") &&
            row["task_id"].get_ref<const std::string&>()[kVersionAt] != '7') {
            page["note"] = "in the order of their ids, which callers chose";
        }
        as_text(row, "lease_epoch");
        row["worker"] = row["worker_instance"];
        for (const char* key : {"worker_instance", "tags", "result", "result_bytes",
                                "progress_message", "progress_message_bytes"}) {
            row.erase(key);
        }
    }
    return page;
}

namespace {

// What get_task says of a task t, field by field.
std::string task_fields() {
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
    std::string sql;
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
    return sql;
}

// The first members of the flow before or behind a task t; get_task knows them without the flow.
std::string neighbours(const std::string& side) {
    return "coalesce((SELECT json_agg(json_build_object('task_id', n ->> 'task_id', 'key', "
           "coalesce(n ->> 'key', ''), 'state', coalesce(n ->> 'task_state', n ->> 'state')) ORDER "
           "BY nr) FROM jsonb_array_elements(t -> '" +
           side + "') WITH ORDINALITY AS n(n, nr) WHERE nr <= 20), '[]'), '" + side +
           "_more', greatest(coalesce(jsonb_array_length(t -> '" + side + "'), 0) - 20, 0)";
}

}  // namespace

Json read_task(Reader& reader) {
    const Uuid id = uuid_of(reader.id(), "task");
    std::string sql = "SELECT json_build_object('at_ms', " + std::string(kNow) + task_fields();
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
        "'upstream', " +
        neighbours("upstream") + ", 'downstream', " + neighbours("downstream") +
        ") FROM {h}.get_task($1) AS t WHERE t IS NOT NULL";
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

}  // namespace belay::tool::dashboard
