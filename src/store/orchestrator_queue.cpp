#include "store/orchestrator_queue.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/counters.hpp"
#include "store/fast/turns.hpp"
#include "store/outbox.hpp"
#include "store/plan.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr Statement kInsert = statement(R"sql(
    INSERT INTO {hub}.orchestrator_queue
           (instance_key, id, visible_at, created_at, lock_no, attempt_count, slot, kind,
            parked, instance_id, parent_id, work_item)
    VALUES ($1, $2, $3, $4, 0, 0, $5, $6, false, $7, $8, $9)
)sql",
                                        INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT2OID,
                                        CHAROID, TEXTOID, TEXTOID, TEXTOID);

constexpr Statement kAll = statement(R"sql(
    SELECT m.instance_key, m.id, m.slot, m.instance_id
      FROM {hub}.orchestrator_queue AS m
     ORDER BY m.instance_key, m.id
       FOR UPDATE
)sql");

constexpr Statement kSetSlot = statement(R"sql(
    UPDATE {hub}.orchestrator_queue AS m
       SET slot = $3
     WHERE m.instance_key {=} $1 AND m.id {=} $2
)sql",
                                         INT8OID, INT8OID, INT2OID);

// $1 slots, $2 after visible_at, $3 after id, $4 now, $5 now in ms, $6 incarnation, $7 limit.
constexpr Statement kPeek =
    statement(R"sql(
    SELECT w.slot, w.visible_at, w.id, w.instance_id, e.duroxide_version_major,
           e.duroxide_version_minor, e.duroxide_version_patch
      FROM pg_catalog.unnest($1) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT m.slot, m.visible_at, m.id, m.instance_id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.slot {=} s.slot AND NOT m.parked AND m.visible_at {<=} $4
           AND ROW(m.visible_at, m.id) {>} ROW($2, $3)
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.instance_locks AS l
                            WHERE l.instance_key {=} m.instance_key
                              AND l.instance_id {=} m.instance_id
                              AND l.locked_until {>} $5 AND l.lease_inc {=} $6)
         ORDER BY m.visible_at, m.id
         LIMIT $7) AS w
      LEFT JOIN {hub}.instances AS i ON i.instance_id {=} w.instance_id
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
)sql",
              INT2ARRAYOID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, INT8OID, INT4OID, INT8OID);

constexpr Statement kVisible = query(R"sql(
    SELECT m.id, CAST(pg_catalog.octet_length(m.work_item) AS pg_catalog.int8), m.attempt_count
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.visible_at {<=} $3
       AND m.id {>} $4
     ORDER BY m.id
     LIMIT $5
)sql",
                                     INT8OID, TEXTOID, TIMESTAMPTZOID, INT8OID, INT8OID);

constexpr Statement kFirstStart = query(R"sql(
    SELECT m.id, m.work_item
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.visible_at {<=} $3
       AND (m.kind {=} 's' OR m.kind {=} 'n')
     ORDER BY m.id
     LIMIT 1
)sql",
                                        INT8OID, TEXTOID, TIMESTAMPTZOID);

constexpr Statement kHasOther = query(R"sql(
    SELECT m.id
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.visible_at {<=} $3
       AND m.kind {<>} 'q'
     LIMIT 1
)sql",
                                      INT8OID, TEXTOID, TIMESTAMPTZOID);

constexpr Statement kHasStart = query(R"sql(
    SELECT m.id
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND (m.kind {=} 's' OR m.kind {=} 'n')
     LIMIT 1
)sql",
                                      INT8OID, TEXTOID);

// $1 instance key, $2 instance id, $3 ids, $4 lock number.
constexpr Statement kLease = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.instance_key, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.id {=} ANY ($3) AND m.instance_id {=} $2
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE {hub}.orchestrator_queue AS m
       SET lock_no = $4,
           attempt_count = CASE WHEN m.attempt_count {<} 2147483647
                                THEN m.attempt_count {+} 1 ELSE m.attempt_count END
      FROM c
     WHERE m.instance_key {=} c.instance_key AND m.id {=} c.id
    RETURNING m.id, m.attempt_count, m.work_item
)sql",
                                       INT8OID, TEXTOID, INT8ARRAYOID, INT8OID);

// Tells also whether other messages are there already: the lock kept them from being fetched.
constexpr Statement kDeleteLeased = statement(R"sql(
    WITH gone AS (
        DELETE FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.lock_no {=} $2
    )
    SELECT EXISTS (SELECT 1
                     FROM {hub}.orchestrator_queue AS m
                    WHERE m.instance_key {=} $1 AND m.lock_no {<>} $2 AND m.visible_at {<=} $3)
)sql",
                                              INT8OID, INT8OID, TIMESTAMPTZOID);

