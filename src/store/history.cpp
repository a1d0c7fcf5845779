// Rows of table history: read and append the events of an execution.
//
// Touches  <hub>.history
// Locks    nothing: a call that writes events of an instance holds its exclusion
// Must not decide which events may be stored
#include "store/history.hpp"

#include <algorithm>

#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/rows/history.hpp"
#include "store/statements.hpp"
#include "store/turn_rows.hpp"

namespace belay::store {

namespace {

constexpr auto kList = query<In<Text, int64, int64, Maybe<int64>>, Listing>(R"sql(
    SELECT h.execution_id, h.event_id, h.event_type, h.event_data, h.created_at
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2 AND h.event_id {>} $3
     ORDER BY h.event_id
     LIMIT $4
)sql");

constexpr auto kTexts = query<In<Text, int64>, Listing>(R"sql(
    SELECT h.event_data
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2
     ORDER BY h.event_id
)sql");

// Visits the events of an execution from one on, in order, while visit(id) wants more.
template <typename Visit>
void each_event(Table* table, std::string_view instance_id, int64 execution_id, int64 from,
                Visit visit) {
    IndexScanDesc scan =
        begin_scan(table, kByKey, instance_keys(instance_id).int8(execution_id).int8_from(from));
    while (next_row(*table, scan) && visit(get(*table, event::kEventId))) {
        CHECK_FOR_INTERRUPTS();
    }
    index_endscan(scan);
}

}  // namespace

std::optional<int64> latest_execution_with_history(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return reading(tables, TableId::kHistory, [&](Table& table) -> std::optional<int64> {
        if (!find_last(&table, kByKey, instance_keys(instance_id))) {
            return std::nullopt;
        }
        return get(table, event::kExecutionId);
    });
}

int64 last_event_id(Tables& tables, std::string_view instance_id, int64 execution_id) {
    pass_turn_faults();
    return reading(tables, TableId::kHistory, [&](Table& table) -> int64 {
        return find_last(&table, kByKey, instance_keys(instance_id).int8(execution_id))
                   ? get(table, event::kEventId)
                   : 0;
    });
}

std::span<const StoredEvent> read_events(Tables& tables, std::string_view instance_id,
                                         int64 execution_id, int64 after_event_id, int64 limit) {
    pass_turn_faults();
    return reading(tables, TableId::kHistory, [&](Table& table) {
        pg::List<StoredEvent> found;
        each_event(&table, instance_id, execution_id, after_event_id, [&](int64 id) {
            if (id != after_event_id) {
                bool null = false;
                found.add({id, datumCopy(column(table, event::kData, &null), false, -1)});
            }
            return found.count < limit;
        });
        return found.span();
    });
}

int64 count_stored(Tables& tables, std::string_view instance_id, int64 execution_id,
                   std::span<const int64> sorted_ids) {
    pass_turn_faults();
    return looking(tables, TableId::kHistory, [&](Table& table) {
        int64 count = 0;
        // New events usually come behind all stored ones: then there is nothing to visit.
        each_event(&table, instance_id, execution_id, sorted_ids.front(), [&](int64 id) {
            count += std::binary_search(sorted_ids.begin(), sorted_ids.end(), id) ? 1 : 0;
            return id < sorted_ids.back();
        });
        return count;
    });
}

void insert_events(Tables& tables, std::string_view instance_id, int64 execution_id,
                   const NewEvents& events, int64 now) {
    pass_turn_faults();
    with_table(tables, TableId::kHistory, RowExclusiveLock, [&](Table& table) {
        const Datum instance = pg::text_datum(instance_id);
        const auto fill = [&](std::size_t i, NewRow* row) {
            row->set(event::kInstanceId, instance)
                .put(event::kExecutionId, execution_id)
                .put(event::kEventId, events.ids[i])
                .put(event::kType, events.types[i])
                .put(event::kData, events.texts[i])
                .timestamp(event::kCreatedAt, now);
        };
        insert_rows(&table, events.ids.size(), fill, [](std::size_t, const ItemPointerData&) {});
    });
}

Listing list_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                    int64 after_event_id, std::optional<int64> limit) {
    return run(hub, kList, instance_id, execution_id, after_event_id, limit);
}

Listing event_texts(const Hub& hub, std::string_view instance_id, int64 execution_id) {
    return run(hub, kTexts, instance_id, execution_id);
}

}  // namespace belay::store
