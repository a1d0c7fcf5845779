// Random input that can be had again: the seed is printed when a test fails.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace belay::test {

// The seed of this run: BELAY_SEED if set, else a new one.
inline uint64_t run_seed() {
    static const uint64_t seed = [] {
        const char* given = std::getenv("BELAY_SEED");
        return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    }();
    ::testing::Test::RecordProperty("seed", std::to_string(seed));
    return seed;
}

}  // namespace belay::test

#define BELAY_SEEDED(random)                                                 \
    SCOPED_TRACE("BELAY_SEED=" + std::to_string(::belay::test::run_seed())); \
    std::mt19937_64 random(::belay::test::run_seed())
