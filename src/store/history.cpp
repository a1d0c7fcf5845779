#include "store/history.hpp"

#include "store/fast/turns.hpp"

namespace belay::store {

namespace {

constexpr Statement kLatest = query(R"sql(
    SELECT h.execution_id
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1
     ORDER BY h.execution_id DESC, h.event_id DESC
     LIMIT 1
)sql",
                                    TEXTOID);

constexpr Statement kRead = query(R"sql(
    SELECT h.event_id, h.event_data
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2 AND h.event_id {>} $3
     ORDER BY h.event_id
     LIMIT $4
)sql",
                                  TEXTOID, INT8OID, INT8OID, INT8OID);

constexpr Statement kList = query(R"sql(
    SELECT h.execution_id, h.event_id, h.event_type, h.event_data, h.created_at
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2 AND h.event_id {>} $3
     ORDER BY h.event_id
     LIMIT $4
)sql",
                                  TEXTOID, INT8OID, INT8OID, INT8OID);

constexpr Statement kTexts = query(R"sql(
    SELECT h.event_data
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2
     ORDER BY h.event_id
)sql",
                                   TEXTOID, INT8OID);

constexpr Statement kHasFrom = statement(R"sql(
    SELECT h.event_id
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2 AND h.event_id {>=} $3
     ORDER BY h.event_id
     LIMIT 1
)sql",
                                         TEXTOID, INT8OID, INT8OID);

constexpr Statement kCountStored = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} $2 AND h.event_id {=} ANY ($3)
)sql",
                                             TEXTOID, INT8OID, INT8ARRAYOID);

constexpr Statement kInsert =
    statement(R"sql(
    INSERT INTO {hub}.history (instance_id, execution_id, event_id, event_type, event_data, created_at)
    SELECT $1, $2, n.event_id, n.event_type, n.event_data, $6
      FROM ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4), pg_catalog.unnest($5))
           AS n(event_id, event_type, event_data)
)sql",
              TEXTOID, INT8OID, INT8ARRAYOID, TEXTARRAYOID, TEXTARRAYOID, TIMESTAMPTZOID);

}  // namespace

std::optional<int64> latest_execution_with_history(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kLatest, Params().text(instance_id));
    return rows.count == 0 ? std::nullopt : std::optional(rows.int8(0, 1));
}

EventPage read_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                      int64 after_event_id, int64 limit) {
    if (const auto events =
            direct::read_events(hub, instance_id, execution_id, after_event_id, limit)) {
        return {*events, std::nullopt};
    }
    const Rows rows = run(
        hub, kRead, Params().text(instance_id).int8(execution_id).int8(after_event_id).int8(limit));
    auto* events = static_cast<StoredEvent*>(palloc(sizeof(StoredEvent) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        events[i] = {rows.int8(i, 1), rows.datum(i, 2, TEXTOID)};
    }
    return {{events, static_cast<std::size_t>(rows.count)}, rows};
}

Rows list_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                 int64 after_event_id, std::optional<int64> limit) {
    return run(
        hub, kList,
        Params().text(instance_id).int8(execution_id).int8(after_event_id).optional_int8(limit));
}

Rows event_texts(const Hub& hub, std::string_view instance_id, int64 execution_id) {
    return run(hub, kTexts, Params().text(instance_id).int8(execution_id));
}

int64 count_stored(const Hub& hub, std::string_view instance_id, int64 execution_id,
                   int64 lowest_id, std::span<const int64> event_ids) {
    // New events usually come behind all stored ones: one probe tells.
    auto later = direct::has_event_from(hub, instance_id, execution_id, lowest_id);
    if (!later) {
        later = run(hub, kHasFrom, Params().text(instance_id).int8(execution_id).int8(lowest_id))
                    .count > 0;
    }
    if (!*later) {
        return 0;
    }
    return run(hub, kCountStored,
               Params().text(instance_id).int8(execution_id).datum(int8_array(event_ids)))
        .int8(0, 1);
}

void insert_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                   const NewEvents& events, int64 now) {
    if (direct::try_insert_events(hub, instance_id, execution_id, events, now)) {
        return;
    }
    run(hub, kInsert,
        Params()
            .text(instance_id)
            .int8(execution_id)
            .datum(int8_array(events.ids))
            .datum(text_array(events.types))
            .datum(text_array(events.texts))
            .timestamp(now));
}

}  // namespace belay::store
