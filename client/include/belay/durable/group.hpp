// Groups: several calls, or durable coroutines, awaited together.
//
//     auto won = co_await belay::when_any(std::move(parcel), std::move(deadline));
//     if (won.index() == 1) ...                        // the deadline; the parcel is cancelled
//     std::vector<int> all = co_await belay::when_all(std::move(calls));
//
// A group takes its calls; when it ends, those that are not done are cancelled. Coroutines in it
// are started, in the order of the arguments, when the group is awaited.
//
// While an instance is being cancelled, a group of calls throws Cancelled at once. In a group with
// coroutines, these get Cancelled at their own co_await; the group ends after they have ended.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "belay/durable/call.hpp"

namespace belay {
namespace detail {

// When a group ends.
enum class GroupMode : std::uint8_t {
    kAll,    // all members are done
    kTry,    // so, or one has failed
    kAny,    // one is done
    kReady,  // the same, and the group owns nothing
};

// The wait of a group, without its types.
class GroupState : public Wait {
 public:
    explicit GroupState(GroupMode mode) : mode_(mode) {}
    ~GroupState() override;

    // False: there is no need to suspend.
    bool begin(PromiseBase& promise);

    void settled(CallState& call) override;
    void cancel() override;
    std::uint64_t order() const override;
    void coroutine_finished(std::uint32_t index);

    // The member that was done first; the failed one, if a failure ended the group.
    std::size_t winner() const { return winner_; }
    GroupMode mode() const { return mode_; }

 protected:
    // Calls add() for each member.
    virtual void collect() = 0;
    void add(CallState& call) { members_.push_back({&call, nullptr}); }
    void add(PromiseBase& coroutine) { members_.push_back({nullptr, &coroutine}); }
    // The members are no longer watched; they may be destroyed.
    void let_go();

 private:
    struct Member {
        CallState* call;
        PromiseBase* coroutine;
    };

    void member_done(std::size_t index, bool failed);
    bool is_over() const;
    void wake();

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    GroupMode mode_;
    bool begun_ = false;
    bool woken_ = false;
    std::vector<Member> members_;
    std::size_t open_ = 0;
    std::size_t open_coroutines_ = 0;
    std::size_t winner_ = kNone;
};

template <class R>
class GroupOf : public GroupState {
 public:
    using GroupState::GroupState;
    // The result; throws the failure. Called once, at the end.
    virtual R take() = 0;
};

// A group that owns calls of one type.
template <class T, class R>
class CallsGroup : public GroupOf<R> {
 public:
    CallsGroup(GroupMode mode, std::vector<Call<T>> calls)
        : GroupOf<R>(mode), calls_(std::move(calls)) {}
    ~CallsGroup() override { this->let_go(); }

 protected:
    // The calls, no longer watched. Those that are not done are cancelled with the vector.
    std::vector<Call<T>> take_calls() {
        this->let_go();
        return std::move(calls_);
    }

 private:
    void collect() override {
        for (const auto& call : calls_) {
            this->add(CallAccess::state(call));
        }
    }

    std::vector<Call<T>> calls_;
};

template <class T>
class VectorGroup final : public CallsGroup<T, std::vector<Value<T>>> {
 public:
    using CallsGroup<T, std::vector<Value<T>>>::CallsGroup;

    std::vector<Value<T>> take() override {
        const std::vector<Call<T>> calls = this->take_calls();
        if (this->mode() == GroupMode::kTry && this->winner() < calls.size()) {
            static_cast<void>(CallAccess::take(calls[this->winner()]));
        }
        std::vector<Value<T>> values;
        values.reserve(calls.size());
        for (const auto& call : calls) {
            values.push_back(CallAccess::take(call));
        }
        return values;
    }
};

template <class T>
class SettledGroup final : public CallsGroup<T, std::vector<Settled<T>>> {
 public:
    using CallsGroup<T, std::vector<Settled<T>>>::CallsGroup;

    std::vector<Settled<T>> take() override {
        const std::vector<Call<T>> calls = this->take_calls();
        std::vector<Settled<T>> results;
        results.reserve(calls.size());
        for (const auto& call : calls) {
            try {
                results.push_back(Settled<T>(CallAccess::take(call)));
            } catch (const std::exception&) {
                results.push_back(Settled<T>(std::current_exception()));
            }
        }
        return results;
    }
};

template <class T>
class ReadyGroup : public GroupOf<std::size_t> {
 public:
    explicit ReadyGroup(std::vector<Call<T>>& calls)
        : GroupOf<std::size_t>(GroupMode::kReady), calls_(calls) {
        if (calls.empty()) {
            throw std::invalid_argument("any_ready of no calls would wait for ever");
        }
    }
    ~ReadyGroup() override { this->let_go(); }

    std::size_t take() override {
        this->let_go();
        return this->winner();
    }

 private:
    void collect() override {
        for (const auto& call : calls_) {
            this->add(CallAccess::state(call));
        }
    }

    std::vector<Call<T>>& calls_;
};

// A Call or a Durable in a tuple.
template <class T>
CallState& member_of(const Call<T>& call) {
    return CallAccess::state(call);
}
template <class T>
PromiseBase& member_of(const Durable<T>& durable) {
    return DurableAccess::promise(durable);
}
template <class T>
Value<T> take_member(const Call<T>& call) {
    return CallAccess::take(call);
}
template <class T>
Value<T> take_member(const Durable<T>& durable) {
    if constexpr (std::is_void_v<T>) {
        DurableAccess::promise(durable).take();
        return {};
    } else {
        return DurableAccess::promise(durable).take();
    }
}

// A group that owns calls and coroutines of different types.
template <class R, class... A>
class TupleGroup : public GroupOf<R> {
 public:
    TupleGroup(GroupMode mode, A... members) : GroupOf<R>(mode), members_(std::move(members)...) {}
    ~TupleGroup() override { this->let_go(); }

