// Cancellation of calls and of instances.
#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "driver.hpp"

namespace {

using namespace driver;
using namespace std::chrono_literals;
using belay::Call;
using belay::Cancelled;
using belay::Context;
using belay::Durable;

constexpr belay::ActivityOf<std::string(std::string)> step{"Step"};
constexpr belay::OrchestrationOf<std::string(std::string)> child{"Child"};
constexpr belay::OrchestrationOf<std::string(std::string)> code{"Code"};

using Code = Durable<std::string> (*)(Context, std::string);

Driver started(Code function, bool cached = false, belay::OrchestrationOptions options = {}) {
    Driver d;
    d.cached = cached;
    d.registry.on(code, function, std::move(options));
    d.turn({start("Code", "x")});
    return d;
}

// A race of each kind; the timer wins.
Durable<std::string> race(Context ctx, std::string input) {
    auto activity = ctx.call(step, input);
    auto orchestration = ctx.call(child, input);
    auto event = ctx.event<int>("go");
    auto message = ctx.dequeue<int>("q");
    auto other_timer = ctx.sleep(1h);
    auto timer = ctx.sleep(1s);
    auto won =
        co_await belay::when_any(std::move(activity), std::move(orchestration), std::move(event),
                                 std::move(message), std::move(other_timer), std::move(timer));
    std::string after = co_await ctx.call(step, std::to_string(won.index()));
    co_return after;
}

// CX-1, HI-4: losers of a race, each once.
TEST(CancelCall, LosersOfRace) {
    for (const bool cached : {false, true}) {
        Driver d = started(&race, cached);
        EXPECT_EQ(d.turn({fired(7)}),
                  "TimerFired,ActivityScheduled,ActivityCancelRequested,"
                  "SubOrchestrationCancelRequested,ExternalSubscribedCancelled,"
                  "ExternalSubscribedPersistentCancelled");
        EXPECT_EQ(d.event(1).at("input"), "5");
        EXPECT_EQ(d.event(2).at("source_event_id"), 2);
        EXPECT_EQ(d.event(2).at("reason"), "dropped_future");
        EXPECT_EQ(d.last.decision.cancelled_activities, std::vector<std::int64_t>{2});
        ASSERT_EQ(d.last.decision.orchestrator_items.size(), 1u);
        EXPECT_EQ(d.item(0), json::parse(R"({"CancelInstance":{"instance":"ord-7::sub::3",
            "reason":"parent dropped sub-orchestration future"}})"));
        // CX-3: late outcomes are written and ignored. Nothing is sent again.
        EXPECT_EQ(d.turn({completed(2, "late"), child_completed(3, "late"), raised("go", "1"),
                          queued("q", "1"), fired(6)}),
                  "ActivityCompleted,SubOrchestrationCompleted,ExternalEvent,"
                  "ExternalEventPersistent,TimerFired");
        EXPECT_TRUE(d.last.decision.cancelled_activities.empty());
        EXPECT_TRUE(d.last.decision.orchestrator_items.empty());
        EXPECT_EQ(d.turn({completed(9, "end")}), "ActivityCompleted,OrchestrationCompleted");
    }
}

Durable<std::string> drops_at_once(Context ctx, std::string input) {
    {
        auto dropped = ctx.call(step, "dropped");
        auto overwritten = ctx.call(step, "overwritten");
        overwritten = ctx.call(step, input);
        std::string text = co_await std::move(overwritten);
    }
    auto held = ctx.call(step, "held");
    co_return "end";
}

// CX-2: dropped in the turn in which it was asked for. EN-1: out of scope at the return.
TEST(CancelCall, DroppedInItsTurn) {
    Driver d = started(&drops_at_once);
    ASSERT_EQ(d.last.decision.events.size(), 5u);
    EXPECT_EQ(d.last.decision.worker_items.size(), 3u);
    EXPECT_EQ(d.event(4).at("type"), "ActivityCancelRequested");
    EXPECT_EQ(d.event(4).at("source_event_id"), 3);
    EXPECT_EQ(d.last.decision.cancelled_activities, std::vector<std::int64_t>{3});
    EXPECT_EQ(d.turn({completed(4, "done")}),
              "ActivityCompleted,ActivityScheduled,ActivityCancelRequested,"
              "ActivityCancelRequested,OrchestrationCompleted");
    EXPECT_TRUE(d.last.decision.worker_items.empty());
    EXPECT_EQ(d.last.decision.cancelled_activities, (std::vector<std::int64_t>{2, 7}));
}

