// The numbers of an overview, who has leases, and a search by ids.
//
// May touch: all tables of the hub, to read them with the caller's snapshot. Must not: write or
// lock, read a table that grows as a whole, or count beyond a limit.
#include "store/glance.hpp"

#include <algorithm>

namespace belay::store {

namespace {

// ---- Queues of tasks ----

// $1 now, $2 cap, $3 epoch floor, $4 most queues. The names are those of queues with settings, and
// of those with tasks that have not ended: found by steps in the indexes for ready, suspended and
// blocked ones, and among the first that are delayed and active. The index of delayed tasks does
// not have the queue, so a tenth of the cap is looked at.
constexpr auto kTaskQueues = query<In<int64, int64, int64, int64>, TaskQueueRows>(R"sql(
    WITH RECURSIVE ready_name(name) AS (
        (SELECT f.queue FROM {hub}.tasks AS f WHERE f.state {=} 'ready' ORDER BY f.queue LIMIT 1)
        UNION ALL
        SELECT (SELECT n.queue
                  FROM {hub}.tasks AS n
                 WHERE n.state {=} 'ready' AND n.queue {>} k.name
                 ORDER BY n.queue
                 LIMIT 1)
          FROM ready_name AS k
         WHERE k.name IS NOT NULL
    ), parked_name(state, name) AS (
        SELECT v.state, (SELECT f.queue
                           FROM {hub}.tasks AS f
                          WHERE f.state {=} ANY (ARRAY['blocked', 'suspended'])
                            AND f.state {=} v.state
                          ORDER BY f.state, f.queue
                          LIMIT 1)
          FROM (VALUES ('blocked'), ('suspended')) AS v(state)
        UNION ALL
        SELECT k.state, (SELECT n.queue
                           FROM {hub}.tasks AS n
                          WHERE n.state {=} ANY (ARRAY['blocked', 'suspended'])
                            AND n.state {=} k.state AND n.queue {>} k.name
                          ORDER BY n.state, n.queue
                          LIMIT 1)
          FROM parked_name AS k
         WHERE k.name IS NOT NULL
    ), delayed AS MATERIALIZED (
        SELECT d.queue AS name, pg_catalog.count(*) AS tasks
          FROM (SELECT t.queue
                  FROM {hub}.tasks AS t
                 WHERE t.state {=} 'delayed'
                 ORDER BY t.available_at_ms, t.id
                 LIMIT $2 {/} 10) AS d
         GROUP BY d.queue
    ), active AS MATERIALIZED (
        SELECT a.queue AS name, pg_catalog.count(*) AS tasks,
               pg_catalog.count(*) FILTER (WHERE a.lease_until_ms {<=} $1 OR a.lease_epoch {<} $3)
                   AS overdue,
               pg_catalog.count(DISTINCT a.lease_owner) AS owners
          FROM (SELECT t.queue, t.lease_until_ms, t.lease_epoch, t.lease_owner
                  FROM {hub}.tasks AS t
                 WHERE t.state {=} 'active'
                 ORDER BY t.lease_check_ms
                 LIMIT $2) AS a
         GROUP BY a.queue
    ), names AS MATERIALIZED (
        SELECT u.name
          FROM ((SELECT l.name FROM {hub}.queues AS l ORDER BY l.name LIMIT $4)
                UNION ALL (SELECT r.name FROM ready_name AS r WHERE r.name IS NOT NULL LIMIT $4)
                UNION ALL (SELECT p.name FROM parked_name AS p WHERE p.name IS NOT NULL
                            LIMIT 2 {*} $4)
                UNION ALL (SELECT d.name FROM delayed AS d)
                UNION ALL (SELECT a.name FROM active AS a)) AS u
         GROUP BY u.name
         ORDER BY u.name
         LIMIT $4
    ), share AS MATERIALIZED (
        SELECT GREATEST(200, $2 {/} GREATEST(1, pg_catalog.count(*))) AS most FROM names
    ), whole AS MATERIALIZED (
        SELECT COALESCE((SELECT pg_catalog.sum(d.tasks) FROM delayed AS d), 0) {>=} ($2 {/} 10)
                   AS delayed,
               COALESCE((SELECT pg_catalog.sum(a.tasks) FROM active AS a), 0) {>=} $2 AS active
    )
    SELECT n.name, COALESCE(l.paused, false), r.tasks, COALESCE(d.tasks, 0), b.tasks,
           COALESCE(a.tasks, 0), s.tasks, COALESCE(a.overdue, 0), $1 {-} r.oldest, q.concurrency,
           q.rate_per_s, CASE WHEN q.rate_per_s IS NOT NULL THEN q.burst END,
           COALESCE(a.owners, 0),
           pg_catalog.array_remove(ARRAY[
               CASE WHEN r.tasks {=} share.most THEN 'ready' END,
               CASE WHEN w.delayed THEN 'delayed' END,
               CASE WHEN b.tasks {=} share.most THEN 'blocked' END,
               CASE WHEN w.active THEN 'active' END,
               CASE WHEN s.tasks {=} share.most THEN 'suspended' END], NULL),
           e.by, e.at
      FROM names AS n
     CROSS JOIN share
     CROSS JOIN whole AS w
      LEFT JOIN {hub}.queues AS l ON l.name {=} n.name
      LEFT JOIN {hub}.queue_limits AS q ON q.queue {=} n.name
      LEFT JOIN delayed AS d ON d.name {=} n.name
      LEFT JOIN active AS a ON a.name {=} n.name
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS tasks, pg_catalog.min(x.available_at_ms) AS oldest
          FROM (SELECT t.available_at_ms
                  FROM {hub}.tasks AS t
                 WHERE t.state {=} 'ready' AND t.queue {=} n.name
                 LIMIT share.most) AS x) AS r
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS tasks
          FROM (SELECT 1
                  FROM {hub}.tasks AS t
                 WHERE t.state {=} ANY (ARRAY['blocked', 'suspended']) AND t.state {=} 'blocked'
                   AND t.queue {=} n.name
                 LIMIT share.most) AS x) AS b
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS tasks
          FROM (SELECT 1
                  FROM {hub}.tasks AS t
                 WHERE t.state {=} ANY (ARRAY['blocked', 'suspended']) AND t.state {=} 'suspended'
                   AND t.queue {=} n.name
                 LIMIT share.most) AS x) AS s
      LEFT JOIN LATERAL (
        SELECT x.details {->>} 'by' AS by, x.occurred_at_ms AS at
          FROM (SELECT o.type, o.details, o.occurred_at_ms
                  FROM {hub}.outbox_events AS o
                 WHERE l.paused AND o.topic {=} 'operator' AND o.subject {=} n.name
                 ORDER BY o.subject DESC, o.incarnation DESC, o.position DESC
                 LIMIT 100) AS x
         WHERE x.type {=} 'queue_changed'
           AND ((x.details {->} 'settings') {->>} 'paused') {=} 'true'
         LIMIT 1) AS e ON true
     ORDER BY n.name
)sql");

