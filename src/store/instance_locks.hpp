// Table instance_locks: one row per instance that has had a turn, released or not.
#pragma once

#include "core/lease.hpp"
#include "core/token.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

struct InstanceLock {
    int64 instance_key;
    std::string_view instance_id;
    int64 lock_no;
    core::Lease lease;
};

// Holds the lock row of an instance if it exists, is not live, and nobody else holds it.
bool try_hold_instance(const Hub& hub, std::string_view instance_id, int64 now);

// Holds the lock row of an instance, live or not, if it has one; waits for it.
void hold_instance(const Hub& hub, std::string_view instance_id);

// Whether the instance has a lock row, held by somebody or not.
bool has_lock_row(const Hub& hub, std::string_view instance_id);

// Holds the lock row that a token names: at once if nobody has it, else after waiting. The token's
// secret is not compared here.
std::optional<InstanceLock> try_hold_turn(const Hub& hub, const core::TurnToken& token);
std::optional<InstanceLock> hold_turn(const Hub& hub, const core::TurnToken& token);

// A number for the next lock; it ties messages to it.
int64 next_lock_no(const Hub& hub);

// Grants the lock: updates the row that is held, or inserts one.
core::TurnToken grant_turn(const Hub& hub, std::string_view instance_id, int64 lock_no,
                           bool row_exists, int64 now, int64 locked_until);

void set_turn_deadline(const Hub& hub, const InstanceLock& lock, int64 locked_until);

// Gives the lock back; the row stays for the next turn.
void release_turn(const Hub& hub, const InstanceLock& lock);

// Gives the lock back and removes the row.
void delete_turn(const Hub& hub, const InstanceLock& lock);

// Deletes up to limit rows that have no lease and whose instance has no messages, last used before
// an instant; returns how many.
int64 delete_idle_locks(const Hub& hub, int64 locked_before, int64 now, int64 limit);

// How many turns are live.
int64 count_live_turns(const Hub& hub, int64 now);

}  // namespace belay::store
