// Free rows of sessions in table worker_queue: those of one session, and the head of each.
//
// Touches  <hub>.worker_queue, by its index of sessions; reads <hub>.sessions
// Locks    nothing
// Must not decide whether a row is free: core/transitions/work.hpp does. What is found are
//          candidates; a fetch asks again when it takes one.
#include <algorithm>

#include "pg/list.hpp"
#include "store/statements.hpp"
#include "store/table/walk.hpp"
#include "store/work_rows.hpp"

namespace belay::store {

namespace {

// Those of these sessions that another owner has. $1 sessions, $2 owner, $3 now, $4 incarnation.
constexpr auto kForeign = statement<In<ListOf<Text>, Text, int64, int32>, Out<Text>>(R"sql(
    SELECT s.session_id
      FROM {hub}.sessions AS s
     WHERE s.session_id {=} ANY ($1) AND s.locked_until {>} $3 AND s.lease_inc {=} $4
       AND s.worker_id {<>} $2
)sql");

struct Part {
    int32 lane;
    int16 slot;
    bool delayed;
};

// A scan of a session's rows in a part, in order, from a place on.
IndexScanDesc scan_session(Table* table, std::string_view session_id, const Part& part,
                           const cursors::Place& from) {
    ScanKeys keys;
    keys.text(session_id).int4(part.lane).int2(part.slot);
    if (!part.delayed) {
        return begin_scan(table, work::kBySession, keys.int8(0).int8_from(from.id));
    }
    // Its start must not be a row that was never delayed.
    const int64 due = std::max<int64>(from.due, 1);
    const int64 id = from.due < 1 ? PG_INT64_MIN : from.id;
    return begin_place_scan(table, work::kBySession, keys, INT8OID, F_BTINT8CMP, Int64GetDatum(due),
                            INT8OID, F_BTINT8CMP, Int64GetDatum(id));
}

// Visits the session's free rows behind a place, in order. visit() sees table->row, and says
// whether to continue.
template <typename Visit>
void each_free_row(Table* table, std::string_view session_id, const Part& part,
                   const cursors::Place& after, int64 now, Visit visit) {
    IndexScanDesc scan = scan_session(table, session_id, part, after);
    while (next_row(*table, scan)) {
        CHECK_FOR_INTERRUPTS();
        const WorkKey key = key_of_row(*table);
        if (key.due > now) {
            break;  // neither it nor a later one is due
        }
        if (place_of(key) > after && free_time(*table) <= now && !visit()) {
            break;
        }
    }
    index_endscan(scan);
}

// Leaves out the rows of sessions that another owner has.
void drop_foreign(const Hub& hub, std::string_view owner, int64 now, pg::List<Candidate>* heads) {
    if (heads->count == 0) {
        return;
    }
    const auto ids =
        column(std::span<const Candidate>(heads->span()),
               [](const Candidate& head) -> std::string_view { return *head.session_id; });
    const auto foreign = run(hub, kForeign, ids, owner, now, hub.incarnation).values();
    std::sort(foreign.begin(), foreign.end());
    const auto* const end =
        std::remove_if(heads->begin(), heads->end(), [foreign](const Candidate& head) {
            return std::binary_search(foreign.begin(), foreign.end(), *head.session_id);
        });
    heads->count = static_cast<int>(end - heads->begin());
}

}  // namespace

Candidates peek_session(Tables& tables, std::string_view session_id, int32 lane, int16 slot,
                        bool delayed, int64 after_due, int64 after_id, int64 now, int limit) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    pg::List<Candidate> found;
    looking(tables, TableId::kWorkerQueue, [&](Table& table) {
        each_free_row(&table, session_id, {lane, slot, delayed}, {after_due, after_id}, now, [&] {
            found.add(candidate_of(table));
            return found.count < limit;
        });
    });
    return {found.items, found.count};
}

Candidates peek_sessions(Tables& tables, std::string_view owner, int32 lane, int16 slot,
                         bool delayed, int64 after_due, int64 after_id, int64 now) {
    pass_work_faults(pg::FaultPoint::kHotTableFetch);
    pg::List<Candidate> heads;
    looking(tables, TableId::kWorkerQueue, [&](Table& table) {
        IndexScanDesc scan =
            pg::begin_index_scan(table.heap, index_at(&table, work::kBySession), table.snapshot, 1);
        scan->xs_want_itup = true;
        std::optional<std::string_view> last;
        const auto session = [scan] { return pg::text_view(key_column(scan, 1)); };
        skip_scan(
            scan,
            [&] {
                ScanKeys keys;
                keys.add(last ? BTGreaterStrategyNumber : BTGreaterEqualStrategyNumber,
                         last ? F_TEXT_GT : F_TEXT_GE, pg::text_datum(last.value_or("")));
                index_rescan(scan, keys.keys, keys.count, nullptr, 0);
            },
            [&] { return session() == *last; },
            [&] {
                last = ValueOf<TEXTOID>::load(key_column(scan, 1));
                each_free_row(&table, *last, {lane, slot, delayed}, {after_due, after_id}, now,
                              [&] {
                                  heads.add(candidate_of(table));
                                  return false;
                              });
                return true;
            });
        index_endscan(scan);
    });
    drop_foreign(tables, owner, now, &heads);
    return {heads.items, heads.count};
}

}  // namespace belay::store
