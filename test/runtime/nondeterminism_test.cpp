// Code that differs from its history is stopped, with a text that says where.
#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "driver.hpp"

namespace {

using namespace driver;
using namespace std::chrono_literals;
using belay::Context;
using belay::Durable;
using Kind = belay::engine::TurnResult::Kind;

constexpr belay::ActivityOf<std::string(json)> charge{"Charge"};
constexpr belay::ActivityOf<std::string(json)> check{"Check"};
constexpr belay::ActivityOf<std::string(json)> ship{"Ship"};
constexpr belay::OrchestrationOf<std::string(json)> child{"Child"};
constexpr belay::OrchestrationOf<std::string(json)> saga{"OrderSaga", "1.2.0"};

// One decision of each kind after a first call.
Durable<std::string> original(Context ctx, json order) {
    std::string receipt = co_await ctx.call(charge, order);
    auto shipped = ctx.call(ship, order, belay::CallOptions().tag("t").session("s"));
    auto timer = ctx.sleep(1s);
    auto event = ctx.event<int>("go");
    auto message = ctx.dequeue<int>("q");
    auto generated = ctx.call(child, order);
    auto named = ctx.call(child, order, belay::CallOptions().instance("c"));
    ctx.start(child, "d", order);
    ctx.set_status("s");
    ctx.set("k", 1);
    ctx.clear("k");
    ctx.clear_all();
    std::string done = co_await std::move(shipped);
    co_return done;
}

Durable<std::string> adds_call(Context ctx, json order) {
    std::string receipt = co_await ctx.call(charge, order);
    std::string verdict = co_await ctx.call(check, order);
    std::string shipped = co_await ctx.call(ship, order);
    co_return shipped;
}

Durable<std::string> adds_at_end_of_turn(Context ctx, json order) {
    auto receipt = ctx.call(charge, order);
    auto more = ctx.call(check, order);
    std::string text = co_await std::move(receipt);
    std::string verdict = co_await std::move(more);
    co_return text;
}

Durable<std::string> just_charge(Context ctx, json order) {
    std::string receipt = co_await ctx.call(charge, order);
    co_return receipt;
}

Durable<std::string> charge_and_ship(Context ctx, json order) {
    std::string receipt = co_await ctx.call(charge, order);
    std::string shipped = co_await ctx.call(ship, order);
    co_return shipped;
}

Durable<std::string> waits_longer(Context ctx, json order) {
    std::string receipt = co_await ctx.call(charge, order);
    std::string shipped = co_await ctx.event<std::string>("never");
    co_return shipped;
}

Durable<std::string> other_input(Context ctx, json order) {
    order["lines"][1]["cents"] = 8;
    std::string receipt = co_await ctx.call(charge, order);
    co_return receipt;
}

Durable<std::string> drops(Context ctx, json order) {
    {
        auto shipped = ctx.call(ship, order);
        std::string receipt = co_await ctx.call(charge, order);
    }
    co_await ctx.sleep(1h);
    co_return "";
}

Durable<std::string> keeps(Context ctx, json order) {
    auto shipped = ctx.call(ship, order);
    std::string receipt = co_await ctx.call(charge, order);
    co_await ctx.sleep(1h);
    co_return "";
}

Durable<std::string> other_delay(Context ctx, json) {
    co_await ctx.sleep(5h);
    co_return "";
}

Durable<std::string> some_delay(Context ctx, json) {
    co_await ctx.sleep(1h);
    co_return "";
}

constexpr const char* kOrder = R"({"cents":100,"id":"ord-7","lines":[{"cents":1},{"cents":7}]})";

using Code = Durable<std::string> (*)(Context, json);

// Runs `before` for two turns, then `after` on its history.
Driver changed(Code before, Code after, int turns = 2) {
    Driver d;
    d.registry.on(saga, before);
    d.turn({start("OrderSaga", kOrder)});
    if (turns > 1) {
        d.turn({completed(2, "r1")});
    }
    d.registry = {};
    d.registry.on(saga, after);
    return d;
}

// ND-1: the whole text.
TEST(Nondeterminism, Text) {
    Driver d = changed(&charge_and_ship, &adds_call);
    EXPECT_EQ(d.turn({completed(4, "s")}), "given back");
    EXPECT_EQ(d.last.kind, Kind::kNondeterministic);
    const std::string order = kOrder;
    EXPECT_EQ(d.last.text,
              "nondeterministic: event 4 of ord-7, execution 1 (OrderSaga 1.2.0)\n"
              "  the history has: ActivityScheduled \"Ship\" " +
                  order +
                  "\n"
                  "  the code wants:  ActivityScheduled \"Check\" " +
                  order +
                  "\n"
                  "  before that:     event 3 ActivityCompleted of event 2 \"Charge\"\n"
                  "  likely:          a call was added before \"Ship\"; see ctx.version()");
}

// RY-3: each field that must be equal, changed once.
TEST(Nondeterminism, EachField) {
    struct Change {
        std::size_t id;
        json change;
        bool differs;
    };
    const std::vector<Change> changes = {
        {4, {{"name", "Other"}}, true},
        {4, {{"input", "{}"}}, true},
        {4, {{"tag", "u"}}, true},
        {4, {{"tag", nullptr}}, true},
        {4, {{"session_id", "u"}}, true},
        {5, {{"fire_at_ms", 77}}, false},
        {6, {{"name", "other"}}, true},
        {7, {{"name", "other"}}, true},
        {8, {{"name", "Other"}}, true},
        {8, {{"input", "{}"}}, true},
        {8, {{"instance", "sub::77"}}, false},
        {9, {{"instance", "e"}}, true},
        {10, {{"name", "Other"}}, true},
        {10, {{"instance", "e"}}, true},
        {10, {{"input", "{}"}}, true},
        {11, {{"status", "other"}}, false},
        {12, {{"key", "l"}}, true},
        {12, {{"value", "2"}}, true},
        {12, {{"last_updated_at_ms", 5}}, false},
        {13, {{"key", "l"}}, true},
        {14, {{"type", "KeyValueCleared"}, {"key", "k"}}, true},
        {4, {{"type", "TimerCreated"}, {"fire_at_ms", 5}}, true},
        {5, {{"type", "ActivityScheduled"}, {"name", "Ship"}, {"input", ""}}, true},
        {6, {{"type", "ExternalSubscribedPersistent"}}, true},
    };
    for (const auto& change : changes) {
        Driver d = changed(&original, &original);
        ASSERT_EQ(d.history.size(), 14u);
        d.edit(change.id, change.change);
        const std::string delta = d.turn({completed(4, "done")});
        EXPECT_EQ(delta == "given back", change.differs) << change.id << " " << change.change;
        if (change.differs) {
            EXPECT_NE(d.last.text.find("the history has: "), std::string::npos);
            EXPECT_NE(d.last.text.find("the code wants:  "), std::string::npos);
            EXPECT_NE(d.last.text.find("event " + std::to_string(change.id) + " of"),
                      std::string::npos);
        }
    }
}

// ND-2: where only the input differs, the path.
TEST(Nondeterminism, PathOfInput) {
    Driver d = changed(&just_charge, &other_input, 1);
    EXPECT_EQ(d.turn({completed(2, "r")}), "given back");
    EXPECT_NE(d.last.text.find("\n  they differ at:  /lines/1/cents\n"), std::string::npos)
        << d.last.text;
}

// RY-6: more at the end of a stored turn.
TEST(Nondeterminism, AddedAtTheEndOfTurn) {
    Driver d = changed(&just_charge, &adds_at_end_of_turn, 1);
    EXPECT_EQ(d.turn({completed(2, "r")}), "given back");
    EXPECT_NE(d.last.text.find("event 3 of ord-7"), std::string::npos);
    EXPECT_NE(d.last.text.find("the history has: nothing more"), std::string::npos);
}

// RY-7: less.
TEST(Nondeterminism, Removed) {
    Driver d = changed(&charge_and_ship, &just_charge);
    EXPECT_EQ(d.turn({completed(4, "s")}), "given back");
    EXPECT_NE(d.last.text.find("the code wants:  nothing, it has returned"), std::string::npos);
    Driver w = changed(&adds_at_end_of_turn, &just_charge, 1);
    EXPECT_EQ(w.turn({completed(2, "s")}), "given back");
    EXPECT_NE(w.last.text.find("the code wants:  nothing, it waits for event 2 \"Charge\""),
              std::string::npos)
        << w.last.text;
    Driver kind = changed(&charge_and_ship, &waits_longer);
    EXPECT_EQ(kind.turn({completed(4, "s")}), "given back");
    EXPECT_NE(kind.last.text.find("the code wants:  ExternalSubscribed \"never\""),
              std::string::npos);
}

Durable<std::string> no_delay(Context ctx, json) {
    const auto not_awaited = ctx.sleep(1h);
    co_return "early";
}

Durable<std::string> takes_number(Context ctx, int) {
    co_await ctx.sleep(1h);
    co_return "";
}

constexpr belay::OrchestrationOf<std::string(int)> saga_of_number{"OrderSaga", "1.2.0"};

// RY-7: the code ends where the stored execution still waits. A timer that is dropped tells
// nothing.
TEST(Nondeterminism, ReturnsEarlier) {
    Driver d = changed(&some_delay, &no_delay, 1);
    EXPECT_EQ(d.turn({fired(2)}), "given back");
    EXPECT_EQ(d.last.event_id, 3);
    EXPECT_EQ(d.last.text,
              "nondeterministic: event 3 of ord-7, execution 1 (OrderSaga 1.2.0)\n"
              "  the history has: nothing more\n"
              "  the code wants:  OrchestrationCompleted early\n"
              "  before that:     event 2 TimerCreated\n"
              "  likely:          the code returns earlier than it did; see ctx.version()");
    belay::testing::Replayer replayer;
    replayer.on(saga, &no_delay);
    const std::string history = "[" + d.history.at(0) + "," + d.history.at(1) + "]";
    EXPECT_FALSE(replayer.replay(history).ok);
    // With its activity dropped, too, the return is the difference, not the drop.
    Driver kept = changed(&keeps, &no_delay, 1);
    EXPECT_EQ(kept.turn({completed(3, "r")}), "given back");
    // An input that the new code cannot read would fail the instance.
    Driver typed = changed(&some_delay, &some_delay, 1);
    typed.registry = {};
    typed.registry.on(saga_of_number, &takes_number);
    typed.history.resize(1);
    EXPECT_EQ(typed.turn({cancel("user")}), "given back");
    EXPECT_NE(typed.last.text.find("the code wants:  OrchestrationFailed"), std::string::npos)
        << typed.last.text;
}

Durable<std::string> shielded(Context ctx, json) {
    const belay::CancelShield shield = ctx.shield();
    co_await ctx.sleep(1h);
    co_return "";
}

// CX-5: how a cancel is taken is an option. If it is changed, an instance that continues after its
// cancel ends with its next turn: that is no difference of the code.
TEST(Nondeterminism, CancelTerminatesFromNowOn) {
    Driver d;
    d.registry.on(saga, &shielded);
    d.turn({start("OrderSaga", kOrder)});
    EXPECT_EQ(d.turn({cancel("user")}), "OrchestrationCancelRequested");
    d.registry = {};
    d.registry.on(saga, &shielded,
                  belay::OrchestrationOptions().on_cancel(belay::OnCancel::kTerminate));
    EXPECT_EQ(d.turn({fired(2)}), "TimerFired,OrchestrationFailed");
    EXPECT_EQ(d.metadata().at("output"), "canceled: user");
}

// RY-5: drops that differ.
TEST(Nondeterminism, Drops) {
    Driver d = changed(&drops, &keeps);
    EXPECT_EQ(d.turn({fired(5)}), "given back");  // no such decision in its history
    Driver dropped;
    dropped.registry.on(saga, &drops);
    dropped.turn({start("OrderSaga", kOrder)});
    EXPECT_EQ(dropped.turn({completed(3, "r")}),
              "ActivityCompleted,TimerCreated,ActivityCancelRequested");
    dropped.registry = {};
    dropped.registry.on(saga, &keeps);
    EXPECT_EQ(dropped.turn({fired(5)}), "given back");
    EXPECT_NE(dropped.last.text.find("the code wants:  to keep the call of event 2"),
              std::string::npos);
    Driver kept;
    kept.registry.on(saga, &keeps);
    kept.turn({start("OrderSaga", kOrder)});
    EXPECT_EQ(kept.turn({completed(3, "r")}), "ActivityCompleted,TimerCreated");
    kept.registry = {};
    kept.registry.on(saga, &drops);
    EXPECT_EQ(kept.turn({fired(5)}), "given back");
    EXPECT_NE(kept.last.text.find("the code wants:  to drop the call of event 2"),
              std::string::npos);
}

// TU-5: outcomes without a decision, of another kind, for a closed one.
TEST(Nondeterminism, Outcomes) {
    Driver d = changed(&charge_and_ship, &charge_and_ship);
    EXPECT_EQ(d.turn({completed(77, "s")}), "given back");
    EXPECT_NE(d.last.text.find("no call that is event 77"), std::string::npos);
    EXPECT_EQ(d.turn({fired(4)}), "given back");
    EXPECT_NE(d.last.text.find("the history has: TimerFired of event 4"), std::string::npos);
    EXPECT_EQ(d.turn({child_completed(4, "s")}), "given back");
    d.history.push_back(json{
        {"event_id", 5},
        {"source_event_id", 2},
        {"timestamp_ms", 1},
        {"type", "ActivityFailed"},
        {"details",
         json::object()}}.dump());
    EXPECT_EQ(d.turn({completed(4, "s")}), "given back");
    EXPECT_NE(d.last.text.find("which has its outcome"), std::string::npos);
}

// ND-3, ND-4: blocked unharmed, and on with the old code; or failed.
TEST(Nondeterminism, BlockAndFail) {
    Driver d = changed(&charge_and_ship, &adds_call);
    const auto before = d.history;
    EXPECT_EQ(d.turn({completed(4, "s")}), "given back");
    EXPECT_EQ(d.history, before);
    d.registry = {};
    d.registry.on(saga, &charge_and_ship);
    EXPECT_EQ(d.turn({completed(4, "s")}), "ActivityCompleted,OrchestrationCompleted");
    Driver f = changed(&charge_and_ship, &adds_call);
    f.options.on_nondeterminism = belay::OnNondeterminism::kFail;
    EXPECT_EQ(f.turn({completed(4, "s")}), "ActivityCancelRequested,OrchestrationFailed");
    const json details = f.event(1).at("details").at("Configuration");
    EXPECT_EQ(details.at("kind"), "Nondeterminism");
    EXPECT_EQ(f.metadata().at("output").get<std::string>().find("nondeterministic: event 4"), 0u);
    EXPECT_EQ(f.last.decision.cancelled_activities, std::vector<std::int64_t>{4});
}

Durable<std::string> waits_for_messages(Context ctx, json order) {
    auto taken = ctx.event<int>("go");
    auto open = ctx.event<int>("go");
    auto taken_message = ctx.dequeue<int>("q");
    auto open_message = ctx.dequeue<int>("q");
    std::vector<belay::Call<int>> dropped;
    dropped.push_back(ctx.event<int>("go"));
    dropped.push_back(ctx.dequeue<int>("q"));
    auto child_call = ctx.call(child, order);
    std::string receipt = co_await ctx.call(charge, order);
    dropped.clear();
    auto shipped = ctx.call(ship, order);
    std::string done = co_await std::move(shipped);
    co_return done;
}

// An instance of it whose first event and message have come, and the times of its ends.
Driver waiting_for_messages(std::vector<belay::RuntimeEvent>& ends) {
    Driver d;
    d.registry.on(saga, &waits_for_messages);
    EXPECT_EQ(d.turn({start("OrderSaga", kOrder)}),
              "OrchestrationStarted,ExternalSubscribed,ExternalSubscribed,"
              "ExternalSubscribedPersistent,ExternalSubscribedPersistent,ExternalSubscribed,"
              "ExternalSubscribedPersistent,SubOrchestrationScheduled,ActivityScheduled");
    d.now_ms = 5000;
    EXPECT_EQ(d.turn({completed(9, "r"), raised("go", "1"), queued("q", "1")}),
              "ActivityCompleted,ExternalEvent,ExternalEventPersistent,ActivityScheduled,"
              "ExternalSubscribedCancelled,ExternalSubscribedPersistentCancelled");
    d.options.hook = [&ends](const belay::RuntimeEvent& event) {
        if (event.kind == belay::RuntimeEvent::Kind::kEnded) {
            ends.push_back(event);
        }
    };
    d.now_ms = 3000;  // The clock goes back.
    return d;
}

// CX-7, HI-2: an end that the code has no part in closes all that is open, not before the last
// event that is stored, and is told once.
TEST(Nondeterminism, FailureClosesWhatIsOpen) {
    std::vector<belay::RuntimeEvent> ends;
    Driver d = waiting_for_messages(ends);
    d.registry = {};
    d.registry.on(saga, &just_charge);
    d.options.on_nondeterminism = belay::OnNondeterminism::kFail;
    EXPECT_EQ(d.turn({completed(13, "s")}),
              "ExternalSubscribedCancelled,ExternalSubscribedPersistentCancelled,"
              "ActivityCancelRequested,OrchestrationFailed");
    const std::vector<std::pair<int, std::string>> breadcrumbs = {
        {3, "orchestration_terminal"},
        {5, "orchestration_terminal"},
        {13, "orchestration_terminal_failed"}};
    for (std::size_t i = 0; i < breadcrumbs.size(); ++i) {
        EXPECT_EQ(d.event(i).at("source_event_id"), breadcrumbs[i].first);
        EXPECT_EQ(d.event(i).at("reason"), breadcrumbs[i].second);
    }
    for (std::size_t i = 0; i < d.last.decision.events.size(); ++i) {
        EXPECT_EQ(d.event(i).at("timestamp_ms"), 5000);
        EXPECT_EQ(d.event(i).at("event_id"), 16 + i);
    }
    EXPECT_EQ(d.last.decision.cancelled_activities, std::vector<std::int64_t>{13});
    EXPECT_EQ(d.item(0).at("CancelInstance").at("instance"), "ord-7::sub::8");
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].name, "OrderSaga");
    EXPECT_EQ(ends[0].version, "1.2.0");
    EXPECT_EQ(ends[0].event_id, 19);
    EXPECT_EQ(ends[0].text, d.metadata().at("output"));
}

