// Rows of table worker_queue: insert, lease, hold, renew, release, delete.
//
// Touches  <hub>.worker_queue, <hub>.dead_letters
// Locks    worker rows, without waiting unless a function says so
// Must not decide what a lease means: core/transitions/work.hpp does
#include "store/worker_queue.hpp"

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "pg/random.hpp"
#include "pg/row_holder.hpp"
#include "pg/sequence.hpp"
#include "shmem/counters.hpp"
#include "store/dead_letters.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"
#include "store/work_rows.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- new rows

WorkKey new_key(const Hub& hub, const NewWork& work) {
    const int64 id = nextval_internal(hub.relations.worker_queue_id, false);
    const auto slot_count = static_cast<int32>(hub.options[Option::kSlotCount]);
    return {.lane = core::lane_of(work.tag.has_value(), work.tag.value_or(""),
                                  work.session_id.has_value()),
            .slot = work_slot(slot_count, work.instance_id, work.session_id, id),
            .due = work.delayed ? core::delayed_due(work.visible_at) : 0,
            .id = id};
}

void fill_row(const WorkKey& key, const NewWork& work, NewRow* row) {
    row->put(work::kLane, key.lane)
        .put(work::kSlot, key.slot)
        .put(work::kDue, key.due)
        .put(work::kId, key.id)
        .timestamp(work::kVisibleAt, work.visible_at)
        .timestamp(work::kCreatedAt, work.created_at)
        .put(work::kLockedUntil, 0)
        .put(work::kNonceHi, 0)
        .put(work::kNonceLo, 0)
        .put(work::kLeaseInc, 0)
        .put(work::kAttemptCount, 0)
        .put(work::kExecutionId, work.execution_id)
        .put(work::kActivityId, work.activity_id)
        .put(work::kTag, work.tag)
        .put(work::kSessionId, work.session_id)
        .put(work::kInstanceId, work.instance_id)
        .put(work::kWorkItem, work.work_item);
}

void publish_work(const Hub& hub, const WorkKey& key, const cursors::RowHint& hint) {
    cursors::inserted(cursor_of(hub, key), place_of(key), hint);
    wake_fetchers(worker_channel(hub), key.due, key.id);
}

// ---------------------------------------------------------------- versions

// The buffer of a row that was just written, so that it is in memory.
Buffer buffer_of(const Table& table, const ItemPointerData& tid) {
    const Buffer buffer = ReadBuffer(table.heap, ItemPointerGetBlockNumber(&tid));
    ReleaseBuffer(buffer);
    return buffer;
}

// Where the new version of table.row lies.
cursors::RowHint place_in_heap(const Table& table, HeapTuple version) {
    const auto* slot = reinterpret_cast<const BufferHeapTupleTableSlot*>(table.row);
    const bool same_page = ItemPointerGetBlockNumber(&version->t_self) ==
                           ItemPointerGetBlockNumber(&table.row->tts_tid);
    return {version->t_self, same_page ? slot->buffer : buffer_of(table, version->t_self)};
}

// A version of table.row in that state, with the changes of other columns.
HeapTuple version_of(const Table& table, const core::WorkState& state, Changes* changes) {
    HeapTuple version = changes->count == 0 ? copy_row(table) : changed_row(table, changes);
    auto* row = fixed_columns<work::Row>(version);
    row->due = state.due;
    row->locked_until = state.lease.locked_until;
    row->nonce_hi = state.lease.nonce_hi;
    row->nonce_lo = state.lease.nonce_lo;
    row->lease_inc = state.lease.incarnation;
    row->attempt_count = state.attempt;
    return version;
}

// Another owner, if one is given or taken away.
void change_owner(const Table& table, std::optional<std::string_view> owner, Changes* changes) {
    bool none = false;
    (void)column(table, work::kLockedBy, &none);
    if (owner || !none) {
        changes->put(work::kLockedBy, owner);
    }
}

WorkRow read_work(const Table& table) {
    const core::WorkState state = state_of(table);
    return {.key = key_of_row(table),
            .lease = state.lease,
            .attempt = state.attempt,
            .session_id = get(table, work::kSessionId),
            .locked_by = get(table, work::kLockedBy)};
}

bool opens(const core::WorkToken& token, const Table& table, int64 now) {
    return core::fault_of(token, state_of(table), table.hub.incarnation, now) ==
           core::LeaseFault::kNone;
}

// ---------------------------------------------------------------- notes

