// Gaps of a walk over a claim index: which are jumped over, and which are recorded.
//
// Touches  the gaps of the stream in shared memory, the table that it is given
// Must not record a stretch in which it has met a row that is live for others
#include "store/table/walk.hpp"

#include "store/readiness.hpp"

namespace belay::store {

void GapWalk::read() {
    next_ = 0;
    if (!may_skip_by_memory()) {
        view_ = {};
        return;
    }
    missed_ = missed_ || has_missed();
    view_ = gaps::read(key_);
    if (view_.known && !view_.settled && is_settled_since(view_.made)) {
        gaps::settle(key_, view_);
        view_ = gaps::read(key_);
    }
}

core::QueuePlace GapWalk::begin() {
    for (int i = 0; i < view_.gaps.count; ++i) {
        const core::Gap& gap = view_.gaps.list[i];
        if (gap.from <= run_ && run_ < gap.to) {
            passed(gap);
            return gap.to;
        }
    }
    return run_;
}

const core::Gap* GapWalk::gap_at(const core::QueuePlace& place) {
    while (next_ < view_.gaps.count && view_.gaps.list[next_].to <= place) {
        ++next_;
    }
    const core::Gap* gap = &view_.gaps.list[next_];
    return next_ < view_.gaps.count && gap->holds(place) ? gap : nullptr;
}

void GapWalk::passed(const core::Gap& gap) {
    but_one_ = last_;
    last_ = gap.to;
    worth_ = true;
}

void GapWalk::met_live(const core::QueuePlace& place) {
    record(place);
    run_ = place;
    last_ = place;
    dead_ = 0;
    worth_ = false;
}

bool GapWalk::met_dead(const core::QueuePlace& place) {
    constexpr uint32 kPortion = 1024;
    if (place != last_) {
        but_one_ = last_;
        last_ = place;
    }
    if (++dead_ < kPortion || !view_.settled || but_one_ <= run_) {
        return false;
    }
    // The next run begins inside of this one, so that the two overlap.
    record(last_);
    after_ = run_ = last_ = but_one_;
    dead_ = 0;
    worth_ = true;
    renewed_ = true;
    return true;
}

WalkEnd GapWalk::end() {
    record(last_);
    return missed_ || has_missed() ? WalkEnd::kMissed : WalkEnd::kEnded;
}

// With one snapshot only what the gaps hide can be missed. With several, also what has appeared
// where an older one was used, while what is ahead may have gone.
bool GapWalk::has_missed() const {
    return view_.known && gaps::missed(key_, view_, renewed_ ? last_ : core::kQueueStart);
}

void GapWalk::record(const core::QueuePlace& to) {
    if (dead_ > 0 && (worth_ || dead_ >= worth_from_)) {
        gaps::record(key_, view_, {run_, to, dead_});
    }
}

bool is_live_for_others(const Table& table, const ItemPointerData& tid) {
    // As the snapshot would see it before the first command of this transaction.
    SnapshotData before = *table.snapshot;
    before.curcid = FirstCommandId;
    ItemPointerData root = tid;
    return table_index_fetch_tuple_check(table.heap, &root, &before, nullptr);
}

IndexScanDesc begin_place_scan(Table* table, int index, const ScanKeys& keys) {
    IndexScanDesc scan =
        pg::begin_index_scan(table->heap, index_at(table, index), table->snapshot, keys.count);
    scan->xs_want_itup = true;
    index_rescan(scan, const_cast<ScanKey>(keys.keys), keys.count, nullptr, 0);
    return scan;
}

IndexScanDesc begin_place_scan(Table* table, int index, ScanKeys keys, Oid type_a,
                               RegProcedure compare_a, Datum a, Oid type_b, RegProcedure compare_b,
                               Datum b) {
    const auto column = static_cast<AttrNumber>(keys.count + 1);
    // The scan copies the keys but not the parts of a row key: they live as long as it does.
    auto* parts = static_cast<ScanKey>(palloc0(sizeof(ScanKeyData) * 2));
    ScanKeyEntryInitialize(&parts[0], SK_ROW_MEMBER, column, BTGreaterEqualStrategyNumber, type_a,
                           InvalidOid, compare_a, a);
    ScanKeyEntryInitialize(&parts[1], SK_ROW_MEMBER | SK_ROW_END,
                           static_cast<AttrNumber>(column + 1), BTGreaterEqualStrategyNumber,
                           type_b, InvalidOid, compare_b, b);
    ScanKeyData* row = &keys.keys[keys.count++];
    *row = {};
    row->sk_flags = SK_ROW_HEADER;
    row->sk_attno = column;
    row->sk_strategy = BTGreaterEqualStrategyNumber;
    row->sk_argument = PointerGetDatum(parts);
    return begin_place_scan(table, index, keys);
}

}  // namespace belay::store
