// Tables edges and groups. A caller that writes here holds the flow's row.
#pragma once

#include "core/flow.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

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

}  // namespace belay::store
