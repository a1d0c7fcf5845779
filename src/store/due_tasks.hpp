// Tasks that have fallen due, for duties and claims that settle them; retention; slots.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/table/tables.hpp"
#include "store/tasks.hpp"

namespace belay::store {

// Tasks that have fallen due, limit of them after the first offset. They are not held: the flow of
// a member comes first.
struct DueTask {
    pg_uuid_t id;
    std::optional<pg_uuid_t> flow_id;
};
std::span<const DueTask> expired_leases(Tables& tables, int64 now, int limit, int offset);
// When the first lease has to be looked at; kNever without one.
int64 next_lease_check(const Hub& hub);
std::span<const DueTask> void_leases(const Hub& hub, int limit, int offset);
std::span<const DueTask> past_deadline(Tables& tables, int64 now, int limit, int offset);
// Terminal, without a flow, and older than their queue's retention or the hub's.
std::span<const pg_uuid_t> hold_outdated(const Hub& hub, int64 now, int64 retention_ms, int limit);
// Whether a lease of an earlier incarnation is left, held by others or not.
bool has_void_leases(const Hub& hub);

// Gives every task the slot that a new slot_count asks for.
void reslot_tasks(const Hub& hub, int32 slot_count);
int64 count_live_tasks(const Hub& hub, int64 now);

}  // namespace belay::store
