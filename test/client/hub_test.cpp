// Every typed call of a hub and of schema belay, on a real server: what it returns, and that it is
// one round trip.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "belay/admin.hpp"
#include "belay/events.hpp"
#include "belay/flows.hpp"
#include "belay/orchestrations.hpp"
#include "belay/provider.hpp"
#include "belay/queue.hpp"
#include "belay/schedules.hpp"
#include "belay/suspensions.hpp"
#include "belay/tasks.hpp"
#include "server.hpp"
#include "task_calls.hpp"

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
#define ONE(function, ...) one(#function, [&] { return __VA_ARGS__; })

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
    ONE(enqueue_worker_work,
        hub_.provider().enqueue_worker_work({.work_item = kItem, .tag = "gpu"}));
    EXPECT_EQ(ONE(enqueue_worker_items, hub_.provider().enqueue_worker_items(
                                            {{.work_item = kItem, .instance_id = "b"},
                                             {.work_item = kItem, .delay = Milliseconds(3'600'000)},
                                             {.work_item = kItem},
                                             {.work_item = kItem, .session_id = "s"}})),
              4);
    const FetchOptions any{.owner_id = "me", .tag_mode = TagMode::kAny, .max_items = 10};
    const auto first = ONE(fetch_work_item, hub_.provider().fetch_work_item(any));
    ASSERT_TRUE(first);
    EXPECT_EQ(first->work_item, kItem);
    EXPECT_EQ(first->attempt, 1);
    const auto rest = ONE(fetch_work_items, hub_.provider().fetch_work_items(any));
    ASSERT_EQ(rest.size(), 3u);
    EXPECT_FALSE(ONE(fetch_work_item,
                     hub_.provider().fetch_work_item({.tag_filter = std::vector<std::string>{"gpu"},
                                                      .tag_mode = TagMode::kTags,
                                                      .slots = std::vector<std::int32_t>{0}})));

    ONE(renew_work_item_lock,
        hub_.provider().renew_work_item_lock(first->lock_token, Milliseconds(60000)));
    const auto renewals =
        ONE(renew_work_item_locks, hub_.provider().renew_work_item_locks(
                                       {first->lock_token, "no token"}, Milliseconds(60000)));
    ASSERT_EQ(renewals.size(), 2u);
    EXPECT_TRUE(renewals[0].renewed);
    EXPECT_TRUE(renewals[0].locked_until);
    EXPECT_EQ(renewals[1].error, "QB001");
    EXPECT_EQ(ONE(renew_session_lock, hub_.provider().renew_session_lock(
                                          {"me"}, Milliseconds(60000), Milliseconds(60000))),
              1);
    EXPECT_EQ(ONE(cleanup_orphaned_sessions, hub_.provider().cleanup_orphaned_sessions()), 0);

    const auto page =
        ONE(list_work_items, hub_.provider().list_work_items({{"state", "leased"}}, {}, 2));
    ASSERT_EQ(page.size(), 2u);
    EXPECT_EQ(page[0].locked_by, "me");
    EXPECT_GT(page[0].created_at.value(), from_ms(1'700'000'000'000));
    EXPECT_EQ(
        ONE(list_work_items, hub_.provider().list_work_items({{"state", "leased"}}, page[1].cursor))
            .size(),
        2u);

    ONE(ack_worker,
        hub_.provider().ack_worker(
            {.lock_token = first->lock_token, .instance_id = "i", .completion = kDone}));
    ONE(abandon_work_item, hub_.provider().abandon_work_item(rest[0].lock_token, {}, true));
    const auto settled =
        ONE(settle_and_fetch_work_items,
            hub_.provider().settle_and_fetch_work_items(
                {{.lock_token = "no token"},
                 {.lock_token = rest[1].lock_token,
                  .abandon = true,
                  .ignore_attempt = true,
                  .reason = "later"}},
                {.owner_id = "me", .tag_mode = TagMode::kAny, .max_items = 0}, {.most = 10}));
    ASSERT_EQ(settled.outcomes.size(), 2u);
    EXPECT_EQ(settled.outcomes[0].error, "QB001");
    EXPECT_FALSE(settled.outcomes[0].outcome_unknown);
    EXPECT_FALSE(settled.outcomes[1].error);
    EXPECT_EQ(settled.items.size(), 2u);
    const auto next =
        ONE(ack_and_fetch_work_item, hub_.provider().ack_and_fetch_work_item(
                                         {.lock_token = settled.items.at(0).lock_token}, any));
    EXPECT_FALSE(next);
    const auto acks =
        ONE(ack_workers,
            hub_.provider().ack_workers({{.lock_token = rest[2].lock_token}, {.lock_token = "x"}}));
    ASSERT_EQ(acks.size(), 2u);
    EXPECT_TRUE(acks[0].acked);
    EXPECT_FALSE(acks[1].acked);
    EXPECT_FALSE(acks[1].outcome_unknown);
    EXPECT_EQ(acks[1].error, "QB001");
    EXPECT_GE(ONE(cancel_activities, hub_.provider().cancel_activities(
                                         {{.instance = "i", .execution_id = 1, .activity_id = 1}})),
              1);
}

TEST_F(ClientHub, HasDeadLetters) {
    admin_.set_hub_option("app", "max_attempts", "1");
    for (int i = 0; i < 3; ++i) {
        hub_.provider().enqueue_worker_work({.work_item = kItem});
    }
    for (int i = 0; i < 3; ++i) {
        hub_.provider().abandon_work_item(hub_.provider().fetch_work_item({})->lock_token);
    }
    EXPECT_FALSE(hub_.provider().fetch_work_item({}));
    const auto letters =
        ONE(list_dead_letters, hub_.dead_letters().list({.queue = DeadLetterQueue::kWorker}));
    ASSERT_EQ(letters.size(), 3u);
    EXPECT_EQ(letters[0].attempt, 1);
    EXPECT_EQ(letters[0].queue, DeadLetterQueue::kWorker);
    EXPECT_EQ(letters[0].reason, DeadLetterReason::kMaxAttempts);
    EXPECT_GT(ONE(redrive_dead_letter, hub_.dead_letters().redrive(letters[0].id)), 0);
    ONE(discard_dead_letter, hub_.dead_letters().discard(letters[1].id));
    const auto redriven =
        ONE(redrive_dead_letters, hub_.dead_letters().redrive_matching({{"queue", "worker"}}));
    EXPECT_EQ(redriven.done, 1);
    EXPECT_EQ(redriven.skipped, 0);
    EXPECT_TRUE(redriven.failed.empty());
    try {
        hub_.dead_letters().discard(letters[1].id);
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.not_found());
    }
}

