// Counters of tasks by queue and kind: what a transaction counts in the session, and the slots that
// it is added to.
//
// Touches belay's shared memory only. Locks: that of the table of slots, to find, take or free one;
// numbers are added without a lock. Must not raise after the end of a transaction.
#include "shmem/task_stats.hpp"

#include <algorithm>
#include <tuple>

#include "pg/settings.hpp"
#include "shmem/shared_memory.hpp"
#include "shmem/table.hpp"

namespace belay::task_stats {

namespace {

// Longer names are refused when a task is created; here they would be cut.
constexpr std::size_t kMostQueue = 64;
constexpr std::size_t kMostKind = 200;
// A transaction that counts in more classes counts the rest under kOthers: they are searched
// linearly.
constexpr int kMostPending = 1024;

struct Key {
    Oid database;
    Oid hub;
    uint16 queue_size;
    uint16 kind_size;
    char queue[kMostQueue];
    char kind[kMostKind];

    TaskClass of() const { return {{queue, queue_size}, {kind, kind_size}}; }
};

struct SharedDurations {
    pg_atomic_uint64 buckets[core::kDurationBuckets];
    pg_atomic_uint64 sum_ms;
};

struct Slot {
    pg_atomic_uint64 birth;  // no two that were ever taken have the same; 0 while it is free
    pg_atomic_uint64 reset_at;
    pg_atomic_uint64 values[kCounters];
    SharedDurations durations[counters::kDurations];
};
using Slots = shmem::Table<Key, Slot>;

struct Shared {
    LWLock lock;  // of the table and the numbers below
    uint64 births;
    int32 named;  // slots other than those of kOthers
    // Slots
};

constinit Shared* shared = nullptr;

// Each hub with counters can have a slot for the others.
int capacity() {
    return pg::settings.stat_slots + pg::settings.counter_slots;
}

Size bytes() {
    return MAXALIGN(sizeof(Shared)) + Slots::bytes(capacity());
}

Slots* slots() {
    return reinterpret_cast<Slots*>(reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared)));
}

void init(void* piece) {
    shared = static_cast<Shared*>(piece);
    LWLockInitialize(&shared->lock, shmem::lock_tranche());
    shared->births = 0;
    shared->named = 0;
    (void)Slots::make(slots(), capacity());
}

void use(void* piece) {
    shared = static_cast<Shared*>(piece);
}

bool is_attached() {
    return shared != nullptr || shmem::attach();
}

bool is_others(const TaskClass& of) {
    return of.queue == kOthers && of.kind == kOthers;
}

Key key_of(Oid hub, const TaskClass& of) {
    Key key{};
    key.database = MyDatabaseId;
    key.hub = hub;
    key.queue_size = static_cast<uint16>(std::min(of.queue.size(), kMostQueue));
    key.kind_size = static_cast<uint16>(std::min(of.kind.size(), kMostKind));
    memcpy(key.queue, of.queue.data(), key.queue_size);
    memcpy(key.kind, of.kind.data(), key.kind_size);
    return key;
}

// Of the bytes that names have: most of a key is empty.
uint64 hash_of(Oid hub, const TaskClass& of) {
    constexpr uint64 kSpread = 0x9e3779b97f4a7c15ULL;
    return (shmem::hash_bytes(of.queue.data(), of.queue.size()) * kSpread ^
            shmem::hash_bytes(of.kind.data(), of.kind.size())) *
               kSpread ^
           (static_cast<uint64>(MyDatabaseId) << 32 | hub) * kSpread;
}

// The lock is held.
void free_slot(const Key& key, Slot* slot) {
    shared->named -= is_others(key.of()) ? 0 : 1;
    pg_atomic_write_u64(&slot->birth, 0);
    slots()->erase(slot);
}

// Frees the slots for which matches(key) holds.
template <typename Matches>
void free_slots(Matches matches) {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    slots()->each([&matches](const Key& key, Slot* slot) {
        if (matches(key)) {
            free_slot(key, slot);
        }
    });
    LWLockRelease(&shared->lock);
}

