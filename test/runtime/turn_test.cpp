// Turns: what is written, in which order, and what an ack carries.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "belay/runtime.hpp"
#include "belay/testing.hpp"
#include "driver.hpp"

namespace {

using namespace driver;
using namespace std::chrono_literals;
using belay::Context;
using belay::Durable;
using Kind = belay::engine::TurnResult::Kind;

constexpr belay::ActivityOf<std::string(std::string)> step{"Step"};
constexpr belay::OrchestrationOf<std::string(std::string)> child{"Child"};
constexpr belay::OrchestrationOf<std::string(std::string)> code{"Code"};
constexpr belay::OrchestrationOf<std::string(int)> number{"Number"};

Durable<std::string> at_once(Context, std::string input) {
    co_return "got " + input;
}

Durable<std::string> fails(Context, std::string input) {
    if (input == "panic") {
        throw 7;
    }
    if (!input.empty()) {
        throw std::runtime_error("no: " + input);
    }
    co_return "";
}

// No co_await and no co_return: a function that throws when it is called.
Durable<std::string> no_coroutine(Context, std::string input) {
    if (input == "panic") {
        throw 7;
    }
    throw std::runtime_error("no: " + input);
}

Durable<std::string> two_steps(Context ctx, std::string input) {
    std::string one = co_await ctx.call(step, input);
    std::string two = co_await ctx.call(step, one);
    co_return two;
}

// One of each kind of call.
Durable<std::string> all_kinds(Context ctx, std::string input) {
    auto activity = ctx.call(step, input, belay::CallOptions().tag("gpu").session("s1"));
    auto timer = ctx.sleep(500ms);
    auto orchestration = ctx.call(child, input);
    auto named = ctx.call(child, input, belay::CallOptions().instance("my-child").version("2.0.0"));
    auto event = ctx.event<int>("go");
    auto message = ctx.dequeue<std::string>("q");
    ctx.start(child, "detached", input);
    auto all =
        co_await belay::when_all(std::move(activity), std::move(timer), std::move(orchestration),
                                 std::move(named), std::move(event), std::move(message));
    co_return std::get<0>(all) + std::get<2>(all) + std::get<3>(all) +
        std::to_string(std::get<4>(all)) + std::get<5>(all);
}

Durable<std::string> echo_number(Context, int input) {
    co_return std::to_string(input);
}

Durable<std::string> asks_for_ever(Context ctx, std::string) {
    for (;;) {
        ctx.set_status("again");
        std::string message = co_await ctx.dequeue<std::string>("q");
        if (message == "stop") {
            co_return "stopped";
        }
    }
}

// PK-4: what runs inside of coroutines comes from headers; none of them has a thread_local.
TEST(Turn, NoThreadLocalInHeaders) {
    const char* const root = std::getenv("BELAY_ROOT");
    const std::filesystem::path headers =
        (root != nullptr ? std::filesystem::path(root)
                         : std::filesystem::path(__FILE__).parent_path() / "../..") /
        "client/include/belay";
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(headers)) {
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
            const bool is_comment = line.find("//") < line.find("thread_local");
            EXPECT_TRUE(is_comment || line.find("thread_local") == std::string::npos)
                << entry.path() << ": " << line;
        }
        files += entry.is_regular_file();
    }
    EXPECT_GT(files, 20);
}

