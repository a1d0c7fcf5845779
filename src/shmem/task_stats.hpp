// What happened to the tasks of each queue and kind: counters and durations, in shared memory.
//
// As with the counters of hubs, a call counts and the commit of its transaction adds; what was
// rolled back is not counted.
//
// A (hub, queue, kind) has a slot from its first committed count on, until the hub is dropped or
// the counts are reset. There are belay.stat_slots; what finds none is counted in a slot of the
// hub that has kOthers as queue and kind.
#pragma once

#include "pg/pg.hpp"
#include "pg/transactions.hpp"
#include "shmem/counters.hpp"

namespace belay::task_stats {

enum class Counter : int {
    kCreated,
    kClaimed,
    kCompleted,
    kFailed,
    kRetried,  // an attempt failed, and another one follows
    kCancelled,
    kExpired,  // ended by their deadline
    kLost,     // leases that ended without their holder
    kCount,
};

inline constexpr int kCounters = static_cast<int>(Counter::kCount);

inline constexpr const char* kCounterNames[kCounters] = {
    "created", "claimed", "completed", "failed", "retried", "cancelled", "expired", "lost",
};

// No queue has this name together with this kind unless a caller chose both.
inline constexpr std::string_view kOthers = "*";

struct TaskClass {
    std::string_view queue;
    std::string_view kind;
};

void add(Oid hub, const TaskClass& of, Counter counter, int64 by = 1);
void add_duration(Oid hub, const TaskClass& of, counters::Duration duration, int64 ms);

struct Counts {
    int64 values[kCounters];
    counters::DurationCounts durations[counters::kDurations];
    TimestampTz reset_at;  // since when it counts

    // The earlier reset_at counts.
    void add(const Counts& other);
};

struct Row {
    Oid hub;
    TaskClass of;
    Counts counts;
};

// The rows of a hub of this database, or of all its hubs, by hub, queue and kind, in the current
// memory context. Each call walks over all slots: for monitoring, and once for all hubs. Empty
// without shared memory.
std::span<const Row> read(Oid hub);
std::span<const Row> read_all();
// Those of one hub.
std::span<const Row> rows_of(std::span<const Row> all, Oid hub);

// Frees the slots of all hubs of this database.
void reset();

// ---- Slots ----

// How many are taken, in all databases.
int64 used_slots();

// The hubs of this database that have slots; a hub may come more than once.
std::span<const Oid> hubs();
void free_hub(Oid database, Oid hub);
void free_database(Oid database);

// Adds the shared piece. Called once, from _PG_init.
void install();

// Adds the counts of a transaction when it has ended.
extern const pg::Participant kParticipant;

}  // namespace belay::task_stats