// The lock is held.
Slot* make_slot(const Key& key, uint64 hash) {
    const bool others = is_others(key.of());
    if (!others && shared->named >= pg::settings.stat_slots) {
        return nullptr;
    }
    Slot* slot = slots()->insert(key, hash, shmem::WhenFull::kRefuse);
    if (slot == nullptr) {
        return nullptr;
    }
    shared->named += others ? 0 : 1;
    pg_atomic_init_u64(&slot->reset_at, static_cast<uint64>(GetCurrentTimestamp()));
    for (auto& value : slot->values) {
        pg_atomic_init_u64(&value, 0);
    }
    for (auto& duration : slot->durations) {
        for (auto& bucket : duration.buckets) {
            pg_atomic_init_u64(&bucket, 0);
        }
        pg_atomic_init_u64(&duration.sum_ms, 0);
    }
    pg_atomic_init_u64(&slot->birth, 0);
    pg_write_barrier();
    pg_atomic_write_u64(&slot->birth, ++shared->births);
    return slot;
}

// Where this session last found slots. A slot says itself whether it is still the same one.
struct Remembered {
    uint64 hash;
    uint64 birth;
    int32 number;
};
constexpr std::size_t kRemembered = 64;
constinit Remembered remembered[kRemembered] = {};

// The slot of a class; with make a free one is taken, or that of the others. Null: none.
Slot* find_slot(Oid hub, const TaskClass& of, uint64 hash, bool make) {
    Remembered* known = &remembered[hash % kRemembered];
    if (known->hash == hash && known->birth != 0) {
        Slot* slot = slots()->at(known->number);
        if (pg_atomic_read_u64(&slot->birth) == known->birth) {
            return slot;
        }
    }
    const Key key = key_of(hub, of);
    LWLockAcquire(&shared->lock, LW_SHARED);
    Slot* slot = slots()->find(key, hash);
    const bool has_room = is_others(of) || shared->named < pg::settings.stat_slots;
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
        *known = {hash, pg_atomic_read_u64(&slot->birth), slots()->number_of(slot)};
        return slot;
    }
    const TaskClass others{kOthers, kOthers};
    return is_others(of) ? nullptr : find_slot(hub, others, hash_of(hub, others), make);
}

// ---------------------------------------------------------------- counts of this transaction

// What a level of the transaction has counted of a class.
struct Pending {
    uint64 hash;
    Oid hub;
    int level;
    TaskClass of;  // in the transaction's memory
    bool timed;    // there are durations
    int64 values[kCounters];
    int64 sums_ms[counters::kDurations];
    int32 buckets[counters::kDurations][core::kDurationBuckets];
};

// In the transaction's memory, or null.
constinit Pending* pending = nullptr;
constinit int pending_count = 0;
constinit int pending_size = 0;
constinit int last_used = 0;

std::string_view copied(std::string_view name) {
    auto* copy = static_cast<char*>(MemoryContextAlloc(TopTransactionContext, name.size() + 1));
    memcpy(copy, name.data(), name.size());
    return {copy, name.size()};
}

Pending* find_pending(uint64 hash, int level, int count) {
    const auto is = [hash, level](const Pending& one) {
        return one.hash == hash && one.level == level;
    };
    if (last_used < count && is(pending[last_used])) {
        return &pending[last_used];
    }
    for (int i = 0; i < count; ++i) {
        if (is(pending[i])) {
            last_used = i;
            return &pending[i];
        }
    }
    return nullptr;
}

