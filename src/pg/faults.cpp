// Counting passes of fault points, and failing those that a test has asked for.
//
// Touches  the counts: of the session, or of shared memory once use_fault_counts has been called
// Must not cost more than one load while nothing is to fail
#include "pg/faults.hpp"

namespace belay::pg {

namespace {

constinit FaultCounts session_counts{};
constinit FaultCounts* current = &session_counts;

int code_of(FaultPoint point) {
    switch (point) {
        case FaultPoint::kStoreDisk:
            return ERRCODE_DISK_FULL;
        case FaultPoint::kStoreMemory:
            return ERRCODE_OUT_OF_MEMORY;
        default:
            return ERRCODE_INTERNAL_ERROR;
    }
}

}  // namespace

bool take_one(pg_atomic_uint32* counter) {
    uint32 left = pg_atomic_read_u32(counter);
    while (left > 0) {
        if (pg_atomic_compare_exchange_u32(counter, &left, left - 1)) {
            return true;
        }
    }
    return false;
}

void use_fault_counts(FaultCounts* counts) {
    current = counts;
}

bool fault(FaultPoint point) {
    if (pg_atomic_read_u32(&current->armed) == 0) {
        return false;
    }
    const int at = static_cast<int>(point);
    if (fault_count(point) == 0 || take_one(&current->skips[at]) ||
        !take_one(&current->counts[at])) {
        return false;
    }
    pg_atomic_fetch_sub_u32(&current->armed, 1);
    return true;
}

void fail_here(FaultPoint point) {
    if (fault(point)) {
        ereport(ERROR,
                (errcode(code_of(point)),
                 errmsg("injected fault at \"%s\"", kFaultPointNames[static_cast<int>(point)])));
    }
}

void pass_store_faults() {
    if (pg_atomic_read_u32(&current->armed) == 0) {
        return;
    }
    fail_here(FaultPoint::kStoreCall);
    fail_here(FaultPoint::kStoreDisk);
    fail_here(FaultPoint::kStoreMemory);
}

bool set_fault(std::string_view name, uint32 count, uint32 skip) {
    for (int i = 0; i < kFaultPoints; ++i) {
        if (name == kFaultPointNames[i]) {
            pg_atomic_write_u32(&current->skips[i], skip);
            const uint32 old = pg_atomic_exchange_u32(&current->counts[i], count);
            pg_atomic_fetch_add_u32(&current->armed,
                                    static_cast<int32>(count) - static_cast<int32>(old));
            return true;
        }
    }
    return false;
}

uint32 fault_count(FaultPoint point) {
    return pg_atomic_read_u32(&current->counts[static_cast<int>(point)]);
}

}  // namespace belay::pg
