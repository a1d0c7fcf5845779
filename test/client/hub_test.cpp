// Every typed call of a hub and of schema belay, on a real server: what it returns, and that it is
// one round trip.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include <nlohmann/json.hpp>

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
    EXPECT_EQ(ONE(explain_work_item, -1).at(0).reason, "not_found");
    EXPECT_TRUE(hub_.pending_starts("o").empty());
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

TEST_F(ClientHub, CreatesTasks) {
    const std::string id = "0190c2a4-0000-7000-8000-00000000000A";
    const auto created = ONE(create_task, {.lane = "cpu",
                                           .payload = R"({"n": 12345678901234567890.5})",
                                           .task_id = id,
                                           .kind = "resize",
                                           .priority = 7,
                                           .capabilities = {"gpu"},
                                           .policy = TaskPolicy{.max_attempts = 2},
                                           .tags = R"({"tenant": "acme"})"});
    EXPECT_EQ(created.state, "ready");
    EXPECT_TRUE(created.created);
    EXPECT_EQ(created.task_id, "0190c2a4-0000-7000-8000-00000000000a");
    EXPECT_FALSE(hub_.create_task({.lane = "cpu", .task_id = id}).created);
    const auto many = ONE(create_tasks, {{.lane = "io", .payload = "12345678901234567890.5"},
                                         {.lane = "io", .delay = Milliseconds(60000)},
                                         {.lane = "io", .dedup_key = "k"},
                                         {.lane = "io",
                                          .policy = TaskPolicy{.max_attempts = 1},
                                          .dedup_key = "k",
                                          .dedup_window = Milliseconds(1000),
                                          .tags = R"({"a": "b"})"}});
    ASSERT_EQ(many.size(), 4u);
    EXPECT_EQ(many[0].state, "ready");
    EXPECT_EQ(many[1].state, "delayed");
    EXPECT_EQ(many[3].task_id, many[2].task_id);
    EXPECT_FALSE(many[3].created);
    // JSON that would be more than one value does not reach the server.
    try {
        hub_.create_tasks({{.lane = "io", .payload = R"(1}, {"lane": "evil")"}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "22P02");
    }
    // Numbers come through as they are.
    const auto task = hub_.claim_tasks({.worker = "w", .worker_instance = "w1", .lanes = {{"io"}}});
    ASSERT_EQ(task.size(), 1u);
    EXPECT_EQ(task[0].payload, "12345678901234567890.5");
    EXPECT_THROW(hub_.get_task("no uuid"), Error);
    EXPECT_EQ(hub_.get_task("0190c2a4-0000-7000-8000-0000000000ff"), std::nullopt);
}

// TX-24
TEST_F(ClientHub, CountsDeadlinesFromTheServersNow) {
    const NewTask task{.lane = "cpu", .deadline_in = Milliseconds(60000)};
    const std::string single = ONE(create_task, task).task_id;
    const std::string many = hub_.create_tasks({task}).at(0).task_id;
    const std::string member =
        hub_.create_flow({.tasks = {{.key = "a", .task = task}}}).task_ids.at("a");
    for (const auto& id : {single, many, member}) {
        const auto found = nlohmann::json::parse(hub_.get_task(id).value());
        EXPECT_EQ(
            found["deadline_ms"].get<std::int64_t>() - found["created_at_ms"].get<std::int64_t>(),
            60000);
    }
    try {
        hub_.create_task({.lane = "cpu", .deadline_in = Milliseconds(0)});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "QB006");
    }
    // The earlier of the two.
    const std::string both =
        hub_.create_task(
                {.lane = "cpu", .deadline_ms = 99999999999999, .deadline_in = Milliseconds(1000)})
            .task_id;
    EXPECT_LT(nlohmann::json::parse(hub_.get_task(both).value())["deadline_ms"], 99999999999999);
    // A suspension.
    const auto claimed = hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    hub_.suspend_task(fence_of(claimed), {.waitpoints = {{"x"}},
                                          .condition = Condition::timeout_only(),
                                          .timeout_in = Milliseconds(60000)});
    EXPECT_EQ(connection_.exec("SELECT timeout_at_ms - created_at_ms FROM app.suspensions")
                  .get<std::int64_t>(0, 0),
              60000);
}

