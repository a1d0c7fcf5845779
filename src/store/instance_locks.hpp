// Table instance_locks: one row per instance that has had a turn, released or not.
#pragma once

#include "core/token.hpp"
#include "core/transitions/turn.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

struct InstanceLock {
    int64 instance_key;
    std::string_view instance_id;
    int64 lock_no;
    core::Lease lease;
    core::CacheHint cache;
    ItemPointerData row;  // where it lies: a row that is held stays there
};

// Holds the lock row of an instance if it exists, is not live, and no other transaction holds it.
// It is looked for where it was seen, if it was, and else by its key.
struct HeldLock {
    core::CacheHint cache;
    ItemPointerData row;
};
std::optional<HeldLock> try_hold_instance(Tables& tables, std::string_view instance_id,
                                          const std::optional<ItemPointerData>& seen, int64 now);

// Holds the lock row of an instance, live or not, if it has one, for a call that adds events to the
// history, this one the first; waits for it.
void extend_instance(Tables& tables, std::string_view instance_id,
                     std::optional<int64> first_event);

// Whether the instance has a lock row, held or not.
bool has_lock_row(Tables& tables, std::string_view instance_id);

// Holds the lock row that a token names, and waits for its holder: the clock is informed then. The
// token's secret is not compared here.
std::optional<InstanceLock> hold_turn(Tables& tables, const core::TurnToken& token,
                                      pg::Clock* clock);

// A number for the next lock; it ties messages to it.
int64 next_lock_no(const Hub& hub);

// Grants the lock: updates the row that is held, or inserts one if there is none.
core::TurnToken grant_turn(Tables& tables, std::string_view instance_id, int64 lock_no,
                           const std::optional<HeldLock>& held, int64 now, int64 locked_until);

// These change a row that is held; only one of them may be called.
void set_turn_deadline(Tables& tables, const InstanceLock& lock, int64 locked_until);
// Gives the lock back; the row stays for the next turn.
void release_turn(Tables& tables, const InstanceLock& lock);
// The same for a turn that is committed, and what its process has cached of the instance.
void ack_turn(Tables& tables, const InstanceLock& lock, const core::CacheHint& cache);
// A turn without a lease that is committed, and what its process has cached of the instance.
void note_turn(Tables& tables, const InstanceLock& lock, int64 now, const core::CacheHint& cache);
// Gives the lock back and removes the row.
void delete_turn(Tables& tables, const InstanceLock& lock);

// ---- By SQL ----

// The last number that next_lock_no has given, 0 if none.
int64 last_lock_no(const Hub& hub);

// What is known of the lock row with this key. None if there is no such row, or if several
// instances share the key.
struct NamedLock {
    std::string_view instance_id;
    int64 locked_until;
};
std::optional<NamedLock> find_named(const Hub& hub, int64 instance_key);

// Deletes up to limit rows that have no lease and whose instance has no messages, last used before
// an instant; returns how many.
int64 delete_idle_locks(const Hub& hub, int64 locked_before, int64 now, int64 limit);

// How many turns are live.
int64 count_live_turns(const Hub& hub, int64 now);

}  // namespace belay::store
