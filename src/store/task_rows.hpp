// Rows of table tasks, for the files of the store that work on them.
//
// Touches  <hub>.tasks, by direct access
// Must not decide what becomes of a task: core/transitions/task.hpp does
#pragma once

#include "pg/faults.hpp"
#include "shmem/gaps.hpp"
#include "store/rows/task.hpp"
#include "store/table/table.hpp"
#include "store/task_claims.hpp"
#include "store/tasks.hpp"

namespace belay::store {

// The fault points that every operation on the tables of tasks passes.
inline void pass_task_faults() {
    pg::fail_here(pg::FaultPoint::kHotTableTask);
    pg::pass_store_faults();
}

// ---- Reading ----

// What the rules know of table.row.
core::TaskLife life_of(const Table& table);
Task read_task(const Table& table);
// Where table.row stands in the order of claims.
TaskPlace place_of(const Table& table);

// The timeout of attempts in a policy.
struct Timeout {
    bool given;
    std::optional<int64> ms;  // none: there is no timeout
};
Timeout timeout_in(Jsonb* policy);

// Whether there is a task with that id; it is in table.row then.
bool find_task(Table* table, const pg_uuid_t& id);
// The same, of a task that most often lies where it was seen.
bool find_task_at(Table* table, const pg_uuid_t& id, const ItemPointerData& tid);
// Finds a task that this transaction holds; whether it lies where it was seen.
bool find_held_task(Table* table, const pg_uuid_t& id, const ItemPointerData& tid);

// ---- Writing ----

// What a new row has beside what the rules know.
struct TaskBody {
    pg_uuid_t id;
    std::optional<pg_uuid_t> flow_id;
    std::optional<std::string_view> flow_key;
    std::string_view queue;
    std::string_view kind;
    std::optional<std::string_view> dedup_key;
    int32 cap_set;
    int64 created_at;
    Jsonb* payload;  // null for NULL
    Jsonb* tags;
    Jsonb* policy;
};
// body has to live until the row is written.
void fill_task(const Hub& hub, const TaskBody& body, const core::TaskLife& life, NewRow* row);

// Puts what a rule has made of table.row in its place, with the changes of columns that no rule
// knows; the names of a lease and of an attempt that have ended go. This transaction holds the row.
void write_life(Table* table, const core::TaskLife& before, const core::TaskLife& after,
                Changes* changes);

// The same, with the columns of the new version, which point into it.
struct WrittenLife {
    TM_Result result;
    Columns columns;  // if it is TM_Ok
};
WrittenLife write_held_life(Table* table, const core::TaskLife& before, const core::TaskLife& after,
                            Changes* changes);
// The same for a row that this transaction does not hold, without waiting: as try_change_row.
WrittenLife try_write_life(Table* table, const core::TaskLife& before, const core::TaskLife& after,
                           Changes* changes);

// Does to a task that this transaction holds what rule(life) makes of it, and what more(table,
// changes) says of further columns. Returns its new life.
template <typename Rule, typename More>
core::TaskLife change_task(Tables& tables, const Task& task, Rule rule, More more) {
    pass_task_faults();
    return writing(tables, TableId::kTasks, [&](Table& table) {
        // At its place lies the version that was read when the task was held.
        const bool same = find_held_task(&table, task.id, task.tid);
        const core::TaskLife before = same ? core::TaskLife(task) : life_of(table);
        const core::TaskLife after = rule(before);
        Changes changes;
        more(table, &changes);
        (void)write_life(&table, before, after, &changes);
        return after;
    });
}
template <typename Rule>
core::TaskLife change_task(Tables& tables, const Task& task, Rule rule) {
    return change_task(tables, task, rule, [](const Table&, Changes*) {});
}

// A failure as it is shown: {"class", "message", "details"}.
Jsonb* error_json(std::string_view failure_class, std::optional<std::string_view> message,
                  Jsonb* of_details);

// ---- Places ----

int16 task_slot(const Hub& hub, const pg_uuid_t& id);

// The gaps of a stream of ready tasks, and of all delayed ones; and places there.
gaps::Key ready_gaps(const Hub& hub, const TaskStream& stream);
gaps::Key delayed_gaps(const Hub& hub);
core::QueuePlace ready_place(const TaskPlace& place);
core::QueuePlace delayed_place(const TaskPlace& place);

// ---- What waiting sessions have to know ----

// A task that has just been written, if it waits in the queue: its place, for the gaps, and that it
// can be claimed, now or later.
void publish_place(const Hub& hub, const core::TaskLife& life, const TaskStream& stream,
                   const pg_uuid_t& id);
void publish_place(const Hub& hub, const core::TaskLife& life, const Task& task);
void wake_claimers(const Hub& hub, std::string_view queue, const core::TaskLife& life,
                   int32 count = 1);
// The state of a task has changed; with a notice, that of one that had a lease.
void wake_task_waiters(const Hub& hub, const pg_uuid_t& task);
// Something has changed in the flow, if there is one.
void wake_flow_waiters(const Hub& hub, const std::optional<pg_uuid_t>& flow);
void wake_task_waiters(const Hub& hub, const Task& task, const Notice& notice);
// A claim may pass the tasks of the queue over until the transaction ends.
void publish_held(const Hub& hub, std::string_view queue);

}  // namespace belay::store
