#include "pg/faults.hpp"

namespace belay::pg {

namespace {

constinit FaultCounts session_counts{};
constinit FaultCounts* current = &session_counts;

}  // namespace

void init_fault_counts(FaultCounts* counts) {
    pg_atomic_init_u32(&counts->armed, 0);
    for (auto& count : counts->counts) {
        pg_atomic_init_u32(&count, 0);
    }
}

void use_shared_fault_counts(FaultCounts* counts) {
    current = counts;
}

bool fault(FaultPoint point) {
    if (pg_atomic_read_u32(&current->armed) == 0) {
        return false;
    }
    auto* count = &current->counts[static_cast<int>(point)];
    uint32 left = pg_atomic_read_u32(count);
    while (left > 0) {
        if (pg_atomic_compare_exchange_u32(count, &left, left - 1)) {
            pg_atomic_fetch_sub_u32(&current->armed, 1);
            return true;
        }
    }
    return false;
}

void fail_here(FaultPoint point) {
    if (fault(point)) {
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("injected fault at \"%s\"",
                               kFaultPointNames[static_cast<int>(point)])));
    }
}

bool set_fault(std::string_view name, uint32 count) {
    for (int i = 0; i < kFaultPoints; ++i) {
        if (name == kFaultPointNames[i]) {
            const uint32 old = pg_atomic_exchange_u32(&current->counts[i], count);
            pg_atomic_fetch_add_u32(&current->armed, static_cast<int32>(count) - static_cast<int32>(old));
            return true;
        }
    }
    return false;
}

uint32 fault_count(FaultPoint point) {
    return pg_atomic_read_u32(&current->counts[static_cast<int>(point)]);
}

}  // namespace belay::pg
