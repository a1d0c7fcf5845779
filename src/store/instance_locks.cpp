#include "store/instance_locks.hpp"

#include "core/hash.hpp"
#include "pg/random.hpp"
#include "store/fast/turns.hpp"
#include "store/plan.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// A live lock is left alone: its holder must not wait for us.
constexpr Statement kTryHold = statement(R"sql(
    SELECT l.instance_key, l.instance_id, l.lock_no, l.locked_until, l.lease_inc, l.nonce_hi,
           l.nonce_lo
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
       AND (l.locked_until {<=} $3 OR l.lease_inc {<>} $4)
       FOR NO KEY UPDATE SKIP LOCKED
)sql",
                                         INT8OID, TEXTOID, INT8OID, INT4OID);

constexpr Statement kHold = statement(R"sql(
    SELECT l.instance_id
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
       FOR NO KEY UPDATE
)sql",
                                      INT8OID, TEXTOID);

constexpr Statement kExists = statement(R"sql(
    SELECT 1
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql",
                                        INT8OID, TEXTOID);

constexpr Statement kTryHoldTurn = statement(R"sql(
    SELECT l.instance_key, l.instance_id, l.lock_no, l.locked_until, l.lease_inc, l.nonce_hi,
           l.nonce_lo
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.lock_no {=} $2
       FOR UPDATE SKIP LOCKED
)sql",
                                             INT8OID, INT8OID);

constexpr Statement kHoldTurn = statement(R"sql(
    SELECT l.instance_key, l.instance_id, l.lock_no, l.locked_until, l.lease_inc, l.nonce_hi,
           l.nonce_lo
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.lock_no {=} $2
       FOR UPDATE
)sql",
                                          INT8OID, INT8OID);

// $1 instance key, $2 instance id, $3 locked_until, $4 now, $5 lock number, $6 incarnation, $7 and
// $8 nonce.
constexpr Statement kGrant =
    statement(R"sql(
    UPDATE {hub}.instance_locks AS l
       SET locked_until = $3, locked_at = $4, lock_no = $5, nonce_hi = $7, nonce_lo = $8,
           lease_inc = $6
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql",
              INT8OID, TEXTOID, INT8OID, INT8OID, INT8OID, INT4OID, INT8OID, INT8OID);

constexpr Statement kInsert =
    statement(R"sql(
    INSERT INTO {hub}.instance_locks
           (instance_key, locked_until, locked_at, lock_no, nonce_hi, nonce_lo, lease_inc,
            instance_id)
    VALUES ($1, $3, $4, $5, $7, $8, $6, $2)
    ON CONFLICT (instance_key, instance_id) DO NOTHING
)sql",
              INT8OID, TEXTOID, INT8OID, INT8OID, INT8OID, INT4OID, INT8OID, INT8OID);

constexpr Statement kSetDeadline = statement(R"sql(
    UPDATE {hub}.instance_locks AS l
       SET locked_until = $3
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql",
                                             INT8OID, TEXTOID, INT8OID);

constexpr Statement kRelease = statement(R"sql(
    UPDATE {hub}.instance_locks AS l
       SET locked_until = 0, lock_no = 0, nonce_hi = 0, nonce_lo = 0, lease_inc = 0
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql",
                                         INT8OID, TEXTOID);

constexpr Statement kDelete = statement(R"sql(
    DELETE FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql",
                                        INT8OID, TEXTOID);

constexpr Statement kCountLive = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.instance_locks AS l
     WHERE l.locked_until {>} $1 AND l.lease_inc {=} $2
)sql",
                                           INT8OID, INT4OID);

// $1 locked before, $2 now, $3 incarnation, $4 limit.
constexpr Statement kDeleteIdle = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT l.instance_key, l.instance_id
          FROM {hub}.instance_locks AS l
         WHERE l.locked_at {<} $1 AND NOT (l.locked_until {>} $2 AND l.lease_inc {=} $3)
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.orchestrator_queue AS m
                            WHERE m.instance_key {=} l.instance_key
                              AND m.instance_id {=} l.instance_id)
         LIMIT $4
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.instance_locks AS l
     USING c
     WHERE l.instance_key {=} c.instance_key AND l.instance_id {=} c.instance_id
)sql",
                                            INT8OID, INT8OID, INT4OID, INT8OID);

