// Table instance_locks: the lease of each instance's turn.
//
// Touches  nothing: constants only
#pragma once

#include "store/table/shape.hpp"

namespace belay::store::lock {

inline constexpr Column<INT8OID> kInstanceKey{1, "instance_key"};
inline constexpr Column<INT8OID> kLockedUntil{2, "locked_until"};
inline constexpr Column<INT8OID> kLockedAt{3, "locked_at"};
inline constexpr Column<INT8OID> kLockNo{4, "lock_no"};
inline constexpr Column<INT8OID> kNonceHi{5, "nonce_hi"};
inline constexpr Column<INT8OID> kNonceLo{6, "nonce_lo"};
inline constexpr Column<INT8OID> kCacheOwner{7, "cache_owner"};
inline constexpr Column<INT8OID> kCacheEvent{8, "cache_event"};
inline constexpr Column<INT4OID> kLeaseInc{9, "lease_inc"};
inline constexpr Column<TEXTOID> kInstanceId{10, "instance_id", C_COLLATION_OID};
inline constexpr auto kColumns =
    in_order(kInstanceKey, kLockedUntil, kLockedAt, kLockNo, kNonceHi, kNonceLo, kCacheOwner,
             kCacheEvent, kLeaseInc, kInstanceId);

// The columns at the beginning of a row, as they lie there: never null and of fixed length.
struct Row {
    int64 instance_key;
    int64 locked_until;
    int64 locked_at;
    int64 lock_no;
    uint64 nonce_hi;
    uint64 nonce_lo;
    int64 cache_owner;
    int64 cache_event;
    int32 lease_inc;
};
static_assert(offsetof(Row, lease_inc) == 64);

inline constexpr IndexShape kIndexes[] = {
    {"instance_locks_pkey", true, nullptr, nullptr, 2, {kInstanceKey, kInstanceId}},
};

inline constexpr TableShape kTable{
    "instance_locks", &Relations::instance_locks, kColumns, {}, kIndexes};

}  // namespace belay::store::lock
