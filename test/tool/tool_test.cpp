// Every command of the tool, run as a program against a real server.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "belay/admin.hpp"
#include "belay/events.hpp"
#include "programs.hpp"

namespace belay::test {
namespace {

using nlohmann::json;

const std::string kNoTask = "0190c2a4-0000-7000-8000-0000000000ff";

class ToolProgram : public WithPrograms {
 protected:
    static Ran belay(std::vector<std::string> words, const std::string& input = "") {
        words.insert(words.begin(), "belay");
        return run(words, input);
    }

    // Runs a command that has to succeed; returns what it printed.
    static std::string text(const std::vector<std::string>& words) {
        const Ran ran = belay(words);
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_EQ(ran.err, "");
        return ran.out;
    }

    static json parsed(std::vector<std::string> words) {
        words.push_back("--json");
        const std::string out = text(words);
        const json value = json::parse(out, nullptr, false);
        EXPECT_FALSE(value.is_discarded()) << out;
        return value;
    }

    // An instance o with a history of two events, which has ended.
    void make_instance() {
        hub_.orchestrations().start_text("Bill", "", {.instance_id = "o"});
        const auto turn = hub_.provider().fetch_orchestration_item({});
        ASSERT_TRUE(turn);
        hub_.provider().ack_orchestration_item(
            turn->lock_token,
            {.history_delta = {{.event_id = 1, .event_data = R"({"type":"OrchestrationStarted"})"},
                               {.event_id = 2, .event_data = R"({"type":"Noted","a":"ä"})"}},
             .metadata = R"({"orchestration_name":"Bill","orchestration_version":"1",
                             "status":"Completed","output":"red \u001b[31m","kv_mutations":
                             [{"action":"set","key":"k","value":"v","last_updated_at_ms":1}]})"});
    }

    static std::string item(int id, const std::string& name = "Work") {
        return R"({"ActivityExecute":{"instance":"i","execution_id":1,"id":)" + std::to_string(id) +
               R"(,"name":")" + name + R"(","input":"in"}})";
    }
};

TEST_F(ToolProgram, HasHelpForEverything) {
    const std::string help = text({"--help"});
    for (const char* command :
         {"hubs",    "move",         "pause",      "resume",        "top",     "instances",
          "show",    "history",      "explain",    "start",         "raise",   "cancel",
          "queue",   "dead-letters", "run-worker", "subscriptions", "events",  "tasks",
          "task",    "revoke",       "replay",     "priority",      "queues",  "flows",
          "flow",    "schedules",    "waitpoints", "signal",        "approve", "send",
          "receive", "status",       "await",      "completion",    "retry",   "terminate"}) {
        EXPECT_NE(help.find(std::string("  ") + command), std::string::npos) << command;
        EXPECT_NE(text({command, "--help"}).find("Usage: belay " + std::string(command)),
                  std::string::npos)
            << command;
    }
    // Tasks are not what users of other systems replay.
    EXPECT_NE(text({"replay", "--help"}).find("belay replay-history"), std::string::npos);
    for (const char* command : {"list", "show", "redrive", "discard"}) {
        EXPECT_NE(text({"dead-letters", command, "--help"}).find("Usage:"), std::string::npos);
    }
    EXPECT_TRUE(text({"--version"}).starts_with("belay "));
}

TEST_F(ToolProgram, ReadsEvents) {
    hub_.events().subscribe("audit", {{"instance"}});
    make_instance();
    const json subscriptions = parsed({"subscriptions"});
    ASSERT_EQ(subscriptions.size(), 1u);
    EXPECT_EQ(subscriptions[0]["name"], "audit");
    EXPECT_EQ(subscriptions[0]["lag_rows"], 2);
    EXPECT_NE(text({"subscriptions"}).find("audit"), std::string::npos);
    const json events = parsed({"events", "audit", "--lease", "1ms"});
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0]["type"], "started");
    EXPECT_EQ(events[1]["type"], "completed");
    EXPECT_EQ(events[1]["subject"], "o");
    EXPECT_EQ(events[1]["details"]["orchestration_name"], "Bill");
    // Not taken as read: they come again, until they are.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_NE(text({"events", "audit", "--ack", "--limit", "1"}).find("started"),
              std::string::npos);
    EXPECT_NE(text({"events", "audit", "--ack"}).find("completed"), std::string::npos);
    EXPECT_EQ(parsed({"events", "audit"}), json::array());
    EXPECT_EQ(belay({"events", "nobody"}).code, 1);
    EXPECT_EQ(belay({"events"}).code, 2);
}

TEST_F(ToolProgram, SaysWhatIsWrong) {
    // The command line: 2.
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {},
             {"nonsense"},
             {"queue", "--limit", "many"},
             {"show"},
             {"hubs", "--nonsense"},
             {"dead-letters"},
             {"dead-letters", "redrive"},
             {"dead-letters", "redrive", "1", "--all"},
             {"tasks", "--header", "odd"},
             {"send", "q", "--delay", "5"},
             {"send", "q", "--delay", "5 parsecs"},
             {"send", "q", "--delay", "-5s"},
             {"send", "q", "--delay", "5s", "--at", "now"},
             {"send", "q", "--policy", "[]"},
             {"send", "q", "--policy", "{\"odd\": 1}"},
             {"send", "q", "--policy", "{\"max_attempts\": \"1\"}"},
             {"retry"},
             {"terminate"},
             {"task"},
             {"show", "x", "--task", "--instance"},
             {"priority", "x"},
             {"flow"},
             {"schedules"},
             {"cancel", "x", "--flow", "--task"},
             {"cancel", "x", "--policy", "flow_only"},
             {"pause", "worker", "--queue", "cpu"},
             {"run-worker"},
             {"run-worker", "--shell", "true", "--kind", "x"},
             {"receive", "cpu"},
             {"receive", "--exec", "true"},
             {"send"},
             {"status", "no-uuid"},
             {"tasks", "--state", "odd"},
             {"flows", "--state", "odd"},
             {"cancel", kNoTask, "--flow", "--policy", "odd"},
             {"completion", "tcsh"}}) {
        const Ran ran = belay(words);
        EXPECT_EQ(ran.code, 2) << testing::PrintToString(words);
        EXPECT_EQ(ran.out, "") << testing::PrintToString(words);
        EXPECT_NE(ran.err, "") << testing::PrintToString(words);
    }
    // What it asks for: 1.
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"show", "nobody"},
                                               {"--hub", "nowhere", "queue"},
                                               {"--dsn", "host=/nonexistent", "hubs"},
                                               {"queue", "--state", "odd"},
                                               {"pause", "nothing"},
                                               {"dead-letters", "discard", "7"},
                                               {"task", "nobody"},
                                               {"show", "nobody", "--task"},
                                               {"tasks", "--after", "no id"},
                                               {"cancel", kNoTask, "--task"},
                                               {"revoke", kNoTask},
                                               {"replay", "nobody"},
                                               {"priority", kNoTask, "5"},
                                               {"flow", kNoTask},
                                               {"cancel", kNoTask, "--flow"},
                                               {"schedules", "pause", "nobody"},
                                               {"approve", kNoTask, kNoTask, "yes"},
                                               {"start", ""}}) {
        const Ran ran = belay(words);
        EXPECT_EQ(ran.code, 1) << testing::PrintToString(words);
        EXPECT_EQ(ran.out, "") << testing::PrintToString(words);
        EXPECT_TRUE(ran.err.starts_with("belay: ")) << ran.err;
    }
    EXPECT_NE(belay({"tasks", "--header", "odd"}).err.find("a header is given"), std::string::npos);
    // The server's hint is shown.
    EXPECT_NE(belay({"pause", "nothing"}).err.find("hint: "), std::string::npos);
}

