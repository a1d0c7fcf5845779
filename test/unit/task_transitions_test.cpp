#include "core/transitions/task.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

constexpr int64_t kFloor = 100;
constexpr TaskLife kNew = created(5, 1000, std::nullopt, 1000);
constexpr LeaseTerms kTerms{.epoch = 107, .until = 1500, .attempt_deadline = 2000};
constexpr TaskLife kActive = claimed(kNew, kTerms, 1000);

// The rules are constant expressions.
static_assert(kNew.state == TaskState::kReady && kActive.is_active());

// Whether the row may be stored, as the CHECK of the table says.
bool is_stored(const TaskLife& life) {
    return is_sound(
        {.state = name_of(life.state),
         .pending = name_of(life.pending),
         .attempt_kind = life.attempt_kind ? name_of(*life.attempt_kind) : "",
         .has_lease_owner = life.is_active(),
         .has_lease_worker = life.is_active(),
         .has_lease_until = life.lease_until.has_value(),
         .has_lease_check = life.lease_check.has_value(),
         .has_available_at = life.available_at.has_value(),
         .has_terminal_at = life.terminal_at.has_value(),
         .has_attempt_started = life.attempt_started.has_value(),
         .has_attempt_deadline = life.attempt_deadline.has_value(),
         .has_attempt_worker = life.has_attempt(),
         .has_attempt_instance = life.has_attempt(),
         .attempt_leases = life.attempt_leases,
         .priority = life.priority,
         .least = std::min<int64_t>({life.attempt_index, life.retry_count, life.reclaim_count,
                                     life.replay_count, life.lease_epoch, life.start_delay})});
}

TEST(TaskTransitions, WhatMayBeClaimed) {
    EXPECT_TRUE(is_claimable(kNew, 0));
    EXPECT_FALSE(is_claimable(kActive, 1000));
    TaskLife delayed = created(0, 1001, std::nullopt, 1000);
    EXPECT_EQ(delayed.state, TaskState::kDelayed);
    EXPECT_FALSE(is_claimable(delayed, 1000));
    EXPECT_TRUE(is_claimable(delayed, 1001));
    delayed.deadline = 1002;
    EXPECT_TRUE(is_claimable(delayed, 1001));
    EXPECT_FALSE(is_claimable(delayed, 1002));
    EXPECT_TRUE(is_eligible(delayed, 1002));
    EXPECT_EQ(promoted(delayed, 1001).state, TaskState::kReady);
    EXPECT_EQ(promoted(delayed, 1001).available_at, 1001);
}

TEST(TaskTransitions, AClaimBeginsAnAttemptOrGoesOn) {
    EXPECT_EQ(kActive.attempt_index, 1);
    EXPECT_EQ(kActive.attempt_kind, Pending::kInitial);
    EXPECT_EQ(kActive.attempt_started, 1000);
    EXPECT_EQ(kActive.attempt_leases, 1);
    EXPECT_EQ(kActive.started_at, 1000);
    EXPECT_EQ(kActive.lease_check, 1500);
    const TaskLife paused = returned(
        kActive, {.pending = Pending::kSnooze, .available_at = 1100, .ends_attempt = false}, 1100);
    EXPECT_FALSE(begins_attempt(paused));
    const TaskLife again =
        claimed(paused, {.epoch = 120, .until = 1600, .attempt_deadline = 2000}, 1200);
    EXPECT_EQ(again.attempt_index, 1);
    EXPECT_EQ(again.attempt_kind, Pending::kInitial);
    EXPECT_EQ(again.attempt_started, 1000);
    EXPECT_EQ(again.attempt_leases, 2);
    EXPECT_EQ(again.started_at, 1000);
    for (const Pending pending : {Pending::kInitial, Pending::kRetry, Pending::kReplay,
                                  Pending::kReclaim, Pending::kSnooze, Pending::kResume}) {
        TaskLife row = kNew;
        row.pending = pending;
        EXPECT_EQ(begins_attempt(row), pending < Pending::kReclaim);
    }
}

TEST(TaskTransitions, TermsOfALease) {
    const LeaseTerms plain = lease_terms(kNew, std::nullopt, 500, 7, 1000);
    EXPECT_EQ(plain.until, 1500);
    EXPECT_FALSE(plain.attempt_deadline);
    EXPECT_EQ(lease_terms(kNew, 200, 500, 7, 1000).until, 1200);
    EXPECT_EQ(lease_terms(kNew, 200, 500, 7, 1000).attempt_deadline, 1200);
    EXPECT_FALSE(lease_terms(kNew, kNever, 500, 7, 1000).attempt_deadline);
    TaskLife paused = kNew;
    paused.pending = Pending::kReclaim;
    paused.attempt_deadline = 1100;
    EXPECT_EQ(lease_terms(paused, 200, 500, 7, 1000).attempt_deadline, 1100);
    EXPECT_EQ(lease_terms(paused, 200, 500, 7, 1100).attempt_deadline, 1300);
    paused.deadline = 1050;
    EXPECT_EQ(lease_terms(paused, 200, 500, 7, 1000).until, 1050);
}

