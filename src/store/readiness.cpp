// Whether a queue has something to do, and when; which leases are live.
//
// May touch: the queues, instances and subscriptions, to read them with the caller's snapshot. Must
// not: write or lock.
#include "store/readiness.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/faults.hpp"
#include "pg/list.hpp"
#include "shmem/open_lanes.hpp"
#include "shmem/prepared_marks.hpp"
#include "shmem/shared_memory.hpp"
#include "store/orchestrator_queue.hpp"
#include "store/outbox.hpp"
#include "store/sparse.hpp"
#include "store/statements.hpp"
#include "store/table/table.hpp"
#include "store/worker_queue.hpp"

namespace belay::store {

namespace {

constexpr auto kNextMessage = query<In<ListOf<int16>, Ms>, Out<Maybe<Ms>>>(R"sql(
    SELECT pg_catalog.min(w.visible_at)
      FROM pg_catalog.unnest($1) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT m.visible_at
          FROM {hub}.orchestrator_queue AS m
         WHERE m.slot {=} s.slot AND NOT m.parked AND m.visible_at {>} $2
         ORDER BY m.visible_at, m.id
         LIMIT 1) AS w
)sql");

// $1 lane, $2 slots, $3 now in ms.
constexpr auto kNextWork = query<In<int32, ListOf<int16>, int64>, Out<Maybe<int64>>>(R"sql(
    SELECT pg_catalog.min(w.due)
      FROM pg_catalog.unnest($2) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT q.due
          FROM {hub}.worker_queue AS q
         WHERE q.lane {=} $1 AND q.slot {=} s.slot AND q.due {>} $3
         ORDER BY q.due, q.id
         LIMIT 1) AS w
)sql");

constexpr auto kCountMessages = query<In<int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.orchestrator_queue AS q WHERE NOT q.parked
             ORDER BY q.slot, q.visible_at, q.id LIMIT $1) AS s
)sql");

constexpr auto kCountWork = query<In<int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.worker_queue AS q
             ORDER BY q.lane, q.slot, q.due, q.id LIMIT $1) AS s
)sql");

constexpr auto kCountDeadLetters = query<In<int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.dead_letters AS d ORDER BY d.id LIMIT $1) AS s
)sql");

constexpr auto kCountScheduleErrors = report<In<>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*) FROM {hub}.schedules AS s WHERE s.last_error IS NOT NULL
)sql");

// Of one that wants none of the events looked at, the last of these: events that it wants may lie
// behind it, and a reader that lives moves past the others.
constexpr auto kReaderLags = query<In<>, Out<Text, Maybe<int64>, int64>>(R"sql(
    SELECT s.name,
           (SELECT COALESCE(pg_catalog.min(e.occurred_at_ms)
                                FILTER (WHERE s.topics IS NULL OR e.topic {=} ANY (s.topics)),
                            CASE WHEN pg_catalog.count(*) {>=} 1000
                                 THEN pg_catalog.max(e.occurred_at_ms) END)
              FROM (SELECT n.topic, n.occurred_at_ms
                      FROM {hub}.outbox_events AS n
                     WHERE ROW(n.incarnation, n.position) {>}
                           ROW(s.seen_incarnation, s.seen_position)
                       AND (n.incarnation {>} s.seen_incarnation
                            OR ROW(n.xid, n.position) {>} ROW(s.seen_xid, s.seen_xid_position))
                     ORDER BY n.incarnation, n.position
                     LIMIT 1000) AS e),
           s.lost_events {+}
           (SELECT CAST(COALESCE(pg_catalog.sum(g.events), 0) AS pg_catalog.int8)
              FROM {hub}.outbox_gaps AS g
             WHERE g.subscription {=} s.name)
      FROM {hub}.outbox_subscriptions AS s
     ORDER BY s.name
)sql");

