// Rows of table instance_locks: hold, grant, renew, release and delete the lock of an instance.
//
// Touches  <hub>.instance_locks; to read, <hub>.orchestrator_queue
// Locks    lock rows, without waiting unless a function says so
// Must not decide what a lock means: core/transitions/turn.hpp does
#include "store/instance_locks.hpp"

#include "pg/random.hpp"
#include "pg/sequence.hpp"
#include "store/readiness.hpp"
#include "store/statements.hpp"
#include "store/turn_rows.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr auto kNamed = statement<In<int64>, Out<Text, int64>>(R"sql(
    SELECT l.instance_id, l.locked_until
      FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1
     LIMIT 2
)sql");

constexpr auto kCountLive = statement<In<int64, int32>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.instance_locks AS l
     WHERE l.locked_until {>} $1 AND l.lease_inc {=} $2
)sql");

// $1 locked before, $2 now, $3 incarnation, $4 limit.
constexpr auto kDeleteIdle = statement<In<int64, int64, int32, int64>, Out<>>(R"sql(
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
)sql");

[[noreturn]] void raise_vanished() {
    elog(ERROR, "the lock of an instance vanished while it was held");
    pg_unreachable();
}

// Finds a row that this transaction holds.
void find_held(const Table& table, const ItemPointerData& row) {
    if (!find_at(table, row)) {
        raise_vanished();
    }
}

// A version of table.row in that state.
HeapTuple version_of(const Table& table, const core::TurnLock& state) {
    HeapTuple version = copy_row(table);
    auto* row = fixed_columns<lock::Row>(version);
    row->locked_until = state.lease.locked_until;
    row->locked_at = state.locked_at;
    row->lock_no = state.lock_no;
    row->nonce_hi = state.lease.nonce_hi;
    row->nonce_lo = state.lease.nonce_lo;
    row->cache_owner = state.cache.owner;
    row->cache_event = state.cache.event;
    row->lease_inc = state.lease.incarnation;
    return version;
}

// Changes a row that this transaction holds; after(state) says what it becomes.
template <typename After>
void change_lock(Tables& tables, const ItemPointerData& place, After after) {
    pass_turn_faults();
    writing(tables, TableId::kInstanceLocks, [&](Table& table) {
        find_held(table, place);
        change_held_row(&table, version_of(table, after(lock_of(table))));
    });
}

// No other session inserts it: the caller has the key of the instance.
void insert_lock(Tables& tables, std::string_view instance_id, const core::TurnLock& state) {
    pass_turn_faults();
    NewRow row;
    row.put(lock::kInstanceKey, core::instance_key(instance_id))
        .put(lock::kLockedUntil, state.lease.locked_until)
        .put(lock::kLockedAt, state.locked_at)
        .put(lock::kLockNo, state.lock_no)
        .put(lock::kNonceHi, static_cast<int64>(state.lease.nonce_hi))
        .put(lock::kNonceLo, static_cast<int64>(state.lease.nonce_lo))
        .put(lock::kCacheOwner, state.cache.owner)
        .put(lock::kCacheEvent, state.cache.event)
        .put(lock::kLeaseInc, state.lease.incarnation)
        .put(lock::kInstanceId, instance_id);
    with_table(tables, TableId::kInstanceLocks, RowExclusiveLock,
               [&row](Table& table) { (void)insert_row(&table, &row); });
}

void wake_after_turn(const Hub& hub, const InstanceLock& lock) {
    wakeups::lease_ended(orchestrator_channel(hub), lease_key_of_turn(lock.instance_key));
}

}  // namespace

std::optional<HeldLock> try_hold_instance(Tables& tables, std::string_view instance_id,
                                          const std::optional<ItemPointerData>& seen, int64 now) {
    pass_turn_faults();
    return with_table(
        tables, TableId::kInstanceLocks, RowExclusiveLock,
        [&](Table& table) -> std::optional<HeldLock> {
            const auto find = [&] {
                return (seen && find_at(table, *seen) &&
                        text_is(table, lock::kInstanceId, instance_id)) ||
                       find_one(&table, kByKey, lock_keys(instance_id));
            };
            const bool held = lock_found(&table, LockTupleNoKeyExclusive, LockWaitSkip, [&] {
                return find() && core::is_free(lock_of(table), table.hub.incarnation, now);
            });
            return held ? std::optional(HeldLock{lock_of(table).cache, table.row->tts_tid})
                        : std::nullopt;
        });
}

void extend_instance(Tables& tables, std::string_view instance_id,
                     std::optional<int64> first_event) {
    pass_turn_faults();
    with_table(tables, TableId::kInstanceLocks, RowExclusiveLock, [&](Table& table) {
        (void)change_found(
            &table, [&] { return find_one(&table, kByKey, lock_keys(instance_id)); },
            [&]() -> NewVersion {
                const core::TurnLock before = lock_of(table);
                return {
                    version_of(table, first_event ? core::extended(before, *first_event) : before),
                    false};
            });
    });
}