// TX-24
TEST_F(ClientHub, BuildsPoliciesFromStructs) {
    using std::chrono::seconds;
    const TaskPolicy policy{.max_attempts = 7,
                            .backoff = Backoff::exponential(seconds(1), seconds(30), 3, 0.5),
                            .retryable = {{"transient", "timeout"}},
                            .attempt_timeout = seconds(5),
                            .on_lease_expiry = "retry",
                            .max_reclaims = 3,
                            .max_replays = 2,
                            .max_signals = 9};
    const auto expected = nlohmann::json::parse(
        R"({"max_attempts": 7, "retryable": ["transient", "timeout"], "attempt_timeout_ms": 5000,
            "on_lease_expiry": "retry", "max_reclaims": 3, "max_replays": 2, "max_signals": 9,
            "backoff": {"kind": "exponential", "initial_ms": 1000, "max_ms": 30000,
                        "multiplier": 3.0, "jitter": 0.5}})");
    const auto id = hub_.create_task({.lane = "cpu", .policy = policy}).task_id;
    EXPECT_EQ(nlohmann::json::parse(hub_.get_task(id).value())["policy"], expected);
    hub_.set_lane("cpu", {.policy = policy,
                          .retention = seconds(60),
                          .concurrency = 3,
                          .rate_per_s = 2.5,
                          .burst = 4});
    const Result lane = connection_.exec(
        "SELECT l.policy::text, l.retention_ms, d.concurrency, d.rate_per_s FROM app.lanes l JOIN "
        "app.lane_depths d ON d.lane = l.name WHERE l.name = 'cpu'");
    EXPECT_EQ(nlohmann::json::parse(lane.get<std::string>(0, 0)), expected);
    EXPECT_EQ(lane.get<int>(0, 1), 60000);
    EXPECT_EQ(lane.get<int>(0, 2), 3);
    EXPECT_EQ(lane.get<double>(0, 3), 2.5);
    hub_.set_lane("cpu", R"({"concurrency": null})");
    EXPECT_TRUE(connection_.exec("SELECT concurrency FROM app.lane_depths WHERE lane = 'cpu'")
                    .is_null(0, 0));
}

