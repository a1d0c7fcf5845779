#include "store/fast/worker_queue.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/compat.hpp"
#include "pg/datum.hpp"
#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "pg/random.hpp"
#include "pg/row_holder.hpp"
#include "store/fast/columns.hpp"
#include "store/fast/direct_table.hpp"
#include "store/fast/live_walk.hpp"
#include "store/fast/pass_faults.hpp"
#include "store/readiness.hpp"

namespace belay::store {

namespace {

const work::Row& columns(const DirectTable& table) {
    return fixed_columns<work::Row>(table);
}

WorkKey row_key(const DirectTable& table) {
    const work::Row& row = columns(table);
    return {.lane = row.lane, .slot = row.slot, .due = row.due, .id = row.id};
}

// ---------------------------------------------------------------- finding and changing rows

// The row with that key in table.row, if it lies where somebody remembers it; false means nothing.
bool find_at(const DirectTable& table, const pg::RowHint& hint, const WorkKey& key) {
    // The pin says that the block is there; whatever lies in it now is looked at as in any scan. A
    // row with that key is the row: the key is unique among what a snapshot sees.
    if (hint.buffer == InvalidBuffer ||
        !pg::pin_recent_buffer(table.heap, ItemPointerGetBlockNumber(&hint.tid), hint.buffer)) {
        return false;
    }
    ItemPointerData tid = hint.tid;
    const bool found = table_tuple_fetch_row_version(table.heap, &tid, table.snapshot, table.row) &&
                       row_key(table) == key;
    ReleaseBuffer(hint.buffer);
    if (!found) {
        ExecClearTuple(table.row);
    }
    return found;
}

// Whether a row with that key is visible; it is in table.row then. What the cursors remember of
// its place saves the way through the index.
bool find_row(DirectTable* table, const WorkKey& key) {
    const auto hint = pg::row_hint(cursor_of(table->hub, key), place_of(key));
    return (hint && find_at(*table, *hint, key)) ||
           find_one(table, 0, ScanKeys().int4(key.lane).int2(key.slot).int8(key.due).int8(key.id));
}

// A scan of the key in one lane and slot, from a place on: of the rows never delayed in the order
// of their ids, or of the delayed ones in the order (due, id).
IndexScanDesc scan_lane(DirectTable* table, int32 lane, int16 slot, bool delayed, int64 due,
                        int64 id) {
    ScanKeys keys;
    keys.int4(lane).int2(slot);
    if (!delayed) {
        return begin_scan(table, 0, keys.int8(0).int8_from(id));
    }
    // ROW(due, id) >= ROW($due, $id), in the form in which the executor passes it. The scan copies
    // the keys but not the parts of a row key: they live as long as it does. It begins where this
    // key says, so the key must not name a row that was never delayed.
    auto* parts = static_cast<ScanKey>(palloc0(sizeof(ScanKeyData) * 2));
    ScanKeyEntryInitialize(&parts[0], SK_ROW_MEMBER, work::kDue, BTGreaterEqualStrategyNumber,
                           INT8OID, InvalidOid, F_BTINT8CMP,
                           Int64GetDatum(std::max<int64>(due, 1)));
    ScanKeyEntryInitialize(&parts[1], SK_ROW_MEMBER | SK_ROW_END, work::kId,
                           BTGreaterEqualStrategyNumber, INT8OID, InvalidOid, F_BTINT8CMP,
                           Int64GetDatum(due < 1 ? PG_INT64_MIN : id));
    ScanKeyData* row = &keys.keys[keys.count++];
    *row = {};
    row->sk_flags = SK_ROW_HEADER;
    row->sk_attno = work::kDue;
    row->sk_strategy = BTGreaterEqualStrategyNumber;
    row->sk_argument = PointerGetDatum(parts);
    return begin_scan(table, 0, keys);
}

// A new version of table.row, with another owner if one is given or taken away.
HeapTuple copy_with_owner(const DirectTable& table, std::optional<std::string_view> owner) {
    HeapTuple old_row = reinterpret_cast<const HeapTupleTableSlot*>(table.row)->tuple;
    TupleDesc description = RelationGetDescr(table.heap);
    if (!owner && heap_attisnull(old_row, work::kLockedBy, description)) {
        return copy_row(table);
    }
    int number = work::kLockedBy;
    Datum value = owner ? pg::text_datum(*owner) : 0;
    bool null = !owner;
    return heap_modify_tuple_by_cols(old_row, description, 1, &number, &value, &null);
}

// The buffer of a row that was just written, so that it is in memory.
Buffer buffer_of(const DirectTable& table, const ItemPointerData& tid) {
    const Buffer buffer = ReadBuffer(table.heap, ItemPointerGetBlockNumber(&tid));
    ReleaseBuffer(buffer);
    return buffer;
}

// Where the new version of table.row lies.
pg::RowHint place_in_heap(const DirectTable& table, HeapTuple version) {
    const auto* slot = reinterpret_cast<const BufferHeapTupleTableSlot*>(table.row);
    const bool same_page = ItemPointerGetBlockNumber(&version->t_self) ==
                           ItemPointerGetBlockNumber(&table.row->tts_tid);
    return {version->t_self, same_page ? slot->buffer : buffer_of(table, version->t_self)};
}

// When table.row may be taken, in ms.
int64 free_at(const DirectTable& table) {
    const work::Row& row = columns(table);
    return row.lease_inc == table.hub.incarnation ? std::max(row.due, row.locked_until) : row.due;
}

bool has_live_lease(const DirectTable& table, int64 now) {
    const work::Row& row = columns(table);
    return row.lease_inc == table.hub.incarnation && row.locked_until > now;
}

WorkRow read_work_row(const DirectTable& table) {
    const work::Row& row = columns(table);
    return {.key = row_key(table),
            .lease = {.locked_until = row.locked_until,
                      .incarnation = row.lease_inc,
                      .nonce_hi = row.nonce_hi,
                      .nonce_lo = row.nonce_lo},
            .attempt = row.attempt_count,
            .session_id = text_column(table, work::kSessionId),
            .locked_by = text_column(table, work::kLockedBy)};
}

// Whether the token is that of the row's live lease.
bool opens(const core::WorkToken& token, const WorkRow& row, int64 now) {
    const bool same = core::matches(row.lease, token.incarnation, token.nonce_hi, token.nonce_lo);
    return same && row.lease.locked_until > now;
}

// Leases table.row, unless somebody else has it.
std::optional<Leased> lease_row(DirectTable* table, const Grant& grant) {
    uint64 nonce[2];
    pg::fill_random(nonce, sizeof nonce);
    const WorkKey key = row_key(*table);
    Leased leased{.key = key,
                  .token = {.lane = key.lane,
                            .slot = key.slot,
                            .due = key.due,
                            .id = key.id,
                            .incarnation = table->hub.incarnation,
                            .nonce_hi = nonce[0],
                            .nonce_lo = nonce[1]},
                  .attempt = core::next_attempt(columns(*table).attempt_count),
                  .work_item = *text_column(*table, work::kWorkItem),
                  .visible_at = core::pg_us_to_ms(columns(*table).visible_at),
                  .hint = {}};
    HeapTuple version = copy_with_owner(*table, grant.owner);
    auto* row = fixed_columns<work::Row>(version);
    row->locked_until = grant.locked_until;
    row->nonce_hi = nonce[0];
    row->nonce_lo = nonce[1];
    row->lease_inc = table->hub.incarnation;
    row->attempt_count = leased.attempt;
    if (!try_change_row(table, version)) {
        return std::nullopt;
    }
    leased.hint = place_in_heap(*table, version);
    return leased;
}

// ---------------------------------------------------------------- walking over a part

struct Part {
    int32 lane;
    int16 slot;
    bool delayed;
};

// What a visitor says of a free row.
struct Verdict {
    bool found;  // what was looked for
    bool go_on;
    bool passed;  // it has an entry now
};

// Where the cursor may stand when no row is left. New rows have higher ids, and their transactions
// put the cursor back; ids that nobody has drawn yet need not even that.
pg::Place end_of(const Hub& hub, const Part& part) {
    if (part.delayed || (part.lane & 1) != 0) {
        return pg::kLastPlace;
    }
    return {0, last_work_id(hub) + 1};
}

// Visits the free rows of a part in order, behind a place. First those that have entries below the
// cursor, then the others. visit(now) sees table->row. Looks again if it found nothing and
// something has changed meanwhile. Rows that a running transaction has leased are visited only
// with_held: whoever takes rows of one part would fail on them; whoever compares the heads of parts
// tries them as SQL does, and so knows that it lost them.
template <typename Visit>
void walk(DirectTable* table, const Part& part, const pg::Place& after, const pg::Clock& clock,
          bool with_held, Visit visit) {
    constexpr int kDue = 16;
    const pg::CursorKey key = cursor_of(table->hub, part.lane, part.slot, part.delayed);
    while (true) {
        CHECK_FOR_INTERRUPTS();
        const pg::CursorView view = pg::read_cursor(key);
        if (view.known && !view.settled && is_settled_since(view.made)) {
            pg::settle_cursor(key, view);
        }
        const int64 before = clock.now();
        int64 now = before;
        bool found = false;
        bool go_on = true;
        pg::DueRow due[kDue];
        pg::Place last = after;
        int due_count = kDue;
        const bool look = view.next_free <= before || (with_held && view.held > 0);
        bool looked = look;
        while (go_on && due_count == kDue && look) {
            due_count = pg::due_rows(key, view, before, with_held, last, due, kDue);
            // Entries first, then the snapshot: a row that is not seen is gone then, not new.
            renew_snapshot(table);
            now = clock.now();
            for (int i = 0; go_on && i < due_count; ++i) {
                last = due[i].place;
                if (!find_row(table, {part.lane, part.slot, last.due, last.id})) {
                    pg::correct_entry(key, due[i], std::nullopt);
                } else if (const int64 at = free_at(*table); at > now) {
                    pg::correct_entry(key, due[i], at);
                } else {
                    const Verdict verdict = visit(now);
                    found = found || verdict.found;
                    go_on = verdict.go_on;
                }
            }
        }
        const pg::Place head = std::min(view.position, view.own);
        // Else there may be rows between the two.
        const bool from_cursor = after == pg::kFirstPlace || after < head;
        const pg::Place from = std::max(head, after);
        if (go_on && from != pg::kLastPlace && !(part.delayed && from.due > before)) {
            looked = true;
            renew_snapshot(table);
            now = clock.now();
            bool blocked = false;
            bool more = false;
            pg::Place end = from;
            // False: neither this row nor a later one is due.
            const auto look_at_row = [&] {
                const WorkKey row = row_key(*table);
                const pg::Place place = place_of(row);
                if (part.delayed && row.due > now) {
                    end = blocked ? end : place;
                    return false;
                }
                bool passed = false;
                if (const int64 at = free_at(*table); at > now) {
                    passed = !blocked && pg::enter_row(key, view, place, at);
                } else {
                    const Verdict verdict = visit(now);
                    found = found || verdict.found;
                    go_on = verdict.go_on;
                    passed = verdict.passed;
                }
                if (!blocked) {
                    blocked = !passed;
                    end = passed ? pg::Place{place.due, place.id + 1} : place;
                }
                return true;
            };
            // No live row without an entry lies below the position: the one that is there comes
            // first, and need not be looked for.
            pg::Place seen = after;
            if (from_cursor && from == view.position &&
                find_at(*table, view.head, {part.lane, part.slot, from.due, from.id}) &&
                look_at_row()) {
                seen = from;
                more = true;
            }
            if (go_on) {
                IndexScanDesc scan =
                    scan_lane(table, part.lane, part.slot, part.delayed, from.due, from.id);
                while (go_on && (more = next_row(*table, scan))) {
                    const pg::Place place = place_of(row_key(*table));
                    if (place == after || place == seen) {
                        continue;
                    }
                    if (!look_at_row()) {
                        break;
                    }
                    CHECK_FOR_INTERRUPTS();
                }
                index_endscan(scan);
            }
            if (from_cursor && view.known) {
                if (go_on && !more && !blocked) {
                    end = std::max(end, end_of(table->hub, part));
                }
                pg::advance_cursor(key, view, end);
            }
        }
        if (found || !view.known || !looked) {
            return;
        }
        const pg::CursorView later = pg::read_cursor(key);
        if (later.changes == view.changes && (later.next_free <= before || later.next_free > now)) {
            return;
        }
    }
}

// Whether the part has a free row.
bool has_free_row(DirectTable* table, const Part& part, const pg::Clock& clock) {
    bool found = false;
    walk(table, part, pg::kFirstPlace, clock, true, [&found](int64) {
        found = true;
        return Verdict{.found = true, .go_on = false, .passed = false};
    });
    return found;
}

}  // namespace

pg::CursorKey cursor_of(const Hub& hub, int32 lane, int16 slot, bool delayed) {
    return {.database = MyDatabaseId,
            .table = hub.relations.worker_queue,
            .lane = lane,
            .slot = slot,
            .delayed = static_cast<int16>(delayed ? 1 : 0),
            .life = hub.incarnation};
}

namespace {

void fill_row(const WorkKey& key, const NewWork& work, NewRow* row) {
    row->int4(work::kLane, key.lane)
        .int2(work::kSlot, key.slot)
        .int8(work::kDue, key.due)
        .int8(work::kId, key.id)
        .timestamp(work::kVisibleAt, work.visible_at)
        .timestamp(work::kCreatedAt, work.created_at)
        .int8(work::kLockedUntil, 0)
        .int8(work::kNonceHi, 0)
        .int8(work::kNonceLo, 0)
        .int4(work::kLeaseInc, 0)
        .int4(work::kAttemptCount, 0)
        .int8(work::kExecutionId, work.execution_id)
        .int8(work::kActivityId, work.activity_id)
        .text(work::kTag, work.tag)
        .text(work::kSessionId, work.session_id)
        .text(work::kInstanceId, work.instance_id)
        .text(work::kWorkItem, work.work_item);
}

}  // namespace

pg::RowHint insert_directly(const Hub& hub, Relation heap, const WorkKey& key,
                            const NewWork& work) {
    pass_faults(pg::FaultPoint::kFastpathEnqueue);
    NewRow row;
    fill_row(key, work, &row);
    CommandCounterIncrement();
    return with_direct(hub, DirectId::kWorkerQueue, heap, [&row](DirectTable& table) {
        const ItemPointerData tid = insert_row(&table, &row);
        return pg::RowHint{tid, buffer_of(table, tid)};
    });
}

void insert_many_directly(const Hub& hub, Relation heap, std::span<const WorkKey> keys,
                          std::span<const NewWork> works, pg::RowHint* hints) {
    pass_faults(pg::FaultPoint::kFastpathEnqueue);
    CommandCounterIncrement();
    with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        pg::RowHint last{};
        insert_rows(
            &table, works.size(),
            [&](std::size_t i, NewRow* row) { fill_row(keys[i], works[i], row); },
            [&](std::size_t i, const ItemPointerData& tid) {
                const bool same_page = i > 0 && ItemPointerGetBlockNumber(&tid) ==
                                                    ItemPointerGetBlockNumber(&last.tid);
                last = {tid, same_page ? last.buffer : buffer_of(table, tid)};
                hints[i] = last;
            });
    });
}

