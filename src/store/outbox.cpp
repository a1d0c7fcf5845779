#include "store/outbox.hpp"

#include "core/time.hpp"
#include "pg/async_commit.hpp"
#include "pg/compat.hpp"
#include "pg/event_writers.hpp"
#include "pg/settings.hpp"
#include "store/fast/outbox.hpp"
#include "store/readiness.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr Statement kInsertEvent =
    statement(R"sql(
    INSERT INTO {hub}.outbox_events
           (incarnation, position, xid, topic, type, subject, details, occurred_at_ms)
    VALUES ($1, $2, pg_catalog.pg_current_xact_id(), $3, $4, $5, $6, $7)
)sql",
              INT4OID, INT8OID, TEXTOID, TEXTOID, TEXTOID, JSONBOID, INT8OID);

constexpr Statement kInsertSubscription =
    statement(R"sql(
    INSERT INTO {hub}.outbox_subscriptions
           (name, topics, seen_incarnation, seen_position, seen_xid, seen_xid_position, final_xid,
            final_position, lease, lease_until, lease_inc, last_incarnation, last_position,
            created_at)
    VALUES ($1, $2, $3, $4, $5, $6, '0', 0, 0, 0, 0, 0, 0, $7)
    ON CONFLICT (name) DO NOTHING
    RETURNING name
)sql",
              TEXTOID, TEXTARRAYOID, INT4OID, INT8OID, XID8OID, INT8OID, TIMESTAMPTZOID);

constexpr Statement kDeleteSubscription = statement(R"sql(
    DELETE FROM {hub}.outbox_subscriptions AS s
     WHERE s.name {=} $1
    RETURNING s.name
)sql",
                                                    TEXTOID);

constexpr Statement kReadSubscription = statement(R"sql(
    SELECT s.topics, s.seen_incarnation, s.seen_position, s.seen_xid, s.seen_xid_position,
           s.final_xid, s.final_position, s.lease, s.lease_until, s.lease_inc, s.last_incarnation,
           s.last_position, s.lost_events, s.untold_events, s.untold_first, s.untold_last
      FROM {hub}.outbox_subscriptions AS s
     WHERE s.name {=} $1
)sql",
                                                  TEXTOID);

constexpr Statement kUpdateSubscription =
    statement(R"sql(
    UPDATE {hub}.outbox_subscriptions AS s
       SET seen_incarnation = $2, seen_position = $3, seen_xid = $4, seen_xid_position = $5,
           final_xid = $6, final_position = $7, lease = $8, lease_until = $9, lease_inc = $10,
           last_incarnation = $11, last_position = $12, lost_events = $13, untold_events = $14,
           untold_first = $15, untold_last = $16
     WHERE s.name {=} $1
)sql",
              TEXTOID, INT4OID, INT8OID, XID8OID, INT8OID, XID8OID, INT8OID, INT8OID, INT8OID,
              INT4OID, INT4OID, INT8OID, INT8OID, INT8OID, TEXTOID, TEXTOID);

// Gaps that end below what the subscription has seen are no gaps: it was faster after all.
constexpr Statement kTakeGaps = statement(R"sql(
    WITH d AS MATERIALIZED (
        DELETE FROM {hub}.outbox_gaps AS g
         WHERE g.subscription {=} $1
        RETURNING g.first_incarnation, g.first_position, g.last_incarnation, g.last_position,
                  g.events
    )
    SELECT d.events, pg_catalog.concat(d.first_incarnation, '-', d.first_position),
           pg_catalog.concat(d.last_incarnation, '-', d.last_position)
      FROM d
     WHERE ROW(d.last_incarnation, d.last_position) {>} ROW($2, $3)
     ORDER BY d.last_incarnation, d.last_position
)sql",
                                          TEXTOID, INT4OID, INT8OID);

constexpr Statement kDeleteGaps = statement(R"sql(
    DELETE FROM {hub}.outbox_gaps AS g
     WHERE g.subscription {=} $1
)sql",
                                            TEXTOID);

constexpr Statement kSnapshotXmin = statement(R"sql(
    SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
)sql");

// $1 topics, $2 seen incarnation, $3 seen position, $4 seen xid, $5 seen xid position, $6 limit,
// $7 this incarnation.
constexpr Statement kReadOld =
    statement(R"sql(
    SELECT e.incarnation, e.position, e.xid, e.topic, e.type, e.subject, e.details,
           e.occurred_at_ms
      FROM {hub}.outbox_events AS e
     WHERE ROW(e.incarnation, e.position) {>} ROW($2, $3) AND e.incarnation {<} $7
       AND (e.incarnation {<>} $2 OR ROW(e.xid, e.position) {>} ROW($4, $5))
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.incarnation, e.position
     LIMIT $6
)sql",
              TEXTARRAYOID, INT4OID, INT8OID, XID8OID, INT8OID, INT8OID, INT4OID);