struct Holder {
    std::shared_ptr<std::vector<Call<std::string>>> calls =
        std::make_shared<std::vector<Call<std::string>>>();
};
Holder holder;

Durable<std::string> leaves_open(Context ctx, std::string input) {
    holder.calls->push_back(ctx.call(step, input));
    holder.calls->push_back(ctx.call(child, input));
    holder.calls->push_back(ctx.event<std::string>("e"));
    holder.calls->push_back(ctx.dequeue<std::string>("q"));
    co_await ctx.sleep(1s);
    co_return "end";
}

// CX-7: what is open at the end, however it is held. Handles may outlive the instance.
TEST(CancelCall, OpenAtTheEnd) {
    {
        Driver d;
        d.cached = true;
        d.options.verify = false;
        d.registry.on(code, &leaves_open);
        d.turn({start("Code", "x")});
        EXPECT_EQ(d.turn({fired(6)}),
                  "TimerFired,ActivityCancelRequested,ExternalSubscribedCancelled,"
                  "ExternalSubscribedPersistentCancelled,OrchestrationCompleted");
        EXPECT_EQ(d.event(1).at("reason"), "orchestration_terminal_completed");
        EXPECT_EQ(d.event(2).at("reason"), "orchestration_terminal");
        EXPECT_EQ(d.item(0).at("CancelInstance").at("instance"), "ord-7::sub::3");
    }
    holder.calls->clear();
}

int destroyed = 0;

struct AsksWhenDestroyed {
    Context ctx;
    explicit AsksWhenDestroyed(Context given) : ctx(given) {}
    ~AsksWhenDestroyed() {
        ++destroyed;
        ctx.set_status("destroyed");
        auto dropped = ctx.call(step, "never");
    }
};

Durable<std::string> asks_in_destructor(Context ctx, std::string input) {
    AsksWhenDestroyed guard(ctx);
    auto held = ctx.call(step, "held");
    std::string text = co_await ctx.call(step, input);
    co_return text;
}

// CX-4: destroying frames asks for nothing.
TEST(CancelCall, TeardownAsksNothing) {
    destroyed = 0;
    Driver d = started(&asks_in_destructor, true);
    const auto before = d.history;
    d.crash();
    EXPECT_GE(destroyed, 1);
    EXPECT_EQ(d.history, before);
    EXPECT_EQ(d.turn({completed(3, "y")}).find("ActivityCompleted,CustomStatusUpdated"), 0u);

    // They are counted: a status, a call and three drops.
    belay::testing::World world;
    world.cache(belay::testing::CacheMode::kOn);
    world.on(code, &asks_in_destructor);
    world.on(step, [](std::string) { return std::string(); });
    world.start(code, "x", "i");
    world.step();
    EXPECT_EQ(world.stats().teardown_actions, 0u);
    world.crash();
    EXPECT_EQ(world.stats().teardown_actions, 4u);
}

Durable<std::string> waits(Context ctx, std::string) {
    try {
        std::string text = co_await ctx.call(step, "wait");
        co_return text;
    } catch (const Cancelled& cancelled) {
        ctx.set_status("stopping: " + cancelled.reason());
    }
    EXPECT_TRUE(ctx.cancelled());
    EXPECT_EQ(ctx.cancel_reason(), "user");
    std::string undone = co_await ctx.call(step, "undo");  // later waits are not affected
    co_return "stopped";
}

// CX-5: cooperative; the end is the code's decision.
TEST(CancelInstance, Cooperative) {
    for (const bool cached : {false, true}) {
        Driver d = started(&waits, cached);
        EXPECT_EQ(d.turn({cancel("user"), cancel("user")}),
                  "OrchestrationCancelRequested,CustomStatusUpdated,ActivityScheduled,"
                  "ActivityCancelRequested");
        EXPECT_EQ(d.last.dropped.duplicate, 1u);
        EXPECT_EQ(d.turn({completed(5, "u")}), "ActivityCompleted,OrchestrationCompleted");
    }
}

// TU-7: a second cancel ends it at once.
TEST(CancelInstance, SecondCancel) {
    Driver d = started(&waits);
    d.turn({cancel("user")});
    EXPECT_EQ(d.turn({cancel("now")}),
              "OrchestrationCancelRequested,ActivityCancelRequested,OrchestrationFailed");
    EXPECT_EQ(d.metadata().at("output"), "canceled: now");
}