LeasedRows take_heads_directly(const Hub& hub, Relation heap, int32 lane, int16 slot,
                               std::optional<std::string_view> tag, bool with_sessions,
                               const LeaseTerms& terms, int limit) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    auto* leased = static_cast<Leased*>(palloc(sizeof(Leased) * static_cast<Size>(limit)));
    int count = 0;
    with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        if (has_free_row(&table, {lane, slot, true}, *terms.clock) ||
            (with_sessions && (has_free_row(&table, {lane + 1, slot, false}, *terms.clock) ||
                               has_free_row(&table, {lane + 1, slot, true}, *terms.clock)))) {
            return;
        }
        walk(&table, {lane, slot, false}, pg::kFirstPlace, *terms.clock, false, [&](int64 now) {
            if (text_column(table, work::kTag) != tag) {
                return Verdict{.found = false, .go_on = true, .passed = false};
            }
            const WorkKey key = row_key(table);
            const auto row = lease_row(&table, terms.grant_at(now));
            if (!row) {
                return Verdict{.found = false,
                               .go_on = true,
                               .passed = pg::has_entry(cursor_of(hub, key), place_of(key))};
            }
            leased[count++] = *row;
            return Verdict{.found = true,
                           .go_on = count < limit,
                           .passed = note_granted(hub, *row, terms.grant_at(now))};
        });
    });
    return {leased, count};
}

