// Tables outbox_events, outbox_subscriptions and outbox_gaps.
//
// May touch: these tables, and what is known of event writers. Must not: decide which events are
// written; the store function that changes a row does.
#include "store/outbox.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/compat.hpp"
#include "pg/durable.hpp"
#include "pg/settings.hpp"
#include "shmem/event_writers.hpp"
#include "store/deferred.hpp"
#include "store/readiness.hpp"
#include "store/rows/outbox.hpp"
#include "store/table/table.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr auto kInsertSubscription =
    statement<In<Text, Topics, int32, int64, Xid, int64, Ms>, Out<Text>>(R"sql(
    INSERT INTO {hub}.outbox_subscriptions
           (name, topics, seen_incarnation, seen_position, seen_xid, seen_xid_position, final_xid,
            final_position, lease, lease_until, lease_inc, last_incarnation, last_position,
            created_at)
    VALUES ($1, $2, $3, $4, $5, $6, '0', 0, 0, 0, 0, 0, 0, $7)
    ON CONFLICT (name) DO NOTHING
    RETURNING name
)sql");

constexpr auto kDeleteSubscription = statement<In<Text>, Out<Text>>(R"sql(
    DELETE FROM {hub}.outbox_subscriptions AS s
     WHERE s.name {=} $1
    RETURNING s.name
)sql");

constexpr auto kReadSubscription =
    statement<In<Text>, Out<Topics, int32, int64, Xid, int64, Xid, int64, int64, int64, int32,
                            int32, int64, int64, int64, Maybe<Text>, Maybe<Text>>>(R"sql(
    SELECT s.topics, s.seen_incarnation, s.seen_position, s.seen_xid, s.seen_xid_position,
           s.final_xid, s.final_position, s.lease, s.lease_until, s.lease_inc, s.last_incarnation,
           s.last_position, s.lost_events, s.untold_events, s.untold_first, s.untold_last
      FROM {hub}.outbox_subscriptions AS s
     WHERE s.name {=} $1
)sql");

constexpr auto kUpdateSubscription =
    statement<In<Text, int32, int64, Xid, int64, Xid, int64, int64, int64, int32, int32, int64,
                 int64, int64, Maybe<Text>, Maybe<Text>>,
              Out<>>(R"sql(
    UPDATE {hub}.outbox_subscriptions AS s
       SET seen_incarnation = $2, seen_position = $3, seen_xid = $4, seen_xid_position = $5,
           final_xid = $6, final_position = $7, lease = $8, lease_until = $9, lease_inc = $10,
           last_incarnation = $11, last_position = $12, lost_events = $13, untold_events = $14,
           untold_first = $15, untold_last = $16
     WHERE s.name {=} $1
)sql");

// Gaps that end below what the subscription has seen are no gaps: it was faster after all.
constexpr auto kTakeGaps = statement<In<Text, int32, int64>, Out<int64, Text, Text>>(
    R"sql(
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
)sql");

constexpr auto kDeleteGaps = statement<In<Text>, Out<>>(R"sql(
    DELETE FROM {hub}.outbox_gaps AS g
     WHERE g.subscription {=} $1
)sql");

constexpr auto kSnapshotXmin = statement<In<>, Out<Xid>>(R"sql(
    SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
)sql");

// $1 topics, $2 seen incarnation, $3 seen position, $4 seen xid, $5 seen xid position, $6 limit,
// $7 this incarnation.
constexpr auto kReadOld =
    statement<In<Topics, int32, int64, Xid, int64, int64, int32>, EventRows>(R"sql(
    SELECT e.incarnation, e.position, e.xid, e.topic, e.type, e.subject, e.details,
           e.occurred_at_ms
      FROM {hub}.outbox_events AS e
     WHERE ROW(e.incarnation, e.position) {>} ROW($2, $3) AND e.incarnation {<} $7
       AND (e.incarnation {<>} $2 OR ROW(e.xid, e.position) {>} ROW($4, $5))
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.incarnation, e.position
     LIMIT $6
)sql");

// As above, but $2 is the incarnation itself; $7 the last position.
constexpr auto kReadUptoPosition =
    statement<In<Topics, int32, int64, Xid, int64, int64, int64>, EventRows>(R"sql(
    SELECT e.incarnation, e.position, e.xid, e.topic, e.type, e.subject, e.details,
           e.occurred_at_ms
      FROM {hub}.outbox_events AS e
     WHERE e.incarnation {=} $2 AND e.position {>} $3 AND e.position {<=} $7
       AND ROW(e.xid, e.position) {>} ROW($4, $5)
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.position
     LIMIT $6
)sql");