// ---- The rest of the overview ----

constexpr auto kDeadLetters = query<In<int64>, DeadLetterGroups>(R"sql(
    SELECT n.queue, n.reason, pg_catalog.count(*), pg_catalog.max(n.dead_at)
      FROM (SELECT d.queue, d.reason, d.dead_at
              FROM {hub}.dead_letters AS d
             ORDER BY d.id DESC
             LIMIT $1) AS n
     GROUP BY n.queue, n.reason
     ORDER BY n.queue, n.reason
)sql");

// $1 since, $2 cap.
constexpr auto kFailed = query<In<int64, int64>, Out<int64, int64>>(R"sql(
    SELECT pg_catalog.count(*) FILTER (WHERE x.state {=} 'failed'),
           pg_catalog.count(*) FILTER (WHERE x.state {=} 'expired')
      FROM (SELECT t.state
              FROM {hub}.tasks AS t
             WHERE t.state {=} ANY (ARRAY['failed', 'expired']) AND t.terminal_at_ms {>=} $1
             ORDER BY t.terminal_at_ms, t.id
             LIMIT $2) AS x
)sql");

constexpr auto kRunning = query<In<int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1
              FROM {hub}.executions AS e
             WHERE e.status {=} 'Running'
             ORDER BY e.started_at, e.instance_id
             LIMIT $1) AS x
)sql");

constexpr auto kIntents = query<In<int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.intent_queue AS i ORDER BY i.id LIMIT $1) AS x
)sql");

// $1 slots, $2 now, $3 cap.
constexpr auto kMessages = query<In<ListOf<int16>, Ms, int64>, Out<int64, int64>>(R"sql(
    SELECT (SELECT pg_catalog.count(*)
              FROM (SELECT 1
                      FROM {hub}.orchestrator_queue AS q
                     WHERE NOT q.parked AND q.slot {=} ANY ($1) AND q.visible_at {<=} $2
                     LIMIT $3) AS a),
           (SELECT pg_catalog.count(*)
              FROM (SELECT 1
                      FROM {hub}.orchestrator_queue AS q
                     WHERE NOT q.parked AND q.slot {=} ANY ($1) AND q.visible_at {>} $2
                     LIMIT $3) AS b)
)sql");