// CX-5: terminate, as duroxide does.
TEST(CancelInstance, Terminate) {
    Driver d = started(&waits, false,
                       belay::OrchestrationOptions().on_cancel(belay::OnCancel::kTerminate));
    EXPECT_EQ(d.turn({cancel("user")}),
              "OrchestrationCancelRequested,ActivityCancelRequested,OrchestrationFailed");
    EXPECT_EQ(d.event(2).at("details"),
              json::parse(R"({"Application":{"kind":{"Cancelled":{"reason":"user"}},"message":"",
                              "retryable":false}})"));
}

Durable<std::string> uncaught(Context ctx, std::string) {
    std::string text = co_await ctx.call(child, "c");
    co_return text;
}

// PY-5, CX-7: Cancelled that leaves the code; children are cancelled with their parent.
TEST(CancelInstance, Uncaught) {
    Driver d = started(&uncaught);
    EXPECT_EQ(d.turn({cancel("user")}),
              "OrchestrationCancelRequested,SubOrchestrationCancelRequested,OrchestrationFailed");
    EXPECT_EQ(d.metadata().at("output"), "canceled: user");
    EXPECT_EQ(d.item(0).at("CancelInstance").at("instance"), "ord-7::sub::2");
}

// CX-8: in one batch, in either order.
TEST(CancelInstance, BeforeTheStart) {
    for (const bool first : {true, false}) {
        Driver d;
        d.registry.on(code, &waits);
        const auto begin = start("Code", "x");
        const auto end = cancel("user");
        EXPECT_EQ(d.turn(first ? std::vector{end, begin} : std::vector{begin, end}),
                  "OrchestrationStarted,OrchestrationCancelRequested,ActivityScheduled,"
                  "CustomStatusUpdated,ActivityScheduled,ActivityCancelRequested");
    }
}

Durable<std::string> shielded_helper(Context ctx, std::string name) {
    const belay::CancelShield shield = ctx.shield();
    std::string text = co_await ctx.call(step, name);
    co_return text;
}

Durable<std::string> shielded(Context ctx, std::string) {
    std::string text = co_await shielded_helper(ctx, "guarded");
    try {
        std::string next = co_await ctx.call(step, "after");
        co_return next;
    } catch (const Cancelled&) {
        co_return "cancelled after " + text;
    }
}

// CX-6: deferred to the next wait after the shield.
TEST(CancelInstance, Shield) {
    for (const bool cached : {false, true}) {
        Driver d = started(&shielded, cached);
        EXPECT_EQ(d.turn({cancel("user")}), "OrchestrationCancelRequested");
        EXPECT_EQ(d.turn({completed(2, "guarded")}),
                  "ActivityCompleted,ActivityScheduled,ActivityCancelRequested,"
                  "OrchestrationCompleted");
        EXPECT_EQ(d.metadata().at("output"), "cancelled after guarded");
    }
}

Durable<std::string> logs_cancel(Context ctx, std::string name) {
    try {
        std::string text = co_await ctx.call(step, name);
        co_return text;
    } catch (const Cancelled&) {
    }
    ctx.set_status("cancelled " + name);
    co_return name;
}

Durable<std::string> group_of_coroutines(Context ctx, std::string) {
    auto call = ctx.call(step, "direct");
    try {
        auto all = co_await belay::when_all(logs_cancel(ctx, "a"), shielded_helper(ctx, "b"),
                                            std::move(call), logs_cancel(ctx, "c"));
        co_return "all";
    } catch (const Cancelled&) {
        co_return "cancelled";
    }
}

// CX-5 in groups: coroutines get it at their own waits, in the order of the calls; a shielded one
// continues, and the group ends after it.
TEST(CancelInstance, GroupOfCoroutines) {
    for (const bool cached : {false, true}) {
        Driver d = started(&group_of_coroutines, cached);
        EXPECT_EQ(d.turn({cancel("user")}),
                  "OrchestrationCancelRequested,CustomStatusUpdated,CustomStatusUpdated,"
                  "ActivityCancelRequested,ActivityCancelRequested");
        EXPECT_EQ(d.event(1).at("status"), "cancelled a");
        EXPECT_EQ(d.event(2).at("status"), "cancelled c");
        EXPECT_EQ(d.turn({completed(4, "b")}),
                  "ActivityCompleted,ActivityCancelRequested,OrchestrationCompleted");
        EXPECT_EQ(d.metadata().at("output"), "cancelled");
    }
}

