// flow_duties.cpp — what flows need done from time to time.
//
// Calls    Cascade, store::oldest_left, store::hold_overdue_backlogs, store::delete_flow
// Touches  <hub>.cascade_queue, <hub>.cancel_backlog, <hub>.cancel_backlog_members, and the tables
//          of flows and tasks
// Locks    flows, then tasks, always skipping what others hold
// Raises   nothing itself
#include "ops/duties/duties.hpp"
#include "ops/enter.hpp"
#include "ops/flow/flow.hpp"
#include "store/members.hpp"

namespace belay::ops {

namespace {

constexpr int kPortion = 200;  // of the cascade queue, and of edges
constexpr int kBacklogs = 50;
constexpr int kBacklogMembers = 500;
constexpr int kFlows = 50;

// The edges of tasks of the flow that have ended, as far as they are not resolved yet and the
// portion allows. Returns how many entries of the queue are done.
int64 dispatch(store::Tables& tables, store::Flow* flow, std::span<const store::LeftOver> queue,
               int64 now) {
    int64 done = 0;
    Cascade cascade(tables, flow, flow->bad_sinks, kPortion, now);
    for (const auto& left : queue) {
        if (!cascade.has_budget()) {
            break;
        }
        if (memcmp(left.flow.data, flow->id.data, UUID_LEN) != 0) {
            continue;
        }
        store::delete_left(tables, left);  // what remains is queued again
        if (const auto member = store::find_member(tables, left.task);
            member && core::is_terminal(member->state)) {
            cascade.add_end(left.task, member->state);
            cascade.run();
        }
        ++done;
    }
    cascade.finish();
    return done;
}

// Whether the reason still holds for which a member was to be cancelled.
bool is_still_meant(store::Tables& tables, const store::Flow& flow, const store::LeftOver& left) {
    return left.what == store::Left::kFailFast ? flow.struck : !store::is_needed(tables, left.task);
}

void cancel_left(store::Tables& tables, store::Flow* flow, const store::LeftOver& left,
                 std::span<const store::Task> held, int64 now) {
    const bool fast = left.what == store::Left::kFailFast;
    Cascade cascade(tables, flow, flow->bad_sinks, tables.hub.options[store::Option::kFanoutBound],
                    now);
    cascade.cancel(held, fast ? kFailFastReason : kSiblingReason, kEngine);
    if (!fast) {
        cascade.add_end(left.task, core::TaskState::kCancelled);
        cascade.run();
    }
    cascade.finish();
}

}  // namespace

int64 sweep_dispatches(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true})) {
        return 0;
    }
    const auto queue = store::oldest_left(tables, true, kPortion);
    for (const auto& left : queue) {
        if (auto flow = store::try_lock_flow(tables, left.flow)) {
            return dispatch(tables, &*flow, queue, clock->now());
        }
    }
    return 0;
}

int64 cancel_siblings(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true})) {
        return 0;
    }
    int64 done = 0;
    for (const auto& left : store::oldest_left(tables, false, kPortion)) {
        auto flow = store::try_lock_flow(tables, left.flow);
        if (!flow) {
            continue;
        }
        const auto member = store::find_member(tables, left.task);
        if (member && !core::is_terminal(member->state) && is_still_meant(tables, *flow, left)) {
            const auto held = store::hold_free(tables, {&left.task, 1});
            if (held.empty()) {
                continue;  // another transaction has it; later
            }
            cancel_left(tables, &*flow, left, held, clock->now());
        }
        store::delete_left(tables, left);
        ++done;
        CHECK_FOR_INTERRUPTS();
    }
    return done;
}

int64 drain_cancel_backlog(store::Tables& tables, pg::Clock* clock) {
    if (!try_enter(tables, {.tasks = true})) {
        return 0;
    }
    int64 done = 0;
    for (const auto& id : store::hold_overdue_backlogs(tables, clock->now(), kBacklogs)) {
        auto flow = store::try_lock_flow(tables, id);
        if (!flow && store::read_flow(tables, id)) {
            continue;
        }
        // A cancelled flow with policy `all` has no open members, unless rows were changed by hand:
        // those that are left are cancelled, too.
        if (flow && flow->cancellation_policy == core::CancelPolicy::kAll &&
            flow->open_members > 0) {
            const auto strays = store::hold_free(tables, store::open_members(tables, id));
            Cascade cascade(tables, &*flow, flow->bad_sinks, 0, clock->now());
            cascade.cancel(strays, flow->cancel_reason.value_or(""), "flow_cascade");
            cascade.finish();
        }
        done += store::delete_backlog_members(tables, id, kBacklogMembers);
        store::delete_empty_backlog(tables, id);
        ++done;
        CHECK_FOR_INTERRUPTS();
    }
    return done;
}

int64 retire_flows(store::Tables& tables, pg::Clock* clock) {
    int64 deleted = 0;
    for (const auto& id : store::hold_outdated_flows(
             tables, clock->now(), tables.hub.options[store::Option::kTaskRetention], kFlows)) {
        store::delete_flow(tables, id);
        ++deleted;
        CHECK_FOR_INTERRUPTS();
    }
    return deleted;
}

}  // namespace belay::ops
