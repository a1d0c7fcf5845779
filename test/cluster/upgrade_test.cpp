// Hubs of older versions: how this library serves them as they are, and what upgrade_hub makes of
// them, at rest and under load.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "cluster.hpp"
#include "old_hub.hpp"

namespace belay::test {
namespace {

using namespace std::string_literals;

// A statement of a walk. {plain} stands for what is kept under that name, {t} for a time shortly
// after the frozen rows were made.
std::string fill(std::string text) {
    for (std::size_t from = text.find('{'); from != std::string::npos;
         from = text.find('{', from)) {
        const std::size_t to = text.find('}', from);
        const std::string word = text.substr(from + 1, to - from - 1);
        if (word == "t") {
            text.replace(from, to - from + 1, std::to_string(kThen + 5000));
        } else if (!word.empty() &&
                   word.find_first_not_of("abcdefghijklmnopqrstuvwxyz ") == std::string::npos) {
            text.replace(from, to - from + 1,
                         "(SELECT value FROM old.kept WHERE what = '" + word + "')");
        } else {
            ++from;
        }
    }
    return text;
}

// A call of every function that a frozen hub has. Each runs in a transaction that is rolled back.
const std::map<std::string, std::string> kCalls = {
    // hub
    {"pause_hub", "SELECT old.pause_hub('worker', 'walk')"},
    {"resume_hub", "SELECT old.resume_hub()"},
    // worker queue
    {"enqueue_worker_work",
     R"(SELECT old.enqueue_worker_work('{"ActivityExecute": {"name": "New"}}', {t}))"},
    {"enqueue_worker_items",
     R"(SELECT old.enqueue_worker_items('[{"work_item": {"ActivityExecute": {"name": "New"}}, "delay_ms": 5}]', {t}))"},
    {"fetch_work_item", "SELECT out_work_item FROM old.fetch_work_item({t}, 1000, 'w')"},
    {"fetch_work_items",
     "SELECT out_work_item FROM old.fetch_work_items({t}, 1000, 'w', 1000, NULL, 'any', 100, 5, "
     "'{0,1,2,3}')"},
    {"ack_worker",
     R"(SELECT old.ack_worker({instance}, 'i-1', '{"ActivityCompleted": {"instance": "i-1", "execution_id": 1, "id": 1, "result": ""}}', {t}))"},
    {"ack_workers",
     R"(SELECT out_index, out_acked, out_error FROM old.ack_workers(jsonb_build_array(jsonb_build_object('lock_token', {plain}), jsonb_build_object('lock_token', {tag})), {t}))"},
    {"ack_and_fetch_work_item",
     "SELECT out_work_item FROM old.ack_and_fetch_work_item({session}, NULL, NULL, {t}, 1000, "
     "'worker-2', 1000)"},
    {"renew_work_item_lock", "SELECT old.renew_work_item_lock({plain}, {t}, 9000000)"},
    {"renew_work_item_locks",
     "SELECT out_index, out_renewed, out_locked_until FROM "
     "old.renew_work_item_locks(ARRAY[{plain}, {session}, 'x'], {t}, 9000000)"},
    {"abandon_work_item", "SELECT old.abandon_work_item({tag}, {t}, 1000, true)"},
    {"renew_session_lock", "SELECT old.renew_session_lock('{worker-2}', {t}, 9000000, 9000000)"},
    {"cleanup_orphaned_sessions", "SELECT old.cleanup_orphaned_sessions({t} + 90000000)"},
    {"cancel_activities",
     R"(SELECT old.cancel_activities('[{"instance": "i-2", "execution_id": 1, "activity_id": 1}]'))"},
    {"list_work_items",
     "SELECT id, state, work_item FROM old.list_work_items('{}', NULL, 100, {t})"},
    {"list_dead_letters", "SELECT * FROM old.list_dead_letters()"},
    {"redrive_dead_letter", "SELECT old.redrive_dead_letter(1) > 1"},
    {"redrive_dead_letters", "SELECT old.redrive_dead_letters('{}')"},
    {"discard_dead_letter", "SELECT old.discard_dead_letter(1)"},
    // orchestrations
    {"enqueue_orchestrator_work",
     R"(SELECT old.enqueue_orchestrator_work('i-1', '{"ExternalRaised": {"instance": "i-1", "name": "n", "data": ""}}'))"},
    {"enqueue_orchestrator_items",
     R"(SELECT old.enqueue_orchestrator_items('[{"work_item": {"ExternalRaised": {"instance": "i-1", "name": "n", "data": ""}}}]', {t}))"},
    {"start_orchestration", "SELECT old.start_orchestration('Order', '', 'i-new', '1.0', 0, {t})"},
    {"raise_event", "SELECT old.raise_event('i-1', 'Paid', '', true, {t})"},
    {"cancel_instance", "SELECT old.cancel_instance('i-1', 'why', {t})"},
    {"fetch_orchestration_item",
     "SELECT out_instance_id, out_history::text, out_messages::text, out_kv_snapshot::text FROM "
     "old.fetch_orchestration_item({t}, 1000)"},
    {"renew_orchestration_item_lock",
     "SELECT old.renew_orchestration_item_lock({turn}, {t}, 9000000)"},
    {"ack_orchestration_item",
     R"(SELECT old.ack_orchestration_item({turn}, {t}, 1, '[]', '[{"ActivityExecute": {"instance": "i-1", "execution_id": 1, "id": 7}}]', '[]', '{"orchestration_name": "Order", "orchestration_version": "1.0", "status": "Completed", "output": "x"}', '[{"instance": "i-1", "execution_id": 1, "activity_id": 3}]'))"},
    {"abandon_orchestration_item",
     "SELECT old.abandon_orchestration_item({turn}, {t}, 1000, true)"},
    {"fetch_history", "SELECT * FROM old.fetch_history('i-1')"},
    {"fetch_history_with_execution", "SELECT * FROM old.fetch_history_with_execution('i-1', 1)"},
    {"read_history", "SELECT * FROM old.read_history('i-1')"},
    {"append_history",
     R"(SELECT old.append_history('i-1', 1, '[{"event_id": 77, "event_type": "X", "event_data": "{\"event_id\": 77, \"type\": \"X\"}"}]'))"},
    {"get_custom_status", "SELECT * FROM old.get_custom_status('i-1', 0)"},
    {"get_kv_value", "SELECT * FROM old.get_kv_value('i-1', 'total')"},
    {"get_kv_all_values", "SELECT * FROM old.get_kv_all_values('i-1')"},
    // management
    {"list_instances", "SELECT * FROM old.list_instances()"},
    {"list_instances_by_status", "SELECT * FROM old.list_instances_by_status('Running')"},
    {"list_executions", "SELECT * FROM old.list_executions('i-1')"},
    {"latest_execution_id", "SELECT old.latest_execution_id('i-1')"},
    {"get_instance_info", "SELECT * FROM old.get_instance_info('i-1')"},
    {"get_execution_info", "SELECT * FROM old.get_execution_info('i-1', 1)"},
    {"get_instance_stats", "SELECT * FROM old.get_instance_stats('i-1')"},
    {"get_system_metrics", "SELECT * FROM old.get_system_metrics()"},
    {"get_queue_depths", "SELECT * FROM old.get_queue_depths({t})"},
    {"list_children", "SELECT * FROM old.list_children('i-1')"},
    {"get_parent_id", "SELECT old.get_parent_id('i-1')"},
    {"get_instance_tree", "SELECT * FROM old.get_instance_tree('i-1')"},
    {"explain_fetch", "SELECT reason FROM old.explain_fetch('i-1', {t})"},
    {"delete_instance", "SELECT * FROM old.delete_instance('i-1', true)"},
    {"delete_instances_atomic",
     "SELECT * FROM old.delete_instances_atomic(ARRAY['i-1', 'i-1::child'], true)"},
    {"delete_instances_bulk",
     R"(SELECT * FROM old.delete_instances_bulk('{"instance_ids": ["i-1"]}'))"},
    {"prune_executions", "SELECT * FROM old.prune_executions('i-1', 1)"},
    {"prune_executions_bulk",
     R"(SELECT * FROM old.prune_executions_bulk('{"instance_ids": ["i-1"]}', '{"keep_last": 1}'))"},
    {"reconcile", "SELECT duty FROM old.reconcile({t})"},
    // waiting, slots, guards, events, intents
    {"wait_for_work", "CALL old.wait_for_work('{worker}', 1)"},
    {"acquire_slots", "SELECT old.acquire_slots('dispatcher-2', 'orchestrator', 4, 1000, {t})"},
    {"release_slots", "SELECT old.release_slots('dispatcher-1', 'worker')"},
    {"guard", "SELECT old.guard({plain})"},
    {"guard_task",
     "SELECT old.guard_task('00000000-0000-4000-8000-000000000011', {task epoch}::bigint)"},
    {"create_subscription", "SELECT old.create_subscription('new', ARRAY['completion'])"},
    {"drop_subscription", "SELECT old.drop_subscription('audit')"},
    {"read_events", "SELECT event_id FROM old.read_events('audit', 10, 1000, {t} + 9000000)"},
    {"ack_events", "SELECT old.ack_events('audit', {events}, {t})"},
    {"send_to_hub",
     R"(SELECT old.send_to_hub('elsewhere', 'worker', '{"ActivityExecute": {"name": "Far"}}') > 1)"},
    {"receive_intents", "SELECT old.receive_intents('[]')"},
    // tasks
    {"create_task",
     R"(SELECT * FROM old.create_task('mail', '{}', '00000000-0000-4000-8000-0000000000aa', p_now_ms => {t}))"},
    {"create_tasks",
     R"(SELECT * FROM old.create_tasks('[{"lane": "mail", "task_id": "00000000-0000-4000-8000-0000000000ab"}, {"lane": "new", "task_id": "00000000-0000-4000-8000-0000000000ac", "dedup_key": "q"}]', {t}))"},
    {"delete_task", "SELECT old.delete_task('00000000-0000-4000-8000-000000000014')"},
    {"claim_tasks",
     "SELECT task_id, attempt_index FROM old.claim_tasks('w', 'w-2', NULL, ARRAY['gpu'], 1000, 10, "
     "NULL, {t})"},
    {"renew_task",
     "SELECT * FROM old.renew_task('00000000-0000-4000-8000-000000000011', {task epoch}::bigint, "
     "80000000, {t})"},
    {"renew_tasks",
     "SELECT * FROM old.renew_tasks('{00000000-0000-4000-8000-000000000011}', ARRAY[{task "
     "epoch}::bigint], 80000000, {t})"},
    {"progress_task",
     R"(SELECT * FROM old.progress_task('00000000-0000-4000-8000-000000000011', {task epoch}::bigint, 60, 'm', '{"a": 1}', NULL, {t}))"},
    {"complete_task",
     R"(SELECT * FROM old.complete_task('00000000-0000-4000-8000-000000000011', {task epoch}::bigint, '{"r": 1}', p_now_ms => {t}))"},
    {"complete_and_claim",
     R"(SELECT task_id FROM old.complete_and_claim('00000000-0000-4000-8000-000000000011', {task epoch}::bigint, '{}', 'w', 'w-2', p_now_ms => {t}))"},
    {"fail_task",
     "SELECT result, state FROM old.fail_task('00000000-0000-4000-8000-000000000011', {task "
     "epoch}::bigint, 'permanent', 'm', p_now_ms => {t})"},
    {"delay_task",
     "SELECT * FROM old.delay_task('00000000-0000-4000-8000-000000000011', {task epoch}::bigint, "
     "5000, NULL, {t})"},
    {"release_task",
     "SELECT * FROM old.release_task('00000000-0000-4000-8000-000000000011', {task epoch}::bigint, "
     "0, {t})"},
    {"cancel_task",
     "SELECT * FROM old.cancel_task('00000000-0000-4000-8000-000000000001', 'r', p_now_ms => {t})"},
    {"revoke_lease",
     "SELECT result FROM old.revoke_lease('00000000-0000-4000-8000-000000000011', 'r', p_now_ms => "
     "{t})"},
    {"change_priority",
     "SELECT * FROM old.change_priority('00000000-0000-4000-8000-000000000001', 9, {t})"},
    {"replay_task",
     "SELECT result, task_id, replay_count FROM "
     "old.replay_task('00000000-0000-4000-8000-000000000014', false, {t})"},
    {"set_lane", R"(SELECT old.set_lane('mail', '{"retention_ms": 5}'))"},
    {"pause_lane", "SELECT old.pause_lane('mail')"},
    {"resume_lane", "SELECT old.resume_lane('mail')"},
    {"get_task", "SELECT old.get_task('00000000-0000-4000-8000-000000000011') ->> 'state'"},
    {"list_tasks", "SELECT * FROM old.list_tasks()"},
    {"list_expired_leases", "SELECT * FROM old.list_expired_leases({t})"},
    {"explain_claim",
     "SELECT reason FROM old.explain_claim('00000000-0000-4000-8000-000000000003', '{}', NULL, "
     "{t})"},
    {"check_tasks", "SELECT * FROM old.check_tasks()"},
    // suspensions, schedules
    {"suspend_task",
     R"(SELECT result FROM old.suspend_task('00000000-0000-4000-8000-000000000011', {task epoch}::bigint, '{"waitpoints": [{"key": "k"}], "condition": {"single": {"key": "k"}}}', {t}))"},
    {"create_waitpoint",
     "SELECT count(*) FROM old.create_waitpoint('00000000-0000-4000-8000-000000000011', {task "
     "epoch}::bigint, 'k', 10000, {t})"},
    {"deliver_signal",
     R"(SELECT * FROM old.deliver_signal('00000000-0000-4000-8000-000000000021', split_part({waitpoint}, ' ', 1)::uuid, split_part({waitpoint}, ' ', 2), '{"name": "yes", "idempotency_key": "a", "payload": {}}', {t}))"},
    {"approve_task",
     "SELECT * FROM old.approve_task('00000000-0000-4000-8000-000000000021', "
     "split_part({waitpoint}, ' ', 1)::uuid, 'yes', 'a', {t})"},
    {"resume_task",
     "SELECT state FROM old.resume_task('00000000-0000-4000-8000-000000000021', 'operator', 0, "
     "{t})"},
    {"list_waitpoints",
     "SELECT key, state FROM old.list_waitpoints('00000000-0000-4000-8000-000000000021')"},
    {"seed_waitpoint_key",
     "SELECT old.seed_waitpoint_key('k1', (SELECT secret FROM old.waitpoint_keys WHERE kid = "
     "'k1'))"},
    {"rotate_waitpoint_key",
     "SELECT old.rotate_waitpoint_key('k2', decode(repeat('1f', 32), 'hex'), 1000)"},
    {"create_schedule",
     R"(SELECT old.create_schedule('more', '* * * * *', '{"lane": "reports"}', p_now_ms => {t}))"},
    {"drop_schedule", "SELECT old.drop_schedule('report')"},
    {"pause_schedule", "SELECT old.pause_schedule('report')"},
    {"resume_schedule", "SELECT old.resume_schedule('report', {t})"},
    {"list_schedules", "SELECT * FROM old.list_schedules()"},
};

// What a statement gives: its rows, or its error.
std::string outcome(Conn& conn, const std::string& sql) {
    try {
        const Rows rows = conn.exec(sql);
        std::string text = std::to_string(rows.size()) + " rows";
        for (int row = 0; row < rows.size(); ++row) {
            text += "\n";
            for (int field = 0; field < rows.columns(); ++field) {
                text += " | " + rows.at(row, field).value_or("-");
            }
        }
        return text;
    } catch (const std::runtime_error& error) {
        return "error: "s + error.what();
    }
}

// Calls every function of the hub. What they gave, by function.
std::map<std::string, std::string> walk(Cluster& cluster, const std::string& database) {
    std::map<std::string, std::string> all;
    Conn conn = cluster.connect(database, "upgrade_owner");
    const Rows names = conn.exec(
        "SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'old'::regnamespace ORDER BY 1");
    EXPECT_GT(names.size(), 15);
    for (int row = 0; row < names.size(); ++row) {
        const std::string name = *names.at(row, 0);
        const auto call = kCalls.find(name);
        if (call == kCalls.end()) {
            continue;
        }
        if (name == "wait_for_work") {
            all[name] = outcome(conn, call->second);  // not in a transaction block
            continue;
        }
        conn.exec("BEGIN");
        all[name] = outcome(conn, fill(call->second));
        conn.exec("ROLLBACK");
    }
    return all;
}

class Frozen : public testing::TestWithParam<int> {
 protected:
    static void SetUpTestSuite() {
        cluster = new Cluster({.preload = true, .conf = {"belay.reconcile_interval = 0"}});
        make_upgrade_roles(*cluster);
        make_fresh(*cluster, "fresh");
        Conn conn = cluster->connect("fresh");
        fresh_shape = new auto(shape(conn));
        fresh_contents = new auto(contents(conn));
    }
    static void TearDownTestSuite() {
        delete fresh_shape;
        delete fresh_contents;
        delete cluster;
        cluster = nullptr;
    }

