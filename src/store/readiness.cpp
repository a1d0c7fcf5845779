#include "store/readiness.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/prepared_marks.hpp"
#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "pg/shared_memory.hpp"
#include "store/outbox.hpp"
#include "store/orchestrator_queue.hpp"
#include "store/plan.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

namespace {

constexpr Statement kNextMessage = query(R"sql(
    SELECT pg_catalog.min(w.visible_at)
      FROM pg_catalog.unnest($1) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT m.visible_at
          FROM {hub}.orchestrator_queue AS m
         WHERE m.slot {=} s.slot AND NOT m.parked AND m.visible_at {>} $2
         ORDER BY m.visible_at, m.id
         LIMIT 1) AS w
)sql",
                                         INT2ARRAYOID, TIMESTAMPTZOID);

// $1 lane, $2 slots, $3 now in ms.
constexpr Statement kNextWork = query(R"sql(
    SELECT pg_catalog.min(w.due)
      FROM pg_catalog.unnest($2) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT q.due
          FROM {hub}.worker_queue AS q
         WHERE q.lane {=} $1 AND q.slot {=} s.slot AND q.due {>} $3
         ORDER BY q.due, q.id
         LIMIT 1) AS w
)sql",
                                      INT4OID, INT2ARRAYOID, INT8OID);

// $1 lane, $2 slots, $3 now, $4 incarnation. The oldest of a lane is the first of its
// rows that were never delayed, or of those that were.
constexpr Statement kCountMessages = query(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.orchestrator_queue AS q WHERE NOT q.parked
             ORDER BY q.slot, q.visible_at, q.id LIMIT $1) AS s
)sql",
                                           INT8OID);

constexpr Statement kCountWork = query(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.worker_queue AS q
             ORDER BY q.lane, q.slot, q.due, q.id LIMIT $1) AS s
)sql",
                                       INT8OID);

constexpr Statement kCountDeadLetters = query(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.dead_letters AS d ORDER BY d.id LIMIT $1) AS s
)sql",
                                              INT8OID);

constexpr Statement kCountScheduleErrors = report(R"sql(
    SELECT pg_catalog.count(*) FROM {hub}.schedules AS s WHERE s.last_error IS NOT NULL
)sql");

constexpr Statement kReaderLags = query(R"sql(
    SELECT s.name,
           (SELECT pg_catalog.min(e.occurred_at_ms)
              FROM (SELECT n.topic, n.occurred_at_ms
                      FROM {hub}.outbox_events AS n
                     WHERE ROW(n.incarnation, n.position) {>}
                           ROW(s.seen_incarnation, s.seen_position)
                       AND (n.incarnation {>} s.seen_incarnation
                            OR ROW(n.xid, n.position) {>} ROW(s.seen_xid, s.seen_xid_position))
                     ORDER BY n.incarnation, n.position
                     LIMIT 1000) AS e
             WHERE s.topics IS NULL OR e.topic {=} ANY (s.topics))
      FROM {hub}.outbox_subscriptions AS s
     ORDER BY s.name
)sql");

constexpr Statement kOldestWork = query(R"sql(
    SELECT pg_catalog.min(w.visible_at)
      FROM pg_catalog.unnest($2) AS s(slot)
     CROSS JOIN LATERAL (
        (SELECT q.visible_at
           FROM {hub}.worker_queue AS q
          WHERE q.lane {=} $1 AND q.slot {=} s.slot AND q.due {=} 0
            AND (q.locked_until {<=} $3 OR q.lease_inc {<>} $4)
          ORDER BY q.id
          LIMIT 1)
        UNION ALL
        (SELECT q.visible_at
           FROM {hub}.worker_queue AS q
          WHERE q.lane {=} $1 AND q.slot {=} s.slot AND q.due {>} 0 AND q.due {<=} $3
            AND (q.locked_until {<=} $3 OR q.lease_inc {<>} $4)
          ORDER BY q.due, q.id
          LIMIT 1)) AS w
)sql",
                                        INT4OID, INT2ARRAYOID, INT8OID, INT4OID);

constexpr Statement kLiveTurns = report(R"sql(
    SELECT l.instance_key, l.locked_until
      FROM {hub}.instance_locks AS l
     WHERE l.locked_until {>} $1 AND l.lease_inc {=} $2
     LIMIT $3
)sql",
                                        INT8OID, INT4OID, INT8OID);

constexpr Statement kLiveWork = report(R"sql(
    SELECT w.id, w.locked_until
      FROM {hub}.worker_queue AS w
     WHERE w.locked_until {>} $1 AND w.lease_inc {=} $2
     LIMIT $3
)sql",
                                       INT8OID, INT4OID, INT8OID);

constexpr Statement kLiveSessions = report(R"sql(
    SELECT s.session_id, s.locked_until
      FROM {hub}.sessions AS s
     WHERE s.locked_until {>} $1 AND s.lease_inc {=} $2
     LIMIT $3
)sql",
                                           INT8OID, INT4OID, INT8OID);

