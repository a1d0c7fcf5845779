// acquire_slots.cpp — take, renew and release a share of the slots of a queue.
//
// Calls    store::hold_slots, store::read_slots, store::set_slot_owner, store::set_slot_shares
// Touches  <hub>.slot_owners, <hub>.slot_shares
// Locks    the slots of the queue, alone
// Raises   QB006 unknown queue, wrong number of slots
#include <algorithm>

#include "core/slots.hpp"
#include "core/time.hpp"
#include "ops/enter.hpp"
#include "ops/slot/slot.hpp"
#include "pg/durable.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "store/slots.hpp"

namespace belay::ops {

namespace {

void check_count(store::Tables& tables, std::optional<int32> slots) {
    const int64 count = tables.hub.options[store::Option::kSlotCount];
    if (slots && *slots != count) {
        pg::raise(
            pg::kInvalidArgument,
            psprintf("p_slots is %d, but the hub has " INT64_FORMAT " slots", *slots, count),
            pg::Facts("slot_count").add("path", "p_slots").add("value", *slots).add("slots", count),
            "Pass NULL, or the value of the hub option slot_count.");
    }
}

// The names of the live owners, the caller among them, in order.
std::span<const std::string_view> live_owners(const store::SlotState& state,
                                              std::string_view caller, int32 incarnation,
                                              int64 now) {
    pg::List<std::string_view> names;
    names.add(caller);
    for (const auto& owner : state.owners) {
        if (owner.name != caller && owner.incarnation == incarnation && owner.locked_until > now) {
            names.add(owner.name);
        }
    }
    std::sort(names.begin(), names.end());
    return names.span();
}

int32 index_of(std::span<const std::string_view> names, std::string_view name) {
    const auto at = std::lower_bound(names.begin(), names.end(), name);
    return at == names.end() || *at != name ? core::kNoOwner
                                            : static_cast<int32>(at - names.begin());
}

std::span<int32> numbers(std::size_t count) {
    return {static_cast<int32*>(palloc(sizeof(int32) * count)), count};
}

}  // namespace

store::Queue checked_slot_queue(std::string_view queue) {
    for (const auto known : {store::Queue::kOrchestrator, store::Queue::kWorker}) {
        if (queue == store::kQueueNames[static_cast<int>(known)]) {
            return known;
        }
    }
    pg::raise(pg::kInvalidArgument, psprintf("queue \"%s\" has no slots", pg::excerpt(queue)),
              pg::Facts("unknown_queue").add("path", "p_queue").add("value", queue),
              "Queues with slots are orchestrator and worker.");
}

std::span<const int32> acquire_slots(store::Tables& tables, std::string_view owner,
                                     store::Queue queue, std::optional<int32> slots, int64 lease_ms,
                                     pg::Clock* clock) {
    enter(tables, {.slots = true}, clock);
    check_count(tables, slots);
    // No token proves a share: after a crash another owner must not be given the same slots.
    pg::flush_at_commit();
    if (store::hold_slots(tables, queue)) {
        clock->mark_waited();
    }
    const int64 now = clock->now();
    const auto state = store::read_slots(tables, queue);
    const auto names = live_owners(state, owner, tables.hub.incarnation, now);

    const auto count = static_cast<std::size_t>(tables.hub.options[store::Option::kSlotCount]);
    const std::span<int32> owner_of = numbers(count);
    std::fill(owner_of.begin(), owner_of.end(), core::kNoOwner);
    for (const auto& share : state.shares) {
        if (share.slot >= 0 && static_cast<std::size_t>(share.slot) < count) {
            owner_of[static_cast<std::size_t>(share.slot)] = index_of(names, share.owner);
        }
    }
    const std::span<int32> before = numbers(count);
    std::copy(owner_of.begin(), owner_of.end(), before.begin());
    const int32 caller = index_of(names, owner);
    core::deal_slots(owner_of, numbers(names.size()), caller);

    store::set_slot_owner(tables, queue, owner, core::add_ms(now, lease_ms));
    pg::List<store::SlotShare> changed;
    pg::List<int32> mine;
    for (std::size_t slot = 0; slot < count; ++slot) {
        if (owner_of[slot] != before[slot]) {
            changed.add(
                {static_cast<int32>(slot), names[static_cast<std::size_t>(owner_of[slot])]});
        }
        if (owner_of[slot] == caller) {
            mine.add(static_cast<int32>(slot));
        }
    }
    if (changed.count > 0) {
        store::set_slot_shares(tables, queue, changed.span());
    }
    pg::List<std::string_view> gone;
    for (const auto& known : state.owners) {
        if (index_of(names, known.name) == core::kNoOwner) {
            gone.add(known.name);
        }
    }
    if (gone.count > 0) {
        store::delete_slot_owners(tables, queue, gone.span());
    }
    return mine.span();
}

void release_slots(store::Tables& tables, std::string_view owner, store::Queue queue) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.slots = true}, &clock);
    (void)store::hold_slots(tables, queue);
    store::delete_slot_owner(tables, queue, owner);
}

}  // namespace belay::ops
