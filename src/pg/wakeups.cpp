#include "pg/wakeups.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "pg/boundary.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/counters.hpp"
#include "pg/faults.hpp"
#include "pg/settings.hpp"
#include "pg/shared_memory.hpp"
#include "pg/transaction_end.hpp"
#include "pg/transaction_levels.hpp"
#include "pg/worker_signal.hpp"

namespace belay::pg {

namespace {

// ---------------------------------------------------------------- shared memory

constexpr int kPartitions = 16;
constexpr int kBuckets = 64;        // of channels, per partition
constexpr int kEntries = 256;       // channels per partition
constexpr int kLeaseBuckets = 512;  // per partition
constexpr int kMaxPrepared = 256;
constexpr int32 kNone = -1;
constexpr int64 kRecheckMs = 1000;  // how long a lost wake-up can cost, and
constexpr int64 kGraceMs = 100;     // how long a recheck lets the sessions that were woken fetch
constexpr int kChanges = 64;        // remembered, per partition

struct Entry {
    Channel key;
    int32 next;  // in its bucket, or in the list of free ones
    int32 head;  // nodes of waiters, oldest first
    int32 tail;
    int32 waiters;
    uint64 version;
    int64 looked_at;   // when the tables were last looked at
    int64 moved_at;    // when the version last moved
    int64 recheck_at;  // the version has moved since the look: when to look again
    uint64 due_moves;  // counts what changed due
    int64 due;         // no item falls due before
    int64 lease_due;   // no registered lease ends before
    bool known;        // due and leases have been read from the tables
    bool overflow;     // leases that found no room: the tables have to be asked
    bool prepared_unknown;
    int32 movers;  // transactions that hold rows for a moment, only to move them
    uint64 used;
};

// The last change of a channel that wakes all who wait for it, for whoever begins to wait later.
struct Change {
    Channel channel;
    uint64 version;  // 0: none
    int64 mark;
    WakeReason reason;
};

struct Lease {
    uint64 channel;
    uint64 key;
    uint64 owner;  // name of his channel; 0: nobody to tell
    int64 deadline;
    int64 since;  // when it began, in ms; 0: not known
    int32 next;
};

struct Partition {
    LWLock lock;
    int32 buckets[kBuckets];
    int32 free_entry;
    int32 hand;                // which entries are looked at next for one to forget
    Change changes[kChanges];  // of owners, and those of tasks that have a reason of their own
    uint64 owner_version;      // the last change of an owner that had to give way
    int32 lease_buckets[kLeaseBuckets];
    int32 free_lease;
    int32 lease_count;
    Entry entries[kEntries];
};

// One per process that can wait; its nodes have the numbers procno * kMaxChannels + i.
struct Waiter {
    pg_atomic_uint32 state;
    uint64 since;  // the version of all channels when the wait began
    uint64 hint;   // the version that woke it
    int64 sleeping_until;
};

struct Node {
    int32 next;
    int32 previous;
    int32 entry;
};

struct PreparedNote {
    TransactionId xid;
    int32 items;
    int64 due;
    bool leases;  // granted or moved; the tables know them
    Channel channel;
};

struct Shared {
    pg_atomic_uint64 clock;  // versions of all channels
    pg_atomic_uint32 prepared_count;
    LWLock prepared_lock;
    PreparedNote prepared[kMaxPrepared];
    int leases_per_partition;
    int waiters;
    Partition partitions[kPartitions];
    // Lease[kPartitions * leases_per_partition], Waiter[waiters], Node[waiters * kMaxChannels]
};

constexpr uint32 kIdle = 0;
constexpr uint32 kWaiting = 1;

constinit Shared* shared = nullptr;

int leases_per_partition() {
    return std::max(64, settings.lease_slots / kPartitions);
}

Lease* leases_of(int partition) {
    auto* all =
        reinterpret_cast<Lease*>(reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared)));
    return all + static_cast<std::ptrdiff_t>(partition) * shared->leases_per_partition;
}

Waiter* waiter_table() {
    return reinterpret_cast<Waiter*>(leases_of(kPartitions));
}

Node* node_table() {
    return reinterpret_cast<Node*>(waiter_table() + shared->waiters);
}

Size wake_bytes() {
    const auto waiters = static_cast<Size>(MaxBackends);
    return MAXALIGN(sizeof(Shared)) +
           sizeof(Lease) * static_cast<Size>(leases_per_partition()) * kPartitions +
           sizeof(Waiter) * waiters + sizeof(Node) * waiters * kMaxChannels;
}

void init_wake(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, wake_bytes());
    pg_atomic_init_u64(&shared->clock, 1);
    pg_atomic_init_u32(&shared->prepared_count, 0);
    LWLockInitialize(&shared->prepared_lock, shared_lock_tranche());
    shared->leases_per_partition = leases_per_partition();
    shared->waiters = MaxBackends;
    for (int p = 0; p < kPartitions; ++p) {
        Partition* partition = &shared->partitions[p];
        LWLockInitialize(&partition->lock, shared_lock_tranche());
        std::fill(std::begin(partition->buckets), std::end(partition->buckets), kNone);
        std::fill(std::begin(partition->lease_buckets), std::end(partition->lease_buckets), kNone);
        for (int i = 0; i < kEntries; ++i) {
            partition->entries[i].next = i + 1 < kEntries ? i + 1 : kNone;
        }
        Lease* leases = leases_of(p);
        for (int i = 0; i < shared->leases_per_partition; ++i) {
            leases[i].next = i + 1 < shared->leases_per_partition ? i + 1 : kNone;
        }
    }
    for (int i = 0; i < shared->waiters; ++i) {
        pg_atomic_init_u32(&waiter_table()[i].state, kIdle);
    }
}

void use_wake(void* piece) {
    shared = static_cast<Shared*>(piece);
}

// ---------------------------------------------------------------- channels

uint64 hash_of(const Channel& channel) {
    return core::fnv1a64({reinterpret_cast<const char*>(&channel), sizeof channel});
}

struct Place {
    Partition* partition;
    int number;
    int bucket;
    uint64 hash;
};

