// What goes wrong in durable functions: exceptions, and Settled, which holds one as a value.
//
// Thread-safety: values.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace belay {

// The base of all failures. Thrown by an activity, it fails the activity; whether Context::retry
// tries again is up to retryable().
class Failure : public std::runtime_error {
 public:
    explicit Failure(const std::string& message, bool retryable = true, std::string details = {});

    bool retryable() const noexcept { return retryable_; }
    // JSON, as stored in the history; "" if the failure was made by this code.
    const std::string& details() const noexcept { return details_; }

 private:
    bool retryable_;
    std::string details_;
};

// An activity has failed.
class ActivityFailed : public Failure {
 public:
    ActivityFailed(std::string activity, const std::string& message, bool retryable,
                   std::string details);

    const std::string& activity() const noexcept { return activity_; }

 private:
    std::string activity_;
};

// A sub-orchestration has failed or was cancelled.
class SubOrchestrationFailed : public Failure {
 public:
    SubOrchestrationFailed(std::string name, const std::string& message, bool retryable,
                           bool cancelled, std::string details);

    const std::string& name() const noexcept { return name_; }
    bool cancelled() const noexcept { return cancelled_; }

 private:
    std::string name_;
    bool cancelled_;
};

// The instance is being cancelled. If it leaves the orchestration, the instance ends as cancelled.
class Cancelled : public Failure {
 public:
    explicit Cancelled(std::string reason, std::string details = {});

    const std::string& reason() const noexcept { return reason_; }

 private:
    std::string reason_;
};

// An attempt, or all attempts together, took longer than Retry allows.
class TimedOut : public Failure {
 public:
    explicit TimedOut(const std::string& message) : Failure(message) {}
};

// A text is not what its type says.
class DecodeError : public Failure {
 public:
    explicit DecodeError(const std::string& message) : Failure(message, false) {}
};

// The requests of the code differ from its history; what() says where.
class Nondeterminism : public std::runtime_error {
 public:
    explicit Nondeterminism(const std::string& text, std::int64_t event_id = 0)
        : std::runtime_error(text), event_id_(event_id) {}

    std::int64_t event_id() const noexcept { return event_id_; }

 private:
    std::int64_t event_id_;
};

namespace detail {

// The exception as a Failure: itself, or one with its text.
std::shared_ptr<const Failure> failure_of(const std::exception_ptr& error);

// void as a value.
template <class T>
using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

}  // namespace detail

// A value or a failure.
template <class T>
class [[nodiscard]] Settled {
 public:
    using Stored = detail::Value<T>;

    explicit Settled(Stored value) : value_(std::move(value)) {}
    explicit Settled(std::exception_ptr error)
        : error_(std::move(error)), failure_(detail::failure_of(error_)) {}

    bool ok() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return ok(); }

    // Throws the failure if there is one.
    Stored& value() {
        if (error_) {
            rethrow();
        }
        return *value_;
    }
    const Stored& value() const {
        if (error_) {
            rethrow();
        }
        return *value_;
    }

    // Only if !ok().
    const Failure& error() const {
        if (!failure_) {
            throw std::logic_error("a Settled without a failure has no error");
        }
        return *failure_;
    }

    // Throws the exception itself. Only if !ok().
    [[noreturn]] void rethrow() const {
        if (!error_) {
            throw std::logic_error("a Settled without a failure has nothing to rethrow");
        }
        std::rethrow_exception(error_);
    }

 private:
    std::optional<Stored> value_;
    std::exception_ptr error_;
    std::shared_ptr<const Failure> failure_;
};

}  // namespace belay