constexpr Statement kLiveBatches = report(R"sql(
    SELECT s.name, s.lease_until
      FROM {hub}.outbox_subscriptions AS s
     WHERE s.lease_until {>} $1 AND s.lease_inc {=} $2
     LIMIT $3
)sql",
                                          INT8OID, INT4OID, INT8OID);

// The subscriptions without a live lease for which there may be something to read: $1 now,
// $2 incarnation, $3 the last position (null: none), $4 the first xid that may still run.
constexpr Statement kReadableSubscriptions = query(R"sql(
    SELECT s.name
      FROM {hub}.outbox_subscriptions AS s
     WHERE (s.lease_until {<=} $1 OR s.lease_inc {<>} $2)
       AND EXISTS (SELECT 1
                     FROM {hub}.outbox_events AS e
                    WHERE ROW(e.incarnation, e.position)
                          {>} ROW(s.seen_incarnation, s.seen_position)
                      AND (e.incarnation {<>} s.seen_incarnation
                           OR ROW(e.xid, e.position) {>} ROW(s.seen_xid, s.seen_xid_position))
                      AND (e.incarnation {<} $2
                           OR COALESCE(e.position {<=} $3, e.xid {<} $4))
                      AND (s.topics IS NULL OR e.topic {=} ANY (s.topics)))
)sql",
                                                   INT8OID, INT4OID, INT8OID, XID8OID);

constexpr Statement kMark = query(R"sql(
    SELECT i.custom_status_version, i.current_execution_id, COALESCE(e.status, 'Running')
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.instance_id {=} $1
)sql",
                                  TEXTOID);

std::span<const int16> all_slots(const Hub& hub) {
    const auto count = static_cast<int>(hub.options[Option::kSlotCount]);
    auto* slots = static_cast<int16*>(palloc(sizeof(int16) * static_cast<Size>(count)));
    for (int i = 0; i < count; ++i) {
        slots[i] = static_cast<int16>(i);
    }
    return {slots, static_cast<std::size_t>(count)};
}

// The leases that a statement finds; key_of(rows, i) is the key of the one in row i.
template <typename KeyOf>
std::span<const LiveLease> live_leases(const Hub& hub, const Statement& statement, int64 now,
                                       int limit, KeyOf key_of) {
    const Rows rows = run(hub, statement, Params().int8(now).int4(hub.incarnation).int8(limit));
    auto* leases = static_cast<LiveLease*>(palloc(sizeof(LiveLease) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        leases[i] = {key_of(rows, i), rows.int8(i, 2)};
    }
    return {leases, static_cast<std::size_t>(rows.count)};
}

}  // namespace

Readiness orchestrator_readiness(const Hub& hub, int64 now, int limit) {
    const auto slots = all_slots(hub);
    const auto ready = look_at_messages(hub, slots, PG_INT64_MIN, PG_INT64_MIN, now, limit);
    const Rows next = run(hub, kNextMessage, Params().datum(int2_array(slots)).timestamp(now));
    return {static_cast<int64>(ready.size()), next.optional_ms(0, 1).value_or(core::kNever)};
}

Readiness worker_readiness(const Hub& hub, int64 now, int limit) {
    const auto slots = all_slots(hub);
    Readiness result{0, core::kNever};
    constexpr int32 kBelowAll = -1;
    constexpr int64 kRecheckMs = 1000;
    for (auto lane = next_lane(hub, kBelowAll); lane; lane = next_lane(hub, *lane)) {
        if (result.items >= limit) {
            result.next_due = std::min(result.next_due, now + kRecheckMs);  // of the other lanes
            break;
        }
        for (const bool delayed : {false, true}) {
            if (result.items < limit) {
                result.items +=
                    look_at_lane(hub, *lane, slots, delayed, PG_INT64_MIN, PG_INT64_MIN, now, limit)
                        .count;
            }
        }
        const Rows next =
            run(hub, kNextWork, Params().int4(*lane).datum(int2_array(slots)).int8(now));
        if (!next.is_null(0, 1)) {
            result.next_due = std::min(result.next_due, next.int8(0, 1));
        }
        CHECK_FOR_INTERRUPTS();
    }
    return result;
}

Readiness outbox_readiness(const Hub& hub, int64 now) {
    const Horizon horizon = read_horizon(hub);
    const auto position = horizon.exact ? std::optional(horizon.position) : std::nullopt;
    const Rows rows = run(hub, kReadableSubscriptions,
                          Params()
                              .int8(now)
                              .int4(hub.incarnation)
                              .optional_int8(position)
                              .datum(UInt64GetDatum(horizon.xid)));
    return {static_cast<int64>(rows.count), core::kNever};
}

std::optional<int64> oldest_ready_message(const Hub& hub, int64 now) {
    std::optional<int64> oldest;
    for (const auto& message :
         look_at_messages(hub, all_slots(hub), PG_INT64_MIN, PG_INT64_MIN, now, 1)) {
        const int64 since = core::pg_us_to_ms(message.visible_at);
        oldest = oldest ? std::min(*oldest, since) : since;
    }
    return oldest;
}

