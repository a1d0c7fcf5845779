// Instants as whole milliseconds since the Unix epoch, and PostgreSQL's way to write them.
//
// A PostgreSQL timestamptz is a number of microseconds since 2000-01-01. It is a plain int64_t
// here, since this folder knows no PostgreSQL.
#pragma once

#include <cstdint>
#include <limits>

namespace belay::core {

// The instant that never comes and the one before all others: PostgreSQL's infinities.
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kBeforeAll = std::numeric_limits<int64_t>::min();

// 2000-01-01 in Unix time.
constexpr int64_t kPgEpochMs = 946'684'800'000;

// The greatest and the least whole millisecond that a timestamptz can hold.
constexpr int64_t kMaxTimestampMs = 9'223'371'331'199'999 + kPgEpochMs;
constexpr int64_t kMinTimestampMs = -211'813'488'000'000 + kPgEpochMs;

// The sum, held inside the range of the type. kNever plus anything is kNever, and a wait of
// kNever does not end.
constexpr int64_t add_ms(int64_t a, int64_t b) {
    if (a == kNever || b == kNever) {
        return kNever;
    }
    int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
        return a < 0 ? kBeforeAll : kNever;
    }
    return sum;
}

// The milliseconds of a PostgreSQL interval, with a month of 30 days and a day of 24 hours, as the
// server compares intervals. Rounded away from zero: a short wait is not none. An infinite interval
// is longer than 100,000,000 years. No interval overflows.
constexpr int64_t interval_ms(int32_t months, int32_t days, int64_t us) {
    constexpr int64_t kDayMs = 86'400'000;
    constexpr int64_t kDayUs = kDayMs * 1000;
    const int64_t whole_days = int64_t{months} * 30 + days + us / kDayUs;
    const int64_t ms = whole_days * kDayMs + us % kDayUs / 1000;
    const int64_t rest = us % 1000;  // its sign may differ from that of ms
    if (rest > 0) {
        return ms >= 0 ? ms + 1 : ms;
    }
    return rest < 0 && ms <= 0 ? ms - 1 : ms;
}

// The timestamptz of an instant. One too far away for the type becomes infinity (minus infinity on
// the other side), rather than an error.
constexpr int64_t ms_to_pg_us(int64_t ms) {
    if (ms > kMaxTimestampMs) {
        return std::numeric_limits<int64_t>::max();
    }
    if (ms < kMinTimestampMs) {
        return std::numeric_limits<int64_t>::min();
    }
    return (ms - kPgEpochMs) * 1000;
}

// The millisecond that a timestamptz falls into: it is cut towards the past on both sides of 2000.
constexpr int64_t pg_us_to_ms(int64_t us) {
    if (us == std::numeric_limits<int64_t>::max()) {
        return kNever;
    }
    if (us == std::numeric_limits<int64_t>::min()) {
        return kBeforeAll;
    }
    int64_t ms = us / 1000 - (us % 1000 < 0 ? 1 : 0);
    return ms + kPgEpochMs;
}

}  // namespace belay::core
