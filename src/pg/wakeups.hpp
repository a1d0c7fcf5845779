// Wake-ups: who waits for work, and how a committing transaction tells them.
//
// A transaction notes what it made ready, due, leased or free. The notes take effect in its commit
// callback, when its rows are visible: the channel's version moves, and as many waiters are woken
// as there are items. A rollback wakes nobody, except that what it had held can be taken again.
//
// A channel exists in shared memory while somebody may need its version, its due times or its
// waiters. Wake-ups are hints: whoever is woken looks for himself.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// What can be waited for.
enum class Topic : uint32 {
    kOrchestrator,
    kWorker,
    kInstance,
    kOwner,
    kOutbox,
    kLane,  // name 0: all lanes
    kTask,
    kTaskDue,  // when the next delayed task falls due; nobody waits for it
};

struct Channel {
    Oid database;
    Oid hub;
    Topic topic;
    uint32 unused;
    uint64 name;  // a hash: of the instance or owner id; 0 for a queue

    bool operator==(const Channel&) const = default;
};
Channel channel_of(Oid hub, Topic topic, std::string_view name = {});

enum class WakeReason : uint8 {
    kNone,
    kWork,
    kTimer,
    kLeaseExpired,
    kCancelled,
    kChanged,
    kTimeout,
    kShutdown,
};
const char* reason_name(WakeReason reason);

// ---- Notes of the current transaction ----

// Items became ready: wakes as many waiters, or all where each item is for everybody: an event.
void note_ready(const Channel& channel, int32 items = 1);
// An item becomes ready at that time, in ms.
void note_due(const Channel& channel, int64 at);
// A lease was granted or moved. Undone, it wakes one waiter: somebody may have passed the item
// over.
// owner is the name of the owner's channel, or 0: he is told when the lease ends without him. A
// renewal keeps the owner.
inline constexpr uint64 kSameOwner = ~uint64{0};
void note_lease(const Channel& channel, uint64 key, int64 deadline, uint64 owner = kSameOwner);
// One that begins now: its end tells how long it was held.
void note_new_lease(const Channel& channel, uint64 key, int64 deadline, uint64 owner = kSameOwner);
void note_lease_over(const Channel& channel, uint64 key);
// An item is held without being changed yet; undone, it wakes one waiter.
void note_held(const Channel& channel);
// Wakes all waiters of the channel. The mark is the caller's: last_change shows it.
void note_changed(const Channel& channel, WakeReason reason, int64 mark = 0);
// Wakes one waiter if anything of the channel became ready since that version.
void note_freed(const Channel& channel, uint64 since_version);

// This transaction holds rows of the queue for a moment, only to move them, until it ends. Whoever
// passes them over may look again soon.
void note_moving(const Channel& channel);
bool is_moving(const Channel& channel);

// Tells of prepared transactions that have ended since: no callback runs where they end.
void settle_prepared();
bool has_prepared_notes();

// ---- What a session remembers ----

// The version of a queue, to be read before a fetch takes its snapshot; 0 without shared memory.
uint64 queue_version(const Channel& channel);
// A fetch that began at that version found nothing.
void remember_empty(const Channel& channel, uint64 version);
// The lowest such version since the session last waited, and forgets it. Of an owner's channel: the
// version that its last wait has told of.
std::optional<uint64> take_remembered(const Channel& channel);

// A session that a wake-up led to nothing hands it on, to one that began to wait before it and may
// be able to take the item: consumers of one queue need not serve the same tags, slots or versions.
void owe_hint(const Channel& channel, uint64 version);
void settle_hint(const Channel& channel, bool found_nothing);
// A hint for whoever waits now.
uint64 next_hint();

// ---- Waiting ----

inline constexpr int kMaxChannels = 64;

// Registers this process with the channels. False: there is no shared memory, or no room.
bool begin_wait(std::span<const Channel> channels);
// Ends the wait. A wake-up that was not returned is handed on.
void end_wait(bool returned);

struct Woken {
    int channel;  // index
    WakeReason reason;
    uint64 hint;  // what woke it
};
// Whether somebody has woken this process.
std::optional<Woken> woken();

// The wait returns this channel: whatever it was woken for is told.
void told(int channel);

// Whether the queue's version has moved past what an empty fetch of this session saw, or an owner's
// past what was told; and why.
std::optional<WakeReason> moved_since(int channel, uint64 version, int64 now);

// The last change of a task that had another reason than kChanged, as long as it is remembered.
struct LastChange {
    WakeReason reason;
    int64 mark;
};
std::optional<LastChange> last_change(const Channel& channel);

// Goes on waiting after a wake-up that came to nothing.
void wait_on();

// Looks after one channel, if this process is the one to do it: lets expired leases wake waiters.
struct Tending {
    bool timekeeper;   // the others sleep until they are woken
    bool must_look;    // only the tables can tell
    bool scan_leases;  // and their leases are not known either
    uint64 version;
    uint64 due_moves;
    int64 sleep_until;  // ms
};
Tending tend(int channel, int64 now);

struct LeaseEnd {
    uint64 key;
    int64 deadline;
};

// What a look at the tables found.
struct Look {
    uint64 version;  // of the Tending before the look
    uint64 due_moves;
    int64 next_due;
    bool leases_read;
    bool all_leases;
    std::span<const LeaseEnd> leases;
    bool complete;  // no transaction prepared before the server's start is left
};
void note_look(int channel, const Look& look, int64 now);

// Wakes others of the channel, as if so many items had become ready.
void wake_others(int channel, int32 items, WakeReason reason);

// Sleeps until woken or until a time in ms; answers cancel, terminate and the postmaster's death.
void sleep_until(int64 at, int64 now);

// Sleeps for a while, without shared memory.
void nap(int64 ms);

// Makes the shared piece and the callbacks. Called once, from _PG_init.
void install_wakeups();

// Lets what fell due in a queue count as ready, for whoever tells others of it. Returns the queue's
// version: it has moved if there may be something new.
uint64 advance_queue(const Channel& channel, int64 now);
// When the next item of a queue falls due, as far as is known, in ms.
int64 next_due(const Channel& channel);

// What shared memory knows of the next due time of a channel, for whoever would otherwise ask the
// tables each time. Not known: ask them, and tell what they said, unless it moved meanwhile.
struct DueHint {
    bool known;
    int64 due;  // ms
    uint64 moves;
};
DueHint due_hint(const Channel& channel);
// At commit: what the tables said may be our own doing.
void note_due_known(const Channel& channel, const DueHint& before, int64 due);

// How much the queues of hubs of this database are used: hub and topic are given. All at once, in
// one pass over shared memory.
struct QueueUse {
    Oid hub;
    Topic topic;
    int64 waiters;  // sessions; of lanes, those that wait for any
    int64 leases;   // that shared memory knows
    int64 overdue;  // of them, those whose time is over
};
void read_queue_uses(std::span<QueueUse> uses);

// For tests and monitoring: registered waiters, channels and leases in shared memory.
struct WaitCounts {
    int64 waiters;
    int64 channels;
    int64 leases;
};
WaitCounts count_waits();

}  // namespace belay::pg