// Fresh start: HI-1, HI-2, HI-3, EN-1, AP-5.
TEST(Turn, ReturnsAtOnce) {
    Driver d;
    d.registry.on(code, &at_once);
    EXPECT_EQ(d.turn({start("Code", "x")}), "OrchestrationStarted,OrchestrationCompleted");
    const json started = {{"event_id", 1},
                          {"source_event_id", nullptr},
                          {"instance_id", "ord-7"},
                          {"execution_id", 1},
                          {"timestamp_ms", 1000},
                          {"duroxide_version", "0.1.30"},
                          {"type", "OrchestrationStarted"},
                          {"name", "Code"},
                          {"version", "1.0.0"},
                          {"input", "x"},
                          {"parent_instance", nullptr},
                          {"parent_id", nullptr}};
    EXPECT_EQ(d.event(0), started);
    EXPECT_EQ(d.event(1).at("output"), "got x");
    const json metadata = {{"orchestration_name", "Code"},
                           {"orchestration_version", "1.0.0"},
                           {"status", "Completed"},
                           {"output", "got x"},
                           {"pinned_duroxide_version", {{"major", 0}, {"minor", 1}, {"patch", 30}}},
                           {"kv_mutations", json::array()}};
    EXPECT_EQ(d.metadata(), metadata);
    EXPECT_TRUE(d.last.ended);
    EXPECT_FALSE(d.last.execution);
}

// PY-4, PY-5: failures and panics.
TEST(Turn, FailsAtOnce) {
    for (const auto function : {&fails, &no_coroutine}) {
        Driver d;
        d.registry.on(code, function);
        EXPECT_EQ(d.turn({start("Code", "x")}), "OrchestrationStarted,OrchestrationFailed");
        EXPECT_EQ(d.event(1).at("details"),
                  json::parse(R"({"Application":{"kind":"OrchestrationFailed","message":"no: x",
                              "retryable":false}})"));
        EXPECT_EQ(d.metadata().at("output"), "no: x");
        Driver p;
        p.registry.on(code, function);
        p.turn({start("Code", "panic")});
        EXPECT_EQ(p.event(1).at("details").at("Application").at("kind"), "Panicked");
        EXPECT_EQ(p.metadata().at("output").get<std::string>().find("orchestration panicked: "),
                  0u);
    }
}

// RY-1 to RY-4, RY-8: turn by turn, from memory and from the history.
TEST(Turn, TwoSteps) {
    for (const bool cached : {false, true}) {
        Driver d;
        d.cached = cached;
        d.registry.on(code, &two_steps);
        EXPECT_EQ(d.turn({start("Code", "x")}), "OrchestrationStarted,ActivityScheduled");
        EXPECT_EQ(d.work(0), json::parse(R"({"ActivityExecute":{"instance":"ord-7",
            "execution_id":1,"id":2,"name":"Step","input":"x"}})"));
        d.now_ms = 900;  // The clock went back; time does not. HI-2
        EXPECT_EQ(d.turn({completed(2, "y")}), "ActivityCompleted,ActivityScheduled");
        EXPECT_EQ(d.event(0).at("source_event_id"), 2);
        EXPECT_EQ(d.event(0).at("timestamp_ms"), 1000);
        EXPECT_EQ(d.event(1).at("input"), "y");
        EXPECT_FALSE(d.metadata().contains("pinned_duroxide_version"));
        EXPECT_EQ(d.turn({completed(4, "z")}), "ActivityCompleted,OrchestrationCompleted");
        EXPECT_EQ(d.event(1).at("output"), "z");
        EXPECT_EQ(d.last.events_replayed, cached ? 0u : 4u);
    }
}

