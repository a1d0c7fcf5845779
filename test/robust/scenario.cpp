#include "scenario.hpp"

#include <cstdlib>
#include <random>
#include <stdexcept>

namespace belay::test::robust {
namespace {

// Orchestrations and activities. "turn" is in the middle of its life and leased until 100000.
// Before "ready" in the queue: an instance whose messages are dropped (q), one whose messages are
// parked (c), one whose message was leased too often (p).
constexpr const char* kOrchestrations[] = {
    "SELECT <hub>.start_orchestration('O', '', 'turn', '1', 0, 1000)",
    "token=SELECT lock_token FROM <hub>.fetch_orchestration_item(99000, p_now_ms => 1000)",
    R"(SELECT <hub>.ack_orchestration_item('<token>', 1,
        '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"stored\",\"value\":\"v\"}"}]', '[]', '[]',
        '{"orchestration_name":"O","orchestration_version":"1","status":"ContinuedAsNew"}', p_now_ms => 1000))",
    R"(SELECT <hub>.enqueue_orchestrator_items('[{"work_item":{"ContinueAsNew":{"instance":"turn","orchestration":"O"}}},
        {"work_item":{"QueueMessage":{"instance":"turn"}}}]', 1000))",
    "turn=SELECT lock_token FROM <hub>.fetch_orchestration_item(99000, p_now_ms => 1000)",
    "INSERT INTO <hub>.kv_delta VALUES ('turn', 'delta', 'd', 1), ('turn', 'stored', NULL, 1)",
    "INSERT INTO <hub>.instances VALUES ('parent', 'P', '1', 1, NULL, NULL, 0, now(), now())",
    "SELECT belay.set_hub_option('<hub>', 'max_attempts', '3')",
    "SELECT <hub>.raise_event('q', 'q', '', true, 1001), <hub>.cancel_instance('c', '', 1002), "
    "<hub>.start_orchestration('O', '', 'p', '1', 0, 1003)",
    "UPDATE <hub>.orchestrator_queue SET attempt_count = 3 WHERE instance_id = 'p'",
    R"(SELECT <hub>.start_orchestration('O', '', 'ready', '1', 0, 1005),
        <hub>.append_history('ready', 1, '[{"event_id":1,"event_data":"{}"}]'))",
    // A session that is over, leased items of a session, ready ones, two that were leased too
    // often.
    R"(SELECT <hub>.enqueue_worker_work('{"ActivityExecute":{}}', p_session_id => 'over', p_now_ms => 1000))",
    "SELECT <hub>.ack_worker(lock_token, p_now_ms => 1000) FROM <hub>.fetch_work_item("
    "10, 'owner', 10, p_now_ms => 1000)",
    R"(SELECT <hub>.enqueue_worker_items((SELECT jsonb_agg(jsonb_build_object('work_item', jsonb_build_object('ActivityExecute',
        jsonb_build_object('instance', 'turn', 'execution_id', 1, 'id', n, 'session_id', 's')))) FROM generate_series(1, 6) AS n), 1000))",
    "work1=SELECT lock_token FROM <hub>.fetch_work_item(99000, 'owner', 99000, p_now_ms => 1000)",
    "work2=SELECT lock_token FROM <hub>.fetch_work_item(99000, 'owner', 99000, p_now_ms => 1000)",
    "work3=SELECT lock_token FROM <hub>.fetch_work_item(99000, 'owner', 99000, p_now_ms => 1000)",
    R"(SELECT <hub>.enqueue_worker_work('{"ActivityExecute":{"instance":"turn","execution_id":1,"id":9}}', p_now_ms => 1000))",
    R"(SELECT <hub>.enqueue_worker_work('{"ActivityExecute":{"instance":"turn","execution_id":1,"id":10}}', p_now_ms => 1000))",
    "UPDATE <hub>.worker_queue SET attempt_count = 3 WHERE activity_id IN (4, 9)",
    R"(INSERT INTO <hub>.dead_letters SELECT 1000 + n, CASE WHEN n % 2 = 0 THEN 'worker' ELSE 'orchestrator' END, n, 'x', 1, 1, NULL, NULL,
        CASE WHEN n % 2 = 0 THEN '{"ActivityExecute":{}}' ELSE '{"CancelInstance":{"instance":"x"}}' END, 3, 'max_attempts', NULL, now(), now()
        FROM generate_series(1, 4) AS n)",
    // A finished tree with something of everything and a child not yet born; a former execution of
    // an instance that runs; what is old enough for the duties.
    "INSERT INTO <hub>.instances VALUES ('root', 'O', '1', 1, NULL, NULL, 0, 'epoch', 'epoch'), "
    "('leaf', 'O', '1', 1, 'root', NULL, 0, 'epoch', 'epoch'), ('old', 'O', '1', 2, NULL, NULL, 0, "
    "'epoch', 'epoch')",
    "INSERT INTO <hub>.executions VALUES ('root', 1, 'Completed', NULL, 'epoch', to_timestamp(1)), "
    "('leaf', 1, 'Completed', NULL, 'epoch', to_timestamp(1)), "
    "('old', 1, 'ContinuedAsNew', NULL, 'epoch', to_timestamp(1)), ('old', 2, 'Running', NULL, "
    "'epoch', NULL)",
    "INSERT INTO <hub>.history_turns SELECT 1, e, e, 'epoch', i, '{T}', ARRAY['{}'] FROM "
    "unnest('{root,leaf,old}'::text[]) AS i, "
    "generate_series(1, 2) AS e",
    "INSERT INTO <hub>.kv_store VALUES ('root', 'k', 'v', 1, 1)",
    "INSERT INTO <hub>.kv_delta VALUES ('leaf', 'k', 'v', 1)",
    "INSERT INTO <hub>.instance_locks VALUES (belay.instance_key('root'), 0, 0, 0, 0, 0, 0, "
    "0, 0, 'root'), "
    "(belay.instance_key('idle'), 0, 0, 0, 0, 0, 0, 0, 0, 'idle')",
    R"(INSERT INTO <hub>.dead_letters SELECT 2000 + n, 'worker', n, i, 1, 1, NULL, NULL, '{"ActivityExecute":{}}', 3, 'max_attempts', NULL, 'epoch', 'epoch'
        FROM (VALUES (1, 'root'), (2, NULL)) AS v (n, i))",
    // check_hub reports a sequence that is behind its rows.
    "SELECT setval(s.oid, 1000000) FROM pg_class AS s JOIN pg_class AS t USING (relnamespace) "
    "WHERE "
    "s.relname = 'dead_letters_id' AND t.oid = (SELECT tableoid FROM <hub>.dead_letters LIMIT 1)",
    R"(SELECT <hub>.enqueue_worker_work('{"ActivityExecute":{}}', 'leaf', 1, 1, NULL, 'nobody serves it', p_now_ms => 1000),
        <hub>.raise_event('root', 'late', '', false, 9000000),
        <hub>.enqueue_orchestrator_work(NULL, '{"StartOrchestration":{"instance":"unborn","orchestration":"C","parent_instance":"leaf"}}', to_timestamp(9000)))",
    "SELECT belay.set_hub_option('<hub>', o, '1 s') FROM "
    "unnest('{dead_letter_retention,orphan_retention,instance_retention}'::text[]) AS o",
    "SELECT <hub>.cancel_instance('orphan', '', 1000)",
    "UPDATE <hub>.orchestrator_queue SET parked = true WHERE instance_id = 'orphan'",
    "SELECT <hub>.acquire_slots('owner', 'worker', 1, 1000, 1000)",
    "SELECT <hub>.create_subscription('free', NULL, 'start'), <hub>.create_subscription('taken', "
    "NULL, 'start')",
    "upto=SELECT upto FROM <hub>.read_events('taken', 2, 100000, 1000) LIMIT 1",
    R"(SELECT <hub>.send_to_hub('nowhere', 'worker', '{"ActivityExecute":{}}'))",
};

