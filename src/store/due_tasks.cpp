// Tasks that have fallen due, tasks that are outdated, and slots: what works on sets.
//
// Touches  <hub>.tasks, with SQL; reads <hub>.queues, <hub>.dedup_keys
// Locks    outdated tasks, skipping what others hold; all tasks while slots change
// Must not change what a rule knows of a task: store/tasks.cpp does, one by one
#include "store/due_tasks.hpp"

#include "core/hash.hpp"
#include "core/time.hpp"
#include "shmem/gaps.hpp"
#include "store/rows/task.hpp"
#include "store/statements.hpp"
#include "store/table/table.hpp"

namespace belay::store {

namespace {

using DueRows = Out<pg_uuid_t, Maybe<pg_uuid_t>>;

constexpr auto kExpired = statement<In<int64, int64, int64>, DueRows>(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_check_ms {<=} $1
     ORDER BY t.lease_check_ms
     LIMIT $2 OFFSET $3
)sql");

constexpr auto kNextCheck = statement<In<>, Out<Maybe<int64>>>(R"sql(
    SELECT t.lease_check_ms
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active'
     ORDER BY t.lease_check_ms
     LIMIT 1
)sql");

constexpr auto kVoid = statement<In<int64, int64, int64>, DueRows>(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_epoch {<} $1
     ORDER BY t.lease_check_ms
     LIMIT $2 OFFSET $3
)sql");

constexpr auto kHasVoid = statement<In<int64>, Out<pg_uuid_t>>(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_epoch {<} $1
     ORDER BY t.lease_check_ms
     LIMIT 1
)sql");

constexpr auto kPastDeadline = statement<In<int64, int64, int64>, DueRows>(R"sql(
    SELECT t.id, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.deadline_ms IS NOT NULL AND t.state {<>} 'active' AND t.terminal_at_ms IS NULL
       AND t.deadline_ms {<=} $1
     ORDER BY t.deadline_ms
     LIMIT $2 OFFSET $3
)sql");

// $1 now, $2 the hub's retention, $3 limit.
constexpr auto kHoldOutdated = statement<In<int64, int64, int64>, Out<pg_uuid_t>>(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.terminal_at_ms IS NOT NULL AND t.flow_id IS NULL
       AND t.terminal_at_ms {<=} ($1 {-} LEAST($2, (SELECT pg_catalog.min(m.retention_ms)
                                                      FROM {hub}.queues AS m)))
       AND t.terminal_at_ms {<=} ($1 {-} COALESCE((SELECT l.retention_ms
                                                     FROM {hub}.queues AS l
                                                    WHERE l.name {=} t.queue), $2))
       AND NOT EXISTS (SELECT 1
                         FROM {hub}.dedup_keys AS k
                        WHERE k.queue {=} t.queue AND k.key {=} t.dedup_key AND k.task_id {=} t.id
                          AND k.window_until_ms {>} $1)
     ORDER BY t.terminal_at_ms
     LIMIT $3
       FOR UPDATE SKIP LOCKED
)sql");

constexpr auto kAllForSlots = statement<In<>, Out<pg_uuid_t, int16>>(R"sql(
    SELECT t.id, t.slot FROM {hub}.tasks AS t ORDER BY t.id FOR NO KEY UPDATE
)sql");

constexpr auto kSetSlot = statement<In<pg_uuid_t, int16>, Out<>>(R"sql(
    UPDATE {hub}.tasks AS t SET slot = $2 WHERE t.id {=} $1
)sql");

constexpr auto kCountLive = statement<In<int64, int64>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.tasks AS t
     WHERE t.state {=} 'active' AND t.lease_until_ms {>} $1 AND t.lease_epoch {>=} $2
)sql");

// Whether an index that begins with a time has a row up to that time. The duties ask again and
// again, of many hubs, and no plan is kept for the answer that there is none.
bool has_one_until(Tables& tables, int index, int64 until) {
    pg::pass_store_faults();
    return looking(tables, TableId::kTasks, [index, until](Table& table) {
        const ScanKeys keys =
            ScanKeys().add(BTLessEqualStrategyNumber, F_INT8LE, Int64GetDatum(until));
        return find_one(&table, index, keys);
    });
}

}  // namespace

std::span<const DueTask> expired_leases(Tables& tables, int64 now, int limit, int offset) {
    if (!has_one_until(tables, task::kByExpiry, now)) {
        return {};
    }
    return run(tables.hub, kExpired, now, limit, offset).collect<DueTask>();
}

std::span<const DueTask> void_leases(const Hub& hub, int limit, int offset) {
    return run(hub, kVoid, hub.epoch_floor, limit, offset).collect<DueTask>();
}

int64 next_lease_check(const Hub& hub) {
    const auto first = run_one(hub, kNextCheck);
    return first ? first->value_or(core::kNever) : core::kNever;
}

bool has_void_leases(const Hub& hub) {
    return run_any(hub, kHasVoid, hub.epoch_floor);
}

std::span<const DueTask> past_deadline(Tables& tables, int64 now, int limit, int offset) {
    if (!has_one_until(tables, task::kByDeadline, now)) {
        return {};
    }
    return run(tables.hub, kPastDeadline, now, limit, offset).collect<DueTask>();
}

std::span<const pg_uuid_t> hold_outdated(const Hub& hub, int64 now, int64 retention_ms, int limit) {
    return run(hub, kHoldOutdated, now, retention_ms, limit).values();
}

void reslot_tasks(const Hub& hub, int32 slot_count) {
    const auto rows = run(hub, kAllForSlots);
    for (const auto [id, slot] : rows) {
        const auto wanted = static_cast<int16>(
            core::slot_of({reinterpret_cast<const char*>(id.data), UUID_LEN}, slot_count));
        if (slot != wanted) {
            run_for_one(hub, kSetSlot, id, wanted);
        }
        CHECK_FOR_INTERRUPTS();
    }
    rows.release();
    gaps::rearranged(hub.relations.tasks);
}

int64 count_live_tasks(const Hub& hub, int64 now) {
    return run_for_one(hub, kCountLive, now, hub.epoch_floor);
}

}  // namespace belay::store
