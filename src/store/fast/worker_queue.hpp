// The statements of the worker queue that are hot, without SQL: the same results, row states and
// locks. Each takes the opened heap of open_for_direct_access and closes it.
#pragma once

#include "pg/claim_cursors.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

// The cursor of the part of the queue that a row lies in, and its place there.
pg::CursorKey cursor_of(const Hub& hub, int32 lane, int16 slot, bool delayed);
inline pg::CursorKey cursor_of(const Hub& hub, const WorkKey& key) {
    return cursor_of(hub, key.lane, key.slot, key.due != 0);
}
inline pg::Place place_of(const WorkKey& key) {
    return {key.due, key.id};
}

pg::RowHint insert_directly(const Hub& hub, Relation heap, const WorkKey& key, const NewWork& work);
// hints[i] becomes the place of works[i].
void insert_many_directly(const Hub& hub, Relation heap, std::span<const WorkKey> keys,
                          std::span<const NewWork> works, pg::RowHint* hints);

LeasedRows take_heads_directly(const Hub& hub, Relation heap, int32 lane, int16 slot,
                               std::optional<std::string_view> tag, bool with_sessions,
                               const LeaseTerms& terms, int limit);
std::span<const int32> lanes_to_fetch_directly(const Hub& hub, Relation heap, int32 after,
                                               int32 up_to, bool with_sessions, int limit);
Candidates peek_lanes_directly(const Hub& hub, Relation heap, std::span<const int32> lanes,
                               std::span<const int16> slots, const pg::Clock& clock);
Candidates peek_lane_directly(const Hub& hub, Relation heap, int32 lane,
                              std::span<const int16> slots, bool delayed, int64 after_due,
                              int64 after_id, const pg::Clock& clock, int limit);
std::optional<Leased> take_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                    const Grant& grant);
std::optional<int32> try_hold_free_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                            int64 now);

std::optional<WorkRow> delete_live_directly(const Hub& hub, Relation heap,
                                            const core::WorkToken& token, int64 now);
// The row as it was, and where it lies now.
struct Renewed {
    WorkRow row;
    int64 locked_until;
    pg::RowHint hint;
};
std::optional<Renewed> renew_live_directly(const Hub& hub, Relation heap,
                                           const core::WorkToken& token, int64 now,
                                           const core::Extension& extension);
std::optional<WorkRow> lock_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                     LockWaitPolicy policy);
bool seems_free_directly(const Hub& hub, Relation heap, const WorkKey& key);
bool exists_directly(const Hub& hub, Relation heap, const WorkKey& key);

// These three are for rows that this transaction has locked.
void delete_directly(const Hub& hub, Relation heap, const WorkKey& key);
pg::RowHint set_deadline_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                  int64 locked_until);
void release_directly(const Hub& hub, Relation heap, const WorkKey& key, int32 attempt,
                      std::optional<int64> visible_at);

// Looks for rows that the hub's cursors have lost: an owner can change his tables by hand. Looks at
// cursors that were not looked at for so long; returns how many were put back.
int64 repair_cursors(const Hub& hub, int64 age_ms);

}  // namespace belay::store