// Tasks. 01 and 02 leased until 2000, 01 with a key; 03 ready; 04 due; 05 completed; 06 past its
// deadline; 07 needs gpu; 08 suspended, 09 leased, 0a leased in a limited queue where 0b waits.
constexpr const char* kTasks[] = {
    R"(SELECT count(*) FROM <hub>.create_tasks('[{"queue":"a","task_id":"<01>","dedup_key":"k1","priority":9,"policy":{"on_lease_expiry":"retry"}},
        {"queue":"a","task_id":"<02>","priority":8},{"queue":"a","task_id":"<03>"},{"queue":"a","task_id":"<04>","delay_ms":100},
        {"queue":"b","task_id":"<05>","dedup_key":"k5","dedup_window_ms":10},{"queue":"a","task_id":"<06>","deadline_ms":1050},
        {"queue":"a","task_id":"<07>","capabilities":["gpu"]}]', 1000))",
    "SELECT lease_epoch FROM <hub>.claim_tasks('w', 'i', '{b}', p_now_ms => 1000)",
    "SELECT result FROM <hub>.complete_task('<05>', 1, p_now_ms => 1000)",
    "SELECT count(*) FROM <hub>.claim_tasks('w', 'i', '{a}', p_max_items => 2, p_lease_ms => 1000, "
    "p_now_ms => 1000)",
    R"(SELECT count(*) FROM <hub>.create_tasks('[{"queue":"c","task_id":"<08>"},{"queue":"c","task_id":"<09>"}]', 1000))",
    "SELECT count(*) FROM <hub>.claim_tasks('w', 'i', '{c}', p_max_items => 2, p_lease_ms => "
    "100000, "
    "p_now_ms => 1000)",
    "pending=SELECT waitpoint_id FROM <hub>.create_waitpoint('<09>', 1, 'p', NULL, 1000)",
    R"(signal=SELECT w ->> 'token' FROM <hub>.suspend_task('<08>', 1, '{"waitpoints":[{"key":"k"}],"condition":{"single":{"key":"k"}},
        "timeout_at_ms":5000,"on_timeout":"auto_resume"}', 1000), jsonb_array_elements(waitpoints) AS w)",
    "waitpoint=SELECT waitpoint_id FROM <hub>.list_waitpoints('<08>')",
    R"(SELECT <hub>.set_queue('lim', '{"concurrency":1}'))",
    R"(SELECT count(*) FROM <hub>.create_tasks('[{"queue":"lim","task_id":"<0a>"},{"queue":"lim","task_id":"<0b>"}]', 1000))",
    "SELECT count(*) FROM <hub>.claim_tasks('w', 'i', '{lim}', p_max_items => 2, p_lease_ms => "
    "100000, "
    "p_now_ms => 1000)",
    R"(SELECT <hub>.create_schedule(n, '* * * * *', '{"queue":"x","capabilities":["c"]}', p_now_ms => 1000) FROM unnest('{s,r}'::text[]) AS n)",
    "SELECT <hub>.pause_schedule('r')",
};

