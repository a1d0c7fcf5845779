// Tables slot_owners and slot_shares.
//
// May touch: these two tables, and the lock table. Must not: divide slots; core/slots.hpp does.
#include "store/slots.hpp"

#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "store/statements.hpp"
#include "store/table/table.hpp"

namespace belay::store {

namespace {

constexpr auto kOwners = query<In<Text>, Out<Text, int64, int32>>(R"sql(
    SELECT o.owner, o.locked_until, o.lease_inc
      FROM {hub}.slot_owners AS o
     WHERE o.queue {=} $1
     ORDER BY o.owner
)sql");

constexpr auto kShares = query<In<Text>, Out<int16, Text>>(R"sql(
    SELECT s.slot, s.owner
      FROM {hub}.slot_shares AS s
     WHERE s.queue {=} $1
     ORDER BY s.slot
)sql");

constexpr auto kSetOwner = statement<In<Text, Text, int64, int32>, Out<>>(R"sql(
    INSERT INTO {hub}.slot_owners AS o (queue, owner, locked_until, lease_inc)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (queue, owner) DO UPDATE SET locked_until = $3, lease_inc = $4
)sql");

constexpr auto kSetShares = statement<In<Text, ListOf<int16>, ListOf<Text>>, Out<>>(R"sql(
    INSERT INTO {hub}.slot_shares AS s (queue, slot, owner)
    SELECT $1, u.slot, u.owner
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3)) AS u(slot, owner)
    ON CONFLICT (queue, slot) DO UPDATE SET owner = EXCLUDED.owner
)sql");

constexpr auto kDeleteOwners = statement<In<Text, ListOf<Text>>, Out<>>(R"sql(
    DELETE FROM {hub}.slot_owners AS o
     WHERE o.queue {=} $1 AND o.owner {=} ANY ($2)
)sql");

constexpr auto kDeleteOwner = statement<In<Text, Text>, Out<>>(R"sql(
    DELETE FROM {hub}.slot_owners AS o
     WHERE o.queue {=} $1 AND o.owner {=} $2
)sql");

constexpr auto kDeleteShares = statement<In<Text, Text>, Out<>>(R"sql(
    DELETE FROM {hub}.slot_shares AS s
     WHERE s.queue {=} $1 AND s.owner {=} $2
)sql");

constexpr auto kDeleteAllOwners = statement<In<>, Out<>>(R"sql(
    DELETE FROM {hub}.slot_owners AS o
)sql");

constexpr auto kDeleteAllShares = statement<In<>, Out<>>(R"sql(
    DELETE FROM {hub}.slot_shares AS s
)sql");

constexpr auto kCountLive = statement<In<int64, int32>, Out<int64>>(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.slot_owners AS o
     WHERE o.locked_until {>} $1 AND o.lease_inc {=} $2
)sql");

constexpr auto kHasOwner = query<In<Text, Text>, Out<int32>>(R"sql(
    SELECT 1
      FROM {hub}.slot_owners AS o
     WHERE o.queue {=} $1 AND o.owner {=} $2
)sql");

std::string_view name_of(Queue queue) {
    return kQueueNames[static_cast<int>(queue)];
}

}  // namespace

bool hold_slots(const Hub& hub, Queue queue) {
    const auto key = static_cast<uint64>(queue);
    if (pg::try_lock_key(pg::LockSpace::kSlots, hub.schema, key)) {
        return false;
    }
    pg::lock_key(pg::LockSpace::kSlots, hub.schema, key);
    return true;
}

SlotState read_slots(const Hub& hub, Queue queue) {
    return pg::with_latest_view([&hub, queue] {
        return SlotState{run(hub, kOwners, name_of(queue)).collect<SlotOwner>(),
                         run(hub, kShares, name_of(queue)).collect<SlotShare>()};
    });
}

void set_slot_owner(const Hub& hub, Queue queue, std::string_view owner, int64 locked_until) {
    run_for_one(hub, kSetOwner, name_of(queue), owner, locked_until, hub.incarnation);
}

void set_slot_shares(const Hub& hub, Queue queue, std::span<const SlotShare> shares) {
    run(hub, kSetShares, name_of(queue),
        column(shares, [](const SlotShare& share) { return static_cast<int16>(share.slot); }),
        column(shares, [](const SlotShare& share) { return share.owner; }));
}

void delete_slot_owners(const Hub& hub, Queue queue, std::span<const std::string_view> owners) {
    run(hub, kDeleteOwners, name_of(queue), owners);
}

void delete_slot_owner(const Hub& hub, Queue queue, std::string_view owner) {
    run(hub, kDeleteShares, name_of(queue), owner);
    run(hub, kDeleteOwner, name_of(queue), owner);
    // At REPEATABLE READ and SERIALIZABLE what was acquired since the snapshot is not seen.
    if (IsolationUsesXactSnapshot() &&
        pg::with_latest_view([&] { return run_any(hub, kHasOwner, name_of(queue), owner); })) {
        raise_changed();
    }
}

void delete_slots(const Hub& hub) {
    run(hub, kDeleteAllShares);
    run(hub, kDeleteAllOwners);
}

int64 count_live_slot_owners(const Hub& hub, int64 now) {
    return run_for_one(hub, kCountLive, now, hub.incarnation);
}

}  // namespace belay::store