// The row is gone when the transaction commits.
void publish_removal(const Hub& hub, const WorkKey& key) {
    wakeups::lease_ended(worker_channel(hub), lease_key_of_work(key.id));
    cursors::deleted(cursor_of(hub, key), place_of(key));
}

void publish_deadline(const Hub& hub, const WorkKey& key, int64 locked_until,
                      const cursors::RowHint& hint) {
    wakeups::lease_moved(worker_channel(hub), lease_key_of_work(key.id), locked_until);
    cursors::freed(cursor_of(hub, key), place_of(key), locked_until, hint);
}

[[noreturn]] void raise_vanished() {
    elog(ERROR, "a work item changed while it was held");
    pg_unreachable();
}

// Finds a row that this transaction holds.
void find_held(Table* table, const WorkKey& key) {
    if (!find_work(table, key)) {
        raise_vanished();
    }
}

}  // namespace

int16 work_slot(int32 slot_count, std::optional<std::string_view> instance_id,
                std::optional<std::string_view> session_id, int64 id) {
    if (instance_id) {
        return static_cast<int16>(core::slot_of(*instance_id, slot_count));
    }
    return static_cast<int16>(session_id ? core::slot_of(*session_id, slot_count)
                                         : core::slot_of_id(id, slot_count));
}

cursors::CursorKey cursor_of(const Hub& hub, int32 lane, int16 slot, bool delayed) {
    return {.database = MyDatabaseId,
            .table = hub.relations.worker_queue,
            .lane = lane,
            .slot = slot,
            .delayed = static_cast<int16>(delayed ? 1 : 0),
            .life = hub.incarnation};
}

bool find_work_at(const Table& table, const cursors::RowHint& hint, const WorkKey& key) {
    // The pin says that the block is there; what lies in it now is checked as in any scan. A
    // row with that key is the row: the key is unique among what a snapshot sees.
    if (hint.buffer == InvalidBuffer ||
        !pg::pin_recent_buffer(table.heap, ItemPointerGetBlockNumber(&hint.tid), hint.buffer)) {
        return false;
    }
    ItemPointerData tid = hint.tid;
    const bool found = table_tuple_fetch_row_version(table.heap, &tid, table.snapshot, table.row) &&
                       key_of_row(table) == key;
    ReleaseBuffer(hint.buffer);
    if (!found) {
        ExecClearTuple(table.row);
    }
    return found;
}

bool find_work(Table* table, const WorkKey& key) {
    const auto hint = cursors::row_hint(cursor_of(table->hub, key), place_of(key));
    return (hint && find_work_at(*table, *hint, key)) ||
           find_one(table, kByKey,
                    ScanKeys().int4(key.lane).int2(key.slot).int8(key.due).int8(key.id));
}

int64 last_work_id(const Hub& hub) {
    return pg::last_number(hub.relations.worker_queue_id);
}

int64 insert_work(Tables& tables, const NewWork& work) {
    pass_work_faults(pg::FaultPoint::kHotTableEnqueue);
    const WorkKey key = new_key(tables, work);
    NewRow row;
    fill_row(key, work, &row);
    const auto hint =
        with_table(tables, TableId::kWorkerQueue, RowExclusiveLock, [&row](Table& table) {
            const ItemPointerData tid = insert_row(&table, &row);
            return cursors::RowHint{tid, buffer_of(table, tid)};
        });
    publish_work(tables, key, hint);
    counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kEnqueued);
    return key.id;
}

void insert_works(Tables& tables, std::span<const NewWork> works) {
    if (works.empty()) {
        return;
    }
    pass_work_faults(pg::FaultPoint::kHotTableEnqueue);
    auto* keys = static_cast<WorkKey*>(palloc(sizeof(WorkKey) * works.size()));
    for (std::size_t i = 0; i < works.size(); ++i) {
        keys[i] = new_key(tables, works[i]);
    }
    with_table(tables, TableId::kWorkerQueue, RowExclusiveLock, [&](Table& table) {
        cursors::RowHint last{};
        insert_rows(
            &table, works.size(),
            [&](std::size_t i, NewRow* row) { fill_row(keys[i], works[i], row); },
            [&](std::size_t i, const ItemPointerData& tid) {
                const bool same_page = i > 0 && ItemPointerGetBlockNumber(&tid) ==
                                                    ItemPointerGetBlockNumber(&last.tid);
                last = {tid, same_page ? last.buffer : buffer_of(table, tid)};
                publish_work(table.hub, keys[i], last);
            });
    });
    counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kEnqueued,
                  static_cast<int64>(works.size()));
}

