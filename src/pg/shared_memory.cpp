#include "pg/shared_memory.hpp"

#include "pg/boundary.hpp"
#include "pg/faults.hpp"
#include "pg/pg.hpp"

namespace belay::pg {

namespace {

struct SharedState {
    FaultCounts faults;
};

constinit shmem_request_hook_type previous_request = nullptr;
constinit shmem_startup_hook_type previous_startup = nullptr;

extern "C" void belay_shmem_request() {
    if (previous_request != nullptr) {
        previous_request();
    }
    RequestAddinShmemSpace(MAXALIGN(sizeof(SharedState)));
}

extern "C" void belay_shmem_startup() {
    if (previous_startup != nullptr) {
        previous_startup();
    }
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    auto* state = static_cast<SharedState*>(ShmemInitStruct("belay", sizeof(SharedState), &found));
    if (!found) {
        init_fault_counts(&state->faults);
    }
    use_shared_fault_counts(&state->faults);
    LWLockRelease(AddinShmemInitLock);
}

}  // namespace

void request_shared_memory() {
    previous_request = shmem_request_hook;
    shmem_request_hook = belay_shmem_request;
    previous_startup = shmem_startup_hook;
    shmem_startup_hook = belay_shmem_startup;
}

}  // namespace belay::pg