// Where this level counts.
Pending* pending_of(Oid hub, const TaskClass& of) {
    const int level = GetCurrentTransactionNestLevel();
    const uint64 hash = hash_of(hub, of);
    if (Pending* found = find_pending(hash, level, pending_count)) {
        return found;
    }
    if (pending_count >= kMostPending && !is_others(of)) {
        return pending_of(hub, {kOthers, kOthers});
    }
    if (pending_count == pending_size) {
        const int size = pending_size == 0 ? 4 : pending_size * 2;
        const Size wanted = sizeof(Pending) * static_cast<Size>(size);
        pending = static_cast<Pending*>(pending == nullptr
                                            ? MemoryContextAlloc(TopTransactionContext, wanted)
                                            : repalloc(pending, wanted));
        pending_size = size;
    }
    const TaskClass kept{copied(of.queue), copied(of.kind)};
    last_used = pending_count++;
    Pending* made = &pending[last_used];
    *made = {};
    made->hash = hash;
    made->hub = hub;
    made->level = level;
    made->of = kept;
    return made;
}

void merge(const Pending& from, Pending* to) {
    for (int i = 0; i < kCounters; ++i) {
        to->values[i] += from.values[i];
    }
    to->timed = to->timed || from.timed;
    for (int i = 0; from.timed && i < counters::kDurations; ++i) {
        for (int bucket = 0; bucket < core::kDurationBuckets; ++bucket) {
            to->buckets[i][bucket] += from.buckets[i][bucket];
        }
        to->sums_ms[i] += from.sums_ms[i];
    }
}

void publish(const Pending& counts, Slot* slot) {
    for (int i = 0; i < kCounters; ++i) {
        if (counts.values[i] != 0) {
            pg_atomic_fetch_add_u64(&slot->values[i], counts.values[i]);
        }
    }
    for (int i = 0; counts.timed && i < counters::kDurations; ++i) {
        for (int bucket = 0; bucket < core::kDurationBuckets; ++bucket) {
            if (counts.buckets[i][bucket] != 0) {
                pg_atomic_fetch_add_u64(&slot->durations[i].buckets[bucket],
                                        counts.buckets[i][bucket]);
            }
        }
        if (counts.sums_ms[i] != 0) {
            pg_atomic_fetch_add_u64(&slot->durations[i].sum_ms, counts.sums_ms[i]);
        }
    }
}

// A transaction that did not commit takes no slot: its hub may never have been. How a prepared one
// ends is not known here.
void at_end(pg::Ending ending) {
    for (int i = 0; ending != pg::Ending::kAbort && i < pending_count; ++i) {
        const Pending& counts = pending[i];
        if (Slot* slot =
                find_slot(counts.hub, counts.of, counts.hash, ending == pg::Ending::kCommit)) {
            publish(counts, slot);
        }
    }
    pending = nullptr;
    pending_count = 0;
    pending_size = 0;
}