TEST_F(ClientHub, HasOrchestrations) {
    const std::string id = ONE(start_orchestration, hub_.orchestrations().start_text(
                                                        "Bill", R"({"order": 9})",
                                                        {.instance_id = "o", .version = "1.0.0"}));
    EXPECT_EQ(id, "o");
    ONE(raise_event, hub_.orchestrations().raise_text("o", "approved", "by Ada"));
    ONE(cancel_instance, hub_.orchestrations().cancel("o", "why not"));
    const std::string message = R"({"ExternalRaised":{"instance":"o","name":"e","data":"d"}})";
    ONE(enqueue_orchestrator_work,
        hub_.provider().enqueue_orchestrator_work({.work_item = message, .instance_id = "o"}));
    EXPECT_EQ(
        ONE(enqueue_orchestrator_items, hub_.provider().enqueue_orchestrator_items(
                                            {{.work_item = message}, {.work_item = message}})),
        2);

    auto turn = ONE(fetch_orchestration_item, hub_.provider().fetch_orchestration_item({}));
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->instance_id, "o");
    EXPECT_EQ(turn->orchestration_name, "Bill");
    ONE(renew_orchestration_item_lock,
        hub_.provider().renew_orchestration_item_lock(turn->lock_token, Milliseconds(60000)));
    EXPECT_EQ(ONE(abandon_orchestration_item,
                  hub_.provider().abandon_orchestration_item(turn->lock_token, {}, true)),
              "o");
    turn = hub_.provider().fetch_orchestration_item({});
    ASSERT_TRUE(turn);
    ONE(ack_orchestration_item,
        hub_.provider().ack_orchestration_item(
            turn->lock_token,
            {.execution_id = 1,
             .history_delta = {{.event_id = 1,
                                .event_data =
                                    R"({"type": "OrchestrationStarted", "name": "Bill"})"}},
             .worker_items = {R"({"ActivityExecute":{"instance":"o","execution_id":1,"id":2}})"},
             .orchestrator_items = {},
             .metadata = R"({"orchestration_name": "Bill", "orchestration_version": "1.0.0",
                         "custom_status_action": "set", "custom_status_value": "busy",
                         "kv_mutations": [{"action": "set", "key": "k", "value": "v",
                                           "last_updated_at_ms": 1}]})",
             .cancelled_activities = {{.instance = "o", .execution_id = 1, .activity_id = 2}}}));
    EXPECT_FALSE(hub_.provider().fetch_work_item({}));

    EXPECT_EQ(ONE(fetch_history, hub_.provider().fetch_history("o")).size(), 1u);
    EXPECT_EQ(
        ONE(fetch_history_with_execution, hub_.provider().fetch_history_with_execution("o", 1))
            .size(),
        1u);
    // AT-1, AT-8: an ack that says what is cached, a refused one, and the turn that follows.
    hub_.orchestrations().raise_text("o", "more", "");
    const TurnOptions cached{.cache_owner = "me", .names = std::vector<std::string>{"Bill"}};
    auto turns = ONE(ack_and_fetch_turns, hub_.provider().ack_and_fetch_turns({}, cached)).turns;
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_EQ(turns[0].history_after, 0);
    EXPECT_EQ(turns[0].last_event_id, 1);
    EXPECT_TRUE(turns[0].locked_until);
    const Decision good{.execution_id = 1,
                        .orchestrator_items = {message},
                        .metadata = R"({"cache": {"owner": "me", "events": 1}})"};
    const Decision bad{.execution_id = 1, .metadata = R"({"status": "Sleeping"})"};
    const std::string token = turns[0].lock_token;
    const auto acked =
        hub_.provider().ack_and_fetch_turns({{token, bad}, {token, good}, {token, good}}, cached);
    ASSERT_EQ(acked.acks.size(), 3u);
    EXPECT_EQ(acked.acks[0].error, "QB006");
    EXPECT_EQ(acked.acks[0].reason, "bad_value");
    EXPECT_EQ(acked.acks[0].message, "p_metadata.status is not a status");
    EXPECT_FALSE(acked.acks[1].error);
    EXPECT_EQ(acked.acks[2].error, "QB001");
    EXPECT_FALSE(acked.acks[2].outcome_unknown);
    ASSERT_EQ(acked.turns.size(), 1u);
    EXPECT_EQ(acked.turns[0].history, "[]");
    EXPECT_EQ(acked.turns[0].history_after, 1);
    const Decision nothing{.execution_id = 1};
    EXPECT_TRUE(hub_.provider()
                    .ack_and_fetch_turns({{acked.turns[0].lock_token, nothing}}, {.max_turns = 0})
                    .turns.empty());
    ONE(append_history, hub_.provider().append_history(
                            "o", 1, {{.event_id = 2, .event_data = R"({"type": "Noted"})"}}));
    const auto events = ONE(read_history, hub_.orchestrations().history("o", 1, 1));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].event_type, "Noted");
    const auto status = ONE(get_custom_status, hub_.orchestrations().custom_status("o"));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->value, "busy");
    EXPECT_FALSE(hub_.orchestrations().custom_status("o", status->version));
    EXPECT_EQ(ONE(get_kv_value, hub_.orchestrations().value("o", "k")), "v");
    EXPECT_EQ(hub_.orchestrations().value("o", "l"), std::nullopt);
    EXPECT_EQ(ONE(get_kv_all_values, hub_.orchestrations().values("o")).size(), 1u);

    EXPECT_EQ(ONE(list_instances, hub_.orchestrations().list_ids({.name = "Bill"})),
              std::vector<std::string>{"o"});
    const auto infos =
        ONE(list_instance_infos, hub_.orchestrations().list({.status = InstanceStatus::kRunning}));
    ASSERT_EQ(infos.size(), 1u);
    EXPECT_EQ(infos[0].orchestration_name, "Bill");
    EXPECT_EQ(ONE(list_executions, hub_.orchestrations().executions("o")),
              std::vector<std::int64_t>{1});
    EXPECT_EQ(ONE(latest_execution_id, hub_.orchestrations().latest_execution("o")), 1);
    const auto info = ONE(get_instance_info, hub_.orchestrations().get("o"));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->status, InstanceStatus::kRunning);
    const auto execution = ONE(get_execution_info, hub_.orchestrations().execution("o", 1));
    ASSERT_TRUE(execution);
    EXPECT_EQ(execution->event_count, 2);
    EXPECT_EQ(ONE(get_instance_stats, hub_.orchestrations().stats("o"))->kv_user_key_count, 1);
    EXPECT_FALSE(hub_.orchestrations().stats("nobody"));
    EXPECT_EQ(ONE(get_system_metrics, hub_.maintenance().metrics()).total_instances, 1);
    EXPECT_EQ(ONE(get_queue_depths, hub_.maintenance().depths()).orchestrator_queue, 0);
    EXPECT_TRUE(ONE(list_children, hub_.orchestrations().children("o")).empty());
    EXPECT_EQ(ONE(get_parent_id, hub_.orchestrations().parent("o")), std::nullopt);
    EXPECT_EQ(ONE(get_instance_tree, hub_.orchestrations().tree("o")).size(), 1u);
    EXPECT_EQ(ONE(explain_work_item, hub_.provider().explain_work_item(-1)).at(0).reason,
              FetchCase::kNotFound);
    EXPECT_TRUE(hub_.orchestrations().pending_starts("o").empty());
    EXPECT_EQ(ONE(explain_fetch, hub_.orchestrations().explain("o")).at(0).reason,
              FetchCase::kNoMessages);
    EXPECT_EQ(ONE(prune_executions, hub_.orchestrations().prune("o", 1)).executions_deleted, 0);
    EXPECT_EQ(ONE(prune_executions_bulk, hub_.orchestrations().prune_matching(
                                             {{"instance_ids", {"o"}}}, {{"keep_last", 1}}))
                  .executions_deleted,
              0);
    EXPECT_EQ(ONE(delete_instances_bulk,
                  hub_.orchestrations().remove_matching({{"instance_ids", {"nobody"}}}))
                  .instances,
              0);
    EXPECT_EQ(ONE(delete_instance, hub_.orchestrations().remove("o", true)).instances, 1);
    EXPECT_EQ(
        ONE(delete_instances_atomic, hub_.orchestrations().remove_all({"nobody"}, true)).instances,
        0);
    EXPECT_FALSE(ONE(reconcile, hub_.maintenance().reconcile()).empty());
}

TEST_F(ClientHub, CreatesTasks) {
    const Uuid id("0190c2a4-0000-7000-8000-00000000000A");
    const auto created =
        ONE(create_task, hub_.tasks().create({.queue = "cpu",
                                              .payload = {{"n", 12345678901234567u}},
                                              .id = id,
                                              .kind = "resize",
                                              .priority = 7,
                                              .capabilities = {"gpu"},
                                              .policy = TaskPolicy{.max_attempts = 2},
                                              .headers = {{{"tenant", "acme"}}}}));
    EXPECT_EQ(created.state, TaskState::kReady);
    EXPECT_TRUE(created.created);
    EXPECT_EQ(created.id.text(), "0190c2a4-0000-7000-8000-00000000000a");
    EXPECT_FALSE(hub_.tasks().create({.queue = "cpu", .id = id}).created);
    const auto many =
        ONE(create_tasks, hub_.tasks().create_many({{.queue = "io", .payload = 1234567890123456789},
                                                    {.queue = "io", .delay = Milliseconds(60000)},
                                                    {.queue = "io", .key = "k"},
                                                    {.queue = "io",
                                                     .policy = TaskPolicy{.max_attempts = 1},
                                                     .key = "k",
                                                     .key_window = Milliseconds(1000),
                                                     .headers = {{{"a", "b"}}}}}));
    ASSERT_EQ(many.size(), 4u);
    EXPECT_EQ(many[0].state, TaskState::kReady);
    EXPECT_EQ(many[1].state, TaskState::kDelayed);
    EXPECT_EQ(many[3].id, many[2].id);
    EXPECT_FALSE(many[3].created);
    // Numbers come through as they are.
    const auto task =
        TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1", .queues = {{"io"}}});
    ASSERT_EQ(task.size(), 1u);
    EXPECT_EQ(task[0].payload, "1234567890123456789");
    EXPECT_THROW(Uuid("no uuid"), Error);
    EXPECT_EQ(hub_.tasks().get(Uuid("0190c2a4-0000-7000-8000-0000000000ff")), std::nullopt);
}