TEST_F(ToolProgram, FindsTheHub) {
    connection_.exec("SELECT belay.create_hub('other')");
    const Ran ran = belay({"queue"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("--hub"), std::string::npos);
    EXPECT_EQ(parsed({"queue", "--hub", "other"}), json::array());
    EXPECT_EQ(parsed({"--hub", "other", "queue"}), json::array());
    connection_.exec("SELECT belay.drop_hub('other')");
}

TEST_F(ToolProgram, ListsAndPausesHubs) {
    const json hubs = parsed({"hubs"});
    ASSERT_EQ(hubs.size(), 1u);
    EXPECT_EQ(hubs[0]["name"], "app");
    EXPECT_GT(hubs[0]["size_bytes"], 0);
    EXPECT_TRUE(hubs[0]["place"].is_null());
    EXPECT_EQ(text({"pause", "worker", "--reason", "test"}), "paused queue worker of hub app\n");
    EXPECT_EQ(parsed({"hubs"})[0]["paused_queues"], "worker");
    EXPECT_NE(text({"hubs"}).find("  worker\n"), std::string::npos);
    EXPECT_EQ(text({"resume"}), "resumed hub app\n");
    EXPECT_EQ(parsed({"pause"})["paused"], true);
    EXPECT_EQ(parsed({"resume", "orchestrator"})["queue"], "orchestrator");
}

TEST_F(ToolProgram, ShowsInstances) {
    make_instance();
    const json list = parsed({"instances", "--status", "Completed", "--name", "Bill"});
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0]["instance_id"], "o");
    EXPECT_EQ(list[0]["output"], "red \x1b[31m");
    // What the output says does not reach the terminal.
    const std::string table = text({"instances"});
    EXPECT_EQ(table.find('\x1b'), std::string::npos);
    EXPECT_NE(table.find("red \\u001b[31m"), std::string::npos) << table;
    EXPECT_EQ(parsed({"instances", "--prefix", "x"}), json::array());

    const json shown = parsed({"show", "o"});
    EXPECT_EQ(shown["state"]["k"], "v");
    EXPECT_EQ(shown["executions"][0]["event_count"], 2);
    EXPECT_NE(text({"show", "o"}).find("orchestration  Bill\n"), std::string::npos);

    const json history = parsed({"history", "o"});
    ASSERT_EQ(history.size(), 2u);
    EXPECT_EQ(history[1]["event_data"], R"({"type":"Noted","a":"ä"})");
    EXPECT_EQ(parsed({"history", "o", "--after", "1", "--limit", "5"}).size(), 1u);
    EXPECT_NE(text({"history", "o"}).find("Noted"), std::string::npos);

    EXPECT_EQ(parsed({"explain", "o"})[0]["reason"], "no_messages");
    EXPECT_NE(text({"explain", "o"}).find("no_messages"), std::string::npos);
}

TEST_F(ToolProgram, ShowsTasks) {
    const auto id = hub_.tasks()
                        .create({.queue = "cpu",
                                 .payload = {{"a", "red \x1b[31m"}},
                                 .kind = "resize",
                                 .priority = 5,
                                 .policy = TaskPolicy{.backoff = Backoff::fixed(Milliseconds(0))},
                                 .headers = {{{"tenant", "acme"}}}})
                        .id.text();
    const auto other = hub_.tasks().create({.queue = "io", .delay = Milliseconds(60000)}).id.text();
    const ClaimOptions claim{.worker = "resizer", .worker_instance = "resizer-1"};
    TaskCalls(hub_).fail(fence_of(TaskCalls(hub_).claim(claim).at(0)), {.message = "no luck"});
    const auto task = TaskCalls(hub_).claim(claim).at(0);
    TaskCalls(hub_).progress(fence_of(task), {.percent = 50, .message = "half"});

    EXPECT_EQ(parsed({"tasks"}).size(), 2u);
    const json active =
        parsed({"tasks", "--queue", "cpu", "--state", "active", "--state", "ready", "--kind",
                "resize", "--header", "tenant=acme", "--worker", "resizer", "--worker-instance",
                "resizer-1", "--created-from", "1", "--created-before", "99999999999999"});
    ASSERT_EQ(active.size(), 1u);
    EXPECT_EQ(active[0]["task_id"], id);
    EXPECT_EQ(active[0]["retry_count"], 1);
    EXPECT_EQ(active[0]["tags"]["tenant"], "acme");
    EXPECT_EQ(parsed({"tasks", "--limit", "1"}).size(), 1u);
    EXPECT_NE(text({"tasks"}).find("resizer-1"), std::string::npos);

    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"task", id}, {"show", id}, {"show", "--task", id}}) {
        EXPECT_EQ(parsed(words)["lease"]["worker_instance"], "resizer-1");
        const std::string shown = text(words);
        EXPECT_EQ(shown.find('\x1b'), std::string::npos);
        for (const char* part : {"no luck", "half", "resizer-1", "retry", "acme"}) {
            EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
        }
    }
    EXPECT_EQ(parsed({"explain", id})[0]["reason"], "leased");
    EXPECT_EQ(parsed({"explain", other})[0]["reason"], "not_due");
    EXPECT_NE(text({"explain", "--task", other}).find("not_due"), std::string::npos);
    // Both a task and an instance: it has to be said which.
    hub_.orchestrations().start_text("Bill", "", {.instance_id = id});
    const auto turn = hub_.provider().fetch_orchestration_item({});
    hub_.provider().ack_orchestration_item(turn->lock_token,
                                           {.metadata = R"({"orchestration_name":"Bill",
                                                 "orchestration_version":"1"})"});
    EXPECT_EQ(belay({"show", id}).code, 2);
    EXPECT_EQ(parsed({"show", id, "--instance"})["orchestration_name"], "Bill");
    EXPECT_EQ(parsed({"show", id, "--task"})["queue"], "cpu");
}

TEST_F(ToolProgram, SteersTasks) {
    const auto id = hub_.tasks().create({.queue = "cpu", .priority = 5}).id.text();
    EXPECT_EQ(text({"priority", id, "7"}), "task " + id + " has priority 7, it had 5\n");
    EXPECT_EQ(parsed({"priority", id, "10000"})["new_priority"], 9000);
    EXPECT_EQ(text({"revoke", id}), "nothing to revoke: no_active_lease\n");
    const auto task = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1"}).at(0);
    EXPECT_EQ(parsed({"revoke", id, "--worker-instance", "w-2"})["reason"],
              "different_worker_instance_id");
    EXPECT_EQ(parsed({"revoke", id, "--lease-id", "x"})["reason"], "lease_id_mismatch");
    EXPECT_EQ(parsed({"revoke", id, "--epoch", "9"})["reason"], "epoch_moved");
    EXPECT_EQ(text({"revoke", id, "--reason", "test", "--lease-id", task.lease_id}),
              "revoked lease belay:" + id + ":1:1\n");
    EXPECT_EQ(text({"cancel", id, "--reason", "enough"}), "task " + id + " is cancelled\n");
    EXPECT_EQ(text({"cancel", id}), "task " + id + " had ended before\n");
    EXPECT_EQ(parsed({"cancel", id, "--task"})["cancelled"], false);
    EXPECT_EQ(parsed({"task", id})["cancel_reason"], "enough");
    EXPECT_EQ(text({"replay", id}), "task " + id + " runs once more; it is waiting\n");
    EXPECT_EQ(belay({"replay", id}).code, 1);
    // An id that no task has is an instance's, also if it could be a task's.
    EXPECT_EQ(text({"cancel", kNoTask, "--early"}), "asked " + kNoTask + " to end\n");

    EXPECT_EQ(text({"pause", "--queue", "cpu"}), "paused queue cpu of tasks of hub app\n");
    const json queues = parsed({"queues"});
    ASSERT_EQ(queues.size(), 1u);
    EXPECT_EQ(queues[0]["queue"], "cpu");
    EXPECT_EQ(queues[0]["paused"], true);
    EXPECT_EQ(queues[0]["ready"], 1);
    EXPECT_NE(text({"queues"}).find("cpu"), std::string::npos);
    EXPECT_EQ(parsed({"resume", "--queue", "cpu"})["task_queue"], "cpu");
    EXPECT_EQ(parsed({"queues"})[0]["paused"], false);
}

