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
TEST(Due, HasOnePrecedence) {
    TaskTimes times{TaskState::kActive, 50, 40, 30, false};
    EXPECT_EQ(first_due(times, 29), Due::kNothing);
    EXPECT_EQ(first_due(times, 30), Due::kLease);
    EXPECT_EQ(first_due(times, 40), Due::kAttemptDeadline);
    EXPECT_EQ(first_due(times, 50), Due::kDeadline);
    times.lease_void = true;
    EXPECT_EQ(first_due(times, 0), Due::kLease);
    times.state = TaskState::kReady;
    EXPECT_EQ(first_due(times, 49), Due::kNothing);
    EXPECT_EQ(first_due(times, 50), Due::kDeadline);
    times.state = TaskState::kCompleted;
    EXPECT_EQ(first_due(times, 50), Due::kNothing);
}

TEST(Priorities, AreClamped) {
    EXPECT_EQ(clamp_priority(-1), 0);
    EXPECT_EQ(clamp_priority(9000), 9000);
    EXPECT_EQ(clamp_priority(9001), 9000);
}

}  // namespace
}  // namespace belay::core
