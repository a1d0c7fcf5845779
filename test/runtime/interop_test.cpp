// Histories in the form that duroxide applications write them, replayed by the same orchestrations
// in C++. They follow the stored form of duroxide 0.1.26 to 0.1.30, and are written by hand: fields
// that older versions do not have are absent, cancellations at the end follow the terminal event,
// and keys come in another order than belay writes them.
#include <sstream>

#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "driver.hpp"

namespace {

using namespace std::chrono_literals;
using belay::Call;
using belay::Context;
using belay::Durable;
using belay::OnCancel;
using belay::OrchestrationOptions;
using nlohmann::json;

constexpr belay::ActivityOf<std::string(std::string)> work{"Work"};
constexpr belay::OrchestrationOf<std::string(std::string)> flow{"Flow"};
constexpr belay::OrchestrationOf<std::string(std::string)> part{"Part"};

using Code = Durable<std::string> (*)(Context, std::string);

// Events of an execution: "KIND [SOURCE] {FIELDS}", one per line.
std::vector<std::string> events(const std::string& version, const std::string& lines,
                                int execution = 1) {
    std::vector<std::string> texts;
    std::istringstream in(lines);
    std::string line;
    while (std::getline(in, line)) {
        if (line.find_first_not_of(' ') == std::string::npos) {
            continue;
        }
        std::istringstream words(line);
        std::string kind;
        words >> kind >> std::ws;
        json event = {{"type", kind},
                      {"event_id", texts.size() + 1},
                      {"source_event_id", nullptr},
                      {"instance_id", "r-1"},
                      {"execution_id", execution},
                      {"timestamp_ms", 1800000000000 + texts.size()},
                      {"duroxide_version", version}};
        if (std::isdigit(words.peek()) != 0) {
            int source = 0;
            words >> source >> std::ws;
            event["source_event_id"] = source;
        }
        std::string fields;
        std::getline(words, fields);
        if (!fields.empty()) {
            event.update(json::parse(fields));
        }
        texts.push_back(event.dump());
    }
    return texts;
}

belay::testing::ReplayReport replay(const std::vector<std::string>& history, Code code,
                                    OrchestrationOptions options = {}) {
    belay::testing::Replayer replayer;
    replayer.on(flow, code, std::move(options));
    json document = json::array();
    for (const std::string& event : history) {
        document.push_back(json::parse(event));
    }
    const auto tortured = replayer.torture(document.dump());
    EXPECT_TRUE(tortured.ok) << tortured.text;
    return replayer.replay(document.dump());
}

// ---- The twins. ----

Durable<std::string> all_kinds(Context ctx, std::string input) {
    ctx.set_status("working");
    ctx.set("k", std::string("v"));
    ctx.clear("k");
    ctx.clear_all();
    ctx.start(part, "detached", "d");
    std::string now = co_await ctx.call_text("__duroxide_syscall:utc_now_ms", "");
    auto activity = ctx.call(work, input, belay::CallOptions().session("s").tag("gpu"));
    auto timer = ctx.sleep(1s);
    auto child = ctx.call(part, "c");
    auto event = ctx.event<std::string>("go");
    auto message = ctx.dequeue<std::string>("q");
    std::string a = co_await std::move(activity);
    co_await std::move(timer);
    std::string c = co_await std::move(child);
    std::string e = co_await std::move(event);
    std::string m = co_await std::move(message);
    ctx.clear_status();
    co_return a + c + e + m;
}

const char* const kAllKinds = R"(
    OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"i","parent_instance":null,"parent_id":null}
    CustomStatusUpdated {"status":"working"}
    KeyValueSet {"key":"k","value":"v"}
    KeyValueCleared {"key":"k"}
    KeyValuesCleared
    OrchestrationChained {"name":"Part","instance":"detached","input":"d"}
    ActivityScheduled {"name":"__duroxide_syscall:utc_now_ms","input":""}
    ActivityCompleted 7 {"result":"1800000000000"}
    ActivityScheduled {"name":"Work","input":"i","session_id":"s","tag":"gpu"}
    TimerCreated {"fire_at_ms":1800000001000}
    SubOrchestrationScheduled {"name":"Part","instance":"sub::11","input":"c"}
    ExternalSubscribed {"name":"go"}
    ExternalSubscribedPersistent {"name":"q"}
    ExternalEventPersistent {"name":"q","data":"4"}
    ActivityCompleted 9 {"result":"1"}
    ExternalEvent {"name":"go","data":"3"}
    SubOrchestrationCompleted 11 {"result":"2"}
    TimerFired 10 {"fire_at_ms":1800000001000}
    CustomStatusUpdated {"status":null}
    OrchestrationCompleted {"output":"1234"}
)";

