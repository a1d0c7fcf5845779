#include "store/intents.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/worker_signal.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

// $1 id, $2 source uuid, $3 now, $4 visible at, $5 queue, $6 target hub, $7 source instance,
// $8 target instance, $9 item.
constexpr Statement kInsert = statement(R"sql(
    INSERT INTO {hub}.intent_queue
           (id, source_uuid, created_at, next_try_at, visible_at, attempt_count, blocked, queue,
            target_hub, source_instance, target_instance, last_error, work_item)
    VALUES ($1, $2, $3, $3, $4, 0, false, $5, $6, $7, $8, NULL, $9)
)sql",
                                        INT8OID, UUIDOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID,
                                        TEXTOID, TEXTOID, TEXTOID, TEXTOID);

constexpr Statement kNextTarget = statement(R"sql(
    SELECT q.target_hub
      FROM {hub}.intent_queue AS q
     WHERE NOT q.blocked AND q.target_hub {>} $1
     ORDER BY q.target_hub
     LIMIT 1
)sql",
                                            TEXTOID);

constexpr Statement kDue = statement(R"sql(
    SELECT q.id, CAST(pg_catalog.octet_length(q.work_item) AS pg_catalog.int8), q.source_instance,
           q.target_instance
      FROM {hub}.intent_queue AS q
     WHERE NOT q.blocked AND q.target_hub {=} $1 AND q.next_try_at {<=} $2 AND q.created_at {<=} $3
     ORDER BY q.next_try_at, q.id
     LIMIT $4
)sql",
                                     TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID);

constexpr Statement kPair = statement(R"sql(
    SELECT q.id, CAST(pg_catalog.octet_length(q.work_item) AS pg_catalog.int8), q.next_try_at {<=} $4
      FROM {hub}.intent_queue AS q
     WHERE q.target_hub {=} $1 AND q.source_instance {=} $2 AND q.target_instance {=} $3
     ORDER BY q.id
     LIMIT $5
)sql",
                                      TEXTOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, INT8OID);

constexpr Statement kRead = statement(R"sql(
    SELECT q.id, q.source_uuid, q.source_instance, q.target_instance, q.target_hub, q.queue,
           q.work_item, q.visible_at, q.created_at, q.attempt_count, q.last_error
      FROM {hub}.intent_queue AS q
     WHERE q.id {=} ANY ($1)
)sql",
                                      INT8ARRAYOID);

constexpr Statement kOld = statement(R"sql(
    SELECT q.id, q.source_uuid, q.source_instance, q.target_instance, q.target_hub, q.queue,
           q.work_item, q.visible_at, q.created_at, q.attempt_count, q.last_error
      FROM {hub}.intent_queue AS q
     WHERE q.target_hub {=} $1 AND q.created_at {<} $2
       AND ($3 OR q.blocked OR q.attempt_count {>} 0)
     ORDER BY q.created_at
     LIMIT $4
)sql",
                                     TEXTOID, TIMESTAMPTZOID, BOOLOID, INT8OID);

constexpr Statement kDelete = statement(R"sql(
    DELETE FROM {hub}.intent_queue AS q
     WHERE q.id {=} ANY ($1)
    RETURNING q.source_instance, q.target_instance
)sql",
                                        INT8ARRAYOID);

constexpr Statement kBlock = statement(R"sql(
    UPDATE {hub}.intent_queue AS q
       SET blocked = true
     WHERE q.target_hub {=} $1 AND q.source_instance {=} $2 AND q.target_instance {=} $3
       AND NOT q.blocked
       AND q.id {>} (SELECT p.id
                       FROM {hub}.intent_queue AS p
                      WHERE p.target_hub {=} $1 AND p.source_instance {=} $2
                        AND p.target_instance {=} $3
                      ORDER BY p.id
                      LIMIT 1)
)sql",
                                       TEXTOID, TEXTOID, TEXTOID);

constexpr Statement kRelease = statement(R"sql(
    UPDATE {hub}.intent_queue AS q
       SET blocked = false
     WHERE q.id {=} (SELECT p.id
                       FROM {hub}.intent_queue AS p
                      WHERE p.target_hub {=} $1 AND p.source_instance {=} $2
                        AND p.target_instance {=} $3
                      ORDER BY p.id
                      LIMIT 1)
       AND q.blocked
)sql",
                                         TEXTOID, TEXTOID, TEXTOID);

