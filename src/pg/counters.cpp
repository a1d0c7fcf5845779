#include "pg/counters.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "pg/list.hpp"
#include "pg/settings.hpp"
#include "pg/shared_memory.hpp"

namespace belay::pg {

namespace {

struct SharedDurations {
    pg_atomic_uint64 buckets[core::kDurationBuckets];
    pg_atomic_uint64 sum_ms;
};

// A slot belongs to the hub whose key it has; 0 is free.
struct Slot {
    pg_atomic_uint64 key;
    pg_atomic_uint64 reset_at;
    pg_atomic_uint64 values[kCountedQueues][kCounters];
    SharedDurations durations[kCountedQueues][kDurations];
};

struct Shared {
    LWLock lock;  // to take or free a slot; counting needs none
    int slot_count;
    Slot slots[FLEXIBLE_ARRAY_MEMBER];
};

constinit Shared* shared = nullptr;

Size bytes() {
    return add_size(offsetof(Shared, slots),
                    mul_size(static_cast<Size>(settings.counter_slots), sizeof(Slot)));
}

std::span<Slot> slots() {
    return {shared->slots, static_cast<std::size_t>(shared->slot_count)};
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
    LWLockInitialize(&shared->lock, shared_lock_tranche());
    shared->slot_count = settings.counter_slots;
    for (Slot& slot : slots()) {
        pg_atomic_init_u64(&slot.key, 0);
        pg_atomic_init_u64(&slot.reset_at, 0);
        each_number(&slot, [](pg_atomic_uint64* number) { pg_atomic_init_u64(number, 0); });
    }
}

void use(void* piece) {
    shared = static_cast<Shared*>(piece);
}

uint64 key_of(Oid database, Oid hub) {
    return static_cast<uint64>(database) << 32 | hub;
}

void clear(Slot* slot) {
    pg_atomic_write_u64(&slot->reset_at, static_cast<uint64>(GetCurrentTimestamp()));
    each_number(slot, [](pg_atomic_uint64* number) { pg_atomic_write_u64(number, 0); });
}

// The lock is held.
void free_slot(Slot* slot) {
    clear(slot);
    pg_write_barrier();
    pg_atomic_write_u64(&slot->key, 0);
}

// Where a hub's slot is, or may be. Free slots may lie before it: others have given them back.
struct Probe {
    Slot* found;
    Slot* free;
};

Probe probe(uint64 key) {
    constexpr uint64 kMostProbes = 64;
    const auto count = static_cast<uint64>(shared->slot_count);
    const uint64 hash = core::fnv1a64({reinterpret_cast<const char*>(&key), sizeof key});
    Probe result{};
    for (uint64 i = 0; i < std::min(kMostProbes, count); ++i) {
        Slot* slot = &shared->slots[(hash + i) % count];
        const uint64 found = pg_atomic_read_u64(&slot->key);
        if (found == key) {
            result.found = slot;
            return result;
        }
        if (found == 0 && result.free == nullptr) {
            result.free = slot;
        }
    }
    return result;
}

// The slot of a hub; with make a free one is taken. Null: none, or no room.
Slot* find_slot(uint64 key, bool make) {
    Probe result = probe(key);
    if (result.found != nullptr || !make || result.free == nullptr) {
        return result.found;
    }
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    result = probe(key);
    if (result.found == nullptr && result.free != nullptr) {
        result.found = result.free;
        clear(result.found);
        pg_write_barrier();
        pg_atomic_write_u64(&result.found->key, key);
    }
    LWLockRelease(&shared->lock);
    return result.found;
}

// ---------------------------------------------------------------- counts of this transaction

// What a level of the transaction has counted in a hub.
struct Pending {
    Oid hub;
    int level;
    bool forgotten;  // the hub was dropped
    bool timed;      // there are durations
    int64 values[kCountedQueues][kCounters];
    DurationCounts durations[kCountedQueues][kDurations];
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
    for (int queue = 0; queue < kCountedQueues; ++queue) {
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
    for (int queue = 0; queue < kCountedQueues; ++queue) {
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

// A transaction that did not commit takes no slot: its hub may never have been.
void flush(bool committed) {
    for (int i = 0; i < pending_count; ++i) {
        Pending& counts = pending[i];
        const uint64 key = key_of(MyDatabaseId, counts.hub);
        if (committed && counts.forgotten) {
            LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
            if (Slot* slot = probe(key).found) {
                free_slot(slot);
            }
            LWLockRelease(&shared->lock);
        } else if (committed || undo(&counts)) {
            if (Slot* slot = find_slot(key, committed)) {
                publish(counts, slot);
            }
        }
    }
}

extern "C" void belay_flush_counters(XactEvent event, void*) {
    switch (event) {
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_PARALLEL_COMMIT:
        case XACT_EVENT_PREPARE:
            flush(true);
            break;
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PARALLEL_ABORT:
            flush(false);
            break;
        default:
            return;
    }
    pending = nullptr;
    pending_count = 0;
    pending_size = 0;
}

// The counts of a level that ends go to the level above it, as far as they count at all.
extern "C" void belay_end_counting_level(SubXactEvent event, SubTransactionId, SubTransactionId,
                                         void*) {
    if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB) {
        return;
    }
    const int level = GetCurrentTransactionNestLevel();
    int kept = 0;
    for (int i = 0; i < pending_count; ++i) {
        Pending& counts = pending[i];
        if (counts.level >= level) {
            if (event == SUBXACT_EVENT_ABORT_SUB && !undo(&counts)) {
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
    return shared != nullptr || attach_shared_memory();
}

}  // namespace

void count(Oid hub, CountedQueue queue, Counter counter, int64 by) {
    if (by != 0 && is_attached()) {
        pending_of(hub)->values[static_cast<int>(queue)][static_cast<int>(counter)] += by;
    }
}

void count_duration(Oid hub, CountedQueue queue, Duration duration, int64 ms) {
    if (is_attached()) {
        Pending* counts = pending_of(hub);
        DurationCounts& to = counts->durations[static_cast<int>(queue)][static_cast<int>(duration)];
        counts->timed = true;
        ++to.buckets[core::duration_bucket(ms)];
        to.sum_ms += std::max<int64>(0, ms);
    }
}

void count_now(Oid database, Oid hub, CountedQueue queue, Counter counter, int64 by) {
    if (shared == nullptr || by == 0) {
        return;
    }
    if (Slot* slot = find_slot(key_of(database, hub), true)) {
        pg_atomic_fetch_add_u64(&slot->values[static_cast<int>(queue)][static_cast<int>(counter)],
                                by);
    }
}

void count_duration_now(Oid database, Oid hub, CountedQueue queue, Duration duration, int64 ms) {
    if (shared == nullptr) {
        return;
    }
    if (Slot* slot = find_slot(key_of(database, hub), true)) {
        SharedDurations& to = slot->durations[static_cast<int>(queue)][static_cast<int>(duration)];
        pg_atomic_fetch_add_u64(&to.buckets[core::duration_bucket(ms)], 1);
        pg_atomic_fetch_add_u64(&to.sum_ms, std::max<int64>(0, ms));
    }
}

bool read_counts(Oid hub, HubCounts* counts) {
    *counts = {};
    if (!is_attached()) {
        return false;
    }
    const Probe result = probe(key_of(MyDatabaseId, hub));
    if (result.found == nullptr) {
        counts->reset_at = shared_memory_since();
        return result.free != nullptr;
    }
    Slot* slot = result.found;
    counts->reset_at = static_cast<TimestampTz>(pg_atomic_read_u64(&slot->reset_at));
    for (int queue = 0; queue < kCountedQueues; ++queue) {
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

void reset_counts() {
    if (!is_attached()) {
        return;
    }
    for (Slot& slot : slots()) {
        if (pg_atomic_read_u64(&slot.key) >> 32 == MyDatabaseId) {
            clear(&slot);
        }
    }
}

void forget_counts_at_commit(Oid hub) {
    if (is_attached()) {
        pending_of(hub)->forgotten = true;
    }
}

int64 used_counter_slots() {
    int64 used = 0;
    if (is_attached()) {
        for (Slot& slot : slots()) {
            used += pg_atomic_read_u64(&slot.key) != 0 ? 1 : 0;
        }
    }
    return used;
}

std::span<const Oid> counted_hubs() {
    List<Oid> hubs;
    if (is_attached()) {
        for (Slot& slot : slots()) {
            const uint64 key = pg_atomic_read_u64(&slot.key);
            if (key >> 32 == MyDatabaseId) {
                hubs.add(static_cast<Oid>(key));
            }
        }
    }
    return hubs.span();
}

void forget_counts(std::span<const Oid> counted, std::span<const Oid> hubs) {
    for (const Oid hub : counted) {
        if (std::find(hubs.begin(), hubs.end(), hub) != hubs.end()) {
            continue;
        }
        LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
        if (Slot* slot = probe(key_of(MyDatabaseId, hub)).found) {
            free_slot(slot);
        }
        LWLockRelease(&shared->lock);
    }
}

void forget_counts_of_database(Oid database) {
    if (shared == nullptr) {
        return;
    }
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    for (Slot& slot : slots()) {
        if (pg_atomic_read_u64(&slot.key) >> 32 == database) {
            free_slot(&slot);
        }
    }
    LWLockRelease(&shared->lock);
}

void install_counters() {
    add_shared_piece({bytes, init, use});
    RegisterXactCallback(belay_flush_counters, nullptr);
    RegisterSubXactCallback(belay_end_counting_level, nullptr);
}

}  // namespace belay::pg
