// Reading policies of tasks; epochs, pauses between attempts, and which rows may be stored.
//
// Touches  its arguments
// Must not draw random numbers or read a clock: the caller passes both
#include "core/task.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace belay::core {

namespace {

constexpr int64_t kLongestMs = int64_t{100} * 365 * 24 * 3600 * 1000;
constexpr double kMaxMultiplier = 1000.0;

std::optional<double> as_double(json::Value value) {
    if (value.kind != json::Kind::kNumber) {
        return std::nullopt;
    }
    double number = 0;
    const char* end = value.text.data() + value.text.size();
    const auto read = std::from_chars(value.text.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) {
        return std::nullopt;
    }
    return number;
}

// Reads an integer within bounds.
std::optional<PolicyFault> read_int(json::Value value, const char* path, int64_t most,
                                    int64_t* out) {
    const auto number = json::as_int64(value);
    if (!number) {
        return PolicyFault{path, "wrong_type", {}};
    }
    if (*number < 0 || *number > most) {
        return PolicyFault{path, "out_of_range", {}};
    }
    *out = *number;
    return std::nullopt;
}

std::optional<PolicyFault> read_double(json::Value value, const char* path, double least,
                                       double most, double* out) {
    const auto number = as_double(value);
    if (!number) {
        return PolicyFault{path, "wrong_type", {}};
    }
    if (!(*number >= least && *number <= most)) {
        return PolicyFault{path, "out_of_range", {}};
    }
    *out = *number;
    return std::nullopt;
}

std::optional<PolicyFault> read_backoff(json::Value value, Policy* policy) {
    if (value.kind != json::Kind::kObject) {
        return PolicyFault{"backoff", "not_an_object", {}};
    }
    const auto kind = json::find(value, "kind");
    const bool exponential = !kind || kind->text == "\"exponential\"";
    if (!exponential && kind->text != "\"fixed\"") {
        return PolicyFault{"backoff.kind", "bad_value", {}};
    }
    // A backoff is a whole: what it leaves out is as if nothing had been said before.
    const Policy built_in;
    policy->exponential = exponential;
    policy->delay_ms = built_in.delay_ms;
    policy->max_delay_ms = built_in.max_delay_ms;
    policy->multiplier = built_in.multiplier;
    policy->jitter = built_in.jitter;
    json::Members members(value);
    std::string_view key;
    json::Value member;
    while (members.next(key, member)) {
        std::optional<PolicyFault> fault;
        if (json::key_is(key, "kind")) {
            continue;
        }
        if (json::key_is(key, "jitter")) {
            fault = read_double(member, "backoff.jitter", 0.0, 1.0, &policy->jitter);
        } else if (exponential && json::key_is(key, "initial_ms")) {
            fault = read_int(member, "backoff.initial_ms", kLongestMs, &policy->delay_ms);
        } else if (exponential && json::key_is(key, "max_ms")) {
            fault = read_int(member, "backoff.max_ms", kLongestMs, &policy->max_delay_ms);
        } else if (exponential && json::key_is(key, "multiplier")) {
            fault =
                read_double(member, "backoff.multiplier", 1.0, kMaxMultiplier, &policy->multiplier);
        } else if (!exponential && json::key_is(key, "delay_ms")) {
            fault = read_int(member, "backoff.delay_ms", kLongestMs, &policy->delay_ms);
        } else {
            fault = PolicyFault{"backoff", "unknown_key", key};
        }
        if (fault) {
            return fault;
        }
    }
    return std::nullopt;
}

std::optional<PolicyFault> read_retryable(json::Value value, Policy* policy) {
    if (value.kind != json::Kind::kArray) {
        return PolicyFault{"retryable", "not_an_array", {}};
    }
    policy->retryable = 0;
    json::Elements elements(value);
    json::Value element;
    while (elements.next(element)) {
        if (element.kind != json::Kind::kString) {
            return PolicyFault{"retryable", "wrong_type", {}};
        }
        const auto failure = parse_failure_class(element.text.substr(1, element.text.size() - 2));
        if (!failure || *failure == FailureClass::kPermanent ||
            *failure == FailureClass::kCancelled) {
            return PolicyFault{"retryable", "bad_value", {}};
        }
        policy->retryable |= 1U << static_cast<int>(*failure);
    }
    return std::nullopt;
}

std::optional<PolicyFault> read_member(std::string_view key, json::Value value, Policy* policy) {
    const Policy built_in;
    const bool null = value.kind == json::Kind::kNull;
    constexpr int64_t kMostTimes = 1'000'000;
    if (json::key_is(key, "max_attempts")) {
        policy->max_attempts = built_in.max_attempts;
        return null ? std::nullopt
                    : read_int(value, "max_attempts", kMostTimes, &policy->max_attempts);
    }
    if (json::key_is(key, "backoff")) {
        if (null) {
            policy->exponential = built_in.exponential;
            policy->delay_ms = built_in.delay_ms;
            policy->max_delay_ms = built_in.max_delay_ms;
            policy->multiplier = built_in.multiplier;
            policy->jitter = built_in.jitter;
            return std::nullopt;
        }
        return read_backoff(value, policy);
    }
    if (json::key_is(key, "retryable")) {
        policy->retryable = built_in.retryable;
        return null ? std::nullopt : read_retryable(value, policy);
    }
    if (json::key_is(key, "attempt_timeout_ms")) {
        policy->attempt_timeout_ms.reset();
        if (null) {
            return std::nullopt;
        }
        int64_t timeout = 0;
        if (const auto fault = read_int(value, "attempt_timeout_ms", kLongestMs, &timeout)) {
            return fault;
        }
        if (timeout == 0) {
            return PolicyFault{"attempt_timeout_ms", "out_of_range", {}};
        }
        policy->attempt_timeout_ms = timeout;
        return std::nullopt;
    }
    if (json::key_is(key, "on_lease_expiry")) {
        policy->expiry_fails = value.text == "\"retry\"";
        return null || policy->expiry_fails || value.text == "\"continue\""
                   ? std::nullopt
                   : std::optional(PolicyFault{"on_lease_expiry", "bad_value", {}});
    }
    if (json::key_is(key, "max_reclaims")) {
        policy->max_reclaims = built_in.max_reclaims;
        return null ? std::nullopt
                    : read_int(value, "max_reclaims", kMostTimes, &policy->max_reclaims);
    }
    if (json::key_is(key, "max_replays")) {
        policy->max_replays = built_in.max_replays;
        return null ? std::nullopt
                    : read_int(value, "max_replays", kMostTimes, &policy->max_replays);
    }
    if (json::key_is(key, "max_signals")) {
        policy->max_signals = built_in.max_signals;
        return null ? std::nullopt
                    : read_int(value, "max_signals", kMostTimes, &policy->max_signals);
    }
    return PolicyFault{"", "unknown_key", key};
}

}  // namespace

