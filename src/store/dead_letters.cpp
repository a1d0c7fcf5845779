// Table dead_letters.
//
// May touch: dead_letters, the outbox. Must not: put an item back into its queue; ops does.
#include "store/dead_letters.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "store/outbox.hpp"

namespace belay::store {

namespace {

constexpr int64 kMostExamined = 10000;

using DeadLetterRows = Out<int64, Text, Maybe<Text>, Maybe<int64>, Maybe<int64>, Maybe<Text>,
                           Maybe<Text>, Text, int64, Maybe<Text>>;

constexpr auto kTake = statement<In<int64>, DeadLetterRows>(R"sql(
    DELETE FROM {hub}.dead_letters AS d
     WHERE d.id {=} $1
    RETURNING d.id, d.queue, d.instance_id, d.execution_id, d.activity_id, d.session_id, d.tag,
              d.work_item, d.source_id, d.detail
)sql");

constexpr auto kTakeMany = statement<In<ListOf<int64>>, DeadLetterRows>(R"sql(
    WITH c AS MATERIALIZED (
        SELECT d.id
          FROM {hub}.dead_letters AS d
         WHERE d.id {=} ANY ($1)
         ORDER BY d.id
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.dead_letters AS d
     USING c
     WHERE d.id {=} c.id
    RETURNING d.id, d.queue, d.instance_id, d.execution_id, d.activity_id, d.session_id, d.tag,
              d.work_item, d.source_id, d.detail
)sql");

// $1 queue, $2 reason, $3 after, $4 limit, $5 how many are looked at.
#define BELAY_LISTED_LETTERS(CHOSEN)                                                               \
    "SELECT d.id, d.queue, d.source_id, d.instance_id, d.execution_id, d.activity_id,"             \
    "       d.session_id, d.tag, d.work_item, d.attempt_count, d.reason, d.detail, d.enqueued_at," \
    "       d.dead_at"                                                                             \
    "  FROM (SELECT x.* FROM {hub}.dead_letters AS x WHERE " CHOSEN                                \
    " x.id {>} $3 ORDER BY x.id LIMIT $5) AS d"                                                    \
    " WHERE ($1 IS NULL OR d.queue {=} $1) AND ($2 IS NULL OR d.reason {=} $2)"                    \
    " ORDER BY d.id LIMIT $4"
constexpr auto kList =
    query<In<Maybe<Text>, Maybe<Text>, int64, int64, int64>, Listing>(BELAY_LISTED_LETTERS(""));

// The same, $6 instance.
constexpr auto kListOfInstance =
    query<In<Maybe<Text>, Maybe<Text>, int64, int64, int64, Text>, Listing>(
        BELAY_LISTED_LETTERS("x.instance_id {=} $6 AND"));

// $1 id, $2 how many.
constexpr auto kHasBehind = query<In<int64, int64>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.dead_letters AS d
     WHERE d.id {>} $1
     ORDER BY d.id
    OFFSET $2
     LIMIT 1
)sql");

// The same, $3 instance.
constexpr auto kHasBehindOfInstance = query<In<int64, int64, Text>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.dead_letters AS d
     WHERE d.instance_id {=} $3 AND d.id {>} $1
     ORDER BY d.id
    OFFSET $2
     LIMIT 1
)sql");

// $1 before, $2 limit.
constexpr auto kDiscardOld = statement<In<Ms, int64>, Out<>>(R"sql(
    WITH c AS MATERIALIZED (
        SELECT d.id
          FROM {hub}.dead_letters AS d
         WHERE d.dead_at {<} $1
         ORDER BY d.dead_at, d.id
         LIMIT $2
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.dead_letters AS d
     USING c
     WHERE d.id {=} c.id
)sql");

// $1 id, $2 queue, $3 source, $4 instance, $5 execution, $6 activity, $7 session, $8 tag, $9 item,
// $10 attempts, $11 reason, $12 detail, $13 enqueued, $14 now.
constexpr auto kInsert =
    statement<In<int64, Text, int64, Maybe<Text>, Maybe<int64>, Maybe<int64>, Maybe<Text>,
                 Maybe<Text>, Text, int32, Text, Maybe<Text>, Us, Ms>,
              Out<>>(R"sql(
    INSERT INTO {hub}.dead_letters
           (id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item,
            attempt_count, reason, detail, enqueued_at, dead_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
)sql");

}  // namespace

int64 insert_dead_letter(const Hub& hub, const NewDeadLetter& letter, int64 now) {
    const int64 id = nextval_internal(hub.relations.dead_letters_id, false);
    run_for_one(hub, kInsert, id, letter.queue, letter.source_id, letter.instance_id,
                letter.execution_id, letter.activity_id, letter.session_id, letter.tag,
                letter.work_item, letter.attempts, letter.reason, letter.detail,
                Us{letter.enqueued_at}, Ms{now});
    emit_dead_letter(hub, id, letter.queue, letter.reason, letter.instance_id, letter.attempts,
                     now);
    return id;
}

int64 insert_dead_intent(const Hub& hub, const DeadIntent& intent, int64 now) {
    return insert_dead_letter(hub,
                              {.queue = "intent",
                               .source_id = intent.intent_id,
                               .instance_id = intent.target_instance,
                               .execution_id = std::nullopt,
                               .activity_id = std::nullopt,
                               .session_id = std::nullopt,
                               .tag = std::nullopt,
                               .work_item = intent.work_item,
                               .attempts = intent.attempts,
                               .reason = "undeliverable",
                               .detail = intent.detail,
                               .enqueued_at = core::ms_to_pg_us(intent.created_at)},
                              now);
}

std::optional<DeadLetter> take_dead_letter(const Hub& hub, int64 id) {
    return run(hub, kTake, id).first<DeadLetter>();
}

std::span<const DeadLetter> take_dead_letters(const Hub& hub, std::span<const int64> ids) {
    const auto taken = run(hub, kTakeMany, ids).collect<DeadLetter>();
    std::sort(taken.begin(), taken.end(),
              [](const DeadLetter& a, const DeadLetter& b) { return a.id < b.id; });
    return taken;
}

int64 discard_old(const Hub& hub, int64 dead_before, int64 limit) {
    return run(hub, kDiscardOld, Ms{dead_before}, limit).changed();
}

DeadLetterList list_dead(const Hub& hub, std::optional<std::string_view> queue,
                         std::optional<std::string_view> reason,
                         std::optional<std::string_view> instance_id, int64 after, int limit) {
    const Listing rows = instance_id ? run(hub, kListOfInstance, queue, reason, after, limit,
                                           kMostExamined, *instance_id)
                                     : run(hub, kList, queue, reason, after, limit, kMostExamined);
    const auto has_behind = [&] {
        return instance_id ? run_any(hub, kHasBehindOfInstance, after, kMostExamined, *instance_id)
                           : run_any(hub, kHasBehind, after, kMostExamined);
    };
    return {rows, rows.count == static_cast<uint64>(limit) || !has_behind()};
}

}  // namespace belay::store