Place place_of(const Channel& channel) {
    const uint64 hash = hash_of(channel);
    const auto number = static_cast<int>(hash % kPartitions);
    return {&shared->partitions[number], number, static_cast<int>((hash >> 8) % kBuckets), hash};
}

// The lock of the partition is held by everybody who calls these.
Entry* find_entry(const Place& place, const Channel& channel) {
    for (int32 at = place.partition->buckets[place.bucket]; at != kNone;
         at = place.partition->entries[at].next) {
        if (place.partition->entries[at].key == channel) {
            return &place.partition->entries[at];
        }
    }
    return nullptr;
}

void free_entry(Partition* partition, Entry* entry) {
    const auto at = static_cast<int32>(entry - partition->entries);
    int32* link = &partition->buckets[place_of(entry->key).bucket];
    while (*link != at) {
        link = &partition->entries[*link].next;
    }
    *link = entry->next;
    entry->next = partition->free_entry;
    partition->free_entry = at;
}

uint64 next_version() {
    return pg_atomic_add_fetch_u64(&shared->clock, 1);
}

Change* find_change(Partition* partition, const Channel& channel) {
    auto* end = std::end(partition->changes);
    auto* found = std::find_if(partition->changes, end, [&channel](const Change& change) {
        return change.version != 0 && change.channel == channel;
    });
    return found == end ? nullptr : found;
}

// The oldest one makes room.
void remember_change(Partition* partition, const Change& change) {
    Change* place = find_change(partition, change.channel);
    if (place == nullptr) {
        place = std::min_element(
            partition->changes, std::end(partition->changes),
            [](const Change& a, const Change& b) { return a.version < b.version; });
        if (place->version != 0 && place->channel.topic == Topic::kOwner) {
            partition->owner_version = std::max(partition->owner_version, place->version);
        }
    }
    *place = change;
}

// The version of a new entry. A session may wait for an owner again, and nobody knew its channel
// meanwhile.
uint64 first_version(Partition* partition, const Channel& channel) {
    if (channel.topic != Topic::kOwner) {
        return next_version();
    }
    const Change* change = find_change(partition, channel);
    return std::max(partition->owner_version, change != nullptr ? change->version : 0);
}

// Whether the entry is worth keeping without waiters: queues are asked for again and again.
bool is_queue(const Channel& channel) {
    return channel.topic == Topic::kOrchestrator || channel.topic == Topic::kWorker ||
           channel.topic == Topic::kOutbox || channel.topic == Topic::kLane ||
           channel.topic == Topic::kTaskDue || channel.topic == Topic::kTaskLease;
}

// Makes room by forgetting a channel without waiters: of a few, the one that was used longest ago.
// All entries are in use.
bool evict(Partition* partition) {
    constexpr int kChoices = 8;
    Entry* oldest = nullptr;
    int choices = 0;
    for (int i = 0; i < kEntries && choices < kChoices; ++i) {
        Entry* entry = &partition->entries[partition->hand];
        partition->hand = (partition->hand + 1) % kEntries;
        if (entry->waiters == 0) {
            ++choices;
            oldest = oldest == nullptr || entry->used < oldest->used ? entry : oldest;
        }
    }
    if (oldest == nullptr) {
        return false;
    }
    free_entry(partition, oldest);
    return true;
}

Entry* find_or_make_entry(const Place& place, const Channel& channel) {
    Partition* partition = place.partition;
    if (Entry* entry = find_entry(place, channel)) {
        entry->used = pg_atomic_read_u64(&shared->clock);
        return entry;
    }
    if (partition->free_entry == kNone && !evict(partition)) {
        return nullptr;
    }
    const int32 at = partition->free_entry;
    Entry* entry = &partition->entries[at];
    partition->free_entry = entry->next;
    *entry = {.key = channel,
              .next = partition->buckets[place.bucket],
              .head = kNone,
              .tail = kNone,
              .waiters = 0,
              .version = first_version(partition, channel),
              .looked_at = 0,
              .moved_at = 0,
              .recheck_at = core::kNever,
              .due_moves = 0,
              .due = core::kNever,
              .lease_due = core::kNever,
              .known = !is_queue(channel),
              .overflow = false,
              .prepared_unknown = is_queue(channel) && max_prepared_xacts > 0,
              .movers = 0,
              .used = pg_atomic_read_u64(&shared->clock)};
    partition->buckets[place.bucket] = at;
    return entry;
}

// Something may be new. The sessions that are woken for it get time to fetch before the timekeeper
// looks whether a wake-up was lost: it would meet what they are about to take.
void move(Entry* entry, uint64 version) {
    entry->version = version;
    entry->moved_at = server_now_ms();
    entry->recheck_at = std::min(entry->recheck_at, entry->moved_at + kRecheckMs);
}

void move(Entry* entry) {
    move(entry, next_version());
}

bool is_recheck_due(const Entry& entry, int64 now) {
    const int64 at = entry.overflow || entry.prepared_unknown
                         ? std::min(entry.recheck_at, entry.looked_at + kRecheckMs)
                         : entry.recheck_at;
    return now >= at && (now >= entry.moved_at + kGraceMs || now >= at + kRecheckMs);
}

// ---------------------------------------------------------------- waking

// Counters are kept for queues of work.
void count_event(const Channel& channel, Counter counter, int64 by) {
    if (channel.topic == Topic::kOrchestrator || channel.topic == Topic::kWorker ||
        channel.topic == Topic::kLane) {
        count_now(channel.database, channel.hub,
                  channel.topic == Topic::kWorker ? CountedQueue::kWorker
                  : channel.topic == Topic::kLane ? CountedQueue::kTasks
                                                  : CountedQueue::kOrchestrator,
                  counter, by);
    }
}

void count_run(const Channel& channel, int64 ms) {
    if (channel.topic == Topic::kOrchestrator || channel.topic == Topic::kWorker) {
        count_duration_now(
            channel.database, channel.hub,
            channel.topic == Topic::kWorker ? CountedQueue::kWorker : CountedQueue::kOrchestrator,
            Duration::kRun, ms);
    }
}

