// Every typed call of a hub and of schema belay, on a real server: what it returns, and that it is
// one round trip.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "belay/hub.hpp"
#include "server.hpp"

namespace belay::test {
namespace {

const std::string kItem =
    R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":1,"name":"n","input":""}})";
const std::string kDone =
    R"({"ActivityCompleted":{"instance":"i","execution_id":1,"id":1,"result":"r"}})";

class ClientHub : public WithServer {
 protected:
    // Statements are not prepared, so each call is exactly one round trip.
    static ConnectionOptions unprepared() {
        auto changed = options();
        changed.prepare = false;
        return changed;
    }

    // Runs a call, which is to take one round trip.
    template <typename Call>
    auto one(const std::string& function, Call call) {
        struct Check {
            Connection& connection;
            const std::string& function;
            std::uint64_t before;
            ~Check() { EXPECT_EQ(connection.round_trips() - before, 1u) << function; }
        } check{connection_, function, connection_.round_trips()};
        called_.insert(function);
        return call();
    }
#define ONE(function, ...) one(#function, [&] { return hub_.function(__VA_ARGS__); })
#define ADMIN(function, ...) one(#function, [&] { return admin_.function(__VA_ARGS__); })

    // The functions and procedures of a schema.
    std::set<std::string> functions_of(const std::string& schema) {
        const Result rows = connection_.exec(
            "SELECT DISTINCT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = "
            "p.pronamespace WHERE n.nspname = $1",
            {schema});
        std::set<std::string> names;
        for (int row = 0; row < rows.size(); ++row) {
            names.insert(rows.get<std::string>(row, 0));
        }
        return names;
    }

    static inline std::set<std::string> called_;  // by one(), in all tests of the suite

    Connection connection_{unprepared()};
    Hub hub_{connection_, "app"};
    Admin admin_{connection_};
};

TEST_F(ClientHub, HasTheWorkerQueue) {
    ONE(enqueue_worker_work, {.work_item = kItem, .tag = "gpu"});
    EXPECT_EQ(ONE(enqueue_worker_items, {{.work_item = kItem, .instance_id = "b"},
                                         {.work_item = kItem, .delay_ms = 3'600'000},
                                         {.work_item = kItem},
                                         {.work_item = kItem, .session_id = "s"}}),
              4);
    const FetchOptions any{.owner_id = "me", .tag_mode = "any", .max_items = 10};
    const auto first = ONE(fetch_work_item, any);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->work_item, kItem);
    EXPECT_EQ(first->attempt_count, 1);
    const auto rest = ONE(fetch_work_items, any);
    ASSERT_EQ(rest.size(), 3u);
    EXPECT_FALSE(ONE(fetch_work_item, {.tag_filter = std::vector<std::string>{"gpu"},
                                       .tag_mode = "tags",
                                       .slots = std::vector<std::int32_t>{0}}));

    ONE(renew_work_item_lock, first->lock_token, Milliseconds(60000));
    const auto renewals =
        ONE(renew_work_item_locks, {first->lock_token, "no token"}, Milliseconds(60000));
    ASSERT_EQ(renewals.size(), 2u);
    EXPECT_TRUE(renewals[0].renewed);
    EXPECT_TRUE(renewals[0].locked_until);
    EXPECT_EQ(renewals[1].error, "QB001");
    EXPECT_EQ(ONE(renew_session_lock, {"me"}, Milliseconds(60000), Milliseconds(60000)), 1);
    EXPECT_EQ(ONE(cleanup_orphaned_sessions), 0);

    const auto page = ONE(list_work_items, R"({"state": "leased"})", {}, 2);
    ASSERT_EQ(page.size(), 2u);
    EXPECT_EQ(page[0].locked_by, "me");
    EXPECT_GT(page[0].created_at.value(), 1'700'000'000'000);
    EXPECT_EQ(ONE(list_work_items, R"({"state": "leased"})", page[1].cursor).size(), 2u);

    ONE(ack_worker, {.lock_token = first->lock_token, .instance_id = "i", .completion = kDone});
    ONE(abandon_work_item, rest[0].lock_token, {}, true);
    const auto next = ONE(ack_and_fetch_work_item, {.lock_token = rest[1].lock_token}, any);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->attempt_count, 1);
    const auto acks = ONE(ack_workers, {{.lock_token = rest[2].lock_token}, {.lock_token = "x"}});
    ASSERT_EQ(acks.size(), 2u);
    EXPECT_TRUE(acks[0].acked);
    EXPECT_FALSE(acks[1].acked);
    EXPECT_FALSE(acks[1].outcome_unknown);
    EXPECT_EQ(acks[1].error, "QB001");
    EXPECT_GE(ONE(cancel_activities, {{.instance = "i", .execution_id = 1, .activity_id = 1}}), 1);
}

