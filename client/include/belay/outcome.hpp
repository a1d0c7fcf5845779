// What a handler of a Worker decided about its task or activity.
//
//     return belay::completed({{"sent", true}});
//     return belay::failed("no such address", belay::FailureClass::kPermanent);
//     return belay::retry_in(30s, "the relay is busy");
//
// Thread-safety: as of plain values.
#pragma once

#include <concepts>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "belay/suspensions.hpp"
#include "belay/types.hpp"

namespace belay {

// Why an attempt has failed.
struct TaskFailure {
    // The task's policy says which classes are retried. An activity's failure is reported to its
    // orchestration, as retryable if it is transient.
    FailureClass failure_class = FailureClass::kTransient;
    std::string message = {};
    std::optional<Json> details = {};
    std::optional<Milliseconds> retry_after = {};  // instead of the policy's pause
};

// Thrown by a handler whose attempt has failed. Every other exception is a failure of class
// transient, except those of the infrastructure (Error::infrastructure()): then the task is
// released.
class TaskFailed : public std::runtime_error {
 public:
    explicit TaskFailed(TaskFailure failure)
        : std::runtime_error(failure.message), failure_(std::move(failure)) {}

    const TaskFailure& failure() const { return failure_; }

 private:
    TaskFailure failure_;
};

class Outcome {
 public:
    enum class Kind {
        kCompleted,
        kFailed,
        kRetry,      // another attempt after a delay
        kDelayed,    // the attempt continues after a delay
        kReleased,   // ended without counting the attempt
        kSuspended,  // waits for signals
        kSettled,    // Task::complete_with has done it
    };

    explicit Outcome(Kind kind) : kind_(kind) {}

    Kind kind() const { return kind_; }
    // kCompleted: the result, as JSON text or, of activities, as any text; kDelayed: the
    // checkpoint.
    const OptionalText& text() const { return text_; }
    const TaskFailure& failure() const { return failure_; }  // kFailed, kRetry; why kReleased
    Milliseconds delay() const { return delay_; }
    // None: Task::suspend has done it.
    const std::optional<NewSuspension>& suspension() const { return suspension_; }

    Outcome& with_text(OptionalText text) { return text_ = std::move(text), *this; }
    Outcome& with_failure(TaskFailure failure);
    Outcome& with_delay(Milliseconds delay) { return delay_ = delay, *this; }
    Outcome& with_suspension(NewSuspension given);

 private:
    Kind kind_;
    OptionalText text_ = {};
    TaskFailure failure_ = {};
    Milliseconds delay_{0};
    std::optional<NewSuspension> suspension_ = {};
};

// The work is done. Throws Json::exception if the result has text that is not UTF-8.
inline Outcome completed() {
    return Outcome(Outcome::Kind::kCompleted);
}
inline Outcome completed(const Json& result) {
    return Outcome(Outcome::Kind::kCompleted).with_text(result.dump());
}
// The result as text: of a task JSON, stored digit by digit; of an activity any text.
inline Outcome completed_text(std::string result) {
    return Outcome(Outcome::Kind::kCompleted).with_text(std::move(result));
}

// The attempt has failed: the task's policy decides whether another follows. Of an activity: the
// failure is reported to the orchestration.
inline Outcome failed(TaskFailure failure) {
    return Outcome(Outcome::Kind::kFailed).with_failure(std::move(failure));
}
// A template, so that braces mean a TaskFailure.
template <std::convertible_to<std::string> Text>
Outcome failed(Text&& message, FailureClass failure_class = FailureClass::kTransient) {
    return failed(
        TaskFailure{.failure_class = failure_class, .message = std::forward<Text>(message)});
}

// The attempt has failed, and another one follows after the delay, unless there were too many.
inline Outcome retry_in(Milliseconds delay, std::string reason = {}) {
    return Outcome(Outcome::Kind::kRetry)
        .with_delay(delay)
        .with_failure({.message = std::move(reason), .retry_after = delay});
}

// The attempt continues after the delay, in this worker or another; it then finds the checkpoint.
inline Outcome delayed(Milliseconds delay) {
    return Outcome(Outcome::Kind::kDelayed).with_delay(delay);
}
inline Outcome delayed(Milliseconds delay, const Json& checkpoint) {
    return delayed(delay).with_text(checkpoint.dump());
}

// The work is released, and the attempt does not count.
inline Outcome released(Milliseconds delay = Milliseconds(0)) {
    return Outcome(Outcome::Kind::kReleased).with_delay(delay);
}

// The task waits for signals. If those that came early suffice, the handler is called again at
// once.
inline Outcome suspended(NewSuspension suspension) {
    return Outcome(Outcome::Kind::kSuspended).with_suspension(std::move(suspension));
}
// Task::suspend has done it.
inline Outcome suspended() {
    return Outcome(Outcome::Kind::kSuspended);
}

// Task::complete_with has done it.
inline Outcome settled() {
    return Outcome(Outcome::Kind::kSettled);
}

}  // namespace belay