// TX-24
TEST_F(ClientHub, CountsDeadlinesFromTheServersNow) {
    const NewTask task{.queue = "cpu", .deadline_in = Milliseconds(60000)};
    const Uuid single = ONE(create_task, hub_.tasks().create(task)).id;
    const Uuid many = hub_.tasks().create_many({task}).at(0).id;
    const Uuid member =
        hub_.flows().create({.tasks = {{.key = "a", .task = task}}}).task_ids.at("a");
    for (const auto& id : {single, many, member}) {
        const auto found = hub_.tasks().get(id).value();
        EXPECT_EQ(
            found["deadline_ms"].get<std::int64_t>() - found["created_at_ms"].get<std::int64_t>(),
            60000);
    }
    try {
        hub_.tasks().create({.queue = "cpu", .deadline_in = Milliseconds(0)});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "QB006");
    }
    // The earlier of the two.
    const Uuid both = hub_.tasks()
                          .create({.queue = "cpu",
                                   .deadline = from_ms(99999999999999),
                                   .deadline_in = Milliseconds(1000)})
                          .id;
    EXPECT_LT(hub_.tasks().get(both).value()["deadline_ms"], 99999999999999);
    // A suspension.
    const auto claimed = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    TaskCalls(hub_).suspend(fence_of(claimed), {.waitpoints = {{"x"}},
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
                            .retryable = {{FailureClass::kTransient, FailureClass::kTimeout}},
                            .attempt_timeout = seconds(5),
                            .on_lease_expiry = OnLeaseExpiry::kRetry,
                            .max_reclaims = 3,
                            .max_replays = 2,
                            .max_signals = 9};
    const auto expected = Json::parse(
        R"({"max_attempts": 7, "retryable": ["transient", "timeout"], "attempt_timeout_ms": 5000,
            "on_lease_expiry": "retry", "max_reclaims": 3, "max_replays": 2, "max_signals": 9,
            "backoff": {"kind": "exponential", "initial_ms": 1000, "max_ms": 30000,
                        "multiplier": 3.0, "jitter": 0.5}})");
    const auto id = hub_.tasks().create({.queue = "cpu", .policy = policy}).id;
    EXPECT_EQ(hub_.tasks().get(id).value()["policy"], expected);
    hub_.queues()["cpu"].set({.policy = policy,
                              .retention = seconds(60),
                              .concurrency = 3,
                              .rate_per_s = 2.5,
                              .burst = 4});
    const Result queue = connection_.exec(
        "SELECT l.policy::text, l.retention_ms, d.concurrency, d.rate_per_s FROM app.queues l JOIN "
        "app.queue_depths d ON d.queue = l.name WHERE l.name = 'cpu'");
    EXPECT_EQ(Json::parse(queue.get<std::string>(0, 0)), expected);
    EXPECT_EQ(queue.get<int>(0, 1), 60000);
    EXPECT_EQ(queue.get<int>(0, 2), 3);
    EXPECT_EQ(queue.get<double>(0, 3), 2.5);
    hub_.queues()["cpu"].set_json({{"concurrency", nullptr}});
    EXPECT_TRUE(connection_.exec("SELECT concurrency FROM app.queue_depths WHERE queue = 'cpu'")
                    .is_null(0, 0));
}

TEST_F(ClientHub, WorksOnTasks) {
    const ClaimOptions claim{.worker = "resizer",
                             .worker_instance = "resizer-1",
                             .queues = {{"cpu", "io"}},
                             .capabilities = {"gpu"},
                             .lease = Milliseconds(60000),
                             .max_tasks = 10};
    ClaimOptions one_more = claim;
    one_more.max_tasks = 1;
    for (int i = 0; i < 6; ++i) {
        hub_.tasks().create({.queue = "cpu",
                             .payload = i,
                             .kind = "k",
                             .priority = 10 - i,
                             .capabilities = {"gpu"},
                             .policy = TaskPolicy{.backoff = Backoff::fixed(Milliseconds(0))},
                             .headers = {{{"a", "b"}}}});
    }
    auto tasks = ONE(claim_tasks, TaskCalls(hub_).claim(claim));
    ASSERT_EQ(tasks.size(), 6u);
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(tasks[static_cast<std::size_t>(i)].payload, std::to_string(i));
    }
    EXPECT_EQ(tasks[0].queue, "cpu");
    EXPECT_EQ(tasks[0].kind, "k");
    EXPECT_EQ(tasks[0].headers, R"({"a": "b"})");
    EXPECT_EQ(tasks[0].priority, 10);
    EXPECT_EQ(tasks[0].attempt, 1);
    EXPECT_EQ(tasks[0].attempt_kind, "initial");
    EXPECT_GT(tasks[0].lease_until, from_ms(1'700'000'000'000));
    EXPECT_TRUE(tasks[0].lease_id.starts_with("belay:" + tasks[0].id.text() +
                                              ":1:" + std::to_string(tasks[0].epoch) + ":1:"));
    EXPECT_EQ(tasks[0].flow_id, std::nullopt);

    EXPECT_GT(ONE(renew_task, TaskCalls(hub_).extend(fence_of(tasks[0]), Milliseconds(90000)))
                  .lease_until,
              tasks[0].lease_until);
    const auto renewals =
        ONE(renew_tasks,
            TaskCalls(hub_).extend_many({fence_of(tasks[0]), {.id = tasks[1].id, .epoch = 99}},
                                        Milliseconds(60000)));
    ASSERT_EQ(renewals.size(), 2u);
    for (const auto& renewal : renewals) {
        const bool first = renewal.id == tasks[0].id;
        EXPECT_EQ(renewal.extended, first);
        EXPECT_EQ(renewal.reason, first ? std::nullopt : OptionalText("stale_epoch"));
    }
    EXPECT_GT(
        ONE(progress_task, TaskCalls(hub_).progress(
                               fence_of(tasks[0]),
                               {.percent = 12.5, .message = "half", .checkpoint = R"({"at": 3})"})),
        from_ms(0));
    EXPECT_EQ(hub_.tasks().status(tasks[0].id)->percent, 12.5);

    EXPECT_TRUE(
        ONE(complete_task, TaskCalls(hub_).complete(fence_of(tasks[0]), R"({"ok": true})")));
    // TW-3: only a repetition of the library's own is taken as done.
    for (const bool claims : {false, true}) {
        try {
            if (claims) {
                TaskCalls(hub_).complete_and_claim(fence_of(tasks[0]), {}, one_more);
            } else {
                TaskCalls(hub_).complete(fence_of(tasks[0]));
            }
            ADD_FAILURE() << "it was completed twice";
        } catch (const Error& error) {
            EXPECT_TRUE(error.lock_lost());
            EXPECT_FALSE(error.outcome_unknown());
            EXPECT_EQ(error.code_detail(), "already_completed");
        }
    }
    const auto settled = ONE(
        settle_and_claim_tasks,
        TaskCalls(hub_).settle_and_claim({{.fence = fence_of(tasks[0]), .result = "1"}},
                                         {.worker = "w", .worker_instance = "w1", .max_tasks = 0}));
    ASSERT_EQ(settled.outcomes.size(), 1u);
    EXPECT_EQ(settled.outcomes[0].error, "QB001");
    EXPECT_EQ(settled.outcomes[0].reason, "already_completed");
    EXPECT_FALSE(settled.outcomes[0].outcome_unknown);
    EXPECT_TRUE(ONE(complete_and_claim,
                    TaskCalls(hub_).complete_and_claim(fence_of(tasks[1]), {}, one_more))
                    .empty());
    const auto failed =
        ONE(fail_task, TaskCalls(hub_).fail(fence_of(tasks[2]),
                                            {.message = "no luck", .details = {{{"code", 5}}}}));
    EXPECT_EQ(failed.result, "retry_scheduled");
    EXPECT_EQ(failed.next_attempt, 2);
    const auto again = ONE(claim_tasks, TaskCalls(hub_).claim(one_more));
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0].attempt_kind, "retry");
    EXPECT_NE(again[0].last_failure->find("no luck"), std::string::npos);
    EXPECT_EQ(TaskCalls(hub_)
                  .fail(fence_of(again[0]), {.failure_class = FailureClass::kPermanent})
                  .result,
              "terminal_failed");
    const auto delayed = ONE(
        delay_task, TaskCalls(hub_).delay(fence_of(tasks[3]), Milliseconds(60000), R"({"at": 4})"));
    EXPECT_EQ(delayed.state, TaskState::kDelayed);
    EXPECT_TRUE(delayed.available_at);
    const auto released = ONE(release_task, TaskCalls(hub_).release(fence_of(tasks[4])));
    ASSERT_TRUE(released);
    EXPECT_EQ(released->state, TaskState::kReady);
    // Of an operator, without an epoch.
    EXPECT_TRUE(TaskCalls(hub_).complete({tasks[5].id}, {}, kOperatorOverride));
    for (const char* call : {"renew", "complete", "fail", "delay", "release"}) {
        try {
            const std::string name = call;
            const auto fence = fence_of(tasks[2]);
            name == "renew"      ? (void)TaskCalls(hub_).extend(fence, Milliseconds(1))
            : name == "complete" ? (void)TaskCalls(hub_).complete(fence)
            : name == "fail"     ? (void)TaskCalls(hub_).fail(fence, {})
            : name == "delay"    ? (void)TaskCalls(hub_).delay(fence, Milliseconds(1))
                                 : (void)TaskCalls(hub_).release(fence);
            FAIL() << call;
        } catch (const Error& error) {
            EXPECT_TRUE(error.lock_lost()) << call << error.what();
            EXPECT_EQ(error.sqlstate(), "QB012");
        }
    }
    EXPECT_TRUE(ONE(check_tasks, hub_.tasks().check()).empty());
    EXPECT_TRUE(ONE(delete_task, hub_.tasks().remove(tasks[0].id)));
    EXPECT_FALSE(hub_.tasks().remove(tasks[0].id));
}

