#include "store/removal.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/claim_cursors.hpp"
#include "pg/faults.hpp"
#include "store/outbox.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// ---------------------------------------------------------------- who is to go

constexpr Statement kDescendants = statement(R"sql(
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
)sql",
                                             TEXTARRAYOID);

constexpr Statement kUnborn = statement(R"sql(
    SELECT DISTINCT m.instance_id
      FROM {hub}.orchestrator_queue AS m
     WHERE m.parent_id {=} ANY ($1)
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.instances AS i
                        WHERE i.instance_id {=} m.instance_id)
)sql",
                                        TEXTARRAYOID);

// Finished roots in the order of their completion: an instance between two executions has a queued
// ContinueAsNew or a live lock, and is not finished. OFFSET 0: these two are looked up for each
// root by their keys, never joined. $1 completed before, $2 now in ms, $3 incarnation, $4 limit.
constexpr Statement kFinished = statement(R"sql(
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
)sql",
                                          TIMESTAMPTZOID, INT8OID, INT4OID, INT8OID);

// The same among ids, $5. In two steps, or the order would be had from a walk along the index.
constexpr Statement kFinishedOf =
    statement(R"sql(
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
)sql",
              TIMESTAMPTZOID, INT8OID, INT4OID, INT8OID, TEXTARRAYOID);

// $1 ids, $2 keys.
constexpr Statement kRunning = statement(R"sql(
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
)sql",
                                         TEXTARRAYOID, INT8ARRAYOID);

constexpr Statement kChildren = statement(R"sql(
    SELECT i.instance_id, i.parent_instance_id
      FROM {hub}.instances AS i
     WHERE i.parent_instance_id {=} ANY ($1)
)sql",
                                          TEXTARRAYOID);

constexpr Statement kLineage = statement(R"sql(
    SELECT p.instance_id
      FROM {hub}.instances AS i
      LEFT JOIN {hub}.instances AS p ON p.instance_id {=} i.parent_instance_id
     WHERE i.instance_id {=} $1
)sql",
                                         TEXTOID);

// ---------------------------------------------------------------- holding them

// Each row is found by its key, in the order wanted. A list of keys and an ORDER BY in one query
// would be planned as a walk along the whole index, for the order's sake.
constexpr Statement kHoldLocks = statement(R"sql(
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
)sql",
                                           TEXTARRAYOID, INT8ARRAYOID);

// $1 sorted.
constexpr Statement kHoldInstances = statement(R"sql(
    SELECT 1
      FROM pg_catalog.unnest($1) AS t(instance_id)
     CROSS JOIN LATERAL (
        SELECT 1
          FROM {hub}.instances AS i
         WHERE i.instance_id {=} t.instance_id
           FOR UPDATE) AS h
)sql",
                                               TEXTARRAYOID);

// Worker rows in the order of their key, as the acks of several leases take them.
constexpr Statement kHoldWork = statement(R"sql(
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
)sql",
                                          TEXTARRAYOID);

// The try forms: how many rows there are, and how many could be had.
constexpr Statement kTryLocks = statement(R"sql(
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
)sql",
                                          TEXTARRAYOID, INT8ARRAYOID);

constexpr Statement kTryInstances = statement(R"sql(
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
)sql",
                                              TEXTARRAYOID);

constexpr Statement kTryQueues = statement(R"sql(
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
)sql",
                                           TEXTARRAYOID, INT8ARRAYOID);

// ---------------------------------------------------------------- removing them

// The instance of a dead intent is one of another hub.
constexpr Statement kDeleteDeadLetters = statement(R"sql(
    DELETE FROM {hub}.dead_letters AS d
     WHERE d.instance_id {=} ANY ($1) AND d.queue {<>} 'intent'
)sql",
                                                   TEXTARRAYOID);

constexpr Statement kDeleteWork = statement(R"sql(
    DELETE FROM {hub}.worker_queue AS w
     WHERE w.instance_id {=} ANY ($1)
)sql",
                                            TEXTARRAYOID);

constexpr Statement kDeleteMessages = statement(R"sql(
    DELETE FROM {hub}.orchestrator_queue AS m
     WHERE m.instance_key {=} ANY ($2) AND m.instance_id {=} ANY ($1)
)sql",
                                                TEXTARRAYOID, INT8ARRAYOID);

constexpr Statement kDeleteStarts = statement(R"sql(
    DELETE FROM {hub}.orchestrator_queue AS m
     WHERE m.parent_id {=} ANY ($1)
)sql",
                                              TEXTARRAYOID);

constexpr Statement kDeleteHistory = statement(R"sql(
    DELETE FROM {hub}.history AS h
     WHERE h.instance_id {=} ANY ($1)
)sql",
                                               TEXTARRAYOID);

constexpr Statement kDeleteExecutions = statement(R"sql(
    DELETE FROM {hub}.executions AS e
     WHERE e.instance_id {=} ANY ($1)
)sql",
                                                  TEXTARRAYOID);

