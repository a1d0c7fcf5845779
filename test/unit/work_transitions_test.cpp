#include "core/transitions/work.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

constexpr int32_t kLife = 3;
constexpr WorkState kNew{};
constexpr WorkState kLeased{.due = 0, .lease = {1000, kLife, 11, 22}, .attempt = 1};
constexpr WorkToken kToken{
    .lane = 0, .slot = 0, .due = 0, .id = 7, .incarnation = kLife, .nonce_hi = 11, .nonce_lo = 22};

// The rules are constant expressions.
static_assert(fault_of(kToken, kLeased, kLife, 999) == LeaseFault::kNone);
static_assert(leased(kNew, kLeased.lease) == kLeased);

// FW-1.
TEST(WorkTransitions, FreeWhenDueAndNotLeased) {
    EXPECT_EQ(free_at(kNew, kLife), 0);
    EXPECT_EQ(free_at(kLeased, kLife), 1000);
    WorkState delayed{.due = 500, .lease = {}, .attempt = 0};
    EXPECT_EQ(free_at(delayed, kLife), 500);
    delayed.lease = {2000, kLife, 1, 2};
    EXPECT_EQ(free_at(delayed, kLife), 2000);
    delayed.lease = {100, kLife, 1, 2};
    EXPECT_EQ(free_at(delayed, kLife), 500);
}

TEST(WorkTransitions, LeasesOfAnotherIncarnationDoNotCount) {
    EXPECT_EQ(free_at(kLeased, kLife + 1), 0);
    EXPECT_TRUE(is_unleased(kLeased, kLife + 1, 0));
    EXPECT_FALSE(is_unleased(kLeased, kLife, 999));
    EXPECT_TRUE(is_unleased(kLeased, kLife, 1000));
    EXPECT_TRUE(is_unleased(kNew, kLife, 0));
}

// TK-4, ER-3.
TEST(WorkTransitions, WhatATokenOpens) {
    EXPECT_EQ(fault_of(kToken, kLeased, kLife, 999), LeaseFault::kNone);
    EXPECT_EQ(fault_of(kToken, kLeased, kLife, 1000), LeaseFault::kExpired);
    EXPECT_EQ(fault_of(kToken, kLeased, kLife + 1, 999), LeaseFault::kOtherIncarnation);
    EXPECT_EQ(fault_of(kToken, kNew, kLife, 999), LeaseFault::kUnknown);
    WorkState again = kLeased;
    again.lease.nonce_lo = 23;
    EXPECT_EQ(fault_of(kToken, again, kLife, 999), LeaseFault::kLeasedAgain);
    WorkToken forged = kToken;
    forged.nonce_hi = forged.nonce_lo = 0;
    EXPECT_EQ(fault_of(forged, kNew, kLife, 999), LeaseFault::kUnknown);
}

TEST(WorkTransitions, ALeaseCountsAnAttempt) {
    const WorkState after = leased(kLeased, {5000, kLife, 33, 44});
    EXPECT_EQ(after, (WorkState{.due = 0, .lease = {5000, kLife, 33, 44}, .attempt = 2}));
    WorkState most = kLeased;
    most.attempt = std::numeric_limits<int32_t>::max();
    EXPECT_EQ(leased(most, {}).attempt, most.attempt);
}

TEST(WorkTransitions, ARenewalMovesTheDeadlineOnly) {
    const WorkState after = renewed(kLeased, 7000);
    EXPECT_EQ(after.lease, (Lease{7000, kLife, 11, 22}));
    EXPECT_EQ(after.attempt, kLeased.attempt);
    EXPECT_EQ(after.due, kLeased.due);
}

TEST(WorkTransitions, AReleaseClearsTheLease) {
    EXPECT_EQ(released(kLeased, 1, std::nullopt), (WorkState{.due = 0, .lease = {}, .attempt = 1}));
    EXPECT_EQ(released(kLeased, 0, 9000), (WorkState{.due = 9000, .lease = {}, .attempt = 0}));
    // A delay into the past is a delay all the same: 0 would mean that there was none.
    EXPECT_EQ(released(kLeased, 0, -5).due, 1);
    WorkState delayed = kLeased;
    delayed.due = 500;
    EXPECT_EQ(released(delayed, 1, std::nullopt).due, 500);
}

}  // namespace
}  // namespace belay::core
