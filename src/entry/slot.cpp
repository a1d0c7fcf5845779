// Entry functions of slot leases: decode, call the operation, encode.
#include "entry/verbs.hpp"
#include "ops/input.hpp"
#include "ops/slot/slot.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

std::string_view checked_owner(const Call& call) {
    const std::string_view owner = call.required_text(0, "p_owner_id");
    if (owner.empty()) {
        pg::raise_invalid("empty", "p_owner_id", "p_owner_id must not be empty",
                          "Pass a name of its own for each dispatcher.");
    }
    ops::check_label("p_owner_id", owner);
    return owner;
}

}  // namespace

Datum acquire_slots(const Call& call) {
    const std::string_view owner = checked_owner(call);
    const auto queue = ops::checked_slot_queue(call.required_text(1, "p_queue"));
    const int64 lease = ops::checked_timeout("p_lease_ms", call.int8(3));
    auto clock = call.clock(4);
    const auto slots = ops::acquire_slots(call.tables, owner, queue, call.int4(2), lease, &clock);
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    auto* values = static_cast<Datum*>(palloc(sizeof(Datum) * (slots.size() + 1)));
    for (std::size_t i = 0; i < slots.size(); ++i) {
        values[i] = Int32GetDatum(slots[i]);
    }
    const Datum result = PointerGetDatum(construct_array(
        values, static_cast<int>(slots.size()), INT4OID, sizeof(int32), true, TYPALIGN_INT));
    MemoryContextSwitchTo(old);
    return result;
}

Datum release_slots(const Call& call) {
    const std::string_view owner = checked_owner(call);
    ops::release_slots(call.tables, owner,
                       ops::checked_slot_queue(call.required_text(1, "p_queue")));
    return call.nothing();
}

}  // namespace belay::entry