 protected:
    std::tuple<A...> take_members() {
        this->let_go();
        return std::move(members_);
    }

 private:
    void collect() override {
        std::apply([this](const A&... each) { (this->add(member_of(each)), ...); }, members_);
    }

    std::tuple<A...> members_;
};

template <class... A>
class TupleAll final : public TupleGroup<std::tuple<Value<typename A::Value>...>, A...> {
 public:
    using Values = std::tuple<Value<typename A::Value>...>;

    explicit TupleAll(A... members)
        : TupleGroup<Values, A...>(GroupMode::kAll, std::move(members)...) {}

    Values take() override {
        const std::tuple<A...> members = this->take_members();
        return std::apply(
            [](const A&... each) {
                // Braces: from left to right, so the first failure by index is thrown.
                return Values{take_member(each)...};
            },
            members);
    }
};

template <class... A>
class TupleAny final : public TupleGroup<std::variant<Value<typename A::Value>...>, A...> {
 public:
    using Values = std::variant<Value<typename A::Value>...>;

    explicit TupleAny(A... members)
        : TupleGroup<Values, A...>(GroupMode::kAny, std::move(members)...) {}

    Values take() override {
        const std::tuple<A...> members = this->take_members();
        return take_at(members, std::index_sequence_for<A...>());
    }

 private:
    template <std::size_t... I>
    Values take_at(const std::tuple<A...>& members, std::index_sequence<I...>) const {
        std::optional<Values> values;
        const auto take = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
            if (Index == this->winner()) {
                values.emplace(std::in_place_index<Index>, take_member(std::get<Index>(members)));
            }
        };
        (take(std::integral_constant<std::size_t, I>()), ...);
        return std::move(*values);
    }
};

template <class A>
struct IsMember : std::false_type {};
template <class T>
struct IsMember<Call<T>> : std::true_type {};
template <class T>
struct IsMember<Durable<T>> : std::true_type {};

}  // namespace detail

// An awaitable object; R is what co_await gives.
template <class R>
class [[nodiscard]] Group {
 public:
    explicit Group(std::unique_ptr<detail::GroupOf<R>> state) : state_(std::move(state)) {}
    Group(Group&&) noexcept = default;
    Group& operator=(Group&&) = delete;

 private:
    friend struct detail::GroupAwaiter<R>;

    std::unique_ptr<detail::GroupOf<R>> state_;
};

template <class R>
struct detail::GroupAwaiter {
    Group<R>& group;

    bool await_ready() const {
        if (!group.state_) {
            throw std::logic_error("a group is awaited once");
        }
        return false;
    }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> waiting) const {
        return group.state_->begin(waiting.promise());
    }
    R await_resume() const {
        // The group ends here: what is not done is cancelled, however we leave.
        const std::unique_ptr<GroupOf<R>> state = std::move(group.state_);
        state->check_cancelled();
        return state->take();
    }
};

// Waits for all, then throws the first failure by index.
template <class T>
Group<std::vector<detail::Value<T>>> when_all(std::vector<Call<T>> calls) {
    using State = detail::VectorGroup<T>;
    return Group<std::vector<detail::Value<T>>>(
        std::make_unique<State>(detail::GroupMode::kAll, std::move(calls)));
}

// Waits for all and throws nothing.
template <class T>
Group<std::vector<Settled<T>>> when_all_settled(std::vector<Call<T>> calls) {
    return Group<std::vector<Settled<T>>>(
        std::make_unique<detail::SettledGroup<T>>(detail::GroupMode::kAll, std::move(calls)));
}

// Throws at the first failure; the other calls are cancelled.
template <class T>
Group<std::vector<detail::Value<T>>> try_all(std::vector<Call<T>> calls) {
    using State = detail::VectorGroup<T>;
    return Group<std::vector<detail::Value<T>>>(
        std::make_unique<State>(detail::GroupMode::kTry, std::move(calls)));
}

// Calls or coroutines of different types: a tuple of their values; std::monostate for void.
template <class... A>
requires(detail::IsMember<A>::value&&...) auto when_all(A... members) {
    using State = detail::TupleAll<A...>;
    return Group<typename State::Values>(std::make_unique<State>(std::move(members)...));
}

// The first that is done, as a variant whose index() is its position; the others are cancelled.
template <class... A>
requires(sizeof...(A) > 0 && (detail::IsMember<A>::value && ...)) auto when_any(A... members) {
    using State = detail::TupleAny<A...>;
    return Group<typename State::Values>(std::make_unique<State>(std::move(members)...));
}

// The index of a call that is done. Takes and cancels nothing; the vector is a local of the
// coroutine that awaits.
template <class T>
Group<std::size_t> any_ready(std::vector<Call<T>>& calls) {
    return Group<std::size_t>(std::make_unique<detail::ReadyGroup<T>>(calls));
}

namespace detail {

// A is a Durable<T> or a Call<T>.
template <class T, class A>
Durable<Settled<T>> attempt_of(A awaited) {
    std::exception_ptr error;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(awaited);
            co_return Settled<T>(std::monostate());
        } else {
            T value = co_await std::move(awaited);
            co_return Settled<T>(std::move(value));
        }
    } catch (...) {
        error = std::current_exception();
    }
    co_return Settled<T>(std::move(error));
}

}  // namespace detail

// A failure as a value. Cancelled is one, too.
template <class T>
Durable<Settled<T>> attempt(Durable<T> durable) {
    return detail::attempt_of<T>(std::move(durable));
}
template <class T>
Durable<Settled<T>> attempt(Call<T> call) {
    return detail::attempt_of<T>(std::move(call));
}

}  // namespace belay