uint32 woken_state(int channel, WakeReason reason) {
    return (static_cast<uint32>(channel) + 1) << 8 | static_cast<uint32>(reason);
}

Latch* latch_of(int32 waiter) {
    return &ProcGlobal->allProcs[waiter].procLatch;
}

// Wakes up to so many waiters of the entry, oldest first, that nobody has woken yet and that began
// to wait before a version.
void wake(const Entry& entry, int32 items, WakeReason reason, uint64 version) {
    int64 woken = 0;
    if (entry.key.topic == Topic::kOutbox && items > 0) {
        items = PG_INT32_MAX;  // an event is for every subscription
    }
    for (int32 node = entry.head; node != kNone && items > 0; node = node_table()[node].next) {
        const int32 waiter = node / kMaxChannels;
        if (waiter_table()[waiter].since >= version) {
            continue;
        }
        waiter_table()[waiter].hint = version;
        uint32 expected = kWaiting;
        if (pg_atomic_compare_exchange_u32(&waiter_table()[waiter].state, &expected,
                                           woken_state(node % kMaxChannels, reason))) {
            SetLatch(latch_of(waiter));
            --items;
            ++woken;
        }
    }
    count_event(entry.key, Counter::kWakeUps, woken);
}

// As many as there are new items, or all: whoever waits now.
void wake(const Entry& entry, int32 items, WakeReason reason) {
    wake(entry, items, reason, pg_atomic_read_u64(&shared->clock) + 1);
}

// Lets the waiter who keeps the time plan anew if he sleeps for too long.
void advance_timer(const Entry& entry, int64 at) {
    if (entry.head == kNone) {
        return;
    }
    const int32 waiter = entry.head / kMaxChannels;
    if (waiter_table()[waiter].sleeping_until > at) {
        SetLatch(latch_of(waiter));
    }
}

// ---------------------------------------------------------------- leases

Lease* find_lease(const Place& place, uint64 key, int32** link) {
    Lease* leases = leases_of(place.number);
    *link = &place.partition->lease_buckets[(place.hash ^ key * 0x9e3779b97f4a7c15ULL) >> 16 &
                                            (kLeaseBuckets - 1)];
    while (**link != kNone) {
        Lease* lease = &leases[**link];
        if (lease->channel == place.hash && lease->key == key) {
            return lease;
        }
        *link = &lease->next;
    }
    return nullptr;
}

// Owners whose leases ended without them; told once no lock is held.
struct LostOwners {
    static constexpr int kMost = 64;
    uint64 names[kMost];
    int count = 0;

    void add(uint64 name) {
        if (name != 0 && count < kMost) {
            names[count++] = name;
        }
    }
    void tell(const Channel& queue) const;
};

void set_lease(const Place& place, Entry* entry, uint64 key, int64 deadline, uint64 owner,
               int64 since, LostOwners* lost) {
    int32* link = nullptr;
    Lease* lease = find_lease(place, key, &link);
    const bool found = lease != nullptr;
    Partition* partition = place.partition;
    if (lease == nullptr) {
        if (partition->free_lease == kNone) {
            entry->overflow = true;
            return;
        }
        const int32 at = partition->free_lease;
        lease = &leases_of(place.number)[at];
        partition->free_lease = lease->next;
        ++partition->lease_count;
        *lease = {place.hash, key, owner == kSameOwner ? 0 : owner, deadline, 0, kNone};
        *link = at;
    }
    if (owner != kSameOwner && lease->owner != owner) {
        lost->add(lease->owner);  // taken over
        lease->owner = owner;
    }
    if (found && owner != kSameOwner) {
        count_event(entry->key, Counter::kExpired, 1);
    }
    lease->deadline = deadline;
    lease->since = since != 0 ? since : lease->since;
    if (deadline < entry->lease_due) {
        entry->lease_due = deadline;
        advance_timer(*entry, deadline);
    }
}

void drop_lease(const Place& place, int32* link) {
    Lease* leases = leases_of(place.number);
    const int32 at = *link;
    *link = leases[at].next;
    leases[at].next = place.partition->free_lease;
    place.partition->free_lease = at;
    --place.partition->lease_count;
}

// Returns when the lease began, in ms; 0 if that is not known.
int64 end_lease(const Place& place, uint64 key) {
    int32* link = nullptr;
    const Lease* lease = find_lease(place, key, &link);
    if (lease == nullptr) {
        return 0;
    }
    const int64 since = lease->since;
    drop_lease(place, link);
    return since;
}

// Drops the leases of the channel that are over, and tells how many there were. Afterwards
// lease_due is exact.
int32 expire_leases(const Place& place, Entry* entry, int64 now, LostOwners* lost) {
    Lease* leases = leases_of(place.number);
    int32 expired = 0;
    entry->lease_due = core::kNever;
    for (int32& bucket : place.partition->lease_buckets) {
        for (int32* link = &bucket; *link != kNone;) {
            Lease* lease = &leases[*link];
            if (lease->channel == place.hash && lease->deadline <= now) {
                ++expired;
                lost->add(lease->owner);
                drop_lease(place, link);
                continue;
            }
            if (lease->channel == place.hash) {
                entry->lease_due = std::min(entry->lease_due, lease->deadline);
            }
            link = &lease->next;
        }
    }
    return expired;
}

// Ends the leases of the channel that are over: counts them, and wakes as many waiters.
void end_expired(const Place& place, Entry* entry, int64 now, LostOwners* lost) {
    if (entry->lease_due > now) {
        return;
    }
    if (const int32 expired = expire_leases(place, entry, now, lost)) {
        move(entry);
        wake(*entry, expired, WakeReason::kLeaseExpired);
        count_event(entry->key, Counter::kExpired, expired);
    }
}

void LostOwners::tell(const Channel& queue) const {
    for (int i = 0; i < count; ++i) {
        const Channel channel{queue.database, queue.hub, Topic::kOwner, 0, names[i]};
        const Place place = place_of(channel);
        LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
        const uint64 version = next_version();
        remember_change(place.partition, {channel, version, 0, WakeReason::kLeaseExpired});
        if (Entry* entry = find_entry(place, channel)) {
            move(entry, version);
            wake(*entry, PG_INT32_MAX, WakeReason::kLeaseExpired);
        }
        LWLockRelease(&place.partition->lock);
    }
}