// TU-3, HI-2: so does poison, whose only event is 99999.
TEST(Nondeterminism, PoisonClosesWhatIsOpen) {
    std::vector<belay::RuntimeEvent> ends;
    Driver d = waiting_for_messages(ends);
    EXPECT_EQ(d.turn({"{}"}, 10), "given back");
    EXPECT_TRUE(ends.empty());
    EXPECT_EQ(d.turn({"{}"}, 11), "OrchestrationFailed");
    EXPECT_EQ(d.event(0).at("event_id"), 99999);
    EXPECT_EQ(d.event(0).at("timestamp_ms"), 5000);
    EXPECT_EQ(d.last.decision.cancelled_activities, std::vector<std::int64_t>{13});
    EXPECT_EQ(d.item(0).at("CancelInstance").at("instance"), "ord-7::sub::8");
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].event_id, 99999);
}

// ND-1: the hook and what a World throws name the event, as the text does.
TEST(Nondeterminism, TellsTheEvent) {
    for (const auto policy : {belay::OnNondeterminism::kBlock, belay::OnNondeterminism::kFail}) {
        Driver d = changed(&charge_and_ship, &adds_call);
        d.options.on_nondeterminism = policy;
        std::vector<std::int64_t> told;
        d.options.hook = [&](const belay::RuntimeEvent& event) {
            if (event.kind == belay::RuntimeEvent::Kind::kNondeterministic) {
                told.push_back(event.event_id);
            }
        };
        d.turn({completed(4, "s")});
        EXPECT_EQ(told, std::vector<std::int64_t>{4});
    }
    belay::testing::World world;
    world.on(charge, [](json) { return std::string("r"); });
    world.on(saga, &charge_and_ship);
    world.start(saga, json::parse(kOrder), "i");
    world.step();
    belay::Registry registry;
    registry.on(saga, &other_input);
    world.deploy(std::move(registry));
    try {
        world.settle();
        FAIL();
    } catch (const belay::Nondeterminism& difference) {
        EXPECT_EQ(difference.event_id(), 2);
    }
}

