// Removing instances and executions, with all that is stored of them.
//
// May touch: every table of orchestrations, and the worker queue's rows of an instance. Must not:
// decide what may go; ops/management does, and holds the exclusions.
#include "store/removal.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/scopes.hpp"
#include "shmem/cursors.hpp"
#include "shmem/mutants.hpp"
#include "store/outbox.hpp"
#include "store/table/table.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

using DeletedRows = Out<Text, int64, Text>;

// ---------------------------------------------------------------- who is to go

constexpr auto kDescendants = statement<In<ListOf<Text>>, Out<Text>>(R"sql(
    WITH RECURSIVE t(instance_id) AS (
        SELECT i.instance_id
          FROM {hub}.instances AS i
         WHERE i.instance_id {=} ANY ($1)
        UNION
        SELECT i.instance_id
          FROM t
          JOIN {hub}.instances AS i ON i.parent_instance_id {=} t.instance_id
    )
    SELECT t.instance_id FROM t
)sql");

constexpr auto kUnborn = statement<In<ListOf<Text>>, Out<Text>>(R"sql(
    SELECT DISTINCT m.instance_id
      FROM {hub}.orchestrator_queue AS m
     WHERE m.parent_id {=} ANY ($1)
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.instances AS i
                        WHERE i.instance_id {=} m.instance_id)
)sql");

// Finished roots in the order of their completion: an instance between two executions has a queued
// ContinueAsNew or a live lock, and is not finished. OFFSET 0: these two are looked up for each
// root by their keys, never joined. $1 completed before, $2 now in ms, $3 incarnation, $4 limit.
constexpr auto kFinished = statement<In<Ms, int64, int32, int64>, Out<Text>>(R"sql(
    SELECT i.instance_id
      FROM {hub}.executions AS e
      JOIN {hub}.instances AS i
        ON i.instance_id {=} e.instance_id AND i.current_execution_id {=} e.execution_id
     WHERE e.completed_at IS NOT NULL AND e.completed_at {<} $1 AND e.status {<>} 'Running'
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.instances AS p
                        WHERE p.instance_id {=} i.parent_instance_id)
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.orchestrator_queue AS m
                        WHERE m.instance_key {=} belay.instance_key(i.instance_id)
                          AND m.instance_id {=} i.instance_id AND m.kind {=} 'n'
                       OFFSET 0)
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.instance_locks AS l
                        WHERE l.instance_key {=} belay.instance_key(i.instance_id)
                          AND l.instance_id {=} i.instance_id
                          AND l.locked_until {>} $2 AND l.lease_inc {=} $3
                       OFFSET 0)
     ORDER BY e.completed_at, e.instance_id
     LIMIT $4
)sql");

// The same among ids, $5. In two steps, or the order would be had from a walk along the index.
constexpr auto kFinishedOf = statement<In<Ms, int64, int32, int64, ListOf<Text>>, Out<Text>>(R"sql(
    WITH f AS MATERIALIZED (
        SELECT i.instance_id, e.completed_at
          FROM {hub}.instances AS i
          JOIN {hub}.executions AS e
            ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
         WHERE i.instance_id {=} ANY ($5)
           AND e.completed_at IS NOT NULL AND e.completed_at {<} $1 AND e.status {<>} 'Running'
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.instances AS p
                            WHERE p.instance_id {=} i.parent_instance_id)
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.orchestrator_queue AS m
                            WHERE m.instance_key {=} belay.instance_key(i.instance_id)
                              AND m.instance_id {=} i.instance_id AND m.kind {=} 'n'
                           OFFSET 0)
           AND NOT EXISTS (SELECT 1
                             FROM {hub}.instance_locks AS l
                            WHERE l.instance_key {=} belay.instance_key(i.instance_id)
                              AND l.instance_id {=} i.instance_id
                              AND l.locked_until {>} $2 AND l.lease_inc {=} $3
                           OFFSET 0)
    )
    SELECT f.instance_id
      FROM f
     ORDER BY f.completed_at, f.instance_id
     LIMIT $4
)sql");

