// Random calls of several clients against a hub in memory.
//
// BELAY_SEED repeats a run from its first episode, BELAY_MODEL_STEPS sets its length; BELAY_LONG=1
// makes it ten times as long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>

#include "runner.hpp"

namespace belay::test::model {
namespace {

constexpr int64_t kSteps = 12000;
constexpr int64_t kTaskSteps = 6000;
constexpr int64_t kStepsOfEpisode = 1500;
constexpr int kStepsBetweenComparisons = 40;
constexpr int kPatience = 4;  // so many times as long a run may be, until it has met all cases

int64_t number_from(const char* variable, int64_t otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr && *text != '\0' ? std::strtoll(text, nullptr, 10) : otherwise;
}

void add(const std::map<std::string, int>& counts, std::map<std::string, int>* sums) {
    for (const auto& [name, count] : counts) {
        (*sums)[name] += count;
    }
}

std::string show(const std::map<std::string, int>& counts) {
    std::string text;
    for (const auto& [name, count] : counts) {
        text += "  " + name + ": " + std::to_string(count) + "\n";
    }
    return text;
}

uint64_t chosen_seed() {
    return static_cast<uint64_t>(number_from("BELAY_SEED", std::random_device{}() & 0x7fffffff));
}

// VACUUM is one of the operations, and so are duties; those of the background would meet them at
// random.
class Model : public testing::Test {
 protected:
    explicit Model(bool mutants = false)
        : cluster({.preload = true,
                   .mutants = mutants,
                   .conf = {"autovacuum = off", "belay.reconcile_interval = 0",
                            "max_connections = 20", "log_min_error_statement = panic",
                            // So the model knows the epochs of tasks.
                            "belay.dense_epochs = on"}}) {
        cluster.connect().exec("CREATE EXTENSION belay");
    }

    Cluster cluster;
};

// The library has a bug that the test turns on.
class ModelOfMutant : public Model {
 protected:
    ModelOfMutant() : Model(true) {}
};

// Steps from done to the end of the episode, with all that is stored compared from time to time.
void run_episode(Runner* runner, int64_t end, int64_t* done) {
    for (; *done < end; ++*done) {
        runner->step();
        if (*done % kStepsBetweenComparisons == 0) {
            runner->compare_all();
        }
    }
    runner->finish();
}

// Random calls from the subject, until so many were made and all cases were met, which met_by tells
// of an episode.
template <std::size_t kCases>
void run_random(Cluster* cluster, const Subject& subject, int64_t usual_steps,
                const std::array<const char*, kCases>& names,
                const std::array<int, kCases>& (*met_by)(const Runner&)) {
    const uint64_t first_seed = chosen_seed();
    const int64_t steps = number_from("BELAY_MODEL_STEPS", usual_steps) *
                          (number_from("BELAY_LONG", 0) == 1 ? 10 : 1);
    std::cout << "BELAY_SEED=" << first_seed << ", " << steps << " steps" << std::endl;

    std::map<std::string, int> calls;
    std::map<std::string, int> refused;
    std::array<int, kCases> met{};
    int blocked = 0;
    uint64_t seed = first_seed;
    const auto is_over = [&](int64_t done) {
        const bool all_met = std::find(met.begin(), met.end(), 0) == met.end() &&
                             calls.size() == subject.operations.size();
        return done >= steps * (all_met || steps < usual_steps ? 1 : kPatience);
    };
    for (int64_t done = 0; !is_over(done); ++seed) {
        Runner runner(cluster, subject, seed);
        try {
            const int64_t length =
                done < steps ? std::min(steps - done, kStepsOfEpisode) : kStepsOfEpisode;
            run_episode(&runner, done + length, &done);
        } catch (const Mismatch& mismatch) {
            FAIL() << "after " << done << " steps: " << mismatch.what();
        }
        add(runner.calls(), &calls);
        add(runner.refused(), &refused);
        std::transform(met.begin(), met.end(), met_by(runner).begin(), met.begin(), std::plus());
        blocked += runner.blocked();
    }
    std::cout << "seeds up to " << seed - 1 << "\ncalls\n"
              << show(calls) << "refused as expected\n"
              << show(refused);
    std::cout << "waited as expected: " << blocked << "\ncases\n";
    for (std::size_t i = 0; i < met.size(); ++i) {
        std::cout << "  " << names[i] << ": " << met[i] << "\n";
    }
    if (steps >= usual_steps) {
        EXPECT_EQ(calls.size(), subject.operations.size()) << "an operation never ran";
        for (std::size_t i = 0; i < met.size(); ++i) {
            EXPECT_GT(met[i], 0) << "never met: " << names[i];
        }
    }
}

TEST_F(Model, RandomCallsOfSeveralClients) {
    run_random<kCaseNames.size()>(
        &cluster, {operations(), pictures()}, kSteps, kCaseNames,
        [](const Runner& runner) -> const auto& { return runner.met(); });
}

// Tasks share no table with the others.
TEST_F(Model, RandomCallsOfTasks) {
    run_random<kTaskCaseNames.size()>(
        &cluster, {task_operations(), task_pictures()}, kTaskSteps, kTaskCaseNames,
        [](const Runner& runner) -> const auto& { return runner.tasks_met(); });
}

// The test itself is tested: deletions that leave something behind are noticed.
TEST_F(ModelOfMutant, ABrokenDeletionIsNoticed) {
    constexpr int64_t kMostSteps = 6000;
    uint64_t seed = chosen_seed();
    std::cout << "BELAY_SEED=" << seed << ", at most " << kMostSteps << " steps" << std::endl;
    cluster.connect().exec("SELECT belay.inject_fault('delete.keeps_state', 1000000)");
    for (int64_t done = 0; done < kMostSteps; ++seed) {
        Runner runner(&cluster, {operations(), pictures()}, seed);
        try {
            run_episode(&runner, done + kStepsOfEpisode, &done);
        } catch (const Mismatch& mismatch) {
            const std::string text = mismatch.what();
            std::cout << "noticed after " << done << " steps: " << text.substr(0, text.find('\n'))
                      << std::endl;
            return;
        }
    }
    FAIL() << "nothing was noticed";
}

}  // namespace
}  // namespace belay::test::model
