// Limits of a queue: how many of its tasks may be active at once, and how fast they may be claimed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/time.hpp"

namespace belay::core {

struct QueueLimit {
    std::optional<int64_t> concurrency;
    std::optional<double> rate_per_s;
    double burst;         // size of the bucket
    double tokens;        // in the bucket, at refilled_at
    int64_t refilled_at;  // ms
    int64_t active;       // places that are taken
};

// Places that a claim has taken (above 0), or that were released (below 0).
struct QueueMove {
    int64_t places;
    int64_t at;  // ms
};

// A thousandth of a thousandth: sums of fractions must not keep a whole token away.
inline constexpr double kTokenSlack = 1e-6;

// The bucket at an instant. A clock that goes backwards takes nothing away.
inline double tokens_at(const QueueLimit& limit, int64_t now) {
    if (!limit.rate_per_s) {
        return 0.0;
    }
    const auto passed = static_cast<double>(std::max<int64_t>(0, now - limit.refilled_at));
    return std::min(limit.burst, limit.tokens + passed * *limit.rate_per_s / 1000.0);
}

// How many tasks may be claimed now; kNever if there is no end to it.
inline int64_t free_places(const QueueLimit& limit, int64_t now) {
    int64_t places = kNever;
    if (limit.concurrency) {
        places = std::max<int64_t>(0, *limit.concurrency - limit.active);
    }
    if (limit.rate_per_s) {
        const double tokens = std::floor(tokens_at(limit, now) + kTokenSlack);
        places = std::min(places, static_cast<int64_t>(tokens));
    }
    return places;
}

// Whether all places are taken, regardless of the bucket.
inline bool is_crowded(const QueueLimit& limit) {
    return limit.concurrency && limit.active >= *limit.concurrency;
}

// The limit after a move. A move that is older than the bucket's instant takes its tokens then, so
// that the bucket has at most what it would have had in order.
inline QueueLimit moved(const QueueLimit& limit, const QueueMove& move) {
    QueueLimit after = limit;
    after.active = limit.active + move.places;
    if (move.places > 0) {
        if (limit.rate_per_s) {
            after.tokens =
                std::max(0.0, tokens_at(limit, move.at) - static_cast<double>(move.places));
        }
        after.refilled_at = std::max(limit.refilled_at, move.at);
    }
    return after;
}

// When the bucket has a whole token; now if it has one.
inline int64_t next_token_at(const QueueLimit& limit, int64_t now) {
    const double missing = 1.0 - kTokenSlack - tokens_at(limit, now);
    if (!limit.rate_per_s || missing <= 0) {
        return now;
    }
    return add_ms(now, static_cast<int64_t>(std::ceil(missing * 1000.0 / *limit.rate_per_s)));
}

}  // namespace belay::core