std::span<const int32> lanes_to_fetch_directly(const Hub& hub, Relation heap, int32 after,
                                               int32 up_to, bool with_sessions, int limit) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    pg::List<int32> lanes;
    with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        renew_snapshot(&table);
        IndexScanDesc scan =
            pg::begin_index_scan(table.heap, index_at(&table, 0), table.snapshot, 1);
        scan->xs_want_itup = true;
        int32 last = after;
        const auto lane = [scan] { return DatumGetInt32(direct::key_column(scan, 1)); };
        direct::skip_scan(
            scan,
            [&] {
                ScanKeyData above;
                ScanKeyInit(&above, work::kLane, BTGreaterStrategyNumber, F_INT4GT,
                            Int32GetDatum(last));
                index_rescan(scan, &above, 1, nullptr, 0);
            },
            [&] { return lane() == last; },
            [&] {
                last = lane();
                if (last <= up_to && (with_sessions || !is_session_lane(last))) {
                    lanes.add(last);
                }
                return last < up_to && lanes.count < limit;
            });
        index_endscan(scan);
    });
    return lanes.span();
}

Candidates peek_lanes_directly(const Hub& hub, Relation heap, std::span<const int32> lanes,
                               std::span<const int16> slots, const pg::Clock& clock) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    pg::List<Candidate> found;
    with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        for (const int32 lane : lanes) {
            for (const int16 slot : slots) {
                for (const bool delayed : {false, true}) {
                    walk(&table, {lane, slot, delayed}, pg::kFirstPlace, clock, true, [&](int64) {
                        found.add({.key = row_key(table),
                                   .session_id = text_column(table, work::kSessionId),
                                   .tag = text_column(table, work::kTag)});
                        return Verdict{.found = true, .go_on = false, .passed = false};
                    });
                }
            }
        }
    });
    return {found.items, found.count};
}

