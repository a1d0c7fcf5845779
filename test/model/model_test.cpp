// Random calls of several clients against a hub in memory.
//
// BELAY_SEED repeats a run from its first episode, BELAY_MODEL_STEPS sets its length, BELAY_LONG=1
// makes it ten times as long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "runner.hpp"

namespace belay::test::model {
namespace {

constexpr int64_t kSteps = 12000;
constexpr int64_t kStepsOfEpisode = 1500;
constexpr int kStepsBetweenComparisons = 40;

int64_t number_from(const char* variable, int64_t otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr && *text != '\0' ? std::strtoll(text, nullptr, 10) : otherwise;
}

TEST(Model, RandomCallsOfSeveralClients) {
    const auto first_seed =
        static_cast<uint64_t>(number_from("BELAY_SEED", std::random_device{}() & 0x7fffffff));
    const int64_t steps =
        number_from("BELAY_MODEL_STEPS", kSteps) * (number_from("BELAY_LONG", 0) == 1 ? 10 : 1);
    std::cout << "BELAY_SEED=" << first_seed << ", " << steps << " steps" << std::endl;

    // VACUUM is one of the operations, and so are some duties; those of the background would meet
    // them at random.
    Cluster cluster({.preload = true,
                     .conf = {"autovacuum = off", "belay.reconcile_interval = 0",
                              "max_connections = 20", "log_min_error_statement = panic"}});
    cluster.connect().exec("CREATE EXTENSION belay");

    std::map<std::string, int> calls;
    int blocked = 0;
    int refused = 0;
    uint64_t seed = first_seed;
    for (int64_t done = 0; done < steps; ++seed) {
        Runner runner(&cluster, seed);
        try {
            const int64_t end = std::min(steps, done + kStepsOfEpisode);
            for (; done < end; ++done) {
                runner.step();
                if (done % kStepsBetweenComparisons == 0) {
                    runner.compare_all();
                }
            }
            runner.finish();
        } catch (const Mismatch& mismatch) {
            FAIL() << mismatch.what();
        }
        for (const auto& [name, count] : runner.calls()) {
            calls[name] += count;
        }
        blocked += runner.blocked();
        refused += runner.refused();
    }
    for (const auto& [name, count] : calls) {
        std::cout << "  " << name << ": " << count << "\n";
    }
    std::cout << "  waited as expected: " << blocked << ", refused as expected: " << refused
              << "\n";
    if (steps >= kSteps) {
        EXPECT_EQ(calls.size(), operations().size()) << "an operation never ran";
    }
}

}  // namespace
}  // namespace belay::test::model