// HI-4, HI-5: one of each kind, in the order of asking.
TEST(Turn, AllKinds) {
    Driver d;
    d.registry.on(code, &all_kinds);
    EXPECT_EQ(d.turn({start("Code", "x")}),
              "OrchestrationStarted,ActivityScheduled,TimerCreated,SubOrchestrationScheduled,"
              "SubOrchestrationScheduled,ExternalSubscribed,ExternalSubscribedPersistent,"
              "OrchestrationChained");
    EXPECT_EQ(d.event(1).at("tag"), "gpu");
    EXPECT_EQ(d.event(1).at("session_id"), "s1");
    EXPECT_EQ(d.event(2).at("fire_at_ms"), 1500);
    EXPECT_EQ(d.event(3).at("instance"), "sub::4");
    EXPECT_EQ(d.event(4).at("instance"), "my-child");
    EXPECT_EQ(d.item(0).at("TimerFired").at("fire_at_ms"), 1500);
    const json started = d.item(1).at("StartOrchestration");
    EXPECT_EQ(started.at("instance"), "ord-7::sub::4");
    EXPECT_EQ(started.at("parent_instance"), "ord-7");
    EXPECT_EQ(started.at("parent_id"), 4);
    EXPECT_EQ(started.at("parent_execution_id"), 1);
    EXPECT_EQ(d.item(2).at("StartOrchestration").at("version"), "2.0.0");
    EXPECT_EQ(d.item(3).at("StartOrchestration").at("instance"), "detached");  // SB-2
    EXPECT_TRUE(d.item(3).at("StartOrchestration").at("parent_instance").is_null());
    EXPECT_EQ(d.turn({queued("q", "m"), raised("go", "42"), child_completed(5, "d"),
                      child_completed(4, "c"), fired(3), completed(2, "a")}),
              "ExternalEventPersistent,ExternalEvent,SubOrchestrationCompleted,"
              "SubOrchestrationCompleted,TimerFired,ActivityCompleted,OrchestrationCompleted");
    EXPECT_EQ(d.metadata().at("output"), "acd42m");
}

// TU-4: what is dropped, with its counter.
TEST(Turn, DroppedMessages) {
    Driver d;
    d.registry.on(code, &two_steps);
    d.turn({start("Code", "x"), start("Code", "again")});
    EXPECT_EQ(d.last.dropped.duplicate, 1u);
    EXPECT_EQ(d.turn({completed(2, "other", 7), completed(2, "y"), completed(2, "twice"),
                      failed(2, "late")}),
              "ActivityCompleted,ActivityScheduled");
    EXPECT_EQ(d.last.dropped.other_execution, 1u);
    EXPECT_EQ(d.last.dropped.duplicate, 2u);
    d.turn({completed(4, "z"), cancel("too late")});
    EXPECT_EQ(d.last.dropped.ended, 1u);
    // TU-1: after the end an empty ack.
    EXPECT_EQ(d.turn({completed(4, "z")}), "");
    EXPECT_EQ(d.last.kind, Kind::kAck);
    EXPECT_EQ(d.last.dropped.ended, 1u);
    EXPECT_EQ(d.last.decision.metadata, "{}");
}

// TU-2, VE-6, VE-8: which version runs.
TEST(Turn, Versions) {
    Driver d;
    d.registry.on(belay::OrchestrationOf<std::string(std::string)>{"Code", "1.9.0"}, &at_once);
    d.registry.on(belay::OrchestrationOf<std::string(std::string)>{"Code", "1.10.0"}, &two_steps);
    d.registry.on(belay::OrchestrationOf<std::string(std::string)>{"Code", "1.10.0-rc.1"}, &fails);
    EXPECT_EQ(d.turn({start("Code", "x")}), "OrchestrationStarted,ActivityScheduled");
    EXPECT_EQ(d.event(0).at("version"), "1.10.0");
    Driver exact;
    exact.registry = d.registry;
    EXPECT_EQ(exact.turn({start("Code", "x", "1.9.0")}),
              "OrchestrationStarted,OrchestrationCompleted");
    Driver none;
    none.registry = d.registry;
    EXPECT_EQ(none.turn({start("Code", "x", "3.0.0")}), "given back");
    EXPECT_EQ(none.last.kind, Kind::kNoHandler);
    EXPECT_EQ(none.turn({start("Other", "x")}), "given back");
    EXPECT_THROW(
        d.registry.on(belay::OrchestrationOf<std::string(std::string)>{"Code", "1.9.0"}, &at_once),
        std::invalid_argument);
}

