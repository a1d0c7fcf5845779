// Golden histories: what the examples and the scenarios store is what it was, and what was stored
// is replayed by today's code, with every compiler. The files are in golden/; BELAY_WRITE_GOLDEN=1
// writes them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "scenarios.hpp"

namespace {

using namespace scenarios;
using belay::testing::CacheMode;
using belay::testing::World;

std::filesystem::path golden_directory() {
    const char* const root = std::getenv("BELAY_ROOT");
    return root != nullptr ? std::filesystem::path(root) / "test/runtime/golden"
                           : std::filesystem::path(__FILE__).parent_path() / "golden";
}

std::string text_of(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// hello.json; of a child, saga.sub.2.json; of a later execution, cleaner-2.json.
std::string file_of(std::string id, std::int64_t execution) {
    for (auto at = id.find("::"); at != std::string::npos; at = id.find("::")) {
        id.replace(at, 2, ".");
    }
    return id + (execution > 1 ? "-" + std::to_string(execution) : std::string()) + ".json";
}

// Instances with an id that says what it shows.
void run_examples(World& world) {
    world.cache(CacheMode::kOn);
    register_all(world);
    register_activities(world);
    register_scenarios(world);
    world.on(square, [](int i) {
        if (i > 3) {
            throw belay::Failure("too large: " + std::to_string(i), false);
        }
        return i * i;
    });
    world.on(check_health, [](int) {});
    int charges = 0;
    world.on(charge, [charges = &charges](Order order) {
        if (order.id == "again" && ++*charges < 3) {
            throw belay::Failure("busy");
        }
        if (order.cents < 1) {
            throw belay::Failure("nothing to charge", false);
        }
        return Receipt{"r-" + order.id};
    });
    world.on(ship, [&world](Order order) {
        world.sleep(order.id == "slow" ? 48h : 1h);
        return "parcel-" + order.id;
    });
    world.manual_time();
    const Order order{"o1", 500};
    const Order again{"again", 500};
    const Order slow{"slow", 500};
    const Order free{"free", 0};
    const std::vector<Order> orders{{"a", 1}, {"b", 0}};
    const Round round{1, 2};
    world.start(hello, "Grüße, \"world\"", "hello");
    world.start(order_saga, order, "saga");
    world.start(order_saga, again, "saga_retries");
    world.start(order_saga, slow, "saga_deadline");
    world.start(order_saga, slow, "saga_cancelled");
    world.start(order_saga, free, "saga_refused");
    world.start(sum_of_squares, 3, "fan_out");
    world.start(approval, order, "approval");
    world.start(approval, order, "approval_expired");
    world.start(approval, order, "approval_waiting");
    world.start(cleaner, round, "cleaner");
    world.start(bulk, orders, "bulk");
    world.start(versioned, order, "versioned");
    const Actor fresh;
    world.start(actor, fresh, "actor");
    world.start(nested, 2, "nested");
    world.start(parent_of_counting, "counting");
    world.start(starter, "x", "starter");
    world.start(mixed, 6, "mixed");
    world.advance(10min);
    // Its first execution ends with its tenth message or pause, and carries the other messages.
    for (int i = 1; i <= 12; ++i) {
        world.enqueue("actor", "inbox", i < 12 ? i : -1);
    }
    world.raise("approval", "approved", true);
    world.cancel("saga_cancelled", "changed my mind");
    world.advance(71h);
    world.cancel("approval_waiting", "enough");
    world.advance(3h);
}

TEST(Golden, HistoriesAreWhatTheyWere) {
    World world;
    run_examples(world);
    const auto directory = golden_directory();
    const bool write = std::getenv("BELAY_WRITE_GOLDEN") != nullptr;
    belay::testing::Replayer replayer;
    register_all(replayer);
    register_scenarios(replayer);
    replayer.strict();
    int files = 0;
    for (const std::string& id : world.instances()) {
        for (std::int64_t execution = 1; execution <= world.state(id).execution_id; ++execution) {
            const std::string text = world.history(id, execution);
            const auto path = directory / file_of(id, execution);
            if (write) {
                std::ofstream(path) << text;
            }
            EXPECT_EQ(text_of(path), text) << path;
            const auto report = replayer.replay_file(path.string());
            EXPECT_TRUE(report.ok) << path << ": " << report.text;
            EXPECT_TRUE(report.ended) << path;
            EXPECT_TRUE(replayer.torture(text_of(path)).ok) << path;
            ++files;
        }
    }
    const auto there = std::distance(std::filesystem::directory_iterator(directory),
                                     std::filesystem::directory_iterator());
    EXPECT_EQ(files, there);
}

}  // namespace
