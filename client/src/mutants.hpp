// Mutants: bugs that the tests plant in the client to see that they find them.
//
// They break a promise without an error, so they are no part of the library: a program of the tests
// compiles the files that include this one again, with BELAY_MUTANTS, and prefers them.
//
// Thread-safety: all of it may be used by many threads at once.
#pragma once

#ifdef BELAY_MUTANTS
#include <atomic>
#endif

namespace belay::mutants {

#ifdef BELAY_MUTANTS
// How many of the next portions of tasks leave out their last outcome and report it as settled.
inline std::atomic<int> portions_to_cut = 0;
// Whether this portion is one of them.
inline bool cuts_portion() {
    return portions_to_cut > 0 && portions_to_cut-- > 0;
}
#else
constexpr bool cuts_portion() {
    return false;
}
#endif

}  // namespace belay::mutants
