#include "store/slots.hpp"

#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

constexpr Statement kOwners = query(R"sql(
    SELECT o.owner, o.locked_until, o.lease_inc
      FROM {hub}.slot_owners AS o
     WHERE o.queue {=} $1
     ORDER BY o.owner
)sql",
                                    TEXTOID);

constexpr Statement kShares = query(R"sql(
    SELECT s.slot, s.owner
      FROM {hub}.slot_shares AS s
     WHERE s.queue {=} $1
     ORDER BY s.slot
)sql",
                                    TEXTOID);

constexpr Statement kSetOwner = statement(R"sql(
    INSERT INTO {hub}.slot_owners AS o (queue, owner, locked_until, lease_inc)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (queue, owner) DO UPDATE SET locked_until = $3, lease_inc = $4
)sql",
                                          TEXTOID, TEXTOID, INT8OID, INT4OID);

constexpr Statement kSetShares = statement(R"sql(
    INSERT INTO {hub}.slot_shares AS s (queue, slot, owner)
    SELECT $1, u.slot, u.owner
      FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3)) AS u(slot, owner)
    ON CONFLICT (queue, slot) DO UPDATE SET owner = EXCLUDED.owner
)sql",
                                           TEXTOID, INT2ARRAYOID, TEXTARRAYOID);

constexpr Statement kDeleteOwners = statement(R"sql(
    DELETE FROM {hub}.slot_owners AS o
     WHERE o.queue {=} $1 AND o.owner {=} ANY ($2)
)sql",
                                              TEXTOID, TEXTARRAYOID);

constexpr Statement kDeleteOwner = statement(R"sql(
    DELETE FROM {hub}.slot_owners AS o
     WHERE o.queue {=} $1 AND o.owner {=} $2
)sql",
                                             TEXTOID, TEXTOID);

constexpr Statement kDeleteShares = statement(R"sql(
    DELETE FROM {hub}.slot_shares AS s
     WHERE s.queue {=} $1 AND s.owner {=} $2
)sql",
                                              TEXTOID, TEXTOID);

constexpr Statement kDeleteAllOwners = statement(R"sql(
    DELETE FROM {hub}.slot_owners AS o
)sql");

constexpr Statement kDeleteAllShares = statement(R"sql(
    DELETE FROM {hub}.slot_shares AS s
)sql");

constexpr Statement kCountLive = statement(R"sql(
    SELECT pg_catalog.count(*)
      FROM {hub}.slot_owners AS o
     WHERE o.locked_until {>} $1 AND o.lease_inc {=} $2
)sql",
                                           INT8OID, INT4OID);

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
        const Rows owner_rows = run(hub, kOwners, Params().text(name_of(queue)));
        auto* owners = static_cast<SlotOwner*>(palloc(sizeof(SlotOwner) * (owner_rows.count + 1)));
        for (uint64 i = 0; i < owner_rows.count; ++i) {
            owners[i] = {owner_rows.text(i, 1), owner_rows.int8(i, 2), owner_rows.int4(i, 3)};
        }
        const Rows share_rows = run(hub, kShares, Params().text(name_of(queue)));
        auto* shares = static_cast<SlotShare*>(palloc(sizeof(SlotShare) * (share_rows.count + 1)));
        for (uint64 i = 0; i < share_rows.count; ++i) {
            shares[i] = {share_rows.int2(i, 1), share_rows.text(i, 2)};
        }
        return SlotState{{owners, static_cast<std::size_t>(owner_rows.count)},
                         {shares, static_cast<std::size_t>(share_rows.count)}};
    });
}

void set_slot_owner(const Hub& hub, Queue queue, std::string_view owner, int64 locked_until) {
    run_for_one(hub, kSetOwner,
                Params().text(name_of(queue)).text(owner).int8(locked_until).int4(hub.incarnation));
}

void set_slot_shares(const Hub& hub, Queue queue, std::span<const SlotShare> shares) {
    auto* slots = static_cast<int16*>(palloc(sizeof(int16) * (shares.size() + 1)));
    auto* owners =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (shares.size() + 1)));
    for (std::size_t i = 0; i < shares.size(); ++i) {
        slots[i] = static_cast<int16>(shares[i].slot);
        owners[i] = shares[i].owner;
    }
    run(hub, kSetShares,
        Params()
            .text(name_of(queue))
            .datum(int2_array({slots, shares.size()}))
            .datum(text_array({owners, shares.size()})));
}

void delete_slot_owners(const Hub& hub, Queue queue, std::span<const std::string_view> owners) {
    run(hub, kDeleteOwners, Params().text(name_of(queue)).datum(text_array(owners)));
}

void delete_slot_owner(const Hub& hub, Queue queue, std::string_view owner) {
    run(hub, kDeleteShares, Params().text(name_of(queue)).text(owner));
    run(hub, kDeleteOwner, Params().text(name_of(queue)).text(owner));
}

void delete_slots(const Hub& hub) {
    run(hub, kDeleteAllShares);
    run(hub, kDeleteAllOwners);
}

int64 count_live_slot_owners(const Hub& hub, int64 now) {
    return run(hub, kCountLive, Params().int8(now).int4(hub.incarnation)).int8(0, 1);
}

}  // namespace belay::store
