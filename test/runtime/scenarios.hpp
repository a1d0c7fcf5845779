// Orchestrations of longer scenarios than the examples; their histories are golden, too.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "examples.hpp"

namespace scenarios {

using namespace examples;

inline constexpr belay::OrchestrationOf<std::string(int)> mixed{"Mixed"};
inline Durable<std::string> run_mixed(Context ctx, int n) {
    std::vector<belay::Call<int>> calls;
    for (int i = 0; i < n; ++i) {
        calls.push_back(ctx.call(square, i));
    }
    auto ends = co_await belay::when_all_settled(std::move(calls));
    std::string text;
    for (const auto& end : ends) {
        text += end.ok() ? std::to_string(end.value()) : std::string(end.error().what());
        text += ' ';
    }
    co_return text;
}

struct Actor {
    int handled = 0;
    int total = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Actor, handled, total)

inline constexpr belay::OrchestrationOf<int(Actor)> actor{"Actor"};
inline constexpr belay::ActivityOf<void(int)> check_health{"CheckHealth"};

// Takes messages until -1 comes; checks its health when none comes for a minute. Ten messages are
// an execution.
inline Durable<int> act(Context ctx, Actor state) {
    for (int i = 0; i < 10; ++i) {
        auto message = ctx.dequeue<int>("inbox");
        auto pause = ctx.sleep(1min);
        auto won = co_await belay::when_any(std::move(message), std::move(pause));
        if (won.index() == 1) {
            co_await ctx.call(check_health, state.handled);
            continue;
        }
        const int number = std::get<0>(won);
        if (number < 0) {
            co_return state.total;
        }
        state.handled += 1;
        state.total += number;
        ctx.set("handled", state.handled);
    }
    co_return ctx.continue_as_new(state);
}

inline constexpr belay::OrchestrationOf<int(int)> nested{"Nested"};
inline constexpr belay::OrchestrationOf<int(Round)> counting{"Counting"};
inline constexpr belay::OrchestrationOf<std::string(std::string)> starter{"Starter"};

inline Durable<int> nest(Context ctx, int depth) {
    if (depth == 0) {
        int value = co_await ctx.call(square, 3);
        co_return value;
    }
    int value = co_await ctx.call(nested, depth - 1);
    co_return value + 1;
}

// A child that continues as new answers its parent at its end. SB-3
inline Durable<int> count_down(Context ctx, Round round) {
    if (round.number == round.last) {
        co_return round.number;
    }
    co_await ctx.sleep(1s);
    round.number += 1;
    co_return ctx.continue_as_new(round);
}
inline constexpr belay::OrchestrationOf<int()> parent_of_counting{"ParentOfCounting"};
inline Durable<int> wait_for_counting(Context ctx) {
    Round round;
    round.last = 4;
    int value = co_await ctx.call(counting, round);
    co_return value * 10;
}

// SB-2: sent by the turn that ends the instance, too.
inline Durable<std::string> start_other(Context ctx, std::string name) {
    ctx.start(hello, "other", name);
    co_return "started";
}

template <class Registrar>
void register_scenarios(Registrar& registrar) {
    registrar.on(mixed, &run_mixed);
    registrar.on(actor, &act);
    registrar.on(nested, &nest);
    registrar.on(counting, &count_down);
    registrar.on(parent_of_counting, &wait_for_counting);
    registrar.on(starter, &start_other);
}

}  // namespace scenarios