// As above; $7 the first xid that may still run.
constexpr auto kReadBelowXid =
    statement<In<Topics, int32, int64, Xid, int64, int64, Xid>, EventRows>(R"sql(
    SELECT e.incarnation, e.position, e.xid, e.topic, e.type, e.subject, e.details,
           e.occurred_at_ms
      FROM {hub}.outbox_events AS e
     WHERE e.incarnation {=} $2 AND e.position {>} $3 AND e.xid {<} $7
       AND ROW(e.xid, e.position) {>} ROW($4, $5)
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.xid, e.position
     LIMIT $6
)sql");

// $1 to $5 as above, $6 the last position.
constexpr auto kFirstUnseen = statement<In<Topics, int32, int64, Xid, int64, int64>, Out<int64>>(
    R"sql(
    SELECT e.position
      FROM {hub}.outbox_events AS e
     WHERE e.incarnation {=} $2 AND e.position {>} $3 AND e.position {<=} $6
       AND ROW(e.xid, e.position) {>} ROW($4, $5)
       AND ($1 IS NULL OR e.topic {=} ANY ($1))
     ORDER BY e.position
     LIMIT 1
)sql");

// $1 before, $2 how many to look at.
constexpr auto kForget = statement<In<int64, int64>, Out<>>(R"sql(
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
)sql");

// Runs one of the statements that read events: what the subscription has seen comes first.
template <typename Reader, typename... More>
auto run_unseen(const Hub& hub, const Reader& statement, const Subscription& subscription,
                const More&... more) {
    const Seen& seen = subscription.seen;
    return run(hub, statement, subscription.topics, seen.incarnation, seen.position, Xid{seen.xid},
               seen.xid_position, more...);
}

Subscription subscription_of(Topics topics, int32 seen_incarnation, int64 seen_position,
                             Xid seen_xid, int64 seen_xid_position, Xid final_xid,
                             int64 final_position, int64 lease, int64 lease_until, int32 lease_inc,
                             int32 last_incarnation, int64 last_position, int64 lost, int64 untold,
                             std::optional<std::string_view> untold_first,
                             std::optional<std::string_view> untold_last) {
    return {.topics = topics,
            .seen = {.incarnation = seen_incarnation,
                     .position = seen_position,
                     .xid = seen_xid.value,
                     .xid_position = seen_xid_position},
            .final_xid = final_xid.value,
            .final_position = final_position,
            .lease = lease,
            .lease_until = lease_until,
            .lease_inc = lease_inc,
            .last_incarnation = last_incarnation,
            .last_position = last_position,
            .lost = lost,
            .untold = untold,
            .untold_first = untold_first.value_or(""),
            .untold_last = untold_last.value_or("")};
}

uint64 snapshot_xmin(const Hub& hub) {
    return run_for_one(hub, kSnapshotXmin).value;
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
    message.add_json("details", details.text());
    const char* text = message.text();
    pg::log_logical_message(psprintf("belay.%s", NameStr(hub.name)), text, strlen(text));
}

constexpr int kDeadLettered = core::event_place("instance", "dead_lettered");

}  // namespace

// ---------------------------------------------------------------- writing

namespace {

// A copy: what the caller has may be gone when the event is written.
std::string_view kept(std::string_view text) {
    return {pnstrdup(text.data(), text.size()), text.size()};
}

JsonbValue string_value(std::string_view text) {
    JsonbValue value{};
    value.type = jbvString;
    value.val.string.val = const_cast<char*>(text.data());
    value.val.string.len = static_cast<int>(text.size());
    return value;
}

JsonbValue number_value(int64 number) {
    JsonbValue value{};
    value.type = jbvNumeric;
    value.val.numeric = int64_to_numeric(number);
    return value;
}

// Puts the members of an object together as jsonb: keys in their order, by length and bytes, then
// the values. A tenth of what it takes to push them one by one.
struct ObjectWriter {
    Jsonb* object;
    char* data;
    std::size_t size = 0;  // of the data
    std::size_t entries = 0;

    ObjectWriter(std::size_t members, std::size_t most) {
        const std::size_t head = offsetof(JsonbContainer, children) + 2 * members * sizeof(JEntry);
        object = static_cast<Jsonb*>(palloc(VARHDRSZ + head + most));
        object->root.header = static_cast<uint32>(members) | JB_FOBJECT;
        data = reinterpret_cast<char*>(&object->root) + head;
    }

    // Ends the part that began at a size; every JB_OFFSET_STRIDE-th says where it ends.
    void end_entry(std::size_t begin, uint32 type) {
        const bool has_offset = entries % JB_OFFSET_STRIDE == 0;
        object->root.children[entries++] = static_cast<uint32>(has_offset ? size : size - begin) |
                                           type | (has_offset ? JENTRY_HAS_OFF : 0);
    }
    void add(std::string_view text) {
        const std::size_t begin = size;
        memcpy(data + size, text.data(), text.size());
        size += text.size();
        end_entry(begin, JENTRY_ISSTRING);
    }
    void add_number(int64 value) {
        const std::size_t begin = size;
        while (size % ALIGNOF_INT != 0) {
            data[size++] = '\0';
        }
        Numeric number = int64_to_numeric(value);
        memcpy(data + size, number, VARSIZE_ANY(number));
        size += VARSIZE_ANY(number);
        end_entry(begin, JENTRY_ISNUMERIC);
    }
    void add_null() { end_entry(size, JENTRY_ISNULL); }

