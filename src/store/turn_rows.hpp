// Rows of the tables of turns, for the files of the store that work on them.
//
// Touches  <hub>.orchestrator_queue, <hub>.instance_locks, by direct access
#pragma once

#include "core/hash.hpp"
#include "core/transitions/turn.hpp"
#include "pg/faults.hpp"
#include "store/rows/lock.hpp"
#include "store/rows/message.hpp"
#include "store/table/table.hpp"

namespace belay::store {

// The fault points that every operation on these tables passes.
inline void pass_turn_faults(pg::FaultPoint point = pg::FaultPoint::kHotTableTurn) {
    pg::fail_here(point);
    pg::pass_store_faults();
}

// ---- Keys ----

inline ScanKeys lock_keys(std::string_view instance_id) {
    ScanKeys keys;
    keys.int8(core::instance_key(instance_id)).text(instance_id);
    return keys;
}

inline ScanKeys instance_keys(std::string_view instance_id) {
    ScanKeys keys;
    keys.text(instance_id);
    return keys;
}

// ---- What the rules know of table.row ----

inline const message::Row& message_row(const Table& table) {
    return fixed_columns<message::Row>(table);
}

inline core::Message message_of(const Table& table) {
    const message::Row& row = message_row(table);
    return {.visible_at = row.visible_at,
            .lock_no = row.lock_no,
            .attempt = row.attempt_count,
            .kind = static_cast<core::MessageKind>(row.kind),
            .parked = row.parked};
}

inline core::TurnLock lock_of(const Table& table) {
    const auto& row = fixed_columns<lock::Row>(table);
    return {.lock_no = row.lock_no,
            .locked_at = row.locked_at,
            .lease = {.locked_until = row.locked_until,
                      .incarnation = row.lease_inc,
                      .nonce_hi = row.nonce_hi,
                      .nonce_lo = row.nonce_lo},
            .cache = {.owner = row.cache_owner, .event = row.cache_event}};
}

}  // namespace belay::store
