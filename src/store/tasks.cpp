// Tables tasks and attempts: creating, locking, and each transition of a task that is held.
//
// Touches  <hub>.tasks, <hub>.attempts; <hub>.suspensions and <hub>.dedup_keys of a task that ends
//          or goes, through their files
// Locks    tasks, waiting or not as each function says
// Must not decide what becomes of a task: core/transitions/task.hpp does
#include "store/tasks.hpp"

#include <charconv>

#include "core/hash.hpp"
#include "pg/locks.hpp"
#include "shmem/counters.hpp"
#include "shmem/task_stats.hpp"
#include "store/deferred.hpp"
#include "store/queues.hpp"
#include "store/limits.hpp"
#include "store/rows/attempt.hpp"
#include "store/statements.hpp"
#include "store/suspensions.hpp"
#include "store/task_rows.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr auto kDeleteAttempts = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.attempts AS a WHERE a.task_id {=} $1
)sql");

constexpr auto kDelete = statement<In<pg_uuid_t>, Out<>>(R"sql(
    DELETE FROM {hub}.tasks AS t WHERE t.id {=} $1
)sql");

// ---------------------------------------------------------------- helpers

// What read(table) says of a task as it is now; no value if there is none.
template <typename Read>
auto read_now(Tables& tables, const pg_uuid_t& id, Read read)
    -> std::optional<std::invoke_result_t<Read, const Table&>> {
    pass_task_faults();
    return looking(tables, TableId::kTasks,
                   [&](Table& table) -> std::optional<std::invoke_result_t<Read, const Table&>> {
                       return find_task(&table, id) ? std::optional(read(table)) : std::nullopt;
                   });
}

// Holds the task if fits(table).
template <typename Fits>
std::optional<Task> hold(Tables& tables, const pg_uuid_t& id, LockTupleMode mode,
                         LockWaitPolicy policy, Fits fits) {
    pass_task_faults();
    return with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        const bool held =
            lock_found(&table, mode, policy, [&] { return find_task(&table, id) && fits(table); });
        return held ? std::optional(read_task(table)) : std::nullopt;
    });
}

bool is_any(const Table&) {
    return true;
}

// A claim may pass the task over meanwhile.
std::optional<Task> publish_hold(const Hub& hub, const std::optional<Task>& task) {
    if (task &&
        (task->state == core::TaskState::kReady || task->state == core::TaskState::kDelayed)) {
        publish_held(hub, task->queue);
    }
    return task;
}

[[noreturn]] void raise_changed(const Task& task) {
    elog(ERROR, "task %s changed while it was held", uuid_text(task.id));
    pg_unreachable();
}

void put_failure(const std::optional<Failure>& failure, Changes* changes) {
    if (failure) {
        changes->put(task::kFailureClass, core::name_of(failure->failure_class))
            .put(task::kFailureMessage, failure->message)
            .put(task::kFailureDetails, failure->details);
    }
}

// An attempt has ended, or is given up.
void count_run(const Hub& hub, const Task& task, int64 now) {
    if (task.is_active() && task.attempt_started) {
        const int64 ms = now - *task.attempt_started;
        counters::add_duration(hub.schema, counters::Queue::kTasks, counters::Duration::kRun, ms);
        task_stats::add_duration(hub.schema, {task.queue, task.kind}, counters::Duration::kRun, ms);
    }
}

void end_attempt(Tables& tables, const Task& task, core::AttemptOutcome outcome, int64 now,
                 const std::optional<Failure>& failure) {
    pass_task_faults();
    NewRow row;
    row.put(attempt::kTaskId, task.id)
        .put(attempt::kIndex, task.attempt_index)
        .put(attempt::kLeaseCount, task.attempt_leases)
        .put(attempt::kEpoch, task.last_lease_epoch())
        .put(attempt::kStarted, *task.attempt_started)
        .put(attempt::kEnded, now)
        .put(attempt::kKind, core::name_of(*task.attempt_kind))
        .put(attempt::kOutcome, core::name_of(outcome))
        .put(attempt::kWorker, *task.attempt_worker)
        .put(attempt::kWorkerInstance, *task.attempt_instance)
        .put(attempt::kError, failure ? error_json(core::name_of(failure->failure_class),
                                                   failure->message, failure->details)
                                      : nullptr);
    add_row(tables, TableId::kAttempts, &DeferredRows::attempts, &row);
}

