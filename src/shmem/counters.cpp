// Counters of hubs: what a transaction counts in the session, and the slots that it is added to.
//
// Touches belay's shared memory only. Locks: that of the table of slots, to find, take or free one;
// numbers are added without a lock. Must not raise after the end of a transaction.
#include "shmem/counters.hpp"

#include <algorithm>

#include "pg/settings.hpp"
#include "shmem/shared_memory.hpp"
#include "shmem/table.hpp"
#include "shmem/task_stats.hpp"

namespace belay::counters {

namespace {

struct SharedDurations {
    pg_atomic_uint64 buckets[core::kDurationBuckets];
    pg_atomic_uint64 sum_ms;
};

struct HubKey {
    Oid database;
    Oid hub;
};

struct Slot {
    pg_atomic_uint64 owner;  // which hub, as owner_of; 0 while the slot is free
    pg_atomic_uint64 reset_at;
    pg_atomic_uint64 values[kQueues][kCounters];
    SharedDurations durations[kQueues][kDurations];
};
using Slots = shmem::Table<HubKey, Slot>;

struct Shared {
    LWLock lock;  // of the table; counting in a slot that the session knows needs none
    // Slots
};

constinit Shared* shared = nullptr;

Size bytes() {
    return MAXALIGN(sizeof(Shared)) + Slots::bytes(pg::settings.counter_slots);
}

Slots* slots() {
    return reinterpret_cast<Slots*>(reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared)));
}

// Calls visit(number) for all numbers of a slot.
template <typename Visit>
void each_number(Slot* slot, Visit visit) {
    for (auto& queue : slot->values) {
        for (auto& value : queue) {
            visit(&value);
        }
    }
    for (auto& queue : slot->durations) {
        for (auto& duration : queue) {
            for (auto& bucket : duration.buckets) {
                visit(&bucket);
            }
            visit(&duration.sum_ms);
        }
    }
}

void init(void* piece) {
    shared = static_cast<Shared*>(piece);
    LWLockInitialize(&shared->lock, shmem::lock_tranche());
    (void)Slots::make(slots(), pg::settings.counter_slots);
}

void use(void* piece) {
    shared = static_cast<Shared*>(piece);
}

uint64 owner_of(const HubKey& key) {
    return static_cast<uint64>(key.database) << 32 | key.hub;
}

void clear(Slot* slot) {
    pg_atomic_write_u64(&slot->reset_at, static_cast<uint64>(GetCurrentTimestamp()));
    each_number(slot, [](pg_atomic_uint64* number) { pg_atomic_write_u64(number, 0); });
}

// The lock is held.
void free_slot(Slot* slot) {
    pg_atomic_write_u64(&slot->owner, 0);
    slots()->erase(slot);
}

void free_slot_of(const HubKey& key) {
    task_stats::free_hub(key.database, key.hub);
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    if (Slot* slot = slots()->find(key)) {
        free_slot(slot);
    }
    LWLockRelease(&shared->lock);
}

// Where this session last found slots, by the hub's oid. A slot says itself whose it is.
constexpr int kRemembered = 8;
constinit int32 remembered[kRemembered] = {};

Slot* make_slot(const HubKey& key, uint64 hash) {
    Slot* slot = slots()->insert(key, hash, shmem::WhenFull::kRefuse);
    if (slot != nullptr) {
        pg_atomic_init_u64(&slot->reset_at, static_cast<uint64>(GetCurrentTimestamp()));
        each_number(slot, [](pg_atomic_uint64* number) { pg_atomic_init_u64(number, 0); });
        pg_atomic_init_u64(&slot->owner, 0);
        pg_write_barrier();
        pg_atomic_write_u64(&slot->owner, owner_of(key));
    }
    return slot;
}

// The slot of a hub; with make a free one is taken. Null: none, or no room.
Slot* find_slot(const HubKey& key, bool make) {
    int32* known = &remembered[key.hub % kRemembered];
    Slot* slot = slots()->at(*known);
    if (pg_atomic_read_u64(&slot->owner) == owner_of(key)) {
        return slot;
    }
    const uint64 hash = Slots::hash(key);
    LWLockAcquire(&shared->lock, LW_SHARED);
    slot = slots()->find(key, hash);
    const bool has_room = slots()->size() < slots()->capacity();
    LWLockRelease(&shared->lock);
    if (slot == nullptr && make && has_room) {
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        slot = slots()->find(key, hash);
        if (slot == nullptr) {
            slot = make_slot(key, hash);
        }
        LWLockRelease(&shared->lock);
    }
    if (slot != nullptr) {
        *known = slots()->number_of(slot);
    }
    return slot;
}

// ---------------------------------------------------------------- counts of this transaction

// What a level of the transaction has counted in a hub.
struct Pending {
    Oid hub;
    int level;
    bool forgotten;  // the hub was dropped
    bool timed;      // there are durations
    int64 values[kQueues][kCounters];
    DurationCounts durations[kQueues][kDurations];
};

// In the transaction's memory, or null.
constinit Pending* pending = nullptr;
constinit int pending_count = 0;
constinit int pending_size = 0;