constexpr Statement kReleaseLeased = statement(R"sql(
    UPDATE {hub}.orchestrator_queue AS m
       SET lock_no = 0, attempt_count = GREATEST(m.attempt_count {-} $3, 0)
     WHERE m.instance_key {=} $1 AND m.lock_no {=} $2
)sql",
                                               INT8OID, INT8OID, INT4OID);

constexpr Statement kReleaseDelayed = statement(R"sql(
    UPDATE {hub}.orchestrator_queue AS m
       SET lock_no = 0, attempt_count = GREATEST(m.attempt_count {-} $3, 0), visible_at = $4
     WHERE m.instance_key {=} $1 AND m.lock_no {=} $2
    RETURNING m.slot, m.visible_at, m.id
)sql",
                                                INT8OID, INT8OID, INT4OID, TIMESTAMPTZOID);

constexpr Statement kDrop = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.instance_key, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.visible_at {<=} $3
           AND m.kind {=} 'q'
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.orchestrator_queue AS o
                            WHERE o.instance_key {=} $1 AND o.instance_id {=} $2
                              AND (o.kind {=} 's' OR o.kind {=} 'n'))
           FOR UPDATE OF m SKIP LOCKED
    )
    DELETE FROM {hub}.orchestrator_queue AS m
     USING c
     WHERE m.instance_key {=} c.instance_key AND m.id {=} c.id
)sql",
                                      INT8OID, TEXTOID, TIMESTAMPTZOID);

constexpr Statement kPark = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.instance_key, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.visible_at {<=} $3
           AND NOT m.parked AND m.kind {<>} 's' AND m.kind {<>} 'n'
           FOR UPDATE SKIP LOCKED
    )
    UPDATE {hub}.orchestrator_queue AS m
       SET parked = true
      FROM c
     WHERE m.instance_key {=} c.instance_key AND m.id {=} c.id
)sql",
                                      INT8OID, TEXTOID, TIMESTAMPTZOID);

constexpr Statement kHoldOthers = statement(R"sql(
    SELECT m.id
      FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.lock_no {<>} $3
     ORDER BY m.id
       FOR NO KEY UPDATE
)sql",
                                            INT8OID, TEXTOID, INT8OID);

constexpr Statement kUnpark = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.instance_key, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.parked
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE {hub}.orchestrator_queue AS m
       SET parked = false
      FROM c
     WHERE m.instance_key {=} c.instance_key AND m.id {=} c.id
    RETURNING m.slot, m.visible_at, m.id
)sql",
                                        INT8OID, TEXTOID);

// $1 instance key, $2 instance id, $3 id, $4 dead letter id, $5 now.
constexpr Statement kBury = statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.instance_key, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.id {=} $3 AND m.instance_id {=} $2
           FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM {hub}.orchestrator_queue AS m
         USING c
         WHERE m.instance_key {=} c.instance_key AND m.id {=} c.id
        RETURNING m.id, m.instance_id, m.work_item, m.attempt_count, m.created_at
    )
    INSERT INTO {hub}.dead_letters
           (id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item,
            attempt_count, reason, detail, enqueued_at, dead_at)
    SELECT pg_catalog.nextval($4), 'orchestrator', g.id, g.instance_id, NULL, NULL, NULL, NULL,
           g.work_item, g.attempt_count, 'max_attempts', NULL, g.created_at, $5
      FROM gone AS g
    RETURNING id, attempt_count
)sql",
                                      INT8OID, TEXTOID, INT8OID, REGCLASSOID, TIMESTAMPTZOID);

// The instances of parked messages, oldest first, without those that wait for a start that is
// there.
constexpr Statement kOrphaned = statement(R"sql(
    SELECT m.instance_id
      FROM {hub}.orchestrator_queue AS m
     WHERE m.parked AND m.created_at {<} $1
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.orchestrator_queue AS s
                        WHERE s.instance_key {=} m.instance_key
                          AND s.instance_id {=} m.instance_id
                          AND (s.kind {=} 's' OR s.kind {=} 'n'))
     ORDER BY m.created_at
     LIMIT $2
)sql",
                                          TIMESTAMPTZOID, INT8OID);

