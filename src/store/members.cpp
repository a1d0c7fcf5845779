// Table tasks, as far as the members of flows are concerned.
//
// Touches  <hub>.tasks and <hub>.attempts, of members whose flow the caller holds: SQL finds them,
//          each is then changed by the rules
// Locks    members, by id; waiting unless a function says otherwise
// Must not change one task that its worker holds; tasks.cpp does
#include "store/members.hpp"

#include <algorithm>

#include "pg/list.hpp"
#include "shmem/counters.hpp"
#include "shmem/task_stats.hpp"
#include "store/task_rows.hpp"

namespace belay::store {

namespace {

constexpr auto kFindByKey =
    statement<In<pg_uuid_t, Text>, Out<pg_uuid_t, core::TaskState, Maybe<pg_uuid_t>>>(R"sql(
    SELECT t.id, t.state, t.flow_id
      FROM {hub}.tasks AS t
     WHERE t.flow_id {=} $1 AND t.flow_key {=} $2
)sql");

constexpr auto kKeys = statement<In<pg_uuid_t>, Out<pg_uuid_t, Maybe<Text>>>(R"sql(
    SELECT t.id, t.flow_key FROM {hub}.tasks AS t WHERE t.flow_id {=} $1 ORDER BY t.id
)sql");

constexpr auto kOpenIds = statement<In<pg_uuid_t>, Out<pg_uuid_t>>(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.flow_id {=} $1 AND t.terminal_at_ms IS NULL
     ORDER BY t.id
)sql");

// A task that is claimed meanwhile is left out.
constexpr auto kPendingIds = statement<In<pg_uuid_t>, Out<pg_uuid_t>>(R"sql(
    SELECT t.id
      FROM {hub}.tasks AS t
     WHERE t.flow_id {=} $1 AND t.terminal_at_ms IS NULL AND t.state {<>} 'active'
     ORDER BY t.id
)sql");

constexpr auto kIds = statement<In<pg_uuid_t, int64>, Out<pg_uuid_t>>(R"sql(
    SELECT t.id FROM {hub}.tasks AS t WHERE t.flow_id {=} $1 ORDER BY t.id LIMIT $2
)sql");

constexpr auto kHeldIds = statement<In<pg_uuid_t>, Out<pg_uuid_t>>(R"sql(
    SELECT t.id FROM {hub}.tasks AS t WHERE t.flow_id {=} $1 AND t.held ORDER BY t.id
)sql");

constexpr auto kCountStates = statement<In<pg_uuid_t>, StateCounts>(R"sql(
    SELECT t.state, pg_catalog.count(*)
      FROM {hub}.tasks AS t
     WHERE t.flow_id {=} $1
     GROUP BY t.state
     ORDER BY t.state
)sql");

// In their order, each once.
std::span<const pg_uuid_t> sorted(std::span<const pg_uuid_t> ids) {
    auto* copy = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t) * (ids.size() + 1)));
    std::copy(ids.begin(), ids.end(), copy);
    std::sort(copy, copy + ids.size(), [](const pg_uuid_t& a, const pg_uuid_t& b) {
        return memcmp(a.data, b.data, UUID_LEN) < 0;
    });
    const auto* end =
        std::unique(copy, copy + ids.size(), [](const pg_uuid_t& a, const pg_uuid_t& b) {
            return memcmp(a.data, b.data, UUID_LEN) == 0;
        });
    return {copy, static_cast<std::size_t>(end - copy)};
}

// Holds those of the tasks for which fits(task) still holds, in the order of their ids.
template <typename Fits>
std::span<const Task> hold_all(Tables& tables, std::span<const pg_uuid_t> ids,
                               LockWaitPolicy policy, Fits fits) {
    pass_task_faults();
    pg::List<Task> held;
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        for (const pg_uuid_t& id : sorted(ids)) {
            const bool locked = lock_found(&table, LockTupleNoKeyExclusive, policy, [&] {
                return find_task(&table, id) && fits(life_of(table));
            });
            if (locked) {
                held.add(read_task(table));
            }
            CHECK_FOR_INTERRUPTS();
        }
    });
    return held.span();
}

bool is_open(const core::TaskLife& life) {
    return !core::is_terminal(life.state);
}

bool is_blocked(const core::TaskLife& life) {
    return life.state == core::TaskState::kBlocked;
}

core::TaskLife life_of_new(const NewMember& member, int64 now) {
    return {.state = member.state,
            .available_at = member.available_at,
            .start_delay = member.start_delay,
            .deadline = member.deadline,
            .updated_at = now,
            .priority = member.priority,
            .held = member.held};
}

}  // namespace

std::span<const pg_uuid_t> ids_of(std::span<const Task> tasks) {
    auto* ids = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t) * (tasks.size() + 1)));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        ids[i] = tasks[i].id;
    }
    return {ids, tasks.size()};
}

