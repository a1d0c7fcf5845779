// The rules of turns: when the lock of an instance may be taken, which token opens it, what a
// lease, a renewal, an abandon and an ack make of the lock, its messages, the instance and the
// execution.
//
// Pure: rows in, rows out. The store reads a row, asks here, and writes the answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/hash.hpp"
#include "core/lease.hpp"
#include "core/token.hpp"
#include "core/work_item.hpp"

namespace belay::core {

// ---- The lock of an instance ----

// What a process that acked a turn has in its memory: the instance up to this event. Both 0: none.
// It is a hint for the next fetch, which compares the owner and leaves out what that one has.
struct CacheHint {
    static constexpr int64_t kExact = 1;

    int64_t owner = 0;  // cache_owner(), with kExact if the history is known to end with the event
    int64_t event = 0;

    // What a process has, and where the history ends, if that is known.
    static constexpr CacheHint of(int64_t owner, int64_t event, std::optional<int64_t> last_event) {
        return {.owner = owner | (last_event == event ? kExact : 0), .event = event};
    }
    constexpr bool is_of(int64_t cache_owner) const { return (owner & ~kExact) == cache_owner; }
    constexpr bool is_exact() const { return (owner & kExact) != 0; }
    // Others may have added events: a fetch has to look how far the history reaches.
    constexpr CacheHint doubted() const { return {.owner = owner & ~kExact, .event = event}; }
    // Others have added events that a process with the instance in its memory would not see, nor
    // one that has a turn now. No cache_owner() is the owner of this.
    static constexpr CacheHint outdated() { return {.owner = kExact, .event = 0}; }

    bool operator==(const CacheHint&) const = default;
};

// The owner of a cache as a lock keeps it. A hint is good for one execution and one incarnation
// only, so they are part of it.
constexpr int64_t cache_owner(std::string_view owner, int32_t incarnation, int64_t execution_id) {
    uint64_t hash = fnv1a64(owner);
    for (const uint64_t part : {static_cast<uint64_t>(static_cast<uint32_t>(incarnation)),
                                static_cast<uint64_t>(execution_id)}) {
        hash = (hash ^ part) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 32;
    }
    hash &= ~static_cast<uint64_t>(CacheHint::kExact);
    return hash == 0 ? CacheHint::kExact << 1 : static_cast<int64_t>(hash);
}

// What the rules know of the row. lock_no ties the messages of a turn to it, 0 if there is none.
struct TurnLock {
    int64_t lock_no = 0;
    int64_t locked_at = 0;  // when its last turn began
    Lease lease;
    CacheHint cache = {};

    bool operator==(const TurnLock&) const = default;
};

// Whether a fetch may take the instance, and its messages: no turn of it is live.
constexpr bool is_free(const TurnLock& row, int32_t incarnation, int64_t now) {
    return !is_live(row.lease, incarnation, now);
}

// Why the token does not open the lease of the lock that it names; kNone if it does. A token of
// another incarnation opens nothing, regardless of the row.
constexpr LeaseFault fault_of(const TurnToken& token, const Lease& lease, int32_t incarnation,
                              int64_t now) {
    if (token.incarnation != incarnation) {
        return LeaseFault::kOtherIncarnation;
    }
    if (!matches(lease, token.incarnation, token.nonce_hi, token.nonce_lo)) {
        return LeaseFault::kUnknown;
    }
    return is_live(lease, incarnation, now) ? LeaseFault::kNone : LeaseFault::kExpired;
}

// A fetch: the lock is the token's. With an outdated hint it reads the whole history.
constexpr TurnLock granted(const TurnLock& row, const TurnToken& token, int64_t now,
                           int64_t locked_until) {
    return {.lock_no = token.lock_no,
            .locked_at = now,
            .lease = {.locked_until = locked_until,
                      .incarnation = token.incarnation,
                      .nonce_hi = token.nonce_hi,
                      .nonce_lo = token.nonce_lo},
            .cache = row.cache == CacheHint::outdated() ? CacheHint{} : row.cache};
}

// A renewal: only the deadline moves.
constexpr TurnLock renewed(const TurnLock& row, int64_t locked_until) {
    TurnLock after = row;
    after.lease.locked_until = locked_until;
    return after;
}

// An abandon: the lock is free. When its last turn began is kept, and what a process has cached.
constexpr TurnLock released(const TurnLock& row) {
    return {.lock_no = 0, .locked_at = row.locked_at, .lease = Lease{}, .cache = row.cache};
}

// An ack: the lock is free, and what was cached before is out of date. So is what the caller has
// cached, if events were added during its turn.
constexpr TurnLock acked(const TurnLock& row, const CacheHint& cache) {
    TurnLock after = released(row);
    after.cache = row.cache == CacheHint::outdated() ? CacheHint{} : cache;
    return after;
}

// The ack of a turn that no lease preceded: it begins and ends at once.
constexpr TurnLock acked_at_once(const TurnLock& row, int64_t now, const CacheHint& cache) {
    TurnLock after = acked(row, cache);
    after.locked_at = now;
    return after;
}

// Events are added outside of a turn, this one the first. A fetch finds those behind the cached one
// by itself; others, and those that are added during a turn, are missing in the memory of a
// process.
constexpr TurnLock extended(const TurnLock& row, int64_t first_event) {
    TurnLock after = row;
    after.cache = row.lock_no != 0 || first_event <= row.cache.event ? CacheHint::outdated()
                                                                     : row.cache.doubted();
    return after;
}

// ---- Messages ----

// What a fetch has to know of a message without reading its JSON; the letter is what is stored.
enum class MessageKind : char {
    kStart = 's',
    kContinueAsNew = 'n',
    kQueued = 'q',
    kTimer = 't',
    kOther = 'o',
};

constexpr MessageKind message_kind(ItemKind kind) {
    switch (kind) {
        case ItemKind::kStartOrchestration:
            return MessageKind::kStart;
        case ItemKind::kContinueAsNew:
            return MessageKind::kContinueAsNew;
        case ItemKind::kQueueMessage:
            return MessageKind::kQueued;
        case ItemKind::kTimerFired:
            return MessageKind::kTimer;
        default:
            return MessageKind::kOther;
    }
}

// What the rules know of a message's row. It is leased by the lock that has its lock_no.
struct Message {
    int64_t visible_at = 0;  // as it is stored: microseconds of PostgreSQL's epoch
    int64_t lock_no = 0;
    int32_t attempt = 0;
    MessageKind kind = MessageKind::kOther;
    bool parked = false;

