// Turns, element by element without a server, and the dispatcher's loop on a real one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "belay/dispatcher.hpp"
#include "belay/admin.hpp"
#include "belay/worker.hpp"
#include "faults.hpp"
#include "lease.hpp"
#include "server.hpp"
#include "turn_elements.hpp"
#include "turn_settler.hpp"
#include "work_loop.hpp"

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

// ---- Commits of many turns. ----

// Acks turns of many threads at a server that is played by `answer`, which sees at most two calls
// at once. What each ack came to, by token: "done", "alone", or the SQLSTATE and "?" if unknown.
std::map<std::string, std::string> settle_many(
    int threads, const std::function<AckedTurns(const std::vector<TurnAck>&)>& answer) {
    constexpr int kEach = 100;
    std::atomic<int> under_way = 0;
    TurnSettler settler({.connections = 2,
                         .call =
                             [&](const std::vector<TurnAck>& acks, int max_turns) {
                                 EXPECT_LE(++under_way, 2);
                                 EXPECT_EQ(static_cast<std::size_t>(max_turns), acks.size());
                                 struct End {
                                     std::atomic<int>& under_way;
                                     ~End() { --under_way; }
                                 } const end{under_way};
                                 return answer(acks);
                             },
                         .fetches = [] { return true; },
                         .deliver =
                             [](const std::vector<Turn>& turns) {
                                 EXPECT_TRUE(
                                     turns.empty());  // All are of instances that were acked.
                             }});
    std::mutex mutex;
    std::map<std::string, std::string> fates;
    {
        std::vector<std::jthread> all;
        for (int thread = 0; thread < threads; ++thread) {
            all.emplace_back([&, thread] {
                for (int i = 0; i < kEach; ++i) {
                    Turn turn;
                    turn.lock_token = std::to_string(thread * kEach + i);
                    turn.instance_id = "of " + turn.lock_token;
                    std::optional<Turn> next;
                    std::string fate;
                    try {
                        fate = settler.ack(turn, {}, Where::current(), next) ? "done" : "alone";
                    } catch (const Error& error) {
                        fate = std::string(error.sqlstate()) + error.code_detail() +
                               (error.outcome_unknown() ? "?" : "");
                    }
                    EXPECT_EQ(next.has_value(), fate == "done");
                    EXPECT_TRUE(!next || next->instance_id == turn.instance_id);
                    const std::lock_guard lock(mutex);
                    fates[turn.lock_token] = fate;
                }
            });
        }
    }
    EXPECT_EQ(fates.size(), static_cast<std::size_t>(threads * kEach));
    return fates;
}

// AT-2, AT-13: each ack has its own fate, and none is left waiting.
TEST(TurnSettler, GivesEachAckItsFate) {
    std::mutex mutex;
    std::map<std::string, std::string> expected;
    const auto fates = settle_many(8, [&](const std::vector<TurnAck>& acks) {
        const auto number = [](const TurnAck& ack) {
            return std::stoi(std::string(ack.lock_token));
        };
        const auto any = [&](auto matches) { return std::ranges::any_of(acks, matches); };
        const bool lost = any([&](const TurnAck& ack) { return number(ack) % 31 == 0; });
        const bool unread = any([&](const TurnAck& ack) { return number(ack) % 13 == 0; });
        const bool down = any([&](const TurnAck& ack) { return number(ack) % 29 == 0; });
        AckedTurns answer;
        const std::lock_guard lock(mutex);
        for (const TurnAck& ack : acks) {
            std::string& fate = expected[std::string(ack.lock_token)];
            AckedTurn& acked = answer.acks.emplace_back();
            if (lost || down || unread) {
                fate = lost ? "08006?" : down ? "57P01" : acks.size() == 1 ? "22P02" : "alone";
            } else if (number(ack) % 5 == 0) {
                acked = {.error = "QB001", .reason = "expired"};
                fate = "QB001expired";
            } else if (number(ack) % 7 == 0) {
                acked = {.error = "QB001", .outcome_unknown = true};
                fate = "QB001?";
            } else {
                fate = "done";
                answer.turns.emplace_back().instance_id = "of " + std::string(ack.lock_token);
            }
        }
        if (lost) {
            throw Error({.sqlstate = "08006", .connection_lost = true, .outcome_unknown = true});
        }
        if (down || unread) {
            throw Error({.sqlstate = down ? "57P01" : "22P02"});
        }
        // The fetch brings them in its own order.
        std::ranges::reverse(answer.turns);
        return answer;
    });
    EXPECT_EQ(fates, expected);
}