bool publish_grant(const Hub& hub, const Leased& leased, const Grant& grant) {
    counters::add_duration(hub.schema, counters::Queue::kWorker, counters::Duration::kWait,
                           grant.now - leased.visible_at);
    wakeups::lease_granted(worker_channel(hub), lease_key_of_work(leased.key.id),
                           grant.locked_until,
                           grant.owner ? owner_channel(hub, *grant.owner).name : 0);
    return cursors::claimed(cursor_of(hub, leased.key), place_of(leased.key), grant.locked_until,
                            leased.hint);
}

std::optional<Leased> lease_row(Table* table, const Grant& grant) {
    uint64 nonce[2];
    pg::fill_random(nonce, sizeof nonce);
    const WorkKey key = key_of_row(*table);
    const core::WorkState state =
        core::leased(state_of(*table), {.locked_until = grant.locked_until,
                                        .incarnation = table->hub.incarnation,
                                        .nonce_hi = nonce[0],
                                        .nonce_lo = nonce[1]});
    Leased leased{.key = key,
                  .token = {.lane = key.lane,
                            .slot = key.slot,
                            .due = key.due,
                            .id = key.id,
                            .incarnation = state.lease.incarnation,
                            .nonce_hi = nonce[0],
                            .nonce_lo = nonce[1]},
                  .attempt = state.attempt,
                  .work_item = get(*table, work::kWorkItem),
                  .visible_at = core::pg_us_to_ms(work_row(*table).visible_at),
                  .hint = {}};
    Changes changes;
    change_owner(*table, grant.owner, &changes);
    HeapTuple version = version_of(*table, state, &changes);
    if (try_change_row(table, version) != TM_Ok) {
        return std::nullopt;
    }
    leased.hint = place_in_heap(*table, version);
    wakeups::taken_row(worker_channel(table->hub), static_cast<uint64>(key.id));
    return leased;
}

std::optional<Leased> take(Tables& tables, const Candidate& candidate, const Grant& grant) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    return writing(tables, TableId::kWorkerQueue, [&](Table& table) -> std::optional<Leased> {
        const bool found = (find_at(table, candidate.row) && key_of_row(table) == candidate.key) ||
                           find_work(&table, candidate.key);
        if (!found || !core::is_unleased(state_of(table), table.hub.incarnation, grant.now)) {
            return std::nullopt;
        }
        const auto leased = lease_row(&table, grant);
        if (leased) {
            (void)publish_grant(table.hub, *leased, grant);
        }
        return leased;
    });
}

std::optional<int32> try_hold_free(Tables& tables, const WorkKey& key, int64 now) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    return writing(tables, TableId::kWorkerQueue, [&](Table& table) -> std::optional<int32> {
        if (!find_work(&table, key) ||
            !core::is_unleased(state_of(table), table.hub.incarnation, now) ||
            lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip) != TM_Ok) {
            return std::nullopt;
        }
        return get(table, work::kAttemptCount);
    });
}

bool seems_free(Tables& tables, const WorkKey& key) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    return looking(tables, TableId::kWorkerQueue, [&key](Table& table) {
        if (!find_work(&table, key)) {
            return false;
        }
        const auto* row = reinterpret_cast<const HeapTupleTableSlot*>(table.row);
        return !TransactionIdIsValid(pg::row_holder(row->tuple->t_data));
    });
}

std::optional<WorkRow> delete_live(Tables& tables, const core::WorkToken& token, int64 now) {
    pass_work_faults(pg::FaultPoint::kHotTableAck);
    return writing(tables, TableId::kWorkerQueue, [&](Table& table) -> std::optional<WorkRow> {
        if (!find_work(&table, key_of(token)) || !opens(token, table, now)) {
            return std::nullopt;
        }
        const WorkRow row = read_work(table);
        if (!delete_row(table, false)) {
            return std::nullopt;
        }
        publish_removal(table.hub, row.key);
        return row;
    });
}

std::optional<WorkRow> renew_live(Tables& tables, const core::WorkToken& token, int64 now,
                                  const core::Extension& extension) {
    pass_work_faults(pg::FaultPoint::kHotTableRenew);
    return writing(tables, TableId::kWorkerQueue, [&](Table& table) -> std::optional<WorkRow> {
        if (!find_work(&table, key_of(token)) || !opens(token, table, now)) {
            return std::nullopt;
        }
        const WorkRow row = read_work(table);
        const int64 locked_until = extension.deadline(now, row.lease.locked_until);
        Changes none;
        HeapTuple version = version_of(table, core::renewed(state_of(table), locked_until), &none);
        if (try_change_row(&table, version) != TM_Ok) {
            return std::nullopt;
        }
        publish_deadline(table.hub, row.key, locked_until, place_in_heap(table, version));
        return row;
    });
}