std::optional<int64> oldest_ready_work(const Hub& hub, int64 now) {
    const auto slots = all_slots(hub);
    std::optional<int64> oldest;
    constexpr int32 kBelowAll = -1;
    for (auto lane = next_lane(hub, kBelowAll); lane; lane = next_lane(hub, *lane)) {
        const Rows rows = run(
            hub, kOldestWork,
            Params().int4(*lane).datum(int2_array(slots)).int8(now).int4(live_incarnation(hub)));
        if (const auto since = rows.optional_ms(0, 1)) {
            oldest = oldest ? std::min(*oldest, *since) : since;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return oldest;
}

int64 count_messages(const Hub& hub, int64 limit) {
    return run(hub, kCountMessages, Params().int8(limit)).int8(0, 1);
}

int64 count_work(const Hub& hub, int64 limit) {
    return run(hub, kCountWork, Params().int8(limit)).int8(0, 1);
}

int64 count_dead_letters(const Hub& hub, int64 limit) {
    return run(hub, kCountDeadLetters, Params().int8(limit)).int8(0, 1);
}

int64 count_schedule_errors(const Hub& hub) {
    return run(hub, kCountScheduleErrors).int8(0, 1);
}

std::span<const ReaderLag> reader_lags(const Hub& hub, int64 now) {
    pg::List<ReaderLag> lags;
    const Rows rows = run(hub, kReaderLags);
    for (uint64 i = 0; i < rows.count; ++i) {
        const auto since = rows.optional_int8(i, 2);
        lags.add({rows.text(i, 1), since ? std::max<int64>(0, now - *since) : 0});
    }
    return lags.span();
}

std::span<const LiveLease> live_turns(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveTurns, now, limit, [](const Rows& rows, uint64 i) {
        return lease_key_of_turn(rows.int8(i, 1));
    });
}

std::span<const LiveLease> live_work(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveWork, now, limit, [](const Rows& rows, uint64 i) {
        return lease_key_of_work(rows.int8(i, 1));
    });
}

std::span<const LiveLease> live_sessions(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveSessions, now, limit, [](const Rows& rows, uint64 i) {
        return lease_key_of_session(rows.text(i, 1));
    });
}

std::span<const LiveLease> live_batches(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveBatches, now, limit, [](const Rows& rows, uint64 i) {
        return lease_key_of_batch(rows.text(i, 1));
    });
}

uint64 lease_key_of_batch(std::string_view subscription) {
    return core::fnv1a64(subscription);
}

uint64 lease_key_of_work(int64 id) {
    return static_cast<uint64>(id);
}

uint64 lease_key_of_session(std::string_view session_id) {
    // Ids of items are far below this bit.
    return core::fnv1a64(session_id) | uint64{1} << 63;
}

uint64 lease_key_of_turn(int64 instance_key) {
    return static_cast<uint64>(instance_key);
}

bool has_prepared_before(TimestampTz time) {
    if (max_prepared_xacts == 0) {
        return false;
    }
    pg::pass_store_faults();
    Oid types[] = {TIMESTAMPTZOID};
    Datum values[] = {TimestampTzGetDatum(time)};
    const int result = SPI_execute_with_args(
        "SELECT 1 FROM pg_catalog.pg_prepared_xacts AS p"
        " WHERE p.database OPERATOR(pg_catalog.=) pg_catalog.current_database()"
        " AND p.prepared OPERATOR(pg_catalog.<=) $1 LIMIT 1",
        1, types, values, nullptr, true, 1);
    if (result < 0) {
        elog(ERROR, "could not read the prepared transactions");
    }
    const bool found = SPI_processed > 0;
    SPI_freetuptable(SPI_tuptable);  // a fetch from many lanes asks for each
    return found;
}

bool is_settled_since(TimestampTz made) {
    static constinit TimestampTz asked = 0;
    const TimestampTz now = GetCurrentTimestamp();
    if (now - asked < USECS_PER_SEC && now >= asked && asked > made) {
        return false;
    }
    asked = now;
    const uint64 mark = pg::prepare_mark();
    if (!has_prepared_before(DT_NOEND)) {
        pg::none_prepared_at(mark);
        return true;
    }
    return !has_prepared_before(made);
}

bool has_old_prepared() {
    // Once there is none, there never will be: nobody prepares a transaction of the past.
    static constinit bool none_left = false;
    if (none_left || !pg::attach_shared_memory()) {
        return false;
    }
    none_left = !has_prepared_before(pg::shared_memory_since());
    return !none_left;
}

std::optional<InstanceMark> read_mark(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kMark, Params().text(instance_id));
    if (rows.count == 0) {
        return std::nullopt;
    }
    return InstanceMark{rows.int8(0, 1), rows.int8(0, 2), rows.text(0, 3)};
}

}  // namespace belay::store