Candidates peek_lane_directly(const Hub& hub, Relation heap, int32 lane,
                              std::span<const int16> slots, bool delayed, int64 after_due,
                              int64 after_id, const pg::Clock& clock, int limit) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    pg::List<Candidate> found;
    const pg::Place after = (delayed ? after_due : after_id) <= 0
                                ? pg::kFirstPlace
                                : pg::Place{delayed ? after_due : 0, after_id};
    with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        for (const int16 slot : slots) {
            int left = limit;
            walk(&table, {lane, slot, delayed}, after, clock, true, [&](int64) {
                found.add({.key = row_key(table),
                           .session_id = text_column(table, work::kSessionId),
                           .tag = text_column(table, work::kTag)});
                return Verdict{.found = true, .go_on = --left > 0, .passed = false};
            });
        }
    });
    return {found.items, found.count};
}

std::optional<Leased> take_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                    const Grant& grant) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    return with_direct(hub, DirectId::kWorkerQueue, heap,
                       [&](DirectTable& table) -> std::optional<Leased> {
                           renew_snapshot(&table);
                           if (!find_row(&table, key) || has_live_lease(table, grant.now)) {
                               return std::nullopt;
                           }
                           const auto leased = lease_row(&table, grant);
                           if (leased) {
                               (void)note_granted(hub, *leased, grant);
                           }
                           return leased;
                       });
}

