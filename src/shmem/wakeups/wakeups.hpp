// Wake-ups: which sessions wait for work, and how a transaction that commits wakes them.
//
// A transaction notes what it made ready, due, leased or free. The notes take effect when its locks
// are gone: the channel's version moves, and as many waiters are woken as there are items. A
// rollback wakes one waiter for each item that it had held, because it can be taken again.
//
// A channel is in shared memory while its version, its due times or its waiters may be needed.
// Wake-ups are hints: a session that is woken reads the tables. Nothing here reads a row.
#pragma once

#include "pg/pg.hpp"
#include "pg/transactions.hpp"

namespace belay::wakeups {

// What can be waited for.
enum class Topic : uint32 {
    kOrchestrator,
    kWorker,
    kInstance,
    kOwner,
    kOutbox,
    kQueue,  // name 0: all queues
    kTask,
    kTaskDue,    // when the next delayed task falls due; it has no waiters
    kTaskLease,  // when the next lease of a task may be over; it has no waiters
    kFlow,
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

enum class Reason : uint8 {
    kNone,
    kWork,
    kTimer,
    kLeaseExpired,
    kCancelled,
    kChanged,
    kTimeout,
    kShutdown,
    kMoved,
};
const char* reason_name(Reason reason);

// ---- Notes of the current transaction ----

// Items became ready: wakes as many waiters, or all where each item is for all of them: an event.
void ready(const Channel& channel, int32 items = 1);
// The same for one item that this transaction has inserted, as a row with that id; and what takes
// its effect away: the transaction has leased the row, too, so that there is nothing to wake for.
void ready_row(const Channel& channel, uint64 row);
void taken_row(const Channel& channel, uint64 row);
// An item becomes ready at that time, in ms.
void due(const Channel& channel, int64 at);
// A lease was granted or moved. Undone, it wakes one waiter: a session may have passed the item
// over. owner is the name of the owner's channel, whose waiters are woken when the lease ends
// without the owner; 0: none. A renewal keeps the owner.
inline constexpr uint64 kSameOwner = ~uint64{0};
void lease_moved(const Channel& channel, uint64 key, int64 deadline, uint64 owner = kSameOwner);
// One that begins now: its end shows how long it was held.
void lease_granted(const Channel& channel, uint64 key, int64 deadline, uint64 owner = kSameOwner);
void lease_ended(const Channel& channel, uint64 key);
// An item is held without being changed yet; undone, it wakes one waiter.
void held(const Channel& channel);
// Wakes all waiters of the channel. The mark is the caller's: last_change shows it.
void changed(const Channel& channel, Reason reason, int64 mark = 0);
// The same of a task's channel, with kChanged and without a mark. Most tasks have no waiter: their
// channels are named only if a task of any hub has one when the transaction ends.
void task_changed(Oid hub, const pg_uuid_t& task);
// Wakes all waiters of all channels of the hub.
void hub_changed(Oid hub, Reason reason);
// Wakes one waiter if anything of the channel became ready since that version.
void freed(const Channel& channel, uint64 since_version);

// This transaction holds rows of the queue for a moment, only to move them, until it ends. A
// session that passes them over may look again soon.
void moving(const Channel& channel);
bool is_moving(const Channel& channel);

// Applies the notes of prepared transactions that have ended since: no callback runs where they
// end.
void publish_prepared();
bool has_prepared();

// ---- What a session remembers ----

// The version of a queue, to be read before a fetch takes its snapshot; 0 without shared memory.
uint64 queue_version(const Channel& channel);
// A fetch that began at that version found nothing.
void remember_empty(const Channel& channel, uint64 version);
// A wait that began at that version, or looked then, found the queue empty and returned another
// one.
void remember_seen(const Channel& channel, uint64 version);
// The lowest such version since the session last waited, and forgets it. Of an owner's channel: the
// version that its last wait has reported.
std::optional<uint64> take_remembered(const Channel& channel);

// A session that found nothing after a wake-up hands it on, to one that began to wait before it and
// may be able to take the item: consumers of one queue need not serve the same tags, slots or
// versions.
void owe_hint(const Channel& channel, uint64 version);
void resolve_hint(const Channel& channel, bool found_nothing);
// A hint for all sessions that wait now.
uint64 next_hint();

// ---- Waiting ----

// As many as a worker needs that serves a family of 64 hubs.
inline constexpr int kMaxChannels = 256;

// Registers this process with the channels. False: there is no shared memory, or no room.
bool begin_wait(std::span<const Channel> channels);
// Ends the wait. A wake-up that was not returned is handed on.
void end_wait(bool returned);

struct Woken {
    int channel;  // index
    Reason reason;
    uint64 hint;  // what woke it
};
// Whether this process was woken.
std::optional<Woken> woken();

// The wait returns this channel: its caller learns of all changes up to now.
void reported(int channel);

// Whether the queue's version has moved past what an empty fetch of this session saw, or an owner's
// past what was reported; and why.
std::optional<Reason> moved_since(int channel, uint64 version, int64 now);

// The last change of a task that had another reason than kChanged, as long as it is remembered.
struct LastChange {
    Reason reason;
    int64 mark;
};
std::optional<LastChange> last_change(const Channel& channel);

// Continues waiting after a wake-up that came to nothing.
void resume_wait();

// Looks after one channel, if this process is the one to do it: lets expired leases wake waiters.
struct Tending {
    bool timekeeper;   // the others sleep until they are woken
    bool must_probe;   // only the tables show it
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

// What a session has read from the tables.
struct Probe {
    uint64 version;  // of the Tending before it
    uint64 due_moves;
    int64 next_due;
    bool leases_read;
    bool all_leases;
    std::span<const LeaseEnd> leases;
    bool complete;  // no transaction prepared before the server's start is left
};
void probed(int channel, const Probe& look, int64 now);

// Wakes others of the channel, as if so many items had become ready.
void wake_others(int channel, int32 items, Reason reason);

// Sleeps until woken or until a time in ms; answers cancel, terminate and the postmaster's death.
void sleep_until(int64 at, int64 now);

// Sleeps for a while, without shared memory.
void nap(int64 ms);

// Adds the shared piece. Called once, from _PG_init.
void install();

// Applies the notes of a transaction when its locks are gone.
extern const pg::Participant kParticipant;

// Lets what fell due in a queue count as ready, for the worker that sends notifications. Returns
// the queue's version: it has moved if there may be something new.
uint64 advance_queue(const Channel& channel, int64 now);
// When the next item of a queue falls due, as far as is known, in ms.
int64 next_due(const Channel& channel);

// What shared memory knows of the next due time of a channel, instead of reading the tables each
// time. Not known: read them, and say with due_known what they said.
struct DueHint {
    bool known;
    int64 due;  // ms
    uint64 moves;
};
DueHint due_hint(const Channel& channel);
// Takes effect at commit, unless the time moved meanwhile: what the tables said may be this
// transaction's own doing.
void due_known(const Channel& channel, const DueHint& before, int64 due);

// How much the queues of hubs of this database are used: hub and topic are given. All at once, in
// one pass over shared memory.
struct QueueUse {
    Oid hub;
    Topic topic;
    int64 waiters;  // sessions; of queues, those that wait for any
    int64 leases;   // that shared memory knows
    int64 overdue;  // of them, those whose time is over
};
void read_queue_uses(std::span<QueueUse> uses);

// How many sessions wait on any of the channels; no value without shared memory.
std::optional<int64> count_waiters(std::initializer_list<Channel> channels);

// For tests and monitoring: registered waiters, channels and leases in shared memory.
struct WaitCounts {
    int64 waiters;
    int64 channels;
    int64 leases;
};
WaitCounts count_waits();

}  // namespace belay::wakeups
