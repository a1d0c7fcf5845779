// What readers ask of flows: with the caller's snapshot, without locks.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// A word that changes whenever the answer of read_flow_json does; nothing if there is no such flow.
std::optional<std::string_view> flow_revision(const Hub& hub, const pg_uuid_t& id);
// The flow, with the revision given. Null if there is none.
Jsonb* read_flow_json(const Hub& hub, const pg_uuid_t& id, std::string_view revision);
// What get_task adds for a member: its group and edges; null if it is none.
Jsonb* read_member_json(const Hub& hub, const pg_uuid_t& task);

struct FlowFilter {
    std::optional<std::span<const std::string_view>> states;
    std::optional<std::string_view> kind;
    Jsonb* tags;
    std::optional<int64> created_from;
    std::optional<int64> created_to;
};
struct FlowList {
    Listing rows;
    bool whole;  // the page is full, or there are no more; else the list stopped at 10,000
};
FlowList list_flows(const Hub& hub, const FlowFilter& filter, std::optional<pg_uuid_t> after,
                    int limit);

// With the columns of upstream_results.
Listing upstream_results(const Hub& hub, const pg_uuid_t& task);

// What the claim of these members returns of the tasks before them, those of a member together:
// member, upstream, its key, pass_as, state, result. As the claim sees it.
using UpstreamRows =
    Out<pg_uuid_t, pg_uuid_t, Maybe<Text>, Maybe<Text>, Text, Maybe<Unread<Jsonb*>>>;
UpstreamRows upstream_of_claim(const Hub& hub, std::span<const pg_uuid_t> tasks);

// The upstreams that a blocked task waits for, as JSON: [{"task_id":…, "state":…}]; null if none.
struct Hindrances {
    const char* waiting;  // not ended
    const char* ended;    // have to be replayed
};
Hindrances hindrances(const Hub& hub, const pg_uuid_t& task);

// What is wrong with flows: object and problem.
using ProblemRows = Out<Text, Text>;
ProblemRows check_flows(const Hub& hub, std::optional<pg_uuid_t> flow);

}  // namespace belay::store