    // A name for a database of this test.
    static std::string name(const std::string& what) {
        return what + "_" + std::to_string(GetParam());
    }

    static void upgrade(const std::string& database) {
        Conn owner = cluster->connect(database, "upgrade_owner");
        owner.exec("SELECT belay.upgrade_hub('old')");
        EXPECT_EQ(owner.value("SELECT is_current FROM belay.hubs WHERE name = 'old'"), "t");
        EXPECT_EQ(outcome(owner, "SELECT * FROM belay.check_hub('old')"), "0 rows");
    }

    // Both have the same lines.
    static void expect_same(const std::vector<std::string>& wanted,
                            const std::vector<std::string>& found, const std::string& what) {
        EXPECT_GT(wanted.size(), 0U);
        std::vector<std::string> missing;
        std::set_difference(wanted.begin(), wanted.end(), found.begin(), found.end(),
                            std::back_inserter(missing));
        std::vector<std::string> surplus;
        std::set_difference(found.begin(), found.end(), wanted.begin(), wanted.end(),
                            std::back_inserter(surplus));
        for (const auto& line : missing) {
            ADD_FAILURE() << what << " lacks: " << line;
        }
        for (const auto& line : surplus) {
            ADD_FAILURE() << what << " has too much: " << line;
        }
        EXPECT_EQ(wanted.size(), found.size()) << what;
    }