TEST_F(ClientHub, SteersTasks) {
    const auto id = hub_.tasks().create({.queue = "cpu", .priority = 5}).id;
    const ClaimOptions claim{.worker = "w", .worker_instance = "w1"};
    const auto changed = ONE(change_priority, hub_.tasks().change_priority(id, 10000));
    EXPECT_EQ(changed.old_priority, 5);
    EXPECT_EQ(changed.new_priority, 9000);
    ONE(pause_queue, hub_.queues()["cpu"].pause());
    EXPECT_TRUE(TaskCalls(hub_).claim(claim).empty());
    auto queues = hub_.queues().depths();
    ASSERT_EQ(queues.size(), 1u);
    EXPECT_EQ(queues[0].queue, "cpu");
    EXPECT_TRUE(queues[0].paused);
    EXPECT_EQ(queues[0].ready, 1);
    EXPECT_GE(queues[0].oldest_ready_age.value_or(Milliseconds(-1)), Milliseconds(0));
    const auto reasons = ONE(explain_claim, hub_.tasks().explain(id));
    ASSERT_FALSE(reasons.empty());
    EXPECT_EQ(reasons[0].reason, ClaimCase::kQueuePaused);
    ONE(resume_queue, hub_.queues()["cpu"].resume());
    ONE(set_queue, hub_.queues()["cpu"].set_json({{"policy", {{"max_attempts", 9}}}}));
    const auto task = TaskCalls(hub_).claim(claim);
    ASSERT_EQ(task.size(), 1u);
    const auto owners = ONE(list_owners, hub_.maintenance().owners());
    ASSERT_EQ(owners.size(), 1u);
    EXPECT_EQ(owners[0].owner_id, "w1");
    EXPECT_EQ(owners[0].live, 1);
    EXPECT_TRUE(ONE(list_expired_leases, hub_.tasks().expired_leases()).empty());
    const auto expired = hub_.tasks().expired_leases(
        {.as_of = task[0].lease_until + Milliseconds(1), .queue = "cpu", .limit = 5});
    ASSERT_EQ(expired.size(), 1u);
    EXPECT_TRUE(task[0].lease_id.starts_with(expired[0].lease_id + ":"));
    EXPECT_TRUE(hub_.tasks()
                    .expired_leases({.as_of = task[0].lease_until + Milliseconds(1),
                                     .after = expired[0].lease_until,
                                     .after_id = expired[0].task_id})
                    .empty());
    EXPECT_EQ(ONE(revoke_lease, hub_.tasks().revoke_lease(id, "why not", {.epoch = 99})).reason,
              NotRevoked::kEpochMoved);
    const auto revoked = hub_.tasks().revoke_lease(id, "why not", {.worker_instance = "w1"});
    EXPECT_TRUE(revoked.revoked);
    EXPECT_EQ(revoked.lease_id, expired[0].lease_id);
    const auto cancelled = ONE(cancel_task, hub_.tasks().force_cancel(id, "enough"));
    EXPECT_TRUE(cancelled.effective);
    EXPECT_EQ(cancelled.previous_state, TaskState::kReady);
    EXPECT_FALSE(hub_.tasks().force_cancel(id).effective);
    const auto replayed = ONE(replay_task, hub_.tasks().replay(id));
    EXPECT_EQ(replayed.public_state, PublicState::kWaiting);
    EXPECT_EQ(replayed.replay_count, 1);
    EXPECT_TRUE(replayed.reopened.empty());
    const auto list =
        ONE(list_tasks,
            hub_.tasks().list({.queue = "cpu", .states = {TaskState::kReady}, .limit = 10}));
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].id, id);
    EXPECT_EQ(list[0].priority, 9000);
    EXPECT_EQ(list[0].pending_attempt, PendingAttempt::kReplay);
    EXPECT_TRUE(hub_.tasks().list({.after = id}).empty());
    EXPECT_EQ(ONE(get_task, hub_.tasks().get(id))->at("replay_count"), 1);
}

TEST_F(ClientHub, GuardsTasks) {
    connection_.exec("CREATE TABLE IF NOT EXISTS guarded (n int)");
    hub_.tasks().create({.queue = "cpu"});
    const auto task = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    connection_.with_transaction([&] {
        ONE(guard_task, TaskCalls(hub_).guard(fence_of(task)));
        connection_.exec("INSERT INTO guarded VALUES (1)");
    });
    try {
        connection_.with_transaction([&] {
            TaskCalls(hub_).guard(fence_of(task));
            connection_.exec("INSERT INTO guarded VALUES (2)");
            Connection other(options());
            Hub(other, "app").tasks().force_cancel(task.id);
        });
        ADD_FAILURE() << "the transaction was committed";
    } catch (const Error& error) {
        EXPECT_TRUE(error.lock_lost()) << error.what();
    }
    EXPECT_EQ(connection_.exec("SELECT sum(n) FROM guarded").get<int>(0, 0), 1);
    connection_.exec("DROP TABLE guarded");
}

TEST_F(ClientHub, HasEvents) {
    ONE(create_subscription, hub_.events().subscribe("some", {{"instance", "operator"}}));
    ONE(create_subscription, hub_.events().subscribe("all", {}, "start"));
    hub_.orchestrations().start_text("O", "", {.instance_id = "i"});
    const auto turn = hub_.provider().fetch_orchestration_item({});
    hub_.provider().ack_orchestration_item(
        turn->lock_token,
        {.metadata = R"({"orchestration_name":"O","orchestration_version":"1"})"});
    const auto events = ONE(read_events, hub_.events().read("some", 10, Milliseconds(60000)));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].topic + "." + events[0].type, "instance.started");
    EXPECT_EQ(events[0].subject, "i");
    EXPECT_EQ(events[0].details.at("orchestration_name"), "O");
    EXPECT_GT(events[0].occurred_at, from_ms(0));
    EXPECT_EQ(events[0].id.substr(0, 2), "1-");
    const auto infos = hub_.events().subscriptions();
    ASSERT_EQ(infos.size(), 2u);
    EXPECT_EQ(infos[0].topics, std::nullopt);
    EXPECT_EQ(infos[1].topics, (std::vector<std::string>{"instance", "operator"}));
    EXPECT_EQ(infos[1].lag_rows, 1);
    EXPECT_TRUE(infos[1].lease_until);
    ONE(ack_events, hub_.events().ack("some", events[0].upto));
    EXPECT_EQ(hub_.events().subscriptions()[1].lag_rows, 0);
    ONE(drop_subscription, hub_.events().unsubscribe("some"));
    EXPECT_THROW(hub_.events().read("some"), Error);
}

