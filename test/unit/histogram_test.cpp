#include "core/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace belay::core {
namespace {

TEST(Histogram, BoundsAscendFromAMillisecondToADay) {
    EXPECT_TRUE(std::is_sorted(kDurationBounds.begin(), kDurationBounds.end()));
    EXPECT_EQ(kDurationBounds.size(), 21u);
    EXPECT_EQ(kDurationBounds.front(), 1);
    EXPECT_EQ(kDurationBounds.back(), 24 * 3600 * 1000);
}

TEST(Histogram, BucketsIncludeTheirBound) {
    EXPECT_EQ(duration_bucket(-5), 0);
    EXPECT_EQ(duration_bucket(0), 0);
    for (int i = 0; i < kDurationBuckets - 1; ++i) {
        EXPECT_EQ(duration_bucket(kDurationBounds[static_cast<std::size_t>(i)]), i);
        EXPECT_EQ(duration_bucket(kDurationBounds[static_cast<std::size_t>(i)] + 1), i + 1);
    }
    EXPECT_EQ(duration_bucket(INT64_MAX), kDurationBuckets - 1);
}

}  // namespace
}  // namespace belay::core