// AT-13: an answer that does not fit says nothing about what was committed.
TEST(TurnSettler, TakesNoAnswerForUnknown) {
    const auto fates = settle_many(4, [](const std::vector<TurnAck>&) { return AckedTurns(); });
    for (const auto& [token, fate] : fates) {
        EXPECT_EQ(fate, "?") << token;
    }
}

// ---- The loop. ----

NewEvent event(std::int64_t id, const std::string& type, const std::string& more = "") {
    return {.event_id = id, .event_data = R"({"type":")" + type + "\"" + more + "}"};
}

// While it fetches, it tries to take handlers for the call of another loop.
struct Reserving final : WorkLoop<int> {
    explicit Reserving(ConnectionOptions connection) {
        set_up({.connection = std::move(connection),
                .concurrency = 3,
                .wait_timeout = Milliseconds(1000),
                .keeper = {.hub = "app"}});
    }
    std::vector<std::string> queues(bool) const override { return {"orchestrator"}; }
    void fetch(Hub&, int free, std::vector<int>&) override {
        asked_for = free;
        reserved = reserve_handlers();
        end_reservation(reserved);
        stop();
    }
    std::optional<int> handle(LeaseKeeper&, Pools&, int) override { return std::nullopt; }
    void give_back(Hub&, const int&) override {}
    void tell_error(const std::exception& error) const noexcept override {
        ADD_FAILURE() << error.what();
    }

    int asked_for = 0;
    int reserved = -1;
};

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

    // The turns of an orchestration that doubles 21 by an activity.
    static TurnOutcome double_turn(TurnContext& turn) {
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
    }

    void start(int count, const std::string& name = "O") {
        for (int i = 0; i < count; ++i) {
            hub_.orchestrations().start_text(name, "", {.instance_id = name + std::to_string(i)});
        }
    }

    std::size_t completed() {
        return hub_.orchestrations().list_ids({.status = InstanceStatus::kCompleted}).size();
    }

    Connection connection_{options()};
    Hub hub_{connection_, "app"};
    std::mutex mutex_;
    std::map<Kind, int> events_;
};

TEST_F(ClientDispatcher, SharesSlotsWithOthers) {
    Admin(connection_).set_hub_option("app", "slot_count", "8");
    auto options = dispatcher_options();
    options.share_slots = true;
    options.slot_lease = Milliseconds(3000);
    const auto shares = [&] {
        return connection_
            .exec(
                "SELECT string_agg(slots::text, ' ' ORDER BY slots) FROM (SELECT count(*) AS slots "
                "FROM app.slot_leases GROUP BY owner_id) AS s")
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
        // What one releases the other takes, with all that waits there.
        start(40, "One");
        ASSERT_TRUE(wait_until([&] { return completed() == 80; }));
        EXPECT_EQ(shares(), "8");
    }
    EXPECT_EQ(shares(), "none");
    options.slots = std::vector<std::int32_t>{1};
    EXPECT_THROW(Dispatcher{options}, Error);
}

// No handler is free for two calls: nothing is leased that has to wait for one.
TEST_F(ClientDispatcher, ReservesTheHandlersThatItFetchesFor) {
    Reserving loop(options());
    loop.run();
    EXPECT_EQ(loop.asked_for, 3);
    EXPECT_EQ(loop.reserved, 0);
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
              4);  // one waits, one extends leases
    // What comes later is not waited for in a loop.
    start(1, "Late");
    dispatcher.stop();
    running.end();
    EXPECT_EQ(runs, count);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(events(Kind::kDecided), count);
    EXPECT_EQ(events(Kind::kError), 0);
}

