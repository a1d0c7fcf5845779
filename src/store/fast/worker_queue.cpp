#include "store/fast/worker_queue.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/compat.hpp"
#include "pg/datum.hpp"
#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "pg/random.hpp"
#include "store/fast/queue_table.hpp"
#include "store/readiness.hpp"

namespace belay::store {

namespace {

void pass_faults(pg::FaultPoint point) {
    pg::fail_here(point);
    pg::fail_here(pg::FaultPoint::kStoreCall);
}

// When table.row may be taken, in ms.
int64 free_at(const QueueTable& table) {
    const QueueRow& row = columns(table);
    int64 at = row.due;
    if (row.due == 0) {
        at = core::pg_us_to_ms(row.visible_at);
        if (core::ms_to_pg_us(at) < row.visible_at) {
            ++at;
        }
    }
    return row.lease_inc == table.hub.incarnation ? std::max(at, row.locked_until) : at;
}

bool has_live_lease(const QueueTable& table, int64 now) {
    const QueueRow& row = columns(table);
    return row.lease_inc == table.hub.incarnation && row.locked_until > now;
}

WorkRow read_work_row(const QueueTable& table) {
    const QueueRow& row = columns(table);
    return {.key = row_key(table),
            .lease = {.locked_until = row.locked_until,
                      .incarnation = row.lease_inc,
                      .nonce_hi = row.nonce_hi,
                      .nonce_lo = row.nonce_lo},
            .attempt = row.attempt_count,
            .session_id = row_text(table, kSessionId),
            .locked_by = row_text(table, kLockedBy)};
}

// Whether the token is that of the row's live lease.
bool opens(const core::WorkToken& token, const WorkRow& row, int64 now) {
    return row.lease.nonce_hi == token.nonce_hi && row.lease.nonce_lo == token.nonce_lo &&
           row.lease.incarnation == token.incarnation && row.lease.locked_until > now;
}

// Leases table.row, unless somebody else has it.
std::optional<Leased> lease_row(const QueueTable& table, const Grant& grant) {
    uint64 nonce[2];
    pg::fill_random(nonce, sizeof nonce);
    const WorkKey key = row_key(table);
    Leased leased{.key = key,
                  .token = {.lane = key.lane,
                            .slot = key.slot,
                            .due = key.due,
                            .id = key.id,
                            .incarnation = table.hub.incarnation,
                            .nonce_hi = nonce[0],
                            .nonce_lo = nonce[1]},
                  .attempt = core::next_attempt(columns(table).attempt_count),
                  .work_item = *row_text(table, kWorkItem),
                  .hint = {}};
    const NewVersion version = copy_row(table, Owner::kSet, grant.owner);
    version.columns->locked_until = grant.locked_until;
    version.columns->nonce_hi = nonce[0];
    version.columns->nonce_lo = nonce[1];
    version.columns->lease_inc = table.hub.incarnation;
    version.columns->attempt_count = leased.attempt;
    if (!try_change_row(table, version)) {
        return std::nullopt;
    }
    leased.hint = place_in_heap(table, version);
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

// A transaction prepared before the cursor was made may still commit rows that nobody will tell of.
// Asked at most once a second and session.
void try_settle(const pg::CursorKey& key, const pg::CursorView& view) {
    static constinit TimestampTz asked = 0;
    const TimestampTz now = GetCurrentTimestamp();
    if (now - asked < USECS_PER_SEC && now >= asked && asked > view.made) {
        return;
    }
    asked = now;
    if (!has_prepared_before(view.made)) {
        pg::settle_cursor(key, view);
    }
}

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
// with_held: whoever takes rows of one part would fail on them, whoever compares the heads of parts
// must see them as SQL does.
template <typename Visit>
void walk(QueueTable* table, const Part& part, const pg::Place& after, const pg::Clock& clock,
          bool with_held, Visit visit) {
    constexpr int kDue = 16;
    const pg::CursorKey key = cursor_of(table->hub, part.lane, part.slot, part.delayed);
    while (true) {
        CHECK_FOR_INTERRUPTS();
        const pg::CursorView view = pg::read_cursor(key);
        if (view.known && !view.settled) {
            try_settle(key, view);
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
bool has_free_row(QueueTable* table, const Part& part, const pg::Clock& clock) {
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

pg::RowHint insert_directly(const Hub& hub, Relation heap, const WorkKey& key, const NewWork& work) {
    pass_faults(pg::FaultPoint::kFastpathEnqueue);
    Datum values[kQueueColumns] = {};
    bool nulls[kQueueColumns] = {};
    const auto set = [&values](QueueColumn number, Datum value) { values[number - 1] = value; };
    const auto set_number = [&](QueueColumn number, std::optional<int64> value) {
        values[number - 1] = Int64GetDatum(value.value_or(0));
        nulls[number - 1] = !value;
    };
    const auto set_text = [&](QueueColumn number, std::optional<std::string_view> value) {
        values[number - 1] = value ? pg::text_datum(*value) : 0;
        nulls[number - 1] = !value;
    };
    set(kLane, Int32GetDatum(key.lane));
    set(kSlot, Int16GetDatum(key.slot));
    set(kDue, Int64GetDatum(key.due));
    set(kId, Int64GetDatum(key.id));
    set(kVisibleAt, TimestampTzGetDatum(core::ms_to_pg_us(work.visible_at)));
    set(kCreatedAt, TimestampTzGetDatum(core::ms_to_pg_us(work.created_at)));
    set_number(kExecutionId, work.execution_id);
    set_number(kActivityId, work.activity_id);
    set_text(kTag, work.tag);
    set_text(kSessionId, work.session_id);
    set_text(kInstanceId, work.instance_id);
    nulls[kLockedBy - 1] = true;
    set_text(kWorkItem, work.work_item);
    CommandCounterIncrement();
    const pg::RowHint hint = insert_row(heap, hub.worker_queue_access, values, nulls);
    table_close(heap, NoLock);
    CommandCounterIncrement();
    return hint;
}

LeasedRows take_heads_directly(const Hub& hub, Relation heap, int32 lane, int16 slot,
                               std::optional<std::string_view> tag, bool with_sessions,
                               const LeaseTerms& terms, int limit) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    auto* leased = static_cast<Leased*>(palloc(sizeof(Leased) * static_cast<Size>(limit)));
    int count = 0;
    with_queue(hub, heap, [&](QueueTable& table) {
        if (has_free_row(&table, {lane, slot, true}, *terms.clock) ||
            (with_sessions && (has_free_row(&table, {lane + 1, slot, false}, *terms.clock) ||
                               has_free_row(&table, {lane + 1, slot, true}, *terms.clock)))) {
            return;
        }
        walk(&table, {lane, slot, false}, pg::kFirstPlace, *terms.clock, false, [&](int64 now) {
            if (row_text(table, kTag) != tag) {
                return Verdict{.found = false, .go_on = true, .passed = false};
            }
            const WorkKey key = row_key(table);
            const auto row = lease_row(table, terms.grant_at(now));
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

std::optional<int32> next_lane_directly(const Hub& hub, Relation heap, int32 lane) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    return with_queue(hub, heap, [lane](QueueTable& table) {
        renew_snapshot(&table);
        // Dead entries count, too: the walk over the lane finds out, from its cursor on.
        ScanKeyData above;
        ScanKeyInit(&above, kLane, BTGreaterStrategyNumber, F_INT4GT, Int32GetDatum(lane));
        IndexScanDesc scan = pg::begin_index_scan(table.heap, key_index(&table), table.snapshot, 1);
        scan->xs_want_itup = true;
        index_rescan(scan, &above, 1, nullptr, 0);
        std::optional<int32> next;
        if (index_getnext_tid(scan, ForwardScanDirection) != nullptr) {
            bool null = false;
            next = DatumGetInt32(index_getattr(scan->xs_itup, 1, scan->xs_itupdesc, &null));
        }
        index_endscan(scan);
        return next;
    });
}

Candidates peek_lane_directly(const Hub& hub, Relation heap, int32 lane,
                              std::span<const int16> slots, bool delayed, int64 after_due,
                              int64 after_id, const pg::Clock& clock, int limit) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    pg::List<Candidate> found;
    const pg::Place after = (delayed ? after_due : after_id) <= 0
                                ? pg::kFirstPlace
                                : pg::Place{delayed ? after_due : 0, after_id};
    with_queue(hub, heap, [&](QueueTable& table) {
        for (const int16 slot : slots) {
            int left = limit;
            walk(&table, {lane, slot, delayed}, after, clock, true, [&](int64) {
                found.add({.key = row_key(table),
                           .session_id = row_text(table, kSessionId),
                           .tag = row_text(table, kTag)});
                return Verdict{.found = true, .go_on = --left > 0, .passed = false};
            });
        }
    });
    return {found.items, found.count};
}

std::optional<Leased> take_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                    const Grant& grant) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    return with_queue(hub, heap, [&](QueueTable& table) -> std::optional<Leased> {
        renew_snapshot(&table);
        if (!find_row(&table, key) || has_live_lease(table, grant.now)) {
            return std::nullopt;
        }
        const auto leased = lease_row(table, grant);
        if (leased) {
            (void)note_granted(hub, *leased, grant);
        }
        return leased;
    });
}

std::optional<int32> try_hold_free_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                            int64 now) {
    pass_faults(pg::FaultPoint::kFastpathFetch);
    return with_queue(hub, heap, [&](QueueTable& table) -> std::optional<int32> {
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
    return with_queue(hub, heap, [&](QueueTable& table) -> std::optional<WorkRow> {
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
    return with_queue(hub, heap, [&](QueueTable& table) -> std::optional<Renewed> {
        renew_snapshot(&table);
        if (!find_row(&table, key_of(token))) {
            return std::nullopt;
        }
        const WorkRow row = read_work_row(table);
        if (!opens(token, row, now)) {
            return std::nullopt;
        }
        const NewVersion version = copy_row(table, Owner::kKeep, std::nullopt);
        const int64 locked_until = extension.deadline(now, row.lease.locked_until);
        version.columns->locked_until = locked_until;
        if (!try_change_row(table, version)) {
            return std::nullopt;
        }
        return Renewed{row, locked_until, place_in_heap(table, version)};
    });
}

std::optional<WorkRow> lock_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                     LockWaitPolicy policy) {
    pass_faults(pg::FaultPoint::kFastpathHold);
    return with_queue(hub, heap, [&](QueueTable& table) -> std::optional<WorkRow> {
        // A version that was replaced since the snapshot is not followed but looked for again: to
        // follow could mean to wait, whatever the policy says.
        while (true) {
            renew_snapshot(&table);
            if (!find_row(&table, key)) {
                return std::nullopt;
            }
            switch (lock_row(table, LockTupleExclusive, policy)) {
                case TM_Ok:
                    return read_work_row(table);
                case TM_WouldBlock:
                    return std::nullopt;
                default:
                    CHECK_FOR_INTERRUPTS();
            }
        }
    });
}

bool exists_directly(const Hub& hub, Relation heap, const WorkKey& key) {
    pass_faults(pg::FaultPoint::kFastpathHold);
    return with_queue(hub, heap, [&key](QueueTable& table) {
        renew_snapshot(&table);
        return find_row(&table, key);
    });
}

void delete_directly(const Hub& hub, Relation heap, const WorkKey& key) {
    pass_faults(pg::FaultPoint::kFastpathAck);
    with_queue(hub, heap, [&key](QueueTable& table) {
        renew_snapshot(&table);
        if (find_row(&table, key)) {
            (void)delete_row(table, true);
        }
    });
}

pg::RowHint set_deadline_directly(const Hub& hub, Relation heap, const WorkKey& key,
                                  int64 locked_until) {
    pass_faults(pg::FaultPoint::kFastpathRenew);
    return with_queue(hub, heap, [&key, locked_until](QueueTable& table) {
        renew_snapshot(&table);
        if (!find_row(&table, key)) {
            return pg::RowHint{};
        }
        const NewVersion version = copy_row(table, Owner::kKeep, std::nullopt);
        version.columns->locked_until = locked_until;
        change_held_row(table, version);
        return place_in_heap(table, version);
    });
}

void release_directly(const Hub& hub, Relation heap, const WorkKey& key, int32 attempt,
                      std::optional<int64> visible_at) {
    pass_faults(pg::FaultPoint::kFastpathAbandon);
    with_queue(hub, heap, [&](QueueTable& table) {
        renew_snapshot(&table);
        if (!find_row(&table, key)) {
            return;
        }
        const NewVersion version = copy_row(table, Owner::kSet, std::nullopt);
        version.columns->locked_until = 0;
        version.columns->nonce_hi = 0;
        version.columns->nonce_lo = 0;
        version.columns->lease_inc = 0;
        version.columns->attempt_count = attempt;
        if (visible_at) {
            version.columns->due = delayed_due(*visible_at);
            version.columns->visible_at = core::ms_to_pg_us(*visible_at);
        }
        change_held_row(table, version);
    });
}

int64 repair_cursors(const Hub& hub, int64 age_ms) {
    constexpr int kMost = 1024;
    auto* keys = static_cast<pg::CursorKey*>(palloc(sizeof(pg::CursorKey) * kMost));
    const int count = pg::cursors_to_check(hub.relations.worker_queue, age_ms, keys, kMost);
    Relation heap = count == 0 ? nullptr : open_for_direct_access(hub);
    if (heap == nullptr) {
        return 0;
    }
    return with_queue(hub, heap, [&](QueueTable& table) {
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
