#include "core/lease.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

const Lease kLease{1000, 3, 11, 22};

// CL-1.
TEST(Lease, LiveUntilJustBeforeTheDeadline) {
    EXPECT_TRUE(is_live(kLease, 3, 0));
    EXPECT_TRUE(is_live(kLease, 3, 999));
    EXPECT_FALSE(is_live(kLease, 3, 1000));
    EXPECT_FALSE(is_live(kLease, 3, 1001));
}

TEST(Lease, OtherIncarnationIsExpired) {
    EXPECT_FALSE(is_live(kLease, 2, 0));
    EXPECT_FALSE(is_live(kLease, 4, 0));
}

TEST(Lease, NoLeaseIsNeverLive) {
    EXPECT_FALSE(is_live(Lease{}, 0, 0));
    EXPECT_FALSE(is_live(Lease{}, 0, 1));
}

// TK-4.
TEST(Lease, MatchesTheWholeToken) {
    EXPECT_TRUE(matches(kLease, 3, 11, 22));
    EXPECT_FALSE(matches(kLease, 4, 11, 22));
    EXPECT_FALSE(matches(kLease, 3, 12, 22));
    EXPECT_FALSE(matches(kLease, 3, 11, 23));
    EXPECT_FALSE(matches(kLease, 3, 22, 11));
    EXPECT_TRUE(matches(Lease{1, 3, 0, 22}, 3, 0, 22));
    EXPECT_TRUE(matches(Lease{1, 3, 11, 0}, 3, 11, 0));
}

TEST(Lease, ReleasedRowMatchesNothing) {
    EXPECT_FALSE(matches(Lease{}, 0, 0, 0));
    EXPECT_FALSE(matches(Lease{0, 3, 11, 22}, 3, 11, 22));
    EXPECT_FALSE(matches(Lease{1000, 3, 0, 0}, 3, 0, 0));
}

// ER-3.
TEST(Lease, Words) {
    EXPECT_STREQ(code_detail(LeaseFault::kNone), "none");
    EXPECT_STREQ(code_detail(LeaseFault::kUnknown), "unknown");
    EXPECT_STREQ(code_detail(LeaseFault::kExpired), "expired");
    EXPECT_STREQ(code_detail(LeaseFault::kLeasedAgain), "leased_again");
    EXPECT_STREQ(code_detail(LeaseFault::kGone), "gone");
    EXPECT_STREQ(code_detail(LeaseFault::kOtherIncarnation), "other_incarnation");
}

TEST(Lease, Attempts) {
    constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
    EXPECT_EQ(next_attempt(0), 1);
    EXPECT_EQ(next_attempt(kMax - 1), kMax);
    EXPECT_EQ(next_attempt(kMax), kMax);
    EXPECT_EQ(previous_attempt(1), 0);
    EXPECT_EQ(previous_attempt(0), 0);
    EXPECT_EQ(previous_attempt(-7), 0);
    EXPECT_EQ(previous_attempt(kMax), kMax - 1);
}

}  // namespace
}  // namespace belay::core