// $1 now, $2 incarnation, $3 cap.
constexpr auto kWork = query<In<int64, int32, int64>, Out<int64, int64, int64>>(R"sql(
    SELECT pg_catalog.count(*) FILTER (WHERE NOT x.leased AND x.due {<=} $1),
           pg_catalog.count(*) FILTER (WHERE NOT x.leased AND x.due {>} $1),
           pg_catalog.count(*) FILTER (WHERE x.leased)
      FROM (SELECT q.due, q.locked_until {>} $1 AND q.lease_inc {=} $2 AS leased
              FROM {hub}.worker_queue AS q
             ORDER BY q.lane, q.slot, q.due, q.id
             LIMIT $3) AS x
)sql");

constexpr auto kScheduleErrors = query<In<int64>, ScheduleErrors>(R"sql(
    SELECT s.name, pg_catalog.left(s.last_error, 200)
      FROM {hub}.schedules AS s
     WHERE s.last_error IS NOT NULL
     ORDER BY s.name
     LIMIT $1
)sql");

// $1 now, $2 cap. What was looked at may have been read already, or be of another topic.
constexpr auto kLags = query<In<int64, int64>, SubscriptionLags>(R"sql(
    SELECT s.name, g.events, g.looked {>=} $2, GREATEST(0, $1 {-} g.oldest)
      FROM {hub}.outbox_subscriptions AS s
     CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS looked,
               pg_catalog.count(*) FILTER (WHERE e.wanted) AS events,
               pg_catalog.min(e.occurred_at_ms) FILTER (WHERE e.wanted) AS oldest
          FROM (SELECT n.occurred_at_ms,
                       (n.incarnation {>} s.seen_incarnation
                        OR ROW(n.xid, n.position) {>} ROW(s.seen_xid, s.seen_xid_position))
                       AND (s.topics IS NULL OR n.topic {=} ANY (s.topics)) AS wanted
                  FROM {hub}.outbox_events AS n
                 WHERE ROW(n.incarnation, n.position) {>}
                       ROW(s.seen_incarnation, s.seen_position)
                 ORDER BY n.incarnation, n.position
                 LIMIT $2) AS e) AS g
     ORDER BY s.name
)sql");

// $1 the hub's name. Who did it stands in the events of operators, among the last ones of the hub.
constexpr auto kPaused = query<In<Text>, PauseRows>(R"sql(
    SELECT p.key, p.value, e.by, e.at
      FROM {hub}.belay_hub AS h
     CROSS JOIN LATERAL pg_catalog.jsonb_each_text(h.options {->} 'paused') AS p(key, value)
      LEFT JOIN LATERAL (
        SELECT n.details {->>} 'by' AS by, n.occurred_at_ms AS at
          FROM (SELECT o.type, o.details, o.occurred_at_ms
                  FROM {hub}.outbox_events AS o
                 WHERE o.topic {=} 'operator' AND o.subject {=} $1
                 ORDER BY o.subject DESC, o.incarnation DESC, o.position DESC
                 LIMIT 100) AS n
         WHERE n.type {=} 'hub_paused'
           AND COALESCE((n.details {->>} 'queue') {=} p.key, true)
         LIMIT 1) AS e ON true
     ORDER BY p.key
)sql");

// $1 tables, $2 their names in the hub. What vacuum or analyze found last.
constexpr auto kEstimates = query<In<ListOf<ObjectId>, ListOf<Text>>, Estimates>(R"sql(
    SELECT t.name, CAST(GREATEST(c.reltuples, 0) AS pg_catalog.int8)
      FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS t(oid, name)
      JOIN pg_catalog.pg_class AS c ON c.oid {=} t.oid
)sql");

constexpr auto kSnapshot = query<In<>, OldestSnapshot>(R"sql(
    SELECT a.pid,
           CAST(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() {-} a.xact_start) {*} 1000
                AS pg_catalog.int8)
      FROM pg_catalog.pg_stat_activity AS a
     WHERE a.datname {=} pg_catalog.current_database() AND a.backend_xmin IS NOT NULL
       AND a.xact_start IS NOT NULL AND a.pid {<>} pg_catalog.pg_backend_pid()
     ORDER BY a.xact_start
     LIMIT 1
)sql");