// $1 ids, $2 keys.
constexpr auto kRunning = statement<In<ListOf<Text>, ListOf<int64>>, Out<Text>>(
    R"sql(
    SELECT r.instance_id
      FROM (SELECT i.instance_id
              FROM {hub}.instances AS i
              LEFT JOIN {hub}.executions AS e
                ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
             WHERE i.instance_id {=} ANY ($1) AND COALESCE(e.status, 'Running') {=} 'Running'
            UNION ALL
            SELECT m.instance_id
              FROM {hub}.orchestrator_queue AS m
             WHERE m.instance_key {=} ANY ($2) AND m.instance_id {=} ANY ($1) AND m.kind {=} 'n')
           AS r
)sql");

constexpr auto kChildren = statement<In<ListOf<Text>>, Out<Text, Text>>(R"sql(
    SELECT i.instance_id, i.parent_instance_id
      FROM {hub}.instances AS i
     WHERE i.parent_instance_id {=} ANY ($1)
)sql");

constexpr auto kLineage = statement<In<Text>, Out<Maybe<Text>>>(R"sql(
    SELECT p.instance_id
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.instances AS p ON p.instance_id {=} i.parent_instance_id
     WHERE i.instance_id {=} $1
)sql");

// ---------------------------------------------------------------- holding them

// Each row is found by its key, in the order wanted. A list of keys and an ORDER BY in one query
// would be planned as a walk along the whole index, for the order's sake.
constexpr auto kHoldLocks = statement<In<ListOf<Text>, ListOf<int64>>, Out<int32>>(R"sql(
    SELECT 1
      FROM (SELECT a.instance_key, a.instance_id
              FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($1))
                AS a(instance_key, instance_id)
             ORDER BY a.instance_key, a.instance_id) AS t
     CROSS JOIN LATERAL (
        SELECT 1
          FROM {hub}.instance_locks AS l
         WHERE l.instance_key {=} t.instance_key AND l.instance_id {=} t.instance_id
           FOR UPDATE) AS h
)sql");

// $1 sorted.
constexpr auto kHoldInstances = statement<In<ListOf<Text>>, Out<int32>>(R"sql(
    SELECT 1
      FROM pg_catalog.unnest($1) AS t(instance_id)
     CROSS JOIN LATERAL (
        SELECT 1
          FROM {hub}.instances AS i
         WHERE i.instance_id {=} t.instance_id
           FOR UPDATE) AS h
)sql");

// Worker rows in the order of their key, as the acks of several leases take them.
constexpr auto kHoldWork = statement<In<ListOf<Text>>, Out<int32>>(R"sql(
    WITH f AS MATERIALIZED (
        SELECT w.lane, w.slot, w.due, w.id
          FROM {hub}.worker_queue AS w
         WHERE w.instance_id {=} ANY ($1)
    )
    SELECT 1
      FROM (SELECT f.lane, f.slot, f.due, f.id
              FROM f
             ORDER BY f.lane, f.slot, f.due, f.id) AS t
     CROSS JOIN LATERAL (
        SELECT 1
          FROM {hub}.worker_queue AS w
         WHERE w.lane {=} t.lane AND w.slot {=} t.slot AND w.due {=} t.due AND w.id {=} t.id
           FOR UPDATE) AS h
)sql");

// The try forms: how many rows there are, and how many could be had.
constexpr auto kTryLocks = statement<In<ListOf<Text>, ListOf<int64>>, Out<bool>>(R"sql(
    WITH t AS MATERIALIZED (
        SELECT a.instance_key, a.instance_id
          FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($1))
            AS a(instance_key, instance_id)
    ), h AS MATERIALIZED (
        SELECT 1
          FROM t
         CROSS JOIN LATERAL (
            SELECT 1
              FROM {hub}.instance_locks AS l
             WHERE l.instance_key {=} t.instance_key AND l.instance_id {=} t.instance_id
               FOR UPDATE SKIP LOCKED) AS l
    )
    SELECT (SELECT pg_catalog.count(*) FROM h) {=}
           (SELECT pg_catalog.count(*)
              FROM t
             CROSS JOIN LATERAL (
                SELECT 1
                  FROM {hub}.instance_locks AS l
                 WHERE l.instance_key {=} t.instance_key AND l.instance_id {=} t.instance_id
                OFFSET 0) AS l)
)sql");

