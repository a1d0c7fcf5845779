// Finding free rows of table worker_queue, in the order in which a fetch takes them.
//
// Touches  <hub>.worker_queue; the claim cursors
// Locks    worker rows, without waiting
// Must not decide whether a row is free: core/transitions/work.hpp does
#include <algorithm>

#include "core/time.hpp"
#include "pg/list.hpp"
#include "store/readiness.hpp"
#include "store/table/walk.hpp"
#include "store/work_rows.hpp"

namespace belay::store {

namespace {

// A scan of the key in one lane and slot, from a place on: of the rows never delayed in the order
// of their ids, or of the delayed ones in the order (due, id).
IndexScanDesc scan_lane(Table* table, int32 lane, int16 slot, bool delayed, int64 due, int64 id) {
    ScanKeys keys;
    keys.int4(lane).int2(slot);
    if (!delayed) {
        return begin_scan(table, kByKey, keys.int8(0).int8_from(id));
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
    return begin_scan(table, kByKey, keys);
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
// put the cursor back; for ids that were not drawn yet that is not even needed.
cursors::Place end_of(const Hub& hub, const Part& part) {
    if (part.delayed || (part.lane & 1) != 0) {
        return cursors::kLastPlace;
    }
    return {0, last_work_id(hub) + 1};
}

// One look at the free rows of a part behind a place, with one reading of its cursor.
struct Look {
    Table* table;
    const Part& part;
    const cursors::Place& after;
    const pg::Clock& clock;
    const cursors::CursorKey& key;
    const cursors::CursorView& view;
    bool with_held;
    int64 before;  // the clock before the first snapshot
    int64 now;     // after the last one
    int64* next;
    bool found = false;
    bool go_on = true;

    void renew() {
        renew_snapshot(table);
        now = clock.now();
    }
    // Visits table->row, which is free. Returns whether it has an entry now.
    template <typename Visit>
    bool take(Visit& visit) {
        const Verdict verdict = visit(now);
        found = found || verdict.found;
        go_on = verdict.go_on;
        return verdict.passed;
    }
};

// Visits the rows that have entries below the cursor's position and are due.
template <typename Visit>
void visit_entries(Look& look, Visit& visit) {
    constexpr int kDue = 16;
    cursors::DueRow due[kDue];
    cursors::Place last = look.after;
    int count = kDue;
    while (look.go_on && count == kDue) {
        count =
            cursors::due_rows(look.key, look.view, look.before, look.with_held, last, due, kDue);
        // Entries first, then the snapshot: a row that is not seen is gone then, not new.
        look.renew();
        for (int i = 0; look.go_on && i < count; ++i) {
            last = due[i].place;
            if (!find_work(look.table, {look.part.lane, look.part.slot, last.due, last.id})) {
                cursors::correct_entry(look.key, due[i], std::nullopt);
            } else if (const int64 at = free_time(*look.table); at > look.now) {
                cursors::correct_entry(look.key, due[i], at);
                *look.next = std::min(*look.next, at);
            } else {
                look.take(visit);
            }
        }
    }
}

// Visits the rows from a place on that is not below the cursor's position, and advances the cursor
// past those that need no look without an entry. from_cursor: no live row lies between the two.
template <typename Visit>
void visit_from(Look& look, const cursors::Place& from, bool from_cursor, Visit& visit) {
    const cursors::CursorView& view = look.view;
    const Part& part = look.part;
    Table* const table = look.table;
    look.renew();
    bool blocked = false;
    bool more = false;
    cursors::Place end = from;
    // False: neither this row nor a later one is due.
    const auto probe_row = [&] {
        const WorkKey row = key_of_row(*table);
        const cursors::Place place = place_of(row);
        if (part.delayed && row.due > look.now) {
            end = blocked ? end : place;
            *look.next = std::min(*look.next, row.due);
            return false;
        }
        bool passed = false;
        if (const int64 at = free_time(*table); at > look.now) {
            *look.next = std::min(*look.next, at);
            passed = !blocked && view.known && cursors::enter_row(look.key, view, place, at);
        } else {
            passed = look.take(visit);
        }
        if (!blocked) {
            blocked = !passed;
            end = passed ? cursors::Place{place.due, place.id + 1} : place;
        }
        return true;
    };
    // No live row without an entry lies below the position: the one that is there comes first, and
    // need not be looked for.
    cursors::Place seen = look.after;
    if (from_cursor && from == view.position &&
        find_work_at(*table, view.head, {part.lane, part.slot, from.due, from.id}) && probe_row()) {
        seen = from;
        more = true;
    }
    if (look.go_on) {
        IndexScanDesc scan =
            scan_lane(table, part.lane, part.slot, part.delayed, from.due, from.id);
        while (look.go_on && (more = next_row(*table, scan))) {
            const cursors::Place place = place_of(key_of_row(*table));
            if (place == look.after || place == seen) {
                continue;
            }
            if (!probe_row()) {
                break;
            }
            CHECK_FOR_INTERRUPTS();
        }
        index_endscan(scan);
    }
    if (from_cursor && view.known) {
        if (look.go_on && !more && !blocked) {
            end = std::max(end, end_of(table->hub, part));
        }
        cursors::advance_cursor(look.key, view, end);
    }
}

// Visits the free rows of a part in order, behind a place. First those that have entries below the
// cursor, then the others. visit(now) sees table->row. Looks again if it found nothing and
// something has changed meanwhile. Rows that a running transaction has leased are visited only
// with_held: a walk that takes rows of one part would fail on them; one that compares the heads of
// parts tries them as SQL does, and so knows that it lost them. next is when a row that is not free
// yet may be, at the earliest; it holds for a walk over the whole part that has visited none.
template <typename Visit>
void walk(Table* table, const Part& part, const cursors::Place& after, const pg::Clock& clock,
          bool with_held, int64* next, Visit visit) {
    const cursors::CursorKey key = cursor_of(table->hub, part.lane, part.slot, part.delayed);
    while (true) {
        CHECK_FOR_INTERRUPTS();
        const cursors::CursorView view =
            may_skip_by_memory() ? cursors::read_cursor(key) : cursors::kNoCursor;
        if (view.known && !view.settled && is_settled_since(view.made)) {
            cursors::settle_cursor(key, view);
        }
        const int64 before = clock.now();
        *next = view.next_free > before ? view.next_free : core::kNever;
        Look look{table, part, after, clock, key, view, with_held, before, before, next};
        bool looked = false;
        if (view.next_free <= before || (with_held && view.held)) {
            looked = true;
            visit_entries(look, visit);
        }
        const cursors::Place head = std::min(view.position, view.own);
        // Else there may be rows between the two.
        const bool from_cursor = after == cursors::kFirstPlace || after < head;
        const cursors::Place from = std::max(head, after);
        if (part.delayed && from.due > before) {
            *next = std::min(*next, from.due);
        } else if (look.go_on && from != cursors::kLastPlace) {
            looked = true;
            visit_from(look, from, from_cursor, visit);
        }
        if (look.found || !view.known || !looked) {
            return;
        }
        const cursors::CursorView later = cursors::read_cursor(key);
        *next = std::min(*next, later.next_free);
        if (later.changes == view.changes &&
            (later.next_free <= before || later.next_free > look.now)) {
            return;
        }
    }
}

// Whether the part has a free row.
bool has_free_row(Table* table, const Part& part, const pg::Clock& clock) {
    bool found = false;
    int64 next = core::kNever;
    walk(table, part, cursors::kFirstPlace, clock, true, &next, [&found](int64) {
        found = true;
        return Verdict{.found = true, .go_on = false, .passed = false};
    });
    return found;
}

}  // namespace

LeasedRows take_heads(Tables& tables, int32 lane, int16 slot, std::optional<std::string_view> tag,
                      bool with_sessions, const LeaseTerms& terms, int limit) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    auto* leased = static_cast<Leased*>(palloc(sizeof(Leased) * static_cast<Size>(limit)));
    int count = 0;
    with_table(tables, TableId::kWorkerQueue, RowExclusiveLock, [&](Table& table) {
        if (has_free_row(&table, {lane, slot, true}, *terms.clock) ||
            (with_sessions && (has_free_row(&table, {lane + 1, slot, false}, *terms.clock) ||
                               has_free_row(&table, {lane + 1, slot, true}, *terms.clock)))) {
            return;
        }
        int64 next = core::kNever;
        walk(&table, {lane, slot, false}, cursors::kFirstPlace, *terms.clock, false, &next,
             [&](int64 now) {
                 if (get(table, work::kTag) != tag) {
                     return Verdict{.found = false, .go_on = true, .passed = false};
                 }
                 const WorkKey key = key_of_row(table);
                 const auto row = lease_row(&table, terms.grant_at(now));
                 if (!row) {
                     return Verdict{
                         .found = false,
                         .go_on = true,
                         .passed = cursors::has_entry(cursor_of(table.hub, key), place_of(key))};
                 }
                 leased[count++] = *row;
                 return Verdict{.found = true,
                                .go_on = count < limit,
                                .passed = publish_grant(table.hub, *row, terms.grant_at(now))};
             });
    });
    return {leased, count};
}

std::span<const int32> lanes_to_fetch(Tables& tables, int32 after, int32 up_to, bool with_sessions,
                                      int limit) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    pg::List<int32> lanes;
    with_table(tables, TableId::kWorkerQueue, AccessShareLock, [&](Table& table) {
        renew_snapshot(&table);
        IndexScanDesc scan =
            pg::begin_index_scan(table.heap, index_at(&table, kByKey), table.snapshot, 1);
        scan->xs_want_itup = true;
        int32 last = after;
        const auto lane = [scan] { return DatumGetInt32(key_column(scan, 1)); };
        skip_scan(
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

LaneHeads peek_lanes(Tables& tables, std::span<const int32> lanes, std::span<const int16> slots,
                     const pg::Clock& clock) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    pg::List<Candidate> found;
    pg::List<std::optional<int64>> empty_until;
    with_table(tables, TableId::kWorkerQueue, AccessShareLock, [&](Table& table) {
        for (const int32 lane : lanes) {
            const int before = found.count;
            int64 first_free = core::kNever;
            for (const int16 slot : slots) {
                for (const bool delayed : {false, true}) {
                    int64 next = core::kNever;
                    walk(&table, {lane, slot, delayed}, cursors::kFirstPlace, clock, true, &next,
                         [&](int64) {
                             found.add(candidate_of(table));
                             return Verdict{.found = true, .go_on = false, .passed = false};
                         });
                    first_free = std::min(first_free, next);
                }
            }
            empty_until.add(found.count == before ? std::optional(first_free) : std::nullopt);
        }
    });
    return {{found.items, found.count}, empty_until.span()};
}

Candidates peek_lane(Tables& tables, int32 lane, std::span<const int16> slots, bool delayed,
                     int64 after_due, int64 after_id, const pg::Clock& clock, int limit) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    pg::List<Candidate> found;
    const cursors::Place after = (delayed ? after_due : after_id) <= 0
                                     ? cursors::kFirstPlace
                                     : cursors::Place{delayed ? after_due : 0, after_id};
    with_table(tables, TableId::kWorkerQueue, AccessShareLock, [&](Table& table) {
        for (const int16 slot : slots) {
            int left = limit;
            int64 next = core::kNever;
            walk(&table, {lane, slot, delayed}, after, clock, true, &next, [&](int64) {
                found.add(candidate_of(table));
                return Verdict{.found = true, .go_on = --left > 0, .passed = false};
            });
        }
    });
    return {found.items, found.count};
}

int64 repair_cursors(Tables& tables, int64 age_ms) {
    constexpr int kMost = 1024;
    auto* keys = static_cast<cursors::CursorKey*>(palloc(sizeof(cursors::CursorKey) * kMost));
    const int count =
        cursors::cursors_to_check(tables.hub.relations.worker_queue, age_ms, keys, kMost);
    if (count == 0) {
        return 0;
    }
    return with_table(tables, TableId::kWorkerQueue, AccessShareLock, [&](Table& table) {
        int64 repaired = 0;
        for (int i = 0; i < count; ++i) {
            const cursors::CursorView view = cursors::read_cursor(keys[i]);
            renew_snapshot(&table);
            IndexScanDesc scan = scan_lane(&table, keys[i].lane, keys[i].slot, keys[i].delayed != 0,
                                           cursors::kFirstPlace.due, cursors::kFirstPlace.id);
            while (next_row(table, scan)) {
                const cursors::Place place = place_of(key_of_row(table));
                if (!view.known || place >= view.position) {
                    break;
                }
                if (cursors::repair_cursor(keys[i], place, free_time(table))) {
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