TEST_F(ClientHub, WorksOnTasks) {
    const ClaimOptions claim{.worker = "resizer",
                             .worker_instance = "resizer-1",
                             .lanes = {{"cpu", "io"}},
                             .capabilities = {"gpu"},
                             .lease = Milliseconds(60000),
                             .max_tasks = 10};
    ClaimOptions one_more = claim;
    one_more.max_tasks = 1;
    for (int i = 0; i < 6; ++i) {
        hub_.create_task({.lane = "cpu",
                          .payload = std::to_string(i),
                          .kind = "k",
                          .priority = 10 - i,
                          .capabilities = {"gpu"},
                          .policy = TaskPolicy{.backoff = Backoff::fixed(Milliseconds(0))},
                          .tags = R"({"a": "b"})"});
    }
    auto tasks = ONE(claim_tasks, claim);
    ASSERT_EQ(tasks.size(), 6u);
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(tasks[static_cast<std::size_t>(i)].payload, std::to_string(i));
    }
    EXPECT_EQ(tasks[0].lane, "cpu");
    EXPECT_EQ(tasks[0].kind, "k");
    EXPECT_EQ(tasks[0].tags, R"({"a": "b"})");
    EXPECT_EQ(tasks[0].priority, 10);
    EXPECT_EQ(tasks[0].attempt_index, 1);
    EXPECT_EQ(tasks[0].attempt_kind, "initial");
    EXPECT_GT(tasks[0].lease_until_ms, 1'700'000'000'000);
    EXPECT_TRUE(tasks[0].lease_id.starts_with(
        "belay:" + tasks[0].task_id + ":1:" + std::to_string(tasks[0].lease_epoch) + ":1:"));
    EXPECT_EQ(tasks[0].flow_id, std::nullopt);

    EXPECT_GT(ONE(renew_task, fence_of(tasks[0]), Milliseconds(90000)).lease_until_ms,
              tasks[0].lease_until_ms);
    const auto renewals =
        ONE(renew_tasks, {fence_of(tasks[0]), {.task_id = tasks[1].task_id, .epoch = 99}},
            Milliseconds(60000));
    ASSERT_EQ(renewals.size(), 2u);
    for (const auto& renewal : renewals) {
        const bool first = renewal.task_id == tasks[0].task_id;
        EXPECT_EQ(renewal.renewed, first);
        EXPECT_EQ(renewal.reason, first ? std::nullopt : OptionalText("stale_epoch"));
    }
    EXPECT_GT(ONE(progress_task, fence_of(tasks[0]),
                  {.percent = 12.5, .message = "half", .checkpoint = R"({"at": 3})"}),
              0);
    EXPECT_NE(hub_.get_task(tasks[0].task_id)->find("12.5"), std::string::npos);

    const auto done = ONE(complete_task, fence_of(tasks[0]), R"({"ok": true})");
    EXPECT_EQ(done.result, "completed");
    EXPECT_EQ(done.lease_epoch, tasks[0].lease_epoch + 1);
    // TW-3: only a repetition of the library's own is taken as done.
    for (const bool claims : {false, true}) {
        try {
            if (claims) {
                hub_.complete_and_claim(fence_of(tasks[0]), {}, one_more);
            } else {
                hub_.complete_task(fence_of(tasks[0]));
            }
            ADD_FAILURE() << "it was completed twice";
        } catch (const Error& error) {
            EXPECT_TRUE(error.lock_lost());
            EXPECT_FALSE(error.outcome_unknown());
            EXPECT_EQ(error.code_detail(), "already_completed");
        }
    }
    EXPECT_TRUE(ONE(complete_and_claim, fence_of(tasks[1]), {}, one_more).empty());
    const auto failed =
        ONE(fail_task, fence_of(tasks[2]), {.message = "no luck", .details = R"({"code": 5})"});
    EXPECT_EQ(failed.result, "retry_scheduled");
    EXPECT_EQ(failed.next_attempt_index, 2);
    const auto again = ONE(claim_tasks, one_more);
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].attempt_kind, "retry");
    EXPECT_NE(again[0].last_failure->find("no luck"), std::string::npos);
    EXPECT_EQ(hub_.fail_task(fence_of(again[0]), {.failure_class = "permanent"}).result,
              "terminal_failed");
    const auto delayed = ONE(delay_task, fence_of(tasks[3]), Milliseconds(60000), R"({"at": 4})");
    EXPECT_EQ(delayed.state, "delayed");
    EXPECT_TRUE(delayed.available_at_ms);
    const auto released = ONE(release_task, fence_of(tasks[4]));
    ASSERT_TRUE(released);
    EXPECT_EQ(released->state, "ready");
    // Of an operator, without an epoch.
    EXPECT_EQ(hub_.complete_task({tasks[5].task_id}, {}, kOperatorOverride).state, "completed");
    for (const char* call : {"renew", "complete", "fail", "delay", "release"}) {
        try {
            const std::string name = call;
            const auto fence = fence_of(tasks[2]);
            name == "renew"      ? (void)hub_.renew_task(fence, Milliseconds(1))
            : name == "complete" ? (void)hub_.complete_task(fence)
            : name == "fail"     ? (void)hub_.fail_task(fence, {})
            : name == "delay"    ? (void)hub_.delay_task(fence, Milliseconds(1))
                                 : (void)hub_.release_task(fence);
            FAIL() << call;
        } catch (const Error& error) {
            EXPECT_TRUE(error.lock_lost()) << call << error.what();
            EXPECT_EQ(error.sqlstate(), "QB012");
        }
    }
    EXPECT_TRUE(ONE(check_tasks).empty());
    EXPECT_TRUE(ONE(delete_task, tasks[0].task_id));
    EXPECT_FALSE(hub_.delete_task(tasks[0].task_id));
}