std::optional<PolicyFault> lay_over(json::Value object, Policy* policy) {
    if (object.kind != json::Kind::kObject) {
        return PolicyFault{"", "not_an_object", {}};
    }
    json::Members members(object);
    std::string_view key;
    json::Value value;
    while (members.next(key, value)) {
        if (const auto fault = read_member(key, value, policy)) {
            return fault;
        }
    }
    return std::nullopt;
}

bool is_sound(const TaskRow& row) {
    const auto state = parse_task_state(row.state);
    const auto pending = parse_pending(row.pending);
    if (!state || !pending || row.least < 0 || row.priority < 0 || row.priority > kMaxPriority) {
        return false;
    }
    const bool active = *state == TaskState::kActive;
    for (const bool part :
         {row.has_lease_owner, row.has_lease_worker, row.has_lease_until, row.has_lease_check}) {
        if (part != active) {
            return false;
        }
    }
    if (row.has_terminal_at != is_terminal(*state)) {
        return false;
    }
    const bool queued = active || *state == TaskState::kDelayed || *state == TaskState::kReady;
    if (*state != TaskState::kBlocked && row.has_available_at != queued) {
        return false;
    }
    // An attempt runs, is paused, or has completed the task: check_tasks looks whether the last is
    // there.
    const bool completed = *state == TaskState::kCompleted;
    const bool attempt = active || (completed && row.has_attempt_started) ||
                         (!is_terminal(*state) && continues_attempt(*pending));
    const auto kind = parse_pending(row.attempt_kind);
    const bool has_kind = kind && !continues_attempt(*kind);
    if (!row.attempt_kind.empty() && !has_kind) {
        return false;
    }
    return has_kind == attempt && row.has_attempt_started == attempt &&
           row.has_attempt_worker == attempt && row.has_attempt_instance == attempt &&
           (attempt || row.attempt_leases == 0) &&
           ((attempt && !completed) || !row.has_attempt_deadline);
}

int64_t next_epoch(int64_t epoch, int64_t floor, uint32_t random) {
    constexpr int64_t kWidest = int64_t{1} << 24;
    const int64_t next = std::max(epoch + 1, floor);
    const int64_t room = floor + kEpochsPerIncarnation - next;
    const int64_t width = std::clamp<int64_t>(room >> 21, 1, kWidest);
    return next + random % width;
}

int64_t backoff_ms(const Policy& policy, int64_t n, double random) {
    double wait = static_cast<double>(policy.delay_ms);
    if (policy.exponential) {
        wait = std::min(wait * std::pow(policy.multiplier, static_cast<double>(n)),
                        static_cast<double>(policy.max_delay_ms));
    }
    wait *= 1.0 - policy.jitter + 2.0 * policy.jitter * random;
    return std::max<int64_t>(0, std::llround(std::min(wait, static_cast<double>(2 * kLongestMs))));
}

}  // namespace belay::core
