// Counters of what happened in each hub, in shared memory.
//
// A call counts; the commit of its transaction adds the counts to those of the hub. What a rolled
// back transaction did is not counted, except lost leases and empty fetches, which leave no trace
// in tables.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

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
    kCount,
};

inline constexpr int kCounters = static_cast<int>(Counter::kCount);

inline constexpr const char* kCounterNames[kCounters] = {
    "enqueued", "fetched",     "empty_fetches", "acked",         "abandoned",
    "renewed",  "lost_leases", "expired",       "dead_lettered", "wake_ups",
};

// The queues that are counted by themselves.
enum class CountedQueue : int { kOrchestrator, kWorker, kTasks, kCount };
inline constexpr int kCountedQueues = static_cast<int>(CountedQueue::kCount);
inline constexpr const char* kCountedQueueNames[kCountedQueues] = {"orchestrator", "worker",
                                                                   "tasks"};

void count(Oid hub, CountedQueue queue, Counter counter, int64 by = 1);

// Counts at once, whatever becomes of the transaction. Of any database: for whoever wakes others.
void count_now(Oid database, Oid hub, CountedQueue queue, Counter counter, int64 by = 1);

struct HubCounts {
    int64 values[kCountedQueues][kCounters];
    TimestampTz reset_at;
};

// The counts of a hub of this database; zeros if there are none. False without shared memory.
bool read_counts(Oid hub, HubCounts* counts);

// Sets the counts of all hubs of this database to zero.
void reset_counts();

// Makes the shared piece and the callbacks. Called once, from _PG_init.
void install_counters();

}  // namespace belay::pg