bool survives_rollback(int counter) {
    return counter == static_cast<int>(Counter::kLostLeases) ||
           counter == static_cast<int>(Counter::kEmptyFetches);
}

Pending* find_pending(Oid hub, int level) {
    for (int i = 0; i < pending_count; ++i) {
        if (pending[i].hub == hub && pending[i].level == level) {
            return &pending[i];
        }
    }
    return nullptr;
}

// Where this level counts.
Pending* pending_of(Oid hub) {
    const int level = GetCurrentTransactionNestLevel();
    if (Pending* found = find_pending(hub, level)) {
        return found;
    }
    if (pending_count == pending_size) {
        const int size = pending_size == 0 ? 4 : pending_size * 2;
        const Size wanted = sizeof(Pending) * static_cast<Size>(size);
        pending = static_cast<Pending*>(pending == nullptr
                                            ? MemoryContextAlloc(TopTransactionContext, wanted)
                                            : repalloc(pending, wanted));
        pending_size = size;
    }
    Pending* made = &pending[pending_count++];
    *made = {};
    made->hub = hub;
    made->level = level;
    return made;
}

void add(const Pending& from, Pending* to) {
    to->forgotten = to->forgotten || from.forgotten;
    to->timed = to->timed || from.timed;
    for (int queue = 0; queue < kQueues; ++queue) {
        for (int counter = 0; counter < kCounters; ++counter) {
            to->values[queue][counter] += from.values[queue][counter];
        }
        for (int i = 0; from.timed && i < kDurations; ++i) {
            for (int bucket = 0; bucket < core::kDurationBuckets; ++bucket) {
                to->durations[queue][i].buckets[bucket] += from.durations[queue][i].buckets[bucket];
            }
            to->durations[queue][i].sum_ms += from.durations[queue][i].sum_ms;
        }
    }
}

// Leaves what is counted of something that was undone. False: nothing.
bool undo(Pending* undone) {
    bool any = false;
    for (auto& queue : undone->values) {
        for (int counter = 0; counter < kCounters; ++counter) {
            if (!survives_rollback(counter)) {
                queue[counter] = 0;
            }
            any = any || queue[counter] != 0;
        }
    }
    undone->forgotten = false;
    undone->timed = false;
    memset(undone->durations, 0, sizeof undone->durations);
    return any;
}

void publish(const Pending& counts, Slot* slot) {
    for (int queue = 0; queue < kQueues; ++queue) {
        for (int counter = 0; counter < kCounters; ++counter) {
            if (const int64 value = counts.values[queue][counter]; value != 0) {
                pg_atomic_fetch_add_u64(&slot->values[queue][counter], value);
            }
        }
        for (int i = 0; counts.timed && i < kDurations; ++i) {
            const DurationCounts& from = counts.durations[queue][i];
            SharedDurations& to = slot->durations[queue][i];
            for (int bucket = 0; bucket < core::kDurationBuckets; ++bucket) {
                if (from.buckets[bucket] != 0) {
                    pg_atomic_fetch_add_u64(&to.buckets[bucket], from.buckets[bucket]);
                }
            }
            if (from.sum_ms != 0) {
                pg_atomic_fetch_add_u64(&to.sum_ms, from.sum_ms);
            }
        }
    }
}

// A transaction that did not commit takes no slot, and frees none: its hub may never have been, or
// may stay. How a prepared one ends is not known here.
void flush(pg::Ending ending) {
    const bool committed = ending == pg::Ending::kCommit;
    const bool counts_stay = ending != pg::Ending::kAbort;
    for (int i = 0; i < pending_count; ++i) {
        Pending& counts = pending[i];
        const HubKey key{MyDatabaseId, counts.hub};
        if (counts_stay && counts.forgotten) {
            if (committed) {
                free_slot_of(key);
            }
        } else if (counts_stay || undo(&counts)) {
            if (Slot* slot = find_slot(key, committed)) {
                publish(counts, slot);
            }
        }
    }
}

void at_end(pg::Ending ending) {
    flush(ending);
    pending = nullptr;
    pending_count = 0;
    pending_size = 0;
}

// The counts of a level that ends go to the level above it, as far as they count at all.
void at_subtransaction_end(bool commits) {
    const int level = GetCurrentTransactionNestLevel();
    int kept = 0;
    for (int i = 0; i < pending_count; ++i) {
        Pending& counts = pending[i];
        if (counts.level >= level) {
            if (!commits && !undo(&counts)) {
                continue;
            }
            counts.level = level - 1;
            Pending* above = nullptr;
            for (int k = 0; k < kept; ++k) {
                above = pending[k].hub == counts.hub && pending[k].level == counts.level
                            ? &pending[k]
                            : above;
            }
            if (above != nullptr) {
                add(counts, above);
                continue;
            }
        }
        if (kept != i) {
            pending[kept] = counts;
        }
        ++kept;
    }
    pending_count = kept;
}

bool is_attached() {
    return shared != nullptr || shmem::attach();
}

}  // namespace

