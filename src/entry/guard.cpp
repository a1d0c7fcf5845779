// The entry function of fenced transactions.
#include "entry/verbs.hpp"
#include "ops/guard/guard.hpp"

namespace belay::entry {

Datum guard(const Call& call) {
    ops::guard(call.hub, call.text(0));
    return call.nothing();
}

}  // namespace belay::entry
