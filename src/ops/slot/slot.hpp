// Slot leases: dispatchers of one queue share its slots.
#pragma once

#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// A queue whose slots can be shared. QB006 for others.
store::Queue checked_slot_queue(std::string_view queue);

// Takes or renews the owner's share of the slots; the slots it has now, ascending. slots, if given,
// has to be the hub's slot_count.
std::span<const int32> acquire_slots(store::Tables& tables, std::string_view owner,
                                     store::Queue queue, std::optional<int32> slots, int64 lease_ms,
                                     pg::Clock* clock);

// Gives the owner's slots back. Nothing happens if it has none.
void release_slots(store::Tables& tables, std::string_view owner, store::Queue queue);

}  // namespace belay::ops