// The front door: a task leased until 100000, one failed permanently, and one that waits. The
// second half of each statement sets the clock of its transaction before the call.
constexpr const char* kFrontDoor[] = {
    "SELECT count(*) FROM <hub>.create_tasks('[{\"queue\":\"door\",\"task_id\":\"<71>\"},"
    "{\"queue\":\"door2\",\"task_id\":\"<72>\"},{\"queue\":\"door\",\"task_id\":\"<73>\"}]', 1000)",
    "lease=SELECT r.lease FROM set_config('belay.now', '1000', true) AS now, LATERAL "
    "<hub>.receive('door' || left(now, 0), lease => '99 s') AS r",
    "SELECT count(*) FROM <hub>.claim_tasks('w', 'i', '{door2}', p_now_ms => 1000)",
    "SELECT result FROM <hub>.fail_task('<72>', 1, 'permanent', p_now_ms => 1000)",
};

// Flows. f1 fails fast: 11 leased, 12 to 14 behind it, 15 of an any_of with 11, 16 a sibling. f2
// completed. f3 open, with 31 ready and 32 held. f4 cancelled, with a backlog. f5 has something
// left to dispatch and to cancel. f6 failed, with a skipped 62. 91 stands alone.
constexpr const char* kFlows[] = {
    R"(SELECT count(*) FROM <hub>.create_flow('{"flow_id":"<f1>","fail_policy":"fail_fast","tasks":[{"key":"a","queue":"fa","priority":9,"task_id":"<11>"},
        {"key":"b","queue":"fa","after":["a"],"task_id":"<12>"},{"key":"c","queue":"fa","after":["a"],"task_id":"<13>"},
        {"key":"d","queue":"fa","after":["c"],"task_id":"<14>"},{"key":"s","queue":"fa","task_id":"<16>"},
        {"key":"e","queue":"fa","after":["a","s"],"join":{"kind":"any_of"},"task_id":"<15>"}]}', 1000))",
    R"(SELECT count(*) FROM <hub>.create_flow('{"flow_id":"<f2>","tasks":[]}', 1000))",
    R"(SELECT count(*) FROM <hub>.create_flow('{"flow_id":"<f3>","seal":false,"tasks":[{"key":"a","queue":"fc","task_id":"<31>"},
        {"key":"b","queue":"fc","hold":true,"task_id":"<32>"}]}', 1000))",
    R"(SELECT count(*) FROM <hub>.create_flow('{"flow_id":"<f4>","tasks":[{"key":"a","queue":"fd","task_id":"<41>"},{"key":"b","queue":"fd","task_id":"<42>"}]}', 1000))",
    R"(SELECT count(*) FROM <hub>.create_flow('{"flow_id":"<f5>","tasks":[{"key":"a","queue":"fe","priority":9,"task_id":"<51>"},{"key":"b","queue":"fe","task_id":"<52>"},
        {"key":"c","queue":"fe","task_id":"<53>"},{"key":"d","queue":"fe","task_id":"<54>"},
        {"key":"j","queue":"fe","after":["a","b","c","d"],"join":{"kind":"any_of"},"task_id":"<55>"},{"key":"k","queue":"fe","after":["a"],"task_id":"<56>"},
        {"key":"l","queue":"fe","after":["a"],"task_id":"<57>"}]}', 1000))",
    R"(SELECT count(*) FROM <hub>.create_flow('{"flow_id":"<f6>","tasks":[{"key":"a","queue":"ff","task_id":"<61>"},{"key":"b","queue":"ff","after":["a"],"task_id":"<62>"}]}', 1000))",
    "SELECT count(*) FROM <hub>.create_task('fg', p_task_id => '<91>', p_now_ms => 1000)",
    "SELECT (SELECT count(*) FROM <hub>.claim_tasks('w', 'i', ARRAY[l], p_lease_ms => 1000, "
    "p_now_ms => 1000)) FROM unnest('{fa,fd,fe,ff}'::text[]) AS l",
    "SELECT result FROM <hub>.complete_task('<51>', 1, p_now_ms => 1000)",
    "SELECT result FROM <hub>.fail_task('<61>', 1, 'permanent', p_now_ms => 1000)",
    "SELECT result FROM <hub>.cancel_flow('<f4>', p_now_ms => 1000)",
};

// The clock of calls of the front door.
constexpr const char* kAt = "SET LOCAL belay.now = 1200; ";

constexpr const char* kDuroxide[] = {
    "SELECT belay.create_hub('<hub>', 'duroxide-pg')",
    "SELECT belay.set_hub_option('<hub>', 'max_clock_skew', '0')",
    R"(SELECT <hub>.start_orchestration('O', '', 'turn', '1', 0, 1000), <hub>.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000))",
    "turn=SELECT out_lock_token FROM <hub>.fetch_orchestration_item(1000, 1000)",
    "work=SELECT out_lock_token FROM <hub>.fetch_work_item(1000, 1000)",
    R"(SELECT <hub>.enqueue_worker_work('{"ActivityExecute":{}}', p_now_ms => 1000, p_session_id => 's'))",
    "SELECT FROM <hub>.fetch_work_item(1000, 100000, 'owner', 1000)",
    "SELECT <hub>.start_orchestration('O', '', 'ready', '1', 0, 1000)",
};

