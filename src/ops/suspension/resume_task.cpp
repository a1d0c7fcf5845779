// resume_task.cpp — the ways out of a suspension.
//
// Calls    store::close_suspension, store::resume, end_task, store::escalate_suspension
// Touches  <hub>.tasks, <hub>.attempts, <hub>.suspensions, <hub>.waitpoints, <hub>.signals,
//          <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB002, QB006, QB007, QB010
#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/suspension/suspension.hpp"
#include "pg/errors.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

namespace {

constexpr int kResumed = core::event_place("operator", "resumed");
constexpr int kEscalated = core::event_place("operator", "escalated");
constexpr std::string_view kMessage = "the suspension timed out";

void end_by_timeout(const store::Hub& hub, const store::Task& task, store::Finish how) {
    (void)end_task(hub, task, how);
}

void escalate(const store::Hub& hub, const store::Task& task, const store::Suspension& suspension,
              int64 now) {
    store::escalate_suspension(hub, task.id);
    store::touch(hub, task.id, now);
    if (store::wants_event(hub, kEscalated)) {
        store::write_event(hub, kEscalated, store::uuid_text(task.id),
                           store::Details().add("suspension_id",
                                                std::string_view(store::uuid_text(suspension.id))),
                           now);
    }
}

// The signal that tells of a timeout.
void resume_by_timeout(const store::Hub& hub, const store::Task& task,
                       const store::Suspension& suspension, int64 now) {
    store::insert_signal(hub, {.task_id = task.id,
                               .nr = store::last_signal(hub, task.id) + 1,
                               .waitpoint_id = std::nullopt,
                               .suspension_nr = suspension.nr,
                               .signal_id = store::uuid_text(make_id(now)),
                               .idempotency_key = std::nullopt,
                               .name = "timeout",
                               .source = "timeout",
                               .payload = nullptr,
                               .now = now});
    (void)leave_suspension(hub, task, suspension, "timeout", "timeout", suspension.resume_delay_ms,
                           now);
}

}  // namespace

RequeuedTask leave_suspension(const store::Hub& hub, const store::Task& task,
                              const store::Suspension& suspension, const char* closed_by,
                              std::string_view trigger, int64 delay_ms, int64 now) {
    store::close_suspension(hub, task.id, closed_by, now);
    const int64 available_at = core::add_ms(now, delay_ms);
    const auto state = store::resume(hub, task, available_at, now);
    if (store::wants_event(hub, kResumed)) {
        store::write_event(
            hub, kResumed, store::uuid_text(task.id),
            store::Details()
                .add("suspension_id", std::string_view(store::uuid_text(suspension.id)))
                .add("trigger", trigger),
            now);
    }
    return {state, available_at};
}

void time_out_suspension(const store::Hub& hub, const store::Task& task,
                         const store::Suspension& suspension, int64 now) {
    if (suspension.on_timeout == "auto_resume") {
        resume_by_timeout(hub, task, suspension, now);
    } else if (suspension.on_timeout == "escalate") {
        escalate(hub, task, suspension, now);
    } else if (suspension.on_timeout == "cancel") {
        end_by_timeout(hub, task,
                       {.state = core::TaskState::kCancelled,
                        .now = now,
                        .outcome = core::AttemptOutcome::kCancelled,
                        .cancel_reason = kMessage,
                        .cancelled_by = std::string_view("system_timeout"),
                        .notice = {pg::WakeReason::kCancelled, false}});
    } else if (suspension.on_timeout == "expire") {
        end_by_timeout(hub, task,
                       {.state = core::TaskState::kExpired,
                        .now = now,
                        .outcome = core::AttemptOutcome::kExpired});
    } else {
        end_by_timeout(
            hub, task,
            {.state = core::TaskState::kFailed,
             .now = now,
             .outcome = core::AttemptOutcome::kFailed,
             .failure = store::Failure{core::FailureClass::kTimeout, kMessage, nullptr}});
    }
}

store::Suspension hold_suspension(const store::Hub& hub, const store::Task& task, int64 now) {
    auto suspension = task.state == core::TaskState::kSuspended
                          ? store::open_suspension(hub, task.id)
                          : std::nullopt;
    if (suspension && suspension->timeout_at && *suspension->timeout_at <= now &&
        suspension->on_timeout == "escalate") {
        escalate(hub, task, *suspension, now);
        suspension = store::open_suspension(hub, task.id);
    }
    const bool over = suspension && suspension->timeout_at && *suspension->timeout_at <= now;
    if (!suspension || over) {
        pg::raise(
            pg::kNotEligible,
            psprintf(over ? "the suspension of task %s has timed out" : "task %s is not suspended",
                     store::uuid_text(task.id)),
            pg::Facts(over ? "suspension_timed_out" : "not_suspended")
                .add("task_id", store::uuid_text(task.id))
                .add("state", core::name_of(task.state)),
            over ? "The duty deadlines does what on_timeout says."
                 : "Only a suspended task can be resumed.");
    }
    return *suspension;
}

RequeuedTask resume_task(const store::Hub& hub, const pg_uuid_t& id, std::string_view trigger,
                         int64 delay_ms, pg::Clock* clock) {
    const auto task = hold_task_and_flow(hub, id, clock);
    const int64 now = clock->now();
    const auto suspension = hold_suspension(hub, task, now);
    return leave_suspension(hub, task, suspension, "operator", trigger, delay_ms, now);
}

}  // namespace belay::ops
