// Table tasks, as claims see it: streams of tasks in the order of claims, and the leases they give.
//
// A stream is a range of an index: the ready tasks of a queue, slot and capability set, or all
// delayed ones. Walks jump over gaps (store/table/walk.hpp).
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/table/tables.hpp"
#include "store/tasks.hpp"

namespace belay::store {

// A range of the claim index.
struct TaskStream {
    std::string_view queue;
    int16 slot;
    int32 cap_set;

    auto operator<=>(const TaskStream&) const = default;
};

// A task, and its place in the order.
struct TaskPlace {
    int32 priority;
    int64 available_at;
    pg_uuid_t id;

    // Whether it is claimed before the other.
    bool before(const TaskPlace& other) const;
};

// The streams of gaps.
inline constexpr uint8 kReadyStream = 0;
inline constexpr uint8 kDelayedStream = 1;

// A task that a claim holds.
struct HeldTask {
    pg_uuid_t id;
    ItemPointerData tid;  // where it lay when it was held
    core::TaskLife life;
    std::optional<int64> attempt_timeout;  // of its policy, or its queue's
    std::string_view queue;

    TaskPlace place() const { return {life.priority, life.available_at.value_or(0), id}; }
};

// Holds up to limit tasks from the head of one stream, skipping what others hold: lost reports it.
// acquire gives their leases.
std::span<const HeldTask> hold_heads(Tables& tables, const TaskStream& stream, int64 now, int limit,
                                     bool* lost);

// Looks at up to limit tasks from the head of each stream; stream is the index of theirs.
struct TaskPeek {
    int stream;
    TaskPlace place;
};
std::span<const TaskPeek> peek_heads(Tables& tables, std::span<const TaskStream> streams, int64 now,
                                     int limit);
// Looks at those of one stream behind a place.
std::span<const TaskPlace> peek_behind(Tables& tables, const TaskStream& stream,
                                       const TaskPlace& after, int64 now, int limit);
// Looks at up to limit delayed tasks that are due, in the order in which they fell due, behind a
// place. They are not held, and stay as they are until a worker claims them.
struct DueTaskPeek {
    TaskStream stream;
    TaskPlace place;
    bool over;  // its deadline has passed
};
struct DueLook {
    std::span<const DueTaskPeek> tasks;
    bool more;   // are due
    int64 next;  // when the next falls due; core::kNever if there is none
};
DueLook peek_due(Tables& tables, const std::optional<TaskPlace>& after, int64 now, int limit);

// Holds those of these tasks that are still ready, or delayed and due, and that no other
// transaction holds.
std::span<const HeldTask> hold_eligible(Tables& tables, std::span<const pg_uuid_t> ids, int64 now);

// Up to limit queues that may have ready tasks, in order, behind one and as far as up_to if that is
// given.
std::span<const std::string_view> ready_queues(Tables& tables, std::string_view after,
                                               std::optional<std::string_view> up_to, int limit);

// The streams that fit: those of the queues, each named once, that are not paused, for each slot
// and each set that lies within the capabilities.
std::span<const TaskStream> fitting_streams(Tables& tables,
                                            std::span<const std::string_view> queues,
                                            std::span<const std::string_view> capabilities,
                                            std::span<const int16> slots);

// A lease that a claim gives to a task that it holds.
struct LeaseGrant {
    HeldTask task;
    core::LeaseTerms terms;
    pg_uuid_t nonce;
    int64 now;  // when it is given
};

// A task with its lease. Values as they are returned, 0 for null, point into the new version.
struct ClaimedTask {
    pg_uuid_t id;
    core::TaskLife life;
    pg_uuid_t nonce;
    std::optional<pg_uuid_t> flow_id;
    Datum queue;
    Datum kind;
    Datum payload;
    Datum tags;
    Datum checkpoint;
    Datum flow_key;
    Datum last_error;  // jsonb
};

// Who claims.
struct Claimer {
    std::string_view worker;
    std::string_view instance;
};

// Gives the leases, and has the transaction wait for the disk when it commits. The tasks come in
// the order of the grants.
std::span<const ClaimedTask> acquire(Tables& tables, std::span<const LeaseGrant> grants,
                                     const Claimer& claimer);

// The lease that a claim gives to a task; none if it may have none any more.
struct Lessor {
    const void* claim;
    std::optional<LeaseGrant> (*grant)(const void* claim, const HeldTask& task);
};

// hold_heads and acquire in one, for a queue without limits: a task gets its lease where the walk
// meets it, so its row is found and written once. A task that may have none stays as it is.
struct AcquiredTask {
    ClaimedTask claimed;
    LeaseGrant grant;
};
std::span<const AcquiredTask> acquire_heads(Tables& tables, const TaskStream& stream, int64 now,
                                            int limit, const Claimer& claimer, const Lessor& lessor,
                                            bool* lost);

// Makes up to limit delayed tasks ready that are due. Returns how many.
int64 promote_due(Tables& tables, int64 now, int limit);
// When the next delayed task falls due, or did if another transaction holds it; core::kNever if
// there is none.
int64 next_delayed(Tables& tables);

// Looks for tasks in gaps that were not looked at for so long; returns how many were found.
int64 repair_task_gaps(Tables& tables, int64 age_ms);

}  // namespace belay::store