// Runs a statement; one that begins with "word=" gives that word a value.
void run_step(Conn& conn, std::string_view step, const std::string& hub, Words* words) {
    std::string word;
    const auto equals = step.find('=');
    const auto letters = step.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789");
    if (equals != std::string_view::npos && equals == letters) {
        word = step.substr(0, equals);
        step.remove_prefix(equals + 1);
    }
    const std::string sql = filled(std::string(step), hub, *words);
    if (word.empty()) {
        conn.exec(sql);
    } else {
        (*words)[word] = conn.value(sql);
    }
}

}  // namespace

Outcome attempt(Conn& conn, const std::string& sql) {
    PGresult* result = PQexec(conn.raw(), sql.c_str());
    const auto field = [result](int code) {
        const char* text = PQresultErrorField(result, code);
        return std::string(text != nullptr ? text : "");
    };
    Outcome outcome{field(PG_DIAG_SQLSTATE), field(PG_DIAG_MESSAGE_PRIMARY),
                    field(PG_DIAG_MESSAGE_DETAIL), field(PG_DIAG_MESSAGE_HINT)};
    if (PQstatus(conn.raw()) != CONNECTION_OK) {
        outcome.sqlstate = "08006";
        outcome.message += PQerrorMessage(conn.raw());
    }
    PQclear(result);
    return outcome;
}

std::string escaped(const std::string& text, char quote) {
    std::string result;
    for (const char c : text) {
        result += c;
        if (c == quote) {
            result += c;
        }
    }
    return result;
}

std::string quoted(const std::string& name) {
    return '"' + escaped(name, '"') + '"';
}

std::string id_of(const std::string& digits) {
    return "00000000-0000-4000-8000-0000000000" + digits;
}

std::string filled(std::string text, const std::string& hub, const Words& words) {
    std::string::size_type at = 0;
    while ((at = text.find('<', at)) != std::string::npos) {
        const auto end = text.find('>', at);
        const std::string name = end == std::string::npos ? "" : text.substr(at + 1, end - at - 1);
        const auto word = words.find(name);
        const bool is_id =
            name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
        std::string value;
        if (name == "hub") {
            value = at > 0 && text[at - 1] == '\'' ? escaped(hub, '\'') : quoted(hub);
        } else if (word != words.end()) {
            value = word->second;
        } else if (is_id) {
            value = id_of(name);
        } else {
            ++at;
            continue;
        }
        text.replace(at, end - at + 1, value);
        at += value.size();
    }
    return text;
}

Words make_full_hub(Conn& conn, const std::string& hub) {
    Words words;
    conn.exec(filled("SELECT belay.create_hub('<hub>')", hub, words));
    for (const char* option :
         {"'max_clock_skew', '0'", "'task_retention', '1000'", "'fanout_bound', '2'",
          "'events', 'operator,completion,instance,lease'"}) {
        conn.exec(filled("SELECT belay.set_hub_option('<hub>', ", hub, words) + option + ")");
    }
    for (const char* step : kOrchestrations) {
        run_step(conn, step, hub, &words);
    }
    for (const char* step : kTasks) {
        run_step(conn, step, hub, &words);
    }
    for (const char* step : kFrontDoor) {
        run_step(conn, step, hub, &words);
    }
    for (const char* step : kFlows) {
        run_step(conn, step, hub, &words);
    }
    return words;
}

Words make_duroxide_hub(Conn& conn, const std::string& hub) {
    Words words;
    for (const char* step : kDuroxide) {
        run_step(conn, step, hub, &words);
    }
    return words;
}

