#include "store/kv.hpp"

#include "store/fast/turns.hpp"

namespace belay::store {

namespace {

constexpr Statement kPut = statement(R"sql(
    INSERT INTO {hub}.kv_delta (instance_id, key, value, last_updated_at_ms)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (instance_id, key) DO UPDATE SET value = $3, last_updated_at_ms = $4
)sql",
                                     TEXTOID, TEXTOID, TEXTOID, INT8OID);

constexpr Statement kBury = statement(R"sql(
    UPDATE {hub}.kv_delta AS d
       SET value = NULL, last_updated_at_ms = $2
     WHERE d.instance_id {=} $1
)sql",
                                      TEXTOID, INT8OID);

constexpr Statement kBuryStore = statement(R"sql(
    INSERT INTO {hub}.kv_delta (instance_id, key, value, last_updated_at_ms)
    SELECT s.instance_id, s.key, NULL, $2
      FROM {hub}.kv_store AS s
     WHERE s.instance_id {=} $1
    ON CONFLICT (instance_id, key) DO NOTHING
)sql",
                                           TEXTOID, INT8OID);

constexpr Statement kMerge = statement(R"sql(
    INSERT INTO {hub}.kv_store (instance_id, key, value, execution_id, last_updated_at_ms)
    SELECT d.instance_id, d.key, d.value, $2, d.last_updated_at_ms
      FROM {hub}.kv_delta AS d
     WHERE d.instance_id {=} $1 AND d.value IS NOT NULL
    ON CONFLICT (instance_id, key) DO UPDATE
       SET value = excluded.value,
           execution_id = excluded.execution_id,
           last_updated_at_ms = excluded.last_updated_at_ms
)sql",
                                       TEXTOID, INT8OID);

constexpr Statement kDeleteTombstoned = statement(R"sql(
    DELETE FROM {hub}.kv_store AS s
     USING {hub}.kv_delta AS d
     WHERE d.instance_id {=} $1 AND d.value IS NULL
       AND s.instance_id {=} $1 AND s.key {=} d.key
)sql",
                                                  TEXTOID);

constexpr Statement kEmpty = statement(R"sql(
    DELETE FROM {hub}.kv_delta AS d
     WHERE d.instance_id {=} $1
)sql",
                                       TEXTOID);

constexpr Statement kReadStore = query(R"sql(
    SELECT s.key, s.value, s.last_updated_at_ms
      FROM {hub}.kv_store AS s
     WHERE s.instance_id {=} $1
     ORDER BY s.key
)sql",
                                       TEXTOID);

constexpr Statement kReadValue = query(R"sql(
    SELECT d.value
      FROM {hub}.kv_delta AS d
     WHERE d.instance_id {=} $1 AND d.key {=} $2
    UNION ALL
    SELECT s.value
      FROM {hub}.kv_store AS s
     WHERE s.instance_id {=} $1 AND s.key {=} $2
     LIMIT 1
)sql",
                                       TEXTOID, TEXTOID);

constexpr Statement kReadValues = query(R"sql(
    SELECT d.key, d.value
      FROM {hub}.kv_delta AS d
     WHERE d.instance_id {=} $1 AND d.value IS NOT NULL
    UNION ALL
    SELECT s.key, s.value
      FROM {hub}.kv_store AS s
     WHERE s.instance_id {=} $1
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.kv_delta AS d
                        WHERE d.instance_id {=} $1 AND d.key {=} s.key)
     ORDER BY 1
)sql",
                                        TEXTOID);

}  // namespace

void put_delta(const Hub& hub, std::string_view instance_id, std::string_view key,
               std::optional<std::string_view> value, int64 updated_at) {
    run(hub, kPut, Params().text(instance_id).text(key).optional_text(value).int8(updated_at));
}

void clear_delta(const Hub& hub, std::string_view instance_id, int64 now) {
    run(hub, kBury, Params().text(instance_id).int8(now));
    run(hub, kBuryStore, Params().text(instance_id).int8(now));
}

void merge_delta(const Hub& hub, std::string_view instance_id, int64 execution_id) {
    if (!direct::has_delta(hub, instance_id).value_or(true)) {
        return;
    }
    run(hub, kMerge, Params().text(instance_id).int8(execution_id));
    run(hub, kDeleteTombstoned, Params().text(instance_id));
    run(hub, kEmpty, Params().text(instance_id));
}

Rows read_store(const Hub& hub, std::string_view instance_id) {
    if (!direct::has_store(hub, instance_id).value_or(true)) {
        return {.table = nullptr, .count = 0};
    }
    return run(hub, kReadStore, Params().text(instance_id));
}

Rows read_value(const Hub& hub, std::string_view instance_id, std::string_view key) {
    return run(hub, kReadValue, Params().text(instance_id).text(key));
}

Rows read_values(const Hub& hub, std::string_view instance_id) {
    return run(hub, kReadValues, Params().text(instance_id));
}

}  // namespace belay::store
