// Context, through which a durable coroutine asks for everything that is not computation.
//
// It is a value, as cheap as a pointer, and is passed by value. It is used by the coroutines of its
// instance while they run; every other use throws std::logic_error.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "belay/durable/call.hpp"
#include "belay/durable/names.hpp"
#include "belay/durable/options.hpp"
#include "belay/durable/payload.hpp"

namespace belay {
namespace detail {

struct ContextMaker;

// The greatest time if the sum has no place in it.
TimePoint time_after(TimePoint time, Milliseconds delay);

template <class From, class To>
concept WithoutNarrowing = requires(From&& from) {
    {std::type_identity_t<To[]>{std::forward<From>(from)}};
};

// An input of another type does not compile; numbers must fit without narrowing.
template <class From, class To>
concept InputOf = std::is_convertible_v<From, To> &&
    (!std::is_arithmetic_v<To> || WithoutNarrowing<From, To>);

}  // namespace detail

// Cancellation of the instance does not reach waits of the coroutine that holds one, nor those of
// coroutines that it awaits; the next wait after its end throws Cancelled instead.
class [[nodiscard]] CancelShield {
 public:
    CancelShield(const CancelShield&) = delete;
    CancelShield& operator=(const CancelShield&) = delete;
    ~CancelShield();

 private:
    friend class Context;
    explicit CancelShield(detail::PromiseBase& promise);

    detail::PromiseBase& promise_;
};

class Context {
 public:
    const std::string& instance_id() const;
    std::int64_t execution_id() const;
    const std::string& name() const;
    const std::string& version() const;
    // Events of the execution so far; a loop that makes many should continue as new.
    std::int64_t history_size() const;

    // ---- Work. ----

    // An activity. Asked for at once; co_await waits for its result.
    template <class O, class I, class A>
    requires detail::InputOf<A, I> Call<O> call(const ActivityOf<O(I)>& activity, A&& input,
                                                CallOptions options = CallOptions())
    const {
        check_argument<A>();
        return Call<O>(ask(detail::CallKind::kActivity, activity.name,
                           detail::encode<I>(std::forward<A>(input)), std::move(options)));
    }
    template <class O>
    Call<O> call(const ActivityOf<O()>& activity, CallOptions options = CallOptions()) const {
        return Call<O>(ask(detail::CallKind::kActivity, activity.name, {}, std::move(options)));
    }

    // A sub-orchestration.
    template <class O, class I, class A>
    requires detail::InputOf<A, I> Call<O> call(const OrchestrationOf<O(I)>& orchestration,
                                                A&& input, CallOptions options = CallOptions())
    const {
        check_argument<A>();
        return Call<O>(ask(detail::CallKind::kChild, orchestration.name,
                           detail::encode<I>(std::forward<A>(input)), std::move(options)));
    }
    template <class O>
    Call<O> call(const OrchestrationOf<O()>& orchestration,
                 CallOptions options = CallOptions()) const {
        return Call<O>(ask(detail::CallKind::kChild, orchestration.name, {}, std::move(options)));
    }

    // An activity without types: input and result are the stored text.
    Call<std::string> call_text(std::string activity, std::string input,
                                CallOptions options = CallOptions()) const;

    // An activity that is tried again when it fails.
    template <class O, class I, class A>
    requires detail::InputOf<A, I> Durable<O> retry(const ActivityOf<O(I)>& activity, A&& input,
                                                    Retry retry,
                                                    CallOptions options = CallOptions())
    const;
    template <class O>
    Durable<O> retry(const ActivityOf<O()>& activity, Retry retry,
                     CallOptions options = CallOptions()) const;

    // Another instance that is not a child of this one: no result comes back, and it is not
    // cancelled with its starter.
    template <class O, class I, class A>
    requires detail::InputOf<A, I>
    void start(const OrchestrationOf<O(I)>& orchestration, std::string instance_id,
               A&& input) const {
        start_text(orchestration.name, std::move(instance_id),
                   detail::encode<I>(std::forward<A>(input)));
    }
    template <class O>
    void start(const OrchestrationOf<O()>& orchestration, std::string instance_id) const {
        start_text(orchestration.name, std::move(instance_id), {});
    }