// AT-13: decisions that are made while the connections are busy share a commit.
TEST_F(ClientDispatcher, CommitsDecisionsTogether) {
    start(120);
    auto options = dispatcher_options();
    options.concurrency = 12;
    options.connections = 1;
    Dispatcher dispatcher(options);
    dispatcher.on("O", [&](TurnContext& turn) { return TurnOutcome::decided(ended(turn, "ok")); });
    std::thread thread([&] { dispatcher.run(); });
    EXPECT_TRUE(wait_until([&] { return completed() == 120; }));
    dispatcher.stop();
    thread.join();
    EXPECT_EQ(events(Kind::kDecided), 120);
    // With an ack and a fetch for each it would be 240.
    EXPECT_LT(dispatcher.round_trips(), 120u);
}

// AT-2, AT-13: a decision that the server refuses, or cannot even read, affects no other.
TEST_F(ClientDispatcher, CommitsOthersThanWhatIsRefused) {
    Admin(connection_).set_hub_option("app", "max_attempts", "2");
    start(60);
    start(10, "refused");
    start(10, "broken");
    auto options = dispatcher_options();
    options.concurrency = 16;
    options.connections = 1;
    Dispatcher dispatcher(options);
    std::mutex mutex;
    std::map<std::string, int> tries;
    const auto wrong = [&](const char* metadata) {
        return [&, metadata](TurnContext& turn) {
            {
                const std::lock_guard lock(mutex);
                ++tries[turn.name()];
            }
            Decision decision = ended(turn, "no");
            decision.metadata = metadata;
            return TurnOutcome::decided(std::move(decision));
        };
    };
    dispatcher.on("O", [&](TurnContext& turn) { return TurnOutcome::decided(ended(turn, "ok")); });
    dispatcher.on("refused", wrong(R"({"status":"Sleeping"})"));
    dispatcher.on("broken", wrong("no JSON"));
    std::thread thread([&] { dispatcher.run(); });
    EXPECT_TRUE(wait_until([&] {
        return completed() == 60 &&
               connection_.exec("SELECT count(*) FROM app.dead_letters").get<std::int64_t>(0, 0) ==
                   20;
    }));
    dispatcher.stop();
    thread.join();
    EXPECT_EQ(events(Kind::kDecided), 60);
    EXPECT_EQ(tries["refused"], 20);
    EXPECT_EQ(tries["broken"], 20);
    EXPECT_EQ(connection_.exec("SELECT count(*) FROM app.instances").get<std::int64_t>(0, 0), 60);
}

// AT-8, AT-9: names, and a history that comes without what the handler has.
TEST_F(ClientDispatcher, LeavesOutWhatIsCached) {
    start(1);
    start(1, "other");
    auto options = dispatcher_options();
    options.names = {"O"};
    options.cache_owner = "me";
    Dispatcher dispatcher(options);
    std::mutex mutex;
    std::vector<std::string> seen;
    dispatcher.on("", [&](TurnContext& turn) {
        Decision decision = turn.decision();
        const std::int64_t next = turn.last_event_id() + 1;
        std::string told = turn.instance_id() + " " + std::to_string(turn.history().size()) +
                           " after " + std::to_string(turn.history_after());
        turn.read_whole_history();
        told += ", whole " + std::to_string(turn.history().size()) + " after " +
                std::to_string(turn.history_after());
        {
            const std::lock_guard lock(mutex);
            seen.push_back(told);
        }
        if (next == 4) {
            decision = ended(turn, "ok");
            decision.history_delta.clear();
            return TurnOutcome::decided(std::move(decision));
        }
        decision.history_delta = {event(next, "E")};
        decision.orchestrator_items = {
            R"({"ExternalRaised":{"instance":"O0","name":"e","data":""}})"};
        decision.metadata = R"({"orchestration_name":"O","orchestration_version":"1.0.0")" +
                            std::string(next == 2 ? ""
                                                  : R"(,"cache":{"owner":"me","events":)" +
                                                        std::to_string(next) + "}") +
                            "}";
        return TurnOutcome::decided(std::move(decision));
    });
    std::thread thread([&] { dispatcher.run(); });
    EXPECT_TRUE(wait_until([&] { return completed() == 1; }));
    dispatcher.stop();
    thread.join();
    EXPECT_EQ(seen, (std::vector<std::string>{
                        "O0 0 after 0, whole 0 after 0", "O0 0 after 1, whole 1 after 0",
                        "O0 2 after 0, whole 2 after 0", "O0 0 after 3, whole 3 after 0"}));
    EXPECT_EQ(
        connection_.exec("SELECT attempt_count FROM app.messages WHERE instance_id = 'other0'")
            .get<int>(0, 0),
        0);
}