// TX-19
TEST_F(ToolProgram, ShowsFlows) {
    const auto flow =
        hub_.flows().create({.kind = "thumb",
                             .headers = {{{"tenant", "acme"}}},
                             .tasks = {{.key = "a\"\\", .task = {.queue = "io"}},
                                       {.key = "b", .task = {.queue = "slow"}},
                                       {.key = "c",
                                        .task = {.queue = "io"},
                                        .after = {{"a\"\\", "source"}, "b"},
                                        .join = FlowJoin::quorum(1, OnSatisfied::kLetRun)}}});
    const std::string id = flow.id.text();
    const ClaimOptions claim{
        .worker = "w", .worker_instance = "w-1", .queues = std::vector<std::string>{"io"}};
    TaskCalls(hub_).complete(fence_of(TaskCalls(hub_).claim(claim).at(0)), "1");
    const json found = parsed({"flows", "--state", "running", "--state", "open", "--kind", "thumb",
                               "--header", "tenant=acme", "--created-from", "1", "--created-before",
                               "99999999999999", "--limit", "5"});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0]["flow_id"], id);
    EXPECT_EQ(found[0]["member_count"], 3);
    EXPECT_NE(text({"flows"}).find("running"), std::string::npos);
    EXPECT_EQ(parsed({"flow", id})["members"].size(), 3u);
    const std::string shown = text({"flow", id});
    EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    EXPECT_NE(shown.find("thumb"), std::string::npos);
    EXPECT_NE(shown.find("slow"), std::string::npos);

    const std::string dot = text({"flow", id, "--dot"});
    EXPECT_TRUE(dot.starts_with("digraph \"" + id + "\" {\n")) << dot;
    EXPECT_EQ(dot.find('\x1b'), std::string::npos);
    const std::string c = '"' + flow.task_ids.at("c").text() + '"';
    for (const std::string& part : std::vector<std::string>{
             "[label=\"b\\nready\", fillcolor=lightblue];",
             "[label=\"1 of 2\\nc\\nready\", fillcolor=lightblue];",
             "completed\", fillcolor=palegreen];", "[label=\"a\\\"\\\\",
             "-> " + c + " [color=forestgreen, label=\"source\"];",
             '"' + flow.task_ids.at("b").text() + "\" -> " + c + " [color=gray40];"}) {
        EXPECT_NE(dot.find(part), std::string::npos) << part << "\n" << dot;
    }
    EXPECT_EQ(text({"cancel", id, "--flow", "--policy", "cancel_pending", "--reason", "enough"}),
              "flow " + id + " is cancelled, with 2 tasks\n");
    EXPECT_EQ(text({"cancel", id, "--flow"}), "flow " + id + " had ended before\n");
    EXPECT_EQ(parsed({"cancel", id, "--flow"})["cancellation_policy"], "cancel_pending");
    EXPECT_EQ(parsed({"flow", id})["cancel_reason"], "enough");
}

TEST_F(ToolProgram, SteersSchedulesAndSendsSignals) {
    hub_.schedules().create({.name = "nightly", .cron = "0 2 * * *", .task = {.queue = "reports"}});
    EXPECT_EQ(text({"schedules", "pause", "nightly"}), "paused schedule nightly\n");
    EXPECT_EQ(parsed({"schedules", "list"})[0]["paused"], true);
    EXPECT_EQ(parsed({"schedules", "resume", "nightly"})["paused"], false);
    EXPECT_NE(text({"schedules", "list"}).find("0 2 * * *"), std::string::npos);

    const auto id = hub_.tasks().create({.queue = "review"}).id.text();
    const auto task = TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1"}).at(0);
    const auto waiting = TaskCalls(hub_).suspend(
        fence_of(task),
        {.waitpoints = {{"x"}, {"y"}}, .condition = Condition::count(2, CountOf::kWaitpoints)});
    const auto& x = waiting.waitpoints.at(0);
    EXPECT_EQ(parsed({"waitpoints", id}).size(), 2u);
    EXPECT_EQ(belay({"signal", id, x.id.text(), "go", "--token", "bad"}).code, 1);
    EXPECT_EQ(text({"signal", id, x.id.text(), "go", "--token", x.token.value(), "--payload", "[1]",
                    "--source", "ann", "--key", "k"}),
              "accepted: appended_to_waitpoint; the task is suspended\n");
    EXPECT_EQ(text({"approve", id, waiting.waitpoints.at(1).id.text(), "yes"}),
              "accepted: resume_condition_satisfied; the task is ready\n");
}

TEST_F(ToolProgram, SendsMessages) {
    EXPECT_EQ(text({"start", "Bill", "--id", "b", "--input", "9"}), "b\n");
    EXPECT_EQ(text({"raise", "b", "go", "--data", "1"}), "raised go for b\n");
    EXPECT_EQ(parsed({"raise", "b", "go", "--queued"})["event"], "go");
    EXPECT_EQ(text({"cancel", "b", "--reason", "enough"}), "asked b to end\n");
    const json why = parsed({"explain", "b"});
    ASSERT_EQ(why.size(), 1u);
    EXPECT_EQ(why[0]["reason"], "waiting_for_dispatcher");
    EXPECT_EQ(why[0]["detail"], "started, waiting for a dispatcher of Bill");
    const auto turn = hub_.provider().fetch_orchestration_item({});
    ASSERT_TRUE(turn);
    const json messages = json::parse(turn->messages);
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[0]["StartOrchestration"]["input"], "9");
    EXPECT_EQ(messages[3]["CancelInstance"]["reason"], "enough");
    EXPECT_NE(parsed({"start", "Bill", "--delay", "100s"})["instance_id"], "");
}

// A started orchestration can be seen before a dispatcher has taken it.
TEST_F(ToolProgram, ShowsWhatNoDispatcherHasPickedUp) {
    text({"start", "Bill", "--id", "b"});
    text({"start", "Bill", "--id", "later", "--delay", "1000s"});
    const std::string status = "started, waiting for a dispatcher of Bill";
    EXPECT_EQ(text({"show", "b"}), "b: " + status + "\n");
    EXPECT_EQ(parsed({"show", "later"})["status"], status);
    EXPECT_GT(parsed({"show", "later"})["visible_at"], parsed({"show", "b"})["visible_at"]);
    const json all = parsed({"instances"});
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0]["instance_id"], "b");
    EXPECT_EQ(all[0]["status"], status);
    EXPECT_NE(text({"instances"}).find(status), std::string::npos);
    EXPECT_EQ(parsed({"instances", "--name", "Other"}), json::array());
    EXPECT_EQ(parsed({"instances", "--prefix", "la"}).size(), 1u);
    EXPECT_EQ(parsed({"instances", "--status", "Running"}), json::array());
    // It may be sent events, and cancelled.
    EXPECT_EQ(text({"raise", "later", "go"}), "raised go for later\n");
    EXPECT_EQ(text({"cancel", "later"}), "asked later to end\n");
    // A turn is in progress: it is picked up.
    ASSERT_TRUE(hub_.provider().fetch_orchestration_item({}));
    EXPECT_EQ(parsed({"instances", "--prefix", "b"}), json::array());
}