TEST_F(ClientHub, HasDeadLetters) {
    admin_.set_hub_option("app", "max_attempts", "1");
    for (int i = 0; i < 3; ++i) {
        hub_.enqueue_worker_work({.work_item = kItem});
    }
    for (int i = 0; i < 3; ++i) {
        hub_.abandon_work_item(hub_.fetch_work_item({})->lock_token);
    }
    EXPECT_FALSE(hub_.fetch_work_item({}));
    const auto letters = ONE(list_dead_letters, {.queue = "worker"});
    ASSERT_EQ(letters.size(), 3u);
    EXPECT_EQ(letters[0].attempt_count, 1);
    EXPECT_GT(ONE(redrive_dead_letter, letters[0].id), 0);
    ONE(discard_dead_letter, letters[1].id);
    EXPECT_EQ(ONE(redrive_dead_letters, R"({"queue": "worker"})"), 1);
    try {
        hub_.discard_dead_letter(letters[1].id);
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.not_found());
    }
}

TEST_F(ClientHub, HasOrchestrations) {
    const std::string id = ONE(start_orchestration, "Bill", R"({"order": 9})",
                               {.instance_id = "o", .version = "1.0.0"});
    EXPECT_EQ(id, "o");
    ONE(raise_event, "o", "approved", "by Ada");
    ONE(cancel_instance, "o", "why not");
    const std::string message = R"({"ExternalRaised":{"instance":"o","name":"e","data":"d"}})";
    ONE(enqueue_orchestrator_work, {.work_item = message, .instance_id = "o"});
    EXPECT_EQ(ONE(enqueue_orchestrator_items, {{.work_item = message}, {.work_item = message}}), 2);

    auto turn = ONE(fetch_orchestration_item, {});
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->instance_id, "o");
    EXPECT_EQ(turn->orchestration_name, "Bill");
    ONE(renew_orchestration_item_lock, turn->lock_token, Milliseconds(60000));
    EXPECT_EQ(ONE(abandon_orchestration_item, turn->lock_token, {}, true), "o");
    turn = hub_.fetch_orchestration_item({});
    ASSERT_TRUE(turn);
    ONE(ack_orchestration_item, turn->lock_token,
        {.execution_id = 1,
         .history_delta = {{.event_id = 1,
                            .event_data = R"({"type": "OrchestrationStarted", "name": "Bill"})"}},
         .worker_items = {R"({"ActivityExecute":{"instance":"o","execution_id":1,"id":2}})"},
         .orchestrator_items = {},
         .metadata = R"({"orchestration_name": "Bill", "orchestration_version": "1.0.0",
                         "custom_status_action": "set", "custom_status_value": "busy",
                         "kv_mutations": [{"action": "set", "key": "k", "value": "v",
                                           "last_updated_at_ms": 1}]})",
         .cancelled_activities = {{.instance = "o", .execution_id = 1, .activity_id = 2}}});
    EXPECT_FALSE(hub_.fetch_work_item({}));

    EXPECT_EQ(ONE(fetch_history, "o").size(), 1u);
    EXPECT_EQ(ONE(fetch_history_with_execution, "o", 1).size(), 1u);
    ONE(append_history, "o", 1, {{.event_id = 2, .event_data = R"({"type": "Noted"})"}});
    const auto events = ONE(read_history, "o", 1, 1);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].event_type, "Noted");
    const auto status = ONE(get_custom_status, "o");
    ASSERT_TRUE(status);
    EXPECT_EQ(status->value, "busy");
    EXPECT_FALSE(hub_.get_custom_status("o", status->version));
    EXPECT_EQ(ONE(get_kv_value, "o", "k"), "v");
    EXPECT_EQ(hub_.get_kv_value("o", "l"), std::nullopt);
    EXPECT_EQ(ONE(get_kv_all_values, "o").size(), 1u);

    EXPECT_EQ(ONE(list_instances, {.name = "Bill"}), std::vector<std::string>{"o"});
    const auto infos = ONE(list_instance_infos, {.status = "Running"});
    ASSERT_EQ(infos.size(), 1u);
    EXPECT_EQ(infos[0].orchestration_name, "Bill");
    EXPECT_EQ(ONE(list_instances_by_status, "Running"), std::vector<std::string>{"o"});
    EXPECT_EQ(ONE(list_executions, "o"), std::vector<std::int64_t>{1});
    EXPECT_EQ(ONE(latest_execution_id, "o"), 1);
    const auto info = ONE(get_instance_info, "o");
    ASSERT_TRUE(info);
    EXPECT_EQ(info->status, "Running");
    const auto execution = ONE(get_execution_info, "o", 1);
    ASSERT_TRUE(execution);
    EXPECT_EQ(execution->event_count, 2);
    EXPECT_EQ(ONE(get_instance_stats, "o")->kv_user_key_count, 1);
    EXPECT_FALSE(hub_.get_instance_stats("nobody"));
    EXPECT_EQ(ONE(get_system_metrics).total_instances, 1);
    EXPECT_EQ(ONE(get_queue_depths).orchestrator_queue, 0);
    EXPECT_TRUE(ONE(list_children, "o").empty());
    EXPECT_EQ(ONE(get_parent_id, "o"), std::nullopt);
    EXPECT_EQ(ONE(get_instance_tree, "o").size(), 1u);
    EXPECT_FALSE(ONE(explain_fetch, "o").empty());
    EXPECT_EQ(ONE(prune_executions, "o", 1).executions_deleted, 0);
    EXPECT_EQ(ONE(prune_executions_bulk, R"({"instance_ids": ["o"]})", R"({"keep_last": 1})")
                  .executions_deleted,
              0);
    EXPECT_EQ(ONE(delete_instances_bulk, R"({"instance_ids": ["nobody"]})").instances, 0);
    EXPECT_EQ(ONE(delete_instance, "o", true).instances, 1);
    EXPECT_EQ(ONE(delete_instances_atomic, {"nobody"}, true).instances, 0);
    EXPECT_FALSE(ONE(reconcile).empty());
}

