// The lease of a token as it stands in its row, for the end of a transaction.
//
// Rows are read and held by direct access: nothing of this depends on the transaction's snapshot or
// isolation level, no code of the hub's owner runs, and no statement is planned while a transaction
// commits.
#pragma once

#include "core/lease.hpp"
#include "core/token.hpp"
#include "pg/pg.hpp"
#include "store/table/tables.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

// Whether a row is only looked at, or kept from others until the transaction ends.
enum class Hold { kLook, kKeep };

// Takes the locks on the tables that leases are in, in the order of ops/enter.
void lock_lease_tables(const Hub& hub, bool work, bool turns, bool tasks);

// The lease of the row under that key, as of the latest commit and this transaction's own changes.
// No value if there is no such row. To keep it the tables have to be locked before.
std::optional<core::Lease> latest_lease(Tables& tables, const WorkKey& key, Hold hold);
std::optional<core::Lease> latest_lease(Tables& tables, const core::TurnToken& token, Hold hold);
// Of a task the epoch stands in nonce_lo, and there is no incarnation.
std::optional<core::Lease> latest_lease(Tables& tables, const pg_uuid_t& task_id, Hold hold);

}  // namespace belay::store