// TU-3: corruption is released, and fails the instance after ten attempts.
TEST(Turn, Corruption) {
    Driver d;
    d.registry.on(code, &two_steps);
    d.turn({start("Code", "x")});
    const std::vector<std::string> good = d.history;
    const auto corrupt = [&](std::vector<std::string> history) {
        d.history = std::move(history);
        EXPECT_EQ(d.turn({completed(2, "y")}), "given back");
        EXPECT_EQ(d.last.kind, Kind::kCorrupt) << d.last.text;
    };
    corrupt({});                              // no start anywhere
    corrupt({good[1]});                       // the first is not the start
    corrupt({good[0], good[0]});              // two starts
    corrupt({good[0], good[1], good[1]});     // not rising
    corrupt({good[0], "nonsense"});           // not JSON
    corrupt({good[0], R"({"event_id":2})"});  // no type
    corrupt({good[0], R"({"event_id":0,"type":"KeyValuesCleared"})"});
    corrupt({good[0], R"({"event_id":2,"type":"Invented"})"});
    corrupt({good[0], R"({"event_id":2,"type":"OrchestrationCompleted","output":"a"})",
             R"({"event_id":3,"type":"OrchestrationCompleted","output":"a"})"});
    d.history = good;
    EXPECT_EQ(d.turn({R"({"Invented":{"instance":"ord-7"}})"}), "given back");
    EXPECT_EQ(d.last.kind, Kind::kCorrupt);
    d.history = {good[0], "nonsense"};
    EXPECT_EQ(d.turn({completed(2, "y")}, 10), "given back");
    EXPECT_EQ(d.turn({completed(2, "y")}, 11), "OrchestrationFailed");
    EXPECT_EQ(d.event(0).at("event_id"), 99999);
    EXPECT_TRUE(d.event(0).at("details").contains("Poison"));
    EXPECT_NE(d.metadata().at("output").get<std::string>().find("deserialization failed"),
              std::string::npos);
}

// TU-3: what follows the end of an execution, and an outcome that comes before its decision.
TEST(Turn, OrderOfEvents) {
    Driver d;
    d.registry.on(code, &two_steps);
    d.turn({start("Code", "x")});
    const std::vector<std::string> good = d.history;
    const std::string end = R"({"event_id":3,"type":"OrchestrationCompleted","output":"a"})";
    const std::string outcome =
        R"({"event_id":4,"type":"ActivityCompleted","source_event_id":2,"result":"y"})";
    d.history = {good[0], good[1], end, outcome};
    EXPECT_EQ(d.turn({completed(2, "y")}), "given back");
    EXPECT_EQ(d.last.kind, Kind::kCorrupt);
    EXPECT_NE(d.last.text.find("event 4 follows the end"), std::string::npos) << d.last.text;
    // The decision that it belongs to comes later: TU-5.
    d.history = {good[0],
                 R"({"event_id":2,"type":"ActivityCompleted","source_event_id":3,"result":"y"})",
                 good[1]};
    d.edit(3, {{"event_id", 3}});
    EXPECT_EQ(d.turn({completed(3, "y")}), "given back");
    EXPECT_EQ(d.last.kind, Kind::kNondeterministic);
    EXPECT_NE(d.last.text.find("no call that is event 3"), std::string::npos) << d.last.text;
}

// HI-3: the pin is what the version says; a version that is no pin is refused at the beginning.
TEST(Turn, HistoryVersion) {
    Driver d;
    d.options.history_version = "1.20.300";
    d.registry.on(code, &at_once);
    d.turn({start("Code", "x")});
    EXPECT_EQ(d.metadata().at("pinned_duroxide_version"),
              (json{{"major", 1}, {"minor", 20}, {"patch", 300}}));
    EXPECT_NO_THROW(belay::engine::check_history_version("0.1.30"));
    for (const char* wrong :
         {"", "1", "1.2", "1.2.3.4", "1.2.x", "01.2.3", "1.2.3-beta", "1.2.1000"}) {
        EXPECT_THROW(belay::engine::check_history_version(wrong), std::invalid_argument) << wrong;
        belay::RuntimeOptions options;
        options.hub = "app";
        options.history_version = wrong;
        EXPECT_THROW(belay::Runtime runtime(options), std::invalid_argument) << wrong;
    }
}

