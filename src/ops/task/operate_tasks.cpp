// operate_tasks.cpp — what operators do to many tasks: cancel and replay one portion of a list.
//
// Calls    choose_tasks, hold_tasks_and_flows, cancel_task, replay_task
// Touches  as cancel_task and replay_task
// Locks    all flows of the portion by id, then its tasks by id
// Raises   QB006, QB007; what concerns one task of a replay stands in the answer
#include <algorithm>

#include "ops/audit.hpp"
#include "ops/browse/browse.hpp"
#include "ops/own_fault.hpp"
#include "ops/task/task.hpp"
#include "pg/errors.hpp"
#include "pg/subtransaction.hpp"

namespace belay::ops {

namespace {

constexpr std::string_view kOverride = "operator_override";
constexpr int kTasksCancelled = core::event_place("operator", "tasks_cancelled");
constexpr int kTasksReplayed = core::event_place("operator", "tasks_replayed");

bool is_wanted(const ChosenTasks& chosen, core::TaskState state) {
    return !chosen.states || std::find(chosen.states->begin(), chosen.states->end(),
                                       core::name_of(state)) != chosen.states->end();
}

// Acts on each task of the portion that is still in a state that the caller asked for. act returns
// whether there was anything to do.
template <typename Act>
Tally act_on_each(store::Tables& tables, const ChosenTasks& chosen, pg::Clock* clock, Act act) {
    Tally tally;
    const auto held = hold_tasks_and_flows(tables, chosen.ids.span(), clock);
    pg::check_skew(*clock, tables.hub.options[store::Option::kMaxClockSkew]);
    for (TaskHold& hold : held) {
        // What became of it with a sibling in its flow.
        if (hold.task && hold.task->flow_id) {
            hold.task = store::try_lock_task(tables, hold.id);
        }
        if (!hold.task || !is_wanted(chosen, hold.task->state) || !act(*hold.task, &tally)) {
            ++tally.skipped;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return tally;
}

void tell(store::Tables& tables, int event, const BulkArguments& arguments, const Tally& tally,
          std::optional<std::string_view> reason, int64 now) {
    if (tally.done == 0) {
        return;
    }
    emit_operator_event(
        tables,
        {.event = event,
         .subject = std::nullopt,
         .details = store::Details()
                        .add("count", tally.done)
                        .add_json("filter", checked_object("p_filter", arguments.filter).text),
         .reason = reason},
        now);
}

// Lets one task begin anew, or says why it cannot.
void replay(store::Tables& tables, const pg_uuid_t& id, bool cascade, pg::Clock* clock,
            Tally* tally) {
    const auto end = pg::try_in_subtransaction([&tables, &id, cascade, clock] {
        store::with_tables(tables.hub, [&id, cascade, clock](store::Tables& own) {
            (void)replay_task(own, id, cascade, std::nullopt, clock);
        });
        return true;
    });
    if (end.error == nullptr) {
        ++tally->done;
        return;
    }
    if (!is_its_own_fault(end.error)) {
        ReThrowError(end.error);
    }
    tally->add_failure(store::uuid_text(id), end.error->sqlerrcode, code_detail_of(end.error));
}

}  // namespace

Jsonb* cancel_tasks(store::Tables& tables, const BulkArguments& arguments, std::string_view reason,
                    pg::Clock* clock) {
    const auto chosen = choose_tasks(tables, "cancel_tasks", arguments);
    const Tally tally =
        act_on_each(tables, chosen, clock, [&](const store::Task& task, Tally* sum) {
            if (core::is_terminal(task.state)) {
                return false;
            }
            (void)cancel_task(tables, task.id,
                              {.reason = reason,
                               .source = kOverride,
                               .epoch = std::nullopt,
                               .is_operator = true,
                               .one_of_many = true},
                              clock);
            ++sum->done;
            return true;
        });
    tell(tables, kTasksCancelled, arguments, tally, reason, clock->now());
    return tally.answer(chosen.next);
}

Jsonb* replay_tasks(store::Tables& tables, const BulkArguments& arguments, bool cascade,
                    pg::Clock* clock) {
    const auto chosen = choose_tasks(tables, "replay_tasks", arguments);
    const Tally tally =
        act_on_each(tables, chosen, clock, [&](const store::Task& task, Tally* sum) {
            if (!core::is_terminal(task.state)) {
                return false;
            }
            replay(tables, task.id, cascade, clock, sum);
            return true;
        });
    tell(tables, kTasksReplayed, arguments, tally, std::nullopt, clock->now());
    return tally.answer(chosen.next);
}

}  // namespace belay::ops