constexpr Statement kDeleteStore = statement(R"sql(
    DELETE FROM {hub}.kv_store AS k
     WHERE k.instance_id {=} ANY ($1)
)sql",
                                             TEXTARRAYOID);

constexpr Statement kDeleteDelta = statement(R"sql(
    DELETE FROM {hub}.kv_delta AS k
     WHERE k.instance_id {=} ANY ($1)
)sql",
                                             TEXTARRAYOID);

constexpr Statement kDeleteInstances = statement(R"sql(
    DELETE FROM {hub}.instances AS i
     WHERE i.instance_id {=} ANY ($1)
    RETURNING i.instance_id, i.current_execution_id, i.orchestration_name
)sql",
                                                 TEXTARRAYOID);

constexpr Statement kDeleteLock = statement(R"sql(
    DELETE FROM {hub}.instance_locks AS l
     WHERE l.instance_key {=} $1 AND l.instance_id {=} $2
)sql",
                                            INT8OID, TEXTOID);

// ---------------------------------------------------------------- pruning

constexpr Statement kHoldForPruning = statement(R"sql(
    SELECT i.current_execution_id
      FROM {hub}.instances AS i
     WHERE i.instance_id {=} $1
       FOR NO KEY UPDATE
)sql",
                                                TEXTOID);

// $1 instance, $2 current execution, $3 number to keep, $4 completed before.
constexpr Statement kPruneExecutions = statement(R"sql(
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
)sql",
                                                 TEXTOID, INT8OID, INT8OID, TIMESTAMPTZOID);

constexpr Statement kPruneHistory = statement(R"sql(
    DELETE FROM {hub}.history AS h
     WHERE h.instance_id {=} $1 AND h.execution_id {=} ANY ($2)
)sql",
                                              TEXTOID, INT8ARRAYOID);

// Instances to prune: first those that have something to prune, so that repeated calls get through,
// then the others, if there is room. $1 completed before, $2 limit, and of the options $3 completed
// before, $4 number to keep.
constexpr Statement kPrunable = statement(R"sql(
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
)sql",
                                          TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, INT8OID);

// The same among ids, $5.
constexpr Statement kPrunableOf =
    statement(R"sql(
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
)sql",
              TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, INT8OID, TEXTARRAYOID);

int64 changed(const Rows& rows) {
    return static_cast<int64>(rows.count);
}

Params by_ids(const InstanceSet& set) {
    return Params().datum(set.id_array);
}

Params by_keys(const InstanceSet& set) {
    return by_ids(set).datum(set.key_array);
}

// One by one: two lists, of keys and of ids, would be searched for every pair of them.
void delete_locks(const Hub& hub, const InstanceSet& set) {
    for (const std::string_view id : set.ids) {
        run(hub, kDeleteLock, Params().int8(core::instance_key(id)).text(id)).release();
    }
}

void tell_deleted(const Hub& hub, const Rows& instances, int64 now) {
    constexpr int kDeleted = core::event_place("instance", "deleted");
    for (uint64 i = 0; wants_event(hub, kDeleted) && i < instances.count; ++i) {
        write_event(hub, kDeleted, instances.text(i, 1),
                    Details()
                        .add("current_execution_id", instances.int8(i, 2))
                        .add("orchestration_name", instances.text(i, 3)),
                    now);
    }
}

}  // namespace

InstanceSet make_instance_set(std::span<const std::string_view> ids) {
    auto* keys = static_cast<int64*>(palloc(sizeof(int64) * (ids.size() + 1)));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        keys[i] = core::instance_key(ids[i]);
    }
    return {ids, text_array(ids), int8_array({keys, ids.size()})};
}

std::span<const std::string_view> with_descendants(const Hub& hub,
                                                   std::span<const std::string_view> ids) {
    return run(hub, kDescendants, Params().datum(text_array(ids))).texts(1);
}

std::span<const std::string_view> unborn_children(const Hub& hub, const InstanceSet& parents) {
    return run(hub, kUnborn, by_ids(parents)).texts(1);
}

std::span<const std::string_view> finished_roots(const Hub& hub, const FinishedFilter& filter) {
    Params params;
    params.timestamp(filter.completed_before.value_or(core::kNever))
        .int8(filter.now)
        .int4(hub.incarnation)
        .int8(filter.limit);
    const Rows rows = filter.ids ? run(hub, kFinishedOf, params.datum(text_array(*filter.ids)))
                                 : run(hub, kFinished, params);
    return rows.texts(1);
}

std::optional<std::string_view> first_running(const Hub& hub, const InstanceSet& set) {
    const auto running = run(hub, kRunning, by_keys(set)).texts(1);
    return running.empty() ? std::nullopt
                           : std::optional(*std::min_element(running.begin(), running.end()));
}