std::optional<WorkRow> lock_work(Tables& tables, const WorkKey& key, pg::Clock* clock) {
    wakeups::held(worker_channel(tables));
    pass_work_faults(pg::FaultPoint::kHotTableHold);
    return with_table(tables, TableId::kWorkerQueue, RowExclusiveLock, [&](Table& table) {
        const bool held = lock_waiting(
            &table, LockTupleExclusive, [&] { return find_work(&table, key); },
            [clock] { clock->mark_waited(); });
        return held ? std::optional(read_work(table)) : std::nullopt;
    });
}

void delete_work(Tables& tables, const WorkKey& key) {
    pass_work_faults(pg::FaultPoint::kHotTableAck);
    writing(tables, TableId::kWorkerQueue, [&key](Table& table) {
        find_held(&table, key);
        if (!delete_row(table, true)) {
            raise_vanished();
        }
    });
    publish_removal(tables, key);
}

DeadWork dead_letter_work(Tables& tables, const WorkKey& key, int32 attempts, int64 now) {
    pass_work_faults(pg::FaultPoint::kHotTableAck);
    const auto dead = writing(tables, TableId::kWorkerQueue, [&key, attempts](Table& table) {
        find_held(&table, key);
        const NewDeadLetter letter{.queue = "worker",
                                   .source_id = key.id,
                                   .instance_id = get(table, work::kInstanceId),
                                   .execution_id = get(table, work::kExecutionId),
                                   .activity_id = get(table, work::kActivityId),
                                   .session_id = get(table, work::kSessionId),
                                   .tag = get(table, work::kTag),
                                   .work_item = get(table, work::kWorkItem),
                                   .attempts = attempts,
                                   .reason = "max_attempts",
                                   .detail = get(table, work::kLastError),
                                   .enqueued_at = get(table, work::kCreatedAt)};
        if (!delete_row(table, true)) {
            raise_vanished();
        }
        return letter;
    });
    cursors::deleted(cursor_of(tables, key), place_of(key));
    const int64 id = insert_dead_letter(tables, dead, now);
    counters::add(tables.hub.schema, counters::Queue::kWorker, counters::Counter::kDeadLettered);
    return {.dead_letter_id = id,
            .instance_id = dead.instance_id,
            .execution_id = dead.execution_id,
            .activity_id = dead.activity_id,
            .work_item = dead.work_item,
            .attempt = attempts};
}

void set_deadline(Tables& tables, const WorkKey& key, int64 locked_until) {
    pass_work_faults(pg::FaultPoint::kHotTableRenew);
    const auto hint = writing(tables, TableId::kWorkerQueue, [&](Table& table) {
        find_held(&table, key);
        Changes none;
        HeapTuple version = version_of(table, core::renewed(state_of(table), locked_until), &none);
        change_held_row(&table, version);
        return place_in_heap(table, version);
    });
    publish_deadline(tables, key, locked_until, hint);
}

void release_work(Tables& tables, const WorkKey& key, int32 attempt,
                  std::optional<int64> visible_at, std::optional<std::string_view> reason) {
    pass_work_faults(pg::FaultPoint::kHotTableAbandon);
    wakeups::lease_ended(worker_channel(tables), lease_key_of_work(key.id));
    wake_fetchers(worker_channel(tables), visible_at.value_or(0));
    WorkKey released = key;
    writing(tables, TableId::kWorkerQueue, [&](Table& table) {
        find_held(&table, key);
        const core::WorkState state = core::released(state_of(table), attempt, visible_at);
        Changes changes;
        change_owner(table, std::nullopt, &changes);
        if (reason) {
            changes.put(work::kLastError, *reason);
        }
        HeapTuple version = version_of(table, state, &changes);
        if (visible_at) {
            fixed_columns<work::Row>(version)->visible_at = core::ms_to_pg_us(*visible_at);
        }
        change_held_row(&table, version, state.due != key.due);
        released.due = state.due;
    });
    if (visible_at) {
        cursors::deleted(cursor_of(tables, key), place_of(key));
    }
    cursors::freed(cursor_of(tables, released), place_of(released), 0, {});
}

}  // namespace belay::store