// As above, but $2 is the incarnation itself; $7 the last position.
constexpr Statement kReadUptoPosition =
    statement(R"sql(
    SELECT e.incarnation, e.position, e.xid, e.topic, e.type, e.subject, e.details,
           e.occurred_at_ms
      FROM {hub}.outbox_events AS e
     WHERE e.incarnation {=} $2 AND e.position {>} $3 AND e.position {<=} $7
       AND ROW(e.xid, e.position) {>} ROW($4, $5)
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.position
     LIMIT $6
)sql",
              TEXTARRAYOID, INT4OID, INT8OID, XID8OID, INT8OID, INT8OID, INT8OID);

// As above; $7 the first xid that may still run.
constexpr Statement kReadBelowXid =
    statement(R"sql(
    SELECT e.incarnation, e.position, e.xid, e.topic, e.type, e.subject, e.details,
           e.occurred_at_ms
      FROM {hub}.outbox_events AS e
     WHERE e.incarnation {=} $2 AND e.position {>} $3 AND e.xid {<} $7
       AND ROW(e.xid, e.position) {>} ROW($4, $5)
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.xid, e.position
     LIMIT $6
)sql",
              TEXTARRAYOID, INT4OID, INT8OID, XID8OID, INT8OID, INT8OID, XID8OID);

// $1 to $5 as above, $6 the last position.
constexpr Statement kFirstUnseen =
    statement(R"sql(
    SELECT e.position
      FROM {hub}.outbox_events AS e
     WHERE e.incarnation {=} $2 AND e.position {>} $3 AND e.position {<=} $6
       AND ROW(e.xid, e.position) {>} ROW($4, $5)
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.position
     LIMIT 1
)sql",
              TEXTARRAYOID, INT4OID, INT8OID, XID8OID, INT8OID, INT8OID);

// $1 before, $2 how many to look at.
constexpr Statement kForget = statement(R"sql(
    WITH f AS MATERIALIZED (
        SELECT s.seen_incarnation, s.seen_position
          FROM {hub}.outbox_subscriptions AS s
         ORDER BY s.seen_incarnation, s.seen_position
         LIMIT 1
    ), h AS MATERIALIZED (
        SELECT e.incarnation, e.position, e.occurred_at_ms
          FROM {hub}.outbox_events AS e
         ORDER BY e.incarnation, e.position
         LIMIT $2
    ), c AS MATERIALIZED (
        SELECT e.incarnation, e.position, e.xid, e.topic
          FROM h
          LEFT JOIN f ON true
         CROSS JOIN LATERAL (
            SELECT q.incarnation, q.position, q.xid, q.topic
              FROM {hub}.outbox_events AS q
             WHERE q.incarnation {=} h.incarnation AND q.position {=} h.position
               FOR UPDATE SKIP LOCKED) AS e
         WHERE h.occurred_at_ms {<} $1
            OR ROW(h.incarnation, h.position) {<=} ROW(f.seen_incarnation, f.seen_position)
    ), u AS MATERIALIZED (
        SELECT s.name, c.incarnation, c.position
          FROM {hub}.outbox_subscriptions AS s
          JOIN c ON (c.incarnation {>} s.seen_incarnation
                     OR (c.incarnation {=} s.seen_incarnation AND c.position {>} s.seen_position
                         AND ROW(c.xid, c.position) {>} ROW(s.seen_xid, s.seen_xid_position)))
                AND (s.topics IS NULL OR c.topic {=} ANY (s.topics))
    ), g AS (
        INSERT INTO {hub}.outbox_gaps
               (subscription, first_incarnation, first_position, last_incarnation, last_position,
                events)
        SELECT w.name, w.first_incarnation, w.first_position, w.incarnation, w.position, w.events
          FROM (SELECT u.name, u.incarnation, u.position,
                       pg_catalog.first_value(u.incarnation) OVER o AS first_incarnation,
                       pg_catalog.first_value(u.position) OVER o AS first_position,
                       pg_catalog.count(*) OVER o AS events,
                       pg_catalog.lead(u.position) OVER o AS next
                  FROM u
                WINDOW o AS (PARTITION BY u.name ORDER BY u.incarnation, u.position)) AS w
         WHERE w.next IS NULL
    )
    DELETE FROM {hub}.outbox_events AS e
     USING c
     WHERE e.incarnation {=} c.incarnation AND e.position {=} c.position
)sql",
                                        INT8OID, INT8OID);

Datum xid_datum(uint64 xid) {
    return UInt64GetDatum(xid);
}

uint64 xid_of(const Rows& rows, uint64 row, int column) {
    return DatumGetUInt64(rows.datum(row, column, XID8OID));
}

