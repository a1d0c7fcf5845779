// Context::retry and Saga.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "belay/durable/context.hpp"
#include "belay/durable/group.hpp"

namespace belay {
namespace detail {

// The text of an attempt's result. Each attempt is an activity of its own, with a timer between.
Durable<std::string> retry_text(Context ctx, std::string activity, std::string input, Retry retry,
                                CallOptions options);

template <class O>
Durable<O> retry_typed(Context ctx, std::string activity, std::string input, Retry retry,
                       CallOptions options) {
    const std::string what = "result of activity \"" + activity + "\"";
    const std::string text = co_await retry_text(ctx, std::move(activity), std::move(input),
                                                 std::move(retry), std::move(options));
    if constexpr (!std::is_void_v<O>) {
        co_return decode<O>(text, what);
    }
}

}  // namespace detail

template <class O, class I, class A>
requires detail::InputOf<A, I> Durable<O> Context::retry(const ActivityOf<O(I)>& activity,
                                                         A&& input, Retry retry,
                                                         CallOptions options)
const {
    check_argument<A>();
    return detail::retry_typed<O>(*this, activity.name, detail::encode<I>(std::forward<A>(input)),
                                  std::move(retry), std::move(options));
}

template <class O>
Durable<O> Context::retry(const ActivityOf<O()>& activity, Retry retry, CallOptions options) const {
    return detail::retry_typed<O>(*this, activity.name, std::string(), std::move(retry),
                                  std::move(options));
}

// What undoes the steps that were done. Copies share one list, so a helper gets it by value.
//
//     belay::Saga saga(ctx);
//     auto result = co_await belay::attempt(buy(ctx, order, saga));
//     if (!result.ok()) {
//         co_await saga.compensate();
//         result.rethrow();
//     }
class Saga {
 public:
    explicit Saga(Context ctx);

    template <class O, class I, class A>
    requires detail::InputOf<A, I>
    void undo_with(const ActivityOf<O(I)>& activity, A&& input, Retry retry = Retry(5)) const {
        add({activity.name, detail::encode<I>(std::forward<A>(input)), std::move(retry)});
    }
    template <class O>
    void undo_with(const ActivityOf<O()>& activity, Retry retry = Retry(5)) const {
        add({activity.name, {}, std::move(retry)});
    }

    // Undoes the steps, newest first, shielded from cancellation. A step that fails permanently is
    // thrown after the others were tried.
    Durable<void> compensate() const;

    struct Step {
        std::string activity;
        std::string input;
        Retry retry;
    };

 private:
    void add(Step step) const;

    Context ctx_;
    std::shared_ptr<std::vector<Step>> steps_;
};

}  // namespace belay