// ---------------------------------------------------------------- notes

enum class NoteKind : uint8 {
    kReady,
    kDue,
    kDueKnown,
    kLease,
    kLeaseOver,
    kHeld,
    kChanged,
    kFreed,
    kMoving
};

struct Note {
    Channel channel;
    NoteKind kind;
    WakeReason reason;
    int32 level;
    int32 items;
    uint64 key;  // of a lease, or a version
    int64 at;    // or the mark of a change
    uint64 owner;
    bool begins;  // of a lease
};

// Kept for the session, so that a commit allocates nothing.
constinit Note* notes = nullptr;
constinit int note_count = 0;
constinit int note_size = 0;

// Without shared memory there is nobody to tell.
bool can_note() {
    return shared != nullptr || attach_shared_memory();
}

Note* add_note(const Channel& channel, NoteKind kind) {
    constexpr int kLookBack = 4;
    const int level = GetCurrentTransactionNestLevel();
    const bool countable = kind == NoteKind::kReady || kind == NoteKind::kHeld;
    for (int i = note_count - 1; countable && i >= 0 && i >= note_count - kLookBack; --i) {
        if (notes[i].kind == kind && notes[i].level == level && notes[i].channel == channel) {
            return &notes[i];
        }
    }
    if (note_count == note_size) {
        const int size = note_size == 0 ? 64 : note_size * 2;
        const Size bytes = sizeof(Note) * static_cast<Size>(size);
        notes = static_cast<Note*>(notes == nullptr ? MemoryContextAlloc(TopMemoryContext, bytes)
                                                    : repalloc(notes, bytes));
        note_size = size;
    }
    notes[note_count] = {channel, kind, WakeReason::kWork, level, 0, 0, 0, 0, false};
    return &notes[note_count++];
}

// The transaction that moved rows has ended.
void end_move(const Note& note) {
    const Place place = place_of(note.channel);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    if (Entry* entry = find_entry(place, note.channel); entry != nullptr && entry->movers > 0) {
        --entry->movers;
    }
    LWLockRelease(&place.partition->lock);
}

// What was held can be taken by others again.
void undo(const Note& note) {
    if (note.kind == NoteKind::kMoving) {
        end_move(note);
        return;
    }
    if (note.kind != NoteKind::kLease && note.kind != NoteKind::kHeld) {
        return;
    }
    const Place place = place_of(note.channel);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    if (Entry* entry = find_entry(place, note.channel)) {
        move(entry);
        wake(*entry, 1, WakeReason::kWork);
    }
    LWLockRelease(&place.partition->lock);
}

void apply(const Note& note) {
    LostOwners lost;
    int64 ended_since = 0;
    const Place place = place_of(note.channel);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    // Nobody waits for a channel that is not there; but the version of a queue must not be lost.
    Entry* entry = is_queue(note.channel) ? find_or_make_entry(place, note.channel)
                                          : find_entry(place, note.channel);
    uint64 version = 0;
    if (note.kind == NoteKind::kChanged) {
        version = next_version();
        if (note.channel.topic == Topic::kOwner ||
            (note.channel.topic == Topic::kTask && note.reason != WakeReason::kChanged)) {
            remember_change(place.partition, {note.channel, version, note.at, note.reason});
        }
    }
    if (entry != nullptr) {
        switch (note.kind) {
            case NoteKind::kReady:
                move(entry);
                if (!fault(FaultPoint::kWakeSkip)) {
                    wake(*entry, note.items, WakeReason::kWork);
                }
                break;
            case NoteKind::kDue:
                ++entry->due_moves;
                if (note.at < entry->due) {
                    entry->due = note.at;
                    advance_timer(*entry, note.at);
                }
                break;
            case NoteKind::kDueKnown:
                if (entry->due_moves + 1 == note.key) {
                    entry->due = note.at;
                    entry->known = true;
                }
                break;
            case NoteKind::kLease:
                set_lease(place, entry, note.key, note.at, note.owner,
                          note.begins ? server_now_ms() : 0, &lost);
                break;
            case NoteKind::kLeaseOver:
                ended_since = end_lease(place, note.key);
                break;
            case NoteKind::kHeld:
                break;
            case NoteKind::kChanged:
                move(entry, version);
                wake(*entry, PG_INT32_MAX, note.reason);
                break;
            case NoteKind::kFreed:
                if (entry->version != note.key) {
                    move(entry);
                    wake(*entry, 1, WakeReason::kWork);
                }
                break;
            case NoteKind::kMoving:
                break;
        }
    }
    LWLockRelease(&place.partition->lock);
    if (ended_since != 0) {
        count_run(note.channel, server_now_ms() - ended_since);
    }
    lost.tell(note.channel);
}

// A prepared transaction ends in some other process, where no callback runs: its wake-ups wait in
// shared memory under its xid. Whoever keeps the time of a channel looks whether it has ended.
void keep_prepared() {
    const TransactionId xid = GetTopTransactionIdIfAny();
    LWLockAcquire(&shared->prepared_lock, LW_EXCLUSIVE);
    for (int i = 0; i < note_count && TransactionIdIsValid(xid); ++i) {
        const auto count = static_cast<int>(pg_atomic_read_u32(&shared->prepared_count));
        if (notes[i].kind == NoteKind::kMoving || notes[i].kind == NoteKind::kLeaseOver ||
            notes[i].kind == NoteKind::kDueKnown || !is_queue(notes[i].channel)) {
            continue;
        }
        PreparedNote* known = nullptr;
        for (int k = 0; k < count; ++k) {
            if (shared->prepared[k].xid == xid && shared->prepared[k].channel == notes[i].channel) {
                known = &shared->prepared[k];
            }
        }
        if (known == nullptr && count < kMaxPrepared) {
            known = &shared->prepared[count];
            *known = {xid, 0, core::kNever, false, notes[i].channel};
            pg_atomic_write_u32(&shared->prepared_count, static_cast<uint32>(count + 1));
        }
        if (known != nullptr) {
            known->items += notes[i].kind == NoteKind::kReady ? notes[i].items : 0;
            known->items += notes[i].kind == NoteKind::kFreed ? 1 : 0;
            if (notes[i].kind == NoteKind::kDue) {
                known->due = std::min(known->due, notes[i].at);
            }
            known->leases = known->leases || notes[i].kind == NoteKind::kLease ||
                            notes[i].kind == NoteKind::kHeld;
        }
    }
    LWLockRelease(&shared->prepared_lock);
}

