// The examples in a World: every cache mode, orders by seed, crashes, duplicates.
#include "examples.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "belay/testing.hpp"

namespace {

using namespace examples;
using belay::testing::CacheMode;
using belay::testing::World;

struct ExamplesWorld : World {
    explicit ExamplesWorld(std::uint64_t seed = 0) : World(seed) {
        register_all(*this);
        register_activities(*this);
    }
};

std::vector<std::string> types(const World& world, const std::string& id,
                               std::int64_t execution = 0) {
    std::vector<std::string> types;
    for (const auto& event : world.events(id, execution)) {
        types.push_back(nlohmann::json::parse(event).at("type"));
    }
    return types;
}

bool has(const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
}

class Examples : public ::testing::TestWithParam<CacheMode> {};

// LC-7: all modes of the cache give the same. TE-2: time jumps.
TEST_P(Examples, EndAsTheyShould) {
    ExamplesWorld world;
    world.cache(GetParam());
    EXPECT_EQ(world.start(hello, "world").result(), "Hello world");
    EXPECT_EQ(world.start(sum_of_squares, 50).result(), 40425);
    const Order order{"o1", 500};
    EXPECT_EQ(world.start(order_saga, order).result(), "parcel-o1");
    EXPECT_EQ(world.start(approval, order).result(), "expired");
    const Round round{1, 5};
    auto cleaning = world.start(cleaner, round);
    EXPECT_EQ(cleaning.result(), "cleaned 5");
    EXPECT_EQ(cleaning.state().execution_id, 5);
    const std::vector<Order> orders{{"a", 1}, {"b", 0}, {"c", 3}};
    EXPECT_EQ(world.start(bulk, orders).result(), 2);
    EXPECT_EQ(world.start(versioned, order).result(), "r-o1");
    world.run();
    world.torture();  // TE-5
}

INSTANTIATE_TEST_SUITE_P(Modes, Examples,
                         ::testing::Values(CacheMode::kRandom, CacheMode::kOn, CacheMode::kOff));

// Approval by a human; the deadline's timer leaves nothing.
TEST(ExamplesTest, ApprovalByEvent) {
    ExamplesWorld world;
    world.manual_time();
    const Order order{"o1", 1};
    auto started = world.start(approval, order, "a1");
    world.settle();
    EXPECT_EQ(started.state().custom_status, "waiting for approval of o1");  // ST-1
    world.advance(1h);
    world.raise("a1", "approved", true);
    world.settle();
    EXPECT_EQ(started.result(), "approved");
    EXPECT_EQ(started.state().custom_status, std::nullopt);
}

// The deadline passes: shipping is cancelled, the charge is undone. CX-1
TEST(ExamplesTest, SagaDeadline) {
    ExamplesWorld world;
    std::vector<std::string> refunds;
    world.on(ship, [&](Order) {
        world.sleep(48h);
        return std::string("late");
    });
    world.on(refund, [&](Receipt receipt) {
        refunds.push_back(receipt.id);
        return receipt.id;
    });
    const Order order{"o1", 1};
    auto started = world.start(order_saga, order, "s1");
    EXPECT_THROW(
        {
            try {
                started.result();
            } catch (const belay::Failure& failure) {
                EXPECT_STREQ(failure.what(), "not shipped in time");
                throw;
            }
        },
        belay::Failure);
    EXPECT_EQ(refunds, std::vector<std::string>{"r-o1"});
    EXPECT_TRUE(has(types(world, "s1"), "ActivityCancelRequested"));
    world.run();
    world.torture();
}

// The customer cancels while the parcel is on its way; a second activity is not begun. CX-5
TEST(ExamplesTest, SagaCancelled) {
    ExamplesWorld world;
    world.manual_time();
    int refunds = 0;
    world.on(ship, [&](Order) {
        world.sleep(12h);
        return std::string("parcel");
    });
    world.on(refund, [&](Receipt receipt) {
        ++refunds;
        return receipt.id;
    });
    const Order order{"o1", 1};
    auto started = world.start(order_saga, order, "s1");
    world.advance(1h);
    started.cancel("changed my mind");
    world.settle();
    EXPECT_EQ(refunds, 1);
    EXPECT_EQ(started.state().status, "Failed");
    EXPECT_EQ(started.state().output, "canceled: changed my mind");
    EXPECT_THROW(started.result(), belay::Cancelled);
}

// A charge that fails twice succeeds at the third attempt, after 100 and 200 ms. RT-1
TEST(ExamplesTest, SagaRetriesCharge) {
    ExamplesWorld world;
    int attempts = 0;
    world.on(charge, [&](Order order) {
        if (++attempts < 3) {
            throw belay::Failure("busy");
        }
        return Receipt{order.id};
    });
    const Order order{"o1", 1};
    const auto began = world.now();
    EXPECT_EQ(world.start(order_saga, order).result(), "parcel-o1");
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(world.now() - began, 300ms);
}

// TE-1: 100 seeds are 100 orders, with the same results.
TEST(ExamplesTest, HundredSeeds) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        ExamplesWorld world(seed);
        world.reorder_messages(seed);
        const std::vector<Order> orders{{"a", 1}, {"b", 0}, {"c", 3}};
        auto children = world.start(bulk, orders);
        auto squares = world.start(sum_of_squares, 5);
        EXPECT_EQ(children.result(), 2) << seed;
        EXPECT_EQ(squares.result(), 30) << seed;
    }
}

