// The seven examples of durable functions, run by the tests with every compiler.
#pragma once

#include <chrono>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "belay/durable.hpp"

namespace examples {

using belay::Context;
using belay::Durable;
using namespace std::chrono_literals;

struct Order {
    std::string id;
    int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, cents)

struct Receipt {
    std::string id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, id)

struct Round {
    int number = 0;
    int last = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Round, number, last)

inline constexpr belay::ActivityOf<std::string(std::string)> greet{"Greet"};
inline constexpr belay::ActivityOf<Receipt(Order)> charge{"Charge"};
inline constexpr belay::ActivityOf<std::string(Order)> ship{"Ship"};
inline constexpr belay::ActivityOf<std::string(Receipt)> refund{"Refund"};
inline constexpr belay::ActivityOf<int(int)> square{"Square"};
inline constexpr belay::ActivityOf<std::string(int)> clean{"Clean"};
inline constexpr belay::ActivityOf<std::string(Order)> check{"Check"};

inline constexpr belay::OrchestrationOf<std::string(std::string)> hello{"Hello"};
inline constexpr belay::OrchestrationOf<std::string(Order)> order_saga{"OrderSaga"};
inline constexpr belay::OrchestrationOf<long(int)> sum_of_squares{"SumOfSquares"};
inline constexpr belay::OrchestrationOf<std::string(Order)> approval{"Approval"};
inline constexpr belay::OrchestrationOf<std::string(Round)> cleaner{"Cleaner"};
inline constexpr belay::OrchestrationOf<int(std::vector<Order>)> bulk{"Bulk"};
inline constexpr belay::OrchestrationOf<std::string(Order)> versioned{"Versioned"};

inline Durable<std::string> say_hello(Context ctx, std::string name) {
    std::string text = co_await ctx.call(greet, name);
    co_return text;
}

// Charge, ship within a day; undo what was done if anything fails or the customer cancels.
inline Durable<std::string> buy(Context ctx, Order order, belay::Saga saga) {
    Receipt receipt = co_await ctx.retry(charge, order, belay::Retry(3).backoff(100ms));
    saga.undo_with(refund, receipt);
    auto parcel = ctx.call(ship, order, belay::CallOptions().tag("warehouse"));
    auto deadline = ctx.sleep(24h);
    auto won = co_await belay::when_any(std::move(parcel), std::move(deadline));
    if (won.index() == 1) {
        throw belay::Failure("not shipped in time");
    }
    co_return std::get<0>(won);
}

inline Durable<std::string> run_saga(Context ctx, Order order) {
    belay::Saga saga(ctx);
    auto result = co_await belay::attempt(buy(ctx, order, saga));
    if (!result.ok()) {
        co_await saga.compensate();
        result.rethrow();
    }
    co_return result.value();
}

inline Durable<long> sum(Context ctx, int n) {
    std::vector<belay::Call<int>> calls;
    for (int i = 0; i < n; ++i) {
        calls.push_back(ctx.call(square, i));
    }
    std::vector<int> results = co_await belay::when_all(std::move(calls));
    co_return std::accumulate(results.begin(), results.end(), 0L);
}

// A human, or three days.
inline Durable<std::string> approve(Context ctx, Order order) {
    ctx.set_status("waiting for approval of " + order.id);
    auto answer = ctx.event<bool>("approved");
    auto deadline = ctx.sleep(72h);
    auto won = co_await belay::when_any(std::move(answer), std::move(deadline));
    ctx.clear_status();
    if (won.index() == 1) {
        co_return "expired";
    }
    co_return std::get<0>(won) ? "approved" : "refused";
}

// Every hour; each round is an execution of its own.
inline Durable<std::string> clean_for_long(Context ctx, Round round) {
    std::string done = co_await ctx.call(clean, round.number);
    if (round.number == round.last) {
        co_return done;
    }
    co_await ctx.sleep(1h);
    round.number += 1;
    co_return ctx.continue_as_new(round);
}

// One child per order.
inline Durable<int> ship_all(Context ctx, std::vector<Order> orders) {
    std::vector<belay::Call<std::string>> children;
    for (const Order& order : orders) {
        children.push_back(ctx.call(order_saga, order));
    }
    auto ends = co_await belay::when_all_settled(std::move(children));
    int good = 0;
    for (const auto& end : ends) {
        good += end.ok();
    }
    co_return good;
}

// A step was added while instances were running.
inline Durable<std::string> pay_before(Context ctx, Order order) {
    Receipt receipt = co_await ctx.call(charge, order);
    co_return receipt.id;
}

inline Durable<std::string> pay(Context ctx, Order order) {
    if (ctx.version("check before charge", 1) >= 1) {
        std::string verdict = co_await ctx.call(check, order);
    }
    Receipt receipt = co_await ctx.call(charge, order);
    co_return receipt.id;
}

// Registers all of them; `Registrar` is a World, a Runtime or a Registry.
template <class Registrar>
void register_all(Registrar& registrar) {
    registrar.on(hello, &say_hello);
    registrar.on(order_saga, &run_saga);
    registrar.on(sum_of_squares, &sum);
    registrar.on(approval, &approve);
    registrar.on(cleaner, &clean_for_long);
    registrar.on(bulk, &ship_all);
    registrar.on(versioned, &pay);
}

// Activities that succeed; orders of less than one cent are refused.
template <class Registrar>
void register_activities(Registrar& registrar) {
    registrar.on(greet, [](std::string name) { return "Hello " + name; });
    registrar.on(charge, [](Order order) {
        if (order.cents < 1) {
            throw belay::Failure("nothing to charge", false);
        }
        return Receipt{"r-" + order.id};
    });
    registrar.on(ship, [](Order order) { return "parcel-" + order.id; });
    registrar.on(refund, [](Receipt receipt) { return "refunded " + receipt.id; });
    registrar.on(square, [](int i) { return i * i; });
    registrar.on(clean, [](int round) { return "cleaned " + std::to_string(round); });
    registrar.on(check, [](Order) { return std::string("fine"); });
}

}  // namespace examples
