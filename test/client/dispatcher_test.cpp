// Turns, element by element without a server, and the dispatcher's loop on a real one.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <set>

#include "belay/dispatcher.hpp"
#include "belay/worker.hpp"
#include "server.hpp"
#include "turn_elements.hpp"

namespace belay::test {
namespace {

using std::chrono::seconds;

// ---- Elements. ----

std::vector<std::string> texts(const std::vector<TurnElement>& elements) {
    std::vector<std::string> texts;
    for (const auto& element : elements) {
        texts.push_back(element.text);
    }
    return texts;
}

TEST(TurnElements, AreSplitAsTheyAreSpelt) {
    EXPECT_TRUE(elements_of_array("[]").empty());
    EXPECT_TRUE(elements_of_array(" [ \n ] ").empty());
    EXPECT_EQ(texts(elements_of_array(R"([{"a":[1,{"b":"],}\"["}]} , 1.50,
        null,{ }])")),
              (std::vector<std::string>{R"({"a":[1,{"b":"],}\"["}]})", "1.50", "null", "{ }"}));
    // A backslash before the quote that ends a string.
    EXPECT_EQ(texts(elements_of_array(R"([{"a":"x\\"},{"b":2}])")),
              (std::vector<std::string>{R"({"a":"x\\"})", R"({"b":2})"}));
}

// JS-3: a string element holds the text of an element, which is JSON or else corrupt.
TEST(TurnElements, AreDecodedOnceMore) {
    const auto elements =
        elements_of_array(R"(["{\"a\":\"\\u0000\"}", "no JSON", "\"text\"", {"b":1}, ""])");
    ASSERT_EQ(elements.size(), 5u);
    EXPECT_EQ(elements[0].text, R"({"a":"\u0000"})");
    EXPECT_FALSE(elements[0].corrupt);
    EXPECT_EQ(elements[1].text, "no JSON");
    EXPECT_TRUE(elements[1].corrupt);
    // Once more, and no further.
    EXPECT_EQ(elements[2].text, R"("text")");
    EXPECT_FALSE(elements[2].corrupt);
    EXPECT_FALSE(elements[3].corrupt);
    EXPECT_TRUE(elements[4].corrupt);
}

TEST(TurnElements, MayBeNestedDeeply) {
    const std::string deep = std::string(7000, '[') + std::string(7000, ']');
    const auto elements = elements_of_array("[\"" + deep + "\"," + deep + "]");
    ASSERT_EQ(elements.size(), 2u);
    EXPECT_EQ(elements[0].text, deep);
    EXPECT_FALSE(elements[0].corrupt);
    EXPECT_EQ(elements[1].text, deep);
}

TEST(TurnElements, ComeInAnArray) {
    for (const char* text : {"", "[", "{}", "null", "[1"}) {
        EXPECT_THROW(elements_of_array(text), Error) << text;
    }
}

// ---- The loop. ----

NewEvent event(std::int64_t id, const std::string& type, const std::string& more = "") {
    return {.event_id = id, .event_data = R"({"type":")" + type + "\"" + more + "}"};
}

class ClientDispatcher : public WithServer {
 protected:
    using Kind = DispatcherEvent::Kind;

    DispatcherOptions dispatcher_options() {
        DispatcherOptions made{.connection = options(), .hub = "app"};
        made.drain_timeout = Milliseconds(20000);
        made.retry_delay = Milliseconds(10);
        made.on_event = [this](const DispatcherEvent& told) {
            const std::lock_guard lock(mutex_);
            ++events_[told.kind];
        };
        return made;
    }

    int events(Kind kind) {
        const std::lock_guard lock(mutex_);
        return events_[kind];
    }

    // Ends the instance with its first turn.
    static Decision ended(const TurnContext& turn, const std::string& output) {
        Decision decision = turn.decision();
        decision.history_delta = {event(1, "OrchestrationStarted")};
        decision.metadata = R"({"orchestration_name":")" + turn.name() +
                            R"(","orchestration_version":"1.0.0","status":"Completed","output":")" +
                            output + "\"}";
        return decision;
    }

    void start(int count, const std::string& name = "O") {
        for (int i = 0; i < count; ++i) {
            hub_.start_orchestration(name, "", {.instance_id = name + std::to_string(i)});
        }
    }

    std::size_t completed() { return hub_.list_instances_by_status("Completed").size(); }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    std::mutex mutex_;
    std::map<Kind, int> events_;
};