// The counts of a level that commits go to the level above it.
void at_subtransaction_end(bool commits) {
    const int level = GetCurrentTransactionNestLevel();
    int kept = 0;
    for (int i = 0; i < pending_count; ++i) {
        Pending& counts = pending[i];
        if (counts.level >= level) {
            if (!commits) {
                continue;
            }
            counts.level = level - 1;
            if (Pending* above = find_pending(counts.hash, counts.level, kept)) {
                merge(counts, above);
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

}  // namespace

void add(Oid hub, const TaskClass& of, Counter counter, int64 by) {
    if (by != 0 && is_attached()) {
        pending_of(hub, of)->values[static_cast<int>(counter)] += by;
    }
}

void add_duration(Oid hub, const TaskClass& of, counters::Duration duration, int64 ms) {
    if (is_attached()) {
        Pending* counts = pending_of(hub, of);
        counts->timed = true;
        ++counts->buckets[static_cast<int>(duration)][core::duration_bucket(ms)];
        counts->sums_ms[static_cast<int>(duration)] += std::max<int64>(0, ms);
    }
}

void Counts::add(const Counts& other) {
    for (int i = 0; i < kCounters; ++i) {
        values[i] += other.values[i];
    }
    for (int i = 0; i < counters::kDurations; ++i) {
        for (int bucket = 0; bucket < core::kDurationBuckets; ++bucket) {
            durations[i].buckets[bucket] += other.durations[i].buckets[bucket];
        }
        durations[i].sum_ms += other.durations[i].sum_ms;
    }
    reset_at = reset_at == 0 ? other.reset_at : std::min(reset_at, other.reset_at);
}

namespace {

void copy_counts(Slot* slot, Counts* counts) {
    const auto read = [](pg_atomic_uint64* number) {
        return static_cast<int64>(pg_atomic_read_u64(number));
    };
    for (int i = 0; i < kCounters; ++i) {
        counts->values[i] = read(&slot->values[i]);
    }
    for (int i = 0; i < counters::kDurations; ++i) {
        for (int bucket = 0; bucket < core::kDurationBuckets; ++bucket) {
            counts->durations[i].buckets[bucket] = read(&slot->durations[i].buckets[bucket]);
        }
        counts->durations[i].sum_ms = read(&slot->durations[i].sum_ms);
    }
    counts->reset_at = read(&slot->reset_at);
}

struct Found {
    Key key;
    Counts counts;
};

// Copies of the slots whose keys match, by hub, queue and kind.
template <typename Matches>
std::span<const Row> find_rows(Matches matches) {
    if (!is_attached()) {
        return {};
    }
    // Nothing is allocated under the lock: what came since the look that counts is left out.
    std::size_t room = 0;
    LWLockAcquire(&shared->lock, LW_SHARED);
    slots()->each([&](const Key& key, const Slot*) { room += matches(key) ? 1 : 0; });
    LWLockRelease(&shared->lock);
    auto* found = static_cast<Found*>(palloc(sizeof(Found) * (room + 1)));
    std::size_t count = 0;
    LWLockAcquire(&shared->lock, LW_SHARED);
    slots()->each([&](const Key& key, Slot* slot) {
        if (matches(key) && count < room) {
            found[count].key = key;
            copy_counts(slot, &found[count++].counts);
        }
    });
    LWLockRelease(&shared->lock);
    auto* rows = static_cast<Row*>(palloc(sizeof(Row) * (count + 1)));
    for (std::size_t i = 0; i < count; ++i) {
        rows[i] = {found[i].key.hub, found[i].key.of(), found[i].counts};
    }
    std::sort(rows, rows + count, [](const Row& a, const Row& b) {
        return std::tie(a.hub, a.of.queue, a.of.kind) < std::tie(b.hub, b.of.queue, b.of.kind);
    });
    return {rows, count};
}

}  // namespace

std::span<const Row> read(Oid hub) {
    return find_rows(
        [hub](const Key& key) { return key.database == MyDatabaseId && key.hub == hub; });
}

std::span<const Row> read_all() {
    return find_rows([](const Key& key) { return key.database == MyDatabaseId; });
}

std::span<const Row> rows_of(std::span<const Row> all, Oid hub) {
    const auto first = std::lower_bound(
        all.begin(), all.end(), hub, [](const Row& row, Oid wanted) { return row.hub < wanted; });
    const auto end =
        std::find_if(first, all.end(), [hub](const Row& row) { return row.hub != hub; });
    return {first, end};
}

void reset() {
    if (is_attached()) {
        free_slots([](const Key& key) { return key.database == MyDatabaseId; });
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
    // Nothing is allocated under the lock.
    auto* found = static_cast<Oid*>(palloc(sizeof(Oid) * static_cast<Size>(slots()->capacity())));
    std::size_t count = 0;
    LWLockAcquire(&shared->lock, LW_SHARED);
    slots()->each([&](const Key& key, const Slot*) {
        if (key.database == MyDatabaseId && (count == 0 || found[count - 1] != key.hub)) {
            found[count++] = key.hub;
        }
    });
    LWLockRelease(&shared->lock);
    return {found, count};
}

void free_hub(Oid database, Oid hub) {
    if (shared != nullptr) {
        free_slots([=](const Key& key) { return key.database == database && key.hub == hub; });
    }
}

void free_database(Oid database) {
    if (shared != nullptr) {
        free_slots([database](const Key& key) { return key.database == database; });
    }
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

}  // namespace belay::task_stats