// After all else: whoever sees that nobody moves rows finds the versions moved.
void end_moves() {
    std::for_each_n(notes, note_count, [](const Note& note) {
        if (note.kind == NoteKind::kMoving) {
            end_move(note);
        }
    });
}

void apply_notes() {
    // What others did since is asked before our own notes move the version.
    bool ring = false;
    for (const bool freed : {true, false}) {
        for (int i = 0; i < note_count; ++i) {
            if ((notes[i].kind == NoteKind::kFreed) == freed) {
                apply(notes[i]);
                ring = ring || notes[i].kind == NoteKind::kReady ||
                       notes[i].kind == NoteKind::kFreed || notes[i].kind == NoteKind::kChanged ||
                       (notes[i].kind == NoteKind::kDue &&
                        notes[i].channel.topic != Topic::kTaskLease);
            }
        }
    }
    end_moves();
    if (ring && settings.notify) {
        wake_worker(Bell::kReady);
    }
}

void at_end(Ending ending) {
    if (note_count == 0) {
        return;
    }
    switch (ending) {
        case Ending::kCommit:
            apply_notes();
            break;
        case Ending::kPrepare:
            end_moves();  // nobody knows when it is committed
            keep_prepared();
            break;
        case Ending::kAbort:
            std::for_each_n(notes, note_count, undo);
            break;
        case Ending::kSubtransactionAbort:
            note_count = end_level(notes, note_count, false, undo);
            return;
    }
    note_count = 0;
}

extern "C" void belay_end_cancelled_wait(XactEvent event, void*) {
    if (event == XACT_EVENT_ABORT) {
        end_wait(false);
    }
}

extern "C" void belay_keep_notes(SubXactEvent event, SubTransactionId, SubTransactionId, void*) {
    if (event == SUBXACT_EVENT_COMMIT_SUB) {
        note_count = end_level(notes, note_count, true, undo);
    }
}

// ---------------------------------------------------------------- what a session remembers

struct Remembered {
    Channel channel;
    uint64 version;
};

constinit HTAB* remembered = nullptr;

// The wake-up that this session has returned and not followed up yet.
constinit Remembered owed{};

HTAB* memory() {
    if (remembered == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(Channel);
        control.entrysize = sizeof(Remembered);
        control.hcxt = TopMemoryContext;
        remembered =
            hash_create("belay waits", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    return remembered;
}

// What the last waits of this session have told of owners. Of fixed size, because a wait may end in
// an error; a session that waits for more owners misses what happens between its waits.
constinit Remembered told_owners[kMaxChannels] = {};
constinit int next_told_owner = 0;

Remembered* find_told_owner(const Channel& channel) {
    for (Remembered& owner : told_owners) {
        if (owner.channel == channel) {
            return &owner;
        }
    }
    return nullptr;
}

// The lowest version counts: what came after it was not told.
void remember_told(const Channel& channel, uint64 version) {
    if (Remembered* known = find_told_owner(channel)) {
        known->version = std::min(known->version, version);
    } else if (Remembered* unused = find_told_owner({})) {
        *unused = {channel, version};
    } else {
        told_owners[next_told_owner] = {channel, version};
        next_told_owner = (next_told_owner + 1) % kMaxChannels;
    }
}

// ---------------------------------------------------------------- waiting

constinit int waiting_count = 0;  // channels of the wait that is on
constinit Channel waiting_for[kMaxChannels] = {};
constinit uint64 told_of[kMaxChannels] = {};  // the version up to which this wait has told of them
constinit bool exit_watched = false;
constinit uint32 sleep_event = 0;

Waiter* me() {
    return &waiter_table()[my_proc_number()];
}

int32 my_node(int channel) {
    return my_proc_number() * kMaxChannels + channel;
}

Entry* entry_of(const Place& place, int channel) {
    return &place.partition->entries[node_table()[my_node(channel)].entry];
}

void unlink(Entry* entry, int32 node) {
    Node* nodes = node_table();
    const bool was_head = entry->head == node;
    (was_head ? entry->head : nodes[nodes[node].previous].next) = nodes[node].next;
    (entry->tail == node ? entry->tail : nodes[nodes[node].next].previous) = nodes[node].previous;
    --entry->waiters;
    if (was_head && entry->head != kNone) {
        SetLatch(latch_of(entry->head / kMaxChannels));  // keeps the time from now on
    }
}

void wait_for_latch(int64 ms) {
    if (sleep_event == 0) {
        sleep_event = wait_event("BelayWaitForWork");
    }
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms),
                    sleep_event);
}

extern "C" void belay_leave_wait(int, Datum) {
    end_wait(false);
}

}  // namespace

void settle_prepared() {
    if (!can_note() || pg_atomic_read_u32(&shared->prepared_count) == 0) {
        return;
    }
    PreparedNote ended[kMaxPrepared];
    int ended_count = 0;
    LWLockAcquire(&shared->prepared_lock, LW_EXCLUSIVE);
    auto count = static_cast<int>(pg_atomic_read_u32(&shared->prepared_count));
    for (int i = 0; i < count;) {
        if (TransactionIdIsInProgress(shared->prepared[i].xid)) {
            ++i;
        } else {
            ended[ended_count++] = shared->prepared[i];
            shared->prepared[i] = shared->prepared[--count];
        }
    }
    pg_atomic_write_u32(&shared->prepared_count, static_cast<uint32>(count));
    LWLockRelease(&shared->prepared_lock);
    for (int i = 0; i < ended_count; ++i) {
        const Place place = place_of(ended[i].channel);
        LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
        if (Entry* entry = find_or_make_entry(place, ended[i].channel)) {
            move(entry);
            ++entry->due_moves;
            entry->due = std::min(entry->due, ended[i].due);
            entry->known = entry->known && !ended[i].leases;
            wake(*entry, ended[i].items, WakeReason::kWork);
        }
        LWLockRelease(&place.partition->lock);
    }
}