// ---- Owners ----

// $1 now, $2 incarnation, $3 epoch floor, $4 budget, $5 behind which owner, $6 limit. Leases of
// work items are in no index: of each stream the head is looked at, where they are. The lock of a
// turn names no owner: turns are counted together. Each lock is in another page, so fewer of them
// are looked at.
constexpr auto kOwners =
    query<In<int64, int32, int64, int64, Maybe<Text>, int64>, Out<Jsonb*>>(R"sql(
    WITH RECURSIVE streams(lane, slot) AS (
        (SELECT w.lane, w.slot FROM {hub}.worker_queue AS w ORDER BY w.lane, w.slot LIMIT 1)
        UNION ALL
        SELECT n.lane, n.slot
          FROM streams AS s
         CROSS JOIN LATERAL (SELECT w.lane, w.slot
                               FROM {hub}.worker_queue AS w
                              WHERE ROW(w.lane, w.slot) {>} ROW(s.lane, s.slot)
                              ORDER BY w.lane, w.slot
                              LIMIT 1) AS n
    ), known AS MATERIALIZED (
        SELECT s.lane, s.slot FROM streams AS s LIMIT 200
    ), share AS MATERIALIZED (
        SELECT $4 {/} GREATEST(1, pg_catalog.count(*)) AS most, pg_catalog.count(*) AS streams
          FROM known
    ), items AS MATERIALIZED (
        SELECT h.locked_by, h.locked_until, h.lease_inc, h.nr
          FROM known AS k
         CROSS JOIN share
         CROSS JOIN LATERAL (
            SELECT w.locked_by, w.locked_until, w.lease_inc, pg_catalog.row_number() OVER () AS nr
              FROM (SELECT q.locked_by, q.locked_until, q.lease_inc
                      FROM {hub}.worker_queue AS q
                     WHERE q.lane {=} k.lane AND q.slot {=} k.slot
                     ORDER BY q.due, q.id
                     LIMIT share.most) AS w) AS h
    ), running AS MATERIALIZED (
        SELECT x.lease_owner, x.lease_until_ms, x.lease_epoch, x.attempt_started_ms, x.queue
          FROM {hub}.tasks AS x
         WHERE x.state {=} 'active'
         ORDER BY x.lease_check_ms
         LIMIT $4
    ), claimed AS MATERIALIZED (
        SELECT x.worker_id, x.locked_until, x.lease_inc
          FROM {hub}.sessions AS x
         ORDER BY x.session_id
         LIMIT $4
    ), dispatchers AS MATERIALIZED (
        SELECT x.owner, x.locked_until, x.lease_inc
          FROM {hub}.slot_owners AS x
         ORDER BY x.queue, x.owner
         LIMIT $4
    ), locks AS MATERIALIZED (
        SELECT x.lock_no, x.locked_at, x.locked_until, x.lease_inc
          FROM {hub}.instance_locks AS x
         ORDER BY x.instance_key, x.instance_id
         LIMIT $4 {/} 10
    ), turns AS MATERIALIZED (
        SELECT pg_catalog.count(*) FILTER (WHERE l.live) AS live,
               pg_catalog.count(*) FILTER (WHERE NOT l.live) AS overdue,
               pg_catalog.min(l.locked_at) AS oldest,
               pg_catalog.min(l.locked_until) FILTER (WHERE l.live) AS next_deadline
          FROM (SELECT x.locked_at, x.locked_until,
                       x.locked_until {>} $1 AND x.lease_inc {=} $2 AS live
                  FROM locks AS x
                 WHERE x.lock_no {<>} 0) AS l
    ), owners AS MATERIALIZED (
        SELECT l.owner, pg_catalog.to_jsonb(pg_catalog.array_agg(DISTINCT l.kind)) AS kinds,
               pg_catalog.count(*) FILTER (WHERE l.live) AS live,
               pg_catalog.count(*) FILTER (WHERE NOT l.live) AS overdue,
               pg_catalog.min(l.since_ms) AS oldest,
               pg_catalog.min(l.until_ms) FILTER (WHERE l.live) AS next_deadline,
               pg_catalog.to_jsonb((pg_catalog.array_agg(DISTINCT l.queue)
                                        FILTER (WHERE l.queue IS NOT NULL))[1:20]) AS queues
          FROM (SELECT t.lease_owner AS owner, 'tasks' AS kind, t.lease_until_ms AS until_ms,
                       t.lease_until_ms {>} $1 AND t.lease_epoch {>=} $3 AS live,
                       t.attempt_started_ms AS since_ms, t.queue AS queue
                  FROM running AS t
                UNION ALL
                SELECT COALESCE(i.locked_by, ''), 'items', i.locked_until,
                       i.locked_until {>} $1 AND i.lease_inc {=} $2, NULL, NULL
                  FROM items AS i
                 WHERE i.locked_until {<>} 0
                UNION ALL
                SELECT s.worker_id, 'sessions', s.locked_until,
                       s.locked_until {>} $1 AND s.lease_inc {=} $2, NULL, NULL
                  FROM claimed AS s
                UNION ALL
                SELECT o.owner, 'slots', o.locked_until,
                       o.locked_until {>} $1 AND o.lease_inc {=} $2, NULL, NULL
                  FROM dispatchers AS o) AS l
         WHERE $5 IS NULL OR l.owner {>} $5
         GROUP BY l.owner
         ORDER BY l.owner
         LIMIT $6 {+} 1
    ), page AS MATERIALIZED (
        SELECT o.* FROM owners AS o ORDER BY o.owner LIMIT $6
    ), looked AS MATERIALIZED (
        SELECT (SELECT pg_catalog.count(*) FROM running) AS running,
               (SELECT pg_catalog.count(*) FROM items) AS items,
               (SELECT pg_catalog.count(*) FROM claimed) AS claimed,
               (SELECT pg_catalog.count(*) FROM dispatchers) AS dispatchers,
               (SELECT pg_catalog.count(*) FROM locks) AS locks
    )
    SELECT pg_catalog.jsonb_build_object(
               'rows', COALESCE((SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
                                     'owner_id', p.owner, 'kinds', p.kinds, 'live', p.live,
                                     'overdue', p.overdue, 'oldest_ms', p.oldest,
                                     'next_deadline_ms', p.next_deadline,
                                     'queues', COALESCE(p.queues, pg_catalog.jsonb_build_array()))
                                     ORDER BY p.owner)
                                   FROM page AS p), pg_catalog.jsonb_build_array()),
               'next', CASE WHEN (SELECT pg_catalog.count(*) FROM owners) {>} $6
                            THEN (SELECT pg_catalog.max(p.owner) FROM page AS p) END,
               'turns', pg_catalog.jsonb_build_object(
                            'live', t.live, 'overdue', t.overdue, 'oldest_ms', t.oldest,
                            'next_deadline_ms', t.next_deadline,
                            'complete', n.locks {<} ($4 {/} 10)),
               'scanned', (((n.running {+} n.items) {+} n.claimed) {+} n.dispatchers) {+} n.locks,
               'complete', n.running {<} $4 AND n.claimed {<} $4 AND n.dispatchers {<} $4
                           AND share.streams {<} 200
                           AND NOT EXISTS (SELECT 1 FROM items AS i WHERE i.nr {>=} share.most))
      FROM looked AS n
     CROSS JOIN turns AS t
     CROSS JOIN share
)sql");