void insert_members(Tables& tables, const pg_uuid_t& flow, std::span<const NewMember> members,
                    int64 now) {
    if (members.empty()) {
        return;
    }
    auto* bodies = static_cast<TaskBody*>(palloc(sizeof(TaskBody) * members.size()));
    for (std::size_t i = 0; i < members.size(); ++i) {
        const NewMember& member = members[i];
        bodies[i] = {.id = member.id,
                     .flow_id = flow,
                     .flow_key = member.key,
                     .queue = member.queue,
                     .kind = member.kind,
                     .dedup_key = std::nullopt,
                     .cap_set = member.cap_set,
                     .created_at = now,
                     .payload = member.payload,
                     .tags = member.tags,
                     .policy = member.policy};
    }
    pass_task_faults();
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        insert_rows(
            &table, members.size(),
            [&](std::size_t i, NewRow* row) {
                fill_task(table.hub, bodies[i], life_of_new(members[i], now), row);
            },
            [](std::size_t, const ItemPointerData&) {});
    });
    for (const NewMember& member : members) {
        task_stats::add(tables.hub.schema, {member.queue, member.kind},
                        task_stats::Counter::kCreated);
        const core::TaskLife life = life_of_new(member, now);
        if (!is_blocked(life)) {
            publish_place(tables, life,
                          {member.queue, task_slot(tables, member.id), member.cap_set}, member.id);
            wake_claimers(tables, member.queue, life);
        }
        if (!member.own_id) {
            wake_task_waiters(tables, member.id);
        }
    }
    counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kEnqueued,
                  static_cast<int64>(members.size()));
}

void join_flow(Tables& tables, const Task& task, const pg_uuid_t& flow, int64 now) {
    (void)change_task(
        tables, task, [now](const core::TaskLife& life) { return core::touched(life, now); },
        [&flow](const Table&, Changes* changes) { changes->put(task::kFlowId, flow); });
}

std::optional<Member> find_member(Tables& tables, const pg_uuid_t& id) {
    pass_task_faults();
    return looking(tables, TableId::kTasks, [&id](Table& table) {
        return find_task(&table, id)
                   ? std::optional(Member{id, life_of(table).state, get(table, task::kFlowId)})
                   : std::nullopt;
    });
}

std::optional<Member> find_member_by_key(const Hub& hub, const pg_uuid_t& flow,
                                         std::string_view key) {
    return run(hub, kFindByKey, flow, key).first<Member>();
}

std::span<const MemberKey> member_keys(const Hub& hub, const pg_uuid_t& flow) {
    return run(hub, kKeys, flow).collect<MemberKey>();
}

std::span<const Task> hold_open_members(Tables& tables, const pg_uuid_t& flow, bool with_active) {
    const auto ids = run(tables.hub, with_active ? kOpenIds : kPendingIds, flow).values();
    return hold_all(tables, ids, LockWaitBlock, [with_active](const core::TaskLife& life) {
        return is_open(life) && (with_active || !life.is_active());
    });
}

std::span<const Task> hold_free(Tables& tables, std::span<const pg_uuid_t> ids) {
    return hold_all(tables, ids, LockWaitSkip, is_open);
}

std::span<const pg_uuid_t> open_members(const Hub& hub, const pg_uuid_t& flow) {
    return run(hub, kOpenIds, flow).values();
}

std::span<const pg_uuid_t> member_ids(const Hub& hub, const pg_uuid_t& flow, int limit) {
    return run(hub, kIds, flow, limit).values();
}

void cancel_members(Tables& tables, std::span<const Task> tasks, std::string_view reason,
                    std::string_view by, int64 now) {
    for (const Task& task : tasks) {
        (void)finish(tables, task,
                     {.state = core::TaskState::kCancelled,
                      .now = now,
                      .outcome = core::AttemptOutcome::kCancelled,
                      .cancel_reason = reason,
                      .cancelled_by = by,
                      .notice = {wakeups::Reason::kCancelled, true}});
    }
}

int64 release_blocked(Tables& tables, std::span<const pg_uuid_t> ids, int64 now) {
    const auto tasks = hold_all(tables, ids, LockWaitBlock, [](const core::TaskLife& life) {
        return is_blocked(life) && !life.held;
    });
    for (const Task& task : tasks) {
        const core::TaskLife life = change_task(tables, task, [now](const core::TaskLife& before) {
            return core::unblocked(before, now);
        });
        publish_place(tables, life, task);
        wake_claimers(tables, task.queue, life);
        wake_task_waiters(tables, task.id);
        wake_flow_waiters(tables, task.flow_id);
    }
    return static_cast<int64>(tasks.size());
}

std::span<const Task> skip_blocked(Tables& tables, std::span<const pg_uuid_t> ids, int64 now) {
    const auto tasks = hold_all(tables, ids, LockWaitBlock, is_blocked);
    for (const Task& task : tasks) {
        (void)change_task(tables, task, [now](const core::TaskLife& life) {
            return core::finished(life, core::TaskState::kSkipped, now);
        });
        wake_task_waiters(tables, task.id);
        wake_flow_waiters(tables, task.flow_id);
    }
    return tasks;
}

void block(Tables& tables, const Task& task, int64 now) {
    (void)change_task(tables, task,
                      [now](const core::TaskLife& life) { return core::blocked(life, now); });
    wake_task_waiters(tables, task.id);
    wake_flow_waiters(tables, task.flow_id);
}

std::span<const pg_uuid_t> end_hold(Tables& tables, const pg_uuid_t& flow, int64 now) {
    const auto tasks = hold_all(tables, run(tables.hub, kHeldIds, flow).values(), LockWaitBlock,
                                [](const core::TaskLife& life) { return life.held; });
    for (const Task& task : tasks) {
        (void)change_task(tables, task,
                          [now](const core::TaskLife& life) { return core::unheld(life, now); });
    }
    return ids_of(tasks);
}

StateCounts count_states(const Hub& hub, const pg_uuid_t& flow) {
    return run(hub, kCountStates, flow);
}

}  // namespace belay::store