std::optional<int32> try_hold_free_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                            int64 now) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    return with_direct(hub, DirectId::kWorkerQueue, heap,
                       [&](DirectTable& table) -> std::optional<int32> {
                           renew_snapshot(&table);
                           if (!find_row(&table, key) || has_live_lease(table, now) ||
                               lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip) != TM_Ok) {
                               return std::nullopt;
                           }
                           return columns(table).attempt_count;
                       });
}

std::optional<WorkRow> delete_live_directly(const Hub& hub, Relation heap,
                                            const core::WorkToken& token, int64 now) {
    pass_faults(pg::FaultPoint::kFastpathAck);
    return with_direct(hub, DirectId::kWorkerQueue, heap,
                       [&](DirectTable& table) -> std::optional<WorkRow> {
                           renew_snapshot(&table);
                           if (!find_row(&table, key_of(token))) {
                               return std::nullopt;
                           }
                           const WorkRow row = read_work_row(table);
                           if (!opens(token, row, now) || !delete_row(table, false)) {
                               return std::nullopt;
                           }
                           return row;
                       });
}

std::optional<Renewed> renew_live_directly(const Hub& hub, Relation heap,
                                           const core::WorkToken& token, int64 now,
                                           const core::Extension& extension) {
    pass_faults(pg::FaultPoint::kFastpathRenew);
    return with_direct(
        hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) -> std::optional<Renewed> {
            renew_snapshot(&table);
            if (!find_row(&table, key_of(token))) {
                return std::nullopt;
            }
            const WorkRow row = read_work_row(table);
            if (!opens(token, row, now)) {
                return std::nullopt;
            }
            HeapTuple version = copy_row(table);
            const int64 locked_until = extension.deadline(now, row.lease.locked_until);
            fixed_columns<work::Row>(version)->locked_until = locked_until;
            if (!try_change_row(&table, version)) {
                return std::nullopt;
            }
            return Renewed{row, locked_until, place_in_heap(table, version)};
        });
}