    Jsonb* done() {
        SET_VARSIZE(object, data + size - reinterpret_cast<char*>(object));
        return object;
    }
};

JsonbValue parsed_value(const char* json) {
    Jsonb* parsed = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json)));
    JsonbValue value{};
    value.type = jbvBinary;
    value.val.binary.data = &parsed->root;
    value.val.binary.len = static_cast<int>(VARSIZE(parsed) - VARHDRSZ);
    return value;
}

}  // namespace

Details& Details::add(const char* key, int64 value) {
    members_.add({Kind::kNumber, key, value, {}});
    return *this;
}

Details& Details::add(const char* key, std::optional<std::string_view> value) {
    members_.add({value ? Kind::kString : Kind::kNull, key, 0, kept(value.value_or(""))});
    return *this;
}

Details& Details::add_json(const char* key, std::string_view json) {
    members_.add({Kind::kJson, key, 0, kept(json)});
    return *this;
}

Jsonb* Details::jsonb() const {
    constexpr std::size_t kMostOfNumber = 32;
    pg::List<Member> sorted;
    std::size_t most = 0;
    for (const Member& member : members_) {
        if (member.kind == Kind::kJson) {
            return pushed();
        }
        sorted.add(member);
        most += strlen(member.key) + member.text.size() + kMostOfNumber;
    }
    std::sort(sorted.begin(), sorted.end(), [](const Member& a, const Member& b) {
        const std::string_view x = a.key;
        const std::string_view y = b.key;
        return x.size() != y.size() ? x.size() < y.size() : x < y;
    });
    ObjectWriter writer(static_cast<std::size_t>(sorted.count), most);
    for (const Member& member : sorted) {
        writer.add(member.key);
    }
    for (const Member& member : sorted) {
        switch (member.kind) {
            case Kind::kNumber:
                writer.add_number(member.number);
                break;
            case Kind::kString:
                writer.add(member.text);
                break;
            default:
                writer.add_null();
                break;
        }
    }
    return writer.done();
}