    // HB-5: the rows are those that the old hub had, and the tables that are new are as in a new
    // hub.
    static void expect_rows(const std::map<std::string, std::vector<std::string>>& before,
                            const std::string& database) {
        Conn conn = cluster->connect(database);
        auto after = contents(conn);
        for (const auto& [table, rows] : before) {
            if (table == "belay_hub") {
                continue;
            }
            EXPECT_EQ(after[table], rows) << table;
        }
        for (const auto& [table, rows] : *fresh_contents) {
            if (table == "waitpoint_keys" && !before.contains(table)) {
                EXPECT_EQ(after[table].size(), rows.size());  // the first key is drawn by chance
            } else if (!before.contains(table)) {
                EXPECT_EQ(after[table], rows) << table;
            }
        }
    }

    static Cluster* cluster;
    static std::vector<std::string>* fresh_shape;
    static std::map<std::string, std::vector<std::string>>* fresh_contents;
};

Cluster* Frozen::cluster = nullptr;
std::vector<std::string>* Frozen::fresh_shape = nullptr;
std::map<std::string, std::vector<std::string>>* Frozen::fresh_contents = nullptr;

// HB-5: upgraded; restored and upgraded; upgraded and restored: each is what create_hub makes, and
// has the rows that the old hub had.
TEST_P(Frozen, UpgradedEqualsFresh) {
    const std::string upgraded = name("upgraded");
    const std::string moved = name("moved");
    const std::string restored = name("restored");
    revive(*cluster, upgraded, GetParam());
    std::map<std::string, std::vector<std::string>> before;
    std::string identity;
    {
        Conn conn = cluster->connect(upgraded);
        EXPECT_EQ(conn.value("SELECT version FROM belay.hubs WHERE name = 'old'"),
                  std::to_string(GetParam()));
        before = contents(conn);
        EXPECT_GT(before.at("worker_queue").size(), 10U);
        identity = conn.value("SELECT to_jsonb(h) - 'version' - 'mark' FROM old.belay_hub AS h");
    }
    dump_and_restore(*cluster, upgraded, moved);

    upgrade(upgraded);
    dump_and_restore(*cluster, upgraded, restored);
    upgrade(moved);
    for (const auto& database : {upgraded, moved, restored}) {
        Conn conn = cluster->connect(database);
        expect_same(*fresh_shape, shape(conn), database);
        expect_rows(before, database);
        EXPECT_EQ(conn.value("SELECT to_jsonb(h) - 'version' - 'mark' FROM old.belay_hub AS h"),
                  identity);
    }
    // Once more changes nothing.
    upgrade(restored);
    Conn conn = cluster->connect(restored);
    expect_same(*fresh_shape, shape(conn), "upgraded again");
    expect_rows(before, restored);
}

// Leases that the old library granted are live before and after the upgrade, and everything that
// was queued is handed out.
TEST_P(Frozen, LeasesAndWorkStay) {
    const std::string database = name("leases");
    revive(*cluster, database, GetParam());
    Conn conn = cluster->connect(database, "upgrade_owner");
    const auto call = [&conn](const std::string& sql) { return outcome(conn, fill(sql)); };
    EXPECT_EQ(call("SELECT old.renew_work_item_lock({plain}, {t}, 9000000)"), "1 rows\n | ");
    // One more lease is granted by the functions of the old hub.
    conn.exec(
        fill("INSERT INTO old.kept SELECT 'before', out_lock_token"
             " FROM old.fetch_work_item({t}, 3600000, 'w')"));
    upgrade(database);
    EXPECT_EQ(conn.value("SELECT incarnation FROM old.belay_hub"), "1");
    EXPECT_EQ(call("SELECT old.renew_work_item_lock({plain}, {t}, 9000000)"), "1 rows\n | ");
    EXPECT_EQ(call("SELECT old.ack_worker({plain}, NULL, NULL, {t})"), "1 rows\n | ");
    EXPECT_EQ(call("SELECT old.ack_worker({before}, NULL, NULL, {t})"), "1 rows\n | ");
    EXPECT_EQ(call(kCalls.at("ack_worker")), "1 rows\n | ");
    // The session is still its owner's, the tag still asks for its worker.
    EXPECT_EQ(call("SELECT count(*) FROM old.fetch_work_item({t}, 1000, 'stranger', 1000, NULL,"
                   " 'default_only') AS f WHERE f.out_work_item LIKE '%i-2%'"),
              "1 rows\n | 0");
    EXPECT_EQ(
        call("SELECT out_work_item::jsonb #>> '{ActivityExecute,id}' FROM "
             "old.ack_and_fetch_work_item({session}, NULL, NULL, {t}, 1000, 'worker-2', 1000)"),
        "1 rows\n | 2");
    EXPECT_EQ(call("SELECT old.abandon_work_item({tag}, {t})"), "1 rows\n | ");
    EXPECT_EQ(call("SELECT count(*) FROM old.fetch_work_items({t}, 1000, 'g', NULL, ARRAY['gpu'], "
                   "'tags', 9)"),
              "1 rows\n | 2");
    if (GetParam() >= 3) {
        EXPECT_EQ(call("SELECT old.renew_orchestration_item_lock({turn}, {t}, 9000000)"),
                  "1 rows\n | ");
        EXPECT_EQ(call("SELECT old.ack_orchestration_item({turn}, {t}, 1, '[]', '[]', '[]', '{}')"),
                  "1 rows\n | ");
    }
    if (GetParam() >= 7) {
        EXPECT_EQ(call("SELECT result FROM old.complete_task("
                       "'00000000-0000-4000-8000-000000000011', {task epoch}::bigint, '{}', "
                       "p_now_ms => {t})"),
                  "1 rows\n | completed");
        EXPECT_EQ(call("SELECT old.ack_events('audit', {events}, {t})"), "1 rows\n | ");
    }
    if (GetParam() >= 9) {
        EXPECT_EQ(call(kCalls.at("deliver_signal")).substr(0, 6), "1 rows");
    }
    // Two hours later no lease is left, and all the rest can be had.
    const std::string left = conn.value("SELECT count(*) FROM old.worker_queue");
    EXPECT_EQ(call("SELECT count(*) FROM old.fetch_work_items({t} + 90000000, 1000, 'last', 1000, "
                   "NULL, 'any', 1000, 1000)"),
              "1 rows\n | " + left);
}

// This library serves a hub that was not upgraded: every function that it has works, and gives what
// it gives after the upgrade. Both ways to the tables do.
TEST_P(Frozen, OldFunctionsWork) {
    for (const std::string path : {"on", "off"}) {
        const std::string database = name("walk_" + path);
        revive(*cluster, database, GetParam());
        cluster->connect().exec("ALTER DATABASE " + database + " SET belay.fast_path = " + path);
        std::size_t functions = 0;
        {
            Conn conn = cluster->connect(database, "upgrade_owner");
            functions =
                std::stoul(conn.value("SELECT count(DISTINCT proname) FROM pg_proc WHERE "
                                      "pronamespace = 'old'::regnamespace"));
            for (const auto& view : {"work_items", "dead_letter_summary"}) {
                EXPECT_EQ(conn.error_of("SELECT * FROM old."s + view), "") << view;
            }
        }
        const auto before = walk(*cluster, database);
        EXPECT_EQ(before.size(), functions) << "a function of the old hub is not in kCalls";
        for (const auto& [function, result] : before) {
            EXPECT_EQ(result.find("error:"), std::string::npos) << function << ": " << result;
        }
        upgrade(database);
        const auto after = walk(*cluster, database);
        for (const auto& [function, result] : before) {
            EXPECT_EQ(after.at(function), result) << function;
        }
    }
}

// What an owner does with an old hub from outside works, too.
TEST_P(Frozen, AdministrationWorks) {
    const std::string database = name("admin");
    revive(*cluster, database, GetParam());
    Conn conn = cluster->connect(database, "upgrade_owner");
    for (const std::string sql :
         {"SELECT * FROM belay.hubs", "SELECT * FROM belay.hub_options",
          "SELECT * FROM belay.hub_sizes", "SELECT * FROM belay.pg_stat_belay_hub",
          "SELECT * FROM belay.pg_stat_belay_queue", "SELECT belay.metrics()",
          "SELECT * FROM belay.check_hub('old')",
          "SELECT belay.revoke_hub('old', 'upgrade_monitor', 'monitor')",
          "SELECT belay.revoke_hub('old', 'upgrade_client', 'client')",
          "SELECT belay.revoke_hub('old', 'upgrade_operator', 'operator')",
          "SELECT belay.grant_hub('old', 'upgrade_operator', 'operator')",
          "SELECT belay.grant_hub('old', 'upgrade_client', 'client')",
          "SELECT belay.grant_hub('old', 'upgrade_monitor', 'monitor')",
          "SELECT belay.set_hub_option('old', 'events', 'operator')",
          "SELECT belay.set_hub_option('old', 'events', NULL)",
          "SELECT belay.new_incarnation('old')",
          "SELECT belay.set_hub_option('old', 'slot_count', '2')",
          "SELECT belay.set_hub_option('old', 'slot_count', '4')"}) {
        EXPECT_EQ(outcome(conn, sql).find("error:"), std::string::npos)
            << sql << ": " << outcome(conn, sql);
    }
    EXPECT_NE(outcome(conn, "SELECT * FROM belay.check_hub('old')").find("has version"),
              std::string::npos);
    upgrade(database);
    Conn super = cluster->connect(database);
    expect_same(*fresh_shape, shape(super), database);
    // A role without a level keeps what it was given, and gets no more.
    EXPECT_EQ(conn.error_of("SELECT belay.drop_hub('old', true)"), "");
    EXPECT_EQ(super.value("SELECT count(*) FROM belay.hubs"), "0");
}

// What needs a table that the old hub lacks says so, with a hint, and changes nothing.
TEST_P(Frozen, NewMattersAskForAnUpgrade) {
    const std::string database = name("needs");
    revive(*cluster, database, GetParam());
    Conn conn = cluster->connect(database, "upgrade_owner");
    std::vector<std::string> calls;
    if (GetParam() < 6) {
        calls.push_back("SELECT belay.create_hub_link('old', 'far', 'server')");
        calls.push_back("SELECT belay.drop_hub_link('old', 'far')");
    }
    if (GetParam() >= 3 && GetParam() < 6) {
        calls.push_back(R"(SELECT old.ack_orchestration_item({turn}, {t}, 1, '[]', '[]',
            '[{"ToHub": {"hub": "far", "item": {"ExternalRaised": {"instance": "x", "name": "n", "data": ""}}}}]', '{}'))");
    }
    if (GetParam() >= 7 && GetParam() < 9) {
        calls.push_back(R"(SELECT old.set_lane('mail', '{"concurrency": 3}'))");
    }
    const auto before = contents(conn);
    for (const auto& sql : calls) {
        const std::string result = outcome(conn, fill(sql));
        EXPECT_NE(result.find("was made by a release without"), std::string::npos) << result;
        EXPECT_NE(result.find("belay.upgrade_hub"), std::string::npos) << result;
        EXPECT_EQ(conn.error_of(fill(sql)), "55000");
    }
    EXPECT_EQ(contents(conn), before);
    upgrade(database);
    for (const auto& sql : calls) {
        EXPECT_NE(conn.error_of(fill(sql)), "55000") << sql;
    }
}

// reconcile and its duties do for an old hub what its tables allow.
TEST_P(Frozen, DutiesServeOldHubs) {
    const std::string database = name("duties");
    revive(*cluster, database, GetParam());
    Conn conn = cluster->connect(database, "upgrade_owner");
    const auto call = [&conn](const std::string& sql) { return outcome(conn, fill(sql)); };
    if (GetParam() < 3) {
        return;  // it has no reconcile; the worker's test is about it
    }
    conn.exec("SELECT belay.set_hub_option('old', 'orphan_retention', '1 s')");
    conn.exec(
        fill("UPDATE old.orchestrator_queue SET created_at = created_at - interval '100 years'"
             " WHERE instance_id = 'i-orphan'"));
    // A day later sessions, locks and leases are over, and times have come.
    const std::string later = "SELECT sum(rows) > 0 FROM old.reconcile({t} + 90000000, ARRAY['";
    EXPECT_EQ(call(later + "orphan_messages'])"), "1 rows\n | t");
    // With the message that tells i-dead of its activity.
    EXPECT_EQ(call("SELECT count(*) FROM old.list_dead_letters(p_reason => 'orphan')"),
              "1 rows\n | 2");
    EXPECT_EQ(call("SELECT sum(rows) FROM old.reconcile({t} + 3000000000, ARRAY['dead_letters'])"),
              "1 rows\n | 3");
    if (GetParam() >= 7) {
        EXPECT_EQ(call(later + "lease_expiry'])"), "1 rows\n | t");
        EXPECT_EQ(conn.value("SELECT count(*) FROM old.tasks WHERE state = 'active'"), "0");
        EXPECT_EQ(call(later + "due_timers'])"), "1 rows\n | t");
        EXPECT_EQ(conn.value("SELECT count(*) FROM old.tasks WHERE state = 'delayed'"), "0");
        EXPECT_EQ(call(later + "retention'])"), "1 rows\n | t");
    }
    if (GetParam() >= 9) {
        EXPECT_EQ(call(later + "schedules'])"), "1 rows\n | t");
    }
    // All of them, with nothing to complain about.
    EXPECT_EQ(call("SELECT count(*) > 10 FROM old.reconcile({t} + 90000000)"), "1 rows\n | t");
    upgrade(database);
    EXPECT_EQ(call("SELECT count(*) > 10 FROM old.reconcile({t} + 90000000)"), "1 rows\n | t");
}

INSTANTIATE_TEST_SUITE_P(, Frozen, testing::ValuesIn(kFrozen),
                         [](const auto& info) { return "Version" + std::to_string(info.param); });

// ---- The background worker ----

// Calls ready until it is true; two minutes on a loaded machine are not too long.
template <typename Ready>
testing::AssertionResult eventually(Ready ready) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!ready()) {
        if (std::chrono::steady_clock::now() > deadline) {
            return testing::AssertionFailure() << "waited in vain";
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return testing::AssertionSuccess();
}

// The worker does for old hubs what their tables allow, and has nothing to complain about.
TEST(OldHubs, AreServedByTheWorker) {
    Cluster cluster({.preload = true, .conf = {"belay.reconcile_interval = 20ms"}});
    make_upgrade_roles(cluster);
    for (const int version : kFrozen) {
        revive(cluster, "served_" + std::to_string(version), version);
    }
    for (const int version : kFrozen) {
        Conn conn = cluster.connect("served_" + std::to_string(version));
        conn.exec(
            "INSERT INTO old.sessions (session_id, worker_id, locked_until, last_activity_at,"
            " lease_inc) VALUES ('gone', 'w', 1, 1, 1)");
        if (version >= 7) {
            conn.exec("SELECT old.create_task('live')");
            EXPECT_EQ(conn.value("SELECT count(*) FROM old.claim_tasks('w', 'w-1', '{live}', "
                                 "p_lease_ms => 1)"),
                      "1");
        }
        EXPECT_TRUE(eventually([&conn] {
            return conn.value("SELECT count(*) FROM old.sessions WHERE session_id = 'gone'") == "0";
        })) << version;
        EXPECT_TRUE(version < 7 || eventually([&conn] {
                        return conn.value("SELECT state FROM old.tasks WHERE lane = 'live'") ==
                               "ready";
                    }))
            << version;
        EXPECT_EQ(conn.value("SELECT coalesce(sum(errors), 0) FROM belay.pg_stat_belay_duty"), "0");
        // It is no new life of the hub, and its leases are still live.
        EXPECT_EQ(conn.value("SELECT version || ' ' || incarnation FROM old.belay_hub"),
                  std::to_string(version) + " 1");
        EXPECT_EQ(conn.error_of(fill("SELECT old.ack_worker({plain}, NULL, NULL, {t})")), "");
    }
    const std::string log = cluster.log();
    for (const auto& word : {"ERROR:", "WARNING:", "FATAL:", "PANIC:"}) {
        EXPECT_EQ(log.find(word), std::string::npos) << log;
    }
}

// ---- Upgrade under load ----

// Clients that enqueue, fetch, renew and ack without a pause, and remember what they know.
class Load {
 public:
    Load(Cluster* cluster, std::string database, int clients)
        : cluster_(cluster), database_(std::move(database)) {
        for (int i = 0; i < clients; ++i) {
            threads_.emplace_back([this] { run(); });
        }
    }
    ~Load() { stop(); }

    void stop() {
        stopping_ = true;
        for (auto& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

    // Until the clients have finished some more items.
    testing::AssertionResult goes_on() {
        const int64_t before = acked_;
        return eventually([this, before] { return acked_ > before + 20; });
    }

    // While it is true, connections may break.
    std::atomic<bool> crashing = false;

    // Items that were enqueued for certain, and those that may have been.
    std::set<int64_t> enqueued;
    std::set<int64_t> unsure;
    std::vector<std::string> complaints;

 private:
    struct Answer {
        std::string state;  // "" if it went well, "lost" if nobody knows
        std::vector<std::string> row;
    };

    Answer ask(const std::string& sql) {
        thread_local std::unique_ptr<Conn> conn;
        thread_local Load* owner = nullptr;
        if (owner != this) {
            conn = nullptr;
            owner = this;
        }
        for (int i = 0; conn == nullptr; ++i) {
            try {
                conn = std::make_unique<Conn>(cluster_->conninfo(database_, "upgrade_operator"));
            } catch (const std::runtime_error& error) {
                if (!crashing && i > 200) {
                    return {error.what(), {}};
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        }
        PGresult* result = PQexec(conn->raw(), sql.c_str());
        Answer answer;
        const auto status = PQresultStatus(result);
        if (status == PGRES_TUPLES_OK) {
            for (int i = 0; PQntuples(result) > 0 && i < PQnfields(result); ++i) {
                answer.row.push_back(PQgetvalue(result, 0, i));
            }
        } else {
            const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
            // The server takes everybody down with a process that was killed.
            const bool lost = PQstatus(conn->raw()) == CONNECTION_BAD || state == nullptr ||
                              std::string(state).substr(0, 3) == "57P";
            answer.state = lost && crashing ? "lost" : PQerrorMessage(conn->raw());
            if (lost) {
                conn = nullptr;
            }
        }
        PQclear(result);
        return answer;
    }

    void complain(const std::string& text) {
        const std::lock_guard lock(mutex_);
        if (complaints.size() < 10) {
            complaints.push_back(text);
        }
    }

    void enqueue() {
        const int64_t number = ++numbers_;
        const Answer answer =
            ask(R"(SELECT old.enqueue_worker_work('{"ActivityExecute": {"instance": "load-)" +
                std::to_string(number) + R"(", "execution_id": 1, "id": 1}}'))");
        const std::lock_guard lock(mutex_);
        if (answer.state.empty()) {
            enqueued.insert(number);
        } else {
            unsure.insert(number);
            if (answer.state != "lost") {
                complaints.push_back("enqueue: " + answer.state);
            }
        }
    }

    void work() {
        const Answer fetched =
            ask("SELECT out_lock_token, out_work_item::jsonb #>> '{ActivityExecute,instance}' FROM "
                "old.fetch_work_item(NULL, 600000, 'load')");
        if (!fetched.state.empty() || fetched.row.empty()) {
            if (!fetched.state.empty() && fetched.state != "lost") {
                complain("fetch: " + fetched.state);
            }
            return;
        }
        const std::string& token = fetched.row[0];
        const std::string& instance = fetched.row[1];
        const Answer renewed =
            ask("SELECT old.renew_work_item_lock('" + token + "', NULL, 600000)");
        if (!renewed.state.empty() && renewed.state != "lost") {
            complain("renew: " + renewed.state);
        }
        const std::string completion = instance.substr(0, 5) == "load-"
                                           ? R"('{"ActivityCompleted": {"instance": ")" + instance +
                                                 R"(", "execution_id": 1, "id": 1, "result": ""}}')"
                                           : "NULL";
        bool lost = false;
        while (true) {
            const Answer acked =
                ask("SELECT old.ack_worker('" + token + "', NULL, " + completion + ")");
            if (acked.state != "lost") {
                // After an ack whose outcome is not known, the lease may be over.
                if (!acked.state.empty() &&
                    !(lost &&
                      acked.state.find("not found or already processed") != std::string::npos)) {
                    complain("ack: " + acked.state);
                }
                break;
            }
            lost = true;
        }
        ++acked_;
    }

    void run() {
        for (int turn = 0; !stopping_; ++turn) {
            enqueue();
            work();
            if (turn % 8 == 0) {
                const Answer listed = ask("SELECT count(*) FROM old.list_work_items()");
                if (!listed.state.empty() && listed.state != "lost") {
                    complain("list: " + listed.state);
                }
            }
        }
    }

    Cluster* cluster_;
    std::string database_;
    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::atomic<bool> stopping_ = false;
    std::atomic<int64_t> numbers_ = 0;
    std::atomic<int64_t> acked_ = 0;
};

