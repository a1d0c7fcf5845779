// Durable functions: C++20 coroutines whose progress is stored in a hub.
//
//     inline constexpr belay::ActivityOf<std::string(std::string)> greet{"Greet"};
//     inline constexpr belay::OrchestrationOf<std::string(std::string)> hello{"Hello"};
//
//     belay::Durable<std::string> say_hello(belay::Context ctx, std::string name) {
//         std::string text = co_await ctx.call(greet, name);
//         co_return text;
//     }
//
// The calls that the code has requested and their outcomes are the history of the instance. After a
// crash, or on another machine, the code is run from its beginning against the history, and so
// arrives where it was. It must therefore do the same each time: time, random numbers, identifiers
// and input come from the Context. Code whose requests differ from its history is stopped.
//
// One co_await per statement; its arguments are names, literals or constructor calls: g++ 12
// destroys some other temporaries twice. docs/durable-functions.md lists which, and belay-lint
// finds them.
//
// This header needs no libpq. belay/runtime.hpp runs durable functions against a hub,
// belay/testing.hpp without one.
#pragma once

#include "belay/durable/call.hpp"
#include "belay/durable/context.hpp"
#include "belay/durable/coroutine.hpp"
#include "belay/durable/failure.hpp"
#include "belay/durable/group.hpp"
#include "belay/durable/names.hpp"
#include "belay/durable/options.hpp"
#include "belay/durable/registry.hpp"
#include "belay/durable/retry.hpp"