const std::vector<Call>& writing_calls() {
    static const std::vector<Call> calls = {
        // Orchestrations.
        {"enqueue_orchestrator_work", R"('i', '{"CancelInstance":{"instance":"i"}}', NULL)"},
        {"enqueue_orchestrator_items",
         R"('[{"work_item":{"CancelInstance":{"instance":"i"}}}, {"work_item":{"TimerFired":{"instance":"i","fire_at_ms":5}}}]', 1000)"},
        {"start_orchestration", "'O'"},
        {"raise_event", "'i', 'n'"},
        {"cancel_instance", "'i'"},
        {"fetch_orchestration_item", "1000, p_now_ms => 2000"},
        {"fetch_orchestration_item", "1000, p_now_ms => 200000"},
        {"fetch_orchestration_item", "1000, 0, 9000000000, p_now_ms => 2000"},
        {"abandon_orchestration_item", "'<turn>', p_now_ms => 2000"},
        {"abandon_orchestration_item", "'<turn>', 1000, true, p_now_ms => 2000"},
        {"renew_orchestration_item_lock", "'<turn>', 1000, p_now_ms => 2000"},
        {"ack_orchestration_item", "'<turn>', 2, '[]', '[]', '[]', '{}', p_now_ms => 2000"},
        {"ack_orchestration_item", R"('<turn>', 2,
            '[{"event_id":1,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"k\",\"value\":\"v\"}"},
              {"event_id":2,"event_data":"{\"type\":\"KeyValueCleared\",\"key\":\"l\"}"}, {"event_id":3,"event_data":"{\"type\":\"KeyValuesCleared\"}"},
              {"event_id":4,"event_data":"{\"type\":\"CustomStatusUpdated\",\"status\":\"s\"}"},
              {"event_id":5,"event_data":"{\"type\":\"KeyValueSet\",\"key\":\"m\",\"value\":\"v\"}"}]',
            '[{"ActivityExecute":{"instance":"turn","execution_id":2,"id":1}}, {"ActivityExecute":{"instance":"turn","execution_id":2,"id":2,"tag":"t"}}]',
            '[{"StartOrchestration":{"instance":"child","orchestration":"C"}}, {"TimerFired":{"instance":"turn","fire_at_ms":5000}},
              {"SubOrchCompleted":{"parent_instance":"parent"}}]',
            '{"orchestration_name":"O2","orchestration_version":"2","parent_instance_id":"parent","status":"Completed","output":"o",
              "pinned_duroxide_version":{"major":1,"minor":0,"patch":0}}',
            '[{"instance":"turn","execution_id":2,"activity_id":2}, {"instance":"turn","execution_id":1,"activity_id":1},
              {"instance":"turn","execution_id":1,"activity_id":5}]', p_now_ms => 2000)"},
        {"ack_orchestration_item",
         R"('<turn>', 2, '[]', '[{"ToHub":{"hub":"b","item":{"ActivityExecute":{}}}}]',
            '[{"ToHub":{"hub":"b","item":{"CancelInstance":{"instance":"i"}}}}]', '{}', p_now_ms => 2000)"},
        {"append_history",
         R"('turn', 7, '[{"event_id":1,"event_data":"{}"}, {"event_id":2,"event_data":"{}"}]')"},
        {"append_history", R"('c', 1, '[{"event_id":1,"event_data":"{}"}]')"},
        // The worker queue.
        {"enqueue_worker_work", R"('{"ActivityExecute":{}}', p_now_ms => 1000)"},
        {"enqueue_worker_items",
         R"('[{"work_item":{"ActivityExecute":{}}}, {"work_item":{"ActivityExecute":{}},"delay_ms":5}]', 1000)"},
        {"fetch_work_item", "1000, p_now_ms => 2000"},
        {"fetch_work_item", "1000, 'owner', 1000, p_now_ms => 2000"},
        {"fetch_work_items", "1000, 'owner', 1000, p_max_items => 10, p_now_ms => 2000"},
        {"fetch_work_items", "1000, 'thief', 1000, p_max_items => 10, p_now_ms => 200000"},
        {"ack_worker", "'<work1>', NULL, NULL, 2000"},
        {"ack_worker", R"('<work1>', 'turn', '{"ActivityCompleted":{"instance":"turn"}}', 2000)"},
        {"ack_workers",
         R"('[{"lock_token":"<work2>","completion_json":{"ActivityCompleted":{"instance":"turn"}}}, {"lock_token":"<work1>"}, {"lock_token":"lost"}]', 2000)"},
        {"ack_and_fetch_turns",
         R"(ARRAY['<turn>', 'lost'], '{2,1}', p_worker_items => ARRAY['[{"ActivityExecute":{}}]', '[]']::jsonb[], p_metadata => ARRAY['{"cache":{"owner":"me","events":1}}', '{}']::jsonb[], p_max_turns => 5, p_cache_owner => 'me', p_names => '{O,C}', p_now_ms => 2000)"},
        {"ack_and_fetch_work_item",
         R"('<work1>', NULL, '{"ActivityFailed":{"instance":"turn"}}', 1000, 'owner', p_now_ms => 2000)"},
        {"settle_and_fetch_work_items",
         R"(ARRAY['<work2>', '<work1>', 'lost'], ARRAY['ack', 'abandon', 'ack'], ARRAY['{"ActivityCompleted":{"instance":"turn"}}', NULL, NULL], p_owner_id => 'owner', p_max_items => 5, p_now_ms => 2000)"},
        {"settle_turns_and_work",
         R"(ARRAY['<turn>', 'lost'], '{2,1}', p_worker_items => ARRAY['[{"ActivityExecute":{"instance":"turn","execution_id":2,"id":9}}]', '[]']::jsonb[], p_max_turns => 5, p_work_tokens => ARRAY['<work2>', '<work1>', 'lost'], p_outcomes => ARRAY['ack', 'abandon', 'ack'], p_completions => ARRAY['{"ActivityCompleted":{"instance":"ready"}}', NULL, NULL], p_owner_id => 'owner', p_max_items => 5, p_prefetch => 5, p_now_ms => 2000)"},
        {"renew_work_item_lock", "'<work1>', 5000, p_now_ms => 2000"},
        {"renew_work_item_locks", "ARRAY['<work3>', '<work1>', 'lost'], 5000, p_now_ms => 2000"},
        {"abandon_work_item", "'<work1>', p_now_ms => 2000"},
        {"abandon_work_item", "'<work1>', 1000, true, p_now_ms => 2000"},
        {"renew_session_lock", "ARRAY['owner', 'nobody'], 5000, 100000, p_now_ms => 2000"},
        {"cleanup_orphaned_sessions", "2000"},
        {"cancel_activities",
         R"('[{"instance":"turn","execution_id":1,"activity_id":1}, {"instance":"turn","execution_id":1,"activity_id":5}]')"},
        {"redrive_dead_letter", "1001"},
        {"redrive_dead_letter", "1002"},
        {"redrive_dead_letters", "'{}'"},
        {"discard_dead_letter", "1001"},
        {"discard_dead_letters", R"('{"ids":[1001,1002]}')"},
        {"discard_dead_letters", "'{}'"},
        {"cancel_instances", "'{}', p_now_ms => 2000"},
        // Management and duties.
        {"delete_instance", "'root'"},
        {"delete_instance", "'turn', true"},
        {"delete_instances_atomic", "'{leaf,root,nobody}', false"},
        {"delete_instances_atomic", "'{turn,ready,q}', true"},
        {"delete_instances_bulk", "'{}'"},
        {"delete_instances_bulk", R"('{"instance_ids":["root"]}')"},
        {"prune_executions", "'old'"},
        {"prune_executions", "'old', 1, 5000"},
        {"prune_executions_bulk", "'{}'"},
        {"prune_executions_bulk", R"('{"instance_ids":["old","turn"]}', '{"keep_last":1}')"},
        {"reconcile", "p_now_ms => 90000000"},
        {"reconcile",
         ""
         "'{dead_letters,instance_retention,lock_cleanup,orphan_messages,session_cleanup}', "
         "p_now_ms => 90000000"},
        {"reconcile", "'{outbox_retention}', p_now_ms => 90000000000"},
        {"reconcile", "'{lease_expiry,deadlines,due_timers,retention}', p_now_ms => 9000"},
        {"reconcile", "'{schedules}', p_now_ms => 60000"},
        {"reconcile", "'{dispatch_sweep,sibling_cancel}', p_now_ms => 1200"},
        {"reconcile", "'{cancel_backlog}', p_now_ms => 90000"},
        {"pause_hub", ""},
        {"pause_hub", "'worker', 'reason'"},
        {"resume_hub", "", "SELECT <hub>.pause_hub('worker'); "},
        // Other hubs, the outbox, slots.
        {"send_to_hub", R"('b', 'worker', '{"ActivityExecute":{}}')"},
        {"receive_intents",
         R"('[{"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":1,"queue":"worker","work_item":{"ActivityExecute":{}}},
              {"source_uuid":"11111111-1111-4111-8111-111111111111","intent_id":2,"queue":"orchestrator","work_item":{"CancelInstance":{"instance":"i"}}}]')"},
        {"create_subscription", "'new', '{instance}'"},
        {"drop_subscription", "'taken'"},
        {"read_events", "'free', 2, 1000, 2000"},
        {"ack_events", "'taken', '<upto>', 2000"},
        {"acquire_slots", "'owner', 'worker', 1, 1000, 1500"},
        {"acquire_slots", "'heir', 'worker', 1, 1000, 9000"},
        {"release_slots", "'owner', 'worker'"},
        // Tasks.
        {"create_task",
         "'new', '{}', p_capabilities => '{a,b}', p_dedup_key => 'k', p_now_ms => 1200"},
        {"create_task", "'b', p_dedup_key => 'k5', p_now_ms => 1200"},
        {"create_tasks",
         R"('[{"queue":"x","capabilities":["c"]},{"queue":"y","dedup_key":"k"},{"queue":"a","delay_ms":5}]', 1200)"},
        {"delete_task", "'<05>'"},
        {"claim_tasks", "'w', 'i', '{a}', p_now_ms => 1200"},
        {"claim_tasks", "'w', 'i', NULL, '{gpu}', p_max_items => 10, p_now_ms => 1200"},
        {"renew_task", "'<01>', 1, 5000, 1200"},
        {"renew_tasks", "'{<02>,<01>,<05>}', '{1,1,1}', 5000, 1200"},
        {"progress_task", "'<01>', 1, 5, 'm', '{}', 5000, 1200"},
        {"complete_task", "'<01>', 1, '{}', p_now_ms => 1200"},
        {"complete_and_claim", "'<01>', 1, '{}', 'w', 'i', p_now_ms => 1200"},
        {"complete_and_claim", "'<0a>', 1, NULL, 'w', 'i', '{lim}', p_now_ms => 1200"},
        {"settle_and_claim_tasks",
         R"('{<09>,<02>,<01>,<0a>,<05>}', '{1,1,1,1,1}', '{suspend,fail,complete,release,complete}', p_results => ARRAY[NULL, NULL, '{}', NULL, NULL]::jsonb[], p_classes => '{NULL,transient,NULL,NULL,NULL}', p_suspensions => ARRAY['{"waitpoints":[{"key":"p"}],"condition":"operator_only"}', NULL, NULL, NULL, NULL]::jsonb[], p_worker => 'w', p_worker_instance => 'i', p_max_items => 5, p_now_ms => 1200)"},
        {"fail_task", "'<01>', 1, 'transient', p_now_ms => 1200"},
        {"fail_task", "'<01>', 1, 'permanent', p_now_ms => 1200"},
        {"fail_task", "'<01>', 1, 'cancelled', p_now_ms => 1200"},
        {"delay_task", "'<01>', 1, 10, p_now_ms => 1200"},
        {"release_task", "'<01>', 1, p_now_ms => 1200"},
        {"release_task", "'<0a>', 1, p_now_ms => 1200"},
        {"cancel_task", "'<01>', p_now_ms => 1200"},
        {"cancel_task", "'<03>', p_now_ms => 1200"},
        {"cancel_task", "'<08>', p_now_ms => 1200"},
        {"revoke_lease", "'<01>', p_now_ms => 1200"},
        {"change_priority", "'<03>', 5, 1200"},
        {"replay_task", "'<05>', p_now_ms => 1200"},
        {"cancel_tasks", "'{\"state\":[\"ready\",\"active\"]}', p_now_ms => 1200"},
        {"replay_tasks", "'{}', p_now_ms => 1200"},
        {"set_queue", R"('a', '{"paused":true}')"},
        {"set_queue", R"('fresh', '{"retention_ms":5}')"},
        {"set_queue", R"('a', '{"concurrency":2,"rate_per_s":5}')"},
        {"set_queue", R"('lim', '{"concurrency":null}')"},
        {"pause_queue", "'a'"},
        {"resume_queue", "'fresh'"},
        {"create_schedule", R"('t', '* * * * *', '{"queue":"x"}', p_now_ms => 1200)"},
        {"drop_schedule", "'s'"},
        {"pause_schedule", "'s'"},
        {"resume_schedule", "'r', 1200"},
        {"suspend_task",
         R"('<09>', 1, '{"waitpoints":[{"key":"p","waitpoint_id":"<pending>"},{"key":"q"}],"condition":"operator_only"}', 1200)"},
        {"create_waitpoint", "'<09>', 1, 'k', 10, 1200"},
        {"resume_task", "'<08>', p_now_ms => 1200"},
        {"deliver_signal", R"('<08>', '<waitpoint>', '<signal>', '{"name":"x"}', 1200)"},
        {"approve_task", "'<08>', '<waitpoint>', 'x', NULL, 1200"},
        {"seed_waitpoint_key", "'s', sha256('s')"},
        {"rotate_waitpoint_key", "'s', sha256('s'), 0"},
        // The front door.
        {"send", "'new', '{}', 'k', 'key', '5 s', NULL, 1, '{\"max_attempts\":2}', '{\"h\":\"v\"}'",
         kAt},
        {"send_many", "'door', '{1,2}'::jsonb[], keys => '{a,b}'", kAt},
        {"receive", "'{door,door2,a}'::text[], 5", kAt},
        {"receive_one_queue", "'door'::text", kAt},
        {"extend", "'<lease>', '500 s'", kAt},
        {"complete", "'<lease>', '{}'", kAt},
        {"complete_and_receive", "'<lease>', NULL, '{door,a}'::text[]", kAt},
        {"complete_and_receive_one_queue", "'<lease>', NULL, 'door'::text", kAt},
        {"settle_and_receive",
         "ARRAY['<lease>', 'lost'], '{complete,release}', ARRAY['{}', NULL]::jsonb[], queues => "
         "'{door,a}', max => 5",
         kAt},
        {"settle_and_receive", "ARRAY['<lease>'], '{fail}', errors => '{oops}'", kAt},
        {"fail", "'<lease>', 'oops', '1 s'", kAt},
        {"fail", "'<lease>', 'oops', NULL, 'permanent'", kAt},
        {"release", "'<lease>', '1 s'", kAt},
        {"progress", "'<lease>', 5, 'm', '{}'", kAt},
        {"cancel", "'<71>', 'r'", kAt},
        {"cancel", "'<12>'", kAt},
        {"retry", "'<72>'", kAt},
        {"start", "'O', '{}', 'fresh'", kAt},
        {"raise", "'turn', 'e', '{}'", kAt},
        {"terminate", "'turn', 'r'", kAt},
        // Flows.
        {"create_flow",
         R"('{"tasks":[{"key":"a","queue":"new"},{"key":"b","queue":"fa","after":["a"],"capabilities":["x"]}]}', 1200)"},
        {"create_flow", R"('{"tasks":[]}', 1200)"},
        {"add_task_to_flow",
         R"('<f3>', '{"key":"x","queue":"new","after":["a"]}', p_now_ms => 1200)"},
        {"add_task_to_flow", R"('<f3>', '{"task_id":"<91>"}', p_now_ms => 1200)"},
        {"add_edge", "'<f3>', '<31>', '<32>', p_now_ms => 1200"},
        {"add_edge", "'<f3>', '<32>', '<31>', p_now_ms => 1200"},
        {"set_join", R"('<f3>', '<32>', '{"kind":"any_of"}')"},
        {"seal_flow", "'<f3>', p_now_ms => 1200"},
        {"cancel_flow", "'<f1>', p_now_ms => 1200"},
        {"cancel_flow", "'<f5>', p_policy => 'cancel_pending', p_now_ms => 1200"},
        {"cancel_flow", "'<f3>', p_policy => 'flow_only', p_now_ms => 1200"},
        {"ack_cancel_member", "'<f4>', '<41>'"},
        {"delete_flow", "'<f2>'"},
        {"delete_flow", "'<f6>'"},
        {"complete_task", "'<11>', 1, '{}', p_now_ms => 1200"},
        {"complete_and_claim", "'<11>', 1, '{}', 'w', 'i', '{fa}', p_now_ms => 1200"},
        {"settle_and_claim_tasks",
         "'{<11>,<01>}', '{1,1}', p_worker => 'w', p_worker_instance => 'i', p_queues => '{fa}', "
         "p_max_items => 5, p_now_ms => 1200"},
        {"fail_task", "'<11>', 1, 'permanent', p_now_ms => 1200"},
        {"fail_task", "'<11>', 1, 'transient', p_now_ms => 1200"},
        {"release_task", "'<11>', 1, p_now_ms => 1200"},
        {"revoke_lease", "'<11>', p_now_ms => 1200"},
        {"cancel_task", "'<11>', p_now_ms => 1200"},
        {"cancel_task", "'<12>', p_now_ms => 1200"},
        {"replay_task", "'<61>', true, p_now_ms => 1200"},
        {"replay_task", "'<62>', p_now_ms => 1200"},
        {"replay_task", "'<41>', p_now_ms => 1200"},
    };
    return calls;
}