// A crash after every turn, every ack failing once, and duplicates change nothing.
TEST(ExamplesTest, FaultsAtEveryTurn) {
    for (int fault_at = 0; fault_at < 24; ++fault_at) {
        ExamplesWorld world;
        const std::vector<Order> orders{{"a", 1}, {"b", 0}};
        auto started = world.start(bulk, orders);
        for (int step = 0; step < fault_at; ++step) {
            world.step();
        }
        switch (fault_at % 3) {
            case 0:
                world.crash();
                break;
            case 1:
                world.fail_ack_once();
                break;
            default:
                world.duplicate_next_message();
        }
        EXPECT_EQ(started.result(), 1) << fault_at;
        world.run();
    }
}

// 1,000 activities at once.
TEST(ExamplesTest, FanOutOfThousand) {
    ExamplesWorld world;
    world.verify_replay(false);
    EXPECT_EQ(world.start(sum_of_squares, 1000).result(), 332833500);
    EXPECT_LE(world.stats().turns, 2001u);
    world.run();
}

// Instances that had passed the place run without the check, others with it.
TEST(ExamplesTest, CodeChangeWhileRunning) {
    World world;
    register_activities(world);
    int checks = 0;
    world.on(check, [&](Order) {
        ++checks;
        return std::string("fine");
    });
    world.on(versioned, &pay_before);
    const Order order{"old", 1};
    auto old = world.start(versioned, order, "old");
    world.step();  // The turn that schedules the charge.
    belay::Registry registry;
    registry.on(versioned, &pay);
    world.deploy(std::move(registry));
    EXPECT_EQ(old.result(), "r-old");
    EXPECT_EQ(checks, 0);
    const Order next{"new", 1};
    EXPECT_EQ(world.start(versioned, next).result(), "r-new");
    EXPECT_EQ(checks, 1);
}

// TE-3: an activity without a function names itself.
TEST(ExamplesTest, MissingFunction) {
    World world;
    world.on(hello, &say_hello);
    auto started = world.start(hello, "x");
    try {
        started.result();
        FAIL();
    } catch (const std::logic_error& error) {
        EXPECT_NE(std::string(error.what()).find("\"Greet\""), std::string::npos);
    }
}

// TE-3: an instance that waits for ever names what it waits for.
TEST(ExamplesTest, NothingCanHappen) {
    ExamplesWorld world;
    world.manual_time();
    const Order order{"o1", 1};
    auto started = world.start(approval, order, "a1");
    try {
        started.result();
        FAIL();
    } catch (const std::logic_error& error) {
        EXPECT_STREQ(error.what(),
                     "instance \"a1\" waits for event 3 \"approved\", and nothing can happen any "
                     "more");
    }
    EXPECT_EQ(world.waits_for("none"), "");
}

// TE-4: every turn is replayed and compared unless that is turned off.
TEST(ExamplesTest, WorldVerifies) {
    ExamplesWorld world;
    static int calls = 0;
    static constexpr belay::OrchestrationOf<std::string()> impure{"Impure"};
    Durable<std::string> (*const code)(Context) = [](Context ctx) {
        return say_hello(ctx, std::to_string(++calls));
    };
    world.on(impure, code);
    EXPECT_THROW(world.start(impure).result(), belay::Nondeterminism);
    World trusting;
    trusting.verify_replay(false);
    trusting.cache(belay::testing::CacheMode::kOn);
    trusting.on(impure, code);
    register_activities(trusting);
    EXPECT_FALSE(trusting.start(impure).result().empty());
}

// TE-2: worlds do not share their time.
TEST(ExamplesTest, TwoWorlds) {
    ExamplesWorld one;
    ExamplesWorld other;
    const Order order{"o", 1};
    const auto before = other.now();
    one.start(approval, order).result();
    EXPECT_EQ(other.now(), before);
}

// TE-6, TE-7: a history that a World has written is replayed, whole and unfinished.
TEST(ExamplesTest, ReplayerReadsWorld) {
    ExamplesWorld world;
    world.manual_time();
    const Order order{"o1", 1};
    world.start(approval, order, "a1");
    world.settle();
    belay::testing::Replayer replayer;
    register_all(replayer);
    auto report = replayer.replay(world.history("a1"));
    EXPECT_TRUE(report.ok) << report.text;
    EXPECT_FALSE(report.ended);
    EXPECT_EQ(report.open, (std::vector<std::int64_t>{3, 4}));
    EXPECT_EQ(report.waiting_for, "event 3 \"approved\"");
    world.raise("a1", "approved", false);
    world.settle();
    report = replayer.replay(world.history("a1"));
    EXPECT_TRUE(report.ok) << report.text;
    EXPECT_TRUE(report.ended);
    // With what has come for it since: the file that shows what the next turn would do.
    ExamplesWorld before;
    before.manual_time();
    before.start(approval, order, "a1");
    before.settle();
    std::string history = "[";
    for (const std::string& event : before.events("a1")) {
        history += (history.size() > 1 ? "," : "") + event;
    }
    history += "]";
    const std::string raised =
        R"({"ExternalRaised":{"instance":"a1","name":"approved","data":"true"}})";
    report = replayer.replay(R"({"history":)" + history + R"(,"messages":[]})");
    EXPECT_TRUE(report.ok) << report.text;
    EXPECT_FALSE(report.ended);
    report = replayer.replay(R"({"history":)" + history + R"(,"messages":[)" + raised + "]}");
    EXPECT_TRUE(report.ok) << report.text;
    EXPECT_TRUE(report.ended);
    EXPECT_FALSE(replayer.replay("nonsense").ok);
    EXPECT_FALSE(replayer.replay_file("/nonexistent").ok);
}

}  // namespace
