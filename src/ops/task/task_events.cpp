// task_events.cpp — the events of tasks for the outbox.
//
// Calls    store::write_event
// Touches  <hub>.outbox_events
// Locks    nothing
// Raises   nothing itself
#include "core/events.hpp"
#include "ops/audit.hpp"
#include "ops/task/task.hpp"
#include "shmem/mutants.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

namespace {

std::optional<std::string_view> flow_text(const store::Task& task) {
    return task.flow_id ? std::optional<std::string_view>(store::uuid_text(*task.flow_id))
                        : std::nullopt;
}

constexpr int completion_of(core::TaskState state) {
    switch (state) {
        case core::TaskState::kCompleted:
            return core::event_place("completion", "success");
        case core::TaskState::kFailed:
            return core::event_place("completion", "failed");
        case core::TaskState::kCancelled:
            return core::event_place("completion", "cancelled");
        case core::TaskState::kExpired:
            return core::event_place("completion", "expired");
        default:
            return core::event_place("completion", "skipped");
    }
}

}  // namespace

void emit_lease_event(store::Tables& tables, const store::Task& task, const LeaseEvent& event,
                      int64 now) {
    if (!store::wants_event(tables, event.event)) {
        return;
    }
    store::Details details;
    details.add("lease_id", store::lease_id(task.id, task.attempt_index, event.epoch))
        .add("lease_epoch", event.epoch)
        .add("attempt_index", int64{task.attempt_index})
        .add("worker", task.attempt_worker)
        .add("worker_instance", task.attempt_instance)
        .add("queue", task.queue)
        .add("flow_id", flow_text(task));
    if (event.with_reason) {
        details.add("reason", event.reason);
    }
    if (event.key != nullptr) {
        details.add(event.key, event.value);
    }
    store::write_event(tables, event.event, store::uuid_text(task.id), details, now);
}

void emit_override(store::Tables& tables, const store::Task& task, const Fence& fence,
                   core::TaskState state, int64 now) {
    constexpr int kOverridden = core::event_place("operator", "task_overridden");
    if (fence.override) {
        emit_operator_event(tables,
                            {.event = kOverridden,
                             .subject = store::uuid_text(task.id),
                             .details = store::Details()
                                            .add("queue", task.queue)
                                            .add("lease_epoch", task.lease_epoch)
                                            .add("state", core::name_of(state))},
                            now);
    }
}

void emit_completion(store::Tables& tables, const store::Task& task, core::TaskState state,
                     int64 epoch, std::optional<std::string_view> reason,
                     std::optional<core::FailureClass> failure, int64 now) {
    const int event = completion_of(state);
    if (!store::wants_event(tables, event) ||
        mutants::strikes(mutants::Mutant::kEndWritesNoEvent)) {
        return;
    }
    store::Details details;
    details.add("flow_id", flow_text(task))
        .add("queue", task.queue)
        .add("kind", task.kind)
        .add("attempt_index", int64{task.attempt_index})
        .add("lease_epoch", epoch);
    if (state == core::TaskState::kCancelled) {
        details.add("reason", reason);
    }
    if (state == core::TaskState::kFailed) {
        details.add("failure_class",
                    failure ? std::optional(core::name_of(*failure)) : std::nullopt);
    }
    store::write_event(tables, event, store::uuid_text(task.id), details, now);
}

}  // namespace belay::ops
