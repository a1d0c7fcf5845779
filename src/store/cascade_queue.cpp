// Table cascade_queue: what the end of a member leaves to duties.
//
// May touch: cascade_queue. Must not: do what it lists; ops/flow/cascade.cpp does.
#include "store/cascade_queue.hpp"

#include "shmem/signals.hpp"

namespace belay::store {

namespace {

constexpr auto kDeleteLeftOfFlow = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.cascade_queue AS q WHERE q.flow_id {=} $1
)sql");

// $1 flow, $2 what, $3 tasks, $4 now.
constexpr auto kLeave = statement<In<pg_uuid_t, Left, ListOf<pg_uuid_t>, int64>, Out<>>(R"sql(
    INSERT INTO {hub}.cascade_queue (flow_id, task_id, what, enqueued_at_ms)
    SELECT $1, n.id, $2, $4
      FROM pg_catalog.unnest($3) AS n(id)
        ON CONFLICT (task_id, what) DO NOTHING
)sql");

constexpr auto kOldestDispatch = statement<In<int64>, Out<pg_uuid_t, pg_uuid_t, Left>>(R"sql(
    SELECT q.flow_id, q.task_id, q.what
      FROM {hub}.cascade_queue AS q
     WHERE q.what {=} 'dispatch'
     ORDER BY q.enqueued_at_ms, q.task_id
     LIMIT $1
)sql");
constexpr auto kOldestCancel = statement<In<int64>, Out<pg_uuid_t, pg_uuid_t, Left>>(R"sql(
    SELECT q.flow_id, q.task_id, q.what
      FROM {hub}.cascade_queue AS q
     WHERE q.what {<>} 'dispatch'
     ORDER BY q.enqueued_at_ms, q.task_id
     LIMIT $1
)sql");
constexpr auto kDeleteLeft = statement<In<pg_uuid_t, Left>, Out<>>(R"sql(
    DELETE FROM {hub}.cascade_queue AS q WHERE q.task_id {=} $1 AND q.what {=} $2
)sql");
constexpr auto kDeleteLeftOfTask = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.cascade_queue AS q WHERE q.task_id {=} $1
)sql");

}  // namespace

void leave_to_duty(const Hub& hub, const pg_uuid_t& flow, Left what,
                   std::span<const pg_uuid_t> tasks, int64 now) {
    if (tasks.empty()) {
        return;
    }
    run(hub, kLeave, flow, what, tasks, now);
    signals::wake_worker_at_commit(signals::Bell::kCascade);
}

void drop_left(const Hub& hub, const pg_uuid_t& flow) {
    run(hub, kDeleteLeftOfFlow, flow);
}

std::span<const LeftOver> oldest_left(const Hub& hub, bool dispatch, int limit) {
    return run(hub, dispatch ? kOldestDispatch : kOldestCancel, limit).collect<LeftOver>();
}

void delete_left(const Hub& hub, const LeftOver& left) {
    run(hub, kDeleteLeft, left.task, left.what);
}

void delete_left_of_task(const Hub& hub, const pg_uuid_t& task) {
    run(hub, kDeleteLeftOfTask, task);
}

}  // namespace belay::store
