// What is stored, as the tables show it and as the model has it.
#include "made_up.hpp"

namespace belay::test::model {

using std::to_string;

const char* showing_functions() {
    return R"sql(
CREATE OR REPLACE FUNCTION shown_time(at timestamptz) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN at = 'infinity' THEN 'never'
                WHEN abs(extract(epoch FROM at - clock_timestamp())) < 86400 THEN 'by the server'
                ELSE (extract(epoch FROM at) * 1000)::bigint::text END
$$;
CREATE OR REPLACE FUNCTION shown_item(item text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN item NOT LIKE '%"Poison"%' THEN item
           ELSE (SELECT concat_ws(' ', 'poison', a ->> 'instance', a ->> 'execution_id',
                                  a ->> 'activity_id', a ->> 'activity_name',
                                  p ->> 'attempt_count', 'of', p ->> 'max_attempts')
                   FROM (SELECT item::jsonb #> '{ActivityFailed,details,Poison}') AS x(p),
                        LATERAL (SELECT p #> '{message_type,Activity}') AS y(a)) END
$$;
CREATE OR REPLACE FUNCTION shown_elements(list json) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(
               CASE json_typeof(element) WHEN 'string' THEN 'as a string: ' || (element #>> '{}')
                    ELSE shown_item(element::text) END || E'\n', '' ORDER BY place), '')
      FROM json_array_elements(list) WITH ORDINALITY AS e(element, place)
$$;
CREATE OR REPLACE FUNCTION shown_values(snapshot json) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(format(E'%s = %s at %s\n', key, value ->> 'value',
                                      value ->> 'last_updated_at_ms'), ''
                               ORDER BY key COLLATE "C"), '')
      FROM json_each(snapshot)
$$;
CREATE OR REPLACE FUNCTION shown_reconcile(now_ms bigint, duties text[], after bigint,
                                           OUT done text, OUT buried text)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT string_agg(r.duty || ' ' || r.rows, ', ' ORDER BY r.place) INTO done
      FROM app.reconcile(duties, p_now_ms => now_ms) WITH ORDINALITY AS r(duty, rows, elapsed_ms, place);
    SELECT string_agg(d.source_id || ' ' || d.id, ' ' ORDER BY d.id) INTO buried
      FROM app.dead_letters AS d
     WHERE d.id > after AND d.reason = 'orphan';
END
$$;
-- The server does not repeat the condition of a partial index for the rows that it finds there: so
-- a scan of the index shows what has an entry, and a scan of the table what should have one.
CREATE OR REPLACE FUNCTION index_faults(hub text) RETURNS SETOF text LANGUAGE plpgsql
SET enable_bitmapscan = off SET enable_sort = off SET enable_indexonlyscan = off AS $$
DECLARE
    i record;
    plan json;
    by_index tid[];
    by_table tid[];
BEGIN
    FOR i IN
        SELECT c.relname AS name, format('FROM %s WHERE %s', x.indrelid::regclass,
                      pg_get_expr(x.indpred, x.indrelid)) AS chosen,
               (SELECT string_agg(pg_get_indexdef(x.indexrelid, k, true)
                                  || CASE x.indoption[k - 1] WHEN 0 THEN '' WHEN 3 THEN ' DESC'
                                          ELSE ' an order that the test does not know' END,
                                  ', ' ORDER BY k)
                  FROM generate_series(1, x.indnkeyatts) AS k) AS keys
          FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid
         WHERE c.relnamespace = hub::regnamespace AND x.indpred IS NOT NULL
         ORDER BY 1
    LOOP
        PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true);
        EXECUTE format('EXPLAIN (FORMAT json) SELECT ctid %s ORDER BY %s', i.chosen, i.keys) INTO plan;
        IF plan #>> '{0,Plan,Index Name}' IS DISTINCT FROM i.name
           OR plan #>> '{0,Plan,Filter}' IS NOT NULL THEN
            RETURN NEXT format('%s is not read for its rows: %s', i.name, plan);
        END IF;
        EXECUTE format('SELECT array_agg(ctid) FROM (SELECT ctid %s ORDER BY %s) AS s', i.chosen, i.keys)
           INTO by_index;
        PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
        EXECUTE format('SELECT array_agg(ctid) %s', i.chosen) INTO by_table;
        IF ARRAY(SELECT unnest(by_index) ORDER BY 1) <> ARRAY(SELECT unnest(by_table) ORDER BY 1) THEN
            RETURN NEXT format('%s has %s, its condition says %s', i.name, by_index, by_table);
        END IF;
    END LOOP;
    PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true);
END
$$;
)sql";
}

std::string shown_time(int64_t ms) {
    return ms == kServerClock ? "by the server" : ms == kNever ? "never" : to_string(ms);
}

namespace {

Text shown_time(const std::optional<int64_t>& ms) {
    return ms ? Text(model::shown_time(*ms)) : std::nullopt;
}

// ---- The worker queue ----

Expected work_items(const Hub& hub, int client) {
    Expected rows;
    for (const Item* item : hub.items.seen_by(client)) {
        const bool leased = !item->token.empty();
        rows.push_back(
            {to_string(item->id), item->what.work_item, shown_time(item->visible_at),
             leased ? Text(item->token) : std::nullopt,
             leased ? text_of(item->locked_until) : std::nullopt, to_string(item->attempts),
             shown_time(item->created_at), item->what.instance, text_of(item->what.execution),
             text_of(item->what.activity), item->what.session, item->what.tag, item->locked_by});
    }
    return rows;
}

Expected sessions(const Hub& hub, int client) {
    Expected rows;
    for (const Session* session : hub.sessions.seen_by(client)) {
        rows.push_back({session->id, session->owner, to_string(session->locked_until),
                        to_string(session->last_activity), to_string(session->lease_incarnation)});
    }
    return rows;
}

Expected dead_letters(const Hub& hub, int client) {
    Expected rows;
    for (const DeadLetter* dead : hub.dead_letters.seen_by(client)) {
        rows.push_back({to_string(dead->id), dead->queue, to_string(dead->source_id),
                        dead->what.instance, text_of(dead->what.execution),
                        text_of(dead->what.activity), dead->what.session, dead->what.tag,
                        dead->what.work_item, to_string(dead->attempts), dead->reason, std::nullopt,
                        shown_time(dead->enqueued_at), shown_time(dead->dead_at)});
    }
    return rows;
}

// ---- Turns ----

// A message shows the token of its lease only while the instance's lock is the same: a lease that
// another client has taken over has no holder.
Expected messages(const Hub& hub, int client) {
    Expected rows;
    for (const Message* message : hub.messages.seen_by(client)) {
        const TurnLock* lock = hub.locks.find(message->mail.instance, client);
        const bool leased =
            !message->token.empty() && lock != nullptr && lock->token == message->token;
        rows.push_back({to_string(message->id), message->mail.instance, message->mail.text,
                        shown_time(message->visible_at),
                        leased ? Text(message->token) : std::nullopt,
                        leased ? text_of(lock->locked_until) : std::nullopt,
                        to_string(message->attempts), shown_time(message->created_at)});
    }
    return rows;
}

Expected instance_locks(const Hub& hub, int client) {
    Expected rows;
    for (const TurnLock* lock : hub.locks.seen_by(client)) {
        if (!lock->token.empty()) {
            rows.push_back({lock->instance, lock->token, to_string(lock->locked_until),
                            to_string(lock->locked_at)});
        }
    }
    return rows;
}

// The rows, held by no client or not: cleaning them up is a duty.
Expected lock_rows(const Hub& hub, int client) {
    Expected rows;
    for (const TurnLock* lock : hub.locks.seen_by(client)) {
        rows.push_back({lock->instance, to_string(lock->locked_at)});
    }
    return rows;
}

// ---- Instances ----

Expected instances(const Hub& hub, int client) {
    Expected rows;
    for (const Instance* instance : hub.instances.seen_by(client)) {
        rows.push_back({instance->id, instance->name, instance->version,
                        to_string(instance->execution), instance->parent, instance->custom_status,
                        to_string(instance->custom_status_version),
                        shown_time(instance->created_at), shown_time(instance->updated_at)});
    }
    return rows;
}

Expected executions(const Hub& hub, int client) {
    Expected rows;
    for (const Execution* execution : hub.executions.seen_by(client)) {
        const auto& pin = execution->pin;
        rows.push_back(
            {execution->instance, to_string(execution->id), execution->status, execution->output,
             shown_time(execution->started_at), shown_time(execution->completed_at),
             pin ? text_of(pin->major) : std::nullopt, pin ? text_of(pin->minor) : std::nullopt,
             pin ? text_of(pin->patch) : std::nullopt});
    }
    return rows;
}

Expected history(const Hub& hub, int client) {
    Expected rows;
    for (const StoredEvent* stored : hub.history.seen_by(client)) {
        rows.push_back({stored->instance, to_string(stored->execution), to_string(stored->event.id),
                        stored->event.type, stored->event.text, shown_time(stored->created_at)});
    }
    return rows;
}

Expected values(const Table<std::pair<std::string, std::string>, Value>& table, int client) {
    Expected rows;
    for (const Value* value : table.seen_by(client)) {
        rows.push_back({value->instance, value->key, value->value, to_string(value->updated_at)});
    }
    return rows;
}

Expected kv_store(const Hub& hub, int client) {
    return values(hub.kv_store, client);
}

Expected kv_delta(const Hub& hub, int client) {
    return values(hub.kv_delta, client);
}

constexpr Picture kPictures[] = {
    {"work_items",
     "SELECT id, work_item, shown_time(visible_at), lock_token, locked_until, attempt_count, "
     "shown_time(created_at), instance_id, execution_id, activity_id, session_id, tag, locked_by "
     "FROM app.work_items ORDER BY id",
     work_items},
    {"sessions",
     "SELECT session_id, worker_id, locked_until, last_activity_at, lease_inc FROM app.sessions "
     "ORDER BY session_id",
     sessions},
    {"dead_letters",
     "SELECT id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, "
     "shown_item(work_item), attempt_count, reason, detail, shown_time(enqueued_at), "
     "shown_time(dead_at) FROM app.dead_letters ORDER BY id",
     dead_letters},
    {"messages",
     "SELECT id, instance_id, shown_item(work_item), shown_time(visible_at), lock_token, "
     "locked_until, attempt_count, shown_time(created_at) FROM app.messages ORDER BY id",
     messages},
    {"instance_locks",
     "SELECT instance_id, lock_token, locked_until, locked_at FROM app.instance_lock_states "
     "ORDER BY instance_id",
     instance_locks},
    {"rows of instance_locks",
     "SELECT instance_id, locked_at FROM app.instance_locks ORDER BY instance_id", lock_rows},
    {"instances",
     "SELECT instance_id, orchestration_name, orchestration_version, current_execution_id, "
     "parent_instance_id, custom_status, custom_status_version, shown_time(created_at), "
     "shown_time(updated_at) FROM app.instances ORDER BY instance_id",
     instances},
    {"executions",
     "SELECT instance_id, execution_id, status, output, shown_time(started_at), "
     "shown_time(completed_at), duroxide_version_major, duroxide_version_minor, "
     "duroxide_version_patch FROM app.executions ORDER BY instance_id, execution_id",
     executions},
    {"history",
     "SELECT instance_id, execution_id, event_id, event_type, event_data, shown_time(created_at) "
     "FROM app.history ORDER BY instance_id, execution_id, event_id",
     history},
    {"kv_store",
     "SELECT instance_id, key, value, last_updated_at_ms FROM app.kv_store "
     "ORDER BY instance_id, key",
     kv_store},
    {"kv_delta",
     "SELECT instance_id, key, value, last_updated_at_ms FROM app.kv_delta "
     "ORDER BY instance_id, key",
     kv_delta},
};

}  // namespace

std::span<const Picture> pictures() {
    return kPictures;
}

}  // namespace belay::test::model