// ---- Search ----

// $1 text, $2 the same as a uuid. In the order of their keys, names that begin with the text come
// first of all that are not below it.
constexpr auto kFind = query<In<Text, Maybe<pg_uuid_t>>, Listing>(R"sql(
    WITH RECURSIVE keyed(queue) AS (
        (SELECT d.queue FROM {hub}.dedup_keys AS d ORDER BY d.queue LIMIT 1)
        UNION ALL
        SELECT n.queue
          FROM keyed AS k
         CROSS JOIN LATERAL (SELECT d.queue
                               FROM {hub}.dedup_keys AS d
                              WHERE d.queue {>} k.queue
                              ORDER BY d.queue
                              LIMIT 1) AS n
    )
    SELECT f.what, f.id, f.label
      FROM ((SELECT 'task' AS what, CAST(t.id AS pg_catalog.text) AS id,
                    pg_catalog.concat(t.queue, ' ', t.state) AS label
               FROM {hub}.tasks AS t
              WHERE t.id {=} $2)
            UNION ALL
            (SELECT 'flow', CAST(w.id AS pg_catalog.text), pg_catalog.concat(w.kind, ' ', w.state)
               FROM {hub}.flows AS w
              WHERE w.id {=} $2)
            UNION ALL
            (SELECT 'instance', i.instance_id, i.orchestration_name
               FROM (SELECT x.instance_id, x.orchestration_name
                       FROM {hub}.instances AS x
                      WHERE x.instance_id {>=} $1
                      ORDER BY x.instance_id
                      LIMIT 10) AS i
              WHERE pg_catalog.starts_with(i.instance_id, $1))
            UNION ALL
            (SELECT 'queue', l.name, CASE WHEN l.paused THEN 'paused' ELSE '' END
               FROM (SELECT x.name, x.paused
                       FROM {hub}.queues AS x
                      WHERE x.name {>=} $1
                      ORDER BY x.name
                      LIMIT 10) AS l
              WHERE pg_catalog.starts_with(l.name, $1))
            UNION ALL
            (SELECT 'schedule', s.name, s.cron
               FROM (SELECT x.name, x.cron
                       FROM {hub}.schedules AS x
                      WHERE x.name {>=} $1
                      ORDER BY x.name
                      LIMIT 10) AS s
              WHERE pg_catalog.starts_with(s.name, $1))
            UNION ALL
            (SELECT 'task', CAST(d.task_id AS pg_catalog.text),
                    pg_catalog.concat('dedup key of ', d.queue)
               FROM (SELECT k.queue FROM keyed AS k LIMIT 100) AS k
               JOIN {hub}.dedup_keys AS d ON d.queue {=} k.queue AND d.key {=} $1)) AS f
     LIMIT 20
)sql");

}  // namespace

