#include "pg/counters.hpp"

#include "core/hash.hpp"
#include "pg/shared_memory.hpp"

namespace belay::pg {

namespace {

constexpr int kSlots = 2048;

// A slot belongs to the hub whose key it has; 0 is free. Slots are taken and never given back
// before the server stops: a hub that is dropped and made again has another key.
struct Slot {
    pg_atomic_uint64 key;
    pg_atomic_uint64 reset_at;
    pg_atomic_uint64 values[kCountedQueues][kCounters];
};

struct Shared {
    Slot slots[kSlots];
};

constinit Shared* shared = nullptr;

Size bytes() {
    return sizeof(Shared);
}

void init(void* piece) {
    shared = static_cast<Shared*>(piece);
    for (Slot& slot : shared->slots) {
        pg_atomic_init_u64(&slot.key, 0);
        pg_atomic_init_u64(&slot.reset_at, static_cast<uint64>(GetCurrentTimestamp()));
        for (auto& queue : slot.values) {
            for (auto& value : queue) {
                pg_atomic_init_u64(&value, 0);
            }
        }
    }
}

void use(void* piece) {
    shared = static_cast<Shared*>(piece);
}

uint64 key_of(Oid database, Oid hub) {
    return static_cast<uint64>(database) << 32 | hub;
}

// The slot of a hub; with make a free one is taken. Null: none, or no room.
Slot* find_slot(uint64 key, bool make) {
    constexpr int kProbes = 64;
    const uint64 hash = core::fnv1a64({reinterpret_cast<const char*>(&key), sizeof key});
    for (uint64 i = 0; i < kProbes; ++i) {
        Slot* slot = &shared->slots[(hash + i) % kSlots];
        uint64 found = pg_atomic_read_u64(&slot->key);
        if (found == 0 && make &&
            (pg_atomic_compare_exchange_u64(&slot->key, &found, key) || found == key)) {
            return slot;
        }
        if (found == key) {
            return slot;
        }
        if (found == 0 && !make) {
            return nullptr;
        }
    }
    return nullptr;
}

// ---------------------------------------------------------------- counts of this transaction

struct Pending {
    Oid hub;
    int64 values[kCountedQueues][kCounters];
};

constexpr int kMaxPending = 8;
constinit Pending pending[kMaxPending] = {};
constinit int pending_count = 0;

bool survives_rollback(int counter) {
    return counter == static_cast<int>(Counter::kLostLeases) ||
           counter == static_cast<int>(Counter::kEmptyFetches);
}

void flush(bool committed) {
    for (int i = 0; i < pending_count; ++i) {
        Slot* slot = find_slot(key_of(MyDatabaseId, pending[i].hub), true);
        for (int queue = 0; slot != nullptr && queue < kCountedQueues; ++queue) {
            for (int counter = 0; counter < kCounters; ++counter) {
                const int64 value = pending[i].values[queue][counter];
                if (value != 0 && (committed || survives_rollback(counter))) {
                    pg_atomic_fetch_add_u64(&slot->values[queue][counter], value);
                }
            }
        }
    }
    pending_count = 0;
}

extern "C" void belay_flush_counters(XactEvent event, void*) {
    if (pending_count == 0) {
        return;
    }
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
            break;
    }
}

}  // namespace

void count(Oid hub, CountedQueue queue, Counter counter, int64 by) {
    if (shared == nullptr && !attach_shared_memory()) {
        return;
    }
    Pending* mine = nullptr;
    for (int i = 0; i < pending_count && mine == nullptr; ++i) {
        mine = pending[i].hub == hub ? &pending[i] : nullptr;
    }
    if (mine == nullptr) {
        if (pending_count == kMaxPending) {
            flush(true);  // a transaction over very many hubs
        }
        mine = &pending[pending_count++];
        *mine = {};
        mine->hub = hub;
    }
    mine->values[static_cast<int>(queue)][static_cast<int>(counter)] += by;
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

bool read_counts(Oid hub, HubCounts* counts) {
    *counts = {};
    if (shared == nullptr && !attach_shared_memory()) {
        return false;
    }
    if (Slot* slot = find_slot(key_of(MyDatabaseId, hub), true)) {
        counts->reset_at = static_cast<TimestampTz>(pg_atomic_read_u64(&slot->reset_at));
        for (int queue = 0; queue < kCountedQueues; ++queue) {
            for (int counter = 0; counter < kCounters; ++counter) {
                counts->values[queue][counter] =
                    static_cast<int64>(pg_atomic_read_u64(&slot->values[queue][counter]));
            }
        }
    }
    return true;
}

void reset_counts() {
    if (shared == nullptr && !attach_shared_memory()) {
        return;
    }
    for (Slot& slot : shared->slots) {
        if (pg_atomic_read_u64(&slot.key) >> 32 != MyDatabaseId) {
            continue;
        }
        pg_atomic_write_u64(&slot.reset_at, static_cast<uint64>(GetCurrentTimestamp()));
        for (auto& queue : slot.values) {
            for (auto& value : queue) {
                pg_atomic_write_u64(&value, 0);
            }
        }
    }
}

void install_counters() {
    add_shared_piece({bytes, init, use});
    RegisterXactCallback(belay_flush_counters, nullptr);
}

}  // namespace belay::pg