class UpgradeUnderLoad : public testing::TestWithParam<int> {
 protected:
    UpgradeUnderLoad() : cluster({.preload = true}) {
        make_upgrade_roles(cluster);
        make_fresh(cluster, "fresh");
        revive(cluster, "busy", GetParam());
        // A session that sets upgrade.at stops behind that command of DDL, until lock 42 is free.
        cluster.connect("busy").exec(R"sql(
            CREATE FUNCTION public.stop_here() RETURNS event_trigger LANGUAGE plpgsql AS $$
            DECLARE
                goal int := nullif(current_setting('upgrade.at', true), '');
                now int := coalesce(nullif(current_setting('upgrade.done', true), '')::int, 0) + 1;
            BEGIN
                IF goal IS NOT NULL THEN
                    PERFORM set_config('upgrade.done', now::text, false);
                    IF now = goal THEN
                        PERFORM pg_advisory_lock(42);
                    END IF;
                END IF;
            END $$;
            CREATE EVENT TRIGGER stop_here ON ddl_command_end EXECUTE FUNCTION public.stop_here())sql");
    }

    void expect_still_old() {
        Conn conn = cluster.connect("busy");
        EXPECT_EQ(conn.value("SELECT version FROM old.belay_hub"), std::to_string(GetParam()));
        EXPECT_EQ(conn.error_of(fill("SELECT old.renew_work_item_lock({plain}, {t}, 9000000)")),
                  "");
    }