Durable<std::string> group_of_calls(Context ctx, std::string) {
    std::vector<Call<std::string>> calls;
    calls.push_back(ctx.call(step, "a"));
    calls.push_back(ctx.call(step, "b"));
    try {
        auto all = co_await belay::when_all_settled(std::move(calls));
        co_return "settled";
    } catch (const Cancelled&) {
        co_return "cancelled";
    }
}

TEST(CancelInstance, GroupOfCalls) {
    Driver d = started(&group_of_calls);
    EXPECT_EQ(d.turn({cancel("user")}),
              "OrchestrationCancelRequested,ActivityCancelRequested,ActivityCancelRequested,"
              "OrchestrationCompleted");
    EXPECT_EQ(d.metadata().at("output"), "cancelled");
}

// Waits for what its input names.
Durable<std::string> waits_for(Context ctx, std::string what) {
    try {
        if (what == "activity") {
            std::string text = co_await ctx.call(step, what);
        } else if (what == "child") {
            std::string text = co_await ctx.call(child, what);
        } else if (what == "timer") {
            co_await ctx.sleep(1h);
        } else if (what == "event") {
            std::string text = co_await ctx.event<std::string>(what);
        } else if (what == "queue") {
            std::string text = co_await ctx.dequeue<std::string>(what);
        } else if (what == "retry") {
            std::string text = co_await ctx.retry(step, what, belay::Retry(3));
        } else if (what == "attempt") {
            auto settled = co_await belay::attempt(ctx.call(step, what));
            co_return settled.ok() ? "ok" : settled.error().what();
        }
    } catch (const Cancelled& cancelled) {
        co_return "cancelled: " + cancelled.reason();
    }
    co_return "not cancelled";
}

// CX-5: for everything that can be waited for, in both modes; with terminate the code has no say.
TEST(CancelInstance, WaitsOfEachKind) {
    for (const char* what : {"activity", "child", "timer", "event", "queue", "retry", "attempt"}) {
        for (const bool cached : {false, true}) {
            SCOPED_TRACE(what);
            Driver d;
            d.cached = cached;
            d.registry.on(code, &waits_for);
            d.turn({start("Code", what)});
            d.turn({cancel("user")});
            EXPECT_TRUE(d.last.ended);
            EXPECT_EQ(d.metadata().at("status"), "Completed");
            EXPECT_EQ(d.metadata().at("output"),
                      std::string(what) == "attempt" ? "canceled: user" : "cancelled: user");
            Driver t;
            t.cached = cached;
            t.registry.on(code, &waits_for,
                          belay::OrchestrationOptions().on_cancel(belay::OnCancel::kTerminate));
            t.turn({start("Code", what)});
            t.turn({cancel("user")});
            EXPECT_EQ(t.metadata().at("status"), "Failed");
            EXPECT_EQ(t.metadata().at("output"), "canceled: user");
        }
    }
}

Durable<std::string> compensates(Context ctx, std::string input) {
    belay::Saga saga(ctx);
    saga.undo_with(step, "undo 1");
    saga.undo_with(step, "undo 2");
    auto result = co_await belay::attempt(ctx.call(step, input));
    co_await saga.compensate();
    try {
        co_await ctx.sleep(1s);
    } catch (const Cancelled&) {
        co_return "cancelled after compensation";
    }
    co_return "compensated";
}

// CX-6: a cancel that comes while compensation runs is seen after it; newest step first.
TEST(CancelInstance, InCompensation) {
    for (const bool cached : {false, true}) {
        Driver d = started(&compensates, cached);
        EXPECT_EQ(d.turn({failed(2, "no", false)}), "ActivityFailed,ActivityScheduled");
        EXPECT_EQ(d.event(1).at("input"), "undo 2");
        EXPECT_EQ(d.turn({cancel("user")}), "OrchestrationCancelRequested");
        EXPECT_EQ(d.turn({completed(4, "")}), "ActivityCompleted,ActivityScheduled");
        EXPECT_EQ(d.event(1).at("input"), "undo 1");
        EXPECT_EQ(d.turn({completed(7, "")}),
                  "ActivityCompleted,TimerCreated,OrchestrationCompleted");
        EXPECT_EQ(d.metadata().at("output"), "cancelled after compensation");
    }
}

