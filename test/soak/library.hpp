// The part of the load that runs on the client library: programs with a belay::Worker or a
// belay::Runtime, as an application has them, in processes that are killed, frozen and terminated.
//
// They work on hub `lib`. Role kStarter starts instances and creates tasks there, and journals them
// as other clients do. What a handler does it writes into table lib_effects: with the completion
// where it is to happen once, else in a transaction of its own that holds only with the lease.
#pragma once

#include <cstdint>
#include <string>

#include "cluster.hpp"
#include "load.hpp"

namespace belay::test::soak::library {

// Makes the hub and the table of effects.
void make_hub(Conn* conn);

// As soak::play, for the roles of this file. A SIGTERM ends it, too: nothing more is begun, and
// what runs is settled.
void play(Shared* shared, const Player& player, const std::string& journal_path);

// What an instance with this input comes to.
int64_t expected_output(int64_t input);

// What the last digit of a task's id says of its handler.
enum class Way {
    kOnce,     // completes with its effect in one transaction
    kOften,    // writes its effect, and its outcome goes with a portion
    kAgain,    // as kOften, after an attempt that failed
    kSettles,  // waits for the commit of its outcome, then writes another effect
    kFails,
};
Way way_of(const std::string& task);

// Sub-orchestrations of an instance.
inline constexpr int kChildren = 1;

}  // namespace belay::test::soak::library