std::optional<WorkRow> lock_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                     LockWaitPolicy policy) {
    pass_faults(pg::FaultPoint::kFastpathHold);
    return with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        const bool held =
            lock_found(&table, LockTupleExclusive, policy, [&] { return find_row(&table, key); });
        return held ? std::optional(read_work_row(table)) : std::nullopt;
    });
}

bool seems_free_directly(const Hub& hub, Relation heap, const WorkKey& key) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    return with_direct(hub, DirectId::kWorkerQueue, heap, [&key](DirectTable& table) {
        renew_snapshot(&table);
        if (!find_row(&table, key)) {
            return false;
        }
        const auto* row = reinterpret_cast<const HeapTupleTableSlot*>(table.row);
        return !TransactionIdIsValid(pg::row_holder(row->tuple->t_data));
    });
}

bool exists_directly(const Hub& hub, Relation heap, const WorkKey& key) {
    pass_faults(pg::FaultPoint::kFastpathHold);
    return with_direct(hub, DirectId::kWorkerQueue, heap, [&key](DirectTable& table) {
        renew_snapshot(&table);
        return find_row(&table, key);
    });
}

void delete_directly(const Hub& hub, Relation heap, const WorkKey& key) {
    pass_faults(pg::FaultPoint::kFastpathAck);
    with_direct(hub, DirectId::kWorkerQueue, heap, [&key](DirectTable& table) {
        renew_snapshot(&table);
        if (find_row(&table, key) && !delete_row(table, true)) {
            elog(ERROR, "a work item changed while it was held");
        }
    });
}

pg::RowHint set_deadline_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                  int64 locked_until) {
    pass_faults(pg::FaultPoint::kFastpathRenew);
    return with_direct(hub, DirectId::kWorkerQueue, heap, [&key, locked_until](DirectTable& table) {
        renew_snapshot(&table);
        if (!find_row(&table, key)) {
            return pg::RowHint{};
        }
        HeapTuple version = copy_row(table);
        fixed_columns<work::Row>(version)->locked_until = locked_until;
        change_held_row(&table, version);
        return place_in_heap(table, version);
    });
}

void release_directly(const Hub& hub, Relation heap, const WorkKey& key, int32 attempt,
                      std::optional<int64> visible_at) {
    pass_faults(pg::FaultPoint::kFastpathAbandon);
    with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        renew_snapshot(&table);
        if (!find_row(&table, key)) {
            return;
        }
        HeapTuple version = copy_with_owner(table, std::nullopt);
        auto* row = fixed_columns<work::Row>(version);
        row->locked_until = 0;
        row->nonce_hi = 0;
        row->nonce_lo = 0;
        row->lease_inc = 0;
        row->attempt_count = attempt;
        if (visible_at) {
            row->due = delayed_due(*visible_at);
            row->visible_at = core::ms_to_pg_us(*visible_at);
        }
        change_held_row(&table, version, row->due != key.due);
    });
}

int64 repair_cursors(const Hub& hub, int64 age_ms) {
    constexpr int kMost = 1024;
    auto* keys = static_cast<pg::CursorKey*>(palloc(sizeof(pg::CursorKey) * kMost));
    const int count = pg::cursors_to_check(hub.relations.worker_queue, age_ms, keys, kMost);
    Relation heap = count == 0 ? nullptr : open_for_direct_access(hub, DirectId::kWorkerQueue);
    if (heap == nullptr) {
        return 0;
    }
    return with_direct(hub, DirectId::kWorkerQueue, heap, [&](DirectTable& table) {
        int64 repaired = 0;
        for (int i = 0; i < count; ++i) {
            const pg::CursorView view = pg::read_cursor(keys[i]);
            renew_snapshot(&table);
            IndexScanDesc scan = scan_lane(&table, keys[i].lane, keys[i].slot, keys[i].delayed != 0,
                                           pg::kFirstPlace.due, pg::kFirstPlace.id);
            while (next_row(table, scan)) {
                const pg::Place place = place_of(row_key(table));
                if (!view.known || place >= view.position) {
                    break;
                }
                if (pg::repair_cursor(keys[i], place, free_at(table))) {
                    ++repaired;
                    break;
                }
                CHECK_FOR_INTERRUPTS();
            }
            index_endscan(scan);
        }
        return repaired;
    });
}

}  // namespace belay::store
