// Compiled once per CASE by run.sh: case 0 must compile, the others must not, with the text that
// the line after "// expect" has. Lines "// gcc" are for g++ before 13 only.
// This file needs belay/durable.hpp alone, which run.sh checks for headers of libpq and threads.
// PK-1
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <belay/durable.hpp>

using namespace belay;

struct Order {
    std::string id;
    int cents = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, cents)

inline constexpr ActivityOf<std::string(Order)> ship{"Ship"};
inline constexpr ActivityOf<int(int)> square{"Square"};
inline constexpr OrchestrationOf<std::string(Order)> buy{"Buy"};

#if CASE == 0
Durable<std::string> f(Context ctx, Order order) {
    std::string text = co_await ctx.call(ship, order);
    co_return text;
}
#elif CASE == 1   // LT-1 expect: parameters are values
Durable<std::string> f(Context, const std::string& s) {
    co_return s;
}
#elif CASE == 2   // LT-1 expect: parameters are values
Durable<std::string> f(Context, std::string_view s) {
    co_return std::string(s);
}
#elif CASE == 3   // LT-1 expect: parameters are values
Durable<std::string> f(Context, const char* s) {
    co_return s;
}
#elif CASE == 4   // LT-1 expect: parameters are values
Durable<int> f(Context, std::span<int> s) {
    co_return s[0];
}
#elif CASE == 5   // LT-1 expect: parameters are values
auto f = [](Context, int n) -> Durable<int> { co_return n; };
#elif CASE == 6   // LT-1 expect: parameters are values
struct S {
    int n = 0;
    Durable<int> f(Context) { co_return n; }
};
#elif CASE == 7   // LT-2 expect: nothing else
struct Other {
    bool await_ready() { return true; }
    void await_suspend(std::coroutine_handle<>) {}
    void await_resume() {}
};
Durable<int> f(Context) {
    co_await Other{};
    co_return 1;
}
#elif CASE == 8   // LT-3 expect: nodiscard
Durable<int> f(Context ctx) {
    ctx.call(square, 3);
    co_return 1;
}
#elif CASE == 9   // LT-3 expect: nodiscard
Durable<int> g(Context) {
    co_return 1;
}
Durable<int> f(Context ctx) {
    g(ctx);
    co_return 1;
}
#elif CASE == 10  // LT-3 expect: nodiscard
Durable<int> f(Context ctx) {
    ctx.continue_as_new(1);
    co_return 1;
}
#elif CASE == 11  // LT-4 expect: private
Context make(detail::Instance& instance) {
    return Context(instance);
}
#elif CASE == 12  // LT-5 expect: awaited once
Durable<int> f(Context ctx) {
    auto call = ctx.call(square, 3);
    int n = co_await call;
    co_return n;
}
#elif CASE == 13  // LT-6 gcc expect: give the input a name first
Durable<std::string> f(Context ctx) {
    std::string text = co_await ctx.call(ship, Order{"x", 1});
    co_return text;
}
#elif CASE == 14  // LT-6 gcc expect: give the input a name first
Durable<std::string> f(Context ctx) {
    std::string text = co_await ctx.retry(ship, Order{"x", 1}, Retry(3));
    co_return text;
}
#elif CASE == 15  // AP-2 expect: no matching
Durable<int> f(Context ctx) {
    std::string input = "x";
    int n = co_await ctx.call(square, input);
    co_return n;
}
#elif CASE == 16  // AP-2 expect: no matching
Durable<int> f(Context ctx) {
    int n = co_await ctx.call(square, 3.5);
    co_return n;
}
#elif CASE == 17  // AP-2 expect: conversion
Durable<int> f(Context ctx) {
    std::string text = co_await ctx.call(square, 3);
    co_return 1;
}
#elif CASE == 18  // AP-2 expect: no matching
void f(Registry& registry, Durable<int> (*code)(Context, int)) {
    registry.on(buy, code);
}
#elif CASE == 19  // AP-3 expect: deleted
Durable<int> f(Context ctx) {
    auto call = ctx.call(square, 3);
    auto copy = call;
    co_return 1;
}
#elif CASE == 20  // AP-2 expect: cannot write this type
struct Plain {
    std::string id;
};
inline constexpr ActivityOf<int(Plain)> weigh{"Weigh"};
Durable<int> f(Context ctx) {
    Plain plain{"x"};
    int n = co_await ctx.call(weigh, plain);
    co_return n;
}
#elif CASE == 21  // AP-2 expect: cannot read this type
struct Plain {
    std::string id;
};
inline constexpr ActivityOf<Plain(int)> find{"Find"};
Durable<int> f(Context ctx) {
    Plain plain = co_await ctx.call(find, 1);
    co_return 1;
}
#elif CASE == 22  // LT-5 expect: awaited once
Durable<int> g(Context) {
    co_return 1;
}
Durable<int> f(Context ctx) {
    auto helper = g(ctx);
    int n = co_await helper;
    co_return n;
}
#elif CASE == 23  // LT-1 expect: parameters are values
Durable<std::string> f(Context, std::string&& s) {
    co_return std::move(s);
}
#elif CASE == 24  // LT-3 expect: nodiscard
Durable<int> f(Context ctx) {
    when_all(ctx.call(square, 3), ctx.call(square, 4));
    co_return 1;
}
#elif CASE == 25  // LT-3 expect: nodiscard
Durable<int> f(Context, std::vector<Call<int> > calls) {
    any_ready(calls);
    co_return 1;
}
#elif CASE == 26  // LT-4 expect: conver
#include <belay/testing.hpp>
Context f(testing::Activity& activity) {
    return activity;
}
#elif CASE == 27  // LT-4 expect: conver
#include <belay/task.hpp>
Context f(Task& activity) {
    return activity;
}
#endif