std::optional<StrayChild> first_stray_child(const Hub& hub, const InstanceSet& set) {
    const Rows rows = run(hub, kChildren, by_ids(set));
    std::optional<StrayChild> first;
    for (uint64 i = 0; i < rows.count; ++i) {
        const StrayChild child{rows.text(i, 1), rows.text(i, 2)};
        if (!std::binary_search(set.ids.begin(), set.ids.end(), child.instance_id) &&
            (!first || child.instance_id < first->instance_id)) {
            first = child;
        }
    }
    return first;
}

std::optional<Lineage> read_lineage(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kLineage, Params().text(instance_id));
    return rows.count == 0 ? std::nullopt : std::optional(Lineage{rows.optional_text(0, 1)});
}

void hold_lock_rows(const Hub& hub, const InstanceSet& set) {
    run(hub, kHoldLocks, by_keys(set)).release();
}

void hold_instance_rows(const Hub& hub, const InstanceSet& set) {
    run(hub, kHoldInstances, by_ids(set)).release();
}

bool try_hold_lock_rows(const Hub& hub, const InstanceSet& set) {
    return run(hub, kTryLocks, by_keys(set)).boolean(0, 1);
}

bool try_hold_instance_rows(const Hub& hub, const InstanceSet& set) {
    return run(hub, kTryInstances, by_ids(set)).boolean(0, 1);
}

bool try_hold_queue_rows(const Hub& hub, const InstanceSet& set) {
    return run(hub, kTryQueues, by_keys(set)).boolean(0, 1);
}

Removed remove_instances(const Hub& hub, const InstanceSet& set, const InstanceSet& unborn,
                         int64 now) {
    Removed removed{};
    // Whoever holds a queue row may leave another one behind: a worker its completion, a fetch or a
    // redrive a row in the other place. So this goes on until a pass finds nothing.
    while (true) {
        const int64 dead_letters = changed(run(hub, kDeleteDeadLetters, by_ids(set)));
        run(hub, kHoldWork, by_ids(set)).release();
        const int64 work = changed(run(hub, kDeleteWork, by_ids(set)));
        if (work > 0) {
            pg::note_removed(hub.relations.worker_queue);
        }
        const int64 messages = work + changed(run(hub, kDeleteMessages, by_keys(set))) +
                               changed(run(hub, kDeleteStarts, by_ids(set)));
        removed.messages += messages;
        if (dead_letters == 0 && messages == 0) {
            break;
        }
        CHECK_FOR_INTERRUPTS();
    }
    removed.events = changed(run(hub, kDeleteHistory, by_ids(set)));
    removed.executions = changed(run(hub, kDeleteExecutions, by_ids(set)));
    run(hub, kDeleteStore, by_ids(set));
    if (!pg::fault(pg::FaultPoint::kDeleteKeepsState)) {
        run(hub, kDeleteDelta, by_ids(set));
    }
    const Rows instances = run(hub, kDeleteInstances, by_ids(set));
    removed.instances = changed(instances);
    tell_deleted(hub, instances, now);
    for (const auto instance_id : set.ids) {
        pg::note_changed(instance_channel(hub, instance_id), pg::WakeReason::kChanged);
    }
    delete_locks(hub, set);
    delete_locks(hub, unborn);
    return removed;
}

std::optional<int64> hold_for_pruning(const Hub& hub, std::string_view instance_id) {
    const Rows rows = run(hub, kHoldForPruning, Params().text(instance_id));
    return rows.count == 0 ? std::nullopt : std::optional(rows.int8(0, 1));
}

Pruned prune(const Hub& hub, std::string_view instance_id, int64 current_execution_id,
             const PruneOptions& options) {
    Params params;
    params.text(instance_id).int8(current_execution_id).int8(options.keep_last.value_or(0));
    const Rows rows =
        run(hub, kPruneExecutions, params.optional_timestamp(options.completed_before));
    if (rows.count == 0) {
        return {0, 0};
    }
    auto* executions = static_cast<int64*>(palloc(sizeof(int64) * rows.count));
    for (uint64 i = 0; i < rows.count; ++i) {
        executions[i] = rows.int8(i, 1);
    }
    const Datum list = int8_array({executions, static_cast<std::size_t>(rows.count)});
    return {changed(rows),
            changed(run(hub, kPruneHistory, Params().text(instance_id).datum(list)))};
}

std::span<const std::string_view> prunable(const Hub& hub,
                                           std::optional<std::span<const std::string_view>> ids,
                                           std::optional<int64> completed_before, int64 limit,
                                           const PruneOptions& options) {
    Params params;
    params.optional_timestamp(completed_before).int8(limit);
    params.optional_timestamp(options.completed_before).int8(options.keep_last.value_or(0));
    const Rows rows =
        ids ? run(hub, kPrunableOf, params.datum(text_array(*ids))) : run(hub, kPrunable, params);
    return rows.texts(1);
}

}  // namespace belay::store