std::chrono::nanoseconds test_time{1};

Durable<std::string> works_long(Context ctx, std::string) {
    std::string text;
    for (int i = 0; i < 5; ++i) {
        test_time += i == 3 ? 300ms : 100ms;
        text = co_await ctx.call(step, text);
    }
    co_return text;
}

// LT-8: each resumption is timed on its own, those of a replay too: a long history is not slow
// code.
TEST(Turn, SlowResumption) {
    belay::engine::Resumptions resumptions(250ms, [] { return test_time; });
    Driver d;
    d.options.verify = false;
    d.resumptions = &resumptions;
    std::vector<belay::RuntimeEvent> slow;
    d.options.hook = [&](const belay::RuntimeEvent& event) {
        if (event.kind == belay::RuntimeEvent::Kind::kSlow) {
            slow.push_back(event);
        }
    };
    d.registry.on(code, &works_long);
    d.turn({start("Code", "x")});
    d.turn({completed(2, "")});
    d.turn({completed(4, "")});  // Replays: 300 ms in three resumptions.
    EXPECT_TRUE(slow.empty());
    d.turn({completed(6, "")});
    ASSERT_EQ(slow.size(), 1u);
    EXPECT_EQ(slow[0].name, "Code");
    EXPECT_EQ(slow[0].event_id, 7);
    EXPECT_EQ(slow[0].text, "the code held its thread for 300 ms");
    EXPECT_FALSE(resumptions.running());
    EXPECT_EQ(resumptions.total(), 100ms + 200ms + 300ms + 600ms);
}

constexpr belay::OrchestrationOf<void(int)> silent{"Silent"};

Durable<std::monostate> counts_down(Context ctx, int n) {
    co_await ctx.sleep(1h);
    if (n > 0) {
        co_return ctx.continue_as_new(n - 1);
    }
    co_return std::monostate{};
}

// SB-3: an orchestration without a result continues as new, too.
TEST(Turn, ContinueAsNewWithoutResult) {
    belay::testing::World world;
    world.on(silent, &counts_down);
    auto started = world.start(silent, 2, "s");
    started.result();
    EXPECT_EQ(started.state().execution_id, 3);
    EXPECT_EQ(started.state().output, "");
}

// HI-1: gaps are legal. An element may be a string that holds the event.
TEST(Turn, GapsAndStrings) {
    Driver d;
    d.registry.on(code, &two_steps);
    d.turn({start("Code", "x")});
    d.edit(2, {{"event_id", 9}});
    d.history[1] = json(d.history[1]).dump();
    EXPECT_EQ(d.turn({completed(9, "y")}), "ActivityCompleted,ActivityScheduled");
    EXPECT_EQ(d.event(0).at("event_id"), 10);
}

// TU-6: what the code does not see ends the instance with the same details.
TEST(Turn, InfrastructureEnds) {
    Driver d;
    d.registry.on(code, &two_steps);
    d.turn({start("Code", "x")});
    const json details = {
        {"Infrastructure", {{"operation", "disk"}, {"message", "full"}, {"retryable", true}}}};
    EXPECT_EQ(d.turn({outcome("ActivityFailed", 2, {{"details", details}})}),
              "ActivityFailed,OrchestrationFailed");
    EXPECT_EQ(d.event(1).at("details"), details);
    EXPECT_EQ(d.metadata().at("output"), "infrastructure:disk: full");
}

// PY-3: an input that cannot be decoded.
TEST(Turn, WrongInput) {
    Driver d;
    d.registry.on(number, &echo_number);
    EXPECT_EQ(d.turn({start("Number", "seven")}), "OrchestrationStarted,OrchestrationFailed");
    EXPECT_EQ(d.event(1).at("details").at("Application").at("kind"), "OrchestrationFailed");
    EXPECT_NE(d.metadata().at("output").get<std::string>().find("int: seven"), std::string::npos);
    Driver good;
    good.registry.on(number, &echo_number);
    good.turn({start("Number", " 7 ")});
    EXPECT_EQ(good.metadata().at("output"), "7");
}