// DX-4: every kind, of every version; whole, and up to each turn.
TEST(DuroxideHistories, AllKinds) {
    for (const char* version : {"0.1.26", "0.1.27", "0.1.28", "0.1.29", "0.1.30"}) {
        const auto report = replay(events(version, kAllKinds), &all_kinds);
        EXPECT_TRUE(report.ok) << report.text;
        EXPECT_TRUE(report.ended);
        EXPECT_EQ(report.events, 20u);
    }
    // A kind that is not known is corrupt.
    auto unknown = events("0.1.30", kAllKinds);
    json invented = json::parse(unknown[4]);
    invented["type"] = "Invented";
    unknown[4] = invented.dump();
    belay::testing::Replayer replayer;
    replayer.on(flow, &all_kinds);
    json document = json::array();
    for (const std::string& event : unknown) {
        document.push_back(json::parse(event));
    }
    const auto report = replayer.replay(document.dump());
    EXPECT_FALSE(report.ok);
    EXPECT_EQ(report.text, "unrecognized event type \"Invented\"");
}

Durable<std::string> saga(Context ctx, std::string input) {
    std::string receipt = co_await ctx.call(work, input);
    auto parcel = ctx.call(work, "ship");
    auto deadline = ctx.sleep(1h);
    auto won = co_await belay::when_any(std::move(parcel), std::move(deadline));
    if (won.index() == 1) {
        std::string undone = co_await ctx.call(work, "refund");
        throw belay::Failure("late");
    }
    co_return std::get<0>(won);
}

// DX-5: the loser of a race is cancelled; the instance fails.
TEST(DuroxideHistories, SagaAfterItsDeadline) {
    const auto report = replay(events("0.1.28", R"(
        OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"charge","parent_instance":null,"parent_id":null}
        ActivityScheduled {"name":"Work","input":"charge"}
        ActivityCompleted 2 {"result":"r"}
        ActivityScheduled {"name":"Work","input":"ship"}
        TimerCreated {"fire_at_ms":1800003600000}
        TimerFired 5 {"fire_at_ms":1800003600000}
        ActivityScheduled {"name":"Work","input":"refund"}
        ActivityCancelRequested 4 {"reason":"dropped_future"}
        ActivityCompleted 7 {"result":"ok"}
        OrchestrationFailed {"details":{"Application":{"kind":"OrchestrationFailed","message":"late","retryable":false}}}
    )"),
                               &saga);
    EXPECT_TRUE(report.ok) << report.text;
    EXPECT_TRUE(report.ended);
}

Durable<std::string> fan_out(Context ctx, std::string) {
    std::vector<Call<std::string>> calls;
    for (int i = 0; i < 3; ++i) {
        calls.push_back(ctx.call(work, std::to_string(i)));
    }
    auto ends = co_await belay::when_all_settled(std::move(calls));
    std::string text;
    for (const auto& end : ends) {
        text += end.ok() ? end.value() : "!";
    }
    co_return text;
}

// DX-5: results in another order than the calls, and one failure.
TEST(DuroxideHistories, FanOutWithAFailure) {
    const auto report = replay(events("0.1.27", R"(
        OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"","parent_instance":null,"parent_id":null}
        ActivityScheduled {"name":"Work","input":"0"}
        ActivityScheduled {"name":"Work","input":"1"}
        ActivityScheduled {"name":"Work","input":"2"}
        ActivityCompleted 4 {"result":"c"}
        ActivityFailed 3 {"details":{"Application":{"kind":"ActivityFailed","message":"no","retryable":false}}}
        ActivityCompleted 2 {"result":"a"}
        OrchestrationCompleted {"output":"a!c"}
    )"),
                               &fan_out);
    EXPECT_TRUE(report.ok) << report.text;
}

