// Table flows.
//
// A caller that writes here holds the flow's row. The counts of a flow are changed in memory and
// written back once, by write_flow.
#pragma once

#include "core/flow.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

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

// Holds the flow until the transaction ends: after waiting; only if it is free; in order to delete
// it.
std::optional<Flow> lock_flow(const Hub& hub, const pg_uuid_t& id);
std::optional<Flow> try_lock_flow(const Hub& hub, const pg_uuid_t& id);
std::optional<Flow> lock_flow_to_delete(const Hub& hub, const pg_uuid_t& id);
// As it is now: of a flow that this transaction holds, or for a look.
std::optional<Flow> read_flow(const Hub& hub, const pg_uuid_t& id);

// Inserts the flow. False if the id is taken; waits for a call that is taking it.
bool insert_flow(const Hub& hub, const Flow& flow, std::string_view kind, Jsonb* tags, int64 now);
void write_flow(const Hub& hub, const Flow& flow, int64 now);

// Deletes the flow with members, attempts, edges, groups and all other rows that refer to it.
void delete_flow(const Hub& hub, const pg_uuid_t& id);

// Up to limit flows that ended long ago, with all members, and of which no cancellation is still to
// be acknowledged; held.
std::span<const pg_uuid_t> hold_outdated_flows(const Hub& hub, int64 now, int64 retention_ms,
                                               int limit);

}  // namespace belay::store
