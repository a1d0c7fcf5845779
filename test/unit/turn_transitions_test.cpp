#include "core/transitions/turn.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace belay::core {
namespace {

constexpr int32_t kLife = 3;
constexpr TurnToken kToken{
    .instance_key = 5, .lock_no = 9, .incarnation = kLife, .nonce_hi = 11, .nonce_lo = 22};
constexpr TurnLock kHeld{.lock_no = 9, .locked_at = 500, .lease = {1000, kLife, 11, 22}};
constexpr TurnLock kNever{};

// The rules are constant expressions.
static_assert(fault_of(kToken, kHeld.lease, kLife, 999) == LeaseFault::kNone);
static_assert(granted(kNever, kToken, 500, 1000) == kHeld);

// ---------------------------------------------------------------- locks

TEST(TurnTransitions, AnInstanceIsFreeUnlessATurnIsLive) {
    EXPECT_TRUE(is_free(kNever, kLife, 0));
    EXPECT_FALSE(is_free(kHeld, kLife, 999));
    EXPECT_TRUE(is_free(kHeld, kLife, 1000));
    EXPECT_TRUE(is_free(kHeld, kLife + 1, 0));
}

// TK-4, ER-3.
TEST(TurnTransitions, WhatATokenOpens) {
    EXPECT_EQ(fault_of(kToken, kHeld.lease, kLife, 999), LeaseFault::kNone);
    EXPECT_EQ(fault_of(kToken, kHeld.lease, kLife, 1000), LeaseFault::kExpired);
    EXPECT_EQ(fault_of(kToken, kHeld.lease, kLife + 1, 999), LeaseFault::kOtherIncarnation);
    EXPECT_EQ(fault_of(kToken, kNever.lease, kLife, 999), LeaseFault::kUnknown);
    // Another turn has another lock number: with this one, only a forged token has another secret.
    Lease other = kHeld.lease;
    other.nonce_lo = 23;
    EXPECT_EQ(fault_of(kToken, other, kLife, 999), LeaseFault::kUnknown);
    TurnToken zeros = kToken;
    zeros.nonce_hi = zeros.nonce_lo = 0;
    EXPECT_EQ(fault_of(zeros, kNever.lease, kLife, 999), LeaseFault::kUnknown);
}

TEST(TurnTransitions, ARenewalMovesTheDeadlineOnly) {
    const TurnLock after = renewed(kHeld, 7000);
    EXPECT_EQ(after, (TurnLock{.lock_no = 9, .locked_at = 500, .lease = {7000, kLife, 11, 22}}));
}

TEST(TurnTransitions, AReleaseKeepsWhenTheTurnBegan) {
    EXPECT_EQ(released(kHeld), (TurnLock{.lock_no = 0, .locked_at = 500, .lease = {}}));
    EXPECT_TRUE(is_free(released(kHeld), kLife, 0));
}

// AT-7: what a process has cached stays until an ack says something else.
TEST(TurnLock, KeepsWhatIsCached) {
    constexpr CacheHint kCached{.owner = 7, .event = 12};
    TurnLock row = kHeld;
    row.cache = kCached;
    EXPECT_EQ(granted(row, kToken, 500, 1000).cache, kCached);
    EXPECT_EQ(renewed(row, 7000).cache, kCached);
    EXPECT_EQ(released(row).cache, kCached);
    EXPECT_EQ(acked(row, {}), released(kHeld));
    EXPECT_EQ(acked(kHeld, kCached), released(row));
}

// AT-8: the owner of a cache is one for each execution and incarnation; 0 stands for none.
TEST(TurnLock, TellsOwnersOfCachesApart) {
    const int64_t owner = cache_owner("me", 1, 1);
    EXPECT_EQ(owner, cache_owner("me", 1, 1));
    EXPECT_NE(owner, cache_owner("you", 1, 1));
    EXPECT_NE(owner, cache_owner("me", 2, 1));
    EXPECT_NE(owner, cache_owner("me", 1, 2));
    EXPECT_NE(cache_owner("me", 1, 2), cache_owner("me", 2, 1));
    EXPECT_NE(cache_owner("", 0, 0), 0);
}

// AT-8: a hint is exact if the history is known to end with its event, until others add events.
TEST(TurnLock, KnowsWhetherAHintIsExact) {
    const int64_t owner = cache_owner("me", 1, 1);
    const CacheHint exact = CacheHint::of(owner, 12, 12);
    EXPECT_TRUE(exact.is_exact());
    EXPECT_TRUE(exact.is_of(owner));
    EXPECT_FALSE(exact.is_of(cache_owner("you", 1, 1)));
    EXPECT_EQ(exact.event, 12);
    for (const auto last : {std::optional<int64_t>(), std::optional<int64_t>(13)}) {
        const CacheHint hint = CacheHint::of(owner, 12, last);
        EXPECT_FALSE(hint.is_exact());
        EXPECT_TRUE(hint.is_of(owner));
    }
    TurnLock row = released(kHeld);
    row.cache = exact;
    EXPECT_EQ(extended(row, 13).cache, CacheHint::of(owner, 12, std::nullopt));
    EXPECT_EQ(extended(extended(row, 13), 14), extended(row, 13));
}

// AT-8: events before the cached one, and those that are added during a turn, are in the memory of
// no process: the next fetch reads all, and an ack of that turn leaves no hint.
TEST(TurnLock, ForgetsACacheThatLacksEvents) {
    const CacheHint hint = CacheHint::of(cache_owner("me", 1, 1), 12, 12);
    TurnLock row = released(kHeld);
    row.cache = hint;
    EXPECT_EQ(extended(row, 12).cache, CacheHint::outdated());
    EXPECT_EQ(granted(extended(row, 12), kToken, 500, 1000).cache, CacheHint{});
    for (const CacheHint& before : {hint, CacheHint{}}) {
        row = kHeld;
        row.cache = before;
        EXPECT_EQ(extended(row, 13).cache, CacheHint::outdated());
        EXPECT_EQ(extended(row, 13).lease, row.lease);
        EXPECT_EQ(renewed(extended(row, 13), 7000).cache, CacheHint::outdated());
        EXPECT_EQ(acked(extended(row, 13), hint).cache, CacheHint{});
        EXPECT_EQ(granted(released(extended(row, 13)), kToken, 500, 1000).cache, CacheHint{});
    }
    EXPECT_FALSE(CacheHint::outdated().is_of(cache_owner("me", 1, 1)));
    EXPECT_NE(cache_owner("", 0, 0), 0);
}

// ---------------------------------------------------------------- messages

constexpr Message kMessage{
    .visible_at = ms_to_pg_us(100), .lock_no = 0, .attempt = 0, .kind = MessageKind::kOther};

Message of(MessageKind kind) {
    Message message = kMessage;
    message.kind = kind;
    return message;
}

TEST(TurnTransitions, AMessageIsVisibleFromItsTimeOn) {
    EXPECT_FALSE(is_visible(kMessage, 99));
    EXPECT_TRUE(is_visible(kMessage, 100));
    Message never = kMessage;
    never.visible_at = std::numeric_limits<int64_t>::max();
    EXPECT_FALSE(is_visible(never, kMaxTimestampMs));
}

TEST(TurnTransitions, ALeaseCountsAnAttempt) {
    const Message after = leased(kMessage, 9);
    EXPECT_EQ(after.lock_no, 9);
    EXPECT_EQ(after.attempt, 1);
    EXPECT_EQ(after.visible_at, kMessage.visible_at);
    Message most = kMessage;
    most.attempt = std::numeric_limits<int32_t>::max();
    EXPECT_EQ(leased(most, 9).attempt, most.attempt);
}

TEST(TurnTransitions, AnAbandonGivesAMessageBack) {
    const Message held = leased(kMessage, 9);
    EXPECT_EQ(released(held, true, std::nullopt), kMessage);
    Message counted = kMessage;
    counted.attempt = 1;
    EXPECT_EQ(released(held, false, std::nullopt), counted);
    EXPECT_EQ(released(held, false, 5000).visible_at, ms_to_pg_us(5000));
    EXPECT_EQ(released(kMessage, true, std::nullopt).attempt, 0);
}

TEST(TurnTransitions, WhatBringsAnInstanceToLife) {
    EXPECT_TRUE(is_start(of(message_kind(ItemKind::kStartOrchestration))));
    EXPECT_TRUE(is_start(of(message_kind(ItemKind::kContinueAsNew))));
    EXPECT_FALSE(is_start(of(message_kind(ItemKind::kQueueMessage))));
    EXPECT_FALSE(is_start(of(message_kind(ItemKind::kTimerFired))));
    EXPECT_FALSE(is_start(of(message_kind(ItemKind::kExternalRaised))));
}

// Stored letters never change.
TEST(TurnTransitions, KindsHaveTheirLetters) {
    EXPECT_EQ(static_cast<char>(message_kind(ItemKind::kStartOrchestration)), 's');
    EXPECT_EQ(static_cast<char>(message_kind(ItemKind::kContinueAsNew)), 'n');
    EXPECT_EQ(static_cast<char>(message_kind(ItemKind::kQueueMessage)), 'q');
    EXPECT_EQ(static_cast<char>(message_kind(ItemKind::kTimerFired)), 't');
    EXPECT_EQ(static_cast<char>(message_kind(ItemKind::kCancelInstance)), 'o');
}

TEST(TurnTransitions, WhatIsSetAside) {
    EXPECT_TRUE(can_be_parked(kMessage, 100));
    EXPECT_FALSE(can_be_parked(kMessage, 99));
    EXPECT_FALSE(can_be_parked(of(MessageKind::kStart), 100));
    EXPECT_FALSE(can_be_parked(of(MessageKind::kContinueAsNew), 100));
    EXPECT_TRUE(can_be_parked(of(MessageKind::kQueued), 100));
    EXPECT_FALSE(can_be_parked(with_parked(kMessage, true), 100));
    EXPECT_EQ(with_parked(with_parked(kMessage, true), false), kMessage);
    EXPECT_TRUE(can_be_dropped(of(MessageKind::kQueued), 100));
    EXPECT_FALSE(can_be_dropped(of(MessageKind::kQueued), 99));
    EXPECT_FALSE(can_be_dropped(kMessage, 100));
}

// ---------------------------------------------------------------- instances and executions

TEST(TurnTransitions, TheCurrentExecutionNeverGoesBack) {
    EXPECT_EQ(current_execution(1, 2), 2);
    EXPECT_EQ(current_execution(2, 1), 2);
}

TEST(TurnTransitions, TheFirstParentStays) {
    EXPECT_TRUE(adopts(false, true));
    EXPECT_FALSE(adopts(true, true));
    EXPECT_FALSE(adopts(false, false));
}

TEST(TurnTransitions, AnExecutionEndsWithItsStatus) {
    EXPECT_EQ(outcome_of("Completed", "out", 70),
              (Outcome{.status = "Completed", .output = "out", .completed_at = 70}));
    EXPECT_EQ(outcome_of("ContinuedAsNew", std::nullopt, 70).completed_at, 70);
    // Running again: it has no end any more.
    EXPECT_EQ(outcome_of("Running", std::nullopt, 70), Outcome{});
}

}  // namespace
}  // namespace belay::core
