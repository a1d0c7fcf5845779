// Call<T>, the handle of something that was requested: an activity, a sub-orchestration, a timer, a
// subscription. Move-only. Destroyed or assigned over before it has an outcome, it cancels what it
// stands for.
#pragma once

#include <coroutine>
#include <string>
#include <utility>

#include "belay/durable/coroutine.hpp"
#include "belay/durable/payload.hpp"

namespace belay {

template <class T>
class [[nodiscard]] Call {
 public:
    using Value = T;

    Call(Call&&) noexcept = default;
    Call& operator=(Call&&) noexcept = default;

    // Whether it has its outcome: co_await would not wait.
    bool done() const { return handle_.state().done; }

 private:
    friend class Context;
    friend struct CallAccess;
    friend struct detail::CallAwaiter<T>;

    explicit Call(detail::CallState* state) : handle_(state) {}

    detail::CallHandle handle_;
};

// For groups.
struct CallAccess {
    template <class T>
    static detail::CallState& state(const Call<T>& call) {
        return call.handle_.state();
    }

    // The value of a call that is done; throws its failure.
    template <class T>
    static detail::Value<T> take(const Call<T>& call) {
        detail::CallState& state = call.handle_.state();
        std::string text = detail::take_outcome(state);
        if constexpr (std::is_void_v<T>) {
            return {};
        } else {
            if constexpr (std::is_same_v<T, std::string>) {
                if (state.raw) {
                    return text;
                }
            }
            return detail::decode<T>(text, detail::describe(state));
        }
    }
};

template <class T>
struct detail::CallAwaiter {
    Call<T>& call;

    bool await_ready() const { return call.done(); }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> waiting) const {
        return begin_wait(call.handle_.state(), waiting.promise());
    }
    T await_resume() const {
        call.handle_.state().check_cancelled();
        if constexpr (std::is_void_v<T>) {
            CallAccess::take(call);
        } else {
            return CallAccess::take(call);
        }
    }
};

}  // namespace belay