void add(Oid hub, Queue queue, Counter counter, int64 by) {
    if (by != 0 && is_attached()) {
        pending_of(hub)->values[static_cast<int>(queue)][static_cast<int>(counter)] += by;
    }
}

void add_duration(Oid hub, Queue queue, Duration duration, int64 ms) {
    if (is_attached()) {
        Pending* counts = pending_of(hub);
        DurationCounts& to = counts->durations[static_cast<int>(queue)][static_cast<int>(duration)];
        counts->timed = true;
        ++to.buckets[core::duration_bucket(ms)];
        to.sum_ms += std::max<int64>(0, ms);
    }
}

void add_now(Oid database, Oid hub, Queue queue, Counter counter, int64 by) {
    if (shared == nullptr || by == 0) {
        return;
    }
    if (Slot* slot = find_slot({database, hub}, true)) {
        pg_atomic_fetch_add_u64(&slot->values[static_cast<int>(queue)][static_cast<int>(counter)],
                                by);
    }
}

void add_duration_now(Oid database, Oid hub, Queue queue, Duration duration, int64 ms) {
    if (shared == nullptr) {
        return;
    }
    if (Slot* slot = find_slot({database, hub}, true)) {
        SharedDurations& to = slot->durations[static_cast<int>(queue)][static_cast<int>(duration)];
        pg_atomic_fetch_add_u64(&to.buckets[core::duration_bucket(ms)], 1);
        pg_atomic_fetch_add_u64(&to.sum_ms, std::max<int64>(0, ms));
    }
}

bool read(Oid hub, HubCounts* counts) {
    *counts = {};
    if (!is_attached()) {
        return false;
    }
    Slot* slot = find_slot({MyDatabaseId, hub}, false);
    if (slot == nullptr) {
        counts->reset_at = shmem::since();
        return used_slots() < slots()->capacity();
    }
    counts->reset_at = static_cast<TimestampTz>(pg_atomic_read_u64(&slot->reset_at));
    for (int queue = 0; queue < kQueues; ++queue) {
        for (int counter = 0; counter < kCounters; ++counter) {
            counts->values[queue][counter] =
                static_cast<int64>(pg_atomic_read_u64(&slot->values[queue][counter]));
        }
        for (int i = 0; i < kDurations; ++i) {
            SharedDurations& from = slot->durations[queue][i];
            DurationCounts& to = counts->durations[queue][i];
            for (int bucket = 0; bucket < core::kDurationBuckets; ++bucket) {
                to.buckets[bucket] = static_cast<int64>(pg_atomic_read_u64(&from.buckets[bucket]));
            }
            to.sum_ms = static_cast<int64>(pg_atomic_read_u64(&from.sum_ms));
        }
    }
    return true;
}

void reset() {
    if (!is_attached()) {
        return;
    }
    task_stats::reset();
    LWLockAcquire(&shared->lock, LW_SHARED);
    slots()->each([](const HubKey& key, Slot* slot) {
        if (key.database == MyDatabaseId) {
            clear(slot);
        }
    });
    LWLockRelease(&shared->lock);
}

void forget_at_commit(Oid hub) {
    if (is_attached()) {
        pending_of(hub)->forgotten = true;
    }
}

int64 used_slots() {
    if (!is_attached()) {
        return 0;
    }
    LWLockAcquire(&shared->lock, LW_SHARED);
    const int used = slots()->size();
    LWLockRelease(&shared->lock);
    return used;
}

std::span<const Oid> hubs() {
    if (!is_attached()) {
        return {};
    }
    // Nothing is allocated under the lock. A hub whose tasks alone found room has no slot here.
    const auto others = task_stats::hubs();
    auto* found = static_cast<Oid*>(
        palloc(sizeof(Oid) * (static_cast<Size>(slots()->capacity()) + others.size())));
    std::copy(others.begin(), others.end(), found);
    std::size_t count = others.size();
    LWLockAcquire(&shared->lock, LW_SHARED);
    slots()->each([&](const HubKey& key, const Slot*) {
        if (key.database == MyDatabaseId) {
            found[count++] = key.hub;
        }
    });
    LWLockRelease(&shared->lock);
    return {found, count};
}

void forget(std::span<const Oid> counted, std::span<const Oid> hubs) {
    for (const Oid hub : counted) {
        if (std::find(hubs.begin(), hubs.end(), hub) == hubs.end()) {
            free_slot_of({MyDatabaseId, hub});
        }
    }
}

void forget_database(Oid database) {
    if (shared == nullptr) {
        return;
    }
    task_stats::free_database(database);
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    slots()->each([database](const HubKey& key, Slot* slot) {
        if (key.database == database) {
            free_slot(slot);
        }
    });
    LWLockRelease(&shared->lock);
}

void install() {
    shmem::add_piece({bytes, init, use});
}

constinit const pg::Participant kParticipant{
    .before_end = nullptr,
    .at_end = at_end,
    .at_subtransaction_end = at_subtransaction_end,
    .after_locks = nullptr,
};

}  // namespace belay::counters