// Instances without a row among the oldest messages that nobody has set aside yet: $1 slots,
// $2 created before, $3 how many messages to look at.
constexpr Statement kUnmetOrphans = statement(R"sql(
    SELECT DISTINCT w.instance_id
      FROM pg_catalog.unnest($1) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT m.instance_id, m.created_at
          FROM {hub}.orchestrator_queue AS m
         WHERE m.slot {=} s.slot AND NOT m.parked AND m.visible_at {<} $2
         ORDER BY m.visible_at, m.id
         LIMIT $3) AS w
     WHERE w.created_at {<} $2
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.instances AS i
                        WHERE i.instance_id {=} w.instance_id)
)sql",
                                              INT2ARRAYOID, TIMESTAMPTZOID, INT8OID);

// $1 instance key, $2 instance id, $3 created before, $4 sequence of dead letters, $5 now.
constexpr Statement kBuryOrphans =
    statement(R"sql(
    WITH c AS MATERIALIZED (
        SELECT m.instance_key, m.id
          FROM {hub}.orchestrator_queue AS m
         WHERE m.instance_key {=} $1 AND m.instance_id {=} $2 AND m.created_at {<} $3
           FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM {hub}.orchestrator_queue AS m
         USING c
         WHERE m.instance_key {=} c.instance_key AND m.id {=} c.id
        RETURNING m.id, m.instance_id, m.work_item, m.attempt_count, m.created_at
    )
    INSERT INTO {hub}.dead_letters
           (id, queue, source_id, instance_id, execution_id, activity_id, session_id, tag, work_item,
            attempt_count, reason, detail, enqueued_at, dead_at)
    SELECT pg_catalog.nextval($4), 'orchestrator', g.id, g.instance_id, NULL, NULL, NULL, NULL,
           g.work_item, g.attempt_count, 'orphan', NULL, g.created_at, $5
      FROM (SELECT d.id, d.instance_id, d.work_item, d.attempt_count, d.created_at
              FROM gone AS d
             ORDER BY d.id) AS g
    RETURNING id, attempt_count
)sql",
              INT8OID, TEXTOID, TIMESTAMPTZOID, REGCLASSOID, TIMESTAMPTZOID);

Params instance_params(std::string_view instance_id) {
    return Params().int8(core::instance_key(instance_id)).text(instance_id);
}

// The claim index has new entries, of rows (slot, visible_at, id).
void note_appeared(const Hub& hub, const Rows& rows) {
    for (uint64 i = 0; i < rows.count; ++i) {
        pg::note_appeared(
            direct::message_gaps(hub, rows.int2(i, 1)),
            direct::message_place(DatumGetTimestampTz(rows.datum(i, 2, TIMESTAMPTZOID)),
                                  rows.int8(i, 3)));
    }
}

// What the fetch needs to know of a message without reading its JSON.
char kind_letter(core::ItemKind kind) {
    switch (kind) {
        case core::ItemKind::kStartOrchestration:
            return 's';
        case core::ItemKind::kContinueAsNew:
            return 'n';
        case core::ItemKind::kQueueMessage:
            return 'q';
        case core::ItemKind::kTimerFired:
            return 't';
        default:
            return 'o';
    }
}

// The parent that a start message names, if it can be an instance id at all.
std::optional<std::string_view> parent_of(const NewMessage& message) {
    constexpr std::size_t kMaxId = 1024;
    if (message.kind != core::ItemKind::kStartOrchestration) {
        return std::nullopt;
    }
    const auto item = core::parse_work_item(message.work_item, nullptr);
    const auto parent = item ? core::json::find(item->body, "parent_instance") : std::nullopt;
    if (!parent || parent->kind != core::json::Kind::kString) {
        return std::nullopt;
    }
    auto* out = static_cast<char*>(palloc(core::json::decoded_bound(*parent) + 1));
    const auto decoded = core::json::decode(*parent, out);
    if (decoded.size == 0 || decoded.size > kMaxId || decoded.has_nul) {
        return std::nullopt;
    }
    return std::string_view(out, decoded.size);
}

}  // namespace

int64 insert_message(const Hub& hub, const NewMessage& message) {
    const int64 id = nextval_internal(hub.relations.orchestrator_queue_id, false);
    const auto slot_count = static_cast<int32>(hub.options[Option::kSlotCount]);
    const direct::MessageRow row{
        .instance_key = core::instance_key(message.instance_id),
        .id = id,
        .slot = static_cast<int16>(core::slot_of(message.instance_id, slot_count)),
        .kind = kind_letter(message.kind),
        .parent_id = parent_of(message)};
    if (!direct::try_insert_message(hub, row, message)) {
        run(hub, kInsert,
            Params()
                .int8(row.instance_key)
                .int8(row.id)
                .timestamp(message.visible_at)
                .timestamp(message.created_at)
                .int2(row.slot)
                .datum(CharGetDatum(row.kind))
                .text(message.instance_id)
                .optional_text(row.parent_id)
                .text(message.work_item));
    }
    pg::note_appeared(direct::message_gaps(hub, row.slot),
                      direct::message_place(core::ms_to_pg_us(message.visible_at), id));
    note_item(orchestrator_channel(hub), message.visible_at);
    pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kEnqueued);
    return id;
}