constexpr auto kTryInstances = statement<In<ListOf<Text>>, Out<bool>>(R"sql(
    WITH h AS MATERIALIZED (
        SELECT 1
          FROM {hub}.instances AS i
         WHERE i.instance_id {=} ANY ($1)
           FOR UPDATE SKIP LOCKED
    )
    SELECT (SELECT pg_catalog.count(*) FROM h) {=}
           (SELECT pg_catalog.count(*)
              FROM {hub}.instances AS i
             WHERE i.instance_id {=} ANY ($1))
)sql");

constexpr auto kTryQueues = statement<In<ListOf<Text>, ListOf<int64>>, Out<bool>>(R"sql(
    WITH w AS MATERIALIZED (
        SELECT 1
          FROM {hub}.worker_queue AS q
         WHERE q.instance_id {=} ANY ($1)
           FOR UPDATE SKIP LOCKED
    ), m AS MATERIALIZED (
        SELECT 1
          FROM {hub}.orchestrator_queue AS q
         WHERE q.instance_key {=} ANY ($2) AND q.instance_id {=} ANY ($1)
           FOR UPDATE SKIP LOCKED
    ), s AS MATERIALIZED (
        SELECT 1
          FROM {hub}.orchestrator_queue AS q
         WHERE q.parent_id {=} ANY ($1)
           FOR UPDATE SKIP LOCKED
    ), d AS MATERIALIZED (
        SELECT 1
          FROM {hub}.dead_letters AS q
         WHERE q.instance_id {=} ANY ($1) AND q.queue {<>} 'intent'
           FOR UPDATE SKIP LOCKED
    )
    SELECT (SELECT pg_catalog.count(*) FROM w) {=}
           (SELECT pg_catalog.count(*)
              FROM {hub}.worker_queue AS q
             WHERE q.instance_id {=} ANY ($1))
       AND (SELECT pg_catalog.count(*) FROM m) {=}
           (SELECT pg_catalog.count(*)
              FROM {hub}.orchestrator_queue AS q
             WHERE q.instance_key {=} ANY ($2) AND q.instance_id {=} ANY ($1))
       AND (SELECT pg_catalog.count(*) FROM s) {=}
           (SELECT pg_catalog.count(*)
              FROM {hub}.orchestrator_queue AS q
             WHERE q.parent_id {=} ANY ($1))
       AND (SELECT pg_catalog.count(*) FROM d) {=}
           (SELECT pg_catalog.count(*)
              FROM {hub}.dead_letters AS q
             WHERE q.instance_id {=} ANY ($1) AND q.queue {<>} 'intent')
)sql");

// ---------------------------------------------------------------- removing them

// The instance of a dead intent is one of another hub.
constexpr auto kDeleteDeadLetters = statement<In<ListOf<Text>>, Out<>>(R"sql(
    DELETE FROM {hub}.dead_letters AS d
     WHERE d.instance_id {=} ANY ($1) AND d.queue {<>} 'intent'
)sql");

constexpr auto kDeleteWork = statement<In<ListOf<Text>>, Out<>>(R"sql(
    DELETE FROM {hub}.worker_queue AS w
     WHERE w.instance_id {=} ANY ($1)
)sql");

constexpr auto kDeleteMessages = statement<In<ListOf<Text>, ListOf<int64>>, Out<>>(R"sql(
    DELETE FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} ANY ($2) AND m.instance_id {=} ANY ($1)
)sql");

constexpr auto kDeleteStarts = statement<In<ListOf<Text>>, Out<>>(R"sql(
    DELETE FROM {hub}.orchestrator_queue AS m
     WHERE m.parent_id {=} ANY ($1)
)sql");

constexpr auto kDeleteHistory = statement<In<ListOf<Text>>, Out<int64>>(R"sql(
    WITH d AS MATERIALIZED (
        DELETE FROM {hub}.history_turns AS t
         WHERE t.instance_id {=} ANY ($1)
        RETURNING (t.last_event_id {-} t.first_event_id) {+} 1 AS events
    )
    SELECT CAST(COALESCE(pg_catalog.sum(d.events), 0) AS pg_catalog.int8) FROM d
)sql");

constexpr auto kDeleteExecutions = statement<In<ListOf<Text>>, Out<>>(R"sql(
    DELETE FROM {hub}.executions AS e
     WHERE e.instance_id {=} ANY ($1)
)sql");

