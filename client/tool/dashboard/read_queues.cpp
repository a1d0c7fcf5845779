// Reads of queues, workers, schedules, subscriptions, events; search and health.
#include <algorithm>
#include <map>

#include "database.hpp"
#include "reads.hpp"

namespace belay::tool::dashboard {

namespace {

// A queue that list_queues does not have: beyond its first 200, or without settings and open tasks.
// Its open tasks are counted as far as one page of each state goes.
Json unlisted_queue(Reader& reader) {
    constexpr std::int64_t kMost = 1000;
    Json queue = {{"queue", reader.id()},    {"paused", false},
                  {"overdue_leases", 0},     {"owners", 0},
                  {"concurrency", nullptr},  {"rate_per_s", nullptr},
                  {"burst", nullptr},        {"paused_by", nullptr},
                  {"paused_at_ms", nullptr}, {"capped", Json::array()}};
    static const std::map<std::string, std::string> orders = {{"ready", "claim"},
                                                              {"delayed", "due"},
                                                              {"active", "lease"},
                                                              {"suspended", "parked"},
                                                              {"blocked", "parked"}};
    queue["oldest_ready_age_ms"] = nullptr;
    for (const auto& [state, order] : orders) {
        const Json page = reader.value(
            "SELECT {h}.browse_tasks($1, $2, p_limit => " + std::to_string(kMost) +
                ", p_preview => 0)",
            {JsonText{Json{{"queue", reader.id()}, {"state", Json::array({state})}}.dump()},
             std::string_view(order)});
        queue[state] = page["rows"].size();
        if (!page["next"].is_null()) {
            queue["capped"].push_back(state);
        }
    }
    return queue;
}

}  // namespace

Json read_queue(Reader& reader) {
    Json queue = reader.value("SELECT json_build_object('at_ms', " + std::string(kNow) +
                                  ", 'queue', (SELECT to_json(q) FROM {h}.list_queues() AS q "
                                  "WHERE q.queue = $1))",
                              {reader.id()});
    queue["listed"] = !queue["queue"].is_null();
    if (queue["queue"].is_null()) {
        queue["queue"] = unlisted_queue(reader);
    }
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
    queue["kinds"] = reader.value(
        "SELECT coalesce(json_agg(json_build_object('kind', q.kind, 'n', q.completed + q.failed + "
        "q.cancelled + q.expired, 'failed', q.failed, 'wait', json_build_object('p50', w.p50_ms, "
        "'p95', w.p95_ms, 'p99', w.p99_ms, 'buckets', w.buckets), 'run', json_build_object('p50', "
        "r.p50_ms, 'p95', r.p95_ms, 'p99', r.p99_ms, 'buckets', r.buckets)) ORDER BY q.kind), "
        "'[]') "
        "FROM belay.pg_stat_belay_task_queue AS q JOIN belay.pg_stat_belay_latency AS w ON "
        "w.duration = 'wait' AND (w.hub, w.task_queue, w.kind) = (q.hub, q.queue, q.kind) JOIN "
        "belay.pg_stat_belay_latency AS r ON r.duration = 'run' AND (r.hub, r.task_queue, r.kind) "
        "= "
        "(q.hub, q.queue, q.kind) WHERE q.hub = $1 AND q.queue = $2",
        {reader.hub().name(), reader.id()});
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
    // Pages follow the owner's id; on a page, those that are late come first.
    auto rows = page["rows"].get<std::vector<Json>>();
    std::ranges::stable_sort(rows, [](const Json& a, const Json& b) {
        return a["overdue"].get<std::int64_t>() > b["overdue"].get<std::int64_t>();
    });
    page["rows"] = rows;
    return page;
}

// The task that each schedule has created last, as long as its dedup key is kept.
static void put_last_tasks(Reader& reader, Json& rows) {
    constexpr std::size_t kMost = 100;
    Json keys = Json::array();
    for (const auto& row : rows) {
        if (row["last_due_ms"].is_number_integer() && keys.size() < kMost) {
            keys.push_back("schedule:" + row["name"].get<std::string>() + ":" +
                           std::to_string(row["last_due_ms"].get<std::int64_t>()));
        }
    }
    const Json found =
        keys.empty() ? Json(nullptr)
                     : reader.if_allowed(
                           "SELECT json_object_agg(k.key, f.id) FROM "
                           "jsonb_array_elements_text($1) AS k(key) CROSS JOIN LATERAL "
                           "(SELECT id FROM {h}.find(k.key) WHERE what = 'task' LIMIT 1) AS f",
                           {JsonText{keys.dump()}});
    std::size_t at = 0;
    for (auto& row : rows) {
        if (row["last_due_ms"].is_number_integer() && at < keys.size()) {
            const auto key = keys[at++].get<std::string>();
            if (found.is_object() && found.contains(key)) {
                row["last_task_id"] = found[key];
            }
        }
    }
}

Json read_schedules(Reader& reader) {
    Json page = reader.value(
        "SELECT json_build_object('at_ms', " + std::string(kNow) +
        ", 'rows', coalesce(json_agg(json_build_object('name', name, 'cron', cron, 'time_zone', "
        "time_zone, 'catch_up', catch_up, 'paused', paused, 'task', task::text, 'queue', "
        "coalesce(task ->> 'queue', ''), 'next_ms', CASE WHEN paused OR next_due_ms IS NULL THEN "
        "'[]'::json ELSE json_build_array(next_due_ms) END, 'last_due_ms', last_due_ms, "
        "'last_task_id', NULL, 'last_error', last_error, 'created_at_ms', created_at_ms) ORDER BY "
        "name), '[]'), 'next', NULL, 'scanned', count(*), 'estimate', NULL, 'upto', NULL) FROM "
        "{h}.list_schedules()");
    const Json next = reader.if_allowed(
        "SELECT json_object_agg(s.name, (SELECT json_agg(n.due_ms) FROM {h}.next_times(s.cron, "
        "s.time_zone, 3) AS n)) FROM {h}.list_schedules() AS s WHERE NOT s.paused");
    for (auto& row : page["rows"]) {
        const auto name = row["name"].get<std::string>();
        if (next.is_object() && next.contains(name) && next[name].is_array()) {
            row["next_ms"] = next[name];
        }
    }
    put_last_tasks(reader, page["rows"]);
    return page;
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

// The input of an item comes behind its ids and its name.
constexpr int kItemPreview = 1000;

Json read_dead_letters(Reader& reader) {
    const Json filter = filter_of(reader, {"queue", "reason", "name", "instance_id", "tag"});
    Json page =
        browse(reader, "browse_dead_letters", filter, order_of(reader.route()),
               filter.contains("instance_id") ? nullptr : "dead_letters", kItemPreview,
               "{h}.browse_dead_letters('{}', 'newest', NULL, 1, 100, 0) #>> '{rows,0,id}'");
    for (auto& row : page["rows"]) {
        as_text(row, "id");
        rename(row, "work_item", "preview");
        rename(row, "work_item_bytes", "bytes");
    }
    return page;
}

Json read_work_items(Reader& reader) {
    Json filter = filter_of(reader, {"state", "name", "instance_id", "tag", "locked_by"});
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
                            "'detail', json_build_object('text', detail), "
                            "'until_ms', " +
                            ms("until_at") + ")), '[]')) FROM {h}.explain_work_item($1)",
                        {number_of(reader.id(), "the id", 0, INT64_MAX)});
}

// read_body does not have messages: this is all of a body that a page shows.
constexpr int kMessagePreview = 4000;

Json read_messages(Reader& reader) {
    const Json filter = filter_of(reader, {"instance_id", "name"});
    const auto order = order_of(reader.route());
    Json page =
        browse(reader, "browse_messages", filter, order ? order : "oldest",
               filter.contains("instance_id") ? nullptr : "orchestrator_queue", kMessagePreview);
    for (auto& row : page["rows"]) {
        as_text(row, "id");
        rename(row, "work_item", "preview");
        rename(row, "work_item_bytes", "bytes");
    }
    return page;
}

Json read_events(Reader& reader) {
    const Json filter = filter_of(reader, {"topics", "types", "subject", "by", "from_ms", "to_ms"});
    Json page = browse(reader, "browse_events", filter, order_of(reader.route()),
                       filter.contains("subject") ? nullptr : "outbox_events", 2000);
    for (auto& row : page["rows"]) {
        if (row["details"].is_null()) {
            row["details"] = "";
        }
    }
    return page;
}

Json read_find(Reader& reader) {
    const std::string& text = reader.route().get("text");
    if (text.empty() || text.size() > 1024) {
        return {{"at_ms", system_ms()}, {"rows", Json::array()}};
    }
    return reader.value("SELECT json_build_object('at_ms', " + std::string(kNow) +
                            ", 'rows', coalesce(json_agg(f), '[]')) FROM {h}.find($1) AS f",
                        {text});
}

// How many intents wait for the target of each link, and the error of the oldest that failed.
static void put_intents(Reader& reader, Json& links) {
    constexpr std::int64_t kMost = 10000;
    const Json waiting =
        links.empty()
            ? Json(nullptr)
            : reader.if_allowed(
                  "SELECT json_object_agg(target_hub, json_build_object('n', n, 'last_error', "
                  "last_error)) FROM (SELECT target_hub, count(*) AS n, (array_agg(last_error "
                  "ORDER BY intent_id) FILTER (WHERE last_error IS NOT NULL))[1] AS last_error "
                  "FROM (SELECT intent_id, target_hub, last_error FROM {h}.intents LIMIT 10000) "
                  "AS i GROUP BY target_hub) AS t");
    if (waiting.is_discarded() || links.empty()) {
        return;  // the role may not know
    }
    std::int64_t all = 0;
    if (waiting.is_object()) {
        for (const auto& target : waiting) {
            all += target["n"].get<std::int64_t>();
        }
    }
    for (auto& link : links) {
        const auto target = link["target"].get<std::string>();
        const bool has = waiting.is_object() && waiting.contains(target);
        link["waiting"] = {{"n", has ? waiting[target]["n"] : Json(0)}, {"capped", all >= kMost}};
        link["last_error"] = has ? waiting[target]["last_error"] : Json(nullptr);
    }
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
            "belay.hub_sizes AS s WHERE hub = $1::name AND s.\"table\" = 'tasks'), 0), 'intents', "
            "{h}.glance() -> 'intents_waiting')",
        {reader.hub().name()});
    put_intents(reader, health["links"]);
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
            "waiters, 'of', NULL), json_build_object('what', 'channels', 'used', channels, 'of', "
            "NULL), json_build_object('what', 'leases', 'used', leases, 'of', "
            "current_setting('belay.lease_slots', true)::bigint), json_build_object('what', "
            "'counter slots', 'used', counter_slots, 'of', current_setting('belay.counter_slots', "
            "true)::bigint)) FROM belay.shared_memory()"));
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

}  // namespace belay::tool::dashboard