std::span<const WaitingMessage> peek_messages(const Hub& hub, std::span<const int16> slots,
                                              int64 after_visible_at, int64 after_id, int64 now,
                                              bool with_pins, int limit) {
    if (const auto found =
            direct::peek_messages(hub, slots, after_visible_at, after_id, now, with_pins, limit)) {
        return *found;
    }
    return look_at_messages(hub, slots, after_visible_at, after_id, now, limit);
}

std::span<const WaitingMessage> look_at_messages(const Hub& hub, std::span<const int16> slots,
                                                 int64 after_visible_at, int64 after_id, int64 now,
                                                 int limit) {
    const Rows rows = run(hub, kPeek,
                          Params()
                              .datum(int2_array(slots))
                              .datum(TimestampTzGetDatum(after_visible_at))
                              .int8(after_id)
                              .timestamp(now)
                              .int8(now)
                              .int4(hub.incarnation)
                              .int8(limit));
    auto* found = static_cast<WaitingMessage*>(palloc(sizeof(WaitingMessage) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        const bool pinned = !rows.is_null(i, 5) && !rows.is_null(i, 6) && !rows.is_null(i, 7);
        found[i] = {
            .slot = rows.int2(i, 1),
            .visible_at = DatumGetTimestampTz(rows.datum(i, 2, TIMESTAMPTZOID)),
            .id = rows.int8(i, 3),
            .instance_id = rows.text(i, 4),
            .pin = pinned ? std::optional(Pin{rows.int4(i, 5), rows.int4(i, 6), rows.int4(i, 7)})
                          : std::nullopt};
    }
    return {found, static_cast<std::size_t>(rows.count)};
}

std::span<const BatchMessage> visible_messages(const Hub& hub, std::string_view instance_id,
                                               int64 now, int64 after_id, int64 limit) {
    if (const auto found = direct::visible_messages(hub, instance_id, now, after_id, limit)) {
        return *found;
    }
    const Rows rows =
        run(hub, kVisible, instance_params(instance_id).timestamp(now).int8(after_id).int8(limit));
    auto* found = static_cast<BatchMessage*>(palloc(sizeof(BatchMessage) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        found[i] = {.id = rows.int8(i, 1), .bytes = rows.int8(i, 2), .attempt = rows.int4(i, 3)};
    }
    return {found, static_cast<std::size_t>(rows.count)};
}

std::optional<StartMessage> first_start(const Hub& hub, std::string_view instance_id, int64 now) {
    const Rows rows = run(hub, kFirstStart, instance_params(instance_id).timestamp(now));
    return rows.count == 0 ? std::nullopt
                           : std::optional(StartMessage{rows.int8(0, 1), rows.text(0, 2)});
}

bool has_other_than_queue_messages(const Hub& hub, std::string_view instance_id, int64 now) {
    return run(hub, kHasOther, instance_params(instance_id).timestamp(now)).count > 0;
}

bool has_start(const Hub& hub, std::string_view instance_id) {
    return run(hub, kHasStart, instance_params(instance_id)).count > 0;
}

std::span<const LeasedMessage> lease_messages(const Hub& hub, std::string_view instance_id,
                                              std::span<const int64> ids, int64 lock_no) {
    if (const auto leased = direct::lease_messages(hub, instance_id, ids, lock_no)) {
        return *leased;
    }
    const Rows rows =
        run(hub, kLease, instance_params(instance_id).datum(int8_array(ids)).int8(lock_no));
    auto* leased = static_cast<LeasedMessage*>(palloc(sizeof(LeasedMessage) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        leased[i] = {
            .id = rows.int8(i, 1), .attempt = rows.int4(i, 2), .work_item = rows.text(i, 3)};
    }
    std::sort(leased, leased + rows.count,
              [](const LeasedMessage& a, const LeasedMessage& b) { return a.id < b.id; });
    return {leased, static_cast<std::size_t>(rows.count)};
}

void delete_leased(const Hub& hub, int64 instance_key, int64 lock_no, int64 now) {
    const pg::Channel channel = orchestrator_channel(hub);
    const uint64 version = pg::queue_version(channel);
    auto others = direct::delete_leased(hub, instance_key, lock_no, now);
    if (!others) {
        others = run(hub, kDeleteLeased, Params().int8(instance_key).int8(lock_no).timestamp(now))
                     .boolean(0, 1);
    }
    // What is sent while this transaction is open meets a lock: whoever looks for it then is told
    // when the lock is gone.
    if (*others) {
        pg::note_ready(channel);
    } else {
        pg::note_freed(channel, version);
    }
}

void release_leased(const Hub& hub, int64 instance_key, int64 lock_no, bool ignore_attempt,
                    std::optional<int64> visible_at) {
    Params params;
    params.int8(instance_key).int8(lock_no).int4(ignore_attempt ? 1 : 0);
    if (visible_at) {
        params.timestamp(*visible_at);
    }
    const Rows moved = run(hub, visible_at ? kReleaseDelayed : kReleaseLeased, params);
    if (visible_at) {
        note_appeared(hub, moved);
    }
    // Messages that came meanwhile can be fetched at once, whenever these return.
    pg::note_ready(orchestrator_channel(hub));
    note_item(orchestrator_channel(hub), visible_at.value_or(0));
}

void drop_queue_messages(const Hub& hub, std::string_view instance_id, int64 now) {
    run(hub, kDrop, instance_params(instance_id).timestamp(now));
}

void park_messages(const Hub& hub, std::string_view instance_id, int64 now) {
    run(hub, kPark, instance_params(instance_id).timestamp(now));
}

bool unpark_messages(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kUnpark, instance_params(instance_id));
    note_appeared(hub, rows);
    return rows.count > 0;
}

void settle_parked(const Hub& hub, std::string_view instance_id, int64 lock_no) {
    if (run(hub, kHoldOthers, instance_params(instance_id).int8(lock_no)).count > 0) {
        (void)unpark_messages(hub, instance_id);
    }
}

bool bury_message(const Hub& hub, std::string_view instance_id, int64 id, int64 now) {
    const Rows rows = run(hub, kBury,
                          instance_params(instance_id)
                              .int8(id)
                              .datum(ObjectIdGetDatum(hub.relations.dead_letters_id))
                              .timestamp(now));
    const bool buried = rows.count == 1;
    pg::count(hub.schema, pg::CountedQueue::kOrchestrator, pg::Counter::kDeadLettered,
              buried ? 1 : 0);
    if (buried) {
        tell_dead_letter(hub, rows.int8(0, 1), "orchestrator", "max_attempts", instance_id,
                         rows.int4(0, 2), now);
    }
    return buried;
}

std::span<const std::string_view> orphaned_instances(const Hub& hub, int64 created_before,
                                                     int64 limit) {
    return run(hub, kOrphaned, Params().timestamp(created_before).int8(limit)).texts(1);
}

std::span<const std::string_view> unmet_orphans(const Hub& hub, std::span<const int16> slots,
                                                int64 created_before, int64 messages) {
    return run(hub, kUnmetOrphans,
               Params().datum(int2_array(slots)).timestamp(created_before).int8(messages))
        .texts(1);
}

int64 bury_orphans(const Hub& hub, std::string_view instance_id, int64 created_before, int64 now) {
    const Rows rows = run(hub, kBuryOrphans,
                          instance_params(instance_id)
                              .timestamp(created_before)
                              .datum(ObjectIdGetDatum(hub.relations.dead_letters_id))
                              .timestamp(now));
    for (uint64 i = 0; i < rows.count; ++i) {
        tell_dead_letter(hub, rows.int8(i, 1), "orchestrator", "orphan", instance_id,
                         rows.int4(i, 2), now);
    }
    return static_cast<int64>(rows.count);
}

void reslot_messages(const Hub& hub, int32 slot_count) {
    const Rows rows = run(hub, kAll);
    for (uint64 i = 0; i < rows.count; ++i) {
        const auto slot = static_cast<int16>(core::slot_of(rows.text(i, 4), slot_count));
        if (slot != rows.int2(i, 3)) {
            run(hub, kSetSlot, Params().int8(rows.int8(i, 1)).int8(rows.int8(i, 2)).int2(slot));
        }
        CHECK_FOR_INTERRUPTS();
    }
    rows.release();
    pg::note_rearranged(hub.relations.orchestrator_queue);
}

}  // namespace belay::store
