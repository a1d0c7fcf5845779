// Dealing the slots of a queue among its owners: the caller keeps its share, and free slots go to
// the owners with the fewest.
//
// Touches  the arrays that it is given
// Must not take a slot from an owner other than the caller
#include "core/slots.hpp"

#include <algorithm>

namespace belay::core {

namespace {

// What the caller may keep. Some owners have one slot more than the others if the slots cannot be
// divided; an owner that has more than the others counts as one of these.
int32_t share(int32_t slots, std::span<const int32_t> held, int32_t caller) {
    const auto owners = static_cast<int32_t>(held.size());
    const int32_t least = slots / owners;
    int32_t above = 0;
    for (int32_t owner = 0; owner < owners; ++owner) {
        above += owner != caller && held[static_cast<std::size_t>(owner)] > least ? 1 : 0;
    }
    return above < slots % owners ? least + 1 : least;
}

// The owner with the fewest slots.
std::size_t poorest(std::span<const int32_t> held, std::size_t caller) {
    const auto found =
        static_cast<std::size_t>(std::min_element(held.begin(), held.end()) - held.begin());
    return held[caller] == held[found] ? caller : found;
}

}  // namespace

void deal_slots(std::span<int32_t> owner_of, std::span<int32_t> held, int32_t caller) {
    std::fill(held.begin(), held.end(), 0);
    for (const int32_t owner : owner_of) {
        if (owner != kNoOwner) {
            ++held[static_cast<std::size_t>(owner)];
        }
    }
    const auto me = static_cast<std::size_t>(caller);
    const int32_t keep = share(static_cast<int32_t>(owner_of.size()), held, caller);
    for (std::size_t slot = owner_of.size(); slot-- > 0 && held[me] > keep;) {
        if (owner_of[slot] == caller) {
            owner_of[slot] = kNoOwner;
            --held[me];
        }
    }
    for (int32_t& owner : owner_of) {
        if (owner == kNoOwner) {
            const std::size_t heir = poorest(held, me);
            owner = static_cast<int32_t>(heir);
            ++held[heir];
        }
    }
}

}  // namespace belay::core
