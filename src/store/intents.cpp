// Tables intent_queue, intents_received and intent_links.
//
// May touch: these tables. Must not: deliver an intent; ops/intents does.
#include "store/intents.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "shmem/signals.hpp"
#include "store/statements.hpp"

namespace belay::store {

namespace {

using IntentRows =
    Out<int64, pg_uuid_t, Text, Text, Text, Text, Text, Maybe<Ms>, Ms, int32, Maybe<Text>>;

// $1 id, $2 source uuid, $3 now, $4 visible at, $5 queue, $6 target hub, $7 source instance,
// $8 target instance, $9 item.
constexpr auto kInsert =
    statement<In<int64, pg_uuid_t, Ms, Maybe<Ms>, Text, Text, Text, Text, Text>, Out<>>(R"sql(
    INSERT INTO {hub}.intent_queue
           (id, source_uuid, created_at, next_try_at, visible_at, attempt_count, blocked, queue,
            target_hub, source_instance, target_instance, last_error, work_item)
    VALUES ($1, $2, $3, $3, $4, 0, false, $5, $6, $7, $8, NULL, $9)
)sql");

constexpr auto kNextTarget = statement<In<Text>, Out<Text>>(R"sql(
    SELECT q.target_hub
      FROM {hub}.intent_queue AS q
     WHERE NOT q.blocked AND q.target_hub {>} $1
     ORDER BY q.target_hub
     LIMIT 1
)sql");

constexpr auto kDue = statement<In<Text, Ms, Ms, int64>, Out<int64, int64, Text, Text>>(R"sql(
    SELECT q.id, CAST(pg_catalog.octet_length(q.work_item) AS pg_catalog.int8), q.source_instance,
           q.target_instance
      FROM {hub}.intent_queue AS q
     WHERE NOT q.blocked AND q.target_hub {=} $1 AND q.next_try_at {<=} $2 AND q.created_at {<=} $3
     ORDER BY q.next_try_at, q.id
     LIMIT $4
)sql");

constexpr auto kPair = statement<In<Text, Text, Text, Ms, int64>, Out<int64, int64, bool>>(R"sql(
    SELECT q.id, CAST(pg_catalog.octet_length(q.work_item) AS pg_catalog.int8), q.next_try_at {<=} $4
      FROM {hub}.intent_queue AS q
     WHERE q.target_hub {=} $1 AND q.source_instance {=} $2 AND q.target_instance {=} $3
     ORDER BY q.id
     LIMIT $5
)sql");

constexpr auto kRead = statement<In<ListOf<int64>>, IntentRows>(R"sql(
    SELECT q.id, q.source_uuid, q.source_instance, q.target_instance, q.target_hub, q.queue,
           q.work_item, q.visible_at, q.created_at, q.attempt_count, q.last_error
      FROM {hub}.intent_queue AS q
     WHERE q.id {=} ANY ($1)
)sql");

constexpr auto kOld = statement<In<Text, Ms, bool, int64>, IntentRows>(R"sql(
    SELECT q.id, q.source_uuid, q.source_instance, q.target_instance, q.target_hub, q.queue,
           q.work_item, q.visible_at, q.created_at, q.attempt_count, q.last_error
      FROM {hub}.intent_queue AS q
     WHERE q.target_hub {=} $1 AND q.created_at {<} $2
       AND ($3 OR q.blocked OR q.attempt_count {>} 0)
     ORDER BY q.created_at
     LIMIT $4
)sql");

constexpr auto kDelete = statement<In<ListOf<int64>>, Out<Text, Text>>(R"sql(
    DELETE FROM {hub}.intent_queue AS q
     WHERE q.id {=} ANY ($1)
    RETURNING q.source_instance, q.target_instance
)sql");

constexpr auto kBlock = statement<In<Text, Text, Text>, Out<>>(R"sql(
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
)sql");

constexpr auto kRelease = statement<In<Text, Text, Text>, Out<>>(R"sql(
    UPDATE {hub}.intent_queue AS q
       SET blocked = false
     WHERE q.id {=} (SELECT p.id
                       FROM {hub}.intent_queue AS p
                      WHERE p.target_hub {=} $1 AND p.source_instance {=} $2
                        AND p.target_instance {=} $3
                      ORDER BY p.id
                      LIMIT 1)
       AND q.blocked
)sql");

constexpr auto kFailure = statement<In<int64, Ms, Text>, Out<>>(R"sql(
    UPDATE {hub}.intent_queue AS q
       SET attempt_count = CASE WHEN q.attempt_count {<} 2147483647
                                THEN q.attempt_count {+} 1 ELSE q.attempt_count END,
           next_try_at = $2,
           last_error = $3
     WHERE q.id {=} $1
)sql");

constexpr auto kHurry = statement<In<Text, Ms>, Out<>>(R"sql(
    UPDATE {hub}.intent_queue AS q
       SET next_try_at = $2
     WHERE NOT q.blocked AND q.target_hub {=} $1 AND q.next_try_at {>} $2
)sql");

constexpr auto kReceive = statement<In<pg_uuid_t, int64, Ms>, Out<>>(R"sql(
    INSERT INTO {hub}.intents_received (source_uuid, intent_id, received_at)
    VALUES ($1, $2, $3)
        ON CONFLICT DO NOTHING
)sql");

constexpr auto kForget = statement<In<Ms, int64>, Out<>>(R"sql(
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
)sql");

constexpr auto kLink = statement<In<Text>, Out<Text>>(R"sql(
    SELECT l.server
      FROM {hub}.intent_links AS l
     WHERE l.target_hub {=} $1
)sql");

constexpr auto kSetLink = statement<In<Text, Text, Ms>, Out<>>(R"sql(
    INSERT INTO {hub}.intent_links AS l (target_hub, server, created_at)
    VALUES ($1, $2, $3)
        ON CONFLICT (target_hub) DO UPDATE SET server = excluded.server
)sql");

constexpr auto kRemoveLink = statement<In<Text>, Out<>>(R"sql(
    DELETE FROM {hub}.intent_links AS l
     WHERE l.target_hub {=} $1
)sql");

IntentList intents_of(const IntentRows& rows) {
    const auto found = rows.collect(
        [](int64 id, pg_uuid_t source, std::string_view source_instance,
           std::string_view target_instance, std::string_view target_hub, std::string_view queue,
           std::string_view work_item, std::optional<Ms> visible_at, Ms created_at, int32 attempts,
           std::optional<std::string_view> last_error) {
            return Intent{.key = {source, id},
                          .pair = {source_instance, target_instance},
                          .target_hub = target_hub,
                          .queue = queue,
                          .work_item = work_item,
                          .visible_at = value_of(visible_at),
                          .created_at = created_at.value,
                          .attempts = attempts,
                          .last_error = last_error};
        });
    std::sort(found.begin(), found.end(),
              [](const Intent& a, const Intent& b) { return a.key.id < b.key.id; });
    return {found, rows};
}

}  // namespace

int64 insert_intent(const Hub& hub, const Intent& intent) {
    run(hub, kInsert, intent.key.id, intent.key.source_uuid, Ms{intent.created_at},
        as_ms(intent.visible_at), intent.queue, intent.target_hub, intent.pair.source_instance,
        intent.pair.target_instance, intent.work_item);
    signals::wake_relay_at_commit(hub.schema);
    return intent.key.id;
}

int64 new_intent(const Hub& hub, Intent intent) {
    intent.key = {hub.uuid, nextval_internal(hub.relations.intent_queue_id, false)};
    return insert_intent(hub, intent);
}

std::optional<std::string_view> next_target(const Hub& hub, std::string_view after) {
    return run_one(hub, kNextTarget, after);
}

std::span<const DueIntent> due_intents(const Hub& hub, std::string_view target, int64 now,
                                       int64 created_before, int limit) {
    return run(hub, kDue, target, Ms{now}, Ms{created_before}, limit)
        .collect([](int64 id, int64 bytes, std::string_view source_instance,
                    std::string_view target_instance) {
            return DueIntent{id, bytes, {source_instance, target_instance}};
        });
}

std::span<const PairIntent> pair_intents(const Hub& hub, std::string_view target,
                                         const IntentPair& pair, int64 now, int limit) {
    return run(hub, kPair, target, pair.source_instance, pair.target_instance, Ms{now}, limit)
        .collect<PairIntent>();
}

IntentList read_intents(const Hub& hub, std::span<const int64> ids) {
    return intents_of(run(hub, kRead, ids));
}

IntentList old_intents(const Hub& hub, std::string_view target, int64 created_before, bool untried,
                       int limit) {
    return intents_of(run(hub, kOld, target, Ms{created_before}, untried, limit));
}

std::span<const IntentPair> delete_intents(const Hub& hub, std::span<const int64> ids) {
    return run(hub, kDelete, ids).collect<IntentPair>();
}

void block_followers(const Hub& hub, std::string_view target, const IntentPair& pair) {
    run(hub, kBlock, target, pair.source_instance, pair.target_instance);
}

void release_first(const Hub& hub, std::string_view target, const IntentPair& pair) {
    run(hub, kRelease, target, pair.source_instance, pair.target_instance);
}

void record_failure(const Hub& hub, int64 id, int64 next_try_at, std::string_view error) {
    run(hub, kFailure, id, Ms{next_try_at}, error);
}

void hurry_intents(const Hub& hub, std::string_view target, int64 now) {
    run(hub, kHurry, target, Ms{now});
    signals::wake_relay_at_commit(hub.schema);
}

bool record_received(const Hub& hub, const IntentKey& key, int64 now) {
    return run(hub, kReceive, key.source_uuid, key.id, Ms{now}).count == 1;
}

int64 forget_received(const Hub& hub, int64 before, int limit) {
    return run(hub, kForget, Ms{before}, limit).changed();
}

std::optional<std::string_view> link_server(const Hub& hub, std::string_view target) {
    return run_one(hub, kLink, target);
}

void set_link(const Hub& hub, std::string_view target, std::string_view server, int64 now) {
    run(hub, kSetLink, target, server, Ms{now});
}

bool remove_link(const Hub& hub, std::string_view target) {
    return run(hub, kRemoveLink, target).count == 1;
}

}  // namespace belay::store