// TU-3: an event that starts an instance names it; ending the corrupt instance does not need it.
TEST(Turn, StartWithoutInstance) {
    for (const std::size_t id : {std::size_t{4}, std::size_t{8}}) {
        for (const json& instance : {json(nullptr), json("")}) {
            Driver d;
            d.registry.on(code, &all_kinds);
            d.turn({start("Code", "x")});
            ASSERT_EQ(d.stored(4).at("type"), "SubOrchestrationScheduled");
            ASSERT_EQ(d.stored(8).at("type"), "OrchestrationChained");
            d.edit(id, {{"instance", instance}});
            EXPECT_EQ(d.turn({completed(2, "y")}), "given back");
            EXPECT_EQ(d.last.kind, Kind::kCorrupt);
            EXPECT_NE(d.last.text.find("event " + std::to_string(id)), std::string::npos);
            EXPECT_EQ(d.turn({completed(2, "y")}, 11), "OrchestrationFailed");
            for (const std::string& item : d.last.decision.orchestrator_items) {
                EXPECT_NE(json::parse(item).at("CancelInstance").at("instance"), "") << item;
            }
        }
    }
}

// TU-3: a failure has details; without them its event could not be written.
TEST(Turn, FailureWithoutDetails) {
    for (const json& fields : {json::object(), json{{"details", nullptr}}}) {
        Driver d;
        d.options.verify = false;  // It would find out, too.
        d.registry.on(code, &all_kinds);
        d.turn({start("Code", "x")});
        EXPECT_EQ(d.turn({outcome("ActivityFailed", 2, fields)}), "given back");
        EXPECT_EQ(d.last.kind, Kind::kCorrupt);
        json answer = json::parse(child_failed(4, {}));
        answer.at("SubOrchFailed").erase("details");
        answer.at("SubOrchFailed").update(fields);
        EXPECT_EQ(d.turn({answer.dump()}), "given back");
        EXPECT_EQ(d.last.kind, Kind::kCorrupt);
    }
}

Durable<std::string> child_without_id(Context ctx, std::string input) {
    EXPECT_THROW(static_cast<void>(ctx.call(child, input, belay::CallOptions().instance(""))),
                 std::invalid_argument);
    co_return "";
}

TEST(Turn, ChildHasAnId) {
    Driver d;
    d.registry.on(code, &child_without_id);
    EXPECT_EQ(d.turn({start("Code", "x")}), "OrchestrationStarted,OrchestrationCompleted");
}

Durable<std::string> throws_bytes(Context ctx, std::string input) {
    if (input == "cancel") {
        throw belay::Cancelled("no UTF-8: \xff");
    }
    co_await ctx.sleep(0s);
    throw std::runtime_error("no UTF-8: \xff, \xc3(");
}

// PY-5: the server takes UTF-8 only; what an exception says may be anything.
TEST(Turn, TextOfExceptionIsNoUtf8) {
    Driver d;
    d.registry.on(code, &throws_bytes);
    d.turn({start("Code", "x")});
    EXPECT_EQ(d.turn({fired(2)}), "TimerFired,OrchestrationFailed");
    EXPECT_EQ(d.metadata().at("output"), "no UTF-8: \uFFFD, \uFFFD(");
    EXPECT_EQ(d.event(1).at("details").at("Application").at("message"),
              "no UTF-8: \uFFFD, \uFFFD(");
    Driver cancelled;
    cancelled.registry.on(code, &throws_bytes);
    cancelled.turn({start("Code", "cancel")});
    EXPECT_EQ(cancelled.metadata().at("output"), "canceled: no UTF-8: \uFFFD");
}

