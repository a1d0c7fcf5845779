// What readers ask of tasks: with the caller's snapshot, without locks.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/listing.hpp"
#include "store/statements.hpp"

namespace belay::store {

Jsonb* read_task_json(const Hub& hub, const pg_uuid_t& id);

// id, queue, kind, state, attempt_index, result, error, its class, percent and message of the
// progress, worker; created, available, started, lease until, deadline and end, in ms.
using TaskStatus = Out<pg_uuid_t, Text, Text, core::TaskState, int32, Jsonb*, Maybe<Text>,
                       Maybe<Text>, Maybe<Unread<Numeric>>, Maybe<Text>, Maybe<Text>, int64,
                       Maybe<int64>, Maybe<int64>, Maybe<int64>, Maybe<int64>, Maybe<int64>>;
TaskStatus read_task_status(const Hub& hub, const pg_uuid_t& id, int64 now);

struct TaskFilter {
    std::optional<std::string_view> queue;
    std::optional<std::span<const std::string_view>> states;
    std::optional<pg_uuid_t> flow_id;
    std::optional<std::string_view> kind;
    Jsonb* tags;
    std::optional<std::string_view> worker;
    std::optional<std::string_view> worker_instance;
    std::optional<int64> created_from;
    std::optional<int64> created_to;
    std::optional<std::string_view> pending;
};
// Where a list stops that has found too little.
inline constexpr int64 kMostListed = 10000;
struct TaskList {
    Listing rows;
    bool whole;  // the page is full, or there are no more; else the list stopped
};
TaskList list_tasks(const Hub& hub, const TaskFilter& filter, std::optional<pg_uuid_t> after,
                    int limit);

Listing list_expired_leases(const Hub& hub, int64 as_of, std::optional<std::string_view> queue,
                            std::optional<int64> after_ms, std::optional<pg_uuid_t> after_id,
                            int limit);

// How many tasks of a hub are in which state, each counted up to a limit.
struct TaskGauges {
    int64 ready;
    int64 delayed;
    int64 leases;
    int64 overdue;  // leases whose time is over
};
TaskGauges read_task_gauges(const Hub& hub, int64 now, int64 limit);

// What explain_claim looks at.
struct TaskView {
    pg_uuid_t id;
    std::string_view state;
    std::string_view queue;
    std::string_view pending;
    bool held;
    bool in_flow;
    bool queue_paused;
    int16 slot;
    int64 lease_epoch;
    int32 priority;
    int32 cap_set;
    std::optional<int64> available_at;
    std::optional<int64> deadline;
    std::optional<int64> lease_until;
    std::optional<int64> terminal_at;
    std::optional<std::string_view> worker;
    std::optional<std::string_view> worker_instance;
    const char* missing;  // JSON array: capabilities it needs that are not given; null: none
};
std::optional<TaskView> view_task(const Hub& hub, const pg_uuid_t& id,
                                  std::optional<std::span<const std::string_view>> capabilities);

// How many tasks of its queue, ready or due, come before the task, counted up to limit.
int64 count_before(const Hub& hub, const pg_uuid_t& id, const TaskView& view, int64 now,
                   int64 limit);

// The open transaction, other than ours, that holds the row.
std::optional<OpenTransaction> task_holder(const Hub& hub, const pg_uuid_t& id);

// What does not add up.
struct TaskProblem {
    std::string_view object;
    std::string_view problem;
};
struct CheckedTasks {
    std::optional<pg_uuid_t> flow;  // only this flow and its members
    std::optional<int64> newest;    // so many of the newest tasks only
    bool flows = true;
};
std::span<const TaskProblem> check_tasks(const Hub& hub, const CheckedTasks& checked);

// Whether tasks can be claimed now, and when the next falls due: of one queue, or of all.
struct QueueReadiness {
    int64 items;
    int64 next_due;
};
QueueReadiness queue_readiness(const Hub& hub, std::string_view queue, int64 now, int limit);
std::optional<int64> oldest_ready_task(const Hub& hub, int64 now);

// What a reader can see change of a task.
struct TaskMark {
    std::string_view state;
    int64 epoch;
};
std::optional<TaskMark> read_task_mark(const Hub& hub, std::string_view id);

}  // namespace belay::store