Jsonb* Details::pushed() const {
    JsonbParseState* state = nullptr;
    (void)pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
    for (const Member& member : members_) {
        JsonbValue key = string_value(member.key);
        (void)pushJsonbValue(&state, WJB_KEY, &key);
        JsonbValue value{};
        switch (member.kind) {
            case Kind::kNumber:
                value = number_value(member.number);
                break;
            case Kind::kString:
                value = string_value(member.text);
                break;
            case Kind::kNull:
                value.type = jbvNull;
                break;
            case Kind::kJson:
                value = parsed_value(member.text.data());
                break;
        }
        (void)pushJsonbValue(&state, WJB_VALUE, &value);
    }
    return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

const char* Details::text() const {
    StringInfo text = makeStringInfo();
    for (const Member& member : members_) {
        appendStringInfoChar(text, text->len == 0 ? '{' : ',');
        escape_json(text, member.key);
        appendStringInfoChar(text, ':');
        switch (member.kind) {
            case Kind::kNumber:
                appendStringInfo(text, INT64_FORMAT, member.number);
                break;
            case Kind::kString:
                escape_json(text, member.text.data());
                break;
            case Kind::kNull:
                appendStringInfoString(text, "null");
                break;
            case Kind::kJson:
                appendStringInfoString(text, member.text.data());
                break;
        }
    }
    appendStringInfoString(text, text->len == 0 ? "{}" : "}");
    return text->data;
}

void write_event(const Hub& hub, int event, std::optional<std::string_view> subject,
                 const Details& details, int64 now) {
    // Most operations write one event: they open the table for themselves.
    with_tables(hub, [&](Tables& tables) { write_event(tables, event, subject, details, now); });
}

void write_event(Tables& tables, int event, std::optional<std::string_view> subject,
                 const Details& details, int64 now) {
    const Hub& hub = tables.hub;
    const core::EventType& type = core::kEventTypes[event];
    // The begin of an incarnation waits for events of the old one, and events for that begin.
    LockRelationOid(hub.relations.outbox_events, RowExclusiveLock);
    refresh_hub(hub);
    event_writers::add(hub.schema, hub.relations.outbox_events_position);
    // Who has read it must not find another event at its position after a crash.
    pg::flush_at_commit();
    const int64 position = nextval_internal(hub.relations.outbox_events_position, false);
    Jsonb* facts = details.jsonb();
    pg::fail_here(pg::FaultPoint::kHotTableEvent);
    NewRow row;
    row.put(outbox::kIncarnation, hub.incarnation)
        .put(outbox::kPosition, position)
        .put(outbox::kXid, uint64{U64FromFullTransactionId(GetTopFullTransactionId())})
        .put(outbox::kTopic, std::string_view(type.topic))
        .put(outbox::kType, std::string_view(type.type))
        .put(outbox::kSubject, subject)
        .put(outbox::kDetails, facts)
        .put(outbox::kOccurredAt, now);
    add_row(tables, TableId::kOutboxEvents, &DeferredRows::events, &row);
    if (pg::settings.logical_events && XLogLogicalInfoActive()) {
        log_event(hub, hub.incarnation, position, type, subject, details, now);
    }
    // Undone, it lets others be read that had to wait for it.
    wakeups::held(outbox_channel(hub));
    wakeups::ready(outbox_channel(hub));
}

void emit_dead_letter(const Hub& hub, int64 dead_letter_id, const char* queue, const char* reason,
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
    // A snapshot from before the horizon might not see all that lies below it: then only xids show
    // it.
    if (!IsolationUsesXactSnapshot() && !has_old_prepared()) {
        const auto horizon =
            event_writers::horizon(hub.schema, hub.relations.outbox_events_position);
        if (horizon.exact) {
            return {true, horizon.position, 0};
        }
    }
    return {false, 0, snapshot_xmin(hub)};
}

bool insert_subscription(const Hub& hub, std::string_view name, const Topics& topics,
                         const Seen& seen, int64 now) {
    const bool inserted = run_any(hub, kInsertSubscription, name, topics, seen.incarnation,
                                  seen.position, Xid{seen.xid}, seen.xid_position, Ms{now});
    if (inserted) {
        run(hub, kDeleteGaps, name);  // the retention may add to one that is being dropped
    }
    return inserted;
}

bool delete_subscription(const Hub& hub, std::string_view name) {
    run(hub, kDeleteGaps, name);
    return run_any(hub, kDeleteSubscription, name);
}

std::optional<Subscription> read_subscription(const Hub& hub, std::string_view name) {
    return run(hub, kReadSubscription, name).first(subscription_of);
}

void take_gaps(const Hub& hub, std::string_view name, Subscription* subscription) {
    for (const auto [events, first, last] :
         run(hub, kTakeGaps, name, subscription->seen.incarnation, subscription->seen.position)) {
        if (subscription->untold == 0) {
            subscription->untold_first = first;
        }
        subscription->untold_last = last;
        subscription->untold += events;
        subscription->lost += events;
    }
}

namespace {

// An id of lost events, if some are yet to be reported.
std::optional<std::string_view> unreported_or_null(const Subscription& subscription,
                                                   std::string_view id) {
    return subscription.untold == 0 ? std::nullopt : std::optional(id);
}

}  // namespace

void update_subscription(const Hub& hub, std::string_view name, const Subscription& subscription) {
    run_for_one(hub, kUpdateSubscription, name, subscription.seen.incarnation,
                subscription.seen.position, Xid{subscription.seen.xid},
                subscription.seen.xid_position, Xid{subscription.final_xid},
                subscription.final_position, subscription.lease, subscription.lease_until,
                subscription.lease_inc, subscription.last_incarnation, subscription.last_position,
                subscription.lost, subscription.untold,
                unreported_or_null(subscription, subscription.untold_first),
                unreported_or_null(subscription, subscription.untold_last));
}

EventRows read_old_events(const Hub& hub, const Subscription& subscription, int64 limit) {
    return run_unseen(hub, kReadOld, subscription, limit, hub.incarnation);
}

EventRows read_events_upto(const Hub& hub, const Subscription& subscription, const Horizon& horizon,
                           int64 limit) {
    return horizon.exact ? run_unseen(hub, kReadUptoPosition, subscription, limit, horizon.position)
                         : run_unseen(hub, kReadBelowXid, subscription, limit, Xid{horizon.xid});
}

std::optional<int64> first_unseen(const Hub& hub, const Subscription& subscription, int64 most) {
    const auto rows = run_unseen(hub, kFirstUnseen, subscription, most);
    return rows.first([](int64 position) { return position; });
}

Probe probe_positions(const Hub& hub) {
    // In this order: a transaction that gets its xid after the second line draws positions above
    // the first.
    const int64 position = event_writers::last_position(hub.relations.outbox_events_position);
    return {U64FromFullTransactionId(ReadNextFullTransactionId()), position};
}

int64 forget_events(const Hub& hub, int64 before, int64 portion) {
    return run(hub, kForget, before, portion).changed();
}

}  // namespace belay::store