// What every end of a lease does beside the row: the place in a limited queue is free.
void lose(const Hub& hub, const Task& task, int64 now) {
    if (is_limited(hub, task.queue)) {
        return_place(hub, task.queue, now);
    }
}

// Counts the end of a task, and how long its attempt took.
void count_end(const Hub& hub, const Task& task, core::TaskState state, int64 now) {
    count_run(hub, task, now);
    const auto count = [&hub, &task](std::optional<counters::Counter> counter,
                                     task_stats::Counter of_class) {
        if (counter) {
            counters::add(hub.schema, counters::Queue::kTasks, *counter);
        }
        task_stats::add(hub.schema, {task.queue, task.kind}, of_class);
    };
    switch (state) {
        case core::TaskState::kCompleted:
            count(std::nullopt, task_stats::Counter::kCompleted);
            break;
        case core::TaskState::kFailed:
            count(counters::Counter::kFailed, task_stats::Counter::kFailed);
            break;
        case core::TaskState::kCancelled:
            count(counters::Counter::kCancelled, task_stats::Counter::kCancelled);
            break;
        case core::TaskState::kExpired:
            count(counters::Counter::kTimedOut, task_stats::Counter::kExpired);
            break;
        default:
            break;
    }
}

// Inserts a row with an id that others may be inserting, too. False if it is taken.
bool insert_under_key(Table* table, const pg_uuid_t& id, NewRow* row) {
    const uint64 key = core::fnv1a64({reinterpret_cast<const char*>(id.data), UUID_LEN});
    while (true) {
        // The lock is released when the row can be seen: who comes next waits for its
        // transaction.
        pg::lock_key(pg::LockSpace::kTask, table->hub.schema, key);
        renew_snapshot(table);
        const KeyUse use = use_of_key(table, ScanKeys().uuid(id));
        if (!use.taken) {
            (void)insert_row(table, row);
        }
        pg::unlock_key(pg::LockSpace::kTask, table->hub.schema, key);
        if (!TransactionIdIsValid(use.open)) {
            return !use.taken;
        }
        XactLockTableWait(use.open, nullptr, nullptr, XLTW_None);
        CHECK_FOR_INTERRUPTS();
    }
}

}  // namespace

// ---------------------------------------------------------------- names

namespace {

// A text under construction: without the formatting of psprintf, which takes longer than the rest.
struct IdWriter {
    static constexpr std::size_t kMost = 128;
    char* text = static_cast<char*>(palloc(kMost));
    char* end = text;

    IdWriter& add(std::string_view part) {
        end = std::copy(part.begin(), part.end(), end);
        return *this;
    }
    IdWriter& mark(char one) {
        *end++ = one;
        return *this;
    }
    IdWriter& number(int64 value) {
        end = std::to_chars(end, text + kMost - 1, value).ptr;
        return *this;
    }
    IdWriter& hex(const pg_uuid_t& id, int from, int to) {
        constexpr char kDigits[] = "0123456789abcdef";
        char* at = end;  // local, because what is written through a char* could be a member
        for (int i = from; i < to; ++i) {
            *at++ = kDigits[id.data[i] >> 4];
            *at++ = kDigits[id.data[i] & 15];
        }
        end = at;
        return *this;
    }
    IdWriter& uuid(const pg_uuid_t& id) {
        hex(id, 0, 4).mark('-').hex(id, 4, 6).mark('-').hex(id, 6, 8).mark('-');
        return hex(id, 8, 10).mark('-').hex(id, 10, UUID_LEN);
    }
    IdWriter& lease(const pg_uuid_t& task, int32 attempt_index, int64 epoch) {
        return add("belay:").uuid(task).mark(':').number(attempt_index).mark(':').number(epoch);
    }
    const char* done() {
        *end = '\0';
        return text;
    }
};

}  // namespace

const char* uuid_text(const pg_uuid_t& id) {
    return IdWriter().uuid(id).done();
}

const char* lease_id(const pg_uuid_t& task, int32 attempt_index, int64 epoch) {
    return IdWriter().lease(task, attempt_index, epoch).done();
}

const char* secret_lease_id(const Hub& hub, const LeaseName& lease) {
    return IdWriter()
        .lease(lease.task, lease.attempt_index, lease.epoch)
        .mark(':')
        .number(hub.incarnation)
        .mark(':')
        .hex(lease.nonce, 0, UUID_LEN)
        .done();
}

// ---------------------------------------------------------------- creating and reading