TEST_F(ClientDispatcher, WaitsForWhatComesLater) {
    Dispatcher dispatcher(dispatcher_options());
    dispatcher.on("", [&](TurnContext& turn) { return TurnOutcome::decided(ended(turn, "ok")); });
    Running running(dispatcher);
    std::this_thread::sleep_for(Milliseconds(200));
    hub_.orchestrations().start_text("Now", "", {.instance_id = "now"});
    EXPECT_TRUE(wait_until([&] { return completed() == 1; }, seconds(20)));
    hub_.orchestrations().start_text("Soon", "",
                                     {.instance_id = "soon", .delay = Milliseconds(300)});
    EXPECT_TRUE(wait_until([&] { return completed() == 2; }, seconds(20)));
}

// With a worker: an activity's completion is the second turn, which sees the first in its history.
TEST_F(ClientDispatcher, TakesTurnsWithAWorker) {
    Dispatcher dispatcher(dispatcher_options());
    dispatcher.on("Double", &double_turn);
    Worker worker({.connection = options(), .hub = "app"});
    worker.on_activity("Double", [](Task& activity) {
        return completed_text(std::to_string(2 * std::stoi(activity.payload_text())));
    });
    Running deciding(dispatcher);
    Running working(worker);
    for (int i = 0; i < 20; ++i) {
        hub_.orchestrations().start_text("Double", "", {.instance_id = "d" + std::to_string(i)});
    }
    ASSERT_TRUE(wait_until([&] { return completed() == 20; }));
    deciding.end();
    EXPECT_EQ(hub_.orchestrations().get("d7")->output, "42");
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

// TX-36: with one connection, and a transaction of a handler's own that takes longer than the
// lease.
TEST_F(ClientDispatcher, ASlowTransactionDelaysNoOtherTurn) {
    start(1, "Slow");
    start(1, "Long");
    auto options = dispatcher_options();
    options.concurrency = 3;
    options.connections = 1;
    options.lock_timeout = seconds(6);
    Dispatcher dispatcher(options);
    std::atomic<int> held = 0;
    std::atomic<bool> open = false;
    const auto wait = [&] {
        ++held;
        wait_until([&] { return open.load(); });
    };
    dispatcher.on("Slow", [&](TurnContext& turn) {
        turn.ack_with([&](Connection&) { wait(); }, ended(turn, "ok"));
        return TurnOutcome::settled();
    });
    dispatcher.on("Long", [&](TurnContext& turn) {
        wait();
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    dispatcher.on("Short",
                  [&](TurnContext& turn) { return TurnOutcome::decided(ended(turn, "ok")); });
    const auto first_deadline = [this] {
        return connection_
            .exec(
                "SELECT coalesce(min(locked_until), 0) FROM app.instance_locks WHERE "
                "locked_until > 0")
            .get<std::int64_t>(0, 0);
    };
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return held == 2; }));
    const auto deadline = first_deadline();
    start(5, "Short");
    EXPECT_TRUE(wait_until([&] { return completed() == 5; }, seconds(30)));
    EXPECT_TRUE(wait_until([&] { return first_deadline() > deadline + 6000; }));
    open = true;
    EXPECT_TRUE(wait_until([&] { return completed() == 7; }));
    running.end();
    EXPECT_EQ(events(Kind::kLost), 0);
    EXPECT_EQ(events(Kind::kError), 0);
    EXPECT_EQ(held, 2);
}

