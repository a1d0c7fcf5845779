// Tables flows, edges, groups, cascade_queue, cancel_backlog and cancel_backlog_members.
//
// Whoever writes here holds the flow's row. The counts of a flow are changed in memory and written
// back once, by write_flow.
#pragma once

#include "core/flow.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"
#include "store/tasks.hpp"

namespace belay::store {

// ---- Flows ----

struct Flow {
    pg_uuid_t id;
    core::FlowState state;
    bool sealed;
    bool fail_fast;  // its policy
    bool struck;     // by it
    int64 revision;
    int64 members;
    int64 open_members;
    int64 bad_sinks;
    int64 edges;
    std::optional<int64> terminal_at;
    std::optional<core::CancelPolicy> cancellation_policy;
    std::optional<std::string_view> cancel_reason;
    std::optional<std::string_view> cancelled_by;

    bool is_terminal() const { return core::is_terminal(state); }
    // Whether a member that loses its lease goes back to the queue.
    bool takes_back() const {
        return !struck && cancellation_policy != core::CancelPolicy::kPending;
    }
};

// Holds the flow until the transaction ends: after waiting; if nobody has it; against deletion too.
std::optional<Flow> lock_flow(const Hub& hub, const pg_uuid_t& id);
std::optional<Flow> try_lock_flow(const Hub& hub, const pg_uuid_t& id);
std::optional<Flow> lock_flow_to_delete(const Hub& hub, const pg_uuid_t& id);
// As it is now: of a flow that this transaction holds, or for a look.
std::optional<Flow> read_flow(const Hub& hub, const pg_uuid_t& id);

// Inserts the flow. False if the id is taken; waits for whoever is taking it.
bool insert_flow(const Hub& hub, const Flow& flow, std::string_view kind, Jsonb* tags, int64 now);
void write_flow(const Hub& hub, const Flow& flow, int64 now);

// Deletes the flow with members, attempts, edges, groups and whatever else names it.
void delete_flow(const Hub& hub, const pg_uuid_t& id);

// Up to limit flows that ended long ago, all members too, and that owe nobody an answer; held.
std::span<const pg_uuid_t> hold_outdated_flows(const Hub& hub, int64 now, int64 retention_ms,
                                               int limit);

// ---- Edges ----

struct NewEdge {
    pg_uuid_t upstream;
    pg_uuid_t downstream;
    std::optional<std::string_view> pass_as;
    core::EdgeState state;
};
void insert_edges(const Hub& hub, const pg_uuid_t& flow, std::span<const NewEdge> edges, int64 now);

bool edge_exists(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& upstream,
                 const pg_uuid_t& downstream);
// Whether one task can be reached from another along edges.
bool is_reachable(const Hub& hub, const pg_uuid_t& from, const pg_uuid_t& to);
bool is_sink(const Hub& hub, const pg_uuid_t& task);
// How many of these tasks are sinks.
int64 count_sinks(const Hub& hub, std::span<const pg_uuid_t> tasks);

// Resolves up to limit edges that leave these tasks. Returns their downstreams, one for each edge.
std::span<const pg_uuid_t> resolve_edges(const Hub& hub, std::span<const pg_uuid_t> upstreams,
                                         core::EdgeState state, int64 now, int64 limit);
// Those of the tasks with edges that are still to be resolved.
std::span<const pg_uuid_t> with_unresolved_edges(const Hub& hub,
                                                 std::span<const pg_uuid_t> upstreams);

// Takes back what the end of a task said of the edges that leave it: impossible ones can still be
// satisfied. Returns their downstreams.
std::span<const pg_uuid_t> reset_outgoing(const Hub& hub, const pg_uuid_t& upstream);
// The same for the edges into a task; one whose upstream is completed by now is satisfied.
void reset_inbound(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& downstream, int64 now);
// The upstreams of unsatisfied edges into the task that have ended.
std::span<const pg_uuid_t> ended_upstreams(const Hub& hub, const pg_uuid_t& flow,
                                           const pg_uuid_t& downstream);

// ---- Groups ----

struct Group {
    pg_uuid_t downstream;
    core::Join join;
    core::GroupCounts counts;
    core::GroupState state;
    bool held;                // its task is
    core::TaskState waiting;  // the state of its task
};
void insert_groups(const Hub& hub, const pg_uuid_t& flow, std::span<const Group> groups, int64 now);
std::optional<Group> read_group(const Hub& hub, const pg_uuid_t& downstream);
void write_group(const Hub& hub, const Group& group, int64 now);

// Counts ends of upstreams: so many for each group. Returns the groups afterwards.
std::span<const Group> count_ends(const Hub& hub, core::TaskState end,
                                  std::span<const pg_uuid_t> downstreams,
                                  std::span<const int32> ends);
// Counts these groups anew, from their edges.
std::span<const Group> recount_groups(const Hub& hub, std::span<const pg_uuid_t> downstreams);
void set_group_states(const Hub& hub, std::span<const pg_uuid_t> downstreams,
                      core::GroupState state, int64 now);
// The groups of a flow that are open.
std::span<const Group> open_groups(const Hub& hub, const pg_uuid_t& flow);

// The upstreams of these groups that have not ended, and that no open group needs.
std::span<const pg_uuid_t> idle_upstreams(const Hub& hub, const pg_uuid_t& flow,
                                          std::span<const pg_uuid_t> downstreams);
// Whether an open group needs the task.
bool is_needed(const Hub& hub, const pg_uuid_t& task);

// ---- What is left to duties ----

enum class Left : int { kDispatch, kSiblingCancel, kFailFast };
void leave_to_duty(const Hub& hub, const pg_uuid_t& flow, Left what,
                   std::span<const pg_uuid_t> tasks, int64 now);
void drop_left(const Hub& hub, const pg_uuid_t& flow);

struct LeftOver {
    pg_uuid_t flow;
    pg_uuid_t task;
    Left what;
};
// The oldest of the queue: of dispatch, or of the others.
std::span<const LeftOver> oldest_left(const Hub& hub, bool dispatch, int limit);
void delete_left(const Hub& hub, const LeftOver& left);
// Whatever is left to do about a task.
void delete_left_of_task(const Hub& hub, const pg_uuid_t& task);

// ---- The backlog of a cancelled flow ----

struct Backlog {
    std::string_view requester;
    std::string_view reason;
    core::CancelPolicy policy;
    int64 grace_until;
};
// The header, and a row for each of the tasks, which were active.
void write_backlog(const Hub& hub, const pg_uuid_t& flow, const Backlog& backlog,
                   std::span<const Task> tasks, int64 now);
// Holds the header. False if there is none.
bool lock_backlog(const Hub& hub, const pg_uuid_t& flow);
void delete_backlog_member(const Hub& hub, const pg_uuid_t& flow, const pg_uuid_t& task);
void delete_empty_backlog(const Hub& hub, const pg_uuid_t& flow);
// Flows whose grace is over; their headers are held.
std::span<const pg_uuid_t> hold_overdue_backlogs(const Hub& hub, int64 now, int limit);
// Deletes up to limit members. Returns how many.
int64 delete_backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit);
// Ids of members that owe an answer, at most limit, and how many there are.
struct SomeIds {
    std::span<const pg_uuid_t> ids;
    int64 count;
};
SomeIds backlog_members(const Hub& hub, const pg_uuid_t& flow, int limit);

}  // namespace belay::store