namespace {

core::TaskLife new_life(const NewTask& task) {
    return core::created(task.priority, task.available_at, task.deadline, task.now);
}

TaskBody body_of(const NewTask& task) {
    return {.id = task.id,
            .flow_id = std::nullopt,
            .flow_key = std::nullopt,
            .queue = task.queue,
            .kind = task.kind,
            .dedup_key = task.dedup_key,
            .cap_set = task.cap_set,
            .created_at = task.now,
            .payload = task.payload,
            .tags = task.tags,
            .policy = task.policy};
}

void publish_new_place(const Hub& hub, const NewTask& task) {
    publish_place(hub, new_life(task), {task.queue, task_slot(hub, task.id), task.cap_set},
                  task.id);
}

void count_new(const Hub& hub, const NewTask& task) {
    counters::add(hub.schema, counters::Queue::kTasks, counters::Counter::kEnqueued);
    task_stats::add(hub.schema, {task.queue, task.kind}, task_stats::Counter::kCreated);
}

}  // namespace

bool insert_task(Tables& tables, const NewTask& task) {
    const TaskBody body = body_of(task);  // the row refers to it
    NewRow row;
    fill_task(tables, body, new_life(task), &row);
    pass_task_faults();
    const bool inserted = with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        if (!task.own_id) {
            return insert_under_key(&table, task.id, &row);
        }
        (void)insert_row(&table, &row);
        return true;
    });
    if (inserted) {
        publish_new_place(tables, task);
        wake_claimers(tables, task.queue, new_life(task));
        if (!task.own_id) {
            wake_task_waiters(tables, task.id);  // the caller's id may be known before the task
        }
        count_new(tables, task);
    }
    return inserted;
}

void insert_own_tasks(Tables& tables, std::span<const NewTask> tasks) {
    if (tasks.empty()) {
        return;
    }
    // The rows refer to them.
    auto* bodies = static_cast<TaskBody*>(palloc(sizeof(TaskBody) * tasks.size()));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        bodies[i] = body_of(tasks[i]);
    }
    pass_task_faults();
    with_table(tables, TableId::kTasks, RowExclusiveLock, [&](Table& table) {
        insert_rows(
            &table, tasks.size(),
            [&](std::size_t i, NewRow* row) {
                fill_task(table.hub, bodies[i], new_life(tasks[i]), row);
            },
            [](std::size_t, const ItemPointerData&) {});
    });
    // A channel is notified once of tasks that are alike, and how many they are: as many waiters
    // wake up.
    const NewTask* alike = tasks.data();
    for (const NewTask& task : tasks) {
        publish_new_place(tables, task);
        count_new(tables, task);
        if (alike->queue != task.queue || alike->available_at != task.available_at) {
            wake_claimers(tables, alike->queue, new_life(*alike),
                          static_cast<int32>(&task - alike));
            alike = &task;
        }
    }
    wake_claimers(tables, alike->queue, new_life(*alike),
                  static_cast<int32>(tasks.data() + tasks.size() - alike));
}

std::optional<core::TaskLife> read_life(Tables& tables, const pg_uuid_t& id) {
    return read_now(tables, id, life_of);
}

bool has_result(Tables& tables, const pg_uuid_t& id, Jsonb* result) {
    return read_now(tables, id,
                    [result](const Table& table) {
                        Jsonb* stored = get(table, task::kResult);
                        if (stored == nullptr || result == nullptr) {
                            return stored == result;
                        }
                        return compareJsonbContainers(&stored->root, &result->root) == 0;
                    })
        .value_or(false);
}

namespace {

Membership membership_of(const Table& table) {
    return {get(table, task::kFlowId), table.row->tts_tid};
}

}  // namespace

std::optional<Membership> read_membership(Tables& tables, const pg_uuid_t& id) {
    return read_now(tables, id, membership_of);
}

std::span<const std::optional<Membership>> read_memberships(Tables& tables,
                                                            std::span<const pg_uuid_t> ids) {
    pass_task_faults();
    return looking(tables, TableId::kTasks, [&](Table& table) {
        pg::List<std::optional<Membership>> memberships;
        KeyFinder finder{&table};
        for (const pg_uuid_t& id : ids) {
            memberships.add(finder.find(ScanKeys().uuid(id)) ? std::optional(membership_of(table))
                                                             : std::nullopt);
            CHECK_FOR_INTERRUPTS();
        }
        finder.end();
        return memberships.span();
    });
}

std::optional<TaskKey> read_task_key(Tables& tables, const pg_uuid_t& id) {
    return read_now(tables, id, [](const Table& table) {
        return TaskKey{get(table, task::kQueue), get(table, task::kDedupKey)};
    });
}