    // Starts an upgrade that stops in the middle of its work. Waits until it has.
    std::unique_ptr<Conn> stopped_upgrade(Conn& watcher, int at) {
        auto conn = std::make_unique<Conn>(cluster.conninfo("busy", "upgrade_owner"));
        conn->exec("SET upgrade.at = " + std::to_string(at));
        EXPECT_EQ(PQsendQuery(conn->raw(), "SELECT belay.upgrade_hub('old')"), 1);
        EXPECT_TRUE(eventually([&watcher] {
            return watcher.value(
                       "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                       "objid = 42 AND NOT granted") == "1";
        }));
        return conn;
    }

    Cluster cluster;
};

// HB-5: an upgrade that fails at any step, that waits too long for a lock, or whose process is
// killed in the middle, has done nothing; clients go on meanwhile, nothing is lost or done twice,
// and leases stay live.
TEST_P(UpgradeUnderLoad, LosesNothing) {
    Load load(&cluster, "busy", 3);
    EXPECT_TRUE(load.goes_on());
    {
        Conn super = cluster.connect("busy");
        Conn owner = cluster.connect("busy", "upgrade_owner");
        // At each step.
        int failed = 0;
        for (int step = 0;; ++step) {
            super.exec("SELECT belay.inject_fault('upgrade.step', 1, " + std::to_string(step) +
                       ")");
            const std::string result = outcome(owner, "BEGIN; SELECT belay.upgrade_hub('old')");
            owner.exec("ROLLBACK");
            if (result.find("injected fault") == std::string::npos) {
                EXPECT_EQ(result, "1 rows\n | ") << "after the last step there is none";
                super.exec("SELECT belay.inject_fault('upgrade.step', 0)");
                break;
            }
            ++failed;
            expect_still_old();
        }
        Conn fresh = cluster.connect("fresh");
        EXPECT_EQ(failed, std::stoi(fresh.value("SELECT version FROM old.belay_hub")) - GetParam());
        EXPECT_TRUE(load.goes_on());

        // With another transaction in the way.
        Conn other = cluster.connect("busy", "upgrade_operator");
        other.exec("BEGIN; SELECT old.pause_hub('tasks', 'in the way')");
        EXPECT_EQ(owner.error_of("SET lock_timeout = '50ms'; SELECT belay.upgrade_hub('old')"),
                  "55P03");
        owner.exec("RESET lock_timeout");
        other.exec("ROLLBACK");
        expect_still_old();
    }
    // Killed in the middle, at several places. As long as it stands there, the clients go on.
    for (const int at : {1, 40, 110}) {
        {
            Conn watcher = cluster.connect("busy");
            watcher.exec("SELECT pg_advisory_lock(42)");
            const auto upgrade = stopped_upgrade(watcher, at);
            EXPECT_TRUE(load.goes_on()) << "beside an upgrade that stands at command " << at;
            load.crashing = true;
            ASSERT_EQ(kill(upgrade->backend_pid(), SIGKILL), 0);
            while (watcher.error_of("SELECT pg_sleep(0.01)").empty()) {
            }
        }
        cluster.wait_ready();
        expect_still_old();
        EXPECT_TRUE(load.goes_on());
        load.crashing = false;
    }
    // And at last to its end, with the clients at work.
    {
        Conn watcher = cluster.connect("busy");
        watcher.exec("SELECT pg_advisory_lock(42)");
        const auto upgrade = stopped_upgrade(watcher, 90);
        EXPECT_TRUE(load.goes_on());
        watcher.exec("SELECT pg_advisory_unlock(42)");
        PGresult* result = PQgetResult(upgrade->raw());
        EXPECT_EQ(PQresultStatus(result), PGRES_TUPLES_OK) << PQerrorMessage(upgrade->raw());
        PQclear(result);
    }
    EXPECT_TRUE(load.goes_on());
    load.stop();
    for (const auto& complaint : load.complaints) {
        ADD_FAILURE() << complaint;
    }

    Conn conn = cluster.connect("busy");
    conn.exec("DROP EVENT TRIGGER stop_here");
    EXPECT_EQ(conn.value("SELECT is_current FROM belay.hubs WHERE name = 'old'"), "t");
    Conn fresh = cluster.connect("fresh");
    EXPECT_EQ(shape(conn), shape(fresh));
    Conn owner = cluster.connect("busy", "upgrade_owner");
    EXPECT_EQ(outcome(owner, "SELECT * FROM belay.check_hub('old')"), "0 rows");
    // The leases of old are live, and what a lost connection left behind can be fetched later.
    for (const std::string what : {"plain", "instance", "session"}) {
        EXPECT_EQ(owner.error_of(fill("SELECT old.ack_worker({" + what + "}, NULL, NULL, {t})")),
                  "");
    }
    for (int i = 0; i < 10000; ++i) {
        const Rows row = owner.exec(fill(
            "SELECT out_lock_token, out_work_item::jsonb #>> '{ActivityExecute,instance}' FROM "
            "old.fetch_work_item({t}, 1000, 'last')"));
        if (row.size() == 0) {
            break;
        }
        const std::string instance = row.at(0, 1).value_or("");
        owner.exec(fill("SELECT old.ack_worker('" + *row.at(0, 0) + "', NULL, " +
                        (instance.substr(0, 5) == "load-"
                             ? R"('{"ActivityCompleted": {"instance": ")" + instance +
                                   R"(", "execution_id": 1, "id": 1, "result": ""}}')"
                             : "NULL") +
                        ", {t})"));
    }
    EXPECT_EQ(conn.value("SELECT count(*) FROM old.worker_queue WHERE instance_id LIKE 'load-%'"),
              "0");
    // Exactly one completion of each item.
    std::multiset<int64_t> done;
    const Rows messages = conn.exec(
        "SELECT substr(instance_id, 6) FROM old.orchestrator_queue WHERE instance_id LIKE "
        "'load-%'");
    for (int row = 0; row < messages.size(); ++row) {
        done.insert(std::stoll(*messages.at(row, 0)));
    }
    EXPECT_GT(load.enqueued.size(), 50U);
    for (const int64_t number : load.enqueued) {
        EXPECT_EQ(done.count(number), 1U) << number;
    }
    for (const int64_t number : load.unsure) {
        EXPECT_LE(done.count(number), 1U) << number;
    }
    EXPECT_LE(done.size(), load.enqueued.size() + load.unsure.size());
}