TEST_F(ClientHub, HasEvents) {
    ONE(create_subscription, "some", {{"instance", "operator"}});
    ONE(create_subscription, "all", {}, "start");
    hub_.start_orchestration("O", "", {.instance_id = "i"});
    const auto turn = hub_.fetch_orchestration_item({});
    hub_.ack_orchestration_item(
        turn->lock_token,
        {.metadata = R"({"orchestration_name":"O","orchestration_version":"1"})"});
    const auto events = ONE(read_events, "some", 10, Milliseconds(60000));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].topic + "." + events[0].type, "instance.started");
    EXPECT_EQ(events[0].subject, "i");
    EXPECT_NE(events[0].details.find("\"orchestration_name\": \"O\""), std::string::npos);
    EXPECT_GT(events[0].occurred_at_ms, 0);
    EXPECT_EQ(events[0].event_id.substr(0, 2), "1-");
    const auto infos = hub_.subscriptions();
    ASSERT_EQ(infos.size(), 2u);
    EXPECT_EQ(infos[0].topics, std::nullopt);
    EXPECT_EQ(infos[1].topics, "instance,operator");
    EXPECT_EQ(infos[1].lag_rows, 1);
    EXPECT_TRUE(infos[1].lease_until);
    ONE(ack_events, "some", events[0].upto);
    EXPECT_EQ(hub_.subscriptions()[1].lag_rows, 0);
    ONE(drop_subscription, "some");
    EXPECT_THROW(hub_.read_events("some"), Error);
}

TEST_F(ClientHub, HasSlots) {
    admin_.set_hub_option("app", "slot_count", "4");
    EXPECT_EQ(ONE(acquire_slots, "a", "worker", 4, Milliseconds(60000)),
              (std::vector<std::int32_t>{0, 1, 2, 3}));
    EXPECT_TRUE(hub_.acquire_slots("b", "worker").empty());
    EXPECT_EQ(hub_.acquire_slots("a", "worker").size(), 2u);
    EXPECT_EQ(hub_.acquire_slots("b", "worker").size(), 2u);
    ONE(release_slots, "a", "worker");
    EXPECT_EQ(hub_.acquire_slots("b", "worker").size(), 4u);
    EXPECT_THROW(hub_.acquire_slots("b", "worker", 5), Error);
    hub_.release_slots("b", "worker");
}