TaskQueueRows task_queues(const Hub& hub, int64 now, int64 cap, int64 most) {
    return run(hub, kTaskQueues, now, cap, hub.epoch_floor, most);
}

DeadLetterGroups dead_letter_groups(const Hub& hub, int64 cap) {
    return run(hub, kDeadLetters, cap);
}

Ended failed_since(const Hub& hub, int64 since_ms, int64 cap) {
    const auto [failed, expired] = run_for_one(hub, kFailed, since_ms, cap);
    const bool capped = failed + expired >= cap;
    return {{failed, capped}, {expired, capped}};
}

Capped count_running(const Hub& hub, int64 cap) {
    const int64 count = run_for_one(hub, kRunning, cap);
    return {count, count >= cap};
}

Capped count_intents(const Hub& hub, int64 cap) {
    const int64 count = run_for_one(hub, kIntents, cap);
    return {count, count >= cap};
}

QueueDepth message_depth(const Hub& hub, int64 now, int64 cap) {
    const auto count = static_cast<std::size_t>(hub.options[Option::kSlotCount]);
    auto* slots = static_cast<int16*>(palloc(sizeof(int16) * count));
    for (std::size_t i = 0; i < count; ++i) {
        slots[i] = static_cast<int16>(i);
    }
    const auto [ready, waiting] =
        run_for_one(hub, kMessages, std::span<const int16>(slots, count), Ms{now}, cap);
    return {
        .ready = ready, .waiting = waiting, .leased = 0, .capped = ready >= cap || waiting >= cap};
}

QueueDepth work_depth(const Hub& hub, int64 now, int64 cap) {
    const auto [ready, waiting, leased] = run_for_one(hub, kWork, now, live_incarnation(hub), cap);
    return {.ready = ready,
            .waiting = waiting,
            .leased = leased,
            .capped = ready + waiting + leased >= cap};
}

ScheduleErrors schedule_errors(const Hub& hub, int64 most) {
    return run(hub, kScheduleErrors, most);
}

SubscriptionLags subscription_lags(const Hub& hub, int64 now, int64 cap) {
    return run(hub, kLags, now, cap);
}

PauseRows paused_queues(const Hub& hub) {
    return run(hub, kPaused, NameStr(hub.name));
}

Estimates row_estimates(const Hub& hub) {
    const ObjectId tables[] = {{hub.relations.tasks},
                               {hub.relations.instances},
                               {hub.relations.outbox_events},
                               {hub.relations.dead_letters}};
    const Text names[] = {"tasks", "instances", "outbox_events", "dead_letters"};
    return run(hub, kEstimates, std::span<const ObjectId>(tables), std::span<const Text>(names));
}

OldestSnapshot oldest_snapshot(const Hub& hub) {
    return run(hub, kSnapshot);
}

Jsonb* list_owners(const Hub& hub, int64 now, const OwnerRange& range) {
    return run_for_one(hub, kOwners, now, live_incarnation(hub), hub.epoch_floor, range.scan,
                       range.after, range.limit);
}

Listing find(const Hub& hub, std::string_view text, std::optional<pg_uuid_t> id) {
    return run(hub, kFind, text, id);
}

}  // namespace belay::store