TEST_F(ClientHub, SteersTasks) {
    const auto id = hub_.create_task({.lane = "cpu", .priority = 5}).task_id;
    const ClaimOptions claim{.worker = "w", .worker_instance = "w1"};
    const auto changed = ONE(change_priority, id, 10000);
    EXPECT_EQ(changed.old_priority, 5);
    EXPECT_EQ(changed.new_priority, 9000);
    ONE(pause_lane, "cpu");
    EXPECT_TRUE(hub_.claim_tasks(claim).empty());
    auto lanes = hub_.lane_depths();
    ASSERT_EQ(lanes.size(), 1u);
    EXPECT_EQ(lanes[0].lane, "cpu");
    EXPECT_TRUE(lanes[0].paused);
    EXPECT_EQ(lanes[0].ready, 1);
    EXPECT_GE(lanes[0].oldest_ready_age_ms.value_or(-1), 0);
    const auto reasons = ONE(explain_claim, id);
    ASSERT_FALSE(reasons.empty());
    EXPECT_EQ(reasons[0].reason, "lane_paused");
    ONE(resume_lane, "cpu");
    ONE(set_lane, "cpu", R"({"policy": {"max_attempts": 9}})");
    const auto task = hub_.claim_tasks(claim);
    ASSERT_EQ(task.size(), 1u);
    EXPECT_TRUE(ONE(list_expired_leases).empty());
    const auto expired = hub_.list_expired_leases(
        {.as_of_ms = task[0].lease_until_ms + 1, .lane = "cpu", .limit = 5});
    ASSERT_EQ(expired.size(), 1u);
    EXPECT_TRUE(task[0].lease_id.starts_with(expired[0].lease_id + ":"));
    EXPECT_TRUE(hub_.list_expired_leases({.as_of_ms = task[0].lease_until_ms + 1,
                                          .after_ms = expired[0].lease_until_ms,
                                          .after_id = expired[0].task_id})
                    .empty());
    EXPECT_EQ(ONE(revoke_lease, id, "why not", {.epoch = 99}).reason, "epoch_moved");
    const auto revoked = hub_.revoke_lease(id, "why not", {.worker_instance = "w1"});
    EXPECT_EQ(revoked.result, "revoked");
    EXPECT_EQ(revoked.lease_id, expired[0].lease_id);
    const auto cancelled = ONE(cancel_task, id, "enough");
    EXPECT_TRUE(cancelled.effective);
    EXPECT_EQ(cancelled.previous_state, "ready");
    EXPECT_FALSE(hub_.cancel_task(id).effective);
    const auto replayed = ONE(replay_task, id);
    EXPECT_EQ(replayed.public_state, "waiting");
    EXPECT_EQ(replayed.replay_count, 1);
    EXPECT_TRUE(replayed.reopened.empty());
    const auto list = ONE(list_tasks, R"({"lane": "cpu", "state": ["ready"]})", {}, 10);
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].task_id, id);
    EXPECT_EQ(list[0].priority, 9000);
    EXPECT_EQ(list[0].pending_attempt, "replay");
    EXPECT_TRUE(hub_.list_tasks("{}", id).empty());
    EXPECT_NE(ONE(get_task, id)->find("\"replay_count\": 1"), std::string::npos);
}