// A message to an id that does not exist would wait for its start, and be done then.
TEST_F(ToolProgram, RefusesUnknownIds) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"cancel", "nobody"},
                                               {"cancel", kNoTask},
                                               {"raise", "nobody", "go"},
                                               {"explain", "nobody"},
                                               {"explain", kNoTask},
                                               {"explain", kNoTask, "--task"},
                                               {"explain", "nobody", "--instance"},
                                               {"dead-letters", "show", "7"}}) {
        const Ran ran = belay(words);
        EXPECT_EQ(ran.code, 1) << testing::PrintToString(words);
        EXPECT_EQ(ran.out, "") << testing::PrintToString(words);
        EXPECT_NE(ran.err.find("no "), std::string::npos) << ran.err;
    }
    EXPECT_EQ(connection_.exec("SELECT FROM app.messages").size(), 0);
    EXPECT_EQ(text({"raise", "nobody", "go", "--early"}), "raised go for nobody\n");
    EXPECT_EQ(text({"cancel", "nobody", "--early"}), "asked nobody to end\n");
    // Early messages do not make an instance.
    EXPECT_EQ(belay({"explain", "nobody"}).code, 1);
    EXPECT_EQ(belay({"raise", "nobody", "go"}).code, 1);
    EXPECT_EQ(connection_.exec("SELECT FROM app.messages").size(), 2);
    // A role that may not look is told so.
    connection_.exec("CREATE ROLE tool_client LOGIN");
    connection_.exec("SELECT belay.grant_hub('app', 'tool_client', 'client')");
    const std::string dsn = cluster->conninfo("postgres", "tool_client");
    const Ran blind = belay({"--dsn", dsn, "--hub", "app", "raise", "nobody", "go"});
    EXPECT_EQ(blind.code, 1);
    EXPECT_NE(blind.err.find("--early"), std::string::npos) << blind.err;
    EXPECT_EQ(belay({"--dsn", dsn, "--hub", "app", "raise", "nobody", "go", "--early"}).code, 0);
    connection_.exec("SELECT belay.revoke_hub('app', 'tool_client', 'client')");
    connection_.exec("DROP ROLE tool_client");
}

TEST_F(ToolProgram, SuggestsAndSaysWhatToDo) {
    const auto error_of = [](const std::vector<std::string>& words) { return belay(words).err; };
    EXPECT_EQ(error_of({"toop"}),
              "belay: unrecognized command \"toop\"\nhint: Did you mean \"top\"?\n");
    EXPECT_EQ(error_of({"--hub", "app", "--json", "histroy", "x"}),
              "belay: unrecognized command \"histroy\"\nhint: Did you mean \"history\"?\n");
    EXPECT_EQ(
        error_of({"dead-letters", "lst"}),
        "belay: unrecognized command \"lst\" of dead-letters\nhint: Did you mean \"list\"?\n");
    EXPECT_EQ(error_of({"xyzzy"}),
              "belay: unrecognized command \"xyzzy\"\nhint: belay --help lists the commands.\n");
    EXPECT_EQ(belay({"toop"}).code, 2);
    // Near is the word, not what follows a command that exists.
    EXPECT_NE(error_of({"show"}).find("ID"), std::string::npos);

    EXPECT_EQ(error_of({"--hub", "nowhere", "queue"}),
              "belay: database \"postgres\" has no hub \"nowhere\"\nhint: Hubs there: app.\n");
    connection_.exec("CREATE DATABASE bare");
    const Ran bare = belay({"--dsn", cluster->conninfo("bare"), "--hub", "app", "queue"});
    EXPECT_EQ(bare.code, 1);
    EXPECT_NE(bare.err.find("database \"bare\" does not have the extension belay\nhint: CREATE "
                            "EXTENSION belay"),
              std::string::npos)
        << bare.err;
    EXPECT_EQ(belay({"--dsn", cluster->conninfo("bare"), "hubs"}).err, bare.err);
    cluster->connect("bare").exec("CREATE EXTENSION belay");
    const Ran empty = belay({"--dsn", cluster->conninfo("bare"), "queue"});
    EXPECT_EQ(empty.code, 2);
    EXPECT_NE(empty.err.find("belay.create_hub"), std::string::npos) << empty.err;
    connection_.exec("DROP DATABASE bare");

    const std::string away = error_of({"--dsn", "host=/nonexistent", "hubs"});
    EXPECT_NE(away.find("\n  Is the server running"), std::string::npos) << away;
    EXPECT_EQ(away.find("\\"), std::string::npos) << away;
}

TEST_F(ToolProgram, ExplainsWhichWorkersATaskNeeds) {
    const auto id = hub_.tasks().create({.queue = "cpu", .capabilities = {"gpu", "eu"}}).id.text();
    const json needed = parsed({"explain", id});
    ASSERT_EQ(needed.size(), 1u);
    EXPECT_EQ(needed[0]["reason"], "capabilities_needed");
    EXPECT_EQ(needed[0]["detail"]["capabilities"], json::parse(R"(["eu", "gpu"])"));
    EXPECT_EQ(needed[0]["detail"]["waiting_sessions"], 0);
    EXPECT_NE(text({"explain", id}).find("gpu"), std::string::npos);
    const auto plain = hub_.tasks().create({.queue = "io"}).id.text();
    const json claimable = parsed({"explain", plain});
    EXPECT_EQ(claimable[0]["reason"], "claimable");
    EXPECT_EQ(claimable[0]["detail"]["waiting_sessions"], 0);
}

TEST_F(ToolProgram, ExplainsWorkItems) {
    hub_.provider().enqueue_worker_items({{.work_item = item(1), .tag = "gpu"},
                                          {.work_item = item(2), .delay = Milliseconds(1000000)},
                                          {.work_item = item(3)},
                                          {.work_item = item(4), .session_id = "s"},
                                          {.work_item = item(5), .session_id = "s"}});
    ASSERT_TRUE(hub_.provider().fetch_work_item({.owner_id = "me"}));
    ASSERT_TRUE(hub_.provider().fetch_work_item(
        {.owner_id = "me", .session_lock_timeout = Milliseconds(60000)}));
    std::map<std::string, std::string> reasons;
    for (const auto& row : parsed({"queue"})) {
        const json why = parsed({"explain", "--item", row["id"].dump()});
        ASSERT_EQ(why.size(), 1u);
        reasons[row["work_item"]] =
            why[0]["reason"].get<std::string>() + " " + why[0]["detail"].dump();
    }
    EXPECT_EQ(reasons[item(1)],
              R"(tag_needed "workers with the tag \"gpu\"; waiting sessions: 0")");
    EXPECT_EQ(reasons[item(2)], "not_visible null");
    EXPECT_EQ(reasons[item(3)], R"(leased "by \"me\"")");
    EXPECT_EQ(reasons[item(4)], R"(leased "by \"me\"")");
    EXPECT_EQ(reasons[item(5)], R"(session_held "session \"s\" is with owner \"me\"")");
    EXPECT_EQ(belay({"explain", "--item", "999999"}).code, 1);
    EXPECT_EQ(belay({"explain", "--item", "x"}).code, 2);
    EXPECT_EQ(belay({"explain", "--item", "1", "--task"}).code, 2);
    hub_.maintenance().pause(HubQueue::kWorker);
    EXPECT_NE(text({"explain", "--item", parsed({"queue", "--tag", "gpu"})[0]["id"].dump()})
                  .find("paused"),
              std::string::npos);
    hub_.maintenance().resume(HubQueue::kWorker);
}

