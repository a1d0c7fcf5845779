// What the functions on subscriptions share.
#pragma once

#include "core/hash.hpp"
#include "core/token.hpp"
#include "pg/errors.hpp"
#include "pg/locks.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

// All changes of a subscription are made under its key. A row lock would not do: a reader must not
// wait.
inline void lock_subscription(store::Tables& tables, std::string_view name) {
    pg::lock_key(pg::LockSpace::kSubscription, tables.hub.schema, core::fnv1a64(name));
}

inline bool try_lock_subscription(store::Tables& tables, std::string_view name) {
    return pg::try_lock_key(pg::LockSpace::kSubscription, tables.hub.schema, core::fnv1a64(name));
}

inline void unlock_subscription(store::Tables& tables, std::string_view name) {
    pg::unlock_key(pg::LockSpace::kSubscription, tables.hub.schema, core::fnv1a64(name));
}

[[noreturn]] inline void raise_unknown_subscription(const char* path, std::string_view name) {
    pg::raise(pg::kNotFound, psprintf("subscription \"%s\" does not exist", pg::excerpt(name)),
              pg::Facts("subscription").add("path", path).add("value", name),
              "Create it with create_subscription; view subscriptions lists those of the hub.");
}

// Whether the events up to a place are seen already.
inline bool is_seen(const store::Seen& seen, const core::EventPlace& place) {
    if (place.incarnation != seen.incarnation) {
        return place.incarnation < seen.incarnation;
    }
    return place.by_xid
               ? std::pair(place.xid, place.position) <= std::pair(seen.xid, seen.xid_position)
               : place.position <= seen.position;
}

// What is seen once the events up to a place are.
inline store::Seen moved_to(store::Seen seen, const core::EventPlace& place) {
    if (place.incarnation > seen.incarnation) {
        seen = {.incarnation = place.incarnation, .position = 0, .xid = 0, .xid_position = 0};
    }
    if (place.by_xid) {
        seen.xid = place.xid;
        seen.xid_position = place.position;
    } else {
        seen.position = place.position;
    }
    return seen;
}

}  // namespace belay::ops
