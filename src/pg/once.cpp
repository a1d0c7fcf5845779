// What this session has said already: a short list of keys.
//
// Touches  memory of the session
// Must not grow: when the list is full, nothing is said for the first time any more
#include "pg/once.hpp"

#include <algorithm>

namespace belay::pg {

namespace {

constinit uint64 known[64] = {};
constinit std::size_t count = 0;

}  // namespace

bool is_first(uint64 key) {
    if (count == std::size(known) || std::find(known, known + count, key) != known + count) {
        return false;
    }
    known[count++] = key;
    return true;
}

}  // namespace belay::pg
