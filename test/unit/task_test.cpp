#include "core/task.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

Policy policy(std::string_view text) {
    Policy result;
    const auto value = json::parse(text);
    EXPECT_TRUE(value.has_value()) << text;
    const auto fault = lay_over(*value, &result);
    EXPECT_FALSE(fault.has_value()) << text << " " << (fault ? fault->path : "");
    return result;
}

const char* fault_of(std::string_view text) {
    Policy result;
    const auto fault = lay_over(*json::parse(text), &result);
    return fault ? fault->code_detail : "none";
}

// TR-1: min(initial * multiplier^n, max), or the fixed delay.
TEST(Backoff, GrowsToItsLimit) {
    const Policy built_in;
    EXPECT_EQ(backoff_ms(built_in, 0, 0.5), 1000);
    EXPECT_EQ(backoff_ms(built_in, 1, 0.5), 2000);
    EXPECT_EQ(backoff_ms(built_in, 5, 0.5), 32000);
    EXPECT_EQ(backoff_ms(built_in, 6, 0.5), 60000);
    EXPECT_EQ(backoff_ms(built_in, 1'000'000, 0.5), 60000);
    const Policy tripled = policy(
        R"({"backoff":{"kind":"exponential","initial_ms":200,"max_ms":30000,"multiplier":3}})");
    EXPECT_EQ(backoff_ms(tripled, 2, 0.0), 1800);
    const Policy fixed = policy(R"({"backoff":{"kind":"fixed","delay_ms":7}})");
    EXPECT_EQ(backoff_ms(fixed, 100, 0.0), 7);
}

TEST(Backoff, JitterStaysWithinItsRange) {
    const Policy half = policy(R"({"backoff":{"kind":"fixed","delay_ms":1000,"jitter":0.5}})");
    EXPECT_EQ(backoff_ms(half, 0, 0.0), 500);
    EXPECT_EQ(backoff_ms(half, 0, 0.5), 1000);
    EXPECT_EQ(backoff_ms(half, 0, 0.999999), 1500);
    const Policy full = policy(R"({"backoff":{"kind":"fixed","delay_ms":1000,"jitter":1}})");
    EXPECT_EQ(backoff_ms(full, 0, 0.0), 0);
}

// TR-2: the class has to be allowed, and the attempts have to suffice.
TEST(Retries, DependOnClassAndCount) {
    const Policy built_in;
    EXPECT_TRUE(may_retry(built_in, FailureClass::kTransient, 0));
    EXPECT_TRUE(may_retry(built_in, FailureClass::kTransient, 2));
    EXPECT_FALSE(may_retry(built_in, FailureClass::kTransient, 3));
    EXPECT_FALSE(may_retry(built_in, FailureClass::kPermanent, 0));
    EXPECT_FALSE(may_retry(built_in, FailureClass::kCancelled, 0));
    EXPECT_FALSE(may_retry(policy(R"({"max_attempts":1})"), FailureClass::kTimeout, 0));
    EXPECT_TRUE(may_retry(policy(R"({"max_attempts":0})"), FailureClass::kTimeout, 1'000'000));
    EXPECT_FALSE(may_retry(policy(R"({"retryable":[]})"), FailureClass::kTransient, 0));
}

TEST(Policies, AreLaidOverEachOther) {
    Policy layered = policy(R"({"max_attempts":9,"attempt_timeout_ms":5,"max_reclaims":0})");
    EXPECT_FALSE(lay_over(*json::parse(R"({"attempt_timeout_ms":null,"on_lease_expiry":"retry"})"),
                          &layered));
    EXPECT_EQ(layered.max_attempts, 9);
    EXPECT_EQ(layered.max_reclaims, 0);
    EXPECT_FALSE(layered.attempt_timeout_ms);
    EXPECT_TRUE(layered.expiry_fails);
}

TEST(Policies, RefuseWhatTheyDoNotKnow) {
    EXPECT_STREQ(fault_of("{}"), "none");
    EXPECT_STREQ(fault_of("[]"), "not_an_object");
    EXPECT_STREQ(fault_of(R"({"max":1})"), "unknown_key");
    EXPECT_STREQ(fault_of(R"({"max_attempts":1.5})"), "wrong_type");
    EXPECT_STREQ(fault_of(R"({"max_attempts":-1})"), "out_of_range");
    EXPECT_STREQ(fault_of(R"({"backoff":{"kind":"exponential","delay_ms":1}})"), "unknown_key");
    EXPECT_STREQ(fault_of(R"({"backoff":{"multiplier":0.5}})"), "out_of_range");
    EXPECT_STREQ(fault_of(R"({"backoff":{"jitter":"x"}})"), "wrong_type");
    EXPECT_STREQ(fault_of(R"({"retryable":["permanent"]})"), "bad_value");
    EXPECT_STREQ(fault_of(R"({"retryable":"transient"})"), "not_an_array");
}