TEST_F(ClientHub, HasAGuard) {
    connection_.exec("CREATE TABLE IF NOT EXISTS guarded (n int)");
    hub_.enqueue_worker_work({.work_item = kItem});
    const auto item = hub_.fetch_work_item({});
    ASSERT_TRUE(item);
    connection_.with_transaction([&] {
        ONE(guard, item->lock_token);
        connection_.exec("INSERT INTO guarded VALUES (1)");
    });
    // The lease is given up by somebody else before the commit.
    try {
        connection_.with_transaction([&] {
            hub_.guard(item->lock_token);
            connection_.exec("INSERT INTO guarded VALUES (2)");
            Connection other(options());
            Hub(other, "app").abandon_work_item(item->lock_token);
        });
        ADD_FAILURE() << "the transaction was committed";
    } catch (const Error& error) {
        EXPECT_TRUE(error.lock_lost()) << error.what();
    }
    EXPECT_EQ(connection_.exec("SELECT sum(n) FROM guarded").get<int>(0, 0), 1);
    connection_.exec("DROP TABLE guarded");
}

TEST_F(ClientHub, HasOtherHubs) {
    admin_.create_hub("billing");
    EXPECT_GT(ONE(send_to_hub, "billing", "worker", kItem), 0);
    Hub billing(connection_, "billing");
    for (int i = 0; i < 3000 && billing.list_work_items().empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(billing.list_work_items().size(), 1u);
    connection_.exec("CREATE FOREIGN DATA WRAPPER client_test");
    connection_.exec("CREATE SERVER elsewhere FOREIGN DATA WRAPPER client_test");
    ADMIN(create_hub_link, "app", "shipping", "elsewhere");
    ADMIN(drop_hub_link, "app", "shipping");
    connection_.exec("DROP FOREIGN DATA WRAPPER client_test CASCADE");
    admin_.drop_hub("billing", true);
}

TEST_F(ClientHub, PausesAndWaits) {
    hub_.enqueue_worker_work({.work_item = kItem});
    ONE(pause_hub, "worker", "test");
    EXPECT_FALSE(hub_.fetch_work_item({}));
    ONE(resume_hub);
    const Wake work =
        one("wait_for_work", [&] { return hub_.wait_for_work({"worker"}, Milliseconds(10000)); });
    EXPECT_EQ(work.reason, "work");
    EXPECT_EQ(work.queue, "worker");
    EXPECT_EQ(hub_.wait_for_work({"owner:me"}, Milliseconds(1)).reason, "timeout");
    Interrupt interrupt;
    interrupt.signal();
    EXPECT_FALSE(hub_.wait_for_work({"owner:me"}, Milliseconds(60000), interrupt));
}

TEST_F(ClientHub, HasSchemaBelay) {
    EXPECT_NE(ADMIN(version), "");
    ADMIN(create_hub, "odd \"name");
    EXPECT_TRUE(ADMIN(check_hub, "odd \"name").empty());
    ADMIN(set_hub_option, "odd \"name", "max_attempts", "7");
    bool seen = false;
    for (const auto& option : ADMIN(hub_options, "odd \"name")) {
        seen =
            seen || (option.option == "max_attempts" && option.value == "7" && !option.is_default);
    }
    EXPECT_TRUE(seen);
    connection_.exec("CREATE ROLE client_test_worker");
    ADMIN(grant_hub, "odd \"name", "client_test_worker", "worker");
    ADMIN(revoke_hub, "odd \"name", "client_test_worker", "worker");
    EXPECT_EQ(ADMIN(new_incarnation, "odd \"name"), 1);
    ADMIN(upgrade_hub, "odd \"name");
    Hub odd(connection_, "odd \"name");
    odd.enqueue_worker_work({.work_item = kItem});
    EXPECT_TRUE(odd.fetch_work_item({}));
    ADMIN(stat_reset);
    EXPECT_FALSE(ADMIN(queue_stats).empty());
    const auto workers = ADMIN(workers);
    ASSERT_FALSE(workers.empty());
    EXPECT_GT(workers[0].pid, 0);
    EXPECT_NE(ADMIN(metrics), "");
    EXPECT_EQ(ADMIN(hubs).size(), 2u);
    ADMIN(drop_hub, "odd \"name", true);
    connection_.exec("DROP ROLE client_test_worker");
    for (const bool start : {true, false}) {
        called_.insert(start ? "start_worker" : "stop_worker");
        try {
            start ? admin_.start_worker() : admin_.stop_worker();
            FAIL() << "a preloaded server starts its workers itself";
        } catch (const Error& error) {
            EXPECT_EQ(error.sqlstate(), "55000");
        }
    }
}

TEST_F(ClientHub, SendsItsClock) {
    TestClock clock(1000);
    Hub past(connection_, "app", clock.clock());
    try {
        past.enqueue_worker_work({.work_item = kItem});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "QB007");
        // Both times.
        EXPECT_NE(error.detail().find("1000"), std::string::npos) << error.detail();
        EXPECT_NE(error.detail().find("server"), std::string::npos) << error.detail();
    }
    admin_.set_hub_option("app", "max_clock_skew", "0");
    past.enqueue_worker_work({.work_item = kItem});
    const auto item = past.fetch_work_item({.lock_timeout = Milliseconds(500)});
    ASSERT_TRUE(item);
    clock.advance(501);
    EXPECT_THROW(past.ack_worker({.lock_token = item->lock_token}), Error);
}