const std::vector<Call>& writing_duroxide_calls() {
    static const std::vector<Call> calls = {
        {"fetch_orchestration_item_jsonb", "1000, 1000"},
        {"renew_orchestration_item_lock_secs", "'<turn>', 1000, 5"},
        {"renew_work_item_lock_secs", "'<work>', 1000, 5"},
        {"abandon_work_item_without_reason", "'<work>', 2000, 1000, true"},
        {"abandon_orchestration_item_duroxide_pg", "'<turn>', 1500, 1000, true"},
        {"ack_and_fetch_work_item_duroxide_pg", "'<work>', NULL, NULL, 1500, 1000"},
        {"ack_and_fetch_turns_jsonb", "ARRAY['<turn>', 'lost'], 1500, '{1,1}', p_max_turns => 5"},
        {"ack_orchestration_item_duroxide_pg", "'<turn>', 1500, 1, '[]', '[]', '[]', '{}'"},
        {"enqueue_worker_work_duroxide_pg", R"('{"ActivityExecute":{}}', 1000)"},
        {"fetch_work_item_duroxide_pg", "200000, 1000"},
        {"fetch_work_items_duroxide_pg", "200000, 1000, p_max_items => 10"},
        {"renew_session_lock_duroxide_pg", "ARRAY['owner'], 1000, 5000, 100000"},
        {"renew_work_item_locks_duroxide_pg", "ARRAY['<work>', 'lost'], 1000, 5000"},
        {"cleanup_schema", ""},
    };
    return calls;
}