TEST_F(ClientHub, HasSlots) {
    admin_.set_hub_option("app", "slot_count", "4");
    EXPECT_EQ(ONE(acquire_slots, hub_.provider().acquire_slots("a", ProviderQueue::kWorker, 4,
                                                               Milliseconds(60000))),
              (std::vector<std::int32_t>{0, 1, 2, 3}));
    EXPECT_TRUE(hub_.provider().acquire_slots("b", ProviderQueue::kWorker).empty());
    EXPECT_EQ(hub_.provider().acquire_slots("a", ProviderQueue::kWorker).size(), 2u);
    EXPECT_EQ(hub_.provider().acquire_slots("b", ProviderQueue::kWorker).size(), 2u);
    ONE(release_slots, hub_.provider().release_slots("a", ProviderQueue::kWorker));
    EXPECT_EQ(hub_.provider().acquire_slots("b", ProviderQueue::kWorker).size(), 4u);
    EXPECT_THROW(hub_.provider().acquire_slots("b", ProviderQueue::kWorker, 5), Error);
    hub_.provider().release_slots("b", ProviderQueue::kWorker);
}

TEST_F(ClientHub, HasAGuard) {
    connection_.exec("CREATE TABLE IF NOT EXISTS guarded (n int)");
    hub_.provider().enqueue_worker_work({.work_item = kItem});
    const auto item = hub_.provider().fetch_work_item({});
    ASSERT_TRUE(item);
    connection_.with_transaction([&] {
        ONE(guard, hub_.provider().guard(item->lock_token));
        connection_.exec("INSERT INTO guarded VALUES (1)");
    });
    // The lease is given up by another session before the commit.
    try {
        connection_.with_transaction([&] {
            hub_.provider().guard(item->lock_token);
            connection_.exec("INSERT INTO guarded VALUES (2)");
            Connection other(options());
            Hub(other, "app").provider().abandon_work_item(item->lock_token);
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
        ONE(create_flow,
            hub_.flows().create({.kind = "thumbnails",
                                 .headers = {{{"tenant", "acme"}}},
                                 .seal = false,
                                 .tasks = {{.key = "a", .task = {.queue = "io"}},
                                           {.key = "b", .task = {.queue = "io"}},
                                           {.key = "c",
                                            .task = {.queue = "img"},
                                            .after = {"a", {"b", "source"}},
                                            .join = FlowJoin::quorum(1, OnSatisfied::kLetRun)},
                                           {.key = "d", .task = {.queue = "img"}, .hold = true}}}));
    EXPECT_TRUE(flow.created);
    EXPECT_EQ(flow.state, FlowState::kOpen);
    EXPECT_EQ(flow.task_ids.size(), 4u);
    const Uuid id = flow.id;
    const auto added =
        ONE(add_task_to_flow,
            hub_.flows().add_task(id, {.key = "e", .task = {.queue = "io"}, .after = {"d"}},
                                  flow.revision));
    EXPECT_TRUE(added.added);
    EXPECT_EQ(added.node_count, 5);
    const auto single = hub_.tasks().create({.queue = "single"}).id;
    EXPECT_TRUE(hub_.flows().add_task(id, single).added);
    EXPECT_FALSE(hub_.flows().add_task(id, single).added);
    EXPECT_TRUE(ONE(set_join, hub_.flows().set_join(id, single, FlowJoin::any_of())).set);
    EXPECT_FALSE(hub_.flows().set_join(id, single, FlowJoin::any_of()).set);
    EXPECT_EQ(ONE(add_edge, hub_.flows().add_edge(id, added.id, single, "last")).unsatisfied, 1);
    try {
        ONE(seal_flow, hub_.flows().seal(id, 1));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code_detail(), "stale_revision");
    }
    EXPECT_EQ(ONE(seal_flow, hub_.flows().seal(id)).state, FlowState::kRunning);
    const auto task = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    TaskCalls(hub_).complete(fence_of(task), "12345678901234567890123");
    const auto upstream =
        ONE(upstream_results, hub_.flows().upstream_results(flow.task_ids.at("c")));
    ASSERT_EQ(upstream.size(), 2u);
    EXPECT_EQ(upstream[1].key, "b");
    EXPECT_EQ(upstream[1].pass_as, "source");
    const auto infos = ONE(list_flows, hub_.flows().list({.kind = "thumbnails"}));
    ASSERT_EQ(infos.size(), 1u);
    EXPECT_EQ(infos[0].member_count, 6);
    EXPECT_EQ(infos[0].headers, (Json{{"tenant", "acme"}}));
    const auto running = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    const auto cancelled = ONE(cancel_flow, hub_.flows().cancel(id, {.reason = "wrong"}));
    EXPECT_TRUE(cancelled.cancelled);
    EXPECT_EQ(cancelled.member_ids.size(), static_cast<std::size_t>(cancelled.member_count));
    EXPECT_EQ(cancelled.member_count, 5);
    const auto again = hub_.flows().cancel(id);
    EXPECT_FALSE(again.cancelled);
    EXPECT_EQ(again.reason, "wrong");
    ONE(ack_cancel_member, hub_.flows().ack_cancel(id, running.id));
    EXPECT_EQ(ONE(get_flow, hub_.flows().get(id)).value().at("backlog"), Json::array());
    EXPECT_TRUE(ONE(delete_flow, hub_.flows().remove(id)));
    EXPECT_FALSE(hub_.flows().get(id));
}

// TX-15
TEST_F(ClientHub, HasSuspensions) {
    hub_.tasks().create({.queue = "review"});
    const ClaimOptions claim{.worker = "w", .worker_instance = "w1"};
    auto task = TaskCalls(hub_).claim(claim).at(0);
    const auto early = ONE(create_waitpoint, TaskCalls(hub_).create_waitpoint(
                                                 fence_of(task), "early", Milliseconds(60000)));
    EXPECT_EQ(
        ONE(deliver_signal, hub_.signals().deliver(
                                task.id, early.id, early.token,
                                {.name = "done", .payload = Json{1}, .source = "ann", .id = "s-1"}))
            .effect,
        SignalEffect::kBuffered);
    const auto met =
        ONE(suspend_task, TaskCalls(hub_).suspend(
                              fence_of(task), {.waitpoints = {{.key = "early", .id = early.id}},
                                               .condition = Condition::single("early", {"done"})}));
    EXPECT_EQ(met.result, SuspendResult::kAlreadySatisfied);
    ASSERT_EQ(met.waitpoints.size(), 1u);
    ASSERT_EQ(met.waitpoints[0].signals.size(), 1u);
    EXPECT_EQ(met.waitpoints[0].signals[0].payload, Json{1});
    EXPECT_EQ(met.waitpoints[0].signals[0].source, "ann");
    const auto listed = ONE(list_signals, hub_.signals().list(task.id));
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].number, 1);
    EXPECT_EQ(listed[0].key, "early");
    EXPECT_EQ(listed[0].waitpoint_id, early.id);
    EXPECT_EQ(listed[0].id, "s-1");
    EXPECT_EQ(listed[0].payload, Json{1});
    const auto waiting = TaskCalls(hub_).suspend(
        fence_of(task),
        {.waitpoints = {{.key = "x"}, {.key = "y"}},
         .condition = Condition::all(
             {Condition::single("x"), Condition::count(1, CountOf::kSignals, {"y"})}),
         .reason = SuspensionReason::kApproval,
         .idempotency_key = "k"});
    EXPECT_EQ(waiting.result, SuspendResult::kSuspended);
    ASSERT_EQ(waiting.waitpoints.size(), 2u);
    EXPECT_TRUE(waiting.waitpoints[0].token);
    const auto waitpoints = ONE(list_waitpoints, hub_.signals().waitpoints(task.id));
    ASSERT_EQ(waitpoints.size(), 3u);
    for (const auto& waitpoint : waitpoints) {
        EXPECT_NE(waitpoint.state, WaitpointState::kOther) << waitpoint.state.text();
    }
    for (const auto& waitpoint : waiting.waitpoints) {
        EXPECT_EQ(
            ONE(approve_task, hub_.signals().approve(task.id, waitpoint.id, "ok", waitpoint.key))
                .duplicate,
            false);
    }
    task = TaskCalls(hub_).claim(claim).at(0);
    EXPECT_EQ(task.attempt_kind, "resume");
    TaskCalls(hub_).suspend(fence_of(task), {.waitpoints = {{.key = "never"}},
                                             .condition = Condition::operator_only()});
    EXPECT_EQ(ONE(resume_task, hub_.signals().resume(task.id)).state, TaskState::kReady);
    const std::string secret(32, '\xff');
    EXPECT_NE(ONE(seed_waitpoint_key, hub_.signals().seed_key("a", secret)), "unchanged");
    EXPECT_EQ(hub_.signals().seed_key("a", secret), "unchanged");
    EXPECT_NE(ONE(rotate_waitpoint_key, hub_.signals().rotate_key("b", secret, Milliseconds(1000))),
              "unchanged");
}

