// Channels in shared memory: what the files of this folder share. Users include wakeups.hpp.
//
// A partition holds the channels of one remainder of their hashes, the leases that are registered
// with them, and the last changes. Its lock guards all three. Locks: one partition at a time, and
// under it at most the lock of counters; nothing is allocated or raised under it.
#pragma once

#include <algorithm>

#include "core/time.hpp"
#include "shmem/counters.hpp"
#include "shmem/heap.hpp"
#include "shmem/table.hpp"
#include "shmem/wakeups/wakeups.hpp"

namespace belay::wakeups {

using shmem::kNone;

inline constexpr int kPartitions = 16;
inline constexpr int kMaxPrepared = 256;
inline constexpr int64 kRecheckMs = 1000;  // how long a lost wake-up can cost, and
inline constexpr int64 kGraceMs = 100;     // how long a recheck lets woken sessions fetch first

// What is known of a channel.
struct State {
    uint64 birth;  // distinguishes it from an earlier one of the same number
    int32 head;    // nodes of waiters, oldest first
    int32 tail;
    int32 waiters;
    int32 movers;  // transactions that hold rows for a moment, only to move them
    int32 leases;  // the heap of its leases
    uint64 version;
    int64 probed_at;   // when a session last read the tables
    int64 moved_at;    // when the version last moved
    int64 recheck_at;  // the version has moved since: when to read them again
    uint64 due_moves;  // counts what changed due
    int64 due;         // no item falls due before
    bool known;        // due and leases have been read from the tables
    bool overflow;     // a lease had to be forgotten: the tables have to be asked
    bool prepared_unknown;
};
using Channels = shmem::Table<Channel, State>;

// The last change of a channel that wakes all its waiters, for sessions that begin to wait later.
struct Change {
    uint64 version;
    int64 mark;
    Reason reason;
};
using Changes = shmem::Table<Channel, Change>;

struct LeaseKey {
    uint64 channel;  // its hash
    uint64 key;
};

// A lease of a channel that was forgotten is in no heap: its links mean nothing.
struct Lease {
    uint64 owner;  // the name of its channel; 0: none
    int64 deadline;
    int64 since;    // when it began, in ms; 0: not known
    uint64 birth;   // of the lease's channel
    int32 channel;  // its number
    shmem::HeapLinks links;
};
using Leases = shmem::Table<LeaseKey, Lease>;

struct Partition {
    LWLock lock;
    uint64 births;
    uint64 owner_version;  // the last change of an owner that was forgotten
};

// One per process that can wait; its nodes have the numbers procno * kMaxChannels + i.
struct Waiter {
    pg_atomic_uint32 state;
    uint64 since;  // the version of all channels when the wait began
    uint64 hint;   // the version that woke it
    int64 sleeping_until;
};
inline constexpr uint32 kIdle = 0;
inline constexpr uint32 kWaiting = 1;

struct Node {
    int32 next;
    int32 previous;
    int32 channel;  // the number of its state
};

// What a transaction that was prepared has to say of a queue when it commits.
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
    pg_atomic_uint32 task_waiters;  // waits on channels of tasks
    LWLock prepared_lock;
    PreparedNote prepared[kMaxPrepared];
    int leases;  // per partition
    int waiters;
    Partition partitions[kPartitions];
    // per partition Channels, Changes and Leases; then Waiter[waiters], Node[waiters *
    // kMaxChannels]
};
extern Shared* shared;

bool is_shared();

Waiter* waiter_at(int32 number);
Node* node_at(int32 number);

// ---- Channels ----

// Where a channel is, or would be.
struct Place {
    Partition* partition;
    Channels* channels;
    Changes* changes;
    Leases* leases;
    uint64 hash;
};
Place place_of(const Channel& channel);
Place place_of_partition(int number);

// Runs body(place) under the lock of the channel's partition.
template <typename Body>
void with_place(const Channel& channel, LWLockMode mode, Body body) {
    const Place place = place_of(channel);
    LWLockAcquire(&place.partition->lock, mode);
    body(place);
    LWLockRelease(&place.partition->lock);
}

// In all that follows the lock of the partition is held.

inline State* find_state(const Place& place, const Channel& channel) {
    return place.channels->find(channel, place.hash);
}
// Makes one if there is none. Null: all channels of the partition have waiters.
State* find_or_make_state(const Place& place, const Channel& channel);

// Forgets a channel that has no waiters.
void free_state(const Place& place, State* state);

// Whether a channel is worth keeping without waiters: queues are asked for again and again.
bool is_queue(const Channel& channel);

uint64 next_version();
// Something may be new. The timekeeper reads the tables later, in case a wake-up was lost; the
// sessions that are woken now get time to fetch before it does.
void move(State* state, uint64 version);
inline void move(State* state) {
    move(state, next_version());
}
bool is_recheck_due(const State& state, int64 now);

void remember_change(const Place& place, const Channel& channel, const Change& change);

// ---- Waking ----

// Wakes up to so many waiters, oldest first, that are not woken yet and that began to wait before a
// version.
void wake(const Channel& channel, const State& state, int32 items, Reason reason, uint64 version);
// The same for all that wait now.
void wake(const Channel& channel, const State& state, int32 items, Reason reason);

// Lets the timekeeper of the channel plan anew if it sleeps for longer.
void advance_timer(const State& state, int64 at);
void set_latch_of(int32 waiter);

// Counters are kept for queues of work.
void count_event(const Channel& channel, counters::Counter counter, int64 by);
// How long an item was held.
void count_run(const Channel& channel, int64 ms);

// ---- Leases ----

// Owners whose leases ended without them. They are woken when no lock is held.
struct LostOwners {
    static constexpr int kMost = 64;
    uint64 names[kMost];
    int count = 0;

    bool is_full() const { return count == kMost; }
    void add(uint64 name) {
        if (name != 0 && !is_full()) {
            names[count++] = name;
        }
    }
    void wake(const Channel& queue) const;
};

// The earliest time that the session's transaction has noted as due, in any channel: others do not
// know it before the commit, but its own claims must. core::kNever: none.
int64 own_due();

// When the next lease of the channel ends; core::kNever: none.
int64 lease_due(const Place& place, const State& state);

struct LeaseChange {
    uint64 key;
    int64 deadline;
    uint64 owner;
    int64 since;  // 0: as before
};
void set_lease(const Place& place, const Channel& channel, State* state, const LeaseChange& change,
               LostOwners* lost);
// Returns when the lease began, in ms; 0 if that is not known.
int64 end_lease(const Place& place, State* state, uint64 key);
// Ends the leases that are over, as many as lost has room for: counts them, and wakes as many
// waiters.
void end_expired(const Place& place, const Channel& channel, State* state, int64 now,
                 LostOwners* lost);

}  // namespace belay::wakeups