TEST_F(ClientDispatcher, SharesSlotsWithOthers) {
    Admin(connection_).set_hub_option("app", "slot_count", "8");
    auto options = dispatcher_options();
    options.share_slots = true;
    options.slot_lease = Milliseconds(600);
    const auto shares = [&] {
        return connection_
            .exec(
                "SELECT string_agg(slots::text, ' ' ORDER BY slots) FROM (SELECT count(*) AS slots "
                "FROM app.slot_leases GROUP BY owner) AS s")
            .get<OptionalText>(0, 0)
            .value_or("none");
    };
    const auto end_at_once = [&](TurnContext& turn) {
        return TurnOutcome::decided(ended(turn, "ok"));
    };
    {
        Dispatcher first(options);
        Dispatcher second(options);
        first.on("", end_at_once);
        second.on("", end_at_once);
        Running one(first);
        {
            Running two(second);
            ASSERT_TRUE(wait_until([&] { return shares() == "4 4"; })) << shares();
            start(40, "Both");
            ASSERT_TRUE(wait_until([&] { return completed() == 40; }));
        }
        // What one gives back the other takes, with all that waits there.
        start(40, "One");
        ASSERT_TRUE(wait_until([&] { return completed() == 80; }));
        EXPECT_EQ(shares(), "8");
    }
    EXPECT_EQ(shares(), "none");
    options.slots = std::vector<std::int32_t>{1};
    EXPECT_THROW(Dispatcher{options}, Error);
}

TEST_F(ClientDispatcher, DecidesManyTurnsOnFewConnections) {
    const int count = 200;
    start(count);
    auto options = dispatcher_options();
    options.concurrency = 6;
    options.connection.conninfo += " application_name=belay_dispatcher_test";
    Dispatcher dispatcher(options);
    std::atomic<int> runs = 0;
    std::atomic<int> wrong = 0;
    dispatcher.on("O", [&](TurnContext& turn) {
        ++runs;
        wrong += turn.attempt() != 1 || turn.execution_id() != 1 || !turn.history().empty() ||
                 turn.messages().size() != 1 || turn.corrupt() || turn.kv_snapshot() != "{}" ||
                 turn.messages()[0].text.find("StartOrchestration") == std::string::npos;
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return completed() == count; }));
    EXPECT_LE(connection_
                  .exec("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
                        {"belay_dispatcher_test"})
                  .get<int>(0, 0),
              3);
    // What comes later is not waited for in a loop.
    start(1, "Late");
    dispatcher.stop();
    running.end();
    EXPECT_EQ(runs, count);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(events(Kind::kDecided), count);
    EXPECT_EQ(events(Kind::kError), 0);
}

TEST_F(ClientDispatcher, WaitsForWhatComesLater) {
    Dispatcher dispatcher(dispatcher_options());
    dispatcher.on("", [&](TurnContext& turn) { return TurnOutcome::decided(ended(turn, "ok")); });
    Running running(dispatcher);
    std::this_thread::sleep_for(Milliseconds(200));
    hub_.start_orchestration("Now", "", {.instance_id = "now"});
    EXPECT_TRUE(wait_until([&] { return completed() == 1; }, seconds(20)));
    hub_.start_orchestration("Soon", "", {.instance_id = "soon", .delay = Milliseconds(300)});
    EXPECT_TRUE(wait_until([&] { return completed() == 2; }, seconds(20)));
}

// With a worker: an activity's completion is the second turn, which sees the first in its history.
TEST_F(ClientDispatcher, TakesTurnsWithAWorker) {
    Dispatcher dispatcher(dispatcher_options());
    dispatcher.on("Double", [](TurnContext& turn) {
        Decision decision = turn.decision();
        if (turn.history().empty()) {
            decision.history_delta = {event(1, "OrchestrationStarted"),
                                      event(2, "ActivityScheduled")};
            decision.worker_items = {R"({"ActivityExecute":{"instance":")" + turn.instance_id() +
                                     R"(","execution_id":1,"id":2,"name":"Double","input":"21"}})"};
            decision.metadata =
                R"({"orchestration_name":"Double","orchestration_version":"1.0.0"})";
        } else if (turn.history().size() == 2 &&
                   turn.messages()[0].text.find(R"("result":"42")") != std::string::npos) {
            decision.history_delta = {event(3, "ActivityCompleted", R"(,"result":"42")")};
            decision.metadata = R"({"status":"Completed","output":"42"})";
        } else {
            throw std::runtime_error("an odd turn: " + turn.messages()[0].text);
        }
        return TurnOutcome::decided(decision);
    });
    Worker worker({.connection = options(), .hub = "app"});
    worker.on("Double", [](Activity& activity) {
        return Outcome::completed(std::to_string(2 * std::stoi(activity.input())));
    });
    Running deciding(dispatcher);
    Running working(worker);
    for (int i = 0; i < 20; ++i) {
        hub_.start_orchestration("Double", "", {.instance_id = "d" + std::to_string(i)});
    }
    ASSERT_TRUE(wait_until([&] { return completed() == 20; }));
    deciding.end();
    EXPECT_EQ(hub_.get_instance_info("d7")->output, "42");
    EXPECT_EQ(events(Kind::kDecided), 40);
    EXPECT_EQ(events(Kind::kRetried), 0);
}

