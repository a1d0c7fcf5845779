#include "store/dead_letters.hpp"

#include <algorithm>

#include "store/outbox.hpp"

namespace belay::store {

namespace {

constexpr Statement kTake = statement(R"sql(
    DELETE FROM {hub}.dead_letters AS d
     WHERE d.id {=} $1
    RETURNING d.id, d.queue, d.instance_id, d.execution_id, d.activity_id, d.session_id, d.tag,
              d.work_item, d.source_id, d.detail
)sql",
                                      INT8OID);

// $1 ids, $2 instance ids, $3 queue, $4 reason, $5 dead before, $6 limit.
constexpr Statement kTakeMany =
    statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT d.id
          FROM {hub}.dead_letters AS d
         WHERE ($1 IS NULL OR d.id {=} ANY ($1))
           AND ($2 IS NULL OR d.instance_id {=} ANY ($2))
           AND ($3 IS NULL OR d.queue {=} $3)
           AND ($4 IS NULL OR d.reason {=} $4)
           AND ($5 IS NULL OR d.dead_at {<} $5)
         ORDER BY d.id
         LIMIT $6
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.dead_letters AS d
     USING c
     WHERE d.id {=} c.id
    RETURNING d.id, d.queue, d.instance_id, d.execution_id, d.activity_id, d.session_id, d.tag,
              d.work_item, d.source_id, d.detail
)sql",
              INT8ARRAYOID, TEXTARRAYOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, INT8OID);

// $1 queue, $2 reason, $3 instance, $4 after, $5 limit.
constexpr Statement kList = query(R"sql(
    SELECT d.id, d.queue, d.source_id, d.instance_id, d.execution_id, d.activity_id, d.session_id,
           d.tag, d.work_item, d.attempt_count, d.reason, d.detail, d.enqueued_at, d.dead_at
      FROM {hub}.dead_letters AS d
     WHERE d.id {>} $4
       AND ($1 IS NULL OR d.queue {=} $1)
       AND ($2 IS NULL OR d.reason {=} $2)
       AND ($3 IS NULL OR d.instance_id {=} $3)
     ORDER BY d.id
     LIMIT $5
)sql",
                                  TEXTOID, TEXTOID, TEXTOID, INT8OID, INT8OID);

constexpr Statement kDiscardOld = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT d.id
          FROM {hub}.dead_letters AS d
         WHERE d.dead_at {<} $1
         ORDER BY d.id
         LIMIT $2
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {hub}.dead_letters AS d
     USING c
     WHERE d.id {=} c.id
)sql",
                                            TIMESTAMPTZOID, INT8OID);

// $1 id, $2 intent id, $3 target instance, $4 item, $5 attempts, $6 detail, $7 created, $8 now.
constexpr Statement kInsertIntent =
    statement(R"sql(
    INSERT INTO {hub}.dead_letters
           (id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item,
            attempt_count, reason, detail, enqueued_at, dead_at)
    VALUES ($1, 'intent', $2, $3, NULL, NULL, NULL, NULL, $4, $5, 'undeliverable', $6, $7, $8)
)sql",
              INT8OID, INT8OID, TEXTOID, TEXTOID, INT4OID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID);

DeadLetter read(const Rows& rows, uint64 row) {
    return {.id = rows.int8(row, 1),
            .queue = rows.text(row, 2),
            .instance_id = rows.optional_text(row, 3),
            .execution_id = rows.optional_int8(row, 4),
            .activity_id = rows.optional_int8(row, 5),
            .session_id = rows.optional_text(row, 6),
            .tag = rows.optional_text(row, 7),
            .work_item = rows.text(row, 8),
            .source_id = rows.int8(row, 9),
            .detail = rows.optional_text(row, 10)};
}

}  // namespace

int64 insert_dead_intent(const Hub& hub, const DeadIntent& intent, int64 now) {
    const int64 id = nextval_internal(hub.relations.dead_letters_id, false);
    run_for_one(hub, kInsertIntent,
                Params()
                    .int8(id)
                    .int8(intent.intent_id)
                    .optional_text(intent.target_instance)
                    .text(intent.work_item)
                    .int4(intent.attempts)
                    .text(intent.detail)
                    .timestamp(intent.created_at)
                    .timestamp(now));
    tell_dead_letter(hub, id, "intent", "undeliverable", intent.target_instance, intent.attempts,
                     now);
    return id;
}

std::optional<DeadLetter> take_dead_letter(const Hub& hub, int64 id) {
    const Rows rows = run(hub, kTake, Params().int8(id));
    return rows.count == 0 ? std::nullopt : std::optional(read(rows, 0));
}

std::span<const DeadLetter> take_dead_letters(const Hub& hub, const DeadLetterFilter& filter) {
    Params params;
    filter.ids ? params.datum(int8_array(*filter.ids)) : params.null();
    filter.instance_ids ? params.datum(text_array(*filter.instance_ids)) : params.null();
    params.optional_text(filter.queue)
        .optional_text(filter.reason)
        .optional_timestamp(filter.dead_before);
    params.int8(filter.limit);
    const Rows rows = run(hub, kTakeMany, params);
    auto* taken = static_cast<DeadLetter*>(palloc(sizeof(DeadLetter) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        taken[i] = read(rows, i);
    }
    std::sort(taken, taken + rows.count,
              [](const DeadLetter& a, const DeadLetter& b) { return a.id < b.id; });
    return {taken, static_cast<std::size_t>(rows.count)};
}

int64 discard_old(const Hub& hub, int64 dead_before, int64 limit) {
    return static_cast<int64>(
        run(hub, kDiscardOld, Params().timestamp(dead_before).int8(limit)).count);
}

Rows list_dead(const Hub& hub, std::optional<std::string_view> queue,
               std::optional<std::string_view> reason, std::optional<std::string_view> instance_id,
               int64 after, int limit) {
    return run(hub, kList,
               Params()
                   .optional_text(queue)
                   .optional_text(reason)
                   .optional_text(instance_id)
                   .int8(after)
                   .int8(limit));
}

}  // namespace belay::store
