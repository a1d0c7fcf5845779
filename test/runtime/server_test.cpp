// Durable functions against a server: examples, threads, faults, the cache.
#include "examples.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "belay/runtime.hpp"
#include "belay/testing.hpp"
#include "proxy.hpp"
#include "skewed_clock.hpp"
#include "server.hpp"

namespace {

using namespace examples;
using belay::Milliseconds;
using belay::OptionalText;
using belay::OrchestrationOf;
using belay::Runtime;
using belay::RuntimeEvent;
using belay::RuntimeOptions;
using belay::test::Break;
using belay::test::Proxy;
using belay::test::Running;
using belay::test::wait_until;
using EventKind = RuntimeEvent::Kind;
using nlohmann::json;

enum class Mode { kCached, kUncached, kEvicting };

class RuntimeServer : public belay::test::WithServer {
 protected:
    void SetUp() override {
        WithServer::SetUp();
        admin_ = std::make_unique<belay::test::Conn>(admin());
        // For tests that choose the time.
        admin_->exec("SELECT belay.set_hub_option('app', 'max_clock_skew', '0')");
        connection_.emplace(options());
    }
    void TearDown() override {
        connection_.reset();
        admin_.reset();
        WithServer::TearDown();
    }

    RuntimeOptions runtime_options() {
        RuntimeOptions given;
        given.connection = options();
        given.hub = hub_name_;
        given.executors = 2;
        given.activity_concurrency = 4;
        given.tag_mode = belay::TagMode::kAny;
        given.on_event = [this](const RuntimeEvent& event) {
            const std::lock_guard lock(mutex_);
            events_.push_back(event);
        };
        return given;
    }
    static void set_mode(RuntimeOptions& given, Mode mode) {
        if (mode == Mode::kUncached) {
            given.cache_bytes = 0;
        } else if (mode == Mode::kEvicting) {
            given.cache_idle = Milliseconds(0);  // after every turn
        }
    }

    belay::Hub hub() { return belay::Hub(*connection_, hub_name_); }

    void run_examples(Mode mode);

    bool told(EventKind kind, const std::string& text = "") {
        const std::lock_guard lock(mutex_);
        return std::any_of(events_.begin(), events_.end(), [&](const RuntimeEvent& event) {
            return event.kind == kind && event.text.find(text) != std::string::npos;
        });
    }

    // The types of the stored events. Their ids have no gaps.
    std::vector<std::string> types(const std::string& id, std::int64_t execution = 1) {
        std::vector<std::string> found;
        for (const auto& event : hub().orchestrations().history(id, execution)) {
            found.push_back(json::parse(event.event_data).at("type"));
            EXPECT_EQ(event.event_id, static_cast<std::int64_t>(found.size())) << id;
        }
        return found;
    }

    // Turns and activities that are leased.
    std::string leases() {
        return admin_->value(
            "SELECT (SELECT count(*) FROM " + hub_name_ +
            ".instance_lock_states WHERE lock_token IS NOT NULL) + (SELECT count(*) FROM " +
            hub_name_ + ".work_items WHERE lock_token IS NOT NULL)");
    }

