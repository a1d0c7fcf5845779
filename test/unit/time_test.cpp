#include "core/time.hpp"

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::core {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// END_TIMESTAMP and MIN_TIMESTAMP of PostgreSQL: the first value above the range, the lowest in it.
constexpr int64_t kPgEnd = 9223371331200000000;
constexpr int64_t kPgMin = -211813488000000000;

TEST(Time, Limits) {
    // DM-7. As the server prints the last millisecond of 294276 AD and the first of 4714-11-24 BC.
    EXPECT_EQ(kMaxTimestampMs, 9224318015999999);
    EXPECT_EQ(kMinTimestampMs, -210866803200000);
    EXPECT_EQ(ms_to_pg_us(kMaxTimestampMs), kPgEnd - 1000);
    EXPECT_EQ(ms_to_pg_us(kMaxTimestampMs + 1), kMax);
    EXPECT_EQ(ms_to_pg_us(kNever), kMax);
    EXPECT_EQ(ms_to_pg_us(kMinTimestampMs), kPgMin);
    EXPECT_EQ(ms_to_pg_us(kMinTimestampMs - 1), kMin);
    EXPECT_EQ(ms_to_pg_us(kBeforeAll), kMin);
}

TEST(Time, KnownInstants) {
    EXPECT_EQ(ms_to_pg_us(946684800000), 0);
    EXPECT_EQ(ms_to_pg_us(0), -946684800000000);
    EXPECT_EQ(pg_us_to_ms(0), 946684800000);
    EXPECT_EQ(pg_us_to_ms(kMax), kNever);
    EXPECT_EQ(pg_us_to_ms(kMin), kBeforeAll);
}

// DM-6.
TEST(Time, CutsTowardsThePast) {
    EXPECT_EQ(pg_us_to_ms(999), kPgEpochMs);
    EXPECT_EQ(pg_us_to_ms(1000), kPgEpochMs + 1);
    EXPECT_EQ(pg_us_to_ms(-1), kPgEpochMs - 1);
    EXPECT_EQ(pg_us_to_ms(-999), kPgEpochMs - 1);
    EXPECT_EQ(pg_us_to_ms(-1000), kPgEpochMs - 1);
    EXPECT_EQ(pg_us_to_ms(-1001), kPgEpochMs - 2);
    EXPECT_EQ(pg_us_to_ms(kPgEnd - 1), kMaxTimestampMs);
}

TEST(Time, RandomRoundTrips) {
    BELAY_SEEDED(random);
    std::uniform_int_distribution<int64_t> any(kMinTimestampMs, kMaxTimestampMs);
    for (int i = 0; i < 100000; ++i) {
        int64_t ms = any(random);
        ASSERT_EQ(pg_us_to_ms(ms_to_pg_us(ms)), ms);
        ASSERT_EQ(pg_us_to_ms(ms_to_pg_us(ms) + 999), ms);
    }
}

TEST(Time, SumsSaturate) {
    EXPECT_EQ(add_ms(1, 2), 3);
    EXPECT_EQ(add_ms(kMax - 1, 1), kMax);
    EXPECT_EQ(add_ms(kMax - 1, 2), kNever);
    EXPECT_EQ(add_ms(2, kMax - 1), kNever);
    EXPECT_EQ(add_ms(kMin, -1), kBeforeAll);
    EXPECT_EQ(add_ms(-5, kMin), kBeforeAll);
    EXPECT_EQ(add_ms(kMin, 1), kMin + 1);
    EXPECT_EQ(add_ms(kNever, -1), kNever);
    EXPECT_EQ(add_ms(-1, kNever), kNever);
    EXPECT_EQ(add_ms(kNever, kBeforeAll), kNever);
}

TEST(Time, Intervals) {
    EXPECT_EQ(interval_ms(0, 0, 0), 0);
    EXPECT_EQ(interval_ms(0, 0, 1), 1);  // a short wait is not none
    EXPECT_EQ(interval_ms(0, 0, -1), -1);
    EXPECT_EQ(interval_ms(0, 0, 30'000'000), 30'000);
    EXPECT_EQ(interval_ms(0, 0, 1500), 2);
    EXPECT_EQ(interval_ms(0, 0, -1500), -2);
    EXPECT_EQ(interval_ms(0, 1, 0), 86'400'000);
    EXPECT_EQ(interval_ms(1, 0, 0), 30 * int64_t{86'400'000});
    EXPECT_EQ(interval_ms(0, 1, -1), 86'400'000);
    EXPECT_EQ(interval_ms(0, -1, 1), -86'400'000);
    EXPECT_EQ(interval_ms(1, -30, 1), 1);
    EXPECT_EQ(interval_ms(1, -30, -1), -1);
    constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
    constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
    EXPECT_GT(interval_ms(kMost, kMost, kMax), int64_t{1} << 62);
    EXPECT_LT(interval_ms(kLeast, kLeast, kMin), -(int64_t{1} << 62));
}

}  // namespace
}  // namespace belay::core
