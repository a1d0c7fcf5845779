// Retries of an activity and compensation of a saga, as orchestration code of the library.
//
// May touch: its Context. Must not: use a clock or random numbers other than those of the Context:
// delays are replayed.
#include "belay/durable/retry.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace belay {

namespace {

Milliseconds milliseconds_of(double count) {
    return count < 0x1p63 ? Milliseconds(static_cast<std::int64_t>(count)) : Milliseconds::max();
}

}  // namespace

// ---- Retry. ----

Retry::Retry(int attempts) : attempts_(attempts) {
    if (attempts < 1) {
        throw std::invalid_argument("a Retry has at least one attempt");
    }
}

Retry&& Retry::backoff(Milliseconds first, double factor, Milliseconds longest) && {
    if (first.count() < 0 || !(factor >= 1) || longest.count() < 0) {
        throw std::invalid_argument("a backoff does not shrink and has no negative delays");
    }
    first_ = first;
    factor_ = factor;
    longest_ = longest;
    return std::move(*this);
}

Retry&& Retry::jitter(double part) && {
    if (!(part >= 0 && part <= 1)) {
        throw std::invalid_argument("a jitter is between 0 and 1");
    }
    jitter_ = part;
    return std::move(*this);
}

Retry&& Retry::attempt_timeout(Milliseconds timeout) && {
    attempt_timeout_ = timeout;
    return std::move(*this);
}

Retry&& Retry::total_timeout(Milliseconds timeout) && {
    total_timeout_ = timeout;
    return std::move(*this);
}

Retry&& Retry::only_if(Predicate predicate) && {
    predicate_ = predicate;
    return std::move(*this);
}

Milliseconds Retry::delay(int failures) const {
    const double delay =
        static_cast<double>(first_.count()) * std::pow(factor_, std::max(failures, 1) - 1);
    const auto longest = static_cast<double>(longest_.count());
    return milliseconds_of(std::min(delay, longest));
}

bool Retry::allows(const Failure& failure) const {
    return failure.retryable() && (predicate_ == nullptr || predicate_(failure));
}

namespace detail {
namespace {

Milliseconds with_jitter(const Context& ctx, const Retry& retry, int failures) {
    const Milliseconds delay = retry.delay(failures);
    if (retry.jitter() == 0) {
        return delay;
    }
    const double part = static_cast<double>(ctx.random() >> 11) * 0x1p-53;
    return milliseconds_of(static_cast<double>(delay.count()) * (1 - retry.jitter() * part));
}

// One attempt, which ends after `limit` if there is one.
Durable<std::string> try_once(Context ctx, std::string activity, std::string input,
                              CallOptions options, std::optional<Milliseconds> limit) {
    auto call = ctx.call_text(activity, std::move(input), std::move(options));
    if (!limit) {
        std::string text = co_await std::move(call);
        co_return text;
    }
    auto timer = ctx.sleep(*limit);
    auto won = co_await when_any(std::move(call), std::move(timer));
    if (won.index() == 1) {
        throw TimedOut("activity \"" + activity + "\" took longer than " +
                       std::to_string(limit->count()) + " ms");
    }
    co_return std::get<0>(std::move(won));
}

}  // namespace

Durable<std::string> retry_text(Context ctx, std::string activity, std::string input, Retry retry,
                                CallOptions options) {
    std::optional<TimePoint> end;
    if (retry.total_timeout()) {
        end = time_after(ctx.now(), *retry.total_timeout());
    }
    for (int attempt_number = 1;; ++attempt_number) {
        std::optional<Milliseconds> limit = retry.attempt_timeout();
        if (end) {
            const auto left = std::chrono::duration_cast<Milliseconds>(*end - ctx.now());
            limit = limit ? std::min(*limit, left) : left;
        }
        auto result = co_await attempt(try_once(ctx, activity, input, options, limit));
        if (result.ok()) {
            co_return std::move(result.value());
        }
        if (attempt_number >= retry.attempts() || !retry.allows(result.error())) {
            result.rethrow();
        }
        const Milliseconds delay = with_jitter(ctx, retry, attempt_number);
        if (end && time_after(ctx.now(), delay) >= *end) {
            result.rethrow();
        }
        if (delay.count() > 0) {
            co_await ctx.sleep(delay);
        }
    }
}

namespace {

Durable<void> compensate_steps(Context ctx, std::shared_ptr<std::vector<Saga::Step>> steps) {
    const CancelShield shield = ctx.shield();
    std::exception_ptr first;
    while (!steps->empty()) {
        Saga::Step step = std::move(steps->back());
        steps->pop_back();
        try {
            co_await retry_text(ctx, step.activity, step.input, step.retry, CallOptions());
        } catch (const Failure&) {
            if (!first) {
                first = std::current_exception();
            }
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
}

}  // namespace
}  // namespace detail

// ---- Saga. ----

Saga::Saga(Context ctx) : ctx_(ctx), steps_(std::make_shared<std::vector<Step>>()) {}

void Saga::add(Step step) const {
    steps_->push_back(std::move(step));
}

Durable<void> Saga::compensate() const {
    return detail::compensate_steps(ctx_, steps_);
}

}  // namespace belay
