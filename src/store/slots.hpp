// Tables slot_owners and slot_shares: who has which slots of a queue, and until when.
//
// A call that changes a queue's rows holds the queue first. The reads see the latest committed
// state at every isolation level; a change of a row that the transaction's snapshot does not know
// is 40001.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

// Holds the slots of a queue against other changes until the transaction ends. True if it had to
// wait.
bool hold_slots(const Hub& hub, Queue queue);

struct SlotOwner {
    std::string_view name;
    int64 locked_until;
    int32 incarnation;
};

struct SlotShare {
    int32 slot;
    std::string_view owner;
};

// All owners with a row, by name, live or not; and the slots that have an owner.
struct SlotState {
    std::span<const SlotOwner> owners;
    std::span<const SlotShare> shares;
};
SlotState read_slots(const Hub& hub, Queue queue);

// Adds an owner, or moves its deadline.
void set_slot_owner(const Hub& hub, Queue queue, std::string_view owner, int64 locked_until);

// Gives slots to owners, away from earlier ones.
void set_slot_shares(const Hub& hub, Queue queue, std::span<const SlotShare> shares);

// Removes owners; their slots keep their names until another owner gets them.
void delete_slot_owners(const Hub& hub, Queue queue, std::span<const std::string_view> owners);

// Removes an owner with its slots.
void delete_slot_owner(const Hub& hub, Queue queue, std::string_view owner);

// Forgets all owners of all queues: after a change of slot_count the numbers mean something else.
void delete_slots(const Hub& hub);

// How many owners have a live lease.
int64 count_live_slot_owners(const Hub& hub, int64 now);

}  // namespace belay::store