// RY-3: another delay is legal.
TEST(Nondeterminism, Delays) {
    Driver d = changed(&some_delay, &other_delay, 1);
    EXPECT_EQ(d.turn({fired(2)}), "TimerFired,OrchestrationCompleted");
}

template <int kChange>
Durable<std::string> legal_changes(Context ctx, json) {
    ctx.set_status(kChange == 1 ? "waits" : "waiting");
    co_await ctx.sleep(kChange == 2 ? 2s : 1s);
    co_return kChange == 3 ? "woken" : "woke";
}

// RY-3: changed delays, status texts and outputs are legal; a replayer that is strict reports them.
TEST(Nondeterminism, Strict) {
    Driver d;
    d.registry.on(saga, &legal_changes<0>);
    d.turn({start("OrderSaga", "{}")});
    d.turn({fired(3)});
    std::string history = "[";
    for (const std::string& event : d.history) {
        history += (history.size() > 1 ? "," : "") + event;
    }
    history += "]";
    const auto report = [&](Code changed, bool strict) {
        belay::testing::Replayer replayer;
        replayer.on(saga, changed);
        if (strict) {
            replayer.strict();
        }
        return replayer.replay(history);
    };
    for (const Code changed : {&legal_changes<1>, &legal_changes<2>, &legal_changes<3>}) {
        EXPECT_TRUE(report(changed, false).ok);
    }
    EXPECT_TRUE(report(&legal_changes<0>, true).ok);
    const std::vector<std::pair<Code, std::int64_t>> where{
        {&legal_changes<1>, 2}, {&legal_changes<2>, 3}, {&legal_changes<3>, 5}};
    for (const auto& [changed, event] : where) {
        const auto found = report(changed, true);
        EXPECT_FALSE(found.ok);
        EXPECT_EQ(found.event_id, event) << found.text;
    }
}

int impure = 0;

Durable<std::string> impure_code(Context ctx, json order) {
    order["n"] = ++impure;
    std::string receipt = co_await ctx.call(charge, order);
    co_return receipt;
}

// LT-9: code that differs from itself is found before anything is stored.
TEST(Nondeterminism, VerifyReplay) {
    Driver d;
    d.registry.on(saga, &impure_code);
    EXPECT_EQ(d.turn({start("OrderSaga", "{}")}), "given back");
    EXPECT_EQ(d.last.kind, Kind::kNondeterministic);
}

}  // namespace
