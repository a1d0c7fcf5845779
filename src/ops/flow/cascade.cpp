// cascade.cpp — what the end of one member means for the others, and for their flow.
//
// Calls    store::resolve_edges, store::count_ends, store::release_blocked, store::skip_blocked,
//          store::cancel_members, store::leave_to_duty
// Touches  <hub>.flows, <hub>.edges, <hub>.groups, <hub>.tasks, <hub>.attempts,
//          <hub>.cascade_queue, <hub>.outbox_events
// Locks    nothing itself: the flow is held; siblings are held if they are free
// Raises   nothing itself
#include <algorithm>

#include "core/events.hpp"
#include "ops/flow/flow.hpp"
#include "pg/errors.hpp"
#include "store/members.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

namespace {

bool less(const pg_uuid_t& a, const pg_uuid_t& b) {
    return memcmp(a.data, b.data, UUID_LEN) < 0;
}

// Those of the ids that are not among the tasks; both are sorted.
std::span<const pg_uuid_t> missing(std::span<const pg_uuid_t> ids,
                                   std::span<const store::Task> tasks) {
    pg::List<pg_uuid_t> left;
    std::size_t at = 0;
    for (const pg_uuid_t& id : ids) {
        while (at < tasks.size() && less(tasks[at].id, id)) {
            ++at;
        }
        if (at == tasks.size() || less(id, tasks[at].id)) {
            left.add(id);
        }
    }
    return left.span();
}

constexpr int ending_of(core::FlowState state) {
    return state == core::FlowState::kCompleted ? core::event_place("completion", "flow_completed")
           : state == core::FlowState::kFailed  ? core::event_place("completion", "flow_failed")
                                                : core::event_place("completion", "flow_cancelled");
}

}  // namespace

store::Flow held_flow(store::Tables& tables, const pg_uuid_t& id) {
    const auto flow = store::read_flow(tables, id);
    if (!flow) {
        ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
                        errmsg("flow %s of a task does not exist", store::uuid_text(id)),
                        errhint("check_tasks shows more.")));
    }
    return *flow;
}

store::Details count_details(store::Tables& tables, const pg_uuid_t& flow) {
    store::Details details;
    for (const auto [state, count] : store::count_states(tables, flow)) {
        details.add(pg::c_string(core::name_of(state)), count);
    }
    return details;
}

Cascade::Cascade(store::Tables& tables, store::Flow* flow, int64 known_bad, int64 budget, int64 now)
    : tables_(tables), flow_(flow), known_bad_(known_bad), budget_(budget), now_(now) {}

void Cascade::add_end(const pg_uuid_t& task, core::TaskState end) {
    ends_.add({task, end});
}

void Cascade::run() {
    while (next_ < ends_.count) {
        if (budget_ <= 0) {
            leave_rest();
            return;
        }
        // As many as ended alike are resolved together.
        const core::TaskState end = ends_.items[next_].state;
        pg::List<pg_uuid_t> upstreams;
        for (; next_ < ends_.count && ends_.items[next_].state == end; ++next_) {
            upstreams.add(ends_.items[next_].task);
        }
        resolve(upstreams.span(), end);
        CHECK_FOR_INTERRUPTS();
    }
}

void Cascade::resolve(std::span<const pg_uuid_t> upstreams, core::TaskState end) {
    const auto downstreams =
        store::resolve_edges(tables_, upstreams, core::edge_after(end), now_, budget_);
    budget_ -= static_cast<int64>(downstreams.size());
    if (budget_ <= 0) {
        store::leave_to_duty(tables_, flow_->id, store::Left::kDispatch,
                             store::with_unresolved_edges(tables_, upstreams), now_);
    }
    if (downstreams.empty()) {
        return;
    }
    auto* sorted = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t) * downstreams.size()));
    std::copy(downstreams.begin(), downstreams.end(), sorted);
    std::sort(sorted, sorted + downstreams.size(), less);
    pg::List<pg_uuid_t> groups;
    pg::List<int32> counts;
    for (std::size_t i = 0; i < downstreams.size(); ++i) {
        if (i > 0 && !less(sorted[i - 1], sorted[i])) {
            ++counts.items[counts.count - 1];
            continue;
        }
        groups.add(sorted[i]);
        counts.add(1);
    }
    judge(store::count_ends(tables_, end, groups.span(), counts.span()));
}

void Cascade::judge(std::span<const store::Group> groups) {
    if (flow_->struck) {
        return;  // what is left of it is being cancelled; a replay judges anew what then remains
    }
    pg::List<pg_uuid_t> satisfied;
    pg::List<pg_uuid_t> impossible;
    pg::List<pg_uuid_t> cancelling;
    for (const store::Group& group : groups) {
        if (group.state != core::GroupState::kOpen) {
            continue;  // it closes once
        }
        switch (core::judge(group.join, group.counts, !flow_->sealed, group.held)) {
            case core::GroupState::kOpen:
                break;
            case core::GroupState::kSatisfied:
                satisfied.add(group.downstream);
                if (group.join.cancels_remaining) {
                    cancelling.add(group.downstream);
                }
                break;
            case core::GroupState::kImpossible:
                impossible.add(group.downstream);
                break;
        }
    }
    if (satisfied.count > 0) {
        store::set_group_states(tables_, satisfied.span(), core::GroupState::kSatisfied, now_);
    }
    if (impossible.count > 0) {
        store::set_group_states(tables_, impossible.span(), core::GroupState::kImpossible, now_);
    }
    (void)store::release_blocked(tables_, satisfied.span(), now_);
    skip(impossible.span());
    cancel_siblings(cancelling.span());
}

