// Tables queues, capability_sets and dedup_keys.
//
// Touches  these tables, queues by direct access
// Locks    a queue's row, or its key if it has none; dedup keys
// Must not change a task
#include "store/queues.hpp"

#include "core/hash.hpp"
#include "pg/locks.hpp"
#include "store/rows/queue.hpp"
#include "store/statements.hpp"
#include "store/table/table.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

// $1 queue, $2 tokens.
constexpr auto kFindSet = statement<In<Text, ListOf<Text>>, Out<int32>>(R"sql(
    SELECT s.id
      FROM {hub}.capability_sets AS s
     WHERE s.queue {=} $1
       AND s.digest {=} pg_catalog.sha256(
               pg_catalog.convert_to(pg_catalog.array_to_string($2, ','), 'UTF8'))
)sql");

constexpr auto kCountSets = statement<In<Text, int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM (SELECT 1 FROM {hub}.capability_sets AS s WHERE s.queue {=} $1 LIMIT $2) AS x
)sql");

constexpr auto kInsertSet = statement<In<int32, Text, ListOf<Text>>, Out<>>(R"sql(
    INSERT INTO {hub}.capability_sets (id, queue, digest, tokens)
    VALUES ($1, $2, pg_catalog.sha256(
                pg_catalog.convert_to(pg_catalog.array_to_string($3, ','), 'UTF8')), $3)
        ON CONFLICT (queue, digest) DO NOTHING
)sql");

// $1 queue, $2 key, $3 task, $4 window.
constexpr auto kInsertKey = statement<In<Text, Text, pg_uuid_t, int64>, Out<>>(R"sql(
    INSERT INTO {hub}.dedup_keys (queue, key, task_id, window_until_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (queue, key) DO NOTHING
)sql");

constexpr auto kLockKey = statement<In<Text, Text>, Out<pg_uuid_t, int64>>(R"sql(
    SELECT k.task_id, k.window_until_ms
      FROM {hub}.dedup_keys AS k
     WHERE k.queue {=} $1 AND k.key {=} $2
       FOR UPDATE
)sql");

constexpr auto kTakeOverKey = statement<In<Text, Text, pg_uuid_t, int64>, Out<>>(R"sql(
    UPDATE {hub}.dedup_keys AS k
       SET task_id = $3, window_until_ms = $4
     WHERE k.queue {=} $1 AND k.key {=} $2
)sql");

// The transaction that holds the key is taking it over.
constexpr auto kDeleteKey = statement<In<Text, Text, pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.dedup_keys AS k
     WHERE k.ctid {=} (
        SELECT c.ctid
          FROM {hub}.dedup_keys AS c
         WHERE c.queue {=} $1 AND c.key {=} $2 AND c.task_id {=} $3
           FOR UPDATE SKIP LOCKED)
)sql");

TaskQueue queue_of(const Table& table) {
    return {get(table, queue::kPaused), get(table, queue::kRetention), get(table, queue::kPolicy)};
}

// The caller holds the key of the name: no other transaction inserts it. At the higher isolation
// levels a row that the snapshot does not see raises 40001.
void insert_queue(Table* table, std::string_view name, int64 now) {
    if (!use_of_key(table, ScanKeys().text(name)).taken) {
        NewRow row;
        row.put(queue::kName, name).put(queue::kPaused, false).put(queue::kCreatedAt, now);
        (void)insert_row(table, &row);
    }
}

}  // namespace

std::optional<TaskQueue> read_queue(Tables& tables, std::string_view name) {
    pg::pass_store_faults();
    return looking(tables, TableId::kQueues, [name](Table& table) {
        return find_one(&table, kByKey, ScanKeys().text(name)) ? std::optional(queue_of(table))
                                                               : std::nullopt;
    });
}

void register_queue(Tables& tables, std::string_view name, int64 now) {
    if (read_queue(tables, name)) {
        return;
    }
    // Two inserts of one name would wait for each other's transaction. The second one leaves
    // it to the first; should that be rolled back, the next task of the queue registers it.
    if (pg::try_lock_key(pg::LockSpace::kQueue, tables.hub.schema, core::fnv1a64(name))) {
        pg::pass_store_faults();
        writing(tables, TableId::kQueues,
                [name, now](Table& table) { insert_queue(&table, name, now); });
    }
}

