// Who gets which slot.
#pragma once

#include <cstdint>
#include <span>

namespace belay::core {

// The owner of a free slot.
inline constexpr int32_t kNoOwner = -1;

// Deals the slots anew when one of their live owners calls. owner_of says for each slot which owner
// has it, from 0 to held.size() - 1, or kNoOwner; held is room for a number per owner.
//
// The caller gives up what it has above its share, the highest slots first. Then every free
// slot goes to the owner with the fewest: the caller before others, then in order. No owner but the
// caller loses a slot. Once each owner has called, each has n / k slots or one more.
void deal_slots(std::span<int32_t> owner_of, std::span<int32_t> held, int32_t caller);

}  // namespace belay::core
