// Rows of table history_turns: read and append the events of an execution.
//
// Touches  <hub>.history_turns
// Locks    nothing: a call that writes events of an instance holds its exclusion
// Must not decide which events may be stored
#include "store/history.hpp"

#include <algorithm>
#include <numeric>

#include "pg/datum.hpp"
#include "pg/list.hpp"
#include "store/rows/history.hpp"
#include "store/statements.hpp"
#include "store/turn_rows.hpp"

namespace belay::store {

namespace {

// Within a row events are in order; the server sorts row by row, as the index yields them.
constexpr auto kList = query<In<Text, int64, int64, Maybe<int64>>, Listing>(R"sql(
    SELECT t.execution_id, t.first_event_id {+} (e.place {-} 1), e.event_type, e.event_data,
           t.created_at
      FROM {hub}.history_turns AS t
     CROSS JOIN LATERAL ROWS FROM (
        pg_catalog.unnest(t.event_types), pg_catalog.unnest(t.event_data))
      WITH ORDINALITY AS e (event_type, event_data, place)
     WHERE t.instance_id {=} $1 AND t.execution_id {=} $2 AND t.last_event_id {>} $3
       AND (t.first_event_id {+} (e.place {-} 1)) {>} $3
     ORDER BY t.last_event_id, e.place
     LIMIT $4
)sql");

constexpr auto kTexts = query<In<Text, int64>, Listing>(R"sql(
    SELECT e.event_data
      FROM {hub}.history_turns AS t
     CROSS JOIN LATERAL pg_catalog.unnest(t.event_data) WITH ORDINALITY AS e (event_data, place)
     WHERE t.instance_id {=} $1 AND t.execution_id {=} $2
     ORDER BY t.last_event_id, e.place
)sql");

// Visits the rows of an execution that have events from one on, in order, while visit(row) wants
// more.
template <typename Visit>
void each_turn(Table* table, std::string_view instance_id, int64 execution_id, int64 from,
               Visit visit) {
    IndexScanDesc scan =
        begin_scan(table, kByKey, instance_keys(instance_id).int8(execution_id).int8_from(from));
    while (next_row(*table, scan) && visit(fixed_columns<history::Row>(*table))) {
        CHECK_FOR_INTERRUPTS();
    }
    index_endscan(scan);
}

// ---------------------------------------------------------------- packing

// A page of events is read by whole rows: so large may a row be.
constexpr std::size_t kMostEvents = 128;
constexpr std::size_t kMostBytes = std::size_t{64} << 10;

// The events from one on that go into one row.
std::size_t events_of_row(const NewEvents& events, std::size_t from) {
    std::size_t bytes = events.texts[from].size();
    std::size_t at = from + 1;
    while (at < events.ids.size() && at - from < kMostEvents &&
           events.ids[at] == events.ids[at - 1] + 1 &&
           bytes + events.texts[at].size() <= kMostBytes) {
        bytes += events.texts[at++].size();
    }
    return at - from;
}

NewEvents some_of(const NewEvents& events, std::size_t from, std::size_t count) {
    return {events.ids.subspan(from, count), events.types.subspan(from, count),
            events.texts.subspan(from, count), events.jsonb_bytes.subspan(from, count)};
}

template <typename T>
std::span<const T> permuted(std::span<const T> values, const std::size_t* order) {
    auto* moved = static_cast<T*>(palloc(sizeof(T) * (values.size() + 1)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        moved[i] = values[order[i]];
    }
    return {moved, values.size()};
}

NewEvents sorted_by_id(const NewEvents& events) {
    if (std::is_sorted(events.ids.begin(), events.ids.end())) {
        return events;
    }
    const std::size_t count = events.ids.size();
    auto* order = static_cast<std::size_t*>(palloc(sizeof(std::size_t) * count));
    std::iota(order, order + count, std::size_t{0});
    std::sort(order, order + count,
              [&events](std::size_t a, std::size_t b) { return events.ids[a] < events.ids[b]; });
    return {permuted(events.ids, order), permuted(events.types, order),
            permuted(events.texts, order), permuted(events.jsonb_bytes, order)};
}

// Of all together, if it is known of each.
std::optional<int64> jsonb_bytes_of(const NewEvents& events) {
    int64 sum = 0;
    for (const std::optional<int64>& bytes : events.jsonb_bytes) {
        if (!bytes) {
            return std::nullopt;
        }
        sum += *bytes;
    }
    return sum;
}

}  // namespace

int64 StoredTurn::least_bytes() const {
    const int64 count = last_event_id - first_event_id + 1;
    constexpr int64 kAround =
        VARHDRSZ + sizeof(int32) - 1;  // of a text: its length, and up to that
    return static_cast<int64>(toast_raw_datum_size(texts)) - ARR_OVERHEAD_NONULLS(1) -
           count * kAround;
}

std::optional<int64> latest_execution_with_history(Tables& tables, std::string_view instance_id) {
    pass_turn_faults();
    return reading(tables, TableId::kHistory, [&](Table& table) -> std::optional<int64> {
        if (!find_last(&table, kByKey, instance_keys(instance_id))) {
            return std::nullopt;
        }
        return get(table, history::kExecutionId);
    });
}

int64 last_event_id(Tables& tables, std::string_view instance_id, int64 execution_id) {
    pass_turn_faults();
    return reading(tables, TableId::kHistory, [&](Table& table) -> int64 {
        return find_last(&table, kByKey, instance_keys(instance_id).int8(execution_id))
                   ? get(table, history::kLastEventId)
                   : 0;
    });
}

std::span<const StoredTurn> read_turns(Tables& tables, std::string_view instance_id,
                                       int64 execution_id, int64 after_event_id, int limit) {
    pass_turn_faults();
    return reading(tables, TableId::kHistory, [&](Table& table) {
        pg::List<StoredTurn> found;
        each_turn(&table, instance_id, execution_id, after_event_id, [&](const history::Row& row) {
            if (row.last_event_id != after_event_id) {
                bool null = false;
                found.add({row.first_event_id, row.last_event_id, get(table, history::kJsonbBytes),
                           datumCopy(column(table, history::kData, &null), false, -1)});
            }
            return found.count < limit;
        });
        return found.span();
    });
}

StoredEvents find_stored(Tables& tables, std::string_view instance_id, int64 execution_id,
                         std::span<const int64> sorted_ids) {
    pass_turn_faults();
    return writing(tables, TableId::kHistory, [&](Table& table) {
        StoredEvents found{};
        // New events usually come behind all stored ones: then there is nothing to visit.
        each_turn(
            &table, instance_id, execution_id, sorted_ids.front(), [&](const history::Row& row) {
                found.reach = true;
                found.same +=
                    std::upper_bound(sorted_ids.begin(), sorted_ids.end(), row.last_event_id) -
                    std::lower_bound(sorted_ids.begin(), sorted_ids.end(), row.first_event_id);
                return row.last_event_id < sorted_ids.back();
            });
        return found;
    });
}

void insert_events(Tables& tables, std::string_view instance_id, int64 execution_id,
                   const NewEvents& events, int64 now) {
    pass_turn_faults();
    with_table(tables, TableId::kHistory, RowExclusiveLock, [&](Table& table) {
        const NewEvents sorted = sorted_by_id(events);
        const Datum instance = pg::text_datum(instance_id);
        const auto fill = [&](const NewEvents& some, NewRow* row) {
            row->set(history::kInstanceId, instance)
                .put(history::kExecutionId, execution_id)
                .put(history::kFirstEventId, some.ids.front())
                .put(history::kLastEventId, some.ids.back())
                .timestamp(history::kCreatedAt, now)
                .put(history::kTypes, some.types)
                .set(history::kData, pg::packed(pg::text_array_datum(some.texts)))
                .put(history::kJsonbBytes, jsonb_bytes_of(some));
        };
        const std::size_t first = events_of_row(sorted, 0);
        if (first == sorted.ids.size()) {
            NewRow row;
            fill(sorted, &row);
            (void)insert_row(&table, &row);
            return;
        }
        pg::List<NewEvents> portions;
        portions.add(some_of(sorted, 0, first));
        for (std::size_t at = first; at < sorted.ids.size();) {
            const std::size_t count = events_of_row(sorted, at);
            portions.add(some_of(sorted, at, count));
            at += count;
        }
        insert_rows(
            &table, static_cast<std::size_t>(portions.count),
            [&](std::size_t i, NewRow* row) { fill(portions.items[i], row); },
            [](std::size_t, const ItemPointerData&) {});
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