void Cascade::skip(std::span<const pg_uuid_t> tasks) {
    const auto skipped = store::skip_blocked(tables_, tasks, now_);
    if (skipped.empty()) {
        return;
    }
    for (const store::Task& task : skipped) {
        emit_completion(tables_, task, core::TaskState::kSkipped, task.lease_epoch, std::nullopt,
                        std::nullopt, now_);
        add_end(task.id, core::TaskState::kSkipped);
    }
    flow_->open_members -= static_cast<int64>(skipped.size());
    flow_->bad_sinks += store::count_sinks(tables_, store::ids_of(skipped));
}

void Cascade::cancel_siblings(std::span<const pg_uuid_t> satisfied) {
    if (satisfied.empty()) {
        return;
    }
    const auto idle = store::idle_upstreams(tables_, flow_->id, satisfied);
    const auto now = idle.first(std::min<std::size_t>(
        idle.size(), static_cast<std::size_t>(tables_.hub.options[store::Option::kFanoutBound])));
    const auto held = store::hold_free(tables_, now);
    cancel(held, kSiblingReason, kEngine);
    for (const store::Task& task : held) {
        add_end(task.id, core::TaskState::kCancelled);
    }
    store::leave_to_duty(tables_, flow_->id, store::Left::kSiblingCancel, missing(idle, held),
                         now_);
}

void Cascade::cancel(std::span<const store::Task> tasks, std::string_view reason,
                     std::string_view by) {
    if (tasks.empty()) {
        return;
    }
    for (const store::Task& task : tasks) {
        if (task.is_active()) {
            emit_lease_event(tables_, task, revoked_event(task, reason, by), now_);
        }
    }
    store::cancel_members(tables_, tasks, reason, by, now_);
    if (by == kEngine) {
        for (const store::Task& task : tasks) {
            emit_completion(tables_, task, core::TaskState::kCancelled,
                            task.lease_epoch + (task.is_active() ? 1 : 0), reason, std::nullopt,
                            now_);
        }
    }
    flow_->open_members -= static_cast<int64>(tasks.size());
    flow_->bad_sinks += store::count_sinks(tables_, store::ids_of(tasks));
}

void Cascade::leave_rest() {
    pg::List<pg_uuid_t> rest;
    for (; next_ < ends_.count; ++next_) {
        rest.add(ends_.items[next_].task);
    }
    store::leave_to_duty(tables_, flow_->id, store::Left::kDispatch,
                         store::with_unresolved_edges(tables_, rest.span()), now_);
}

// The first bad end of a sink ends the whole flow.
void Cascade::strike() {
    flow_->struck = true;
    flow_->state = core::FlowState::kFailed;
    const auto open = store::open_members(tables_, flow_->id);
    const auto now = open.first(std::min<std::size_t>(
        open.size(), static_cast<std::size_t>(tables_.hub.options[store::Option::kFanoutBound])));
    const auto held = store::hold_free(tables_, now);
    cancel(held, kFailFastReason, kEngine);
    store::leave_to_duty(tables_, flow_->id, store::Left::kFailFast, missing(open, held), now_);
    end_flow(core::FlowState::kFailed);
}

void Cascade::end_flow(core::FlowState state) {
    flow_->state = state;
    flow_->terminal_at = now_;
    const int event = ending_of(state);
    if (!store::wants_event(tables_, event)) {
        return;
    }
    store::write_event(tables_, event, store::uuid_text(flow_->id),
                       count_details(tables_, flow_->id), now_);
}

void Cascade::finish() {
    if (!flow_->is_terminal()) {
        if (flow_->sealed && flow_->fail_fast && flow_->bad_sinks > known_bad_) {
            strike();
        } else {
            const auto state =
                core::state_by_counts(flow_->sealed, flow_->open_members, flow_->bad_sinks);
            if (core::is_terminal(state)) {
                end_flow(state);
            } else {
                flow_->state = state;
            }
        }
    }
    store::write_flow(tables_, *flow_, now_);
}

void member_ended(store::Tables& tables, const store::Task& task, core::TaskState state,
                  EndKind kind, int64 now) {
    auto flow = held_flow(tables, *task.flow_id);
    const int64 known_bad = flow.bad_sinks;
    --flow.open_members;
    if (state != core::TaskState::kCompleted && store::is_sink(tables, task.id)) {
        ++flow.bad_sinks;
    }
    Cascade cascade(tables, &flow, known_bad, tables.hub.options[store::Option::kFanoutBound], now);
    if (kind == EndKind::kPublished) {
        cascade.add_end(task.id, state);
        cascade.run();
    }
    cascade.finish();
}

}  // namespace belay::ops
