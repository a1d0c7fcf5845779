// end_task.cpp — the end of a task, or of its lease only.
//
// Calls    store::finish, store::requeue, member_ended
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events, and the tables of flows
// Locks    nothing: the task, and its flow, are held
// Raises   nothing itself
#include "ops/flow/flow.hpp"
#include "ops/task/task.hpp"

namespace belay::ops {

int64 end_task(store::Tables& tables, const store::Task& task, const store::Finish& how,
               EndKind kind) {
    const int64 epoch = store::finish(tables, task, how);
    if (kind == EndKind::kPublished) {
        emit_completion(tables, task, how.state, epoch, how.cancel_reason,
                        how.failure ? std::optional(how.failure->failure_class) : std::nullopt,
                        how.now);
    }
    if (task.flow_id) {
        member_ended(tables, task, how.state, kind, how.now);
    }
    return epoch;
}

bool may_go_back(store::Tables& tables, const store::Task& task) {
    return !task.flow_id || held_flow(tables, *task.flow_id).takes_back();
}

void cancel_with_flow(store::Tables& tables, const store::Task& task,
                      const std::optional<store::Failure>& failure, const store::Notice& notice,
                      int64 now) {
    const auto flow = held_flow(tables, *task.flow_id);
    (void)end_task(tables, task,
                   {.state = core::TaskState::kCancelled,
                    .now = now,
                    .outcome = core::AttemptOutcome::kCancelled,
                    .failure = failure,
                    .cancel_reason = flow.cancel_reason.value_or(kFailFastReason),
                    .cancelled_by = std::string_view("flow_cascade"),
                    .notice = notice},
                   EndKind::kSilent);
}

core::TaskState put_back(store::Tables& tables, const store::Task& task,
                         const store::Requeue& how) {
    if (!may_go_back(tables, task)) {
        cancel_with_flow(tables, task, how.failure, how.notice, how.now);
        return core::TaskState::kCancelled;
    }
    return store::requeue(tables, task, how);
}

}  // namespace belay::ops
