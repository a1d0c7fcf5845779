// Walking over the live rows of a claim index, past the gaps that others have met before.
//
// A Stream is a range of an index:
//   key()                       the name of its gaps
//   open(table, from)           a scan that begins at that place, with index tuples
//   open_rest(table, from)      what comes behind that scan, or null
//   place(scan)                 the place of the scan's index tuple
//   ends(place)                 nothing is wanted from there on
#pragma once

#include "shmem/gaps.hpp"
#include "store/table/table.hpp"

namespace belay::store {

enum class WalkEnd {
    kStopped,  // the visitor has enough
    kEnded,
    kMissed,  // a row has appeared where the walk did not look: what it found is not all
};

// What a walk knows of gaps, and what it learns.
class GapWalk {
 public:
    GapWalk(const gaps::Key& key, const core::QueuePlace& after, uint32 worth)
        : key_(key), worth_from_(worth), after_(after), run_(after) {}

    // Reads the gaps. The snapshot comes after it.
    void read();
    // Where to begin. What was seen by an earlier snapshot says nothing under this one.
    core::QueuePlace begin();
    // The gap in which the place lies, or null.
    const core::Gap* gap_at(const core::QueuePlace& place);
    void passed(const core::Gap& gap);

    bool is_behind(const core::QueuePlace& place) const { return place > after_; }
    // A live row, or one of which that is not known.
    void met_live(const core::QueuePlace& place);
    // True: it is time for a new snapshot, so that what was learned is not lost. Then read() says
    // anew what is known, and the walk continues from begin().
    bool met_dead(const core::QueuePlace& place);

    WalkEnd end();

 private:
    void record(const core::QueuePlace& to);
    bool has_missed() const;

    gaps::Key key_;
    uint32 worth_from_;
    gaps::View view_{};
    core::QueuePlace after_;
    core::QueuePlace run_;     // no live row was met behind it
    core::QueuePlace last_{};  // as far as that is known
    core::QueuePlace but_one_{};
    uint32 dead_ = 0;     // entries met since
    bool worth_ = false;  // the run touches a gap, so that it costs nothing to record it
    bool renewed_ = false;
    bool missed_ = false;
    int next_ = 0;  // gap
};

// Whether the row at a place in the heap is live, but for what this transaction has done to it. An
// index entry leads there.
bool is_live_for_others(const Table& table, const ItemPointerData& tid);

// So many dead entries begin a gap. With as many, what a user has written into the tables of a
// small queue by hand is found at once.
inline constexpr uint32 kGapWorth = 64;

// Visits the live rows of the stream behind a place, in order. refresh() takes a new snapshot for
// the table; visit() sees table->row, and says whether to continue.
template <typename Stream, typename Refresh, typename Visit>
WalkEnd walk_live(Table* table, const Stream& stream, const core::QueuePlace& after,
                  Refresh refresh, Visit visit, uint32 gap_worth = kGapWorth) {
    GapWalk walk(stream.key(), after, gap_worth);
    walk.read();
    refresh();
    core::QueuePlace from = walk.begin();
    IndexScanDesc scan = stream.open(table, from);
    // What this transaction has deleted or changed, it does not see; but it may be rolled back.
    bool has_written = TransactionIdIsValid(GetTopTransactionIdIfAny());
    while (true) {
        CHECK_FOR_INTERRUPTS();
        if (index_getnext_tid(scan, ForwardScanDirection) == nullptr) {
            index_endscan(scan);
            scan = stream.open_rest(table, from);
            if (scan == nullptr) {
                return walk.end();
            }
            from = core::kQueueStart;  // the rest has none
            continue;
        }
        const core::QueuePlace place = stream.place(scan);
        if (!walk.is_behind(place)) {
            continue;
        }
        if (const core::Gap* gap = walk.gap_at(place)) {
            from = gap->to;
            walk.passed(*gap);
            index_endscan(scan);
            scan = stream.open(table, from);
            continue;
        }
        if (stream.ends(place)) {
            walk.met_live(place);
            index_endscan(scan);
            return walk.end();
        }
        const ItemPointerData tid = scan->xs_heaptid;
        if (index_fetch_heap(scan, table->row)) {
            walk.met_live(place);
            if (!visit()) {
                index_endscan(scan);
                return WalkEnd::kStopped;
            }
        } else if (has_written && is_live_for_others(*table, tid)) {
            walk.met_live(place);
        } else if (walk.met_dead(place)) {
            index_endscan(scan);
            walk.read();
            refresh();
            has_written = TransactionIdIsValid(GetTopTransactionIdIfAny());
            from = walk.begin();
            scan = stream.open(table, from);
        }
    }
}

// Looks for live rows in the gaps of a stream: an owner can change its tables by hand. Returns how
// many were found.
template <typename Stream>
int64 repair_gaps(Table* table, const Stream& stream) {
    const gaps::View view = gaps::read(stream.key());
    renew_snapshot(table);
    int64 repaired = 0;
    for (int i = 0; i < view.gaps.count; ++i) {
        const core::Gap& gap = view.gaps.list[i];
        core::QueuePlace from = gap.from;
        for (IndexScanDesc scan = stream.open(table, from); scan != nullptr;
             scan = stream.open_rest(table, from), from = core::kQueueStart) {
            while (index_getnext_tid(scan, ForwardScanDirection) != nullptr) {
                CHECK_FOR_INTERRUPTS();
                const core::QueuePlace place = stream.place(scan);
                if (place >= gap.to) {
                    break;
                }
                if (place > gap.from && index_fetch_heap(scan, table->row) &&
                    gaps::repair(stream.key(), place)) {
                    ++repaired;
                }
            }
            index_endscan(scan);
        }
    }
    return repaired;
}

// A scan that begins where keys and the last two columns of the index say, ROW(a, b) >= ROW($a,
// $b).
IndexScanDesc begin_place_scan(Table* table, int index, ScanKeys keys, Oid type_a,
                               RegProcedure compare_a, Datum a, Oid type_b, RegProcedure compare_b,
                               Datum b);
// The same without a place.
IndexScanDesc begin_place_scan(Table* table, int index, const ScanKeys& keys);

// Visits the first entry of each value of an index's first column, in order, as rescan() begins
// behind the last one. Values that lie side by side are found without a descent of the index.
// same() says whether an entry has the value of the last one that was visited; visit() says whether
// to continue. Dead entries count, too: a walk over the rows finds out.
template <typename Rescan, typename Same, typename Visit>
void skip_scan(IndexScanDesc scan, Rescan rescan, Same same, Visit visit) {
    constexpr int kSteps = 8;
    bool begun = false;
    while (true) {
        CHECK_FOR_INTERRUPTS();
        bool found = false;
        for (int step = 0; begun && !found && step < kSteps; ++step) {
            if (index_getnext_tid(scan, ForwardScanDirection) == nullptr) {
                return;
            }
            found = !same();
        }
        if (!found) {
            rescan();
            begun = true;
            if (index_getnext_tid(scan, ForwardScanDirection) == nullptr) {
                return;
            }
        }
        if (!visit()) {
            return;
        }
    }
}

// A column of the scan's index tuple.
inline Datum key_column(IndexScanDesc scan, int number) {
    bool null = false;
    return index_getattr(scan->xs_itup, number, scan->xs_itupdesc, &null);
}

}  // namespace belay::store