TEST(TaskTransitions, RenewalsNeverShorten) {
    EXPECT_EQ(renewal(kActive, 100, 1000).until, 1500);
    EXPECT_EQ(renewal(kActive, 700, 1000).until, 1700);
    EXPECT_EQ(renewal(kActive, 5000, 1000).until, 2000);
    EXPECT_TRUE(renewal(kActive, 5000, 1000).capped);
    const TaskLife moved = renewed(kActive, 1700);
    EXPECT_EQ(moved.lease_until, 1700);
    EXPECT_EQ(moved.lease_check, 1500);
    EXPECT_EQ(checked(moved).lease_check, 1700);
}

TEST(TaskTransitions, WhatOpensALease) {
    EXPECT_EQ(fault_of_epoch(kNew, 0), TaskFault::kNotActive);
    EXPECT_EQ(fault_of_epoch(kActive, 107), TaskFault::kNone);
    EXPECT_EQ(fault_of_epoch(kActive, 106), TaskFault::kOtherEpoch);
    EXPECT_EQ(fault_of_live_epoch(kActive, 107, kFloor, 1499), TaskFault::kNone);
    EXPECT_EQ(fault_of_live_epoch(kActive, 107, kFloor, 1500), TaskFault::kExpired);
    EXPECT_EQ(fault_of_live_epoch(kActive, 107, 108, 1000), TaskFault::kExpired);
    EXPECT_EQ(fault_of_lease(kActive, 107, true, kFloor, 1000), TaskFault::kNone);
    EXPECT_EQ(fault_of_lease(kActive, 107, false, kFloor, 1000), TaskFault::kUnknown);
    EXPECT_EQ(fault_of_lease(kActive, 107, true, kFloor, 1500), TaskFault::kExpired);
    EXPECT_EQ(fault_of_lease(kActive, 106, false, kFloor, 1000), TaskFault::kOtherEpoch);
    EXPECT_EQ(fault_of_lease(kNew, 0, true, 0, 0), TaskFault::kOtherEpoch);
    const TaskLife done = finished(kActive, TaskState::kCompleted, 1100);
    EXPECT_EQ(fault_of_lease(done, 107, true, kFloor, 1100), TaskFault::kTerminal);
    EXPECT_TRUE(was_completed_under(done, 107));
    EXPECT_FALSE(was_completed_under(done, 108));
    EXPECT_FALSE(was_completed_under(finished(kActive, TaskState::kFailed, 1100), 107));
}

TEST(TaskTransitions, AReturnEndsTheLeaseAndPerhapsTheAttempt) {
    const TaskLife retried = returned(
        kActive,
        {.pending = Pending::kRetry, .available_at = 1300, .ends_attempt = true, .retries = 1},
        1200);
    EXPECT_EQ(retried.state, TaskState::kDelayed);
    EXPECT_EQ(retried.lease_epoch, 108);
    EXPECT_EQ(retried.last_lease_epoch(), 107);
    EXPECT_EQ(retried.retry_count, 1);
    EXPECT_FALSE(retried.has_attempt());
    EXPECT_EQ(retried.attempt_leases, 0);
    EXPECT_EQ(retried.attempt_index, 1);
    const TaskLife reclaimed = returned(
        kActive,
        {.pending = Pending::kReclaim, .available_at = 1000, .ends_attempt = false, .reclaims = 1},
        1600);
    EXPECT_EQ(reclaimed.state, TaskState::kReady);
    EXPECT_EQ(reclaimed.reclaim_count, 1);
    EXPECT_TRUE(reclaimed.has_attempt());
    EXPECT_FALSE(reclaimed.lease_until);
}

TEST(TaskTransitions, AnEndCountsALostLease) {
    EXPECT_EQ(finished(kActive, TaskState::kCompleted, 1100).lease_epoch, 108);
    EXPECT_EQ(finished(kNew, TaskState::kCancelled, 1100).lease_epoch, 0);
    EXPECT_EQ(finished(kNew, TaskState::kCancelled, 1100).terminal_at, 1100);
}