TEST_F(ToolProgram, ReplaysMany) {
    hub_.tasks().create_many({{.queue = "charge", .kind = "a"},
                              {.queue = "charge", .kind = "b"},
                              {.queue = "charge", .kind = "a"},
                              {.queue = "other", .kind = "a"}});
    for (const auto& task :
         TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1", .max_tasks = 10})) {
        TaskCalls(hub_).fail(fence_of(task), {.failure_class = FailureClass::kPermanent});
    }
    EXPECT_EQ(belay({"replay"}).code, 2);
    EXPECT_EQ(belay({"replay", kNoTask, "--queue", "charge"}).code, 2);
    EXPECT_EQ(text({"replay", "--queue", "charge", "--state", "failed", "--kind", "b"}),
              "1 task runs once more\n");
    EXPECT_EQ(parsed({"replay", "--queue", "charge", "--limit", "1"}),
              json::parse(R"({"replayed": 1, "skipped": 0, "failed": [], "more": true})"));
    EXPECT_EQ(text({"replay", "--queue", "charge"}), "1 task runs once more\n");
    EXPECT_EQ(text({"replay", "--queue", "charge"}), "0 tasks run once more\n");
    EXPECT_EQ(parsed({"tasks", "--queue", "charge", "--state", "ready"}).size(), 3u);
    EXPECT_EQ(parsed({"tasks", "--state", "failed"}).size(), 1u);
}