    // Delays of zero and less fire at once.
    Call<void> sleep(Milliseconds delay) const;
    Call<void> sleep_until(TimePoint time) const;

    // An event that comes while it is waited for; others of its name are lost.
    template <class T>
    Call<T> event(std::string name) const {
        return Call<T>(ask(detail::CallKind::kEvent, std::move(name), {}, CallOptions()));
    }
    // The oldest message of a queue; messages wait until they are taken.
    template <class T>
    Call<T> dequeue(std::string queue) const {
        return Call<T>(ask(detail::CallKind::kQueue, std::move(queue), {}, CallOptions()));
    }

    // `co_return ctx.continue_as_new(input)` ends this execution and begins the next, with an empty
    // history. Open calls are cancelled; messages in queues, the status and values live on.
    template <class I>
    ContinueAsNew continue_as_new(const I& input, OptionalText version = {}) const {
        return next_execution(detail::encode(input), std::move(version));
    }

    // ---- Determinism. ----

    // The time of the event that is being applied; equal in every replay.
    TimePoint now() const;
    std::uint64_t random() const;
    std::string uuid() const;

    // Runs f once in the life of the execution and stores its value, of at most 64 KiB. f is quick
    // and does not use the context. A crash before the turn is stored runs it again. An exception
    // of f is stored, too, and thrown as a Failure with its text.
    template <class F>
    auto record(F f) const -> decltype(f()) {
        using T = decltype(f());
        if (auto stored = recorded()) {
            return detail::decode<T>(*stored, "record()");
        }
        std::string text;
        std::string error;
        bool failed = false;
        try {
            const Recording recording(*this);
            if constexpr (std::is_void_v<T>) {
                f();
            } else {
                const T value = f();
                text = detail::encode<T>(value);
            }
        } catch (const std::exception& exception) {
            failed = true;
            error = exception.what();
        }
        if (failed) {
            store_failure(error);
        }
        store_recorded(text);
        // As a replay has it.
        return detail::decode<T>(text, "record()");
    }

    // The version of a change of this code that the execution runs with: `current`, at least 1, if
    // it came here with this code; 0 if it had passed here before the change was made.
    int version(std::string_view change, int current) const;

    // True while stored events are applied. For logs and metrics only.
    bool replaying() const;

    // ---- State that others can read, after the turn. ----

    void set_status(std::string status) const;
    void clear_status() const;

    // At most 150 keys, of 64 KiB each. They live as long as the instance.
    template <class T>
    void set(std::string key, const T& value) const {
        set_text(std::move(key), detail::encode<T>(value));
    }
    template <class T>
    std::optional<T> get(std::string_view key) const {
        const auto text = get_text(key);
        if (!text) {
            return std::nullopt;
        }
        return detail::decode<T>(*text, "key \"" + std::string(key) + "\"");
    }
    void clear(std::string key) const;
    void clear_all() const;

    // ---- Cancellation. ----

    bool cancelled() const;
    const std::string& cancel_reason() const;  // "" if it is not cancelled
    CancelShield shield() const;

    // To the hook; not repeated in a replay.
    void log(std::string text) const;

 private:
    friend struct detail::ContextMaker;

    explicit Context(detail::Instance& instance);

    template <class A>
    static constexpr void check_argument() {
        static_assert(detail::kArgumentOk<A>,
                      "g++ 12 destroys this temporary twice: give the input a name first");
    }

    // The instance, if this thread runs it.
    detail::Instance& instance() const;
    detail::CallState* ask(detail::CallKind kind, std::string name, std::string input,
                           CallOptions options) const;
    void start_text(std::string name, std::string instance_id, std::string input) const;
    ContinueAsNew next_execution(std::string input, OptionalText version) const;
    std::optional<std::string> recorded() const;
    void store_recorded(const std::string& text) const;
    [[noreturn]] void store_failure(const std::string& text) const;
    void set_text(std::string key, std::string value) const;
    std::optional<std::string> get_text(std::string_view key) const;

    class Recording {
     public:
        explicit Recording(const Context& context);
        ~Recording();

     private:
        detail::Instance& instance_;
    };

    detail::Instance* instance_;
    std::uint64_t serial_;
};

// For the engine.
struct detail::ContextMaker {
    static Context make(Instance& instance) { return Context(instance); }
};

}  // namespace belay