// TL-4: the least of what is asked for and the two deadlines.
TEST(Leases, AreCapped) {
    EXPECT_EQ(cap_deadline(100, std::nullopt, std::nullopt).until, 100);
    EXPECT_FALSE(cap_deadline(100, 100, 100).capped);
    EXPECT_EQ(cap_deadline(100, 90, 80).until, 80);
    EXPECT_EQ(cap_deadline(100, 70, 80).until, 70);
    EXPECT_TRUE(cap_deadline(100, 70, 80).capped);
}

// TS-1: execution deadline, then attempt deadline, then lease.
// TL-2, TL-5: epochs grow by the step that chance asks for, reach the floor, and stay within their
// incarnation however many there are.
TEST(Epochs, GrowByRandomSteps) {
    EXPECT_EQ(next_epoch(0, 0, 0), 1);
    EXPECT_EQ(next_epoch(7, 0, 5), 13);
    EXPECT_EQ(next_epoch(7, 100, 0), 100);
    EXPECT_EQ(next_epoch(7, 100, 3), 103);
    EXPECT_EQ(next_epoch(0, 0, (1U << 24) - 1), 1 << 24);
    EXPECT_EQ(next_epoch(0, 0, 1U << 24), 1);
    constexpr int64_t kFloor = 3 * kEpochsPerIncarnation;
    int64_t epoch = kFloor;
    for (int64_t left = kEpochsPerIncarnation; left > 1; left /= 2) {
        epoch = kFloor + kEpochsPerIncarnation - left;
        const int64_t next = next_epoch(epoch, kFloor, UINT32_MAX);
        EXPECT_GT(next, epoch);
        EXPECT_LT(next, kFloor + kEpochsPerIncarnation);
    }
}

// TS-3: what contradicts itself is not stored.
TEST(Rows, AreSound) {
    TaskRow ready{};
    ready.state = "ready";
    ready.pending = "initial";
    ready.has_available_at = true;
    EXPECT_TRUE(is_sound(ready));
    TaskRow active = ready;
    active.state = "active";
    active.attempt_kind = "initial";
    active.attempt_leases = 1;
    for (bool TaskRow::*part :
         {&TaskRow::has_lease_owner, &TaskRow::has_lease_worker, &TaskRow::has_lease_until,
          &TaskRow::has_lease_check, &TaskRow::has_attempt_started, &TaskRow::has_attempt_worker,
          &TaskRow::has_attempt_instance}) {
        EXPECT_FALSE(is_sound(active));
        active.*part = true;
        TaskRow lone = ready;
        lone.*part = true;
        EXPECT_FALSE(is_sound(lone));
    }
    EXPECT_TRUE(is_sound(active));
    TaskRow paused = active;
    paused.state = "delayed";
    paused.pending = "snooze";
    EXPECT_FALSE(is_sound(paused));  // the lease is still there
    paused.has_lease_owner = paused.has_lease_worker = false;
    paused.has_lease_until = paused.has_lease_check = false;
    EXPECT_TRUE(is_sound(paused));
    TaskRow ended = ready;
    ended.state = "failed";
    EXPECT_FALSE(is_sound(ended));
    ended.has_terminal_at = true;
    EXPECT_FALSE(is_sound(ended));
    ended.has_available_at = false;
    EXPECT_TRUE(is_sound(ended));
    // A completed task keeps the attempt that completed it, and no other end does.
    TaskRow completed = ended;
    completed.state = "completed";
    EXPECT_TRUE(is_sound(completed));
    completed.attempt_kind = "initial";
    EXPECT_FALSE(is_sound(completed));
    completed.has_attempt_started = completed.has_attempt_worker = true;
    EXPECT_FALSE(is_sound(completed));
    completed.has_attempt_instance = true;
    completed.attempt_leases = 1;
    EXPECT_TRUE(is_sound(completed));
    completed.has_attempt_deadline = true;
    EXPECT_FALSE(is_sound(completed));
    completed.has_attempt_deadline = false;
    completed.state = "cancelled";
    EXPECT_FALSE(is_sound(completed));
    TaskRow odd = ready;
    odd.priority = 9001;
    EXPECT_FALSE(is_sound(odd));
    odd = ready;
    odd.least = -1;
    EXPECT_FALSE(is_sound(odd));
    odd = ready;
    odd.attempt_kind = "snooze";
    EXPECT_FALSE(is_sound(odd));
}

TEST(Priorities, AreClamped) {
    EXPECT_EQ(clamp_priority(-1), 0);
    EXPECT_EQ(clamp_priority(9000), 9000);
    EXPECT_EQ(clamp_priority(9001), 9000);
}

}  // namespace
}  // namespace belay::core