// ---------------------------------------------------------------- locking

std::optional<Task> try_lock_task(Tables& tables, const pg_uuid_t& id) {
    return publish_hold(tables, hold(tables, id, LockTupleNoKeyExclusive, LockWaitSkip, is_any));
}

std::span<const Task> try_lock_tasks(Tables& tables, std::span<const SeenTask> seen) {
    pass_task_faults();
    pg::List<Task> held;
    writing(tables, TableId::kTasks, [&](Table& table) {
        for (const SeenTask& task : seen) {
            if (!find_task_at(&table, task.id, task.tid) ||
                lock_row(table, LockTupleNoKeyExclusive, LockWaitSkip) != TM_Ok) {
                break;
            }
            held.add(read_task(table));
            CHECK_FOR_INTERRUPTS();
        }
    });
    for (const Task& task : held) {
        (void)publish_hold(tables, task);
    }
    return held.span();
}

std::optional<Task> try_lock_lone_task(Tables& tables, const pg_uuid_t& id) {
    return publish_hold(tables,
                        hold(tables, id, LockTupleNoKeyExclusive, LockWaitSkip,
                             [](const Table& table) { return !get(table, task::kFlowId); }));
}

std::optional<Task> lock_task(Tables& tables, const pg_uuid_t& id) {
    return publish_hold(tables, hold(tables, id, LockTupleNoKeyExclusive, LockWaitBlock, is_any));
}

std::optional<Task> try_lock_lease(Tables& tables, const pg_uuid_t& id, int64 epoch) {
    return hold(tables, id, LockTupleNoKeyExclusive, LockWaitSkip, [epoch](const Table& table) {
        return core::fault_of_epoch(life_of(table), epoch) == core::TaskFault::kNone;
    });
}

std::optional<Task> lock_lease(Tables& tables, const pg_uuid_t& id, int64 epoch) {
    return hold(tables, id, LockTupleNoKeyExclusive, LockWaitBlock, [epoch](const Table& table) {
        return core::fault_of_epoch(life_of(table), epoch) == core::TaskFault::kNone;
    });
}

std::optional<Task> lock_task_to_delete(Tables& tables, const pg_uuid_t& id) {
    return hold(tables, id, LockTupleExclusive, LockWaitBlock, is_any);
}

// ---------------------------------------------------------------- a lease continues

void set_lease_until(Tables& tables, const Task& task, int64 lease_until) {
    (void)change_task(tables, task, [lease_until](const core::TaskLife& life) {
        return core::renewed(life, lease_until);
    });
}

void move_lease_check(Tables& tables, const Task& task) {
    (void)change_task(tables, task, core::checked);
}

void set_progress(Tables& tables, const Task& task, const Progress& progress, int64 now) {
    (void)change_task(
        tables, task,
        [&progress, now](const core::TaskLife& life) {
            return core::touched(core::renewed(life, progress.lease_until), now);
        },
        [&progress, now](const Table&, Changes* changes) {
            changes->put(task::kProgressAt, now);
            if (progress.percent) {
                changes->set(task::kProgressPct, *progress.percent);
            }
            if (progress.message) {
                changes->put(task::kProgressMessage, progress.message);
            }
            if (progress.checkpoint != nullptr) {
                changes->put(task::kCheckpoint, progress.checkpoint);
            }
        });
}

// ---------------------------------------------------------------- a lease ends

core::TaskState requeue(Tables& tables, const Task& task, const Requeue& how) {
    if (!task.is_active()) {
        raise_changed(task);
    }
    if (how.outcome) {
        end_attempt(tables, task, *how.outcome, how.now, how.failure);
    }
    const core::TaskLife life = change_task(
        tables, task,
        [&how](const core::TaskLife& before) {
            return core::returned(before,
                                  {.pending = how.pending,
                                   .available_at = how.available_at,
                                   .ends_attempt = how.outcome.has_value(),
                                   .retries = how.retries,
                                   .reclaims = how.reclaims},
                                  how.now);
        },
        [&how](const Table&, Changes* changes) {
            put_failure(how.failure, changes);
            if (how.checkpoint != nullptr) {
                changes->put(task::kCheckpoint, how.checkpoint);
            }
        });
    publish_place(tables, life, task);
    lose(tables, task, how.now);
    if (how.outcome) {
        count_run(tables, task, how.now);
        counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kRetried);
        task_stats::add(tables.hub.schema, {task.queue, task.kind}, task_stats::Counter::kRetried);
    }
    wake_claimers(tables, task.queue, life);
    wake_task_waiters(tables, task, how.notice);
    return life.state;
}