TEST_F(ToolProgram, SaysWhichTasksCannotRunOnceMore) {
    const auto task =
        hub_.tasks().create({.queue = "charge", .policy = TaskPolicy{.max_replays = 0}});
    for (const auto& claimed :
         TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1", .max_tasks = 10})) {
        TaskCalls(hub_).fail(fence_of(claimed), {.failure_class = FailureClass::kPermanent});
    }
    const Ran ran = belay({"replay", "--queue", "charge"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.out, "0 tasks run once more, 1 cannot\n");
    EXPECT_NE(ran.err.find("task " + task.id.text() + ": QB016 replay_limit"), std::string::npos)
        << ran.err;
}

// Lists and replays continue where a list function of the server would end with QB016.
TEST_F(ToolProgram, ReadsAndReplaysAtSize) {
    auto server = cluster->connect();
    // Of 12,000 tasks the newest 1,100 have failed; the oldest one is alone in its queue.
    server.exec(
        "INSERT INTO app.tasks (id, lease_epoch, start_delay_ms, created_at_ms, started_at_ms, "
        "updated_at_ms, terminal_at_ms, cap_set, priority, attempt_index, attempt_leases, "
        "retry_count, reclaim_count, replay_count, slot, held, state, pending_attempt, queue, "
        "kind, failure_class, failure_message, tags) SELECT (lpad(to_hex(1700000000000 + i), 12, "
        "'0') || '70008000' || lpad(to_hex(i), 12, '0'))::uuid, 1, 0, i, i, i, i, 0, 0, 1, 0, 0, "
        "0, 0, 0, false, CASE WHEN i > 10900 THEN 'failed' ELSE 'completed' END, 'initial', CASE "
        "WHEN i = 1 THEN 'rare' WHEN i > 10900 THEN 'charge' ELSE 'other' END, 'k', CASE WHEN i > "
        "10900 THEN 'permanent' END, 'm', '{}' FROM generate_series(1, 12000) AS i");
    EXPECT_EQ(parsed({"tasks", "--queue", "rare"}).size(), 1u);
    EXPECT_EQ(parsed({"tasks", "--state", "active"}), json::array());
    const Ran replayed = belay({"replay", "--queue", "charge", "--limit", "5000"});
    EXPECT_EQ(replayed.code, 0) << replayed.err;
    EXPECT_EQ(replayed.out, "1100 tasks run once more\n");
    EXPECT_NE(replayed.err.find("so far 500 tasks run once more"), std::string::npos);
    EXPECT_EQ(server.value("SELECT count(*) FROM app.tasks WHERE state = 'ready'"), "1100");

    // The last of 12,000 items is leased.
    server.exec(
        "INSERT INTO app.worker_queue (lane, slot, due, id, visible_at, created_at, locked_until, "
        "nonce_hi, nonce_lo, lease_inc, attempt_count, instance_id, execution_id, activity_id, "
        "locked_by, work_item) SELECT 0, 0, 0, i, now(), now(), CASE WHEN i = 12000 THEN "
        "9000000000000 ELSE 0 END, 0, 0, h.incarnation, 0, 'i' || i, 1, 1, CASE WHEN i = 12000 "
        "THEN 'me' END, '{}' FROM generate_series(1, 12000) AS i, app.belay_hub AS h");
    const json leased = parsed({"queue", "--state", "leased"});
    ASSERT_EQ(leased.size(), 1u);
    EXPECT_EQ(leased[0]["locked_by"], "me");
    EXPECT_EQ(parsed({"queue", "--limit", "2500"}).size(), 2500u);

    // The other lists: what is wanted comes last.
    server.exec(
        "INSERT INTO app.dead_letters SELECT i, 'worker', i, 'i', 1, 1, NULL, NULL, '{}', 3, CASE "
        "WHEN i = 12000 THEN 'orphan' ELSE 'max_attempts' END, NULL, now(), now() FROM "
        "generate_series(1, 12000) AS i");
    EXPECT_EQ(parsed({"dead-letters", "list", "--reason", "orphan"}).size(), 1u);
    server.exec(
        "INSERT INTO app.instances SELECT 'i' || i, CASE WHEN i = 12000 THEN 'Rare' ELSE 'Order' "
        "END, '1', 1, NULL, NULL, 0, now() - i * interval '1 ms', now() FROM generate_series(1, "
        "12000) AS i");
    EXPECT_EQ(parsed({"instances", "--name", "Rare"}).size(), 1u);
    server.exec(
        "INSERT INTO app.flows (id, graph_revision, member_count, open_count, bad_sink_count, "
        "edge_count, created_at_ms, updated_at_ms, terminal_at_ms, sealed, struck, state, "
        "fail_policy, kind, tags) SELECT (lpad(to_hex(1700000000000 + i), 12, '0') || '70008000' "
        "|| lpad(to_hex(i), 12, '0'))::uuid, 1, 1, 0, 0, 0, i, i, i, true, false, 'completed', "
        "'continue', CASE WHEN i = 1 THEN 'rare' ELSE 'k' END, '{}' FROM generate_series(1, "
        "12000) AS i");
    EXPECT_EQ(parsed({"flows", "--kind", "rare"}).size(), 1u);
}

TEST_F(ToolProgram, ContinuesLists) {
    hub_.tasks().create_many({{.queue = "a"}, {.queue = "b"}, {.queue = "b"}});
    const json first = parsed({"tasks", "--queue", "b", "--limit", "1"});
    ASSERT_EQ(first.size(), 1u);
    const std::string cursor = first[0]["cursor"];
    const json second = parsed({"tasks", "--queue", "b", "--after", cursor});
    ASSERT_EQ(second.size(), 1u);
    EXPECT_LT(second[0]["task_id"], first[0]["task_id"]);
    EXPECT_TRUE(second[0]["cursor"].is_null());
    EXPECT_NE(text({"tasks", "--limit", "1"}).find("\nmore: --after "), std::string::npos);
    EXPECT_EQ(text({"tasks"}).find("more:"), std::string::npos);
    // Of another list.
    EXPECT_EQ(belay({"tasks", "--after", cursor}).code, 1);
}

TEST_F(ToolProgram, ListsTheQueue) {
    hub_.provider().enqueue_worker_items(
        {{.work_item = item(1)}, {.work_item = item(2), .tag = "gpu"}});
    hub_.provider().fetch_work_item({.owner_id = "me"});
    EXPECT_EQ(parsed({"queue"}).size(), 2u);
    const json leased = parsed({"queue", "--state", "leased", "--owner", "me"});
    ASSERT_EQ(leased.size(), 1u);
    EXPECT_EQ(leased[0]["attempt_count"], 1);
    EXPECT_EQ(parsed({"queue", "--tag", "gpu"})[0]["work_item"], item(2));
    EXPECT_EQ(parsed({"queue", "--limit", "1"}).size(), 1u);
    const std::string cursor = parsed({"queue", "--limit", "1"})[0]["cursor"];
    EXPECT_EQ(parsed({"queue", "--after", cursor}).size(), 1u);
    EXPECT_NE(text({"queue"}).find("leased"), std::string::npos);
}

TEST_F(ToolProgram, DealsWithDeadLetters) {
    Admin(connection_).set_hub_option("app", "max_attempts", "1");
    for (int id = 1; id <= 4; ++id) {
        hub_.provider().enqueue_worker_work({.work_item = item(id)});
        hub_.provider().abandon_work_item(hub_.provider().fetch_work_item({})->lock_token, {},
                                          false, "no luck \x1b with " + std::to_string(id));
    }
    EXPECT_FALSE(hub_.provider().fetch_work_item({}));
    const json letters = parsed({"dead-letters", "list", "--queue", "worker"});
    ASSERT_EQ(letters.size(), 4u);
    const auto id = [&](std::size_t i) { return letters[i]["id"].dump(); };
    EXPECT_NE(text({"dead-letters", "list"}).find("max_attempts"), std::string::npos);
    EXPECT_NE(text({"dead-letters", "show", id(1)}).find("no luck \\u001b with 2"),
              std::string::npos);
    EXPECT_EQ(parsed({"dead-letters", "show", id(1)})["detail"], "no luck \x1b with 2");
    EXPECT_EQ(text({"dead-letters", "redrive", id(0)}), "1 put back\n");
    // All or none.
    EXPECT_EQ(belay({"dead-letters", "discard", id(1), "999999"}).code, 1);
    EXPECT_EQ(parsed({"dead-letters", "list"}).size(), 3u);
    EXPECT_EQ(text({"dead-letters", "discard", id(1), id(2)}), "2 discarded\n");
    const Ran unknown = belay({"dead-letters", "redrive", "999999"});
    EXPECT_EQ(unknown.code, 1);
    EXPECT_EQ(unknown.out, "0 put back\n");
    EXPECT_EQ(parsed({"dead-letters", "redrive", "--all", "--reason", "max_attempts"})["redriven"],
              1);
    EXPECT_EQ(parsed({"dead-letters", "list"}), json::array());
}

TEST_F(ToolProgram, Watches) {
    hub_.provider().enqueue_worker_items({{.work_item = item(1)}, {.work_item = item(2)}});
    hub_.provider().fetch_work_item({.owner_id = "a worker \x1b[0m"});
    const std::string picture = text({"top", "--once"});
    std::size_t lines = 0;
    std::istringstream in(picture);
    for (std::string line; std::getline(in, line); ++lines) {
        EXPECT_LE(line.size(), 80u) << line;
    }
    EXPECT_LE(lines, 24u);
    EXPECT_EQ(picture.find('\x1b'), std::string::npos);
    EXPECT_NE(picture.find("a worker \\u001b[0m"), std::string::npos) << picture;
    EXPECT_NE(picture.find("background worker"), std::string::npos);

    const std::string two = text({"top", "--count", "2", "--interval", "0.1", "--json"});
    const auto second = json::parse(two.substr(two.find('\n') + 1));
    for (const auto& queue : second["queues"]) {
        if (queue["queue"] == "worker") {
            EXPECT_EQ(queue["leases"], 1);
            EXPECT_GE(queue["enqueued_per_s"], 0);
        }
    }
    EXPECT_EQ(second["workers"][0]["leases"], 1);

    EXPECT_EQ(second["task_queues"], json::array());
    hub_.tasks().create_many({{.queue = "cpu"}, {.queue = "cpu"}, {.queue = "io"}});
    TaskCalls(hub_).claim({.worker = "w", .worker_instance = "w-1", .queues = {{"cpu"}}});
    const json queues = parsed({"top", "--once"});
    ASSERT_EQ(queues["task_queues"].size(), 2u);
    EXPECT_EQ(queues["task_queues"][0]["active"], 1);
    EXPECT_EQ(queues["task_queues"][0]["ready"], 1);
    EXPECT_EQ(queues["workers"].size(), 2u);
    for (const char* part : {"QUEUE", "cpu", "io", "w-1"}) {
        EXPECT_NE(text({"top", "--once"}).find(part), std::string::npos) << part;
    }
    TaskCalls(hub_).complete({hub_.tasks().list({.states = {TaskState::kActive}}).at(0).id}, {},
                             kOperatorOverride);

    // A monitor sees it all, and who holds leases.
    connection_.exec("CREATE ROLE tool_monitor LOGIN");
    connection_.exec("SELECT belay.grant_hub('app', 'tool_monitor', 'monitor')");
    const Ran monitor =
        belay({"--dsn", cluster->conninfo("postgres", "tool_monitor"), "top", "--once"});
    EXPECT_EQ(monitor.code, 0) << monitor.err;
    EXPECT_NE(monitor.out.find("WORKER"), std::string::npos) << monitor.out;
    connection_.exec("SELECT belay.revoke_hub('app', 'tool_monitor', 'monitor')");
    connection_.exec("DROP ROLE tool_monitor");
}

// On a terminal: keys change the view, and q leaves.
TEST_F(ToolProgram, TopHasKeys) {
    int master = -1;
    winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    const pid_t pid = forkpty(&master, nullptr, nullptr, &size);
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "belay";
        setenv("BELAY_DSN", cluster->conninfo().c_str(), 1);
        unsetenv("NO_COLOR");
        execl(here.c_str(), "belay", "top", "--interval", "60", nullptr);
        _exit(127);
    }
    std::string seen;
    const auto read_until = [&](const std::string& wanted) {
        const std::size_t from = seen.size();
        while (seen.find(wanted, from) == std::string::npos) {
            pollfd ready{.fd = master, .events = POLLIN, .revents = 0};
            char buffer[4096];
            const auto count =
                poll(&ready, 1, 60000) > 0 ? read(master, buffer, sizeof buffer) : -1;
            if (count <= 0) {
                return false;
            }
            seen.append(buffer, static_cast<std::size_t>(count));
        }
        return true;
    };
    const auto press = [&](const std::string& keys) {
        EXPECT_EQ(write(master, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    };
    EXPECT_TRUE(read_until("DONE/s"));
    EXPECT_NE(seen.find("\x1b[1m"), std::string::npos) << "no colours";
    press("s");
    EXPECT_TRUE(read_until("sorted by depth"));
    press("?");
    EXPECT_TRUE(read_until("leave"));
    press("f");
    EXPECT_TRUE(read_until("filter: _"));
    press("timers\r");
    EXPECT_TRUE(read_until("filter: timers"));
    press("q");
    EXPECT_TRUE(read_until("\x1b[?1049l"));
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    close(master);
}

TEST_F(ToolProgram, TopEndsWithASignal) {
    const std::string out = cluster->file("top");
    std::filesystem::remove(cluster->file("pid"));
    std::thread stopper([&] {
        await([&] { return std::filesystem::exists(out) && std::filesystem::file_size(out) > 0; });
        kill(running_pid(), SIGINT);
    });
    const auto result =
        tool::run_shell(command({"belay", "top", "--interval", "0.2"}) + " >" + shell_quoted(out),
                        "", {{"BELAY_DSN", cluster->conninfo()}}, {}, std::chrono::seconds(1));
    EXPECT_EQ(result.code, 0);
    stopper.join();
}

TEST_F(ToolProgram, RunsACommandPerItem) {
    hub_.provider().enqueue_worker_items({{.work_item = item(1, "Good")},
                                          {.work_item = item(2, "Bad")},
                                          {.work_item = item(3, "Later")}});
    const Ran ran = belay({"run-worker", "--count", "3", "--retry-delay", "10ms", "--shell",
                           "case $BELAY_ACTIVITY$BELAY_ATTEMPT in Bad*) exit 4;; Later1) exit 75;; "
                           "esac; cat; echo \" for $BELAY_INSTANCE $BELAY_ACTIVITY_ID\""});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "3 settled\n");
    EXPECT_NE(ran.err.find("completed Good i"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("failed Bad i"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("retried Later i"), std::string::npos) << ran.err;
    EXPECT_TRUE(hub_.provider().list_work_items().empty());
    const Result done = connection_.exec(
        "SELECT work_item::jsonb #>> '{ActivityCompleted,result}' FROM app.messages "
        "WHERE work_item::jsonb ? 'ActivityCompleted' ORDER BY 1");
    ASSERT_EQ(done.size(), 2);
    EXPECT_EQ(done.get<std::string>(0, 0), "in for i 1");
    EXPECT_EQ(done.get<std::string>(1, 0), "in for i 3");
}

TEST_F(ToolProgram, RunsACommandPerTask) {
    const TaskPolicy policy{.backoff = Backoff::fixed(Milliseconds(0))};
    hub_.tasks().create_many({{.queue = "cpu", .payload = {{"n", 1}}, .kind = "good"},
                              {.queue = "cpu", .kind = "bad"},
                              {.queue = "io", .kind = "later", .policy = policy},
                              {.queue = "io", .kind = "quiet", .capabilities = {"gpu"}},
                              {.queue = "elsewhere"}});
    const Ran ran = belay({"receive", "cpu", "io", "--capability", "gpu", "--count", "4", "--exec",
                           "case $BELAY_KIND$BELAY_ATTEMPT in bad*) exit 4;; later1) exit 75;; "
                           "quiet*) exit 0;; later2) echo $BELAY_QUEUE done; exit 0;; esac; cat"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out, "4 settled\n");
    for (const char* line : {"completed cpu ", "failed cpu ", "retried io ", "completed io "}) {
        EXPECT_NE(ran.err.find(line), std::string::npos) << line << ran.err;
    }
    const Result rows = connection_.exec(
        "SELECT kind, state, result::text, attempt_index FROM app.tasks WHERE queue <> 'elsewhere' "
        "ORDER BY kind");
    const auto row = [&](int i) {
        std::string text;
        for (int column = 0; column < 4; ++column) {
            text += rows.get<OptionalText>(i, column).value_or("-") + " ";
        }
        return text;
    };
    ASSERT_EQ(rows.size(), 4);
    EXPECT_EQ(row(0), "bad failed - 1 ");
    EXPECT_EQ(row(1), R"(good completed {"n": 1} 1 )");
    EXPECT_EQ(row(2), R"(later completed "io done" 2 )");
    EXPECT_EQ(row(3), "quiet completed - 1 ");
    // A signal ends it; what it runs may finish.
    hub_.tasks().create({.queue = "slow", .kind = "x"});
    const std::string begun = cluster->file("begun_task");
    std::thread stopper([&] {
        await([&] { return std::filesystem::exists(begun); });
        kill(running_pid(), SIGTERM);
    });
    const Ran stopped = belay(
        {"receive", "slow", "--kind", "x", "--quiet", "--exec", "touch " + begun + "; sleep 0.3"});
    stopper.join();
    EXPECT_EQ(stopped.code, 0);
    EXPECT_EQ(stopped.out + stopped.err, "1 settled\n");
}

TEST_F(ToolProgram, ShowsNoticesLineByLine) {
    std::thread sender([this] {
        await([this] {
            return connection_
                       .exec(
                           "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND "
                           "pid <> pg_backend_pid() AND query LIKE '%wait_for_work%'")
                       .get<int>(0, 0) > 0;
        });
        hub_.tasks().create({.queue = "novel"});
    });
    const Ran ran = belay({"receive", "novel", "--count", "1", "--quiet", "--exec", "true"});
    sender.join();
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err,
              "NOTICE:  queue \"novel\" of hub \"app\" never had a task\n"
              "  HINT:  Check the spelling, unless its first task is yet to come.\n");
}

TEST_F(ToolProgram, SendsAndAwaitsTasks) {
    const std::string id = parsed({"send", "mail", R"({"to": "ada"})", "--kind", "welcome", "--key",
                                   "k", "--priority", "5", "--header", "tenant=acme"})["id"];
    EXPECT_EQ(text({"send", "mail", "again", "--key", "k"}), id + "\n");
    const auto task = hub_.tasks().list().at(0);
    EXPECT_EQ(task.id.text(), id);
    EXPECT_EQ(task.kind, "welcome");
    EXPECT_EQ(task.priority, 5);
    EXPECT_EQ(task.headers, (Json{{"tenant", "acme"}}));
    EXPECT_EQ(parsed({"status", id})["state"], "ready");
    EXPECT_NE(text({"status", id}).find("mail"), std::string::npos);
    const Ran early = belay({"await", id, "--timeout", "1ms"});
    EXPECT_EQ(early.code, 1);
    EXPECT_EQ(early.out, "ready\n");
    // The payload is the input, what is printed the result.
    EXPECT_EQ(belay({"receive", "mail", "--count", "1", "--quiet", "--exec", "cat"}).code, 0);
    EXPECT_EQ(text({"await", id}), "completed {\"to\":\"ada\"}\n");
    EXPECT_EQ(parsed({"await", id})["result"], (json{{"to", "ada"}}));
    const std::string failing = parsed({"send", "mail", "no JSON"})["id"];
    EXPECT_EQ(belay({"receive", "mail", "--count", "1", "--exec", "exit 3"}).code, 0);
    const Ran failed = belay({"await", failing});
    EXPECT_EQ(failed.code, 1);
    EXPECT_EQ(failed.out, "failed\n");
    EXPECT_EQ(parsed({"status", failing})["error"], "the command ended with code 3");
    EXPECT_EQ(belay({"status", kNoTask}).code, 1);
    EXPECT_EQ(belay({"await", "no such instance"}).code, 1);
}

// Times, durations and policies as they are typed; a task that failed runs once more.
TEST_F(ToolProgram, SendsLaterAndRetries) {
    const auto task = [this](const std::string& id) { return hub_.tasks().status(Uuid(id)); };
    const std::string at = parsed({"send", "mail", "--at", "2037-03-01 08:00+00"})["id"];
    EXPECT_EQ(task(at)->available_at, from_ms(2'119'507'200'000));
    const auto before = std::chrono::system_clock::now();
    const std::string later = parsed({"send", "mail", "--delay", "2h"})["id"];
    EXPECT_GE(*task(later)->available_at - before, std::chrono::minutes(115));
    EXPECT_LE(*task(later)->available_at - before, std::chrono::minutes(150));
    EXPECT_NE(belay({"send", "mail", "--at", "some day"}).code, 0);

    const std::string policy =
        R"({"max_attempts": 1, "attempt_timeout_ms": 60000, "retryable": ["transient"], "max_reclaims": 3,
            "max_replays": 4, "max_signals": 5, "on_lease_expiry": "continue",
            "backoff": {"kind": "fixed", "delay_ms": 10}})";
    const std::string id = parsed({"send", "print", "--policy", policy})["id"];
    const json stored = parsed({"task", id})["policy"];
    const json sent = json::parse(policy);
    for (const auto& [key, value] : sent.items()) {
        EXPECT_EQ(stored[key], value) << key;
    }
    EXPECT_EQ(belay({"receive", "print", "--count", "1", "--exec", "exit 75"}).code, 0);
    EXPECT_EQ(belay({"await", id, "--timeout", "0s"}).out, "failed\n");
    EXPECT_EQ(text({"retry", id}), "task " + id + " runs once more\n");
    EXPECT_EQ(task(id)->state.text(), "ready");
    EXPECT_EQ(belay({"retry", id}).code, 1);

    text({"start", "Bill", "--id", "bill-1"});
    EXPECT_EQ(text({"terminate", "bill-1", "--reason", "enough"}), "asked bill-1 to end\n");
    EXPECT_EQ(belay({"terminate", "bill-2"}).code, 1);
}

// The command runs until its lease has been extended.
TEST_F(ToolProgram, ExtendsTheLeaseWhileTheCommandRuns) {
    const std::string id = parsed({"send", "slow"})["id"];
    const std::string done = cluster->file("done");
    std::thread watcher([&] {
        Conn conn = cluster->connect();
        std::string last;
        for (int changes = 0; changes < 2;) {  // the first is the claim
            await([&] {
                const std::string now = conn.value("SELECT lease_until_ms FROM app.tasks");
                return std::exchange(last, now) != now;
            });
            ++changes;
        }
        std::ofstream{done};
    });
    EXPECT_EQ(belay({"receive", "slow", "--count", "1", "--lease", "9s", "--exec",
                     "until test -e " + shell_quoted(done) + "; do sleep 0.05; done"})
                  .code,
              0);
    watcher.join();
    const json task = parsed({"task", id});
    EXPECT_EQ(task["state"], "completed");
    EXPECT_EQ(task["reclaim_count"], 0);
    EXPECT_EQ(task["attempt_index"], 1);
}

TEST_F(ToolProgram, CompletesCommands) {
    const std::string bash = text({"completion", "bash"});
    // Bash itself says what it would offer.
    const auto offers = [&](const std::string& line) {
        return tool::run_shell("bash -c \"$SCRIPT\"", "",
                               {{"SCRIPT", bash + "COMP_WORDS=(" + line +
                                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _belay; "
                                               "echo \"${COMPREPLY[@]}\""}},
                               {}, std::chrono::milliseconds(2000))
            .output;
    };
    EXPECT_EQ(offers("belay rec"), "receive\n");
    EXPECT_EQ(offers("belay receive --ex"), "--exec\n");
    EXPECT_EQ(offers("belay --json dead-letters red"), "redrive\n");
    // The value of an option is no command, also in the three words that bash makes of --hub=tasks.
    EXPECT_EQ(offers("belay --hub tasks rec"), "receive\n");
    EXPECT_EQ(offers("belay --hub = tasks rec"), "receive\n");
    EXPECT_EQ(offers("belay --hub tasks receive --ex"), "--exec\n");
    EXPECT_EQ(offers("belay --hub rec"), "\n");
    EXPECT_EQ(offers("belay --hub = rec"), "\n");
    EXPECT_EQ(offers("belay receive --exec rec"), "\n");
}

// zsh finds the function as a file: the first call defines it and must already complete.
TEST_F(ToolProgram, CompletesCommandsInZsh) {
    const std::string directory = cluster->file("zsh");
    std::filesystem::create_directory(directory);
    std::ofstream(directory + "/_belay") << text({"completion", "zsh"});
    const auto offers = [&](const std::string& line) {
        return tool::run_shell(
                   "zsh -fc 'fpath=($DIRECTORY); autoload -U _belay; words=(" + line +
                       "); CURRENT=$#words; compadd() { shift; print -r -- $@; }; _describe() { "
                       "print -r -- $1; }; compdef() { print compdef; }; _belay'",
                   "", {{"DIRECTORY", directory}}, {}, std::chrono::milliseconds(2000))
            .output;
    };
    const std::string first = offers("belay \"\"");
    EXPECT_EQ(first.find("command\nsend receive "), 0u) << first;
    for (const char* line : {"belay receive \"\"", "belay --hub tasks receive \"\""}) {
        EXPECT_EQ(offers(line).find("--help --exec --concurrency "), 0u) << offers(line);
    }
    EXPECT_EQ(offers("belay --hub \"\""), "");
    EXPECT_EQ(offers("belay receive --exec \"\""), "");
}

TEST_F(ToolProgram, CompletesCommandsInFish) {
    const auto offers = [&](const std::string& line) {
        return tool::run_shell(
                   "HOME=$DIRECTORY fish --no-config -c \"$SCRIPT\"", "",
                   {{"DIRECTORY", cluster->file("fish")},
                    {"SCRIPT", text({"completion", "fish"}) + "complete -C '" + line + "'\n"}},
                   {}, std::chrono::milliseconds(2000))
            .output;
    };
    for (const char* line : {"belay rec", "belay --hub tasks rec", "belay --hub=tasks rec"}) {
        EXPECT_EQ(offers(line).find("receive\t"), 0u) << line << offers(line);
    }
    EXPECT_EQ(offers("belay --hub tasks receive --ex").find("--exec\t"), 0u);
    EXPECT_EQ(offers("belay --json dead-letters red"), "redrive\n");
}

// SIGTERM: what runs may finish, nothing more is fetched, no lease is left.
TEST_F(ToolProgram, ASignalDrainsTheWorker) {
    hub_.provider().enqueue_worker_items({{.work_item = item(1)}, {.work_item = item(2)}});
    const std::string begun = cluster->file("begun");
    std::thread stopper([&] {
        await([&] { return std::filesystem::exists(begun); });
        kill(running_pid(), SIGTERM);
    });
    const Ran ran = belay({"run-worker", "--shell", "touch " + begun + "; sleep 0.5; echo slept"});
    stopper.join();
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.out, "1 settled\n");
    const auto rest = hub_.provider().list_work_items();
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].state, WorkItemState::kReady);
    EXPECT_EQ(rest[0].attempt, 0);
}

}  // namespace
}  // namespace belay::test