// The first five parameters of the statements that read events.
Params seen_params(const Subscription& subscription) {
    Params params;
    params.optional_datum(subscription.topics);
    return params.int4(subscription.seen.incarnation)
        .int8(subscription.seen.position)
        .datum(xid_datum(subscription.seen.xid))
        .int8(subscription.seen.xid_position);
}

uint64 snapshot_xmin(const Hub& hub) {
    return xid_of(run(hub, kSnapshotXmin), 0, 1);
}

// For change-data-capture tools: they find the event in the WAL, in its transaction.
void log_event(const Hub& hub, int32 incarnation, int64 position, const core::EventType& event,
               std::optional<std::string_view> subject, const Details& details, int64 now) {
    Details message;
    message.add("event_id", psprintf("%d-" INT64_FORMAT, incarnation, position))
        .add("topic", event.topic)
        .add("type", event.type)
        .add("subject", subject)
        .add("occurred_at_ms", now);
    // The details are an object already.
    message.text->data[--message.text->len] = '\0';
    appendStringInfo(message.text, ",\"details\":%s}", details.text->data);
    pg::log_logical_message(psprintf("belay.%s", NameStr(hub.name)), message.text->data,
                            static_cast<Size>(message.text->len));
}

constexpr int kDeadLettered = core::event_place("instance", "dead_lettered");

}  // namespace

// ---------------------------------------------------------------- writing

Details::Details() : text(makeStringInfo()) {
    appendStringInfoString(text, "{}");
}

namespace {

void begin_member(StringInfo text, const char* key) {
    text->data[--text->len] = '\0';
    if (text->len > 1) {
        appendStringInfoChar(text, ',');
    }
    escape_json(text, key);
    appendStringInfoChar(text, ':');
}

}  // namespace

Details& Details::add(const char* key, int64 value) {
    begin_member(text, key);
    appendStringInfo(text, INT64_FORMAT "}", value);
    return *this;
}

Details& Details::add(const char* key, std::optional<std::string_view> value) {
    begin_member(text, key);
    if (value) {
        escape_json(text, pnstrdup(value->data(), value->size()));
    } else {
        appendStringInfoString(text, "null");
    }
    appendStringInfoChar(text, '}');
    return *this;
}

void write_event(const Hub& hub, int event, std::optional<std::string_view> subject,
                 const Details& details, int64 now) {
    const core::EventType& type = core::kEventTypes[event];
    // Whoever begins a new incarnation waits for events of the old one, and we for him.
    LockRelationOid(hub.relations.outbox_events, RowExclusiveLock);
    refresh_hub(hub);
    pg::register_event_writer(hub.schema, hub.relations.outbox_events_position);
    // Who has read it must not find another event at its position after a crash.
    pg::wait_for_disk();
    const int64 position = nextval_internal(hub.relations.outbox_events_position, false);
    const Datum facts = DirectFunctionCall1(jsonb_in, CStringGetDatum(details.text->data));
    if (!direct::try_insert_event(hub, {.position = position,
                                        .topic = type.topic,
                                        .type = type.type,
                                        .subject = subject,
                                        .details = facts,
                                        .occurred_at = now})) {
        run_for_one(hub, kInsertEvent,
                    Params()
                        .int4(hub.incarnation)
                        .int8(position)
                        .text(type.topic)
                        .text(type.type)
                        .optional_text(subject)
                        .datum(facts)
                        .int8(now));
    }
    if (pg::settings.logical_events && XLogLogicalInfoActive()) {
        log_event(hub, hub.incarnation, position, type, subject, details, now);
    }
    // Undone, it lets others be read that had to wait for it.
    pg::note_held(outbox_channel(hub));
    pg::note_ready(outbox_channel(hub));
}

void tell_dead_letter(const Hub& hub, int64 dead_letter_id, const char* queue, const char* reason,
                      std::optional<std::string_view> instance_id, int32 attempt, int64 now) {
    if (wants_event(hub, kDeadLettered)) {
        write_event(hub, kDeadLettered, instance_id,
                    Details()
                        .add("dead_letter_id", dead_letter_id)
                        .add("queue", queue)
                        .add("reason", reason)
                        .add("attempt_count", int64{attempt}),
                    now);
    }
}

// ---------------------------------------------------------------- reading

Horizon read_horizon(const Hub& hub) {
    // A snapshot from before the horizon might not see all that lies below it: then only xids tell.
    if (!IsolationUsesXactSnapshot() && !has_old_prepared()) {
        const auto horizon = pg::event_horizon(hub.schema, hub.relations.outbox_events_position);
        if (horizon.exact) {
            return {true, horizon.position, 0};
        }
    }
    return {false, 0, snapshot_xmin(hub)};
}

