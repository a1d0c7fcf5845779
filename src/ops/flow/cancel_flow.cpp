// cancel_flow.cpp — cancel a flow as a whole; delete one; the answers of its workers.
//
// Calls    store::hold_open_members, store::write_backlog, store::delete_backlog_member,
//          store::delete_flow
// Touches  <hub>.flows, <hub>.tasks, <hub>.attempts, <hub>.cancel_backlog,
//          <hub>.cancel_backlog_members, <hub>.cascade_queue, <hub>.outbox_events
// Locks    the flow, its members by id, the header of its backlog
// Raises   QB001 confirmed before, QB002 no such flow or member, QB003 not finished, QB007 clock
// skew
#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/audit.hpp"
#include "ops/flow/flow.hpp"
#include "pg/errors.hpp"
#include "store/members.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

namespace {

constexpr int kCancelRequested = core::event_place("operator", "flow_cancel_requested");
constexpr int kFlowCancelled = core::event_place("completion", "flow_cancelled");
constexpr std::string_view kCascadeSource = "flow_cascade";
constexpr int kMostIds = 1000;

// A flow that has ended returns which members it still waits for, or which members it has.
CancelledFlow already_ended(store::Tables& tables, const store::Flow& flow) {
    auto open = store::backlog_members(tables, flow.id, kMostIds);
    if (open.count == 0) {
        open = {store::member_ids(tables, flow.id, kMostIds), flow.members};
    }
    return {false, flow.cancellation_policy, flow.cancel_reason, open.count, open.ids};
}

void emit_cancelled(store::Tables& tables, const store::Flow& flow,
                    const CancelFlowRequest& request, int64 members, int64 now) {
    const char* subject = store::uuid_text(flow.id);
    emit_operator_event(tables,
                        {.event = kCancelRequested,
                         .subject = subject,
                         .details = store::Details()
                                        .add("flow_id", std::string_view(subject))
                                        .add("cancellation_policy", core::name_of(request.policy))
                                        .add("member_count", members),
                         .reason = request.reason},
                        now);
    if (store::wants_event(tables, kFlowCancelled)) {
        store::write_event(tables, kFlowCancelled, subject, count_details(tables, flow.id), now);
    }
}

// No success: a transaction that is run once more must not commit its effects once more.
[[noreturn]] void raise_not_owed(store::Tables& tables, const pg_uuid_t& flow,
                                 const pg_uuid_t& task) {
    const char* text = store::uuid_text(task);
    const char* flow_text = store::uuid_text(flow);
    const auto found = store::read_flow(tables, flow);
    if (!found) {
        raise_no_flow(flow);
    }
    const auto membership = store::read_membership(tables, task);
    if (!membership || !membership->flow_id ||
        memcmp(membership->flow_id->data, flow.data, UUID_LEN) != 0) {
        pg::raise(pg::kNotFound, psprintf("task %s is not a member of flow %s", text, flow_text),
                  pg::Facts("unknown_task")
                      .add("entity", "task")
                      .add("id", text)
                      .add("flow_id", flow_text),
                  "Confirm with the ids of the task and of its flow.");
    }
    if (found->state != core::FlowState::kCancelled) {
        pg::raise(
            pg::kLockLost, psprintf("flow %s is not cancelled", flow_text),
            pg::Facts("not_cancelled").add("task_id", text).add("flow_id", flow_text),
            "Read the flow in a new transaction: it may have been replayed after its cancel.");
    }
    pg::raise(pg::kLockLost, psprintf("task %s owes no confirmation of a cancel", text),
              pg::Facts("already_completed").add("task_id", text).add("flow_id", flow_text),
              "Do not write the results again if the task was confirmed before: what was written "
              "with the first confirmation is committed. Stop otherwise: its grace period has "
              "passed, or no worker had it when the flow was cancelled.");
}

}  // namespace

CancelledFlow cancel_flow(store::Tables& tables, const pg_uuid_t& id,
                          const CancelFlowRequest& request, pg::Clock* clock) {
    auto flow = hold_flow(tables, id, clock);
    if (flow.is_terminal()) {
        return already_ended(tables, flow);
    }
    std::span<const store::Task> members;
    if (request.policy != core::CancelPolicy::kFlowOnly) {
        members = store::hold_open_members(tables, id, request.policy == core::CancelPolicy::kAll);
    }
    const int64 now = clock->now();
    Cascade cascade(tables, &flow, flow.bad_sinks, 0, now);
    cascade.cancel(members, request.reason, kCascadeSource);
    flow.state = core::FlowState::kCancelled;
    flow.terminal_at = now;
    flow.cancellation_policy = request.policy;
    flow.cancel_reason = request.reason;
    flow.cancelled_by = request.requester;
    store::write_flow(tables, flow, now);
    if (request.policy == core::CancelPolicy::kAll) {
        store::drop_left(tables, id);
    }
    pg::List<store::Task> active;
    pg::List<pg_uuid_t> ids;
    for (const store::Task& task : members) {
        ids.add(task.id);
        if (task.is_active()) {
            active.add(task);
        }
    }
    if (active.count > 0) {
        store::write_backlog(tables, id,
                             {.requester = request.requester,
                              .reason = request.reason,
                              .policy = request.policy,
                              .grace_until = core::add_ms(now, request.grace_ms)},
                             active.span(), now);
    }
    emit_cancelled(tables, flow, request, ids.count, now);
    return {true, request.policy, request.reason, ids.count, ids.span()};
}

void ack_cancel_member(store::Tables& tables, const pg_uuid_t& flow, const pg_uuid_t& task) {
    if (!store::lock_backlog(tables, flow) || !store::delete_backlog_member(tables, flow, task)) {
        raise_not_owed(tables, flow, task);
    }
    store::delete_empty_backlog(tables, flow);
}

bool delete_flow(store::Tables& tables, const pg_uuid_t& id) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.tasks = true, .attempts = true}, &clock);
    const auto flow = store::lock_flow_to_delete(tables, id);
    if (!flow) {
        return false;
    }
    if (!flow->is_terminal() || flow->open_members > 0) {
        pg::raise(pg::kStillRunning, psprintf("flow %s is running", store::uuid_text(id)),
                  pg::Facts("running")
                      .add("flow_id", store::uuid_text(id))
                      .add("state", core::name_of(flow->state))
                      .add("open_members", flow->open_members),
                  "Cancel the flow first, or let it end.");
    }
    if (store::lock_backlog(tables, id)) {
        while (store::delete_backlog_members(tables, id, kMostIds) > 0) {
        }
        store::delete_empty_backlog(tables, id);
    }
    store::delete_flow(tables, id);
    constexpr int kDeleted = core::event_place("operator", "flow_deleted");
    emit_operator_event(tables,
                        {.event = kDeleted,
                         .subject = store::uuid_text(id),
                         .details = store::Details().add("state", core::name_of(flow->state))});
    return true;
}

}  // namespace belay::ops