    std::string hub_name_ = "app";
    std::unique_ptr<belay::test::Conn> admin_;
    std::optional<belay::Connection> connection_;
    std::mutex mutex_;
    std::vector<RuntimeEvent> events_;
};

class RuntimeServerModes : public RuntimeServer, public ::testing::WithParamInterface<Mode> {};

INSTANTIATE_TEST_SUITE_P(Cache, RuntimeServerModes,
                         ::testing::Values(Mode::kCached, Mode::kUncached, Mode::kEvicting));

// The seven examples; LC-7, LC-8. Time is the test's: a day passes when nothing else can happen.
void RuntimeServer::run_examples(Mode mode) {
    belay::TestClock clock(belay::from_ms(1800000000000));
    RuntimeOptions given = runtime_options();
    set_mode(given, mode);
    given.clock = clock.clock();
    given.wait_timeout = Milliseconds(20);  // The server does not know the test's time.
    given.verify_replay = 1;
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub(*connection_, hub_name_, clock.clock());

    const auto quiet = [&] {
        const std::string now = std::to_string(belay::to_ms(clock.now()));
        return admin_->value("SELECT (SELECT count(*) FROM " + hub_name_ +
                             ".messages WHERE visible_at <= to_timestamp(" + now +
                             " / 1000.0)) + (SELECT count(*) FROM " + hub_name_ + ".work_items)") ==
                   "0" &&
               leases() == "0";
    };
    const Order order{"o1", 500};
    const Round round{1, 3};
    const std::vector<Order> orders{{"a", 1}, {"b", 0}, {"c", 3}};
    auto greeting = belay::start(hub, hello, "world");
    auto squares = belay::start(hub, sum_of_squares, 50);
    auto saga = belay::start(hub, order_saga, order);
    auto approving = belay::start(hub, approval, order, {.instance_id = "approval"});
    auto refusing = belay::start(hub, approval, order, {.instance_id = "refusal"});
    auto cleaning = belay::start(hub, cleaner, round, {.instance_id = "cleaner"});
    auto children = belay::start(hub, bulk, orders);
    auto paying = belay::start(hub, versioned, order);
    EXPECT_EQ(greeting.wait(), "Hello world");
    EXPECT_EQ(squares.wait(), 40425);
    EXPECT_EQ(saga.wait(), "parcel-o1");
    EXPECT_EQ(children.wait(), 2);
    EXPECT_EQ(paying.wait(), "r-o1");
    refusing.wait_status([](const OptionalText& status) { return status.has_value(); });
    hub.orchestrations().raise_text("refusal", "approved", "false");
    EXPECT_EQ(refusing.wait(), "refused");
    for (int hour = 0; hour < 73; ++hour) {
        ASSERT_TRUE(wait_until(quiet)) << hour;
        clock.advance(belay::Milliseconds(3600000));
    }
    EXPECT_EQ(approving.wait(), "expired");
    EXPECT_EQ(cleaning.wait(), "cleaned 3");
    EXPECT_EQ(cleaning.status()->current_execution_id, 3);
    EXPECT_EQ(types("approval"),
              (std::vector<std::string>{"OrchestrationStarted", "CustomStatusUpdated",
                                        "ExternalSubscribed", "TimerCreated", "TimerFired",
                                        "CustomStatusUpdated", "ExternalSubscribedCancelled",
                                        "OrchestrationCompleted"}));
    const auto stats = runtime.stats();
    EXPECT_EQ(stats.of(EventKind::kNondeterministic), 0u);
    EXPECT_EQ(stats.of(EventKind::kCorrupt), 0u);
    EXPECT_EQ(stats.of(EventKind::kError), 0u);
    EXPECT_GE(stats.turn_microseconds, stats.code_microseconds);
    EXPECT_GT(stats.code_microseconds, 0u);
    EXPECT_EQ(stats.cache_misses, stats.cache_absent + stats.cache_other_event +
                                      stats.cache_other_execution + stats.cache_other_life);
    if (mode == Mode::kCached) {
        EXPECT_GT(stats.cache_hits, 0u);
    } else {
        EXPECT_EQ(stats.cache_hits, 0u);
        EXPECT_EQ(stats.cache_instances, 0u);
        EXPECT_EQ(stats.cache_bytes, 0u);
    }
    EXPECT_EQ(stats.of(EventKind::kEvicted) > 0, mode == Mode::kEvicting);
}

TEST_P(RuntimeServerModes, ExamplesEndAsTheyShould) {
    run_examples(GetParam());
}

// DX-1: on a hub of api duroxide-pg, too, where the clock is another argument, some calls count in
// seconds or are not there, and histories are jsonb.
TEST_P(RuntimeServerModes, ExamplesOnAHubOfDuroxide) {
    hub_name_ = "dx";
    admin_->exec("SELECT belay.create_hub('dx', 'duroxide-pg')");
    admin_->exec("SELECT belay.set_hub_option('dx', 'max_clock_skew', '0')");
    run_examples(GetParam());
    admin_->exec("SELECT belay.drop_hub('dx', true)");
}

// 8 executors, 1,000 instances: each ends once, with its own result. TH-2
TEST_P(RuntimeServerModes, ThousandInstances) {
    RuntimeOptions given = runtime_options();
    set_mode(given, GetParam());
    given.executors = 8;
    given.connections = 4;
    Runtime runtime(given);
    runtime.on(hello, &say_hello);
    std::atomic<int> greetings = 0;
    runtime.on(greet, [&](std::string name) {
        ++greetings;
        return "Hello " + name;
    });
    belay::Hub hub = this->hub();
    for (int i = 0; i < 1000; ++i) {
        hub.orchestrations().start_text("Hello", std::to_string(i),
                                        {.instance_id = "h" + std::to_string(i)});
    }
    {
        const Running running(runtime);
        EXPECT_TRUE(wait_until(
            [&] {
                return admin_->value(
                           "SELECT count(*) FROM app.list_instances_by_status('Completed')") ==
                       "1000";
            },
            std::chrono::seconds(300)));
    }
    EXPECT_EQ(greetings, 1000);
    EXPECT_EQ(hub.orchestrations().get("h517")->output, "Hello 517");
    EXPECT_EQ(leases(), "0");
    const auto stats = runtime.stats();
    EXPECT_EQ(stats.turns, 2000u);
    EXPECT_EQ(stats.cache_instances, 0u);  // TH-6: stop() empties the cache.
    EXPECT_EQ(stats.cache_bytes, 0u);
}

// ---- Faults. ----

class RuntimeServerFaults : public RuntimeServer,
                            public ::testing::WithParamInterface<std::tuple<Break, Mode>> {};

INSTANTIATE_TEST_SUITE_P(
    Ack, RuntimeServerFaults,
    ::testing::Combine(::testing::Values(Break::kBefore, Break::kDuring, Break::kAfter),
                       ::testing::Values(Mode::kCached, Mode::kUncached, Mode::kEvicting)));

// The connection is lost before, in and after the ack of each turn of a saga: the history is as
// without the fault, and each effect happens once. TA-1, LC-3
TEST_P(RuntimeServerFaults, AckLosesItsConnection) {
    const auto [how, mode] = GetParam();
    const std::string conninfo = cluster->conninfo();
    Proxy proxy(conninfo.substr(5, conninfo.find(' ') - 5));
    RuntimeOptions given = runtime_options();
    set_mode(given, mode);
    given.connection.conninfo = proxy.conninfo();
    // What the lost calls have leased waits for the end of its lease.
    given.lock_timeout = Milliseconds(3000);
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    std::atomic<int> charges = 0;
    std::atomic<int> parcels = 0;
    runtime.on(charge, [&](Order order) {
        ++charges;
        return Receipt{"r-" + order.id};
    });
    runtime.on(ship, [&](Order order) {
        ++parcels;
        return "parcel-" + order.id;
    });
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o1", 5};
    const std::vector<std::string> whole{
        "OrchestrationStarted", "ActivityScheduled", "ActivityCompleted",     "ActivityScheduled",
        "TimerCreated",         "ActivityCompleted", "OrchestrationCompleted"};
    // Each ack of the three turns has the metadata, and nothing else that is sent has.
    for (int nth = 1; nth <= 3; ++nth) {
        proxy.break_at("kv_mutations", nth, how);
        const std::string id = "s" + std::to_string(nth);
        auto started = belay::start(hub, order_saga, order, {.instance_id = id});
        EXPECT_EQ(started.wait(std::chrono::seconds(60)), "parcel-o1");
        EXPECT_EQ(types(id), whole) << nth;
        EXPECT_EQ(proxy.broken(), nth);
    }
    EXPECT_EQ(charges, 3);
    EXPECT_EQ(parcels, 3);
    if (mode == Mode::kEvicting) {
        // AT-14: the server omits the history of each turn but the first, which is read again.
        EXPECT_EQ(runtime.stats().cache_hits, 0u);
        EXPECT_GT(runtime.stats().of(EventKind::kEvicted), 0u);
        EXPECT_GT(runtime.stats().events_replayed, 0u);
    }
}

// The server is restarted while instances run: all of them end, and each call has one outcome.
TEST_P(RuntimeServerModes, ServerRestart) {
    RuntimeOptions given = runtime_options();
    set_mode(given, GetParam());
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    for (int i = 0; i < 20; ++i) {
        hub.orchestrations().start_text("SumOfSquares", "20",
                                        {.instance_id = "s" + std::to_string(i)});
    }
    ASSERT_TRUE(wait_until([&] { return runtime.stats().turns > 10; }));
    admin_.reset();
    cluster->restart();
    admin_ = std::make_unique<belay::test::Conn>(admin());
    EXPECT_TRUE(wait_until(
        [&] {
            return admin_->value(
                       "SELECT count(*) FROM app.list_instances_by_status('Completed')") == "20";
        },
        std::chrono::seconds(120)));
    for (int i = 0; i < 20; ++i) {
        const std::string id = "s" + std::to_string(i);
        EXPECT_EQ(hub.orchestrations().get(id)->output, "2470");
        const auto events = types(id);
        EXPECT_EQ(events.size(), 42u);
        EXPECT_EQ(std::count(events.begin(), events.end(), "ActivityScheduled"), 20);
        EXPECT_EQ(std::count(events.begin(), events.end(), "ActivityCompleted"), 20);
    }
    EXPECT_EQ(runtime.stats().of(EventKind::kNondeterministic), 0u);
    EXPECT_EQ(runtime.stats().of(EventKind::kCorrupt), 0u);
}

// ---- Leases. ----

std::atomic<bool> hold_turn = false;
std::atomic<int> held_turns = 0;

inline constexpr OrchestrationOf<std::string(std::string)> holding{"Holding"};

// Holds the thread of its first turn while the test wants it.
Durable<std::string> hold_and_greet(Context ctx, std::string name) {
    if (hold_turn.exchange(false)) {
        ++held_turns;
        while (held_turns > 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    std::string text = co_await ctx.call(greet, name);
    co_return text;
}

// The lease is lost while the code runs, and another runtime takes the turn over: the late turn is
// discarded, the effects are exact. It is told as slow and as blocked. LT-8
TEST_P(RuntimeServerModes, LeaseLostInTheMiddle) {
    belay::TestClock clock(belay::from_ms(1800000000000));
    RuntimeOptions given = runtime_options();
    set_mode(given, GetParam());
    given.clock = clock.clock();
    given.wait_timeout = Milliseconds(20);
    given.lock_timeout = Milliseconds(300);
    given.slow_resume = Milliseconds(10);
    given.blocked_resume = Milliseconds(20);
    std::atomic<int> greetings = 0;
    const auto set_up = [&](Runtime& runtime) {
        runtime.on(holding, &hold_and_greet);
        runtime.on(greet, [&](std::string name) {
            ++greetings;
            return "Hello " + name;
        });
    };
    Runtime first(given);
    Runtime second(given);
    set_up(first);
    set_up(second);
    hold_turn = true;
    held_turns = 0;
    const Running running(first);
    const struct Release {
        ~Release() { held_turns = 0; }
    } release;  // also if an assertion fails
    belay::Hub hub(*connection_, "app", clock.clock());
    auto started = belay::start(hub, holding, "you", {.instance_id = "i"});
    ASSERT_TRUE(wait_until([] { return held_turns == 1; }));
    ASSERT_TRUE(
        wait_until([&] { return told(EventKind::kBlocked, "the code has held its thread for"); }));
    clock.advance(belay::Milliseconds(3600000));
    {
        const Running other(second);
        EXPECT_EQ(started.wait(std::chrono::seconds(60)), "Hello you");
        held_turns = 0;
        EXPECT_TRUE(
            wait_until([&] { return told(EventKind::kSlow, "the code held its thread for"); }));
    }
    EXPECT_EQ(greetings, 1);
    EXPECT_EQ(types("i"),
              (std::vector<std::string>{"OrchestrationStarted", "ActivityScheduled",
                                        "ActivityCompleted", "OrchestrationCompleted"}));
}

// TA-2: what the turn decides is stored already, by another runtime that had it. The late one is
// released and reads what is stored; the instance does not fail.
TEST_F(RuntimeServer, TurnIsStoredAlready) {
    Runtime runtime(runtime_options());
    runtime.on(holding, &hold_and_greet);
    hold_turn = true;
    held_turns = 0;
    const Running running(runtime);
    const struct Release {
        ~Release() { held_turns = 0; }
    } release;
    belay::Hub hub = this->hub();
    auto started = belay::start(hub, holding, "you", {.instance_id = "i"});
    ASSERT_TRUE(wait_until([] { return held_turns == 1; }));
    const auto event = [](std::int64_t id, const std::string& type, const json& fields) {
        json all = {{"event_id", id},    {"source_event_id", nullptr},   {"instance_id", "i"},
                    {"execution_id", 1}, {"duroxide_version", "0.1.30"}, {"timestamp_ms", 1},
                    {"type", type}};
        all.update(fields);
        return belay::NewEvent{id, all.dump(), type};
    };
    hub.provider().append_history(
        "i", 1,
        {event(1, "OrchestrationStarted",
               {{"name", "Holding"},
                {"version", "1.0.0"},
                {"input", "you"},
                {"parent_instance", nullptr},
                {"parent_id", nullptr}}),
         event(2, "ActivityScheduled", {{"name", "Greet"}, {"input", "you"}})});
    held_turns = 0;
    ASSERT_TRUE(wait_until([&] { return runtime.stats().turns == 2; }));
    hub.provider().enqueue_orchestrator_work(
        {.work_item = R"({"ActivityCompleted":{"instance":"i","execution_id":1,"id":2,)"
                      R"("result":"Hello"}})",
         .instance_id = "i"});
    EXPECT_EQ(started.wait(std::chrono::seconds(60)), "Hello");
    EXPECT_EQ(types("i"),
              (std::vector<std::string>{"OrchestrationStarted", "ActivityScheduled",
                                        "ActivityCompleted", "OrchestrationCompleted"}));
    EXPECT_EQ(runtime.stats().of(EventKind::kNondeterministic), 0u);
}

OrchestrationOf<std::string(int)> collects{"Collects"};

// How long the messages are, and whether they came in their order.
Durable<std::string> collect(Context ctx, int count) {
    std::string go = co_await ctx.dequeue<std::string>("go");
    std::size_t bytes = 0;
    int in_order = 0;
    for (int i = 1; i <= count; ++i) {
        std::string message = co_await ctx.dequeue<std::string>("bulk");
        bytes += message.size();
        in_order += message.starts_with(std::to_string(i) + "x");
    }
    co_return std::to_string(bytes) + " " + std::to_string(in_order);
}

// A history above 64 MiB does not come with the turn: it is read in pages, and replayed.
TEST_F(RuntimeServer, LargeHistory) {
    constexpr int kCount = 600;
    RuntimeOptions given = runtime_options();
    given.lock_timeout = Milliseconds(120000);
    belay::Hub hub = this->hub();
    auto started = belay::start(hub, collects, kCount, {.instance_id = "big"});
    {
        Runtime runtime(given);
        runtime.on(collects, &collect);
        const Running running(runtime);
        ASSERT_TRUE(wait_until([&] { return types("big").size() == 2; }));
    }
    admin_->exec(R"sql(
        INSERT INTO app.history_turns (instance_id, execution_id, first_event_id, last_event_id,
                                       event_types, event_data, created_at)
        SELECT 'big', 1, i + 2, i + 2, ARRAY['ExternalEventPersistent'],
               ARRAY[jsonb_build_object('event_id', i + 2, 'source_event_id', null, 'instance_id', 'big',
                                  'execution_id', 1, 'timestamp_ms', 1, 'duroxide_version', '0.1.30',
                                  'type', 'ExternalEventPersistent', 'name', 'bulk',
                                  'data', i || repeat('x', 120000))::text], now()
        FROM generate_series(1, 600) AS i)sql");
    hub.provider().enqueue_orchestrator_work(
        {.work_item = R"({"QueueMessage":{"instance":"big","name":"go","data":"now"}})",
         .instance_id = "big"});
    const auto raw = hub.provider().fetch_orchestration_item({});
    ASSERT_TRUE(raw);
    ASSERT_FALSE(raw->history) << "the history is not large enough for this test";
    hub.provider().abandon_orchestration_item(raw->lock_token, {}, true);
    Runtime runtime(given);
    runtime.on(collects, &collect);
    const Running running(runtime);
    // Each has its number in front: of one to three digits.
    EXPECT_EQ(started.wait(std::chrono::seconds(300)),
              std::to_string(kCount * 120000 + 9 + 90 * 2 + 501 * 3) + " 600");
    EXPECT_EQ(runtime.stats().events_replayed, 2u + kCount);
}

// TH-6: stop() in the middle leaves no lease, and another runtime finishes the work.
TEST_P(RuntimeServerModes, StopLeavesNoLease) {
    RuntimeOptions given = runtime_options();
    set_mode(given, GetParam());
    belay::Hub hub = this->hub();
    for (int i = 0; i < 20; ++i) {
        hub.orchestrations().start_text("SumOfSquares", "10",
                                        {.instance_id = "s" + std::to_string(i)});
    }
    std::atomic<int> squares = 0;
    for (int round = 0; round < 3; ++round) {
        Runtime runtime(given);
        runtime.on(sum_of_squares, &sum);
        runtime.on(square, [&](int i) {
            ++squares;
            return i * i;
        });
        Running running(runtime);
        if (round < 2) {
            const int enough = 30 * (round + 1);
            ASSERT_TRUE(wait_until([&] { return squares > enough; }));
            running.end();
            EXPECT_EQ(leases(), "0") << round;
        } else {
            EXPECT_TRUE(wait_until(
                [&] {
                    return admin_->value(
                               "SELECT count(*) FROM app.list_instances_by_status("
                               "'Completed')") == "20";
                },
                std::chrono::seconds(120)));
        }
    }
    EXPECT_EQ(squares, 200);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(hub.orchestrations().get("s" + std::to_string(i))->output, "285");
    }
}

// ---- The cache. ----

inline constexpr OrchestrationOf<int(int)> chain{"Chain"};

Durable<int> run_chain(Context ctx, int length) {
    int total = 0;
    for (int i = 0; i < length; ++i) {
        int value = co_await ctx.call(square, i);
        total += value;
    }
    co_return total;
}

// Two runtimes alternate on the same instances, without slots: never a wrong result. LC-2
TEST_F(RuntimeServer, TwoRuntimesAlternate) {
    RuntimeOptions given = runtime_options();
    given.verify_replay = 1;
    Runtime one(given);
    Runtime other(given);
    for (Runtime* runtime : {&one, &other}) {
        runtime->on(chain, &run_chain);
        runtime->on(square, [](int i) { return i * i; });
    }
    const Running running_one(one);
    const Running running_other(other);
    belay::Hub hub = this->hub();
    for (int i = 0; i < 4; ++i) {
        hub.orchestrations().start_text("Chain", "20", {.instance_id = "c" + std::to_string(i)});
    }
    for (int i = 0; i < 4; ++i) {
        belay::Started<int> started(hub, "c" + std::to_string(i));
        EXPECT_EQ(started.wait(std::chrono::seconds(120)), 2470);
        EXPECT_EQ(types("c" + std::to_string(i)).size(), 42u);
    }
    EXPECT_EQ(one.stats().of(EventKind::kNondeterministic), 0u);
    EXPECT_EQ(other.stats().of(EventKind::kNondeterministic), 0u);
}

// An instance that was deleted and made again under its id is not the one in the cache. LC-2
TEST_F(RuntimeServer, DeletedAndMadeAgain) {
    Runtime runtime(runtime_options());
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const auto waits = [](const OptionalText& status) { return status.has_value(); };
    const Order first{"first", 1};
    auto started = belay::start(hub, approval, first, {.instance_id = "a"});
    started.wait_status(waits);
    ASSERT_TRUE(wait_until([&] { return runtime.stats().cache_instances == 1; }));
    hub.orchestrations().remove("a", true);
    const Order second{"second", 1};
    // Another session: this one has seen a status of the same number.
    belay::Connection other(options());
    belay::Hub other_hub(other, "app");
    auto again = belay::start(other_hub, approval, second, {.instance_id = "a"});
    EXPECT_EQ(again.wait_status(waits), "waiting for approval of second");
    hub.orchestrations().raise_text("a", "approved", "true");
    EXPECT_EQ(again.wait(), "approved");
    EXPECT_EQ(runtime.stats().of(EventKind::kNondeterministic), 0u);
    // The turn is committed, and seen, before its instance leaves the cache.
    EXPECT_TRUE(wait_until([&] { return runtime.stats().cache_instances == 0; }));
}

// AT-8, LC-2: the history of an instance in memory stays on the server. It is made unreadable
// there, and nothing notices.
TEST_F(RuntimeServer, HistoryStaysOnTheServer) {
    Runtime runtime(runtime_options());
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    auto started = belay::start(hub, approval, order, {.instance_id = "a"});
    started.wait_status([](const OptionalText& status) { return status.has_value(); });
    ASSERT_TRUE(wait_until([&] { return runtime.stats().cache_instances == 1; }));
    admin_->exec(
        "UPDATE app.history_turns SET event_data = array_fill('unreadable'::text, "
        "ARRAY[cardinality(event_data)])");
    hub.orchestrations().raise_text("a", "approved", "true");
    EXPECT_EQ(started.wait(), "approved");
    EXPECT_EQ(runtime.stats().events_replayed, 0u);
    EXPECT_GT(runtime.stats().cache_hits, 0u);
}

// AT-14: an instance that has left memory though the server takes it to be there is read again.
TEST_F(RuntimeServer, OmittedHistoryIsRead) {
    RuntimeOptions given = runtime_options();
    given.cache_instances = 1;
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    const auto waits = [](const OptionalText& status) { return status.has_value(); };
    auto first = belay::start(hub, approval, order, {.instance_id = "a"});
    first.wait_status(waits);
    auto second = belay::start(hub, approval, order, {.instance_id = "b"});
    second.wait_status(waits);
    ASSERT_TRUE(wait_until([&] { return told(EventKind::kEvicted); }));
    EXPECT_EQ(admin_->value("SELECT count(*) FROM app.instance_locks WHERE cache_event > 0"), "2");
    for (const char* id : {"a", "b"}) {
        hub.orchestrations().raise_text(id, "approved", "true");
    }
    EXPECT_EQ(first.wait(), "approved");
    EXPECT_EQ(second.wait(), "approved");
    EXPECT_GT(runtime.stats().events_replayed, 0u);
    EXPECT_EQ(runtime.stats().of(EventKind::kCorrupt), 0u);
}

// LC-5: an instance that nothing happens to leaves memory, and continues later.
TEST_F(RuntimeServer, IdleInstanceLeavesMemory) {
    RuntimeOptions given = runtime_options();
    given.cache_idle = Milliseconds(1);
    given.blocked_resume = Milliseconds(40);
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    auto started = belay::start(hub, approval, order, {.instance_id = "a"});
    ASSERT_TRUE(wait_until([&] { return told(EventKind::kEvicted); }));
    hub.orchestrations().raise_text("a", "approved", "true");
    EXPECT_EQ(started.wait(), "approved");
    EXPECT_GT(runtime.stats().events_replayed, 0u);
}

inline constexpr OrchestrationOf<std::string()> slow_turn{"SlowTurn"};

// Holds the thread of its second turn while the test wants it.
Durable<std::string> be_slow(Context ctx) {
    std::string first = co_await ctx.event<std::string>("first");
    ++held_turns;
    while (held_turns > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::string second = co_await ctx.event<std::string>("second");
    co_return first + second;
}

// LC-1, LC-4: others enter and leave the cache while an instance has its turn; it comes back, and
// they are read again.
TEST_F(RuntimeServer, EvictionDuringASlowTurn) {
    RuntimeOptions given = runtime_options();
    given.cache_instances = 1;
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    runtime.on(slow_turn, &be_slow);
    held_turns = 0;
    const Running running(runtime);
    const struct Release {
        ~Release() { held_turns = 0; }
    } release;
    const auto evicted = [&](const std::string& id) {
        return wait_until([&] {
            const std::lock_guard lock(mutex_);
            return std::any_of(events_.begin(), events_.end(), [&](const RuntimeEvent& event) {
                return event.kind == EventKind::kEvicted && event.instance_id == id;
            });
        });
    };
    const auto cached = [&] {
        return wait_until([&] { return runtime.stats().cache_instances == 1; });
    };
    belay::Hub hub = this->hub();
    auto slow = belay::start(hub, slow_turn, {.instance_id = "slow"});
    ASSERT_TRUE(cached());
    hub.orchestrations().raise_text("slow", "first", "a");
    ASSERT_TRUE(wait_until([] { return held_turns == 1; }));
    EXPECT_EQ(runtime.stats().cache_instances, 0u);
    const Order order{"o", 1};
    auto one = belay::start(hub, approval, order, {.instance_id = "one"});
    ASSERT_TRUE(cached());
    auto other = belay::start(hub, approval, order, {.instance_id = "other"});
    ASSERT_TRUE(evicted("one"));
    held_turns = 0;
    ASSERT_TRUE(evicted("other"));
    EXPECT_EQ(runtime.stats().cache_hits, 1u);
    EXPECT_EQ(runtime.stats().events_replayed, 0u);
    hub.orchestrations().raise_text("slow", "second", "b");
    EXPECT_EQ(slow.wait(std::chrono::seconds(60)), "ab");
    EXPECT_EQ(runtime.stats().cache_hits, 2u);
    for (const char* id : {"one", "other"}) {
        hub.orchestrations().raise_text(id, "approved", "true");
    }
    EXPECT_EQ(one.wait(std::chrono::seconds(60)), "approved");
    EXPECT_EQ(other.wait(std::chrono::seconds(60)), "approved");
    EXPECT_EQ(types("slow"), (std::vector<std::string>{"OrchestrationStarted", "ExternalSubscribed",
                                                       "ExternalEvent", "ExternalSubscribed",
                                                       "ExternalEvent", "OrchestrationCompleted"}));
    EXPECT_EQ(runtime.stats().of(EventKind::kNondeterministic), 0u);
}

// ---- The ends of instances. ----

inline constexpr OrchestrationOf<std::string(int)> bad_text{"BadText"};
Durable<std::string> return_bad_text(Context, int which) {
    co_return which == 0 ? std::string("a\0b", 3) : std::string("not UTF-8: \xff");
}

// TA-2: what the server refuses to store fails the instance, once.
TEST_F(RuntimeServer, RefusedAckFailsTheInstance) {
    Runtime runtime(runtime_options());
    runtime.on(bad_text, &return_bad_text);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    for (const int which : {0, 1}) {
        const std::string id = "bad-" + std::to_string(which);
        auto started = belay::start(hub, bad_text, which, {.instance_id = id});
        try {
            started.wait(std::chrono::seconds(60));
            FAIL() << id;
        } catch (const belay::Failure& failure) {
            EXPECT_EQ(std::string(failure.what()).find("infrastructure:ack_orchestration_item: "),
                      0u)
                << failure.what();
        }
        EXPECT_EQ(types(id),
                  (std::vector<std::string>{"OrchestrationStarted", "OrchestrationFailed"}))
            << id;
    }
    EXPECT_EQ(runtime.stats().turns, 2u);
}

OrchestrationOf<std::string(int)> bad_exception{"BadException"};

Durable<std::string> throw_bad_text(Context, int) {
    throw std::runtime_error("not UTF-8: \xff");
    co_return "";
}

// PY-5: an exception ends the instance with its text, of any kind.
TEST_F(RuntimeServer, ExceptionWithoutUtf8) {
    Runtime runtime(runtime_options());
    runtime.on(bad_exception, &throw_bad_text);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    try {
        belay::start(hub, bad_exception, 1).wait(std::chrono::seconds(60));
        FAIL();
    } catch (const belay::Failure& failure) {
        EXPECT_STREQ(failure.what(), "not UTF-8: \uFFFD");
        EXPECT_NE(failure.details().find("\"OrchestrationFailed\""), std::string::npos);
    }
}

OrchestrationOf<std::string(int)> sleeper{"Sleeper"};

Durable<std::string> sleep_for_ever(Context ctx, int) {
    co_await ctx.sleep(Milliseconds::max());
    co_return "";
}

// DT-2: the longest sleep is one that does not end.
TEST_F(RuntimeServer, SleepsForEver) {
    Runtime runtime(runtime_options());
    runtime.on(sleeper, &sleep_for_ever);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    auto started = belay::start(hub, sleeper, 1, {.instance_id = "s"});
    ASSERT_TRUE(wait_until([&] { return !types("s").empty(); }));
    EXPECT_THROW(started.wait(Milliseconds(50)), belay::Error);
    EXPECT_EQ(types("s"), (std::vector<std::string>{"OrchestrationStarted", "TimerCreated"}));
    started.cancel("enough");
    EXPECT_THROW(started.wait(std::chrono::seconds(60)), belay::Cancelled);
}

// Failures and cancellation reach the one who waits; a timeout says so. ST-2, PY-6
TEST_F(RuntimeServer, WaitTellsHowItEnded) {
    Runtime runtime(runtime_options());
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order refused{"r", 0};
    auto failing = belay::start(hub, versioned, refused);
    try {
        failing.wait();
        FAIL();
    } catch (const belay::Failure& failure) {
        EXPECT_STREQ(failure.what(), "nothing to charge");
    }
    EXPECT_THROW(failing.wait_status([](const OptionalText& status) { return status == "x"; }),
                 belay::Failure);
    const Order order{"o", 1};
    auto waiting = belay::start(hub, approval, order);
    try {
        waiting.wait(Milliseconds(50));
        FAIL();
    } catch (const belay::Error& error) {
        EXPECT_TRUE(error.timed_out());
    }
    waiting.cancel("enough");
    try {
        waiting.wait();
        FAIL();
    } catch (const belay::Cancelled& cancelled) {
        EXPECT_EQ(cancelled.reason(), "enough");
    }
}

// ST-2: who waits for an instance learns that it was deleted.
TEST_F(RuntimeServer, WaitForADeletedInstance) {
    Runtime runtime(runtime_options());
    register_all(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    auto started = belay::start(hub, approval, order, {.instance_id = "a"});
    started.wait_status([](const OptionalText& status) { return status.has_value(); });
    std::string found;
    std::thread waiting([&] {
        belay::ConnectionOptions its_options = options();
        its_options.conninfo += " application_name=waiting";
        belay::Connection connection(its_options);
        belay::Hub its_hub(connection, "app");
        try {
            belay::Started<std::string>(its_hub, "a").wait(std::chrono::seconds(300));
        } catch (const belay::Error& error) {
            found = std::string(error.sqlstate()) + " " + error.what();
        }
    });
    EXPECT_TRUE(wait_until([&] {
        return admin_->value(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waiting' AND "
                   "state = 'active' AND query LIKE '%await_result%'") == "1";
    }));
    hub.orchestrations().remove("a", true);
    waiting.join();
    EXPECT_EQ(found.find("QB002 instance \"a\" was deleted while it was awaited"), 0u) << found;
}

inline constexpr OrchestrationOf<std::string(Order)> asks_for_approval{"AsksForApproval"};
Durable<std::string> ask_for_approval(Context ctx, Order order) {
    std::string answer =
        co_await ctx.call(approval, order, belay::CallOptions().instance("the-child"));
    co_return answer;
}

// PY-4: how an instance has ended is read from its history, not from its output: with the failure
// of a cancelled child a parent fails, but was not cancelled.
TEST_F(RuntimeServer, FailureOfCancelledChild) {
    Runtime runtime(runtime_options());
    register_all(runtime);
    runtime.on(asks_for_approval, &ask_for_approval);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    auto started = belay::start(hub, asks_for_approval, order);
    belay::Started<std::string> child(hub, "the-child");
    child.wait_status([](const OptionalText& status) { return status.has_value(); });
    child.cancel("enough");
    EXPECT_THROW(child.wait(std::chrono::seconds(60)), belay::Cancelled);
    try {
        started.wait(std::chrono::seconds(60));
        FAIL();
    } catch (const belay::Cancelled&) {
        FAIL() << "the parent was not cancelled";
    } catch (const belay::Failure& failure) {
        EXPECT_STREQ(failure.what(), "canceled: enough");
        EXPECT_FALSE(failure.retryable());
        EXPECT_NE(failure.details().find("\"OrchestrationFailed\""), std::string::npos);
    }
}

// TU-3: a message that cannot be read fails its instance, after max_attempts.
TEST_F(RuntimeServer, UnreadableMessage) {
    RuntimeOptions given = runtime_options();
    given.max_attempts = 1;
    Runtime runtime(given);
    register_all(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    auto started = belay::start(hub, approval, order, {.instance_id = "a"});
    started.wait_status([](const OptionalText& status) { return status.has_value(); });
    hub.provider().enqueue_orchestrator_work(
        {.work_item = R"({"Invented":{"instance":"a"}})", .instance_id = "a"});
    try {
        started.wait(std::chrono::seconds(60));
        FAIL();
    } catch (const belay::Failure& failure) {
        EXPECT_EQ(std::string(failure.what()).find("deserialization failed: "), 0u)
            << failure.what();
        EXPECT_NE(failure.details().find("\"Poison\""), std::string::npos);
    }
    EXPECT_EQ(runtime.stats().of(EventKind::kCorrupt), 2u);
}

Durable<std::string> pay_after_check(Context ctx, Order order) {
    std::string verdict = co_await ctx.call(check, order);
    Receipt receipt = co_await ctx.call(charge, order);
    co_return receipt.id;
}

// ND-3, ND-4: other code than the history's is stopped, nothing is stored, and the instance
// continues when the old code is back. VE: a change with version() is no difference.
TEST_F(RuntimeServer, OtherCodeIsBlocked) {
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    std::atomic<bool> busy = true;
    const auto set_up = [&](Runtime& runtime, auto code) {
        runtime.on(versioned, code);
        runtime.on(check, [](Order) { return std::string("fine"); });
        runtime.on(charge, [&](Order) -> Receipt {
            if (busy) {
                throw std::runtime_error("later");  // Tried again, after a second.
            }
            return Receipt{"r"};
        });
    };
    auto started = belay::start(hub, versioned, order, {.instance_id = "v"});
    {
        Runtime runtime(runtime_options());
        set_up(runtime, &pay_before);
        const Running running(runtime);
        ASSERT_TRUE(wait_until([&] { return types("v").size() == 2; }));
    }
    busy = false;
    {
        Runtime runtime(runtime_options());
        // The same name and version, and a call before the charge.
        set_up(runtime, &pay_after_check);
        const Running running(runtime);
        ASSERT_TRUE(wait_until([&] {
            return told(EventKind::kNondeterministic,
                        "the code wants:  ActivityScheduled \"Check\"");
        }));
        EXPECT_EQ(types("v").size(), 2u);
        EXPECT_EQ(hub.orchestrations().get("v")->status, belay::InstanceStatus::kRunning);
        EXPECT_GT(runtime.stats().given_back, 0u);
        const auto counted = runtime.stats().nondeterministic;
        ASSERT_EQ(counted.size(), 1u);
        EXPECT_EQ(counted.begin()->first,
                  std::pair(std::string("Versioned"), std::string("1.0.0")));
        EXPECT_EQ(counted.begin()->second, runtime.stats().of(EventKind::kNondeterministic));
    }
    Runtime runtime(runtime_options());
    set_up(runtime, &pay);
    const Running running(runtime);
    EXPECT_EQ(started.wait(std::chrono::seconds(90)), "r");
}

// ---- Other parts. ----

// ST-3: looks at a running instance and stores nothing.
TEST_F(RuntimeServer, Inspect) {
    belay::Registry registry;
    registry.on(approval, &approve);
    belay::Hub hub = this->hub();
    EXPECT_THROW(belay::inspect(hub, registry, "a", [](Context) {}), belay::Error);
    Runtime runtime(runtime_options());
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    const Order order{"o", 1};
    auto started = belay::start(hub, approval, order, {.instance_id = "a"});
    started.wait_status([](const OptionalText& status) { return status.has_value(); });
    const auto before = types("a");
    int looked = 0;
    belay::inspect(hub, registry, "a", [&](Context ctx) {
        ++looked;
        EXPECT_EQ(ctx.instance_id(), "a");
        EXPECT_EQ(ctx.history_size(), 4);
        ctx.set_status("not stored");
    });
    EXPECT_EQ(looked, 1);
    EXPECT_EQ(types("a"), before);
    started.cancel("done");
    EXPECT_THROW(started.wait(), belay::Cancelled);
}

// A runtime without orchestrations leaves turns alone, and one without activities leaves these.
TEST_F(RuntimeServer, OneRuntimePerKindOfWork) {
    Runtime turns(runtime_options());
    turns.on(hello, &say_hello);
    Runtime activities(runtime_options());
    activities.on(greet, [](std::string name) { return "Hello " + name; });
    const Running running_turns(turns);
    const Running running_activities(activities);
    belay::Hub hub = this->hub();
    EXPECT_EQ(belay::start(hub, hello, "world").wait(std::chrono::seconds(60)), "Hello world");
    EXPECT_EQ(activities.stats().turns, 0u);
    EXPECT_EQ(turns.stats().given_back, 0u);
    EXPECT_FALSE(told(EventKind::kNoHandler));
    EXPECT_FALSE(told(EventKind::kError));
    Runtime nothing(runtime_options());
    EXPECT_THROW(nothing.run(), std::logic_error);
}

// A runtime that has ended does not begin again, and says so.
TEST_F(RuntimeServer, RunsOnce) {
    Runtime runtime(runtime_options());
    runtime.on(hello, &say_hello);
    { const Running running(runtime); }
    EXPECT_THROW(runtime.run(), std::logic_error);
}

// AT-9: an instance of another application is neither leased nor delayed.
TEST_F(RuntimeServer, OnlyRegisteredNames) {
    belay::Hub hub = this->hub();
    hub.orchestrations().start_text("Foreign", "", {.instance_id = "f"});
    for (const bool only : {true, false}) {
        RuntimeOptions given = runtime_options();
        given.only_registered_names = only;
        Runtime runtime(given);
        runtime.on(hello, &say_hello);
        runtime.on(greet, [](std::string name) { return "Hello " + name; });
        const Running running(runtime);
        EXPECT_EQ(belay::start(hub, hello, "world").wait(std::chrono::seconds(60)), "Hello world");
        const auto foreign = hub.orchestrations().pending_starts("f");
        ASSERT_EQ(foreign.size(), 1u);
        const std::string due = admin_->value("SELECT visible_at <= created_at FROM app.messages");
        if (only) {
            EXPECT_EQ(runtime.stats().given_back, 0u);
            EXPECT_FALSE(told(EventKind::kNoHandler));
            EXPECT_EQ(foreign[0].attempt, 0);
            EXPECT_EQ(due, "t");
        } else {
            EXPECT_TRUE(wait_until([&] { return told(EventKind::kNoHandler); }));
        }
    }
}

// AT-13, LC-1: a turn of an instance in memory costs one round trip, of the ack that fetches the
// next one.
TEST_F(RuntimeServer, RoundTripsOfCachedTurns) {
    constexpr int kInstances = 300;
    admin_->exec(
        "SELECT app.start_orchestration('Approval', '{\"id\":\"o\",\"cents\":1}', 'a' || i) "
        "FROM generate_series(1, " +
        std::to_string(kInstances) + ") AS i");
    Runtime runtime(runtime_options());
    runtime.on(approval, &approve);
    {
        const Running running(runtime);
        ASSERT_TRUE(wait_until([&] { return runtime.stats().cache_instances == kInstances; }));
        admin_->exec(
            "SELECT app.raise_event('a' || i, 'approved', 'true') FROM "
            "generate_series(1, " +
            std::to_string(kInstances) + ") AS i");
        EXPECT_TRUE(wait_until([&] {
            return admin_->value(
                       "SELECT count(*) FROM app.list_instances_by_status('Completed')") ==
                   std::to_string(kInstances);
        }));
    }
    const auto stats = runtime.stats();
    EXPECT_EQ(stats.turns, 2u * kInstances);
    EXPECT_EQ(stats.cache_hits, static_cast<std::uint64_t>(kInstances));
    std::cout << stats.round_trips << " round trips for " << stats.turns << " turns\n";
    EXPECT_GE(stats.round_trips, 10u);
    EXPECT_LE(stats.round_trips, stats.turns * 6 / 5);
    EXPECT_EQ(stats.turn_round_trips, stats.round_trips);

    // Activities have their own.
    Runtime worker(runtime_options());
    register_all(worker);
    register_activities(worker);
    {
        const Running running(worker);
        belay::Hub hub = this->hub();
        belay::start(hub, hello, "world").wait(std::chrono::seconds(60));
    }
    EXPECT_GT(worker.stats().turn_round_trips, 0u);
    EXPECT_LT(worker.stats().turn_round_trips, worker.stats().round_trips);
}

// A runtime that has nothing to do asks the server for nothing while its two waits last, though
// leases, idle instances and blocked code are looked after more often.
TEST_F(RuntimeServer, NoRoundTripsWhileIdle) {
    const std::string conninfo = cluster->conninfo();
    Proxy proxy(conninfo.substr(5, conninfo.find(' ') - 5));
    RuntimeOptions given = runtime_options();
    given.connection.conninfo = proxy.conninfo() + " application_name=idle";
    given.wait_timeout = std::chrono::seconds(300);
    given.lock_timeout = Milliseconds(2000);
    given.blocked_resume = Milliseconds(100);
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    EXPECT_EQ(belay::start(hub, hello, "world").wait(std::chrono::seconds(60)), "Hello world");
    const Order order{"o", 1};
    auto waiting = belay::start(hub, approval, order, {.instance_id = "a"});
    ASSERT_TRUE(wait_until([&] { return runtime.stats().cache_instances == 1; }));
    // Of turns and of activities, both for longer than any other period.
    ASSERT_TRUE(wait_until([&] {
        return admin_->value(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'idle' AND "
                   "state = 'active' AND query ~ 'wait_for_work' AND "
                   "clock_timestamp() > query_start + '1 s'") == "2";
    }));
    const int before = proxy.messages();
    EXPECT_GT(before, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_EQ(proxy.messages(), before);
    hub.orchestrations().raise_text("a", "approved", "true");
    EXPECT_EQ(waiting.wait(std::chrono::seconds(60)), "approved");
    EXPECT_GT(proxy.messages(), before);
}

// ---- Time. ----

inline constexpr OrchestrationOf<std::string()> tells_time{"TellsTime"};
Durable<std::string> tell_time(Context ctx) {
    const auto before = belay::to_ms(ctx.now());
    co_await ctx.sleep(Milliseconds(1));
    std::string now = co_await ctx.call_text("__duroxide_syscall:utc_now_ms", "");
    co_return std::to_string(before) + " " + now;
}

// TH-5, HI-2: what is stored is the server's time, and timers fire by it, however wrong the clock
// of this machine is.
TEST_F(RuntimeServer, SkewedLocalClock) {
    const auto server_ms = [&] {
        return std::stoll(
            admin_->value("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"));
    };
    for (const int hours : {2, -2}) {
        belay::test::skew_seconds = hours * 3600;
        const struct Back {
            ~Back() { belay::test::skew_seconds = 0; }
        } back;
        ASSERT_GT(std::abs(server_ms() - belay::to_ms(*belay::system_clock()())), 3600000);
        RuntimeOptions given = runtime_options();
        given.serve_system_activities = true;
        Runtime runtime(given);
        runtime.on(tells_time, &tell_time);
        const Running running(runtime);
        belay::Hub hub = this->hub();
        const auto before = server_ms();
        const std::string id = "t" + std::to_string(hours);
        const std::string output =
            belay::start(hub, tells_time, {.instance_id = id}).wait(std::chrono::seconds(60));
        const auto after = server_ms();
        const auto in_time = [&](std::int64_t ms) { return before <= ms && ms <= after; };
        EXPECT_TRUE(in_time(std::stoll(output))) << output;
        EXPECT_TRUE(in_time(std::stoll(output.substr(output.find(' '))))) << output;
        for (const auto& event : hub.orchestrations().history(id)) {
            const auto stored =
                json::parse(event.event_data).at("timestamp_ms").get<std::int64_t>();
            EXPECT_TRUE(in_time(stored)) << event.event_data;
        }
    }
}

inline constexpr OrchestrationOf<std::string()> system_calls{"SystemCalls"};
Durable<std::string> call_system(Context ctx) {
    ctx.set("colour", std::string("red"));
    co_await ctx.sleep(Milliseconds(0));
    std::string now = co_await ctx.call_text("__duroxide_syscall:utc_now_ms", "");
    std::string guid = co_await ctx.call_text("__duroxide_syscall:new_guid", "");
    nlohmann::json input = {{"instance_id", ctx.instance_id()}, {"key", "colour"}};
    std::string colour = co_await ctx.call_text("__duroxide_syscall:get_kv_value", input.dump());
    input["key"] = "none";
    std::string none = co_await ctx.call_text("__duroxide_syscall:get_kv_value", input.dump());
    co_return std::to_string(std::stoll(now) > 1700000000000) + " " + std::to_string(guid.size()) +
        " " + colour + " " + none;
}

// DX-3.
TEST_F(RuntimeServer, SystemActivities) {
    RuntimeOptions given = runtime_options();
    given.serve_system_activities = true;
    given.clock = belay::system_clock();
    Runtime runtime(given);
    runtime.on(system_calls, &call_system);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    EXPECT_EQ(belay::start(hub, system_calls).wait(std::chrono::seconds(60)), "1 36 \"red\" null");
}

// A hook that throws changes nothing.
TEST_F(RuntimeServer, ThrowingHook) {
    RuntimeOptions given = runtime_options();
    given.on_event = [](const RuntimeEvent&) { throw std::runtime_error("hook"); };
    given.on_turn = [](const belay::DispatcherEvent&) { throw std::runtime_error("hook"); };
    given.on_activity = [](const belay::WorkerEvent&) { throw std::runtime_error("hook"); };
    Runtime runtime(given);
    register_all(runtime);
    register_activities(runtime);
    const Running running(runtime);
    belay::Hub hub = this->hub();
    EXPECT_EQ(belay::start(hub, hello, "world").wait(std::chrono::seconds(60)), "Hello world");
    EXPECT_EQ(runtime.stats().turns, 2u);
}

// LC-9: with slots, two runtimes share the instances.
TEST_F(RuntimeServer, SharesSlots) {
    admin_->exec("SELECT belay.set_hub_option('app', 'slot_count', '16')");
    // With one thread each, a turn is in the cache before the next is fetched.
    RuntimeOptions given = runtime_options();
    given.executors = 1;
    Runtime one(given);
    Runtime other(given);
    for (Runtime* runtime : {&one, &other}) {
        runtime->on(chain, &run_chain);
        runtime->on(square, [](int i) { return i * i; });
    }
    const Running running_one(one);
    const Running running_other(other);
    ASSERT_TRUE(wait_until([&] {
        return admin_->value("SELECT count(*) FROM app.slot_leases") == "16" &&
               admin_->value("SELECT count(DISTINCT owner_id) FROM app.slot_leases") == "2";
    }));
    belay::Hub hub = this->hub();
    for (int i = 0; i < 10; ++i) {
        hub.orchestrations().start_text("Chain", "5", {.instance_id = "c" + std::to_string(i)});
    }
    for (int i = 0; i < 10; ++i) {
        belay::Started<int> started(hub, "c" + std::to_string(i));
        EXPECT_EQ(started.wait(std::chrono::seconds(60)), 30);
    }
    EXPECT_EQ(one.stats().cache_other_event + other.stats().cache_other_event, 0u);
    EXPECT_FALSE(told(EventKind::kSlotsNotShared));
}

// LC-9: without slots, the hook is told so, once, if instances are kept in memory.
TEST_F(RuntimeServer, TellsThatSlotsAreNotShared) {
    for (const bool keeps : {true, false}) {
        RuntimeOptions given = runtime_options();
        given.cache_bytes = keeps ? given.cache_bytes : 0;
        Runtime runtime(given);
        register_all(runtime);
        register_activities(runtime);
        {
            const Running running(runtime);
            belay::Hub hub = this->hub();
            belay::start(hub, hello, "world").wait(std::chrono::seconds(60));
        }
        EXPECT_EQ(runtime.stats().of(EventKind::kSlotsNotShared), keeps ? 1u : 0u);
    }
}

// CX-4: what destructors drop when stop() empties the cache is counted, and not done.
TEST_F(RuntimeServer, CountsTeardown) {
    Runtime runtime(runtime_options());
    register_all(runtime);
    belay::Hub hub = this->hub();
    const Order order{"o", 1};
    auto started = belay::start(hub, approval, order, {.instance_id = "a"});
    {
        const Running running(runtime);
        started.wait_status([](const OptionalText& status) { return status.has_value(); });
        ASSERT_TRUE(wait_until([&] { return runtime.stats().cache_instances == 1; }));
        EXPECT_EQ(runtime.stats().teardown_actions, 0u);
    }
    EXPECT_EQ(runtime.stats().teardown_actions, 2u);  // the event and the deadline
    EXPECT_EQ(types("a").back(), "TimerCreated");
}

}  // namespace