bool insert_subscription(const Hub& hub, std::string_view name, std::optional<Datum> topics,
                         const Seen& seen, int64 now) {
    Params params;
    params.text(name);
    params.optional_datum(topics);
    return run(hub, kInsertSubscription,
               params.int4(seen.incarnation)
                   .int8(seen.position)
                   .datum(xid_datum(seen.xid))
                   .int8(seen.xid_position)
                   .timestamp(now))
               .count == 1;
}

bool delete_subscription(const Hub& hub, std::string_view name) {
    run(hub, kDeleteGaps, Params().text(name));
    return run(hub, kDeleteSubscription, Params().text(name)).count == 1;
}

std::optional<Subscription> read_subscription(const Hub& hub, std::string_view name) {
    const Rows rows = run(hub, kReadSubscription, Params().text(name));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return Subscription{
        .topics = rows.is_null(0, 1) ? std::nullopt : std::optional(rows.datum(0, 1, TEXTARRAYOID)),
        .seen = {.incarnation = rows.int4(0, 2),
                 .position = rows.int8(0, 3),
                 .xid = xid_of(rows, 0, 4),
                 .xid_position = rows.int8(0, 5)},
        .final_xid = xid_of(rows, 0, 6),
        .final_position = rows.int8(0, 7),
        .lease = rows.int8(0, 8),
        .lease_until = rows.int8(0, 9),
        .lease_inc = rows.int4(0, 10),
        .last_incarnation = rows.int4(0, 11),
        .last_position = rows.int8(0, 12),
        .lost = rows.int8(0, 13),
        .untold = rows.int8(0, 14),
        .untold_first = rows.is_null(0, 15) ? std::string_view() : rows.text(0, 15),
        .untold_last = rows.is_null(0, 16) ? std::string_view() : rows.text(0, 16)};
}

void take_gaps(const Hub& hub, std::string_view name, Subscription* subscription) {
    const Rows rows = run(
        hub, kTakeGaps,
        Params().text(name).int4(subscription->seen.incarnation).int8(subscription->seen.position));
    for (uint64 i = 0; i < rows.count; ++i) {
        if (subscription->untold == 0) {
            subscription->untold_first = rows.text(i, 2);
        }
        subscription->untold_last = rows.text(i, 3);
        subscription->untold += rows.int8(i, 1);
        subscription->lost += rows.int8(i, 1);
    }
}

namespace {

// An id of lost events, if some are yet to be reported.
std::optional<std::string_view> told_or_null(const Subscription& subscription,
                                             std::string_view id) {
    return subscription.untold == 0 ? std::nullopt : std::optional(id);
}

}  // namespace

void update_subscription(const Hub& hub, std::string_view name, const Subscription& subscription) {
    run_for_one(hub, kUpdateSubscription,
                Params()
                    .text(name)
                    .int4(subscription.seen.incarnation)
                    .int8(subscription.seen.position)
                    .datum(xid_datum(subscription.seen.xid))
                    .int8(subscription.seen.xid_position)
                    .datum(xid_datum(subscription.final_xid))
                    .int8(subscription.final_position)
                    .int8(subscription.lease)
                    .int8(subscription.lease_until)
                    .int4(subscription.lease_inc)
                    .int4(subscription.last_incarnation)
                    .int8(subscription.last_position)
                    .int8(subscription.lost)
                    .int8(subscription.untold)
                    .optional_text(told_or_null(subscription, subscription.untold_first))
                    .optional_text(told_or_null(subscription, subscription.untold_last)));
}

Rows read_old_events(const Hub& hub, const Subscription& subscription, int64 limit) {
    return run(hub, kReadOld, seen_params(subscription).int8(limit).int4(hub.incarnation));
}

Rows read_events_upto(const Hub& hub, const Subscription& subscription, const Horizon& horizon,
                      int64 limit) {
    Params params = seen_params(subscription).int8(limit);
    if (horizon.exact) {
        return run(hub, kReadUptoPosition, params.int8(horizon.position));
    }
    return run(hub, kReadBelowXid, params.datum(xid_datum(horizon.xid)));
}

std::optional<int64> first_unseen(const Hub& hub, const Subscription& subscription, int64 most) {
    const Rows rows = run(hub, kFirstUnseen, seen_params(subscription).int8(most));
    return rows.count == 0 ? std::nullopt : std::optional(rows.int8(0, 1));
}

Probe probe_positions(const Hub& hub) {
    // In this order: whoever gets his xid after the second line draws positions above the first.
    const int64 position = pg::last_position(hub.relations.outbox_events_position);
    return {U64FromFullTransactionId(ReadNextFullTransactionId()), position};
}

int64 forget_events(const Hub& hub, int64 before, int64 portion) {
    return static_cast<int64>(run(hub, kForget, Params().int8(before).int8(portion)).count);
}

}  // namespace belay::store