// JS-3, on a server: a stored text that jsonb cannot hold comes as a string.
TEST_F(ClientDispatcher, ReportsWhatIsCorrupt) {
    start(1);
    const auto turn = hub_.provider().fetch_orchestration_item({});
    ASSERT_TRUE(turn);
    hub_.provider().ack_orchestration_item(
        turn->lock_token,
        {.history_delta = {event(1, "OrchestrationStarted"), event(2, "Odd", R"(,"a":"\u0000")")},
         .metadata = R"({"orchestration_name":"O","orchestration_version":"1"})"});
    connection_.exec(
        "UPDATE app.history_turns SET event_data[1] = 'broken' WHERE first_event_id = 1");
    hub_.orchestrations().raise_text("O0", "go");
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
    EXPECT_EQ(hub_.orchestrations().get("O0")->status, InstanceStatus::kFailed);
}

// A history above 64 MiB does not come with the turn; it is read in pages.
TEST_F(ClientDispatcher, ReadsALargeHistoryInPages) {
    start(1);
    const auto first = hub_.provider().fetch_orchestration_item({});
    ASSERT_TRUE(first);
    hub_.provider().ack_orchestration_item(
        first->lock_token,
        {.history_delta = {event(1, "OrchestrationStarted")},
         .metadata = R"({"orchestration_name":"O","orchestration_version":"1"})"});
    const int count = 600;
    connection_.exec(
        "INSERT INTO app.history_turns (instance_id, execution_id, first_event_id, last_event_id, "
        "event_types, event_data, created_at) SELECT 'O0', 1, i, i, '{Noted}', ARRAY['{\"n\":' || "
        "i "
        "|| ',\"pad\":\"' || repeat('x', 120000) || '\"}'], now() FROM generate_series(2, $1) AS i",
        {count});
    hub_.orchestrations().raise_text("O0", "go");
    const auto raw = hub_.provider().fetch_orchestration_item({});
    ASSERT_TRUE(raw);
    ASSERT_FALSE(raw->history) << "the history is not large enough for this test";
    hub_.provider().abandon_orchestration_item(raw->lock_token, {}, true);
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
    // 72 MB take their time on a busy machine, and with a sanitizer.
    ASSERT_TRUE(wait_until([&] { return events(Kind::kDecided) == 1; }, seconds(300)));
    running.end();
    EXPECT_EQ(in_order, count - 1);
    EXPECT_EQ(events(Kind::kCorrupt), 0);
}

TEST_F(ClientDispatcher, RenewsAndStopsWhatIsLost) {
    start(1);
    auto options = dispatcher_options();
    options.lock_timeout = seconds(12);  // it is renewed after 4 s; a busy machine may be late
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
    const auto deadline = [this] {
        return connection_.exec("SELECT locked_until FROM app.instance_locks")
            .get<std::int64_t>(0, 0);
    };
    const auto first = deadline();
    EXPECT_TRUE(wait_until([&] { return deadline() > first; }));
    EXPECT_FALSE(stopped);
    EXPECT_EQ(began, 1);
    const auto lost = Steady::now();
    Admin(connection_).new_incarnation("app");
    ASSERT_TRUE(wait_until([&] { return stopped.load(); }));
    std::cout << "stopped after " << (Steady::now() - lost) / Milliseconds(1)
              << " ms; one renewal period is 4000 ms\n";
    EXPECT_TRUE(wait_until([&] { return events(Kind::kLost) == 1; }));
    running.end();
}