void suspend(Tables& tables, const Task& task, int64 now) {
    if (!task.is_active()) {
        raise_changed(task);
    }
    (void)change_task(tables, task,
                      [now](const core::TaskLife& life) { return core::suspended(life, now); });
    lose(tables, task, now);
    wake_task_waiters(tables, task, {wakeups::Reason::kChanged, false});
}

core::TaskState resume(Tables& tables, const Task& task, int64 available_at, int64 now) {
    if (task.state != core::TaskState::kSuspended) {
        raise_changed(task);
    }
    const core::TaskLife life = change_task(tables, task, [=](const core::TaskLife& before) {
        return core::resumed(before, available_at, now);
    });
    publish_place(tables, life, task);
    wake_claimers(tables, task.queue, life);
    wake_task_waiters(tables, task, {wakeups::Reason::kChanged, false});
    return life.state;
}

void touch(Tables& tables, const Task& task, int64 now) {
    (void)change_task(tables, task,
                      [now](const core::TaskLife& life) { return core::touched(life, now); });
}

int64 finish(Tables& tables, const Task& task, const Finish& how) {
    if (core::is_terminal(task.state)) {
        raise_changed(task);
    }
    if (task.state == core::TaskState::kSuspended) {
        close_suspension(tables, task.id, "end", how.now);
    }
    // An attempt that completes its task stays in its row.
    if (task.has_attempt() && how.state != core::TaskState::kCompleted) {
        end_attempt(tables, task, how.outcome, how.now, how.failure);
    }
    const core::TaskLife life = change_task(
        tables, task,
        [&how](const core::TaskLife& before) { return core::finished(before, how.state, how.now); },
        [&how](const Table& table, Changes* changes) {
            if (how.result != nullptr) {
                changes->put(task::kResult, how.result);
            }
            put_failure(how.failure, changes);
            if (how.cancel_reason && !get(table, task::kCancelReason)) {
                changes->put(task::kCancelReason, how.cancel_reason);
            }
            if (how.cancelled_by && !get(table, task::kCancelledBy)) {
                changes->put(task::kCancelledBy, how.cancelled_by);
            }
        });
    if (task.is_active()) {
        lose(tables, task, how.now);
    }
    count_end(tables, task, how.state, how.now);
    wake_task_waiters(tables, task, how.notice);
    return life.lease_epoch;
}

// ---------------------------------------------------------------- operators

void set_priority(Tables& tables, const Task& task, int32 priority, int64 now) {
    const core::TaskLife life = change_task(tables, task, [=](const core::TaskLife& before) {
        return core::with_priority(before, priority, now);
    });
    publish_place(tables, life, task);
}

int64 reopen(Tables& tables, const Task& task, core::TaskState state, int64 now) {
    delete_suspensions(tables, task.id);
    if (task.attempt_started) {
        end_attempt(tables, task, core::AttemptOutcome::kSuccess, *task.terminal_at, std::nullopt);
    }
    const core::TaskLife life = change_task(
        tables, task,
        [=](const core::TaskLife& before) { return core::reopened(before, state, now); },
        [](const Table&, Changes* changes) {
            for (const AttrNumber column :
                 {task::kResult.number, task::kCheckpoint.number, task::kProgressPct.number,
                  task::kProgressMessage.number, task::kProgressAt.number,
                  task::kFailureClass.number, task::kFailureMessage.number,
                  task::kFailureDetails.number, task::kCancelReason.number,
                  task::kCancelledBy.number}) {
                changes->clear(column);
            }
        });
    publish_place(tables, life, task);
    if (state == core::TaskState::kReady) {
        wake_claimers(tables, task.queue, life);
    }
    wake_task_waiters(tables, task, {wakeups::Reason::kChanged, false});
    return life.lease_epoch;
}

void delete_task(Tables& tables, const Task& task) {
    run(tables.hub, kDeleteAttempts, task.id);
    delete_suspensions(tables, task.id);
    if (task.dedup_key) {
        delete_dedup_key(tables, task.queue, *task.dedup_key, task.id);
    }
    run_for_one(tables.hub, kDelete, task.id);
    wake_task_waiters(tables, task, {wakeups::Reason::kChanged, false});
}

}  // namespace belay::store
