// Lending a table for direct access, or saying that SQL has to serve.
#pragma once

#include "store/fast/direct_table.hpp"
#include "store/fast/pass_faults.hpp"

namespace belay::store::direct {

// What a direct access found out; no value: SQL has to serve.
template <typename T>
using Answer = std::optional<T>;

// Lends body the table with a new snapshot, or says that SQL has to serve.
template <pg::JumpSafe Body>
auto writing(const Hub& hub, pg::FaultPoint point, DirectId id, Body body)
    -> Answer<std::invoke_result_t<Body, DirectTable&>> {
    Relation heap = open_for_direct_access(hub, id);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(point);
    return with_direct(hub, id, heap, [&body](DirectTable& table) {
        renew_snapshot(&table);
        return body(table);
    });
}

// The same for reading the latest state.
template <pg::JumpSafe Body>
auto looking(const Hub& hub, pg::FaultPoint point, DirectId id, Body body)
    -> Answer<std::invoke_result_t<Body, DirectTable&>> {
    Relation heap = open_for_direct_access(hub, id, AccessShareLock);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(point);
    return with_direct(
        hub, id, heap,
        [&body](DirectTable& table) {
            renew_snapshot(&table);
            return body(table);
        },
        AccessShareLock);
}

// The same for reading what the active snapshot sees.
template <pg::JumpSafe Body>
auto reading(const Hub& hub, pg::FaultPoint point, DirectId id, Body body)
    -> Answer<std::invoke_result_t<Body, DirectTable&>> {
    Relation heap = open_for_direct_access(hub, id, AccessShareLock);
    if (heap == nullptr) {
        return std::nullopt;
    }
    pass_faults(point);
    return with_direct(
        hub, id, heap,
        [&body](DirectTable& table) {
            use_active_snapshot(&table);
            return body(table);
        },
        AccessShareLock);
}

}  // namespace belay::store::direct