INSTANTIATE_TEST_SUITE_P(, UpgradeUnderLoad, testing::Values(2, 9),
                         [](const auto& info) { return "Version" + std::to_string(info.param); });

// ---- The extension's own update ----

// ALTER EXTENSION … UPDATE never touches hubs; an update script cannot upgrade them either.
TEST(ExtensionUpdate, LeavesHubsAlone) {
    Cluster cluster({.preload = true, .conf = {"belay.reconcile_interval = 0"}});
    make_upgrade_roles(cluster);
    revive(cluster, "busy", 2);
    Conn super = cluster.connect("busy");
    Conn owner = cluster.connect("busy", "upgrade_owner");
    const std::string version =
        super.value("SELECT extversion FROM pg_extension WHERE extname = 'belay'");
    const auto before = contents(super);
    const auto parts = shape(super);
    EXPECT_EQ(super.error_of("ALTER EXTENSION belay UPDATE"), "") << "there is nothing newer";
    EXPECT_EQ(super.error_of("ALTER EXTENSION belay UPDATE TO 'test_hubs'"), "0A000");
    EXPECT_EQ(super.value("SELECT extversion FROM pg_extension WHERE extname = 'belay'"), version);
    EXPECT_EQ(super.error_of("ALTER EXTENSION belay UPDATE TO 'test'"), "");
    EXPECT_EQ(super.value("SELECT extversion FROM pg_extension WHERE extname = 'belay'"), "test");
    EXPECT_EQ(super.value("SELECT belay.added_by_update()"), "42");
    EXPECT_EQ(contents(super), before);
    EXPECT_EQ(shape(super), parts);
    EXPECT_EQ(super.value("SELECT version FROM belay.hubs WHERE name = 'old'"), std::to_string(2));
    EXPECT_EQ(owner.error_of(fill("SELECT old.renew_work_item_lock({plain}, {t}, 9000000)")), "");
    EXPECT_EQ(owner.error_of("SELECT belay.upgrade_hub('old')"), "");
    EXPECT_EQ(owner.error_of(fill("SELECT old.ack_worker({plain}, NULL, NULL, {t})")), "");
}

}  // namespace
}  // namespace belay::test