Durable<std::string> retries(Context ctx, std::string input) {
    std::string text = co_await ctx.retry(work, input, belay::Retry(3).backoff(100ms));
    co_return text;
}

// DX-5: an activity and a timer per attempt.
TEST(DuroxideHistories, Retries) {
    const auto report = replay(events("0.1.29", R"(
        OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"i","parent_instance":null,"parent_id":null}
        ActivityScheduled {"name":"Work","input":"i"}
        ActivityFailed 2 {"details":{"Application":{"kind":"ActivityFailed","message":"busy","retryable":true}}}
        TimerCreated {"fire_at_ms":1800000000100}
        TimerFired 4 {"fire_at_ms":1800000000100}
        ActivityScheduled {"name":"Work","input":"i"}
        ActivityCompleted 6 {"result":"done"}
        OrchestrationCompleted {"output":"done"}
    )"),
                               &retries);
    EXPECT_TRUE(report.ok) << report.text;
}

Durable<std::string> waits(Context ctx, std::string input) {
    auto timer = ctx.sleep(1h);
    std::string text = co_await ctx.call(work, input);
    co_return text;
}

// DX-2, DX-5: a cancelled instance ends with the turn, and its cancellations follow the end.
TEST(DuroxideHistories, Cancelled) {
    const auto report = replay(events("0.1.30", R"(
        OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"i","parent_instance":null,"parent_id":null}
        TimerCreated {"fire_at_ms":1800003600000}
        ActivityScheduled {"name":"Work","input":"i"}
        OrchestrationCancelRequested {"reason":"user"}
        OrchestrationFailed {"details":{"Application":{"kind":{"Cancelled":{"reason":"user"}},"message":"","retryable":false}}}
        ActivityCancelRequested 3 {"reason":"orchestration_terminal_failed"}
    )"),
                               &waits, OrchestrationOptions().on_cancel(OnCancel::kTerminate));
    EXPECT_TRUE(report.ok) << report.text;
    EXPECT_TRUE(report.ended);
}

Durable<std::string> rounds(Context ctx, std::string round) {
    std::string message = co_await ctx.dequeue<std::string>("q");
    if (message == "stop") {
        co_return round;
    }
    co_return ctx.continue_as_new(std::to_string(std::stoi(round) + 1));
}

// DX-5: an actor loop with messages that are carried into the next execution, and a child's parent.
TEST(DuroxideHistories, ContinueAsNew) {
    std::vector<std::string> history = events("0.1.30", R"(
        OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"1","parent_instance":"p","parent_id":4}
        ExternalSubscribedPersistent {"name":"q"}
        ExternalEventPersistent {"name":"q","data":"go"}
        ExternalEventPersistent {"name":"q","data":"stop"}
        OrchestrationContinuedAsNew {"input":"2"}
    )");
    for (std::string& event : events("0.1.30", R"(
        OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"2","parent_instance":"p","parent_id":4,"carry_forward_events":[["q","stop"]],"parent_execution_id":1}
        ExternalEventPersistent {"name":"q","data":"stop"}
        ExternalSubscribedPersistent {"name":"q"}
        OrchestrationCompleted {"output":"2"}
    )",
                                     2)) {
        history.push_back(std::move(event));
    }
    const auto report = replay(history, &rounds);
    EXPECT_TRUE(report.ok) << report.text;
    EXPECT_TRUE(report.ended);
}

// DX-1: an instance that a duroxide application has begun continues with C++ code.
TEST(DuroxideHistories, GoesOn) {
    driver::Driver d;
    d.registry.on(flow, &saga);
    d.history = events("0.1.26", R"(
        OrchestrationStarted {"name":"Flow","version":"1.0.0","input":"charge","parent_instance":null,"parent_id":null}
        ActivityScheduled {"name":"Work","input":"charge"}
    )");
    EXPECT_EQ(d.turn({driver::completed(2, "r")}),
              "ActivityCompleted,ActivityScheduled,TimerCreated");
    EXPECT_EQ(d.turn({driver::completed(4, "parcel")}), "ActivityCompleted,OrchestrationCompleted");
    EXPECT_EQ(d.metadata().at("output"), "parcel");
}

}  // namespace