TEST_F(ClientHub, GuardsTasks) {
    connection_.exec("CREATE TABLE IF NOT EXISTS guarded (n int)");
    hub_.create_task({.lane = "cpu"});
    const auto task = hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    connection_.with_transaction([&] {
        ONE(guard_task, fence_of(task));
        connection_.exec("INSERT INTO guarded VALUES (1)");
    });
    try {
        connection_.with_transaction([&] {
            hub_.guard_task(fence_of(task));
            connection_.exec("INSERT INTO guarded VALUES (2)");
            Connection other(options());
            Hub(other, "app").cancel_task(task.task_id);
        });
        ADD_FAILURE() << "the transaction was committed";
    } catch (const Error& error) {
        EXPECT_TRUE(error.lock_lost()) << error.what();
    }
    EXPECT_EQ(connection_.exec("SELECT sum(n) FROM guarded").get<int>(0, 0), 1);
    connection_.exec("DROP TABLE guarded");
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

// TX-14
TEST_F(ClientHub, HasFlows) {
    const auto flow =
        ONE(create_flow, {.kind = "thumbnails",
                          .tags = R"({"tenant": "acme"})",
                          .seal = false,
                          .tasks = {{.key = "a", .task = {.lane = "io"}},
                                    {.key = "b", .task = {.lane = "io"}},
                                    {.key = "c",
                                     .task = {.lane = "img"},
                                     .after = {"a", {"b", "source"}},
                                     .join = FlowJoin::quorum(1, "let_run")},
                                    {.key = "d", .task = {.lane = "img"}, .hold = true}}});
    EXPECT_TRUE(flow.created);
    EXPECT_EQ(flow.state, "open");
    EXPECT_EQ(flow.task_ids.size(), 4u);
    const std::string& id = flow.flow_id;
    const auto added =
        ONE(add_task_to_flow, id, {.key = "e", .task = {.lane = "io"}, .after = {"d"}},
            flow.graph_revision);
    EXPECT_EQ(added.result, "added");
    EXPECT_EQ(added.node_count, 5);
    const auto single = hub_.create_task({.lane = "single"}).task_id;
    EXPECT_EQ(hub_.add_task_to_flow(id, single).result, "added");
    EXPECT_EQ(hub_.add_task_to_flow(id, single).result, "already_member");
    ONE(set_join, id, single, FlowJoin::any_of());
    EXPECT_EQ(ONE(add_edge, id, added.task_id, single, "last").unsatisfied, 1);
    try {
        ONE(seal_flow, id, 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code_detail(), "stale_revision");
    }
    EXPECT_EQ(ONE(seal_flow, id).state, "running");
    const auto task = hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    hub_.complete_task(fence_of(task), "12345678901234567890123");
    const auto upstream = ONE(upstream_results, flow.task_ids.at("c"));
    ASSERT_EQ(upstream.size(), 2u);
    EXPECT_EQ(upstream[1].key, "b");
    EXPECT_EQ(upstream[1].pass_as, "source");
    const auto infos = ONE(list_flows, R"({"kind": "thumbnails"})");
    ASSERT_EQ(infos.size(), 1u);
    EXPECT_EQ(infos[0].member_count, 6);
    EXPECT_EQ(infos[0].tags, R"({"tenant": "acme"})");
    const auto running = hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    const auto cancelled = ONE(cancel_flow, id, {.reason = "wrong"});
    EXPECT_EQ(cancelled.result, "cancelled");
    EXPECT_EQ(cancelled.member_ids.size(), static_cast<std::size_t>(cancelled.member_count));
    EXPECT_EQ(cancelled.member_count, 5);
    const auto again = hub_.cancel_flow(id);
    EXPECT_EQ(again.result, "already_terminal");
    EXPECT_EQ(again.reason, "wrong");
    ONE(ack_cancel_member, id, running.task_id);
    EXPECT_NE(ONE(get_flow, id).value().find("\"backlog\": []"), std::string::npos);
    EXPECT_TRUE(ONE(delete_flow, id));
    EXPECT_FALSE(hub_.get_flow(id));
}

// TX-15
TEST_F(ClientHub, HasSuspensions) {
    hub_.create_task({.lane = "review"});
    const ClaimOptions claim{.worker = "w", .worker_instance = "w1"};
    auto task = hub_.claim_tasks(claim).at(0);
    const auto early = ONE(create_waitpoint, fence_of(task), "early", Milliseconds(60000));
    EXPECT_EQ(ONE(deliver_signal, task.task_id, early.waitpoint_id, early.token,
                  {.name = "done", .payload = "[1]", .source = "ann", .signal_id = "s-1"})
                  .effect,
              "buffered");
    const auto met = ONE(suspend_task, fence_of(task),
                         {.waitpoints = {{.key = "early", .waitpoint_id = early.waitpoint_id}},
                          .condition = Condition::single("early", {"done"})});
    EXPECT_EQ(met.result, "already_satisfied");
    ASSERT_EQ(met.waitpoints.size(), 1u);
    ASSERT_EQ(met.waitpoints[0].signals.size(), 1u);
    EXPECT_EQ(met.waitpoints[0].signals[0].payload, "[1]");
    EXPECT_EQ(met.waitpoints[0].signals[0].source, "ann");
    const auto listed = ONE(list_signals, task.task_id);
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].nr, 1);
    EXPECT_EQ(listed[0].key, "early");
    EXPECT_EQ(listed[0].waitpoint_id, early.waitpoint_id);
    EXPECT_EQ(listed[0].signal_id, "s-1");
    EXPECT_EQ(listed[0].payload, "[1]");
    const auto waiting = hub_.suspend_task(
        fence_of(task), {.waitpoints = {{.key = "x"}, {.key = "y"}},
                         .condition = Condition::all(
                             {Condition::single("x"), Condition::count(1, "signals", {"y"})}),
                         .reason_code = "waiting_for_approval",
                         .idempotency_key = "k"});
    EXPECT_EQ(waiting.result, "suspended");
    ASSERT_EQ(waiting.waitpoints.size(), 2u);
    EXPECT_TRUE(waiting.waitpoints[0].token);
    EXPECT_EQ(ONE(list_waitpoints, task.task_id).size(), 3u);
    for (const auto& waitpoint : waiting.waitpoints) {
        EXPECT_EQ(
            ONE(approve_task, task.task_id, waitpoint.waitpoint_id, "ok", waitpoint.key).result,
            "accepted");
    }
    task = hub_.claim_tasks(claim).at(0);
    EXPECT_EQ(task.attempt_kind, "resume");
    hub_.suspend_task(fence_of(task),
                      {.waitpoints = {{.key = "never"}}, .condition = Condition::operator_only()});
    EXPECT_EQ(ONE(resume_task, task.task_id).state, "ready");
    const std::string secret(32, '\xff');
    EXPECT_NE(ONE(seed_waitpoint_key, "a", secret), "unchanged");
    EXPECT_EQ(hub_.seed_waitpoint_key("a", secret), "unchanged");
    EXPECT_NE(ONE(rotate_waitpoint_key, "b", secret, Milliseconds(1000)), "unchanged");
}

