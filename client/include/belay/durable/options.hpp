// Options of calls. They stand in expressions with co_await, so they are classes with constructors:
// g++ 12 destroys aggregates that are made in such an expression twice.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "belay/durable/failure.hpp"

namespace belay {

using Milliseconds = std::chrono::milliseconds;
using TimePoint = std::chrono::sys_time<Milliseconds>;
using OptionalText = std::optional<std::string>;

// Of Context::call.
class CallOptions {
 public:
    CallOptions() noexcept {}

    // Activities: only workers that serve this tag; at most 256 bytes.
    CallOptions&& tag(std::string tag) && {
        tag_ = std::move(tag);
        return std::move(*this);
    }
    // Activities: only the worker that owns this session.
    CallOptions&& session(std::string session) && {
        session_ = std::move(session);
        return std::move(*this);
    }
    // Sub-orchestrations: the instance id, instead of one that is made from the parent's.
    CallOptions&& instance(std::string id) && {
        instance_ = std::move(id);
        return std::move(*this);
    }
    // Sub-orchestrations: this version, instead of the greatest.
    CallOptions&& version(std::string version) && {
        version_ = std::move(version);
        return std::move(*this);
    }

    const OptionalText& tag() const& { return tag_; }
    const OptionalText& session() const& { return session_; }
    const OptionalText& instance() const& { return instance_; }
    const OptionalText& version() const& { return version_; }

 private:
    OptionalText tag_;
    OptionalText session_;
    OptionalText instance_;
    OptionalText version_;
};

// Of Context::retry and Saga::undo_with: how often, and how long between.
class Retry {
 public:
    using Predicate = bool (*)(const Failure&);

    // Throws std::invalid_argument if there is no attempt.
    explicit Retry(int attempts);

    // The n-th delay is first * factor^(n-1), and at most `longest`.
    Retry&& backoff(Milliseconds first, double factor = 2.0,
                    Milliseconds longest = std::chrono::seconds(30)) &&;
    // Delays are multiplied by a number between 1 - part and 1, from Context::random().
    Retry&& jitter(double part) &&;
    // An attempt that takes longer is cancelled and counts as failed.
    Retry&& attempt_timeout(Milliseconds timeout) &&;
    // After this time the attempt that runs is cancelled, and no other is made.
    Retry&& total_timeout(Milliseconds timeout) &&;
    // Only failures for which this is true are tried again.
    Retry&& only_if(Predicate predicate) &&;

    int attempts() const { return attempts_; }
    Milliseconds delay(int failures) const;  // after the n-th failure, before jitter
    double jitter() const& { return jitter_; }
    std::optional<Milliseconds> attempt_timeout() const& { return attempt_timeout_; }
    std::optional<Milliseconds> total_timeout() const& { return total_timeout_; }
    bool allows(const Failure& failure) const;

 private:
    int attempts_;
    Milliseconds first_{1000};
    double factor_ = 2.0;
    Milliseconds longest_{30000};
    double jitter_ = 0;
    std::optional<Milliseconds> attempt_timeout_;
    std::optional<Milliseconds> total_timeout_;
    Predicate predicate_ = nullptr;
};

}  // namespace belay