Channel channel_of(Oid hub, Topic topic, std::string_view name) {
    return {MyDatabaseId, hub, topic, 0, name.empty() ? 0 : core::fnv1a64(name)};
}

const char* reason_name(WakeReason reason) {
    switch (reason) {
        case WakeReason::kNone:
            break;
        case WakeReason::kWork:
            return "work";
        case WakeReason::kTimer:
            return "timer";
        case WakeReason::kLeaseExpired:
            return "lease_expired";
        case WakeReason::kCancelled:
            return "cancelled";
        case WakeReason::kChanged:
            return "changed";
        case WakeReason::kTimeout:
            return "timeout";
        case WakeReason::kShutdown:
            return "shutdown";
    }
    return "";
}

void note_ready(const Channel& channel, int32 items) {
    if (can_note()) {
        add_note(channel, NoteKind::kReady)->items += items;
    }
}

void note_due(const Channel& channel, int64 at) {
    if (can_note()) {
        add_note(channel, NoteKind::kDue)->at = at;
    }
}

void note_lease(const Channel& channel, uint64 key, int64 deadline, uint64 owner) {
    if (can_note()) {
        Note* note = add_note(channel, NoteKind::kLease);
        note->key = key;
        note->at = deadline;
        note->owner = owner;
    }
}

void note_new_lease(const Channel& channel, uint64 key, int64 deadline, uint64 owner) {
    if (can_note()) {
        Note* note = add_note(channel, NoteKind::kLease);
        note->key = key;
        note->at = deadline;
        note->owner = owner;
        note->begins = true;
    }
}

void note_lease_over(const Channel& channel, uint64 key) {
    if (can_note()) {
        add_note(channel, NoteKind::kLeaseOver)->key = key;
    }
}

void note_held(const Channel& channel) {
    if (can_note()) {
        add_note(channel, NoteKind::kHeld);
    }
}

void note_changed(const Channel& channel, WakeReason reason, int64 mark) {
    if (can_note()) {
        Note* note = add_note(channel, NoteKind::kChanged);
        note->reason = reason;
        note->at = mark;
    }
}

std::optional<LastChange> last_change(const Channel& channel) {
    if (!can_note()) {
        return std::nullopt;
    }
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_SHARED);
    const Change* found = find_change(place.partition, channel);
    const auto last =
        found != nullptr ? std::optional(LastChange{found->reason, found->mark}) : std::nullopt;
    LWLockRelease(&place.partition->lock);
    return last;
}

void note_moving(const Channel& channel) {
    if (!can_note()) {
        return;
    }
    (void)add_note(channel, NoteKind::kMoving);
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    if (Entry* entry = find_or_make_entry(place, channel)) {
        ++entry->movers;
    }
    LWLockRelease(&place.partition->lock);
}

bool is_moving(const Channel& channel) {
    if (!can_note()) {
        return false;
    }
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_SHARED);
    const Entry* entry = find_entry(place, channel);
    const bool moving = entry != nullptr && entry->movers > 0;
    LWLockRelease(&place.partition->lock);
    return moving;
}

void note_freed(const Channel& channel, uint64 since_version) {
    if (can_note()) {
        add_note(channel, NoteKind::kFreed)->key = since_version;
    }
}

uint64 queue_version(const Channel& channel) {
    if (!can_note()) {
        return 0;
    }
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_SHARED);
    const Entry* entry = find_entry(place, channel);
    uint64 version = entry != nullptr ? entry->version : 0;
    LWLockRelease(&place.partition->lock);
    if (entry == nullptr) {
        LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
        entry = find_or_make_entry(place, channel);
        version = entry != nullptr ? entry->version : 0;
        LWLockRelease(&place.partition->lock);
    }
    return version;
}

void owe_hint(const Channel& channel, uint64 version) {
    owed = {channel, version};
}

uint64 next_hint() {
    return pg_atomic_read_u64(&shared->clock) + 1;
}

void settle_hint(const Channel& channel, bool found_nothing) {
    if (owed.version == 0 || !(owed.channel == channel)) {
        return;
    }
    const uint64 version = std::exchange(owed.version, 0);
    if (!found_nothing) {
        return;
    }
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    if (const Entry* entry = find_entry(place, channel)) {
        wake(*entry, 1, WakeReason::kWork, version);
    }
    LWLockRelease(&place.partition->lock);
}

void remember_empty(const Channel& channel, uint64 version) {
    if (version == 0) {
        return;
    }
    settle_hint(channel, true);
    bool found = false;
    auto* known = static_cast<Remembered*>(hash_search(memory(), &channel, HASH_ENTER, &found));
    known->version = found ? std::min(known->version, version) : version;
}

std::optional<uint64> take_remembered(const Channel& channel) {
    if (channel.topic == Topic::kOwner) {
        Remembered* told = find_told_owner(channel);
        if (told == nullptr) {
            return std::nullopt;
        }
        told->channel = {};
        return told->version;
    }
    const auto* known =
        static_cast<Remembered*>(hash_search(memory(), &channel, HASH_FIND, nullptr));
    if (known == nullptr) {
        return std::nullopt;
    }
    const uint64 version = known->version;
    (void)hash_search(memory(), &channel, HASH_REMOVE, nullptr);
    return version;
}

