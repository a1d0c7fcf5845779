// resume_task.cpp — the ways out of a suspension.
//
// Calls    store::close_suspension, store::resume, end_task, store::escalate_suspension
// Touches  <hub>.tasks, <hub>.attempts, <hub>.suspensions, <hub>.waitpoints, <hub>.signals,
//          <hub>.outbox_events
// Locks    its flow, the task
// Raises   QB002, QB006, QB007, QB010
#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/audit.hpp"
#include "ops/suspension/suspension.hpp"
#include "pg/errors.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

namespace {

constexpr int kResumed = core::event_place("operator", "resumed");
constexpr int kEscalated = core::event_place("operator", "escalated");
constexpr std::string_view kMessage = "the suspension timed out";

void end_by_timeout(store::Tables& tables, const store::Task& task, store::Finish how) {
    (void)end_task(tables, task, how);
}

void escalate(store::Tables& tables, const store::Task& task, const store::Suspension& suspension,
              int64 now) {
    store::escalate_suspension(tables, task.id);
    store::touch(tables, task, now);
    if (store::wants_event(tables, kEscalated)) {
        store::write_event(tables, kEscalated, store::uuid_text(task.id),
                           store::Details().add("suspension_id",
                                                std::string_view(store::uuid_text(suspension.id))),
                           now);
    }
}

// The signal that reports a timeout.
void resume_by_timeout(store::Tables& tables, const store::Task& task,
                       const store::Suspension& suspension, int64 now) {
    store::insert_signal(tables, {.task_id = task.id,
                                  .nr = store::last_signal(tables, task.id) + 1,
                                  .waitpoint_id = std::nullopt,
                                  .suspension_nr = suspension.nr,
                                  .signal_id = store::uuid_text(make_id(now)),
                                  .idempotency_key = std::nullopt,
                                  .name = "timeout",
                                  .source = "timeout",
                                  .payload = nullptr,
                                  .now = now});
    (void)leave_suspension(tables, task, suspension, "timeout", "timeout",
                           suspension.resume_delay_ms, now);
}

}  // namespace

RequeuedTask leave_suspension(store::Tables& tables, const store::Task& task,
                              const store::Suspension& suspension, const char* closed_by,
                              std::string_view trigger, int64 delay_ms, int64 now) {
    store::close_suspension(tables, task.id, closed_by, now);
    const int64 available_at = core::add_ms(now, delay_ms);
    const auto state = store::resume(tables, task, available_at, now);
    if (store::wants_event(tables, kResumed)) {
        auto details = store::Details()
                           .add("suspension_id", std::string_view(store::uuid_text(suspension.id)))
                           .add("trigger", trigger);
        // A signal or a timeout is no operator.
        if (std::string_view(closed_by) == "operator") {
            add_actor(&details);
        }
        store::write_event(tables, kResumed, store::uuid_text(task.id), details, now);
    }
    return {state, available_at};
}

void time_out_suspension(store::Tables& tables, const store::Task& task,
                         const store::Suspension& suspension, int64 now) {
    if (suspension.on_timeout == "auto_resume") {
        resume_by_timeout(tables, task, suspension, now);
    } else if (suspension.on_timeout == "escalate") {
        escalate(tables, task, suspension, now);
    } else if (suspension.on_timeout == "cancel") {
        end_by_timeout(tables, task,
                       {.state = core::TaskState::kCancelled,
                        .now = now,
                        .outcome = core::AttemptOutcome::kCancelled,
                        .cancel_reason = kMessage,
                        .cancelled_by = std::string_view("system_timeout"),
                        .notice = {wakeups::Reason::kCancelled, false}});
    } else if (suspension.on_timeout == "expire") {
        end_by_timeout(tables, task,
                       {.state = core::TaskState::kExpired,
                        .now = now,
                        .outcome = core::AttemptOutcome::kExpired});
    } else {
        end_by_timeout(
            tables, task,
            {.state = core::TaskState::kFailed,
             .now = now,
             .outcome = core::AttemptOutcome::kFailed,
             .failure = store::Failure{core::FailureClass::kTimeout, kMessage, nullptr}});
    }
}

store::Suspension hold_suspension(store::Tables& tables, const store::Task& task, int64 now) {
    auto suspension = task.state == core::TaskState::kSuspended
                          ? store::open_suspension(tables, task.id)
                          : std::nullopt;
    if (suspension && suspension->timeout_at && *suspension->timeout_at <= now &&
        suspension->on_timeout == "escalate") {
        escalate(tables, task, *suspension, now);
        suspension = store::open_suspension(tables, task.id);
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
            over ? "Wait for the duty deadlines, which applies on_timeout."
                 : "Resume only a task that is suspended.");
    }
    return *suspension;
}

RequeuedTask resume_task(store::Tables& tables, const pg_uuid_t& id, std::string_view trigger,
                         int64 delay_ms, pg::Clock* clock) {
    const auto task = hold_task_and_flow(tables, id, clock);
    const int64 now = clock->now();
    const auto suspension = hold_suspension(tables, task, now);
    return leave_suspension(tables, task, suspension, "operator", trigger, delay_ms, now);
}

}  // namespace belay::ops
