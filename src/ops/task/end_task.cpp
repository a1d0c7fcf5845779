// end_task.cpp — the end of a task, or of its lease only.
//
// Calls    store::finish, store::requeue, member_ended
// Touches  <hub>.tasks, <hub>.attempts, <hub>.outbox_events, and the tables of flows
// Locks    nothing: the task, and its flow, are held
// Raises   nothing of its own
#include "ops/flow/flow.hpp"
#include "ops/task/task.hpp"

namespace belay::ops {

int64 end_task(const store::Hub& hub, const store::Task& task, const store::Finish& how,
               EndKind kind) {
    const int64 epoch = store::finish(hub, task, how);
    if (kind == EndKind::kTold) {
        tell_completion(hub, task, how.state, epoch, how.cancel_reason,
                        how.failure ? std::optional(how.failure->failure_class) : std::nullopt,
                        how.now);
    }
    if (task.flow_id) {
        member_ended(hub, task, how.state, kind, how.now);
    }
    return epoch;
}

core::TaskState put_back(const store::Hub& hub, const store::Task& task,
                         const store::Requeue& how) {
    if (task.flow_id) {
        if (const auto flow = held_flow(hub, *task.flow_id); !flow.takes_back()) {
            (void)end_task(hub, task,
                           {.state = core::TaskState::kCancelled,
                            .now = how.now,
                            .outcome = core::AttemptOutcome::kCancelled,
                            .failure = how.failure,
                            .cancel_reason = flow.cancel_reason.value_or(kFailFastReason),
                            .cancelled_by = std::string_view("flow_cascade"),
                            .notice = how.notice},
                           EndKind::kSilent);
            return core::TaskState::kCancelled;
        }
    }
    return store::requeue(hub, task, how);
}

}  // namespace belay::ops
