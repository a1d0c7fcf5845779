// Fenced transactions: a transaction that is bound to a lease commits only while the lease is live.
#pragma once

#include "core/lease.hpp"
#include "pg/pg.hpp"
#include "pg/transactions.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// Binds the current transaction to the lease of a work item or a turn. QB001 if it is lost already.
void guard(store::Tables& tables, std::optional<std::string_view> token);

// The same for the lease of a task with that epoch.
void guard_task(store::Tables& tables, const pg_uuid_t& id, int64 epoch);

// Notes that this transaction has ended a live lease itself: its row cannot be stolen any more
// before the commit, and a guard on it passes.
void allow_ended_lease(const core::Lease& lease);
void allow_ended_task(const pg_uuid_t& id, int64 epoch);

// Checks the guards before the transaction commits.
extern const pg::Participant kGuardParticipant;

}  // namespace belay::ops
