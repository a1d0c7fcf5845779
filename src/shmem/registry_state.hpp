// The registry's shared memory: what registry.cpp, portions.cpp and signals.cpp share. Users
// include registry.hpp and signals.hpp.
#pragma once

#include <algorithm>

#include "shmem/registry.hpp"

namespace belay::registry {

inline constexpr int kMostHolds = 64;
inline constexpr int kMostDropped = 64;
inline constexpr int kMostQuarantined = 256;
inline constexpr int kMostWaiting = 256;

// A database that waits for a process.
struct Waiting {
    Oid database;
    pg_atomic_uint32 called;  // a session of the database has rung
};

// A database that workers must leave alone, because a command of that process needs it.
struct Hold {
    Oid database;
    pid_t holder;
    HoldFor purpose;
};

struct Registry {
    LWLock lock;  // guards everything below but the bells
    ConditionVariable left;
    int launcher_procno;  // -1: none
    Wanted wanted;
    Hold holds[kMostHolds];
    Oid dropped[kMostDropped];  // the last ones
    int next_dropped;
    QuarantinedHub quarantined[kMostQuarantined];
    Waiting waiting[kMostWaiting];
    int waiting_count;
    int slot_count;
    WorkerSlot slots[FLEXIBLE_ARRAY_MEMBER];
};

extern Registry* shared;
extern WorkerSlot* mine;

inline std::span<WorkerSlot> slots() {
    return {shared->slots, static_cast<std::size_t>(shared->slot_count)};
}

inline bool is_live(const WorkerSlot& slot) {
    return slot.pid != 0;
}

// Whether the slot is that of this database's worker, and not given up. There is one at most.
inline bool serves_here(const WorkerSlot& slot) {
    return slot.database == MyDatabaseId && is_live(slot) && !slot.stuck;
}

void ring(int procno);

// Whether this transaction holds databases; lets them go. The lock is held for the latter.
bool has_holds();
void release_holds(bool commits);

// Copies a message as far as it fits, without cutting a character.
void copy_message(char* to, std::size_t size, const char* message);

// Puts the hub that answers for the portion into quarantine. Returns how long it rests. The lock is
// held.
int64 quarantine(WorkerSlot* slot, pid_t stuck);
void log_quarantine(const Portion& portion, int64 rest_ms);

}  // namespace belay::registry