// $1 slots, $2 now, $3 incarnation. The oldest of a lane is the first of its rows that were never
// delayed, or of those that were. However many lanes and leased rows there are, up to 1000 lanes
// are looked at, and 1000 rows of each of their parts.
constexpr auto kOldestWork = query<In<ListOf<int16>, int64, int32>, Out<Maybe<Ms>>>(R"sql(
    WITH RECURSIVE lanes AS (
        (SELECT f.lane
           FROM {hub}.worker_queue AS f
          ORDER BY f.lane, f.slot, f.due, f.id
          LIMIT 1)
        UNION ALL
        SELECT n.lane
          FROM lanes AS l
         CROSS JOIN LATERAL (
            SELECT a.lane
              FROM {hub}.worker_queue AS a
             WHERE a.lane {>} l.lane
             ORDER BY a.lane, a.slot, a.due, a.id
             LIMIT 1) AS n)
    SELECT pg_catalog.min(w.visible_at)
      FROM (SELECT e.lane FROM lanes AS e LIMIT 1000) AS k
     CROSS JOIN pg_catalog.unnest($1) AS s(slot)
     CROSS JOIN LATERAL (
        (SELECT r.visible_at
           FROM (SELECT q.visible_at, q.locked_until, q.lease_inc
                   FROM {hub}.worker_queue AS q
                  WHERE q.lane {=} k.lane AND q.slot {=} s.slot AND q.due {=} 0
                  ORDER BY q.id
                  LIMIT 1000) AS r
          WHERE r.locked_until {<=} $2 OR r.lease_inc {<>} $3
          LIMIT 1)
        UNION ALL
        (SELECT d.visible_at
           FROM (SELECT q.visible_at, q.locked_until, q.lease_inc
                   FROM {hub}.worker_queue AS q
                  WHERE q.lane {=} k.lane AND q.slot {=} s.slot AND q.due {>} 0 AND q.due {<=} $2
                  ORDER BY q.due, q.id
                  LIMIT 1000) AS d
          WHERE d.locked_until {<=} $2 OR d.lease_inc {<>} $3
          LIMIT 1)) AS w
)sql");

// $1 slots, $2 and $3 now, $4 incarnation.
constexpr auto kOldestMessage = query<In<ListOf<int16>, Ms, int64, int32>, Out<Maybe<Ms>>>(R"sql(
    SELECT pg_catalog.min(w.visible_at)
      FROM pg_catalog.unnest($1) AS s(slot)
     CROSS JOIN LATERAL (
        SELECT m.visible_at
          FROM {hub}.orchestrator_queue AS m
         WHERE m.slot {=} s.slot AND NOT m.parked AND m.visible_at {<=} $2
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.instance_locks AS l
                            WHERE l.instance_key {=} m.instance_key
                              AND l.instance_id {=} m.instance_id
                              AND l.locked_until {>} $3 AND l.lease_inc {=} $4)
         ORDER BY m.visible_at, m.id
         LIMIT 1) AS w
)sql");

constexpr auto kLiveTurns = report<In<int64, int32, int64>, Out<int64, int64>>(R"sql(
    SELECT l.instance_key, l.locked_until
      FROM {hub}.instance_locks AS l
     WHERE l.locked_until {>} $1 AND l.lease_inc {=} $2
     LIMIT $3
)sql");

constexpr auto kLiveWork = report<In<int64, int32, int64>, Out<int64, int64>>(R"sql(
    SELECT w.id, w.locked_until
      FROM {hub}.worker_queue AS w
     WHERE w.locked_until {>} $1 AND w.lease_inc {=} $2
     LIMIT $3
)sql");

constexpr auto kLiveSessions = report<In<int64, int32, int64>, Out<Text, int64>>(R"sql(
    SELECT s.session_id, s.locked_until
      FROM {hub}.sessions AS s
     WHERE s.locked_until {>} $1 AND s.lease_inc {=} $2
     LIMIT $3
)sql");

constexpr auto kLiveBatches = report<In<int64, int32, int64>, Out<Text, int64>>(R"sql(
    SELECT s.name, s.lease_until
      FROM {hub}.outbox_subscriptions AS s
     WHERE s.lease_until {>} $1 AND s.lease_inc {=} $2
     LIMIT $3
)sql");

// The subscriptions without a live lease for which there may be something to read: $1 now,
// $2 incarnation, $3 the last position (null: none), $4 the first xid that may still run.
constexpr auto kReadableSubscriptions = query<In<int64, int32, Maybe<int64>, Xid>, Out<Text>>(R"sql(
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
)sql");