TEST_F(ClientDispatcher, DrainsAndLeavesNoLease) {
    start(5);
    auto options = dispatcher_options();
    options.concurrency = 2;
    options.drain_timeout = seconds(600);
    Dispatcher dispatcher(options);
    std::atomic<int> began = 0;
    std::atomic<bool> release = false;
    dispatcher.on("O", [&](TurnContext& turn) {
        ++began;
        wait_until([&] { return release.load(); });
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return began == 2; }));
    dispatcher.stop();
    release = true;
    running.end();
    EXPECT_EQ(completed(), 2u);
    EXPECT_EQ(events(Kind::kAbandoned), 0);
    EXPECT_EQ(connection_.exec("SELECT count(*) FROM app.messages WHERE attempt_count > 0")
                  .get<std::int64_t>(0, 0),
              0);
}

TEST_F(ClientDispatcher, GivesBackWhatTakesTooLongToDrain) {
    start(3);
    auto options = dispatcher_options();
    options.concurrency = 4;
    options.drain_timeout = Milliseconds(300);
    Dispatcher dispatcher(options);
    std::atomic<int> began = 0;
    dispatcher.on("O", [&](TurnContext& turn) {
        ++began;
        wait_for_stop(turn.stop_token());
        return TurnOutcome::decided(ended(turn, "too late"));
    });
    Running running(dispatcher);
    ASSERT_TRUE(wait_until([&] { return began == 3; }));
    running.end();
    EXPECT_EQ(completed(), 0u);
    EXPECT_EQ(events(Kind::kAbandoned), 3);
    // All three can be fetched at once, and no attempt was counted.
    for (int i = 0; i < 3; ++i) {
        const auto turn = hub_.provider().fetch_orchestration_item({});
        ASSERT_TRUE(turn);
        EXPECT_EQ(turn->attempt, 1);
    }
}

// What a commit has fetched while the dispatcher was stopping is decided or released.
TEST_F(ClientDispatcher, StopsBetweenCommitsAndLeavesNoLease) {
    start(200);
    auto options = dispatcher_options();
    options.concurrency = 8;
    options.connections = 2;
    std::atomic<int> decided = 0;
    for (int round = 1; round <= 4; ++round) {
        Dispatcher dispatcher(options);
        dispatcher.on("O", [&](TurnContext& turn) {
            if (++decided >= round * 40) {
                dispatcher.stop();
            }
            return TurnOutcome::decided(ended(turn, "ok"));
        });
        dispatcher.run();
        EXPECT_EQ(connection_
                      .exec("SELECT count(*) FROM app.instance_lock_states WHERE lock_token IS NOT "
                            "NULL")
                      .get<std::int64_t>(0, 0),
                  0);
        EXPECT_EQ(completed(), static_cast<std::size_t>(decided));
    }
    EXPECT_EQ(connection_.exec("SELECT count(*) FROM app.messages WHERE attempt_count > 0")
                  .get<std::int64_t>(0, 0),
              0);
}