// RY-8: subscriptions that are served at once ask for more; there is an end to that.
TEST(Turn, RoundsHaveAnEnd) {
    Driver d;
    d.options.verify = false;
    d.registry.on(code, &asks_for_ever);
    std::vector<std::string> messages{start("Code")};
    for (int i = 0; i < 900; ++i) {
        messages.push_back(queued("q", "m"));
    }
    d.turn(messages);
    EXPECT_FALSE(d.last.ended);
    EXPECT_EQ(d.last.decision.events.size(), 1u + 900 + 2 * 901);
    Driver more;
    more.options.verify = false;
    more.registry.on(code, &asks_for_ever);
    for (int i = 0; i < 300; ++i) {
        messages.push_back(queued("q", "m"));
    }
    more.turn(messages);
    EXPECT_TRUE(more.last.ended);
    EXPECT_NE(more.metadata().at("output").get<std::string>().find("1000 rounds"),
              std::string::npos);
}

// EN-2, SB-1: a parent gets one answer, addressed with its execution.
TEST(Turn, AnswersParent) {
    Driver d;
    d.registry.on(code, &at_once);
    json message = json::parse(start("Code", "x"));
    message["StartOrchestration"].update(
        {{"parent_instance", "p"}, {"parent_id", 4}, {"parent_execution_id", 3}});
    d.turn({message.dump()});
    EXPECT_EQ(d.event(0).at("parent_execution_id"), 3);
    EXPECT_EQ(d.metadata().at("parent_instance_id"), "p");
    EXPECT_EQ(d.item(0), json::parse(R"({"SubOrchCompleted":{"parent_instance":"p",
        "parent_execution_id":3,"parent_id":4,"result":"got x"}})"));
}

// TA-2, ND-3: a turn that begins an execution and is failed by the runtime begins it first.
TEST(Turn, FailureOfFirstTurn) {
    const std::string begin = start("Code", "x");
    belay::engine::TurnRequest request;
    request.instance_id = "ord-7";
    request.messages = {begin};
    const auto end = belay::engine::end_of_infrastructure("ack", "refused");
    auto decision = belay::engine::failure_of_turn(request, end, {}, "1.2.0");
    ASSERT_EQ(decision.events.size(), 2u);
    json started = json::parse(decision.events[0].text);
    EXPECT_EQ(started.at("type"), "OrchestrationStarted");
    EXPECT_EQ(started.at("version"), "1.2.0");
    EXPECT_EQ(json::parse(decision.events[1].text).at("event_id"), 2);
    EXPECT_EQ(json::parse(decision.metadata).at("orchestration_name"), "Code");
    EXPECT_EQ(json::parse(decision.metadata).at("pinned_duroxide_version").at("minor"), 1);

    // The next execution, of a child.
    const std::string first = decision.events[0].text;
    json closed = json::parse(decision.events[1].text);
    closed.erase("details");
    closed["type"] = "OrchestrationContinuedAsNew";
    closed["input"] = "y";
    const std::string last = closed.dump();
    const std::string next = json{{"ContinueAsNew",
                                   {{"instance", "ord-7"},
                                    {"orchestration", "Code"},
                                    {"input", "y"},
                                    {"version", nullptr},
                                    {"carry_forward_events", json::array()},
                                    {"parent_instance", "parent"},
                                    {"parent_id", 4},
                                    {"parent_execution_id", 3}}}}
                                 .dump();
    request.history = {first, last};
    request.messages = {next};
    decision = belay::engine::failure_of_turn(request, end, {}, "1.3.0");
    EXPECT_EQ(decision.execution_id, 2);
    ASSERT_EQ(decision.events.size(), 2u);
    started = json::parse(decision.events[0].text);
    EXPECT_EQ(started.at("event_id"), 1);
    EXPECT_EQ(started.at("execution_id"), 2);
    const json answer = json::parse(decision.orchestrator_items.at(0)).at("SubOrchFailed");
    EXPECT_EQ(answer.at("parent_instance"), "parent");
    EXPECT_EQ(answer.at("parent_execution_id"), 3);
}

}  // namespace