TEST_F(ClientDispatcher, GivesBackWhatFails) {
    start(1, "Throws");
    start(1, "Refused");
    start(1, "Later");
    start(1, "Lies");
    start(1, "Nobodys");
    auto options = dispatcher_options();
    Dispatcher dispatcher(options);
    std::mutex mutex;
    std::map<std::string, std::vector<int>> attempts;
    const auto note = [&](const TurnContext& turn) {
        const std::lock_guard lock(mutex);
        attempts[turn.name()].push_back(turn.attempt());
        return attempts[turn.name()].size();
    };
    dispatcher.on("Throws", [&](TurnContext& turn) -> TurnOutcome {
        if (note(turn) < 3) {
            throw std::runtime_error("no luck");
        }
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    dispatcher.on("Refused", [&](TurnContext& turn) {
        Decision decision = ended(turn, "ok");
        if (note(turn) == 1) {
            decision.metadata = R"({"status": "Perhaps"})";
        }
        return TurnOutcome::decided(decision);
    });
    dispatcher.on("Later", [&](TurnContext& turn) {
        return note(turn) < 3 ? TurnOutcome::retry(Milliseconds(5), true)
                              : TurnOutcome::decided(ended(turn, "ok"));
    });
    dispatcher.on("Lies", [&](TurnContext& turn) {
        return note(turn) == 1 ? TurnOutcome::settled() : TurnOutcome::decided(ended(turn, "ok"));
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return completed() == 4 && events(Kind::kNoHandler) > 0; }));
    running.end();
    EXPECT_EQ(attempts["Throws"], (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(attempts["Refused"], (std::vector<int>{1, 2}));
    EXPECT_EQ(attempts["Later"], (std::vector<int>{1, 1, 1}));
    EXPECT_EQ(attempts["Lies"], (std::vector<int>{1, 2}));
    EXPECT_EQ(events(Kind::kRetried), 4);
    EXPECT_EQ(events(Kind::kError), 2);
}

TEST_F(ClientDispatcher, WritesWithTheAck) {
    connection_.exec("CREATE TABLE effects (a text)");
    start(1);
    Dispatcher dispatcher(dispatcher_options());
    dispatcher.on("O", [](TurnContext& turn) {
        turn.ack_with(
            [&](Connection& own) {
                own.exec("INSERT INTO effects VALUES ($1)", {turn.instance_id()});
            },
            ended(turn, "ok"));
        return TurnOutcome::settled();
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return completed() == 1; }));
    running.end();
    EXPECT_EQ(connection_.exec("SELECT a FROM effects").get<std::string>(0, 0), "O0");
    connection_.exec("DROP TABLE effects");
}

// JS-3, on a server: a stored text that jsonb cannot hold comes as a string.
TEST_F(ClientDispatcher, ReportsWhatIsCorrupt) {
    start(1);
    const auto turn = hub_.fetch_orchestration_item({});
    ASSERT_TRUE(turn);
    hub_.ack_orchestration_item(
        turn->lock_token,
        {.history_delta = {event(1, "OrchestrationStarted"), event(2, "Odd", R"(,"a":"\u0000")")},
         .metadata = R"({"orchestration_name":"O","orchestration_version":"1"})"});
    connection_.exec("UPDATE app.history SET event_data = 'broken' WHERE event_id = 1");
    hub_.raise_event("O0", "go");
    Dispatcher dispatcher(dispatcher_options());
    std::atomic<bool> as_expected = false;
    dispatcher.on("O", [&](TurnContext& turn) {
        const auto& history = turn.history();
        as_expected = history.size() == 2 && turn.corrupt() && history[0].corrupt &&
                      history[0].text == "broken" && !history[1].corrupt &&
                      history[1].text == R"({"type":"Odd","a":"\u0000"})" &&
                      !turn.messages()[0].corrupt;
        Decision decision = turn.decision();
        decision.metadata = R"({"status":"Failed","output":"the history is broken"})";
        return TurnOutcome::decided(decision);
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return events(Kind::kDecided) == 1; }));
    running.end();
    EXPECT_TRUE(as_expected);
    EXPECT_EQ(events(Kind::kCorrupt), 1);
    EXPECT_EQ(hub_.get_instance_info("O0")->status, "Failed");
}

// A history above 64 MiB does not come with the turn; it is read in pages.
TEST_F(ClientDispatcher, ReadsALargeHistoryInPages) {
    start(1);
    const auto first = hub_.fetch_orchestration_item({});
    ASSERT_TRUE(first);
    hub_.ack_orchestration_item(
        first->lock_token,
        {.history_delta = {event(1, "OrchestrationStarted")},
         .metadata = R"({"orchestration_name":"O","orchestration_version":"1"})"});
    const int count = 600;
    connection_.exec(
        "INSERT INTO app.history (instance_id, execution_id, event_id, event_type, event_data, "
        "created_at) SELECT 'O0', 1, i, 'Noted', '{\"n\":' || i || ',\"pad\":\"' || "
        "repeat('x', 120000) || '\"}', now() FROM generate_series(2, $1) AS i",
        {count});
    hub_.raise_event("O0", "go");
    const auto raw = hub_.fetch_orchestration_item({});
    ASSERT_TRUE(raw);
    ASSERT_FALSE(raw->history) << "the history is not large enough for this test";
    hub_.abandon_orchestration_item(raw->lock_token, {}, true);
    auto options = dispatcher_options();
    options.lock_timeout = seconds(120);
    Dispatcher dispatcher(options);
    std::atomic<int> in_order = 0;
    dispatcher.on("O", [&](TurnContext& turn) {
        for (std::size_t i = 1; i < turn.history().size(); ++i) {
            in_order += turn.history()[i].text.starts_with("{\"n\":" + std::to_string(i + 1) + ",");
        }
        return TurnOutcome::decided(turn.decision());
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return events(Kind::kDecided) == 1; }));
    running.end();
    EXPECT_EQ(in_order, count - 1);
    EXPECT_EQ(events(Kind::kCorrupt), 0);
}

