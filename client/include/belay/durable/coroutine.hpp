// Durable<T>, the return type of durable coroutines.
//
//     Durable<std::string> say_hello(Context ctx, std::string name) {
//         std::string text = co_await ctx.call(greet, name);
//         co_return text;
//     }
//
// A durable coroutine is a free function whose parameters are values. It is lazy: it runs when it
// is awaited or given to a group, and it is awaited once, as an rvalue. It awaits what this library
// offers and nothing else.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "belay/durable/instance.hpp"

namespace belay {

template <class T>
class Durable;
template <class T>
class Call;
template <class R>
class Group;

// What Context::continue_as_new returns; to be co_returned by the orchestration.
class [[nodiscard]] ContinueAsNew {
 public:
    explicit ContinueAsNew(detail::ContinuedAsNew parts) : parts_(std::move(parts)) {}
    detail::ContinuedAsNew& parts() { return parts_; }

 private:
    detail::ContinuedAsNew parts_;
};

namespace detail {

template <class T>
struct IsView : std::false_type {};
template <class C, class Traits>
struct IsView<std::basic_string_view<C, Traits>> : std::true_type {};
template <class T, std::size_t N>
struct IsView<std::span<T, N>> : std::true_type {};

// The closure of a lambda and the object of a member function come as references, too.
template <class T>
inline constexpr bool kParameterOk =
    !std::is_reference_v<T> && !std::is_pointer_v<T> && !IsView<T>::value;

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool kAggregatesAreDestroyedTwice = true;
#else
inline constexpr bool kAggregatesAreDestroyedTwice = false;
#endif

// Whether an argument of this type may stand in an expression with co_await. (Rvalue references to
// named objects cannot be distinguished from temporaries.)
template <class A>
inline constexpr bool kArgumentOk =
    !kAggregatesAreDestroyedTwice || std::is_lvalue_reference_v<A> ||
    !std::is_aggregate_v<std::remove_cvref_t<A>> ||
    std::is_trivially_destructible_v<std::remove_cvref_t<A>>;

template <class T>
struct CallAwaiter;
template <class T>
struct DurableAwaiter;
template <class R>
struct GroupAwaiter;

// Which awaiter an operand has. Awaiters are trivially destructible and refer to the operand, which
// lives as long as the expression.
template <class A>
struct AwaiterOf {
    static constexpr bool kKnown = false;
};
template <class T>
struct AwaiterOf<Call<T>> {
    static constexpr bool kKnown = true;
    using Type = CallAwaiter<T>;
};
template <class T>
struct AwaiterOf<Durable<T>> {
    static constexpr bool kKnown = true;
    using Type = DurableAwaiter<T>;
};
template <class R>
struct AwaiterOf<Group<R>> {
    static constexpr bool kKnown = true;
    using Type = GroupAwaiter<R>;
};

struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> handle) const noexcept {
        handle.promise().finished();
    }
    void await_resume() const noexcept {}
};

struct TypedPromiseBase : PromiseBase {
    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { error = std::current_exception(); }

    template <class A>
    auto await_transform(A&& operand) {
        using Operand = std::remove_cvref_t<A>;
        static_assert(AwaiterOf<Operand>::kKnown,
                      "a durable coroutine awaits calls, timers, events, groups and other durable "
                      "coroutines, nothing else");
        static_assert(!std::is_lvalue_reference_v<A>,
                      "a call is awaited once: co_await std::move(call)");
        if constexpr (AwaiterOf<Operand>::kKnown && !std::is_lvalue_reference_v<A>) {
            return typename AwaiterOf<Operand>::Type{operand};
        } else {
            return std::suspend_never{};
        }
    }
};

template <class T>
struct Promise : TypedPromiseBase {
    Durable<T> get_return_object();
    void return_value(T given) { value.emplace(std::move(given)); }
    void return_value(ContinueAsNew given) { continued.emplace(std::move(given.parts())); }

    T take() {
        if (error) {
            std::rethrow_exception(error);
        }
        if (!value) {
            throw std::logic_error(
                "only the orchestration itself can return continue_as_new, not a helper");
        }
        return std::move(*value);
    }

    std::optional<T> value;
    std::optional<ContinuedAsNew> continued;
};

template <>
struct Promise<void> : TypedPromiseBase {
    Durable<void> get_return_object();
    void return_void() const noexcept {}

    void take() const {
        if (error) {
            std::rethrow_exception(error);
        }
    }

    // Durable<void> cannot continue as new: a promise has one kind of return. An orchestration
    // without a result that does so returns Durable<std::monostate>.
    std::optional<ContinuedAsNew> continued;
};

}  // namespace detail

template <class T>
class [[nodiscard]] Durable {
 public:
    using promise_type = detail::Promise<T>;
    using Value = T;

    Durable(Durable&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Durable& operator=(Durable&&) = delete;
    ~Durable() {
        if (handle_) {
            handle_.destroy();
        }
    }

 private:
    friend promise_type;
    friend struct detail::DurableAwaiter<T>;
    friend struct DurableAccess;

    explicit Durable(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

    std::coroutine_handle<promise_type> handle_;
};

// For groups and the engine.
struct DurableAccess {
    template <class T>
    static detail::Promise<T>& promise(const Durable<T>& durable) {
        if (!durable.handle_) {
            throw std::logic_error("a durable coroutine is awaited once");
        }
        return durable.handle_.promise();
    }
};

template <class T>
Durable<T> detail::Promise<T>::get_return_object() {
    const auto handle = std::coroutine_handle<Promise>::from_promise(*this);
    self = handle;
    return Durable<T>(handle);
}

inline Durable<void> detail::Promise<void>::get_return_object() {
    const auto handle = std::coroutine_handle<Promise>::from_promise(*this);
    self = handle;
    return Durable<void>(handle);
}

template <class T>
struct detail::DurableAwaiter {
    Durable<T>& durable;

    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> waiting) const {
        auto& promise = DurableAccess::promise(durable);
        promise.parent = &waiting.promise();
        promise.instance->wake(promise);
    }
    T await_resume() const {
        // The frame ends here, not with the scope of a name.
        const Durable<T> finished(std::move(durable));
        return DurableAccess::promise(finished).take();
    }
};

}  // namespace belay

template <class T, class... Args>
struct std::coroutine_traits<belay::Durable<T>, Args...> {
    static_assert((belay::detail::kParameterOk<Args> && ...),
                  "a durable coroutine is a free function whose parameters are values: no "
                  "reference, pointer, view, lambda or member function");
    using promise_type = typename belay::Durable<T>::promise_type;
};
