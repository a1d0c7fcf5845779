#include "core/duty_pace.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(DutyPace, WaitsItsPaceAfterNothing) {
    DutyPace pace{};
    EXPECT_TRUE(pace.is_due(0));
    pace.succeeded(0, 1000, 500, 10);
    EXPECT_FALSE(pace.is_due(5999));
    EXPECT_TRUE(pace.is_due(6000));
}

TEST(DutyPace, GoesOnAtOnceAfterRows) {
    DutyPace pace{};
    pace.succeeded(1, 1000, 500, 10);
    EXPECT_TRUE(pace.is_due(1000));
}

TEST(DutyPace, BacksOffUpToALimit) {
    DutyPace pace{};
    std::int64_t now = 0;
    for (const std::int64_t intervals : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
        pace.failed(now, 1000);
        EXPECT_EQ(pace.due_ms, now + intervals * 1000);
        now = pace.due_ms;
    }
    pace.failures = 2000000000;
    pace.failed(now, 1000);
    EXPECT_EQ(pace.due_ms, now + kMostIntervalsBack * 1000);
}

TEST(DutyPace, SuccessEndsTheBurst) {
    DutyPace pace{};
    pace.failed(0, 1000);
    pace.failed(1000, 1000);
    pace.succeeded(0, 3000, 1000, 1);
    EXPECT_EQ(pace.failures, 0);
    EXPECT_EQ(pace.due_ms, 4000);
    pace.failed(4000, 1000);
    EXPECT_EQ(pace.due_ms, 5000);
}

}  // namespace
}  // namespace belay::core
