// Rows of table worker_queue, for the files of the store that work on them.
//
// Touches  <hub>.worker_queue, by direct access
#pragma once

#include "core/transitions/work.hpp"
#include "pg/faults.hpp"
#include "store/rows/work.hpp"
#include "store/table/table.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

// The fault points that every operation on the table passes.
inline void pass_work_faults(pg::FaultPoint point) {
    pg::fail_here(point);
    pg::pass_store_faults();
}

inline const work::Row& work_row(const Table& table) {
    return fixed_columns<work::Row>(table);
}

inline WorkKey key_of_row(const Table& table) {
    const work::Row& row = work_row(table);
    return {.lane = row.lane, .slot = row.slot, .due = row.due, .id = row.id};
}

// What the rules know of table.row.
inline core::WorkState state_of(const Table& table) {
    const work::Row& row = work_row(table);
    return {.due = row.due,
            .lease = {.locked_until = row.locked_until,
                      .incarnation = row.lease_inc,
                      .nonce_hi = row.nonce_hi,
                      .nonce_lo = row.nonce_lo},
            .attempt = row.attempt_count};
}

// When table.row may be taken, in ms.
inline int64 free_time(const Table& table) {
    return core::free_at(state_of(table), table.hub.incarnation);
}

inline Candidate candidate_of(const Table& table) {
    return {.key = key_of_row(table),
            .row = table.row->tts_tid,
            .session_id = get(table, work::kSessionId),
            .tag = get(table, work::kTag)};
}

// The cursor of the part of the queue that a row lies in, and its place there.
cursors::CursorKey cursor_of(const Hub& hub, int32 lane, int16 slot, bool delayed);
inline cursors::CursorKey cursor_of(const Hub& hub, const WorkKey& key) {
    return cursor_of(hub, key.lane, key.slot, key.due != 0);
}
inline cursors::Place place_of(const WorkKey& key) {
    return {key.due, key.id};
}

// Whether a row with that key is visible; it is in table.row then. What the cursors remember of
// its place saves the way through the index.
bool find_work(Table* table, const WorkKey& key);
// The same if it lies where a cursor remembers it; false means nothing.
bool find_work_at(const Table& table, const cursors::RowHint& hint, const WorkKey& key);

// Leases table.row, unless another transaction has it.
std::optional<Leased> lease_row(Table* table, const Grant& grant);

// Reports a row that was leased to sessions that wait, and to its cursor. Returns whether the
// cursor may pass it.
bool publish_grant(const Hub& hub, const Leased& leased, const Grant& grant);

}  // namespace belay::store