TEST_F(ClientHub, HasSchedules) {
    const auto due = ONE(create_schedule, {.name = "nightly",
                                           .cron = "30 2 * * *",
                                           .task = {.lane = "reports", .kind = "nightly"},
                                           .time_zone = "Europe/Berlin"});
    EXPECT_GT(due, 1'700'000'000'000);
    ONE(pause_schedule, "nightly");
    EXPECT_TRUE(hub_.list_schedules().at(0).paused);
    EXPECT_EQ(ONE(resume_schedule, "nightly"), due);
    const auto schedules = ONE(list_schedules);
    ASSERT_EQ(schedules.size(), 1u);
    EXPECT_EQ(schedules[0].next_due_ms, due);
    EXPECT_EQ(schedules[0].time_zone, "Europe/Berlin");
    EXPECT_NE(schedules[0].task.find("reports"), std::string::npos);
    ONE(drop_schedule, "nightly");
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

// TX-1. The last test of its suite: the others have called everything. A function that comes to a
// hub fails it until it has a typed call and a test.
TEST_F(ClientHub, HasACallForEveryFunction) {
    const auto* suite = testing::UnitTest::GetInstance()->current_test_suite();
    if (suite->test_to_run_count() < suite->total_test_count()) {
        GTEST_SKIP() << "not all tests of the suite ran";
    }
    // Behind views, for superusers at a terminal, and for tests of the server; not for
    // applications.
    const std::set<std::string> internal = {
        "call_handler",  "event_horizon_pid", "faults",          "hub_mark_in",     "hub_mark_out",
        "hub_mark_recv", "hub_mark_send",     "hub_option_rows", "hub_rows",        "inject_fault",
        "instance_key",  "quarantined_hubs",  "random_int8",     "receive_intents", "run_as_owner",
        "shared_memory", "stat_queues",       "turn_token",      "task_is_sound",   "validator",
        "work_token",    "worker_rows"};
    int count = 0;
    for (const char* schema : {"app", "belay"}) {
        for (const auto& function : functions_of(schema)) {
            ++count;
            EXPECT_TRUE(called_.contains(function) || internal.contains(function))
                << "no typed call of " << schema << "." << function << " was tested";
        }
    }
    EXPECT_GT(count, 60);
}

// A hub whose calls lose their answers: the backend dies when the call has happened.
class ClientAck : public testing::Test {
 protected:
    void SetUp() override {
        watcher_.exec("CREATE EXTENSION belay");
        watcher_.exec("SELECT belay.create_hub('app')");
    }

    // Runs a call whose first run is done and not answered. What it does next is no longer kept
    // from an answer: the new session has the usual setting.
    template <typename Call>
    auto unanswered(Call call) {
        connection_.exec("SET synchronous_commit = on");
        const std::string pid = std::to_string(connection_.backend_pid());
        const std::jthread killer([&, pid] {
            wait_until([&] {
                return watcher_.value("SELECT count(*) FROM pg_stat_activity WHERE pid = " + pid +
                                      " AND wait_event = 'SyncRep'") == "1";
            });
            watcher_.exec("SELECT pg_terminate_backend(" + pid + ")");
        });
        return call();
    }

    // As unanswered(), of a call that cannot say whether it has taken effect.
    template <typename Call>
    void expect_unknown(Call call) {
        try {
            unanswered(call);
            ADD_FAILURE() << "the call was answered";
        } catch (const Error& error) {
            EXPECT_TRUE(error.outcome_unknown()) << error.what();
            EXPECT_FALSE(error.lock_lost());
        }
    }

    ClaimedTask claimed() {
        hub_.create_task({.lane = "cpu"});
        return hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    }

    std::string state_of(const ClaimedTask& task) {
        return connection_
            .exec("SELECT state FROM app.task_states WHERE task_id = $1", {Uuid{task.task_id}})
            .get<std::string>(0, 0);
    }

    // A session that asks for it waits after its commit for a standby that does not exist.
    Cluster cluster_{
        {.preload = true,
         .conf = {"synchronous_standby_names = 'nobody'", "synchronous_commit = local"}}};
    Conn watcher_ = cluster_.connect();
    Connection connection_{{.conninfo = cluster_.conninfo()}};
    Hub hub_{connection_, "app"};
};

// The ack is repeated, and what it then finds is not called a lost lease.
TEST_F(ClientAck, WithoutAnAnswerIsUnknown) {
    hub_.enqueue_worker_work({.work_item = kItem});
    const auto item = hub_.fetch_work_item({});
    ASSERT_TRUE(item);
    expect_unknown([&] { hub_.ack_worker({.lock_token = item->lock_token}); });
    EXPECT_TRUE(hub_.list_work_items().empty());
}

// TX-2: so are the calls that end the lease of a task; but a completion knows its own.
TEST_F(ClientAck, OfATaskIsRepeatedWithItsEpoch) {
    auto task = claimed();
    EXPECT_EQ(unanswered([&] { return hub_.complete_task(fence_of(task)); }).result,
              "already_completed");
    task = claimed();
    hub_.create_task({.lane = "cpu"});
    const auto next = unanswered([&] {
        return hub_.complete_and_claim(fence_of(task), {},
                                       {.worker = "w", .worker_instance = "w1"});
    });
    EXPECT_EQ(state_of(task), "completed");
    // What the first run has claimed, nobody has heard of: its lease lapses.
    EXPECT_TRUE(next.empty());
    task = claimed();
    expect_unknown([&] { hub_.fail_task(fence_of(task), {.failure_class = "permanent"}); });
    EXPECT_EQ(state_of(task), "failed");
    task = claimed();
    expect_unknown([&] { hub_.delay_task(fence_of(task), Milliseconds(60000)); });
    EXPECT_EQ(state_of(task), "delayed");
    // Given back is given back.
    task = claimed();
    EXPECT_FALSE(unanswered([&] { return hub_.release_task(fence_of(task)); }));
    EXPECT_EQ(state_of(task), "ready");
}

// TX-3
TEST_F(ClientAck, CreatesATaskOnceIfItHasAName) {
    const std::string id = "0190c2a4-0000-7000-8000-000000000001";
    EXPECT_FALSE(
        unanswered([&] { return hub_.create_task({.lane = "cpu", .task_id = id}); }).created);
    const auto keyed = unanswered([&] {
        return hub_.create_tasks(
            {{.lane = "cpu", .dedup_key = "a"}, {.lane = "cpu", .dedup_key = "b"}});
    });
    ASSERT_EQ(keyed.size(), 2u);
    expect_unknown([&] { hub_.create_task({.lane = "cpu"}); });
    expect_unknown([&] {
        hub_.create_tasks({{.lane = "cpu", .dedup_key = "a"},
                           {.lane = "cpu", .dedup_key = "c", .dedup_window = Milliseconds(0)}});
    });
    EXPECT_EQ(hub_.list_tasks().size(), 5u);
}

// TX-14: a flow with an id is created once, a cancel finds what it has done; growth is not
// repeated.
TEST_F(ClientAck, OfAFlowIsRepeatedOnlyIfThatIsSafe) {
    const std::string id = "0190c2a4-0000-7000-8000-000000000001";
    const NewFlow flow{
        .flow_id = id, .seal = false, .tasks = {{.key = "a", .task = {.lane = "l"}}}};
    const auto created = unanswered([&] { return hub_.create_flow(flow); });
    EXPECT_FALSE(created.created);
    EXPECT_EQ(created.task_ids.size(), 1u);
    expect_unknown([&] { hub_.create_flow({.kind = "other"}); });
    EXPECT_EQ(hub_.list_flows().size(), 2u);
    expect_unknown([&] { hub_.add_task_to_flow(id, {.key = "b", .task = {.lane = "l"}}); });
    const auto single = hub_.create_task({.lane = "l"}).task_id;
    EXPECT_EQ(unanswered([&] { return hub_.add_task_to_flow(id, single); }).result,
              "already_member");
    expect_unknown([&] { hub_.seal_flow(id); });
    EXPECT_EQ(unanswered([&] { return hub_.cancel_flow(id); }).result, "already_terminal");
}

// TX-15
TEST_F(ClientAck, OfASignalIsRepeatedIfItHasAName) {
    const auto task = claimed();
    const auto waiting =
        unanswered([&] {
            return hub_.suspend_task(fence_of(task), {.waitpoints = {{.key = "x"}},
                                                      .condition = Condition::operator_only(),
                                                      .idempotency_key = "k"});
        }).waitpoints.at(0);
    EXPECT_EQ(unanswered([&] {
                  return hub_.deliver_signal(task.task_id, waiting.waitpoint_id,
                                             waiting.token.value(),
                                             {.name = "go", .signal_id = "1"});
              }).result,
              "duplicate");
    expect_unknown([&] {
        hub_.deliver_signal(task.task_id, waiting.waitpoint_id, waiting.token.value(),
                            {.name = "go"});
    });
    expect_unknown([&] { hub_.resume_task(task.task_id); });
    const auto other = hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    expect_unknown([&] {
        hub_.suspend_task(fence_of(other),
                          {.waitpoints = {{.key = "y"}}, .condition = Condition::operator_only()});
    });
}

// TX-4: a cancel may be repeated; a revocation only if it says of which lease.
TEST_F(ClientAck, OfAnOperatorDoesNotMeetTheNextLease) {
    auto task = claimed();
    EXPECT_EQ(unanswered([&] { return hub_.revoke_lease(task.task_id, "", {.epoch = 1}); }).result,
              "already_satisfied");
    expect_unknown([&] { hub_.change_priority(task.task_id, 5); });
    task = hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    expect_unknown([&] { hub_.revoke_lease(task.task_id); });
    EXPECT_EQ(unanswered([&] { return hub_.cancel_task(task.task_id); }).result, "cancelled");
    expect_unknown([&] { hub_.replay_task(task.task_id); });
    task = hub_.claim_tasks({.worker = "w", .worker_instance = "w1"}).at(0);
    expect_unknown([&] { hub_.complete_task({task.task_id}, {}, kOperatorOverride); });
    EXPECT_EQ(state_of(task), "completed");
}

}  // namespace
}  // namespace belay::test
