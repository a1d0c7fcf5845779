// Mutants: bugs that the tests plant in the engine to see that they find them.
//
// A mutant breaks a promise without an error, so it must not be in a library that users install:
// `make mutants` compiles a second library with BELAY_MUTANTS for the tests, and in every other one
// a mutant is a constant false. Errors are injected with fault points instead (pg/faults.hpp).
#pragma once

#include "pg/pg.hpp"

namespace belay::mutants {

enum class Mutant : int {
    kDeleteKeepsState,  // a deletion leaves the key/value state behind
    kEndWritesNoEvent,  // the end of a task writes no event
    kEnqueueDropsItem,  // an enqueue inserts no row
    kLeaseAnyToken,     // any token opens a lease
    kWakeSkip,          // a commit wakes no waiting session
    kCount,
};

#ifdef BELAY_MUTANTS
// Whether this pass misbehaves; takes one off the mutant's count.
bool strikes(Mutant mutant);
// Sets how many of the next passes of the named mutant misbehave, after skip that do not. False if
// there is no such mutant.
bool set(std::string_view name, uint32 count, uint32 skip);
// Adds the piece of shared memory. Called from _PG_init.
void install();
#else
constexpr bool strikes(Mutant) {
    return false;
}
constexpr bool set(std::string_view, uint32, uint32) {
    return false;
}
constexpr void install() {}
#endif

}  // namespace belay::mutants