constexpr auto kDeleteStore = statement<In<ListOf<Text>>, Out<>>(R"sql(
    DELETE FROM {hub}.kv_store AS k
     WHERE k.instance_id {=} ANY ($1)
)sql");

constexpr auto kDeleteDelta = statement<In<ListOf<Text>>, Out<>>(R"sql(
    DELETE FROM {hub}.kv_delta AS k
     WHERE k.instance_id {=} ANY ($1)
)sql");

constexpr auto kDeleteInstances = statement<In<ListOf<Text>>, DeletedRows>(R"sql(
    DELETE FROM {hub}.instances AS i
     WHERE i.instance_id {=} ANY ($1)
    RETURNING i.instance_id, i.current_execution_id, i.orchestration_name
)sql");

constexpr auto kDeleteLock = statement<In<int64, Text>, Out<>>(R"sql(
    DELETE FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql");

// Rows of the instances, of their children and of their locks.
constexpr auto kAnyLeft = query<In<ListOf<Text>, ListOf<int64>>, Out<bool>>(R"sql(
    SELECT EXISTS (SELECT 1 FROM {hub}.executions AS e WHERE e.instance_id {=} ANY ($1))
        OR EXISTS (SELECT 1 FROM {hub}.instances AS i WHERE i.parent_instance_id {=} ANY ($1))
        OR EXISTS (SELECT 1
                     FROM {hub}.instance_locks AS l
                    WHERE l.instance_key {=} ANY ($2) AND l.instance_id {=} ANY ($1))
)sql");

// ---------------------------------------------------------------- pruning

constexpr auto kHoldForPruning = statement<In<Text>, Out<int64>>(R"sql(
    SELECT i.current_execution_id
      FROM {hub}.instances AS i
     WHERE i.instance_id {=} $1
       FOR NO KEY UPDATE
)sql");

// $1 instance, $2 current execution, $3 number to keep, $4 completed before.
constexpr auto kPruneExecutions = statement<In<Text, int64, int64, Maybe<Ms>>, Out<int64>>(R"sql(
    DELETE FROM {hub}.executions AS e
     WHERE e.instance_id {=} $1 AND e.execution_id {<>} $2 AND e.status {<>} 'Running'
       AND ($4 IS NULL OR e.completed_at {<} $4)
       AND ($3 {<} 2
            OR e.execution_id {<} ALL (SELECT k.execution_id
                                         FROM {hub}.executions AS k
                                        WHERE k.instance_id {=} $1
                                        ORDER BY k.execution_id DESC
                                        LIMIT $3))
    RETURNING e.execution_id
)sql");

constexpr auto kPruneHistory = statement<In<Text, ListOf<int64>>, Out<int64>>(R"sql(
    WITH d AS MATERIALIZED (
        DELETE FROM {hub}.history_turns AS t
         WHERE t.instance_id {=} $1 AND t.execution_id {=} ANY ($2)
        RETURNING (t.last_event_id {-} t.first_event_id) {+} 1 AS events
    )
    SELECT CAST(COALESCE(pg_catalog.sum(d.events), 0) AS pg_catalog.int8) FROM d
)sql");

// Instances to prune: first those that have something to prune, so that repeated calls get through,
// then the others, if there is room. $1 completed before, $2 limit, and of the options $3 completed
// before, $4 number to keep.
constexpr auto kPrunable = statement<In<Maybe<Ms>, int64, Maybe<Ms>, int64>, Out<Text>>(R"sql(
    SELECT p.instance_id
      FROM (VALUES (true), (false)) AS w(has_any)
     CROSS JOIN LATERAL (
        SELECT i.instance_id
          FROM {hub}.instances AS i
          LEFT JOIN {hub}.executions AS e
            ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
         WHERE ($1 IS NULL OR e.completed_at {<} $1)
           AND w.has_any {=}
               EXISTS (SELECT 1
                         FROM {hub}.executions AS o
                        WHERE o.instance_id {=} i.instance_id
                          AND o.execution_id {<>} i.current_execution_id
                          AND o.status {<>} 'Running'
                          AND ($3 IS NULL OR o.completed_at {<} $3)
                          AND ($4 {<} 2
                               OR (SELECT pg_catalog.count(*)
                                     FROM {hub}.executions AS k
                                    WHERE k.instance_id {=} i.instance_id
                                      AND k.execution_id {>} o.execution_id) {>=} $4))
         ORDER BY i.instance_id
         LIMIT $2) AS p
     LIMIT $2
)sql");

// The same among ids, $5.
constexpr auto kPrunableOf =
    statement<In<Maybe<Ms>, int64, Maybe<Ms>, int64, ListOf<Text>>, Out<Text>>(
        R"sql(
    SELECT p.instance_id
      FROM (VALUES (true), (false)) AS w(has_any)
     CROSS JOIN LATERAL (
        SELECT i.instance_id
          FROM {hub}.instances AS i
          LEFT JOIN {hub}.executions AS e
            ON e.instance_id {=} i.instance_id AND e.execution_id {=} i.current_execution_id
         WHERE i.instance_id {=} ANY ($5) AND ($1 IS NULL OR e.completed_at {<} $1)
           AND w.has_any {=}
               EXISTS (SELECT 1
                         FROM {hub}.executions AS o
                        WHERE o.instance_id {=} i.instance_id
                          AND o.execution_id {<>} i.current_execution_id
                          AND o.status {<>} 'Running'
                          AND ($3 IS NULL OR o.completed_at {<} $3)
                          AND ($4 {<} 2
                               OR (SELECT pg_catalog.count(*)
                                     FROM {hub}.executions AS k
                                    WHERE k.instance_id {=} i.instance_id
                                      AND k.execution_id {>} o.execution_id) {>=} $4))
         ORDER BY i.instance_id
         LIMIT $2) AS p
     LIMIT $2
)sql");

// One by one: two lists, of keys and of ids, would be searched for every pair of them.
void delete_locks(const Hub& hub, const InstanceSet& set) {
    for (const std::string_view id : set.ids) {
        run(hub, kDeleteLock, core::instance_key(id), id).release();
    }
}

// At REPEATABLE READ and SERIALIZABLE the deletions do not see what was inserted after the
// transaction's snapshot: executions, children, a turn that is leased. The exclusions are held, so
// that no other transaction inserts more.
void refuse_unseen(const Hub& hub, const InstanceSet& set) {
    if (IsolationUsesXactSnapshot() && pg::with_latest_view([&hub, &set]() -> bool {
            return run_for_one(hub, kAnyLeft, set.id_array, set.key_array);
        })) {
        raise_changed();
    }
}

void emit_deleted(const Hub& hub, const DeletedRows& instances, int64 now) {
    constexpr int kDeleted = core::event_place("instance", "deleted");
    if (!wants_event(hub, kDeleted)) {
        return;
    }
    for (const auto [instance_id, execution_id, name] : instances) {
        write_event(
            hub, kDeleted, instance_id,
            Details().add("current_execution_id", execution_id).add("orchestration_name", name),
            now);
    }
}

}  // namespace