TEST_F(ClientHub, HasSchedules) {
    const auto due = ONE(create_schedule,
                         hub_.schedules().create({.name = "nightly",
                                                  .cron = "30 2 * * *",
                                                  .task = {.queue = "reports", .kind = "nightly"},
                                                  .time_zone = "Europe/Berlin"}));
    EXPECT_GT(due, from_ms(1'700'000'000'000));
    ONE(pause_schedule, hub_.schedules().pause("nightly"));
    EXPECT_TRUE(hub_.schedules().list().at(0).paused);
    EXPECT_EQ(ONE(resume_schedule, hub_.schedules().resume("nightly")), due);
    const auto schedules = ONE(list_schedules, hub_.schedules().list());
    ASSERT_EQ(schedules.size(), 1u);
    EXPECT_EQ(schedules[0].next_due, due);
    EXPECT_EQ(schedules[0].time_zone, "Europe/Berlin");
    EXPECT_EQ(schedules[0].task.at("queue"), "reports");
    ONE(drop_schedule, hub_.schedules().drop("nightly"));
}

TEST_F(ClientHub, HasOtherHubs) {
    admin_.create_hub("billing");
    EXPECT_GT(
        ONE(send_to_hub, hub_.provider().send_to_hub("billing", ProviderQueue::kWorker, kItem)), 0);
    Hub billing(connection_, "billing");
    for (int i = 0; i < 3000 && billing.provider().list_work_items().empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(billing.provider().list_work_items().size(), 1u);
    connection_.exec("CREATE FOREIGN DATA WRAPPER client_test");
    connection_.exec("CREATE SERVER elsewhere FOREIGN DATA WRAPPER client_test");
    ONE(create_hub_link, admin_.create_hub_link("app", "shipping", "elsewhere"));
    ONE(drop_hub_link, admin_.drop_hub_link("app", "shipping"));
    connection_.exec("DROP FOREIGN DATA WRAPPER client_test CASCADE");
    admin_.drop_hub("billing", true);
}

TEST_F(ClientHub, PausesAndWaits) {
    hub_.provider().enqueue_worker_work({.work_item = kItem});
    ONE(pause_hub, hub_.maintenance().pause(HubQueue::kWorker, "test"));
    EXPECT_EQ(admin_.hubs().at(0).paused_queues, std::vector<Word<HubQueue>>{HubQueue::kWorker});
    EXPECT_FALSE(hub_.provider().fetch_work_item({}));
    ONE(resume_hub, hub_.maintenance().resume());
    const Wake work = one("wait_for_work", [&] {
        return hub_.provider().wait_for_work({"worker"}, Milliseconds(10000));
    });
    EXPECT_EQ(work.reason, WakeReason::kWork);
    EXPECT_EQ(work.queue, "worker");
    EXPECT_EQ(hub_.provider().wait_for_work({"owner:me"}, Milliseconds(1)).reason,
              WakeReason::kTimeout);
    Interrupt interrupt;
    interrupt.signal();
    EXPECT_FALSE(hub_.provider().wait_for_work({"owner:me"}, Milliseconds(60000), interrupt));
}

TEST_F(ClientHub, HasSchemaBelay) {
    EXPECT_NE(ONE(version, admin_.version()), "");
    ONE(create_hub, admin_.create_hub("odd \"name"));
    EXPECT_TRUE(ONE(check_hub, admin_.check_hub("odd \"name")).empty());
    ONE(set_hub_option, admin_.set_hub_option("odd \"name", "max_attempts", "7"));
    bool seen = false;
    for (const auto& option : ONE(hub_options, admin_.hub_options("odd \"name"))) {
        seen =
            seen || (option.option == "max_attempts" && option.value == "7" && !option.is_default);
    }
    EXPECT_TRUE(seen);
    connection_.exec("CREATE ROLE client_test_worker");
    ONE(grant_hub, admin_.grant_hub("odd \"name", "client_test_worker", Level::kWorker));
    ONE(revoke_hub, admin_.revoke_hub("odd \"name", "client_test_worker", Level::kWorker));
    EXPECT_EQ(ONE(new_incarnation, admin_.new_incarnation("odd \"name")), 1);
    ONE(upgrade_hub, admin_.upgrade_hub("odd \"name"));
    Hub odd(connection_, "odd \"name");
    odd.provider().enqueue_worker_work({.work_item = kItem});
    EXPECT_TRUE(odd.provider().fetch_work_item({}));
    ONE(stat_reset, admin_.stat_reset());
    EXPECT_FALSE(ONE(queue_stats, admin_.queue_stats()).empty());
    const auto workers = ONE(workers, admin_.workers());
    ASSERT_FALSE(workers.empty());
    EXPECT_GT(workers[0].pid, 0);
    EXPECT_NE(workers[0].state, WorkerState::kOther) << workers[0].state.text();
    EXPECT_NE(ONE(metrics, admin_.metrics()), "");
    EXPECT_EQ(ONE(hubs, admin_.hubs()).size(), 2u);
    ONE(drop_hub, admin_.drop_hub("odd \"name", true));
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

// TX-25: a word of a newer server is kept.
TEST(Words, KeepWhatTheyDoNotRecognize) {
    EXPECT_EQ(Word<TaskState>("ready"), TaskState::kReady);
    const Word<TaskState> other("resting");
    EXPECT_EQ(other, TaskState::kOther);
    EXPECT_EQ(other.text(), "resting");
    EXPECT_EQ(text_of(TaskState::kExpired), "expired");
    EXPECT_TRUE(has_ended(TaskState::kSkipped));
    EXPECT_FALSE(has_ended(other));
}

// The front door: what README begins with.
TEST_F(ClientHub, HasAFrontDoor) {
    Queue mail(hub_, "mail");
    const auto options =
        SendOptions().key("welcome:ada").kind("welcome").headers({{"tenant", "a"}});
    const Uuid id = ONE(send, mail.send({{"to", "ada@example.org"}}, options));
    EXPECT_EQ(mail.send({{"to", "eve@example.org"}}, options), id);
    const auto many = ONE(send_many, mail.send_many({1, 2, 3}, SendOptions().priority(5)));
    ASSERT_EQ(many.size(), 3u);
    const auto received = ONE(receive, mail.receive({.max = 3, .worker = "me"}));
    ASSERT_EQ(received.size(), 3u);
    EXPECT_EQ(received[0].id, many[0]);
    EXPECT_EQ(received[2].payload, 3);
    EXPECT_GT(ONE(extend, mail.extend(received[0].lease, Milliseconds(90000))),
              received[0].lease_until);
    ONE(progress, mail.progress(received[0].lease, {.percent = 40, .checkpoint = {{{"at", 1}}}}));
    EXPECT_EQ(ONE(status, hub_.tasks().status(many[0]))->percent, 40);
    ONE(complete, mail.complete(received[0].lease, {{{"sent", true}}}));
    EXPECT_THROW(mail.complete(received[0].lease), Error);
    const auto failed = ONE(fail, mail.fail(received[1].lease, "no route", Milliseconds(60000)));
    EXPECT_TRUE(failed);
    EXPECT_FALSE(mail.fail(mail.receive().at(0).lease, "no", {}, FailureClass::kPermanent));
    const auto next =
        ONE(complete_and_receive, mail.complete_and_receive(received[2].lease, {}, {.max = 5}));
    EXPECT_TRUE(next.empty());
    const auto state = ONE(await_result, hub_.tasks().await(many[0]));
    EXPECT_EQ(state.state, TaskState::kCompleted);
    EXPECT_EQ(state.result, (Json{{"sent", true}}));
    ONE(retry, hub_.tasks().retry(id));
    ONE(await, mail.await(Milliseconds(10000)));
    const auto again = mail.receive().at(0);
    EXPECT_EQ(again.id, id);
    EXPECT_EQ(again.headers, (Json{{"tenant", "a"}}));
    ONE(release, mail.release(again.lease, Milliseconds(60000)));
    EXPECT_TRUE(ONE(cancel, hub_.tasks().cancel(id, "enough")));
    EXPECT_FALSE(hub_.tasks().cancel(id));
    EXPECT_FALSE(hub_.tasks().status(Uuid()));
    const auto later = mail.send(nullptr, SendOptions().delay(std::chrono::hours(1)));
    EXPECT_EQ(hub_.tasks().status(later)->state, TaskState::kDelayed);
}

// TX-34
TEST_F(ClientHub, ABatchSendsAtItsSizeAndOnFlush) {
    Queue mail(hub_, "mail");
    const auto sent = [&] {
        return connection_.exec("SELECT count(*) FROM app.tasks").get<std::int64_t>(0, 0);
    };
    Batch batch(mail, 3, SendOptions().priority(5));
    const auto before = connection_.round_trips();
    batch.add(1);
    batch.add_text(R"({"n": 12345678901234567890.125})");
    EXPECT_EQ(connection_.round_trips(), before);
    EXPECT_EQ(batch.waiting(), 2u);
    batch.add(3);
    EXPECT_EQ(batch.waiting(), 0u);
    EXPECT_EQ(sent(), 3);
    batch.add(4);
    EXPECT_EQ(sent(), 3);
    // Those without a key first.
    batch.add(5, "five");
    EXPECT_EQ(sent(), 4);
    batch.add(5, "five");
    batch.flush();
    batch.flush();
    EXPECT_EQ(sent(), 5);
    EXPECT_EQ(batch.sent(), 6u);
    // One that the server refuses stays.
    batch.add_text("no JSON");
    EXPECT_THROW(batch.flush(), Error);
    EXPECT_EQ(batch.waiting(), 1u);
    EXPECT_EQ(sent(), 5);
    const auto received = mail.receive({.max = 5});
    ASSERT_EQ(received.size(), 5u);
    EXPECT_EQ(received[0].payload, 1);
    EXPECT_THROW(Batch(mail, 0), Error);
    EXPECT_THROW(Batch(mail, Batch::kMaxSize + 1), Error);
}

TEST_F(ClientHub, StartsAndAwaitsOrchestrations) {
    const auto id = hub_.orchestrations().start("Bill", {{"order", 9}});
    hub_.orchestrations().raise(id, "paid", {{"amount", 42}});
    EXPECT_FALSE(hub_.orchestrations().await(id, Milliseconds(1)).ended());
    EXPECT_TRUE(ONE(terminate, hub_.orchestrations().terminate(id, "enough")));
    const auto turn = hub_.provider().fetch_orchestration_item({}).value();
    EXPECT_NE(turn.messages.find("order"), std::string::npos);
    hub_.provider().ack_orchestration_item(
        turn.lock_token, {.metadata = R"({"orchestration_name": "Bill", "status": "Completed",
                                          "orchestration_version": "1", "output": "paid"})"});
    const auto done = hub_.orchestrations().await(id);
    EXPECT_EQ(done.state, InstanceState::kCompleted);
    EXPECT_EQ(done.result, "paid");
    EXPECT_FALSE(hub_.orchestrations().terminate(id));
}

TEST_F(ClientHub, SendsItsClockThroughTheFrontDoor) {
    TestClock clock(from_ms(1000));
    Hub past(connection_, "app", clock.clock());
    Queue queue(past, "q");
    EXPECT_THROW(queue.send(1), Error);
    admin_.set_hub_option("app", "max_clock_skew", "0");
    const auto id = queue.send(1);
    EXPECT_EQ(past.tasks().status(id)->created_at, from_ms(1000));
}

TEST_F(ClientHub, SendsItsClock) {
    TestClock clock(from_ms(1000));
    Hub past(connection_, "app", clock.clock());
    try {
        past.provider().enqueue_worker_work({.work_item = kItem});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.sqlstate(), "QB007");
        // Both times.
        EXPECT_NE(error.detail().find("1000"), std::string::npos) << error.detail();
        EXPECT_NE(error.detail().find("server"), std::string::npos) << error.detail();
    }
    admin_.set_hub_option("app", "max_clock_skew", "0");
    past.provider().enqueue_worker_work({.work_item = kItem});
    const auto item = past.provider().fetch_work_item({.lock_timeout = Milliseconds(500)});
    ASSERT_TRUE(item);
    clock.advance(Milliseconds(501));
    EXPECT_THROW(past.provider().ack_worker({.lock_token = item->lock_token}), Error);
}

TEST_F(ClientHub, RefusesTextThatIsNotUtf8) {
    try {
        hub_.provider().enqueue_worker_items({{.work_item = "\xff"}});
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
        "call_handler", "event_horizon_pid", "faults", "hub_mark_in", "hub_mark_out",
        "hub_mark_recv", "hub_mark_send", "hub_option_rows", "hub_rows", "inject_fault",
        "instance_key", "live_leases", "quarantined_hubs", "random_int8", "receive_intents",
        "run_as_owner", "shard_rows", "shared_memory", "stat_latency", "stat_queues",
        "stat_task_queues", "turn_token", "task_is_sound", "validator", "work_token", "worker_rows",
        // list_instances has a filter for it.
        "list_instances_by_status",
        // For workers in other languages: C++ programs have Worker.
        "settle_and_receive",
        // Runtime has it: a dispatcher and a worker that share their calls.
        "settle_turns_and_work",
        // Orchestrations calls start_orchestration and raise_event, which have a clock and a delay.
        "start", "raise",
        // Reads for the pages of a dashboard, and its actions on many objects.
        "cancel_instances", "cancel_tasks", "discard_dead_letters", "explain_waits", "next_times",
        "replay_tasks", "browse_dead_letters", "browse_events", "browse_flows", "browse_history",
        "browse_instances", "browse_messages", "browse_tasks", "browse_work_items", "find",
        "glance", "list_queues", "read_body", "stat_series",
        // Places and families of hubs are set up in SQL; Family finds the hub of a key, and
        // Connection follows a hub to its place.
        "adopt_distribution", "create_hub_family", "distribute_hub", "drop_hub_family",
        "family_hub", "family_hub_of", "hold_shards", "hub_location", "move_hub", "rebalance_hubs",
        "remove_hub_place", "set_hub_place", "undistribute_hub"};
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
        hub_.tasks().create({.queue = "cpu"});
        return TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    }

    std::string state_of(const ClaimedTask& task) {
        return connection_.exec("SELECT state FROM app.task_states WHERE task_id = $1", {task.id})
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
    hub_.provider().enqueue_worker_work({.work_item = kItem});
    const auto item = hub_.provider().fetch_work_item({});
    ASSERT_TRUE(item);
    expect_unknown([&] { hub_.provider().ack_worker({.lock_token = item->lock_token}); });
    EXPECT_TRUE(hub_.provider().list_work_items().empty());
}

// TX-2: so are the calls that end the lease of a task; but a completion knows its own.
TEST_F(ClientAck, OfATaskIsRepeatedWithItsEpoch) {
    auto task = claimed();
    EXPECT_FALSE(unanswered([&] { return TaskCalls(hub_).complete(fence_of(task)); }));
    task = claimed();
    hub_.tasks().create({.queue = "cpu"});
    const auto settled = unanswered([&] {
        return TaskCalls(hub_).settle_and_claim({{.fence = fence_of(task)}},
                                                {.worker = "w", .worker_instance = "w1"});
    });
    ASSERT_EQ(settled.outcomes.size(), 1u);
    EXPECT_FALSE(settled.outcomes[0].error);
    EXPECT_EQ(state_of(task), "completed");
    EXPECT_TRUE(settled.claimed.empty());
    task = claimed();
    const auto failed = unanswered([&] {
        return TaskCalls(hub_).settle_and_claim(
            {{.fence = fence_of(task), .word = "fail", .failure_class = "permanent"}},
            {.worker = "w", .worker_instance = "w1", .max_tasks = 0});
    });
    EXPECT_EQ(failed.outcomes.at(0).error, "QB012");
    EXPECT_TRUE(failed.outcomes.at(0).outcome_unknown);
    task = claimed();
    hub_.tasks().create({.queue = "cpu"});
    const auto next = unanswered([&] {
        return TaskCalls(hub_).complete_and_claim(fence_of(task), {},
                                                  {.worker = "w", .worker_instance = "w1"});
    });
    EXPECT_EQ(state_of(task), "completed");
    // The client does not know what the first run has claimed: its lease lapses.
    EXPECT_TRUE(next.empty());
    task = claimed();
    expect_unknown(
        [&] { TaskCalls(hub_).fail(fence_of(task), {.failure_class = FailureClass::kPermanent}); });
    EXPECT_EQ(state_of(task), "failed");
    task = claimed();
    expect_unknown([&] { TaskCalls(hub_).delay(fence_of(task), Milliseconds(60000)); });
    EXPECT_EQ(state_of(task), "delayed");
    // Released is released.
    task = claimed();
    EXPECT_FALSE(unanswered([&] { return TaskCalls(hub_).release(fence_of(task)); }));
    EXPECT_EQ(state_of(task), "ready");
}

// DR-2: so are the calls of a queue with their lease; a completion that was done is no error.
TEST_F(ClientAck, OfALeaseIsRepeated) {
    Queue mail(hub_, "mail");
    const auto state = [this](const Uuid& id) {
        return connection_.exec("SELECT state FROM app.status($1)", {id}).get<std::string>(0, 0);
    };
    const auto received = [&mail] {
        mail.send({{"to", "ada"}});
        return mail.receive().at(0);
    };
    auto task = received();
    unanswered([&] { mail.complete(task.lease); });
    EXPECT_EQ(state(task.id), "completed");
    // Only a repetition knows that it was the caller's own completion.
    try {
        mail.complete(task.lease);
        ADD_FAILURE() << "completed twice";
    } catch (const Error& error) {
        EXPECT_TRUE(error.lock_lost());
        EXPECT_EQ(error.code_detail(), "already_completed");
    }

    task = received();
    const Uuid next = mail.send(nullptr);
    const auto more = unanswered([&] { return mail.complete_and_receive(task.lease, {}); });
    EXPECT_EQ(state(task.id), "completed");
    EXPECT_TRUE(more.empty());
    EXPECT_EQ(state(next), "active") << "the first run has received it; its lease expires";

    task = received();
    unanswered([&] { mail.release(task.lease); });
    EXPECT_EQ(state(task.id), "ready");
    EXPECT_EQ(mail.receive().at(0).id, task.id);

    task = received();
    expect_unknown(
        [&] { mail.fail(task.lease, "no mailbox", std::nullopt, FailureClass::kPermanent); });
    EXPECT_EQ(state(task.id), "failed");
}

// TX-3
TEST_F(ClientAck, CreatesATaskOnceIfItHasAName) {
    const Uuid id("0190c2a4-0000-7000-8000-000000000001");
    EXPECT_FALSE(
        unanswered([&] { return hub_.tasks().create({.queue = "cpu", .id = id}); }).created);
    const auto keyed = unanswered([&] {
        return hub_.tasks().create_many(
            {{.queue = "cpu", .key = "a"}, {.queue = "cpu", .key = "b"}});
    });
    ASSERT_EQ(keyed.size(), 2u);
    expect_unknown([&] { hub_.tasks().create({.queue = "cpu"}); });
    expect_unknown([&] {
        hub_.tasks().create_many({{.queue = "cpu", .key = "a"},
                                  {.queue = "cpu", .key = "c", .key_window = Milliseconds(0)}});
    });
    EXPECT_EQ(hub_.tasks().list().size(), 5u);
}

// TX-14: a flow with an id is created once, a cancel finds what it has done; growth is not
// repeated.
TEST_F(ClientAck, OfAFlowIsRepeatedOnlyIfThatIsSafe) {
    const Uuid id("0190c2a4-0000-7000-8000-000000000001");
    const NewFlow flow{.id = id, .seal = false, .tasks = {{.key = "a", .task = {.queue = "l"}}}};
    const auto created = unanswered([&] { return hub_.flows().create(flow); });
    EXPECT_FALSE(created.created);
    EXPECT_EQ(created.task_ids.size(), 1u);
    expect_unknown([&] { hub_.flows().create({.kind = "other"}); });
    EXPECT_EQ(hub_.flows().list().size(), 2u);
    expect_unknown([&] { hub_.flows().add_task(id, {.key = "b", .task = {.queue = "l"}}); });
    const auto single = hub_.tasks().create({.queue = "l"}).id;
    EXPECT_FALSE(unanswered([&] { return hub_.flows().add_task(id, single); }).added);
    expect_unknown([&] { hub_.flows().seal(id); });
    const auto running = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    EXPECT_FALSE(unanswered([&] { return hub_.flows().cancel(id); }).cancelled);
    unanswered([&] { hub_.flows().ack_cancel(id, running.id); });
    EXPECT_EQ(hub_.flows().get(id).value().at("backlog"), Json::array());
    // Only a repetition knows that it was the caller's own confirmation.
    try {
        hub_.flows().ack_cancel(id, running.id);
        ADD_FAILURE() << "confirmed twice";
    } catch (const Error& error) {
        EXPECT_TRUE(error.lock_lost());
        EXPECT_EQ(error.code_detail(), "already_completed");
    }
}

// TX-15
TEST_F(ClientAck, OfASignalIsRepeatedIfItHasAName) {
    const auto task = claimed();
    const auto waiting =
        unanswered([&] {
            return TaskCalls(hub_).suspend(fence_of(task), {.waitpoints = {{.key = "x"}},
                                                            .condition = Condition::operator_only(),
                                                            .idempotency_key = "k"});
        }).waitpoints.at(0);
    EXPECT_EQ(unanswered([&] {
                  return hub_.signals().deliver(task.id, waiting.id, waiting.token.value(),
                                                {.name = "go", .id = "1"});
              }).duplicate,
              true);
    expect_unknown([&] {
        hub_.signals().deliver(task.id, waiting.id, waiting.token.value(), {.name = "go"});
    });
    expect_unknown([&] { hub_.signals().resume(task.id); });
    const auto other = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    expect_unknown([&] {
        TaskCalls(hub_).suspend(fence_of(other), {.waitpoints = {{.key = "y"}},
                                                  .condition = Condition::operator_only()});
    });
}

// TX-4: a cancel may be repeated; a revocation only if it says of which lease.
TEST_F(ClientAck, OfAnOperatorDoesNotMeetTheNextLease) {
    auto task = claimed();
    EXPECT_FALSE(
        unanswered([&] { return hub_.tasks().revoke_lease(task.id, "", {.epoch = 1}); }).revoked);
    expect_unknown([&] { hub_.tasks().change_priority(task.id, 5); });
    task = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    expect_unknown([&] { hub_.tasks().revoke_lease(task.id); });
    EXPECT_EQ(unanswered([&] { return hub_.tasks().force_cancel(task.id); }).public_state,
              PublicState::kCancelled);
    expect_unknown([&] { hub_.tasks().replay(task.id); });
    task = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w1"}).at(0);
    expect_unknown([&] { TaskCalls(hub_).complete({task.id}, {}, kOperatorOverride); });
    EXPECT_EQ(state_of(task), "completed");
}

}  // namespace
}  // namespace belay::test