TEST_F(ClientHub, RefusesTextThatIsNotUtf8) {
    try {
        hub_.enqueue_worker_items({{.work_item = "\xff"}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "22021");
    }
}

// The last test of its suite: the others have called everything. A function that comes to a hub
// fails it until it has a typed call and a test.
TEST_F(ClientHub, HasACallForEveryFunction) {
    const auto* suite = testing::UnitTest::GetInstance()->current_test_suite();
    if (suite->test_to_run_count() < suite->total_test_count()) {
        GTEST_SKIP() << "not all tests of the suite ran";
    }
    // Behind views, and for tests of the server; not for applications.
    const std::set<std::string> internal = {
        "call_handler",  "event_horizon_pid", "faults",          "hub_mark_in",   "hub_mark_out",
        "hub_mark_recv", "hub_mark_send",     "hub_option_rows", "hub_rows",      "inject_fault",
        "instance_key",  "random_int8",       "receive_intents", "shared_memory", "stat_queues",
        "turn_token",    "task_is_sound",     "validator",       "work_token",    "worker_rows"};
    // The calls of tasks.
    const std::set<std::string> to_come = {
        "approve_task",   "cancel_task",        "change_priority",      "check_tasks",
        "claim_tasks",    "complete_and_claim", "complete_task",        "create_schedule",
        "create_task",    "create_tasks",       "create_waitpoint",     "delay_task",
        "delete_task",    "deliver_signal",     "drop_schedule",        "explain_claim",
        "fail_task",      "get_task",           "guard_task",           "list_expired_leases",
        "list_schedules", "list_tasks",         "list_waitpoints",      "pause_lane",
        "pause_schedule", "progress_task",      "release_task",         "renew_task",
        "renew_tasks",    "replay_task",        "resume_lane",          "resume_schedule",
        "resume_task",    "revoke_lease",       "rotate_waitpoint_key", "seed_waitpoint_key",
        "set_lane",       "suspend_task"};
    int count = 0;
    for (const char* schema : {"app", "belay"}) {
        for (const auto& function : functions_of(schema)) {
            ++count;
            EXPECT_TRUE(called_.contains(function) || internal.contains(function) ||
                        to_come.contains(function))
                << "no typed call of " << schema << "." << function << " was tested";
        }
    }
    EXPECT_GT(count, 60);
}

// The backend dies after the ack has happened and before its answer: the ack is repeated, and what
// it then finds is not called a lost lease.
TEST(ClientAck, WithoutAnAnswerIsUnknown) {
    // A session that asks for it waits after its commit for a standby that does not exist.
    Cluster cluster(
        {.preload = true,
         .conf = {"synchronous_standby_names = 'nobody'", "synchronous_commit = local"}});
    Conn watcher = cluster.connect();
    watcher.exec("CREATE EXTENSION belay");
    watcher.exec("SELECT belay.create_hub('app')");
    Connection connection({.conninfo = cluster.conninfo()});
    Hub hub(connection, "app");
    hub.enqueue_worker_work({.work_item = kItem});
    const auto item = hub.fetch_work_item({});
    ASSERT_TRUE(item);
    connection.exec("SET synchronous_commit = on");
    const std::string pid = std::to_string(connection.backend_pid());
    std::thread killer([&] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < end &&
               watcher.value("SELECT count(*) FROM pg_stat_activity WHERE pid = " + pid +
                             " AND wait_event = 'SyncRep'") != "1") {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        watcher.exec("SELECT pg_terminate_backend(" + pid + ")");
    });
    try {
        hub.ack_worker({.lock_token = item->lock_token});
        ADD_FAILURE() << "the ack was answered";
    } catch (const Error& error) {
        EXPECT_TRUE(error.outcome_unknown()) << error.what();
        EXPECT_FALSE(error.lock_lost());
    }
    killer.join();
    EXPECT_TRUE(hub.list_work_items().empty());
}

}  // namespace
}  // namespace belay::test