std::optional<InstanceLock> read(const Rows& rows) {
    if (rows.count == 0) {
        return std::nullopt;
    }
    return InstanceLock{.instance_key = rows.int8(0, 1),
                        .instance_id = rows.text(0, 2),
                        .lock_no = rows.int8(0, 3),
                        .lease = {.locked_until = rows.int8(0, 4),
                                  .incarnation = rows.int4(0, 5),
                                  .nonce_hi = static_cast<uint64_t>(rows.int8(0, 6)),
                                  .nonce_lo = static_cast<uint64_t>(rows.int8(0, 7))}};
}

Params key_params(std::string_view instance_id) {
    return Params().int8(core::instance_key(instance_id)).text(instance_id);
}

}  // namespace

bool try_hold_instance(const Hub& hub, std::string_view instance_id, int64 now) {
    if (const auto held = direct::try_hold_instance(hub, instance_id, now)) {
        return *held;
    }
    return run(hub, kTryHold, key_params(instance_id).int8(now).int4(hub.incarnation)).count == 1;
}

void hold_instance(const Hub& hub, std::string_view instance_id) {
    run(hub, kHold, key_params(instance_id));
}

bool has_lock_row(const Hub& hub, std::string_view instance_id) {
    return run(hub, kExists, key_params(instance_id)).count > 0;
}

std::optional<InstanceLock> try_hold_turn(const Hub& hub, const core::TurnToken& token) {
    pg::note_held(orchestrator_channel(hub));
    if (const auto held = direct::hold_turn(hub, token, LockWaitSkip)) {
        return *held;
    }
    return read(run(hub, kTryHoldTurn, Params().int8(token.instance_key).int8(token.lock_no)));
}

std::optional<InstanceLock> hold_turn(const Hub& hub, const core::TurnToken& token) {
    if (const auto held = direct::hold_turn(hub, token, LockWaitBlock)) {
        return *held;
    }
    return read(run(hub, kHoldTurn, Params().int8(token.instance_key).int8(token.lock_no)));
}

int64 next_lock_no(const Hub& hub) {
    return nextval_internal(hub.relations.instance_locks_no, false);
}

core::TurnToken grant_turn(const Hub& hub, std::string_view instance_id, int64 lock_no,
                           bool row_exists, int64 now, int64 locked_until) {
    core::TurnToken token{.instance_key = core::instance_key(instance_id),
                          .lock_no = lock_no,
                          .incarnation = hub.incarnation,
                          .nonce_hi = 0,
                          .nonce_lo = 0};
    pg::fill_random(&token.nonce_hi, sizeof token.nonce_hi);
    pg::fill_random(&token.nonce_lo, sizeof token.nonce_lo);
    if (!row_exists || !direct::try_grant(hub, instance_id, token, now, locked_until)) {
        const Rows rows = run(hub, row_exists ? kGrant : kInsert,
                              key_params(instance_id)
                                  .int8(locked_until)
                                  .int8(now)
                                  .int8(lock_no)
                                  .int4(hub.incarnation)
                                  .int8(static_cast<int64>(token.nonce_hi))
                                  .int8(static_cast<int64>(token.nonce_lo)));
        if (rows.count != 1) {
            elog(ERROR, "the lock of an instance vanished while it was held");
        }
    }
    pg::note_new_lease(orchestrator_channel(hub), lease_key_of_turn(token.instance_key),
                       locked_until);
    return token;
}

void set_turn_deadline(const Hub& hub, const InstanceLock& lock, int64 locked_until) {
    if (!direct::try_set_deadline(hub, lock, locked_until)) {
        run(hub, kSetDeadline, key_params(lock.instance_id).int8(locked_until));
    }
    pg::note_lease(orchestrator_channel(hub), lease_key_of_turn(lock.instance_key), locked_until);
}

void release_turn(const Hub& hub, const InstanceLock& lock) {
    if (!direct::try_release(hub, lock)) {
        run(hub, kRelease, key_params(lock.instance_id));
    }
    pg::note_lease_over(orchestrator_channel(hub), lease_key_of_turn(lock.instance_key));
}

void delete_turn(const Hub& hub, const InstanceLock& lock) {
    if (!direct::try_delete(hub, lock)) {
        run(hub, kDelete, key_params(lock.instance_id));
    }
    pg::note_lease_over(orchestrator_channel(hub), lease_key_of_turn(lock.instance_key));
}

int64 delete_idle_locks(const Hub& hub, int64 locked_before, int64 now, int64 limit) {
    return static_cast<int64>(
        run(hub, kDeleteIdle,
            Params().int8(locked_before).int8(now).int4(hub.incarnation).int8(limit))
            .count);
}

int64 count_live_turns(const Hub& hub, int64 now) {
    return run(hub, kCountLive, Params().int8(now).int4(hub.incarnation)).int8(0, 1);
}

}  // namespace belay::store