bool begin_wait(std::span<const Channel> channels) {
    if (!can_note() || my_proc_number() >= shared->waiters) {
        return false;
    }
    if (!exit_watched) {
        before_shmem_exit(belay_leave_wait, 0);
        exit_watched = true;
    }
    Node* nodes = node_table();
    me()->since = pg_atomic_read_u64(&shared->clock);
    pg_atomic_write_u32(&me()->state, kWaiting);
    me()->sleeping_until = core::kNever;
    waiting_count = 0;
    for (const Channel& channel : channels) {
        const Place place = place_of(channel);
        const int32 node = my_node(waiting_count);
        LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
        Entry* entry = find_or_make_entry(place, channel);
        if (entry != nullptr) {
            nodes[node] = {kNone, entry->tail,
                           static_cast<int32>(entry - place.partition->entries)};
            (entry->tail == kNone ? entry->head : nodes[entry->tail].next) = node;
            entry->tail = node;
            ++entry->waiters;
            told_of[waiting_count] = entry->version;
            waiting_for[waiting_count++] = channel;
        }
        LWLockRelease(&place.partition->lock);
        if (entry == nullptr) {
            end_wait(false);
            return false;
        }
    }
    return true;
}

void end_wait(bool returned) {
    if (waiting_count == 0) {
        return;
    }
    const uint32 state = pg_atomic_exchange_u32(&me()->state, kIdle);
    for (int i = 0; i < waiting_count; ++i) {
        const Place place = place_of(waiting_for[i]);
        LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
        Entry* entry = entry_of(place, i);
        unlink(entry, my_node(i));
        if (!returned && state > kWaiting && static_cast<int>(state >> 8) - 1 == i) {
            wake(*entry, 1, static_cast<WakeReason>(state & 0xff));
        }
        if (entry->waiters == 0 && !is_queue(entry->key)) {
            free_entry(place.partition, entry);
        }
        LWLockRelease(&place.partition->lock);
        if (waiting_for[i].topic == Topic::kOwner) {
            remember_told(waiting_for[i], told_of[i]);
        }
    }
    waiting_count = 0;
}

void told(int channel) {
    const Place place = place_of(waiting_for[channel]);
    LWLockAcquire(&place.partition->lock, LW_SHARED);
    told_of[channel] = entry_of(place, channel)->version;
    LWLockRelease(&place.partition->lock);
}

std::optional<Woken> woken() {
    const uint32 state = pg_atomic_read_u32(&me()->state);
    if (state <= kWaiting) {
        return std::nullopt;
    }
    return Woken{static_cast<int>(state >> 8) - 1, static_cast<WakeReason>(state & 0xff),
                 me()->hint};
}

Tending tend(int channel, int64 now) {
    LostOwners lost;
    settle_prepared();
    const Place place = place_of(waiting_for[channel]);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    Entry* entry = entry_of(place, channel);
    Tending result{.timekeeper = entry->head == my_node(channel),
                   .must_look = false,
                   .scan_leases = false,
                   .version = entry->version,
                   .due_moves = entry->due_moves,
                   .sleep_until = core::kNever};
    if (result.timekeeper) {
        end_expired(place, entry, now, &lost);
        result.scan_leases = !entry->known || entry->overflow;
        result.must_look = !entry->known || entry->due <= now ||
                           (is_queue(entry->key) && is_recheck_due(*entry, now));
        result.version = entry->version;
        const int64 recheck_at = entry->recheck_at > now ? entry->recheck_at : now + kGraceMs;
        result.sleep_until = std::min({entry->due, entry->lease_due, recheck_at, now + kRecheckMs});
    }
    LWLockRelease(&place.partition->lock);
    lost.tell(waiting_for[channel]);
    return result;
}

void note_look(int channel, const Look& look, int64 now) {
    LostOwners lost;  // none: the tables say nothing of owners
    const Place place = place_of(waiting_for[channel]);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    Entry* entry = entry_of(place, channel);
    entry->looked_at = now;
    entry->recheck_at = entry->version == look.version ? core::kNever : now + kRecheckMs;
    // Somebody who committed during the look has noted his own due time: the earlier one counts.
    entry->due =
        entry->due_moves == look.due_moves ? look.next_due : std::min(entry->due, look.next_due);
    if (look.leases_read) {
        entry->overflow = !look.all_leases;
        for (const LeaseEnd& lease : look.leases) {
            set_lease(place, entry, lease.key, lease.deadline, kSameOwner, 0, &lost);
        }
    }
    entry->known = entry->known || look.leases_read;
    entry->prepared_unknown = entry->prepared_unknown && !look.complete;
    LWLockRelease(&place.partition->lock);
}

std::optional<WakeReason> moved_since(int channel, uint64 version, int64 now) {
    const Place place = place_of(waiting_for[channel]);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    Entry* entry = entry_of(place, channel);
    std::optional<WakeReason> moved;
    if (entry->version <= version) {
        entry->recheck_at = core::kNever;  // an empty fetch is as good as a look
        entry->looked_at = now;
    } else if (entry->key.topic == Topic::kOwner) {
        const Change* change = find_change(place.partition, entry->key);
        moved = change != nullptr && change->version > version ? change->reason
                                                               : WakeReason::kCancelled;
    } else {
        moved = WakeReason::kWork;
    }
    LWLockRelease(&place.partition->lock);
    return moved;
}

void wait_on() {
    pg_atomic_write_u32(&me()->state, kWaiting);
}

void wake_others(int channel, int32 items, WakeReason reason) {
    const Place place = place_of(waiting_for[channel]);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    wake(*entry_of(place, channel), items, reason);
    LWLockRelease(&place.partition->lock);
}