constexpr auto kMark = query<In<Text>, Out<int64, int64, Text>>(R"sql(
    SELECT i.custom_status_version, i.current_execution_id, COALESCE(e.status, 'Running')
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.executions AS e
        ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
     WHERE i.instance_id {=} $1
)sql");

std::span<const int16> all_slots(const Hub& hub) {
    const auto count = static_cast<int>(hub.options[Option::kSlotCount]);
    auto* slots = static_cast<int16*>(palloc(sizeof(int16) * static_cast<Size>(count)));
    for (int i = 0; i < count; ++i) {
        slots[i] = static_cast<int16>(i);
    }
    return {slots, static_cast<std::size_t>(count)};
}

// The leases that a statement finds; key_of(column) is the key of one.
template <typename Found, typename KeyOf>
std::span<const LiveLease> live_leases(const Hub& hub, const Found& statement, int64 now, int limit,
                                       KeyOf key_of) {
    return run(hub, statement, now, hub.incarnation, limit)
        .collect([key_of](auto named, int64 until) {
            return LiveLease{key_of(named), until};
        });
}

}  // namespace

Readiness orchestrator_readiness(Tables& tables, int64 now, int limit) {
    const auto slots = all_slots(tables);
    const auto ready = peek_messages(tables, slots, PG_INT64_MIN, PG_INT64_MIN,
                                     pg::start_clock(now, 0), false, limit, AccessShareLock);
    const auto next = run_for_one(tables.hub, kNextMessage, slots, Ms{now});
    return {static_cast<int64>(ready.size()), next ? next->value : core::kNever};
}

namespace {

// A look at lanes of the worker queue.
struct LookAtLanes {
    Tables& tables;
    std::span<const int16> slots;
    const pg::Clock& clock;
    int64 now;
    int limit;
    Readiness found{0, core::kNever};
    pg::List<int32> open{};            // the lanes with free rows
    int64 empty_until = core::kNever;  // of the others

    bool is_enough() const { return found.items >= limit; }

    void look(std::span<const int32> lanes) {
        const auto until = peek_lanes(tables, lanes, slots, clock).empty_until;
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            if (until[i]) {
                empty_until = std::min(empty_until, *until[i]);
                continue;
            }
            open.add(lanes[i]);
            for (const bool delayed : {false, true}) {
                if (!is_enough()) {
                    found.items +=
                        peek_lane(tables, lanes[i], slots, delayed, 0, 0, clock, limit).count;
                }
            }
            if (!is_enough()) {
                const auto next = run_for_one(tables.hub, kNextWork, lanes[i], slots, now);
                found.next_due = std::min(found.next_due, next.value_or(core::kNever));
            }
        }
        found.next_due = std::min(found.next_due, empty_until);
        CHECK_FOR_INTERRUPTS();
    }
};

// The lanes that are known to be the only ones with free rows. False: that is not known.
bool probe_open_lanes(const open_lanes::Key& key, LookAtLanes* look) {
    const auto view = open_lanes::read(key, true, look->now);
    if (view.complete) {
        pg::List<int32> lanes;
        for (int i = 0; i < view.count; ++i) {
            lanes.add(view.lanes[i].lane);
        }
        look->empty_until = view.empty_until;
        look->look(lanes.span());
    }
    return view.complete;
}

}  // namespace

// Every session that begins to wait looks, so the look must not cost more with every tag: one look
// at all lanes is remembered for those that come later, as a fetch does it.
Readiness worker_readiness(Tables& tables, int64 now, int limit) {
    constexpr int kAtOnce = 32;
    constexpr int64 kRecheckMs = 1000;
    const open_lanes::Key key{tables.hub.relations.worker_queue, tables.hub.incarnation};
    const auto clock = pg::start_clock(now, 0);
    LookAtLanes look{
        .tables = tables, .slots = all_slots(tables), .clock = clock, .now = now, .limit = limit};
    if (may_skip_by_memory() && probe_open_lanes(key, &look)) {
        return look.found;
    }
    auto lanes = lanes_to_fetch(tables, -1, PG_INT32_MAX, true, kAtOnce);
    uint64 number = 0;
    if (lanes.size() == kAtOnce && may_skip_by_memory()) {
        number = open_lanes::begin(key, now);
        lanes = lanes_to_fetch(tables, -1, PG_INT32_MAX, true, kAtOnce);
    }
    while (!lanes.empty()) {
        look.look(lanes);
        if (look.is_enough()) {
            look.found.next_due =
                std::min(look.found.next_due, now + kRecheckMs);  // of the other lanes
            return look.found;
        }
        lanes = lanes_to_fetch(tables, lanes.back(), PG_INT32_MAX, true, kAtOnce);
    }
    if (number != 0) {
        open_lanes::complete(key, number, true, look.open.span(), look.empty_until);
    }
    return look.found;
}

