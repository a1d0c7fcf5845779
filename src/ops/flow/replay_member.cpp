// replay_member.cpp — let a member of a flow begin anew, and what waited for it.
//
// Calls    store::reset_inbound, store::reset_outgoing, store::recount_groups, store::reopen
// Touches  <hub>.tasks, <hub>.edges, <hub>.groups, <hub>.flows, <hub>.cancel_backlog,
//          <hub>.outbox_events
// Locks    tasks behind the member, with a cascade; the flow and the member are held
// Raises   QB016
#include "ops/flow/flow.hpp"
#include "store/members.hpp"

namespace belay::ops {

namespace {

// The state of a task that begins anew, by its group; none or a satisfied one holds nothing up.
core::TaskState state_by_group(const store::Flow& flow, const store::Task& task,
                               const std::optional<store::Group>& group) {
    const bool waits = group && group->state != core::GroupState::kSatisfied;
    return waits || (task.held && !flow.sealed) ? core::TaskState::kBlocked
                                                : core::TaskState::kReady;
}

// Counts the group into the task anew: what was impossible may still come.
std::optional<store::Group> recount_inbound(store::Tables& tables, const store::Flow& flow,
                                            const pg_uuid_t& task, int64 now) {
    store::reset_inbound(tables, flow.id, task, now);
    const auto groups = store::recount_groups(tables, {&task, 1});
    if (groups.empty()) {
        return std::nullopt;
    }
    store::Group group = groups[0];
    const auto judged = core::judge(group.join, group.counts, !flow.sealed, group.held);
    // Nothing is impossible any more, so that the group is at most too small for its quorum.
    group.state = judged == core::GroupState::kSatisfied ? judged : core::GroupState::kOpen;
    store::set_group_states(tables, {&task, 1}, group.state, now);
    return group;
}

// Gives a member back to its flow.
void reopen(store::Tables& tables, store::Flow* flow, const store::Task& task,
            core::TaskState state, int64 groups_reset, int64 now) {
    const bool was_bad_sink =
        task.state != core::TaskState::kCompleted && store::is_sink(tables, task.id);
    (void)store::reopen(tables, task, state, now);
    store::delete_left_of_task(tables, task.id);  // it was about the end that is no more
    ++flow->open_members;
    flow->bad_sinks -= was_bad_sink ? 1 : 0;
    emit_replay(tables, task, task.state == core::TaskState::kSkipped, groups_reset, now);
}

// The groups behind a member that begins anew: what its end had made impossible is open again.
// Returns the skipped tasks that could run after all.
std::span<const pg_uuid_t> reopen_groups_behind(store::Tables& tables, const store::Flow& flow,
                                                const pg_uuid_t& task, int64 now) {
    pg::List<pg_uuid_t> opened;
    pg::List<pg_uuid_t> skipped;
    for (const store::Group& group :
         store::recount_groups(tables, store::reset_outgoing(tables, task))) {
        if (group.state == core::GroupState::kImpossible &&
            core::judge(group.join, group.counts, !flow.sealed, group.held) !=
                core::GroupState::kImpossible) {
            opened.add(group.downstream);
            if (group.waiting == core::TaskState::kSkipped) {
                skipped.add(group.downstream);
            }
        }
    }
    if (opened.count > 0) {
        store::set_group_states(tables, opened.span(), core::GroupState::kOpen, now);
    }
    return skipped.span();
}

void reopen_flow(store::Tables& tables, store::Flow* flow, const pg_uuid_t& task) {
    if (flow->is_terminal()) {
        flow->state = flow->sealed ? core::FlowState::kRunning : core::FlowState::kOpen;
        flow->struck = false;
        flow->terminal_at = std::nullopt;
        flow->cancellation_policy = std::nullopt;
        flow->cancel_reason = std::nullopt;
        flow->cancelled_by = std::nullopt;
    }
    if (store::lock_backlog(tables, flow->id)) {
        (void)store::delete_backlog_member(tables, flow->id, task);
        store::delete_empty_backlog(tables, flow->id);
    }
}

}  // namespace

ReplayedTask replay_member(store::Tables& tables, const store::Task& task, bool cascade,
                           int64 now) {
    auto flow = held_flow(tables, *task.flow_id);
    const bool was_struck = flow.struck;
    auto group = store::read_group(tables, task.id);
    const bool skipped = task.state == core::TaskState::kSkipped;
    const bool recounts = group && (skipped || group->state != core::GroupState::kSatisfied);
    if (recounts) {
        group = recount_inbound(tables, flow, task.id, now);
    }
    const auto state = state_by_group(flow, task, group);
    reopen_flow(tables, &flow, task.id);
    reopen(tables, &flow, task, state, recounts ? 1 : 0, now);

    pg::List<pg_uuid_t> reopened;
    pg::List<pg_uuid_t> level;
    level.add(task.id);
    for (int at = 0; at < level.count; ++at) {
        for (const pg_uuid_t& id : reopen_groups_behind(tables, flow, level.items[at], now)) {
            const auto behind = cascade ? store::lock_task(tables, id) : std::nullopt;
            if (behind) {
                check_replay(tables, *behind);
                reopen(tables, &flow, *behind, core::TaskState::kBlocked, 1, now);
                reopened.add(id);
                level.add(id);
            }
        }
        CHECK_FOR_INTERRUPTS();
    }
    // What is decided by ends of before does not strike again: no number of bad sinks is new.
    Cascade meaning(tables, &flow, flow.members, tables.hub.options[store::Option::kFanoutBound],
                    now);
    if (was_struck) {
        // Groups that were decided meanwhile have been left open.
        meaning.judge(store::open_groups(tables, flow.id));
        meaning.run();
    }
    meaning.finish();
    return {task.replay_count + 1, state, reopened.span(),
            store::ended_upstreams(tables, flow.id, task.id)};
}

}  // namespace belay::ops