// A signal interrupts every thread of the dispatcher: what was decided is committed, and
// no lease is left.
TEST_F(ClientDispatcher, ASigtermAtAnyMomentLeavesNoLease) {
    RandomRounds random;
    std::atomic<int> decided = 0;
    int made = 0;
    for (int round = 0; round < random.rounds(); ++round) {
        start(40, "R" + std::to_string(round) + "-");
        made += 40;
        auto options = dispatcher_options();
        options.concurrency = 1 + random.below(8);
        options.connections = 1 + random.below(3);
        const Milliseconds work(random.below(3));
        const int before = decided;
        Dispatcher dispatcher(options);
        dispatcher.on("", [&](TurnContext& turn) {
            std::this_thread::sleep_for(work);
            ++decided;
            return TurnOutcome::decided(ended(turn, "ok"));
        });
        const StopsAtSigterm stops(dispatcher);
        std::thread thread([&dispatcher] { dispatcher.run(); });
        // At a random time, and, as a busy machine may have begun nothing by then, after so many
        // turns.
        if (round % 2 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(60000)));
        } else {
            const int wanted = before + random.below(40);
            EXPECT_TRUE(wait_until([&] { return decided >= wanted; }));
        }
        ::kill(::getpid(), SIGTERM);
        thread.join();
        const auto count = [this](const std::string& rows) {
            return connection_.exec("SELECT count(*) FROM app." + rows).get<int>(0, 0);
        };
        ASSERT_EQ(count("instance_lock_states WHERE lock_token IS NOT NULL"), 0)
            << "round " << round << ", seed " << random.seed();
        // All that was decided is committed, and nothing else counts as an attempt.
        ASSERT_EQ(count("executions WHERE status = 'Completed'"), decided)
            << "round " << round << ", seed " << random.seed();
        ASSERT_EQ(count("messages"), made - decided) << "seed " << random.seed();
        ASSERT_EQ(count("messages WHERE attempt_count > 0"), 0) << "seed " << random.seed();
    }
    std::cout << decided << " turns in " << random.rounds() << " runs\n";
    EXPECT_EQ(events(Kind::kError), 0);
}

// If a process dies in the middle of portions of turns, each instance has the history of one life:
// its activity was scheduled once, and completed once.
TEST_F(ClientDispatcher, AfterKillsEachTurnHasOneEffect) {
    RandomRounds random;
    const int number = 1000 * (random.is_long() ? kLongWork : 1);
    start(number, "Double");
    auto options = dispatcher_options();
    options.on_event = {};
    options.lock_timeout = Milliseconds(2000);
    options.connection.conninfo += " application_name=portions";
    Turnstile turnstile;
    const auto run = [&] {
        Dispatcher dispatcher(options);
        dispatcher.on("Double", &double_turn);
        Worker worker({.connection = options.connection, .hub = "app", .lease = seconds(2)});
        worker.on_activity("Double", [&](Task& activity) {
            turnstile.pass();
            return completed_text(std::to_string(2 * std::stoi(activity.payload_text())));
        });
        const Running working(worker);
        dispatcher.run();
    };
    Process process(run);
    kill_in_the_middle(*cluster, process, turnstile, "portions",
                       "generate_series(1, " + std::to_string(number) +
                           ") AS n WHERE n > (SELECT count(*) FROM app.executions WHERE status = "
                           "'Completed')",
                       random);
    Conn own = admin();
    const std::string all = std::to_string(number);
    EXPECT_EQ(own.value("SELECT count(*) FROM app.executions WHERE status = 'Completed'"), all);
    EXPECT_EQ(own.value("SELECT string_agg(n::text, ' ') FROM (SELECT count(*) AS n FROM "
                        "app.history GROUP BY event_id ORDER BY event_id) AS events"),
              all + " " + all + " " + all);
    EXPECT_EQ(own.value("SELECT count(*) FROM app.messages"), "0");
    EXPECT_EQ(own.value("SELECT count(*) FROM app.worker_queue"), "0");
}

TEST_F(ClientDispatcher, ARestartLosesNothing) {
    const int count = 100;
    start(count);
    auto options = dispatcher_options();
    options.lock_timeout = Milliseconds(4000);
    options.connection.async_leases = false;
    Dispatcher dispatcher(options);
    Turnstile turnstile;
    dispatcher.on("O", [&](TurnContext& turn) {
        turnstile.pass();
        std::this_thread::sleep_for(Milliseconds(5));
        return TurnOutcome::decided(ended(turn, "ok"));
    });
    Running running(dispatcher);
    restart_in_the_middle(turnstile, count);
    ASSERT_TRUE(wait_until([&] { return completed() == static_cast<std::size_t>(count); }));
    running.end();
    std::cout << turnstile.arrived() << " runs for " << count << " turns\n";
}

}  // namespace
}  // namespace belay::test
