// Golden histories: what the examples store is what it was, and what was stored is replayed by
// today's code, with every compiler. The files are in golden/; BELAY_WRITE_GOLDEN=1 writes them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "belay/testing.hpp"
#include "examples.hpp"

namespace {

using namespace examples;
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

// Instances with an id that says what it shows.
void run_examples(World& world) {
    world.cache(CacheMode::kOn);
    register_all(world);
    register_activities(world);
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
    world.advance(10min);
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
    replayer.strict();
    int files = 0;
    for (const std::string& id : world.instances()) {
        if (id.find("::") != std::string::npos) {
            continue;  // A child.
        }
        const auto path = directory / (id + ".json");
        if (write) {
            std::ofstream(path) << world.history(id, 1);
        }
        EXPECT_EQ(text_of(path), world.history(id, 1)) << path;
        const auto report = replayer.replay_file(path.string());
        EXPECT_TRUE(report.ok) << id << ": " << report.text;
        EXPECT_TRUE(report.ended) << id;
        EXPECT_TRUE(replayer.torture(text_of(path)).ok) << id;
        ++files;
    }
    EXPECT_EQ(files, 13);
    const auto there = std::distance(std::filesystem::directory_iterator(directory),
                                     std::filesystem::directory_iterator());
    EXPECT_EQ(files, there);
}

}  // namespace
