// Flows: graphs of tasks.
//
// Every call that changes a flow, or a member other than by claim, renewal, progress or priority,
// holds the flow's row first. What the end of a member means for others is worked out at once,
// level by level, up to the hub option fanout_bound; the rest is left to duties.
#pragma once

#include "core/flow.hpp"
#include "ops/input.hpp"
#include "ops/task/task.hpp"
#include "pg/clock.hpp"
#include "pg/list.hpp"
#include "pg/pg.hpp"
#include "store/cancel_backlog.hpp"
#include "store/cascade_queue.hpp"
#include "store/edges.hpp"
#include "store/flows.hpp"
#include "store/outbox.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// Who cancels a member without being asked, and why.
inline constexpr std::string_view kEngine = "engine";
inline constexpr std::string_view kFailFastReason = "flow_fail_fast";
inline constexpr std::string_view kSiblingReason = "sibling_quorum_satisfied";

// ---- Members ----

// Holds the flow; QB002 if there is none, QB007 for a clock that is off.
store::Flow hold_flow(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock);
// The flow, which this transaction holds.
store::Flow held_flow(store::Tables& tables, const pg_uuid_t& id);

// A member has ended: resolves the edges that leave it, unless it ended silently, counts, and ends
// the flow if it was the last.
void member_ended(store::Tables& tables, const store::Task& task, core::TaskState state,
                  EndKind kind, int64 now);

ReplayedTask replay_member(store::Tables& tables, const store::Task& task, bool cascade, int64 now);

// The details of its end: how many members are in each state.
store::Details count_details(store::Tables& tables, const pg_uuid_t& flow);

// ---- Cascades ----

// What one end after the other means for a flow that is held. The flow is changed in memory;
// finish() writes it.
class Cascade {
 public:
    // A flow that fails fast is struck when it has more bad sinks than those known.
    Cascade(store::Tables& tables, store::Flow* flow, int64 known_bad, int64 budget, int64 now);

    // Edges that leave the task are to be resolved by its end.
    void add_end(const pg_uuid_t& task, core::TaskState end);
    // Groups whose counts have changed, or whose flow was sealed: closes what is decided.
    void judge(std::span<const store::Group> groups);
    // Resolves edges until nothing is left or the budget is used up.
    void run();
    bool has_budget() const { return budget_ > 0; }
    // Cancels held members, with their events; their edges are left as they are.
    void cancel(std::span<const store::Task> tasks, std::string_view reason, std::string_view by);
    // Ends the flow if it is to end, and writes it.
    void finish();

 private:
    struct End {
        pg_uuid_t task;
        core::TaskState state;
    };

    void resolve(std::span<const pg_uuid_t> upstreams, core::TaskState end);
    void skip(std::span<const pg_uuid_t> tasks);
    void cancel_siblings(std::span<const pg_uuid_t> satisfied);
    void leave_rest();
    void strike();
    void end_flow(core::FlowState state);

    store::Tables& tables_;
    store::Flow* flow_;
    int64 known_bad_;
    int64 budget_;
    int64 now_;
    pg::List<End> ends_;
    int next_ = 0;
};

// Deletes flows that ended long ago, a portion of them.
int64 retire_flows(store::Tables& tables, pg::Clock* clock);

// ---- Clients ----

struct CreatedFlow {
    store::Flow flow;
    bool created;
    const char* task_ids;  // JSON: key to id
};
CreatedFlow create_flow(store::Tables& tables, Jsonb* flow, pg::Clock* clock);

struct AddedTask {
    bool added;  // else it was a member already
    pg_uuid_t id;
    core::TaskState state;
    int64 revision;
    int64 members;
};
AddedTask add_task_to_flow(store::Tables& tables, const pg_uuid_t& flow, Jsonb* task,
                           std::optional<int64> expected_revision, pg::Clock* clock);

struct AddedEdge {
    core::EdgeState edge;
    core::TaskState downstream;
    int32 unsatisfied;
    int64 revision;
};
AddedEdge add_edge(store::Tables& tables, const pg_uuid_t& flow, const pg_uuid_t& upstream,
                   const pg_uuid_t& downstream, std::optional<std::string_view> pass_as,
                   std::optional<int64> expected_revision, pg::Clock* clock);

struct JoinResult {
    bool set;  // else it was so already
    int64 revision;
};
JoinResult set_join(store::Tables& tables, const pg_uuid_t& flow, const pg_uuid_t& task,
                    Jsonb* join, std::optional<int64> expected_revision);

struct SealedFlow {
    core::FlowState state;
    int64 revision;
};
SealedFlow seal_flow(store::Tables& tables, const pg_uuid_t& flow,
                     std::optional<int64> expected_revision, pg::Clock* clock);

// ---- Operators, and workers whose flow was cancelled ----

struct CancelFlowRequest {
    std::string_view reason;
    core::CancelPolicy policy;
    int64 grace_ms;
    std::string_view requester;
};
struct CancelledFlow {
    bool cancelled;  // else it had ended already
    std::optional<core::CancelPolicy> policy;
    std::optional<std::string_view> reason;
    int64 member_count;
    std::span<const pg_uuid_t> members;
};
CancelledFlow cancel_flow(store::Tables& tables, const pg_uuid_t& id,
                          const CancelFlowRequest& request, pg::Clock* clock);
// QB001 already_completed if the member owes no confirmation, QB002 if it is none of the flow's.
void ack_cancel_member(store::Tables& tables, const pg_uuid_t& flow, const pg_uuid_t& task);

// True if there was such a flow. QB003 if it, or a member, has not ended.
bool delete_flow(store::Tables& tables, const pg_uuid_t& id);

// ---- Reads ----

Jsonb* get_flow(store::Tables& tables, const pg_uuid_t& id,
                std::optional<std::string_view> revision);
store::Listing list_flows(store::Tables& tables, core::json::Value filter,
                          std::optional<pg_uuid_t> after, int limit);
store::Listing upstream_results(store::Tables& tables, const pg_uuid_t& task);

[[noreturn]] void raise_no_flow(const pg_uuid_t& id);

}  // namespace belay::ops