    bool operator==(const Message&) const = default;
};

constexpr bool is_visible(const Message& row, int64_t now) {
    return row.visible_at <= ms_to_pg_us(now);
}

// Whether the message brings its instance to life.
constexpr bool is_start(const Message& row) {
    return row.kind == MessageKind::kStart || row.kind == MessageKind::kContinueAsNew;
}

// Of an instance that never started: what waits aside for the start, and what is dropped if there
// is nothing else.
constexpr bool can_be_parked(const Message& row, int64_t now) {
    return is_visible(row, now) && !row.parked && !is_start(row);
}
constexpr bool can_be_dropped(const Message& row, int64_t now) {
    return is_visible(row, now) && row.kind == MessageKind::kQueued;
}

// A fetch: the message is leased once more.
constexpr Message leased(const Message& row, int64_t lock_no) {
    Message after = row;
    after.lock_no = lock_no;
    after.attempt = next_attempt(row.attempt);
    return after;
}

// An abandon: the message is free again, with a delay from visible_at on (in ms).
constexpr Message released(const Message& row, bool ignore_attempt,
                           std::optional<int64_t> visible_at) {
    Message after = row;
    after.lock_no = 0;
    after.attempt = ignore_attempt ? previous_attempt(row.attempt) : row.attempt;
    after.visible_at = visible_at ? ms_to_pg_us(*visible_at) : row.visible_at;
    return after;
}

// Set aside, and put back.
constexpr Message with_parked(const Message& row, bool parked) {
    Message after = row;
    after.parked = parked;
    return after;
}

// ---- Instances and executions ----

// The current execution of an instance after an ack of one: it never goes back.
constexpr int64_t current_execution(int64_t known, int64_t acked) {
    return std::max(known, acked);
}

// The parent after an ack that names one: the first that was named stays.
constexpr bool adopts(bool has_parent, bool names_parent) {
    return !has_parent && names_parent;
}

inline constexpr std::string_view kRunning = "Running";

// Whether an execution with that status has ended.
constexpr bool is_end(std::string_view status) {
    return status != kRunning;
}

// Status, output and time of the end as an ack writes them: all three together.
struct Outcome {
    std::string_view status = kRunning;
    std::optional<std::string_view> output;
    std::optional<int64_t> completed_at;  // ms

    bool operator==(const Outcome&) const = default;
};

constexpr Outcome outcome_of(std::string_view status, std::optional<std::string_view> output,
                             int64_t now) {
    return {.status = status,
            .output = output,
            .completed_at = is_end(status) ? std::optional(now) : std::nullopt};
}

}  // namespace belay::core