InstanceSet make_instance_set(std::span<const std::string_view> ids) {
    return {ids, make_array_of(ids), make_array_of(column(ids, core::instance_key))};
}

std::span<const std::string_view> with_descendants(const Hub& hub,
                                                   std::span<const std::string_view> ids) {
    return run(hub, kDescendants, ids).values();
}

std::span<const std::string_view> unborn_children(const Hub& hub, const InstanceSet& parents) {
    return run(hub, kUnborn, parents.id_array).values();
}

std::span<const std::string_view> finished_roots(const Hub& hub, const FinishedFilter& filter) {
    const Ms before{filter.completed_before.value_or(core::kNever)};
    return filter.ids
               ? run(hub, kFinishedOf, before, filter.now, hub.incarnation, filter.limit,
                     *filter.ids)
                     .values()
               : run(hub, kFinished, before, filter.now, hub.incarnation, filter.limit).values();
}

std::optional<std::string_view> first_running(const Hub& hub, const InstanceSet& set) {
    const auto running = run(hub, kRunning, set.id_array, set.key_array).values();
    return running.empty() ? std::nullopt
                           : std::optional(*std::min_element(running.begin(), running.end()));
}

std::optional<StrayChild> first_stray_child(const Hub& hub, const InstanceSet& set) {
    std::optional<StrayChild> first;
    for (const auto& child : run(hub, kChildren, set.id_array).collect<StrayChild>()) {
        if (!std::binary_search(set.ids.begin(), set.ids.end(), child.instance_id) &&
            (!first || child.instance_id < first->instance_id)) {
            first = child;
        }
    }
    return first;
}