TaskQueue lock_queue(Tables& tables, std::string_view name, int64 now) {
    pg::pass_store_faults();
    pg::lock_key(pg::LockSpace::kQueue, tables.hub.schema, core::fnv1a64(name));
    const auto lock = [&tables, name] {
        return with_table(tables, TableId::kQueues, RowExclusiveLock, [name](Table& table) {
            return lock_found(
                       &table, LockTupleNoKeyExclusive, LockWaitBlock,
                       [&table, name] { return find_one(&table, kByKey, ScanKeys().text(name)); })
                       ? std::optional(queue_of(table))
                       : std::nullopt;
        });
    };
    auto queue = lock();
    if (!queue) {
        writing(tables, TableId::kQueues,
                [name, now](Table& table) { insert_queue(&table, name, now); });
        queue = lock();
    }
    if (!queue) {
        elog(ERROR, "a queue could not be registered");
    }
    return *queue;
}

void update_queue(Tables& tables, std::string_view name, const TaskQueue& queue) {
    pg::pass_store_faults();
    writing(tables, TableId::kQueues, [name, &queue](Table& table) {
        if (!find_one(&table, kByKey, ScanKeys().text(name))) {
            elog(ERROR, "a queue vanished while it was held");
        }
        Changes changes;
        changes.put(queue::kPaused, queue.paused)
            .put(queue::kRetention, queue.retention_ms)
            .put(queue::kPolicy, queue.policy);
        change_held_row(&table, changed_row(table, &changes));
    });
    if (!queue.paused) {
        wakeups::changed(queue_channel(tables, name), wakeups::Reason::kWork);
        wakeups::changed(all_queues_channel(tables), wakeups::Reason::kWork);
    }
}

std::optional<int32> capability_set(const Hub& hub, std::string_view queue,
                                    std::span<const std::string_view> tokens) {
    if (tokens.empty()) {
        return 0;
    }
    const auto array = make_array_of(tokens);
    const auto find = [&hub, queue, array] { return run_one(hub, kFindSet, queue, array); };
    if (const auto known = find()) {
        return known;
    }
    if (run_for_one(hub, kCountSets, queue, kMaxSets) >= kMaxSets) {
        return std::nullopt;
    }
    const auto id = static_cast<int32>(nextval_internal(hub.relations.capability_sets_id, false));
    // Waits for a call that makes the same set: its id has to be known.
    if (run(hub, kInsertSet, id, queue, array).count == 1) {
        return id;
    }
    const auto other = find();
    if (!other) {
        elog(ERROR, "a capability set could not be found");
    }
    return other;
}

DedupKey lock_dedup_key(const Hub& hub, std::string_view queue, std::string_view key,
                        const pg_uuid_t& task, int64 window_until) {
    while (true) {
        if (run_any(hub, kInsertKey, queue, key, task, window_until)) {
            return {true, task, window_until};
        }
        if (const auto known = hold_dedup_key(hub, queue, key)) {
            return *known;
        }
        CHECK_FOR_INTERRUPTS();  // deleted between the two
    }
}

void take_over_dedup_key(const Hub& hub, std::string_view queue, std::string_view key,
                         const pg_uuid_t& task, int64 window_until) {
    run_for_one(hub, kTakeOverKey, queue, key, task, window_until);
}

void delete_dedup_key(const Hub& hub, std::string_view queue, std::string_view key,
                      const pg_uuid_t& task) {
    run(hub, kDeleteKey, queue, key, task);
}

std::optional<DedupKey> hold_dedup_key(const Hub& hub, std::string_view queue,
                                       std::string_view key) {
    return run(hub, kLockKey, queue, key).first([](pg_uuid_t task, int64 window_until) {
        return DedupKey{false, task, window_until};
    });
}

}  // namespace belay::store