std::string statement_of(const Call& call, const std::string& hub, const Words& words) {
    // Forms of one function: in api duroxide-pg, and for other types of arguments.
    std::string name = call.verb;
    for (const std::string suffix :
         {"_jsonb", "_secs", "_without_reason", "_one_queue", "_duroxide_pg"}) {
        if (name.ends_with(suffix)) {
            name.resize(name.size() - suffix.size());
        }
    }
    return filled(
        std::string(call.before) + "SELECT * FROM <hub>." + name + "(" + call.arguments + ")", hub,
        words);
}

std::string digest(Conn& conn, const std::string& hub) {
    const std::string tables = filled(
        " FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = "
        "'<hub>' AND c.relkind = 'r'",
        hub, {});
    // Prepared, because to plan it takes longer than to run it.
    struct Known {
        std::string statement;
        std::string count;
    };
    static std::map<std::pair<pid_t, std::string>, Known> prepared;
    Known& known = prepared[{conn.backend_pid(), hub}];
    const std::string count = conn.value("SELECT count(*)" + tables);
    if (known.statement.empty()) {
        known = {"digest_" + std::to_string(prepared.size()), count};
        conn.exec(
            "PREPARE " + known.statement + " AS " +
            conn.value(
                "SELECT string_agg(format('SELECT %L || coalesce(md5(string_agg(t::text, "
                "''|'' ORDER BY t::text COLLATE \"C\")), ''-'') FROM %s AS t', c.relname || ' ', "
                "c.oid::regclass), ' UNION ALL ' ORDER BY c.relname)" +
                tables) +
            " UNION ALL SELECT 'advisory locks ' || count(*) FROM pg_locks WHERE pid = "
            "pg_backend_pid() AND locktype = 'advisory'");
    }
    if (count != known.count) {
        return count + " tables\n";
    }
    const Rows rows = conn.exec("EXECUTE " + known.statement);
    std::string text;
    for (int i = 0; i < rows.size(); ++i) {
        text += rows.at(i, 0).value_or("") + "\n";
    }
    return text;
}

std::string complaints(Conn& conn, const std::string& hub) {
    const Rows rows =
        conn.exec(filled("SELECT object, problem FROM belay.check_hub('<hub>')", hub, {}));
    std::string text;
    for (int i = 0; i < rows.size(); ++i) {
        text += rows.at(i, 0).value_or("") + ": " + rows.at(i, 1).value_or("") + "\n";
    }
    return text;
}

unsigned long long seed_of_run() {
    if (const char* given = std::getenv("BELAY_SEED"); given != nullptr && *given != '\0') {
        return std::strtoull(given, nullptr, 10);
    }
    static const unsigned long long made_up = std::random_device{}();
    return made_up;
}

bool long_form() {
    const char* given = std::getenv("BELAY_LONG");
    return given != nullptr && std::string(given) == "1";
}

}  // namespace belay::test::robust