bool has_lock_row(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return looking(tables, TableId::kInstanceLocks,
                   [&](Table& table) { return find_one(&table, kByKey, lock_keys(instance_id)); });
}

std::optional<InstanceLock> hold_turn(Tables& tables, const core::TurnToken& token,
                                      pg::Clock* clock) {
    pass_turn_faults();
    wakeups::held(orchestrator_channel(tables));
    return with_table(
        tables, TableId::kInstanceLocks, RowExclusiveLock,
        [&](Table& table) -> std::optional<InstanceLock> {
            const auto find = [&] {
                IndexScanDesc scan =
                    begin_scan(&table, kByKey, ScanKeys().int8(token.instance_key));
                bool found = false;
                while (!found && next_row(table, scan)) {
                    found = lock_of(table).lock_no == token.lock_no;
                }
                index_endscan(scan);
                return found;
            };
            if (!lock_waiting(&table, LockTupleExclusive, find, [=] { clock->mark_waited(); })) {
                return std::nullopt;
            }
            const core::TurnLock state = lock_of(table);
            return InstanceLock{.instance_key = token.instance_key,
                                .instance_id = get(table, lock::kInstanceId),
                                .lock_no = state.lock_no,
                                .lease = state.lease,
                                .cache = state.cache,
                                .row = table.row->tts_tid};
        });
}

int64 next_lock_no(const Hub& hub) {
    return nextval_internal(hub.relations.instance_locks_no, false);
}

core::TurnToken grant_turn(Tables& tables, std::string_view instance_id, int64 lock_no,
                           const std::optional<HeldLock>& held, int64 now, int64 locked_until) {
    core::TurnToken token{.instance_key = core::instance_key(instance_id),
                          .lock_no = lock_no,
                          .incarnation = tables.hub.incarnation,
                          .nonce_hi = 0,
                          .nonce_lo = 0};
    pg::fill_random(&token.nonce_hi, sizeof token.nonce_hi);
    pg::fill_random(&token.nonce_lo, sizeof token.nonce_lo);
    const auto after = [&token, now, locked_until](const core::TurnLock& before) {
        return core::granted(before, token, now, locked_until);
    };
    if (held) {
        change_lock(tables, held->row, after);
    } else {
        insert_lock(tables, instance_id, after(core::TurnLock{}));
    }
    wakeups::lease_granted(orchestrator_channel(tables), lease_key_of_turn(token.instance_key),
                           locked_until);
    return token;
}

void set_turn_deadline(Tables& tables, const InstanceLock& lock, int64 locked_until) {
    change_lock(tables, lock.row, [locked_until](const core::TurnLock& state) {
        return core::renewed(state, locked_until);
    });
    wakeups::lease_moved(orchestrator_channel(tables), lease_key_of_turn(lock.instance_key),
                         locked_until);
}

void release_turn(Tables& tables, const InstanceLock& lock) {
    change_lock(tables, lock.row,
                [](const core::TurnLock& state) { return core::released(state); });
    wake_after_turn(tables, lock);
}

void ack_turn(Tables& tables, const InstanceLock& lock, const core::CacheHint& cache) {
    change_lock(tables, lock.row,
                [&cache](const core::TurnLock& state) { return core::acked(state, cache); });
    wake_after_turn(tables, lock);
}

void note_turn(Tables& tables, const InstanceLock& lock, int64 now, const core::CacheHint& cache) {
    change_lock(tables, lock.row, [now, &cache](const core::TurnLock& state) {
        return core::acked_at_once(state, now, cache);
    });
}

void delete_turn(Tables& tables, const InstanceLock& lock) {
    pass_turn_faults();
    writing(tables, TableId::kInstanceLocks, [&](Table& table) {
        find_held(table, lock.row);
        if (!delete_row(table, true)) {
            raise_vanished();
        }
    });
    wake_after_turn(tables, lock);
}

int64 last_lock_no(const Hub& hub) {
    return pg::last_number(hub.relations.instance_locks_no);
}

std::optional<NamedLock> find_named(const Hub& hub, int64 instance_key) {
    const auto locks = run(hub, kNamed, instance_key);
    return locks.count == 1 ? locks.first<NamedLock>() : std::nullopt;
}

int64 delete_idle_locks(const Hub& hub, int64 locked_before, int64 now, int64 limit) {
    return run(hub, kDeleteIdle, locked_before, now, hub.incarnation, limit).changed();
}

int64 count_live_turns(const Hub& hub, int64 now) {
    return run_for_one(hub, kCountLive, now, hub.incarnation);
}

}  // namespace belay::store