Readiness outbox_readiness(const Hub& hub, int64 now) {
    const Horizon horizon = read_horizon(hub);
    const auto position = horizon.exact ? std::optional(horizon.position) : std::nullopt;
    return {run(hub, kReadableSubscriptions, now, hub.incarnation, position, Xid{horizon.xid})
                .changed(),
            core::kNever};
}

std::optional<int64> oldest_ready_message(const Hub& hub, int64 now) {
    if (!may_have_rows(hub, Sparse::kOrchestratorQueue)) {
        return std::nullopt;
    }
    return value_of(
        run_for_one(hub, kOldestMessage, all_slots(hub), Ms{now}, now, live_incarnation(hub)));
}

std::optional<int64> oldest_ready_work(const Hub& hub, int64 now) {
    if (!may_have_rows(hub, Sparse::kWorkerQueue)) {
        return std::nullopt;
    }
    return value_of(run_for_one(hub, kOldestWork, all_slots(hub), now, live_incarnation(hub)));
}

int64 count_messages(const Hub& hub, int64 limit) {
    return may_have_rows(hub, Sparse::kOrchestratorQueue) ? run_for_one(hub, kCountMessages, limit)
                                                          : 0;
}

int64 count_work(const Hub& hub, int64 limit) {
    return may_have_rows(hub, Sparse::kWorkerQueue) ? run_for_one(hub, kCountWork, limit) : 0;
}

int64 count_dead_letters(const Hub& hub, int64 limit) {
    return may_have_rows(hub, Sparse::kDeadLetters) ? run_for_one(hub, kCountDeadLetters, limit)
                                                    : 0;
}

int64 count_schedule_errors(const Hub& hub) {
    return may_have_rows(hub, Sparse::kSchedules) ? run_for_one(hub, kCountScheduleErrors) : 0;
}

std::span<const ReaderLag> reader_lags(const Hub& hub, int64 now) {
    pg::List<ReaderLag> lags;
    if (!may_have_rows(hub, Sparse::kOutboxSubscriptions)) {
        return {};
    }
    for (const auto [name, since, lost] : run(hub, kReaderLags)) {
        lags.add({name, since ? std::max<int64>(0, now - *since) : 0, lost});
    }
    return lags.span();
}

std::span<const LiveLease> live_turns(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveTurns, now, limit, lease_key_of_turn);
}

std::span<const LiveLease> live_work(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveWork, now, limit, lease_key_of_work);
}

std::span<const LiveLease> live_sessions(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveSessions, now, limit, lease_key_of_session);
}

std::span<const LiveLease> live_batches(const Hub& hub, int64 now, int limit) {
    return live_leases(hub, kLiveBatches, now, limit, lease_key_of_batch);
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
    const uint64 mark = prepared_marks::current();
    if (!has_prepared_before(DT_NOEND)) {
        prepared_marks::none_open_at(mark);
        return true;
    }
    return !has_prepared_before(made);
}

bool has_old_prepared() {
    // Once there is none, there never will be: an old transaction cannot be prepared later.
    static constinit bool none_left = false;
    if (none_left || !shmem::attach()) {
        return false;
    }
    none_left = !has_prepared_before(shmem::since());
    return !none_left;
}

std::optional<InstanceMark> read_mark(const Hub& hub, std::string_view instance_id) {
    return run(hub, kMark, instance_id).first<InstanceMark>();
}

}  // namespace belay::store