void sleep_until(int64 at, int64 now) {
    me()->sleeping_until = at;
    wait_for_latch(std::clamp<int64>(at - now, 0, 3600 * 1000));
    me()->sleeping_until = core::kNever;  // whatever is due earlier than planned shall wake us
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

void nap(int64 ms) {
    wait_for_latch(ms);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

void install_wakeups() {
    add_shared_piece({wake_bytes, init_wake, use_wake});
    call_after_locks(at_end);
    RegisterXactCallback(belay_end_cancelled_wait, nullptr);
    RegisterSubXactCallback(belay_keep_notes, nullptr);
}

bool has_prepared_notes() {
    return can_note() && pg_atomic_read_u32(&shared->prepared_count) > 0;
}

uint64 advance_queue(const Channel& channel, int64 now) {
    if (!can_note()) {
        return 0;
    }
    LostOwners lost;
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    Entry* entry = find_or_make_entry(place, channel);
    uint64 version = 0;
    if (entry != nullptr) {
        end_expired(place, entry, now, &lost);
        // A waiter who keeps the time looks after items that fall due himself.
        if (entry->due <= now && entry->waiters == 0) {
            entry->due = core::kNever;
            entry->known = false;
            move(entry);
        }
        version = entry->version;
    }
    LWLockRelease(&place.partition->lock);
    lost.tell(channel);
    return version;
}

int64 next_due(const Channel& channel) {
    int64 due = core::kNever;
    if (can_note()) {
        const Place place = place_of(channel);
        LWLockAcquire(&place.partition->lock, LW_SHARED);
        if (const Entry* entry = find_entry(place, channel)) {
            due = std::min(entry->due, entry->lease_due);
        }
        LWLockRelease(&place.partition->lock);
    }
    return due;
}

DueHint due_hint(const Channel& channel) {
    if (!can_note()) {
        return {};
    }
    DueHint hint{};
    // What a prepared transaction will make due is not in the entry yet.
    const bool complete = pg_atomic_read_u32(&shared->prepared_count) == 0;
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
    if (const Entry* entry = find_or_make_entry(place, channel)) {
        hint = {entry->known && complete, entry->due, entry->due_moves + 1};
    }
    LWLockRelease(&place.partition->lock);
    return hint;
}

void note_due_known(const Channel& channel, const DueHint& before, int64 due) {
    if (can_note() && before.moves != 0) {
        Note* note = add_note(channel, NoteKind::kDueKnown);
        note->key = before.moves;
        note->at = due;
    }
}

void read_queue_uses(std::span<QueueUse> uses) {
    for (QueueUse& use : uses) {
        use.waiters = 0;
        use.leases = 0;
        use.overdue = 0;
    }
    if (!can_note() || uses.empty()) {
        return;
    }
    // Nothing is allocated under the locks: places of uses by channel and by hub, and a line per
    // process and queue of those who wait.
    struct Line {
        int32 use;
        int32 process;
    };
    const auto count = static_cast<int32>(uses.size());
    const auto most = static_cast<Size>(shared->waiters) * kMaxChannels;
    auto* lines =
        static_cast<Line*>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Line) * most));
    Size line_count = 0;
    auto* by_hash = static_cast<std::pair<uint64, int32>*>(
        palloc(sizeof(std::pair<uint64, int32>) * uses.size()));
    auto* by_hub = static_cast<std::pair<uint64, int32>*>(
        palloc(sizeof(std::pair<uint64, int32>) * uses.size()));
    const auto hub_key = [](Oid hub, Topic topic) {
        return static_cast<uint64>(hub) << 8 | static_cast<uint64>(topic);
    };
    for (int32 i = 0; i < count; ++i) {
        by_hash[i] = {hash_of(channel_of(uses[i].hub, uses[i].topic)), i};
        by_hub[i] = {hub_key(uses[i].hub, uses[i].topic), i};
    }
    std::sort(by_hash, by_hash + count);
    std::sort(by_hub, by_hub + count);
    const auto find = [count](const std::pair<uint64, int32>* sorted, uint64 key) {
        const auto* at = std::lower_bound(
            sorted, sorted + count, key,
            [](const std::pair<uint64, int32>& a, uint64 b) { return a.first < b; });
        return at != sorted + count && at->first == key ? at->second : kNone;
    };
    const int64 now = server_now_ms();
    for (int number = 0; number < kPartitions; ++number) {
        Partition& partition = shared->partitions[number];
        LWLockAcquire(&partition.lock, LW_SHARED);
        for (int32 bucket : partition.buckets) {
            for (int32 at = bucket; at != kNone; at = partition.entries[at].next) {
                const Entry& entry = partition.entries[at];
                const int32 use = entry.key.database == MyDatabaseId
                                      ? find(by_hub, hub_key(entry.key.hub, entry.key.topic))
                                      : kNone;
                for (int32 node = use == kNone ? kNone : entry.head;
                     node != kNone && line_count < most; node = node_table()[node].next) {
                    lines[line_count++] = {use, node / kMaxChannels};
                }
            }
        }
        const Lease* leases = leases_of(number);
        for (int32 bucket : partition.lease_buckets) {
            for (int32 at = bucket; at != kNone; at = leases[at].next) {
                if (const int32 use = find(by_hash, leases[at].channel); use != kNone) {
                    ++uses[use].leases;
                    uses[use].overdue += leases[at].deadline < now ? 1 : 0;
                }
            }
        }
        LWLockRelease(&partition.lock);
    }
    // A session that waits for several lanes is one.
    std::sort(lines, lines + line_count, [](const Line& a, const Line& b) {
        return std::pair(a.use, a.process) < std::pair(b.use, b.process);
    });
    for (Size i = 0; i < line_count; ++i) {
        const bool again =
            i > 0 && lines[i].use == lines[i - 1].use && lines[i].process == lines[i - 1].process;
        uses[lines[i].use].waiters += again ? 0 : 1;
    }
    pfree(lines);
}

std::optional<int64> channel_waiters(const Channel& channel) {
    if (!can_note()) {
        return std::nullopt;
    }
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, LW_SHARED);
    const Entry* entry = find_entry(place, channel);
    const int64 waiters = entry == nullptr ? 0 : entry->waiters;
    LWLockRelease(&place.partition->lock);
    return waiters;
}

WaitCounts count_waits() {
    WaitCounts counts{};
    if (!can_note()) {
        return counts;
    }
    for (Partition& partition : shared->partitions) {
        LWLockAcquire(&partition.lock, LW_SHARED);
        for (int32 at : partition.buckets) {
            for (; at != kNone; at = partition.entries[at].next) {
                ++counts.channels;
                counts.waiters += partition.entries[at].waiters;
            }
        }
        counts.leases += partition.lease_count;
        LWLockRelease(&partition.lock);
    }
    return counts;
}

}  // namespace belay::pg