constexpr Statement kFailure = statement(R"sql(
    UPDATE {hub}.intent_queue AS q
       SET attempt_count = CASE WHEN q.attempt_count {<} 2147483647
                                THEN q.attempt_count {+} 1 ELSE q.attempt_count END,
           next_try_at = $2,
           last_error = $3
     WHERE q.id {=} $1
)sql",
                                         INT8OID, TIMESTAMPTZOID, TEXTOID);

constexpr Statement kHurry = statement(R"sql(
    UPDATE {hub}.intent_queue AS q
       SET next_try_at = $2
     WHERE NOT q.blocked AND q.target_hub {=} $1 AND q.next_try_at {>} $2
)sql",
                                       TEXTOID, TIMESTAMPTZOID);

constexpr Statement kReceive = statement(R"sql(
    INSERT INTO {hub}.intents_received (source_uuid, intent_id, received_at)
    VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING
)sql",
                                         UUIDOID, INT8OID, TIMESTAMPTZOID);

constexpr Statement kForget = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT r.source_uuid, r.intent_id
          FROM {hub}.intents_received AS r
         WHERE r.received_at {<} $1
         ORDER BY r.received_at
         LIMIT $2
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.intents_received AS r
     USING c
     WHERE r.source_uuid {=} c.source_uuid AND r.intent_id {=} c.intent_id
)sql",
                                        TIMESTAMPTZOID, INT8OID);

constexpr Statement kLink = statement(R"sql(
    SELECT l.server
      FROM {hub}.intent_links AS l
     WHERE l.target_hub {=} $1
)sql",
                                      TEXTOID);

constexpr Statement kSetLink = statement(R"sql(
    INSERT INTO {hub}.intent_links AS l (target_hub, server, created_at)
    VALUES ($1, $2, $3)
        ON CONFLICT (target_hub) DO UPDATE SET server = excluded.server
)sql",
                                         TEXTOID, TEXTOID, TIMESTAMPTZOID);

constexpr Statement kRemoveLink = statement(R"sql(
    DELETE FROM {hub}.intent_links AS l
     WHERE l.target_hub {=} $1
)sql",
                                            TEXTOID);

Params pair_params(std::string_view target, const IntentPair& pair) {
    return Params().text(target).text(pair.source_instance).text(pair.target_instance);
}

int64 time_of(const Rows& rows, uint64 row, int column) {
    return core::pg_us_to_ms(DatumGetTimestampTz(rows.datum(row, column, TIMESTAMPTZOID)));
}

IntentList intents_of(const Rows& rows) {
    auto* found = static_cast<Intent*>(palloc(sizeof(Intent) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        found[i] = {
            .key = {*DatumGetUUIDP(rows.datum(i, 2, UUIDOID)), rows.int8(i, 1)},
            .pair = {rows.text(i, 3), rows.text(i, 4)},
            .target_hub = rows.text(i, 5),
            .queue = rows.text(i, 6),
            .work_item = rows.text(i, 7),
            .visible_at = rows.is_null(i, 8) ? std::nullopt : std::optional(time_of(rows, i, 8)),
            .created_at = time_of(rows, i, 9),
            .attempts = rows.int4(i, 10),
            .last_error = rows.optional_text(i, 11)};
    }
    std::sort(found, found + rows.count,
              [](const Intent& a, const Intent& b) { return a.key.id < b.key.id; });
    return {{found, static_cast<std::size_t>(rows.count)}, rows};
}

}  // namespace

int64 insert_intent(const Hub& hub, const Intent& intent) {
    Params params;
    params.int8(intent.key.id)
        .datum(UUIDPGetDatum(&intent.key.source_uuid))
        .timestamp(intent.created_at)
        .optional_timestamp(intent.visible_at);
    params.text(intent.queue)
        .text(intent.target_hub)
        .text(intent.pair.source_instance)
        .text(intent.pair.target_instance)
        .text(intent.work_item);
    run(hub, kInsert, params);
    pg::wake_relay_at_commit(hub.schema);
    return intent.key.id;
}

