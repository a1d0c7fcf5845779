// Counters and durations of what happened in each hub, in shared memory.
//
// A call counts; the commit of its transaction adds the counts to those of the hub. What a rolled
// back transaction or subtransaction did is not counted, except lost leases and empty fetches,
// which leave no trace in tables.
//
// A hub has a slot from its first committed count on, until it is dropped. There are
// belay.counter_slots.
#pragma once

#include "core/histogram.hpp"
#include "pg/pg.hpp"
#include "pg/transactions.hpp"

namespace belay::counters {

enum class Counter : int {
    kEnqueued,
    kFetched,
    kEmptyFetches,
    kAcked,
    kAbandoned,
    kRenewed,
    kLostLeases,
    kExpired,
    kDeadLettered,
    kWakeUps,
    kFailed,     // of tasks: ended as failed
    kRetried,    // of tasks: an attempt failed, and another one follows
    kCancelled,  // of tasks
    kTimedOut,   // of tasks: ended as expired, by their deadline
    kCount,
};

inline constexpr int kCounters = static_cast<int>(Counter::kCount);

inline constexpr const char* kCounterNames[kCounters] = {
    "enqueued", "fetched",       "empty_fetches", "acked",  "abandoned", "renewed",   "lost_leases",
    "expired",  "dead_lettered", "wake_ups",      "failed", "retried",   "cancelled", "timed_out",
};

// The queues that are counted by themselves.
enum class Queue : int { kOrchestrator, kWorker, kTasks, kCount };
inline constexpr int kQueues = static_cast<int>(Queue::kCount);
inline constexpr const char* kQueueNames[kQueues] = {"orchestrator", "worker", "tasks"};

// What is measured: from ready to leased, and from leased to the end of the lease by its holder or,
// of tasks, of the attempt.
enum class Duration : int { kWait, kRun, kCount };
inline constexpr int kDurations = static_cast<int>(Duration::kCount);
inline constexpr const char* kDurationNames[kDurations] = {"wait", "run"};

void add(Oid hub, Queue queue, Counter counter, int64 by = 1);
void add_duration(Oid hub, Queue queue, Duration duration, int64 ms);

// The same at once, even if the transaction is rolled back, and of any database: for wake-ups.
void add_now(Oid database, Oid hub, Queue queue, Counter counter, int64 by = 1);
void add_duration_now(Oid database, Oid hub, Queue queue, Duration duration, int64 ms);

struct DurationCounts {
    int64 buckets[core::kDurationBuckets];
    int64 sum_ms;
};

struct HubCounts {
    int64 values[kQueues][kCounters];
    DurationCounts durations[kQueues][kDurations];
    TimestampTz reset_at;
};

// The counts of a hub of this database; zeros if nothing was counted yet. False: there is no shared
// memory, or no slot for the hub.
bool read(Oid hub, HubCounts* counts);

// Sets the counts of all hubs of this database to zero, and frees the slots of their tasks.
void reset();

// ---- Slots ----

// How many are taken, in all databases.
int64 used_slots();

// The hub's slot, and those of its tasks, are free when the transaction has committed.
void forget_at_commit(Oid hub);

// Frees the slots of hubs that are gone. Those to be looked at are taken before the hubs are
// listed: a hub that is made meanwhile keeps its slot.
std::span<const Oid> hubs();
void forget(std::span<const Oid> counted, std::span<const Oid> hubs);

// Frees the slots of a dropped database.
void forget_database(Oid database);

// Adds the shared piece. Called once, from _PG_init.
void install();

// Adds the counts of a transaction to those of its hubs when it has ended.
extern const pg::Participant kParticipant;

}  // namespace belay::counters