TEST_F(ClientDispatcher, RenewsAndStopsWhatIsLost) {
    start(1);
    auto options = dispatcher_options();
    options.lock_timeout = Milliseconds(3000);  // a busy machine may renew late
    Dispatcher dispatcher(options);
    std::atomic<int> began = 0;
    std::atomic<bool> stopped = false;
    dispatcher.on("O", [&](TurnContext& turn) {
        if (++began == 1) {
            stopped = wait_for_stop(turn.stop_token());
        }
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return began == 1; }));
    // Longer than the lease: it was renewed.
    std::this_thread::sleep_for(Milliseconds(3600));
    EXPECT_FALSE(stopped);
    EXPECT_EQ(began, 1);
    const auto lost = Steady::now();
    Admin(connection_).new_incarnation("app");
    ASSERT_TRUE(wait_until([&] { return stopped.load(); }));
    std::cout << "stopped after " << (Steady::now() - lost) / Milliseconds(1)
              << " ms; one renewal period is 1000 ms\n";
    EXPECT_TRUE(wait_until([&] { return events(Kind::kLost) == 1; }));
    running.end();
}

TEST_F(ClientDispatcher, DrainsAndLeavesNoLease) {
    start(3, "Long");
    start(1, "Short");
    auto options = dispatcher_options();
    options.concurrency = 4;
    options.drain_timeout = Milliseconds(300);
    Dispatcher dispatcher(options);
    std::atomic<int> began = 0;
    std::atomic<bool> release = false;
    dispatcher.on("Long", [&](TurnContext& turn) {
        ++began;
        wait_for_stop(turn.stop_token());
        return TurnOutcome::decided(ended(turn, "too late"));
    });
    dispatcher.on("Short", [&](TurnContext& turn) {
        ++began;
        wait_until([&] { return release.load(); });
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return began == 4; }));
    dispatcher.stop();
    release = true;
    running.end();
    EXPECT_EQ(completed(), 1u);
    EXPECT_EQ(events(Kind::kAbandoned), 3);
    // All three can be fetched at once, and no attempt was counted.
    for (int i = 0; i < 3; ++i) {
        const auto turn = hub_.fetch_orchestration_item({});
        ASSERT_TRUE(turn);
        EXPECT_EQ(turn->attempt_count, 1);
    }
}

TEST_F(ClientDispatcher, ARestartLosesNothing) {
    const int count = 100;
    start(count);
    auto options = dispatcher_options();
    options.lock_timeout = Milliseconds(4000);
    options.connection.async_leases = false;
    Dispatcher dispatcher(options);
    std::atomic<int> runs = 0;
    dispatcher.on("O", [&](TurnContext& turn) {
        ++runs;
        std::this_thread::sleep_for(Milliseconds(5));
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    Running running(dispatcher);
    for (const char* mode : {"fast", "immediate"}) {
        const int before = runs;
        ASSERT_TRUE(wait_until([&] { return runs >= before + 10; }));
        cluster->stop(mode);
        cluster->start();
    }
    ASSERT_TRUE(wait_until([&] { return completed() == static_cast<std::size_t>(count); }));
    running.end();
    std::cout << runs << " runs for " << count << " turns\n";
}

}  // namespace
}  // namespace belay::test