TEST(TaskTransitions, OnlyACompletionKeepsItsAttemptUntilAReplay) {
    const TaskLife done = finished(kActive, TaskState::kCompleted, 1100);
    EXPECT_EQ(done.attempt_started, kActive.attempt_started);
    EXPECT_EQ(done.attempt_kind, kActive.attempt_kind);
    EXPECT_EQ(done.attempt_leases, kActive.attempt_leases);
    EXPECT_FALSE(done.attempt_deadline);
    EXPECT_FALSE(done.has_attempt());
    const TaskLife again = reopened(done, TaskState::kReady, 1200);
    EXPECT_FALSE(again.attempt_started);
    EXPECT_FALSE(again.attempt_kind);
    EXPECT_EQ(again.attempt_leases, 0);
    const TaskLife failed = finished(kActive, TaskState::kFailed, 1100);
    EXPECT_FALSE(failed.attempt_started);
    EXPECT_EQ(failed.attempt_leases, 0);
}

TEST(TaskTransitions, AReplayBeginsAnew) {
    TaskLife done = finished(kActive, TaskState::kFailed, 1100);
    done.deadline = 1200;
    done.retry_count = 3;
    const TaskLife again = reopened(done, TaskState::kReady, 1150);
    EXPECT_EQ(again.deadline, 1200);
    EXPECT_EQ(again.available_at, 1150);
    EXPECT_EQ(again.retry_count, 0);
    EXPECT_EQ(again.replay_count, 1);
    EXPECT_EQ(again.lease_epoch, 109);
    EXPECT_FALSE(reopened(done, TaskState::kReady, 1200).deadline);
    EXPECT_FALSE(reopened(done, TaskState::kBlocked, 1150).available_at);
}

TEST(TaskTransitions, ABlockedMembersDelayBeginsWhenItIsFree) {
    TaskLife member{.state = TaskState::kBlocked, .start_delay = 50};
    EXPECT_EQ(unblocked(member, 1000).available_at, 1050);
    EXPECT_EQ(unblocked(member, 1000).state, TaskState::kDelayed);
    member.start_delay = 0;
    EXPECT_EQ(unblocked(member, 1000).state, TaskState::kReady);
    member.available_at = 1200;
    EXPECT_EQ(unblocked(member, 1000).available_at, 1200);
    EXPECT_EQ(unblocked(member, 1000).state, TaskState::kDelayed);
    member.start_delay = kNever;
    EXPECT_EQ(unblocked(member, 1000).available_at, kNever);
    EXPECT_TRUE(TaskLife{.held = true} != unheld(TaskLife{.held = true}, 0));
}

TEST(TaskTransitions, OneOrderOfWhatFallsDue) {
    TaskLife row = kActive;
    row.deadline = 50;
    row.attempt_deadline = 40;
    row.lease_until = 30;
    EXPECT_EQ(first_due(row, kFloor, std::nullopt, 29), Due::kNothing);
    EXPECT_EQ(first_due(row, kFloor, std::nullopt, 30), Due::kLease);
    EXPECT_EQ(first_due(row, kFloor, std::nullopt, 40), Due::kAttemptDeadline);
    EXPECT_EQ(first_due(row, kFloor, std::nullopt, 50), Due::kDeadline);
    EXPECT_EQ(first_due(row, 108, std::nullopt, 0), Due::kLease);
    row.state = TaskState::kReady;
    EXPECT_EQ(first_due(row, kFloor, std::nullopt, 49), Due::kNothing);
    EXPECT_EQ(first_due(row, kFloor, std::nullopt, 50), Due::kDeadline);
    row.state = TaskState::kSuspended;
    EXPECT_EQ(first_due(row, kFloor, 45, 44), Due::kNothing);
    EXPECT_EQ(first_due(row, kFloor, 45, 45), Due::kSuspension);
    EXPECT_EQ(first_due(row, kFloor, 45, 50), Due::kDeadline);
    row.state = TaskState::kCompleted;
    EXPECT_EQ(first_due(row, kFloor, std::nullopt, 50), Due::kNothing);
}

// TS-3: every row that the rules produce may be stored.
TEST(TaskTransitions, EveryRowMayBeStored) {
    const TaskLife suspended_row = suspended(kActive, 1100);
    const TaskLife done = finished(suspended_row, TaskState::kCancelled, 1200);
    for (const TaskLife& row :
         {kNew, created(0, 2000, std::nullopt, 1000), kActive, renewed(kActive, 1800),
          returned(kActive, {.pending = Pending::kRetry, .available_at = 1, .ends_attempt = true},
                   1100),
          returned(kActive,
                   {.pending = Pending::kSnooze, .available_at = 9000, .ends_attempt = false},
                   1100),
          suspended_row, resumed(suspended_row, 1100, 1100), resumed(suspended_row, 1300, 1100),
          done, reopened(done, TaskState::kReady, 1300), reopened(done, TaskState::kBlocked, 1300),
          unblocked(reopened(done, TaskState::kBlocked, 1300), 1400),
          claimed(resumed(suspended_row, 1100, 1100), kTerms, 1100)}) {
        EXPECT_TRUE(is_stored(row)) << name_of(row.state) << " " << name_of(row.pending);
    }
}

}  // namespace
}  // namespace belay::core