int64 new_intent(const Hub& hub, Intent intent) {
    intent.key = {hub.uuid, nextval_internal(hub.relations.intent_queue_id, false)};
    return insert_intent(hub, intent);
}

std::optional<std::string_view> next_target(const Hub& hub, std::string_view after) {
    const Rows rows = run(hub, kNextTarget, Params().text(after));
    return rows.count == 0 ? std::nullopt : std::optional(rows.text(0, 1));
}

std::span<const DueIntent> due_intents(const Hub& hub, std::string_view target, int64 now,
                                       int64 created_before, int limit) {
    const Rows rows =
        run(hub, kDue, Params().text(target).timestamp(now).timestamp(created_before).int8(limit));
    auto* found = static_cast<DueIntent*>(palloc(sizeof(DueIntent) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        found[i] = {rows.int8(i, 1), rows.int8(i, 2), {rows.text(i, 3), rows.text(i, 4)}};
    }
    return {found, static_cast<std::size_t>(rows.count)};
}

std::span<const PairIntent> pair_intents(const Hub& hub, std::string_view target,
                                         const IntentPair& pair, int64 now, int limit) {
    const Rows rows = run(hub, kPair, pair_params(target, pair).timestamp(now).int8(limit));
    auto* found = static_cast<PairIntent*>(palloc(sizeof(PairIntent) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        found[i] = {rows.int8(i, 1), rows.int8(i, 2), rows.boolean(i, 3)};
    }
    return {found, static_cast<std::size_t>(rows.count)};
}

IntentList read_intents(const Hub& hub, std::span<const int64> ids) {
    return intents_of(run(hub, kRead, Params().datum(int8_array(ids))));
}

IntentList old_intents(const Hub& hub, std::string_view target, int64 created_before, bool untried,
                       int limit) {
    return intents_of(run(
        hub, kOld, Params().text(target).timestamp(created_before).boolean(untried).int8(limit)));
}

std::span<const IntentPair> delete_intents(const Hub& hub, std::span<const int64> ids) {
    const Rows rows = run(hub, kDelete, Params().datum(int8_array(ids)));
    auto* pairs = static_cast<IntentPair*>(palloc(sizeof(IntentPair) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        pairs[i] = {rows.text(i, 1), rows.text(i, 2)};
    }
    return {pairs, static_cast<std::size_t>(rows.count)};
}

void block_followers(const Hub& hub, std::string_view target, const IntentPair& pair) {
    run(hub, kBlock, pair_params(target, pair));
}

void release_first(const Hub& hub, std::string_view target, const IntentPair& pair) {
    run(hub, kRelease, pair_params(target, pair));
}

void note_failure(const Hub& hub, int64 id, int64 next_try_at, std::string_view error) {
    run(hub, kFailure, Params().int8(id).timestamp(next_try_at).text(error));
}

void hurry_intents(const Hub& hub, std::string_view target, int64 now) {
    run(hub, kHurry, Params().text(target).timestamp(now));
    pg::wake_relay_at_commit(hub.schema);
}

bool note_received(const Hub& hub, const IntentKey& key, int64 now) {
    return run(hub, kReceive,
               Params().datum(UUIDPGetDatum(&key.source_uuid)).int8(key.id).timestamp(now))
               .count == 1;
}

int64 forget_received(const Hub& hub, int64 before, int limit) {
    return static_cast<int64>(run(hub, kForget, Params().timestamp(before).int8(limit)).count);
}

std::optional<std::string_view> link_server(const Hub& hub, std::string_view target) {
    const Rows rows = run(hub, kLink, Params().text(target));
    return rows.count == 0 ? std::nullopt : std::optional(rows.text(0, 1));
}

void set_link(const Hub& hub, std::string_view target, std::string_view server, int64 now) {
    run(hub, kSetLink, Params().text(target).text(server).timestamp(now));
}

bool remove_link(const Hub& hub, std::string_view target) {
    return run(hub, kRemoveLink, Params().text(target)).count == 1;
}

}  // namespace belay::store