Durable<std::string> asks_child(Context ctx, std::string input) {
    auto result = co_await belay::attempt(ctx.call(child, input));
    if (result.ok()) {
        co_return result.value();
    }
    co_return std::string("child: ") + result.error().what();
}

Durable<std::string> child_waits(Context ctx, std::string) {
    std::string text = co_await ctx.event<std::string>("go");
    co_return text;
}

Durable<std::string> next_round(Context ctx, std::string round) {
    if (round == "1") {
        co_return ctx.continue_as_new(std::string("2"));
    }
    std::string text = co_await ctx.event<std::string>("go");
    co_return text;
}

// Of a child alone, of a parent with its child, and after continue-as-new. CX-7
TEST(CancelInstance, FamiliesAndRounds) {
    belay::testing::World world;
    world.on(code, &asks_child);
    world.on(child, &child_waits);
    auto alone = world.start(code, "x", "p1");
    auto parent = world.start(code, "x", "p2");
    world.settle();
    world.cancel("p1::sub::2", "not wanted");
    EXPECT_EQ(alone.result(), "child: canceled: not wanted");
    EXPECT_EQ(world.state("p1::sub::2").output, "canceled: not wanted");
    parent.cancel("user");
    world.settle();
    EXPECT_EQ(parent.state().output, "child: canceled: user");
    EXPECT_EQ(world.state("p2::sub::2").status, "Failed");
    // After the end nothing happens any more.
    parent.cancel("late");
    world.settle();
    EXPECT_EQ(parent.state().output, "child: canceled: user");

    belay::testing::World rounds;
    rounds.on(code, &next_round);
    auto round = rounds.start(code, "1", "r");
    rounds.settle();
    EXPECT_EQ(round.state().execution_id, 2);
    round.cancel("user");
    EXPECT_THROW(round.result(), Cancelled);
}

Durable<std::string> first_ready(Context ctx, std::string) {
    std::vector<Call<std::string>> calls;
    for (const char* name : {"a", "b", "c"}) {
        calls.push_back(ctx.call(step, name));
    }
    std::string order;
    while (!calls.empty()) {
        const std::size_t index = co_await belay::any_ready(calls);
        auto ready = std::move(calls[index]);
        calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(index));
        auto result = co_await belay::attempt(std::move(ready));
        order += result.ok() ? result.value() : std::string("!") + result.error().what();
    }
    co_return order;
}

// any_ready takes and cancels nothing.
TEST(Groups, AnyReady) {
    for (const bool cached : {false, true}) {
        Driver d = started(&first_ready, cached);
        EXPECT_EQ(d.turn({completed(4, "C")}), "ActivityCompleted");
        EXPECT_EQ(d.turn({failed(2, "A"), completed(3, "B")}),
                  "ActivityFailed,ActivityCompleted,OrchestrationCompleted");
        EXPECT_EQ(d.metadata().at("output"), "C!AB");
    }
}

template <bool kTry>
Durable<std::string> both(Context ctx, std::string) {
    std::vector<Call<std::string>> calls;
    calls.push_back(ctx.call(step, "a"));
    calls.push_back(ctx.call(step, "b"));
    if constexpr (kTry) {
        auto all = co_await belay::try_all(std::move(calls));
        co_return all[0] + all[1];
    } else {
        auto all = co_await belay::when_all(std::move(calls));
        co_return all[0] + all[1];
    }
}

// when_all waits for all and throws the first failure by index; try_all throws the first in time.
TEST(Groups, AllAndTry) {
    Driver all = started(&both<false>);
    EXPECT_EQ(all.turn({failed(3, "b")}), "ActivityFailed");
    EXPECT_EQ(all.turn({failed(2, "a")}), "ActivityFailed,OrchestrationFailed");
    EXPECT_EQ(all.metadata().at("output"), "a");
    Driver tried = started(&both<true>);
    EXPECT_EQ(tried.turn({failed(3, "b")}),
              "ActivityFailed,ActivityCancelRequested,OrchestrationFailed");
    EXPECT_EQ(tried.metadata().at("output"), "b");
    Driver good = started(&both<true>);
    good.turn({completed(3, "b"), completed(2, "a")});
    EXPECT_EQ(good.metadata().at("output"), "ab");
}

}  // namespace