std::optional<Lineage> read_lineage(const Hub& hub, std::string_view instance_id) {
    return run(hub, kLineage, instance_id).first<Lineage>();
}

void hold_lock_rows(const Hub& hub, const InstanceSet& set) {
    run(hub, kHoldLocks, set.id_array, set.key_array).release();
}

void hold_instance_rows(const Hub& hub, const InstanceSet& set) {
    run(hub, kHoldInstances, set.id_array).release();
}

bool try_hold_lock_rows(const Hub& hub, const InstanceSet& set) {
    return run_for_one(hub, kTryLocks, set.id_array, set.key_array);
}

bool try_hold_instance_rows(const Hub& hub, const InstanceSet& set) {
    return run_for_one(hub, kTryInstances, set.id_array);
}

bool try_hold_queue_rows(const Hub& hub, const InstanceSet& set) {
    return run_for_one(hub, kTryQueues, set.id_array, set.key_array);
}

Removed remove_instances(const Hub& hub, const InstanceSet& set, const InstanceSet& unborn,
                         int64 now) {
    Removed removed{};
    // The holder of a queue row may leave another one behind: a worker its completion, a fetch or a
    // redrive a row in the other place. So this continues until a pass finds nothing.
    while (true) {
        const int64 dead_letters = run(hub, kDeleteDeadLetters, set.id_array).changed();
        run(hub, kHoldWork, set.id_array).release();
        const int64 work = run(hub, kDeleteWork, set.id_array).changed();
        if (work > 0) {
            cursors::removed(hub.relations.worker_queue);
        }
        const int64 messages = work +
                               run(hub, kDeleteMessages, set.id_array, set.key_array).changed() +
                               run(hub, kDeleteStarts, set.id_array).changed();
        removed.messages += messages;
        if (dead_letters == 0 && messages == 0) {
            break;
        }
        CHECK_FOR_INTERRUPTS();
    }
    removed.events = run_for_one(hub, kDeleteHistory, set.id_array);
    removed.executions = run(hub, kDeleteExecutions, set.id_array).changed();
    run(hub, kDeleteStore, set.id_array);
    if (!mutants::strikes(mutants::Mutant::kDeleteKeepsState)) {
        run(hub, kDeleteDelta, set.id_array);
    }
    const auto instances = run(hub, kDeleteInstances, set.id_array);
    removed.instances = instances.changed();
    emit_deleted(hub, instances, now);
    for (const auto instance_id : set.ids) {
        wakeups::changed(instance_channel(hub, instance_id), wakeups::Reason::kChanged);
    }
    delete_locks(hub, set);
    delete_locks(hub, unborn);
    refuse_unseen(hub, set);
    return removed;
}

std::optional<int64> hold_for_pruning(const Hub& hub, std::string_view instance_id) {
    return run_one(hub, kHoldForPruning, instance_id);
}

Pruned prune(const Hub& hub, std::string_view instance_id, int64 current_execution_id,
             const PruneOptions& options) {
    const auto pruned = run(hub, kPruneExecutions, instance_id, current_execution_id,
                            options.keep_last.value_or(0), as_ms(options.completed_before))
                            .values();
    if (pruned.empty()) {
        return {0, 0};
    }
    return {static_cast<int64>(pruned.size()),
            run_for_one(hub, kPruneHistory, instance_id, pruned)};
}

std::span<const std::string_view> prunable(const Hub& hub,
                                           std::optional<std::span<const std::string_view>> ids,
                                           std::optional<int64> completed_before, int64 limit,
                                           const PruneOptions& options) {
    const auto before = as_ms(completed_before);
    const auto ended_before = as_ms(options.completed_before);
    const int64 keep = options.keep_last.value_or(0);
    return ids ? run(hub, kPrunableOf, before, limit, ended_before, keep, *ids).values()
               : run(hub, kPrunable, before, limit, ended_before, keep).values();
}

}  // namespace belay::store
