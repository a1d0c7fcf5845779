// The open transactions that have drawn positions of events, in shared memory: a list per hub, in
// the order of the positions.
//
// Touches belay's shared memory, and reads the sequence of a hub's positions. Locks: one, held for
// a moment; no sequence and no transaction is looked at under it. Must not raise after the end of a
// transaction.
#include "shmem/event_writers.hpp"

#include <algorithm>

#include "pg/compat.hpp"
#include "shmem/shared_memory.hpp"
#include "shmem/table.hpp"

namespace belay::event_writers {

namespace {

using shmem::kNone;

constexpr int kSpare = 128;
constexpr int kMaxHubs = 32;  // of one transaction, that are registered one by one

struct HubKey {
    Oid database;
    Oid hub;
};

// The writers of a hub, by position.
struct Line {
    int32 lowest;
    int32 highest;
};
using Lines = shmem::Table<HubKey, Line>;

struct Writer {
    int64 position;
    int32 pid;          // 0: a prepared transaction
    TransactionId xid;  // of a transaction that is being prepared
    int32 line;         // kNone: not in use
    int32 lower;        // in its line; of a spare one that is not in use, the next such
    int32 higher;
};

// A process has a writer of its own, for the first hub that it writes to, so that there is always
// room for one. Other hubs and prepared transactions share the spare ones.
struct Shared {
    LWLock lock;
    pg_atomic_uint32 unregistered;  // transactions that found no room
    int own_writers;
    int writer_count;
    int32 free_spare;
    // Writer[writer_count], Lines
};

constinit Shared* shared = nullptr;

// What this transaction has registered.
constinit Oid my_hubs[kMaxHubs] = {};
constinit int32 my_writers[kMaxHubs] = {};
constinit int my_hub_count = 0;
constinit bool am_unregistered = false;

int most_writers() {
    return MaxBackends + 2 * max_prepared_xacts + kSpare;
}

Size lines_at(int writer_count) {
    return MAXALIGN(sizeof(Shared)) + MAXALIGN(sizeof(Writer) * static_cast<Size>(writer_count));
}

// Each line has a writer, so there is room for all of them.
Size writers_bytes() {
    return lines_at(most_writers()) + Lines::bytes(most_writers());
}

Writer* writer_at(int32 number) {
    return reinterpret_cast<Writer*>(reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared))) +
           number;
}

Lines* lines() {
    return reinterpret_cast<Lines*>(reinterpret_cast<char*>(shared) +
                                    lines_at(shared->writer_count));
}

void init_writers(void* piece) {
    shared = static_cast<Shared*>(piece);
    LWLockInitialize(&shared->lock, shmem::lock_tranche());
    pg_atomic_init_u32(&shared->unregistered, 0);
    shared->own_writers = MaxBackends;
    shared->writer_count = most_writers();
    for (int32 i = 0; i < shared->writer_count; ++i) {
        *writer_at(i) = {.position = 0,
                         .pid = 0,
                         .xid = InvalidTransactionId,
                         .line = kNone,
                         .lower = i + 1 < shared->writer_count ? i + 1 : kNone,
                         .higher = kNone};
    }
    shared->free_spare = shared->own_writers;
    (void)Lines::make(lines(), shared->writer_count);
}

void use_writers(void* piece) {
    shared = static_cast<Shared*>(piece);
}

// ---------------------------------------------------------------- lines; the lock is held

bool is_spare(int32 number) {
    return number >= shared->own_writers;
}

// A writer that is not in use: the own one of this process, or a spare one. kNone: no room.
int32 unused_writer(bool may_be_own) {
    const int32 own = pg::my_proc_number();
    if (may_be_own && own < shared->own_writers && writer_at(own)->line == kNone) {
        return own;
    }
    return shared->free_spare;
}

// Positions are read before the lock is taken, so writers come nearly, not quite, in their order.
void join_line(const HubKey& hub, int32 number, const Writer& as) {
    if (is_spare(number)) {
        shared->free_spare = writer_at(number)->lower;
    }
    const uint64 hash = Lines::hash(hub);
    Line* line = lines()->find(hub, hash);
    if (line == nullptr) {
        line = lines()->insert(hub, hash, shmem::WhenFull::kRefuse);
        *line = {kNone, kNone};
    }
    int32 lower = line->highest;
    while (lower != kNone && writer_at(lower)->position > as.position) {
        lower = writer_at(lower)->lower;
    }
    const int32 higher = lower == kNone ? line->lowest : writer_at(lower)->higher;
    *writer_at(number) = as;
    writer_at(number)->line = lines()->number_of(line);
    writer_at(number)->lower = lower;
    writer_at(number)->higher = higher;
    (lower == kNone ? line->lowest : writer_at(lower)->higher) = number;
    (higher == kNone ? line->highest : writer_at(higher)->lower) = number;
}

void leave_line(int32 number) {
    Writer* writer = writer_at(number);
    Line* line = lines()->at(writer->line);
    (writer->lower == kNone ? line->lowest : writer_at(writer->lower)->higher) = writer->higher;
    (writer->higher == kNone ? line->highest : writer_at(writer->higher)->lower) = writer->lower;
    if (line->lowest == kNone) {
        lines()->erase(line);
    }
    writer->line = kNone;
    if (is_spare(number)) {
        writer->lower = shared->free_spare;
        shared->free_spare = number;
    }
}

// ---------------------------------------------------------------- this transaction

void go_unregistered() {
    if (!am_unregistered) {
        am_unregistered = true;
        pg_atomic_fetch_add_u32(&shared->unregistered, 1);
    }
}

// Gives the writers of a transaction that is about to be prepared places that outlive the session.
void move_to_spare_writers() {
    const TransactionId xid = GetTopTransactionId();
    bool moved = !am_unregistered;
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    for (int i = 0; i < my_hub_count; ++i) {
        Writer* writer = writer_at(my_writers[i]);
        writer->xid = xid;
        if (is_spare(my_writers[i])) {
            continue;
        }
        const int32 spare = unused_writer(false);
        if (spare == kNone) {
            moved = false;
            continue;
        }
        join_line({MyDatabaseId, my_hubs[i]}, spare, *writer);
        leave_line(my_writers[i]);
        my_writers[i] = spare;
    }
    LWLockRelease(&shared->lock);
    if (!moved) {
        ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY),
                        errmsg("too many prepared transactions have written events"),
                        errhint("Finish some with COMMIT PREPARED, or commit without preparing.")));
    }
}

bool is_writer() {
    return my_hub_count > 0 || am_unregistered;
}

void before_end(pg::Ending ending) {
    if (ending == pg::Ending::kPrepare && is_writer()) {
        move_to_spare_writers();
    }
}

void at_end(pg::Ending ending) {
    if (am_unregistered) {
        pg_atomic_fetch_sub_u32(&shared->unregistered, 1);
        am_unregistered = false;
    }
    if (my_hub_count == 0) {
        return;
    }
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    for (int i = 0; i < my_hub_count; ++i) {
        if (ending == pg::Ending::kPrepare) {
            writer_at(my_writers[i])->pid = 0;  // readers look after it from now on
        } else {
            leave_line(my_writers[i]);
        }
    }
    LWLockRelease(&shared->lock);
    my_hub_count = 0;
}

// ---------------------------------------------------------------- readers

struct Lowest {
    int32 number;  // kNone: the hub has no writers
    Writer writer;
};

Lowest lowest_writer(const HubKey& hub) {
    Lowest found{kNone, {}};
    LWLockAcquire(&shared->lock, LW_SHARED);
    if (const Line* line = lines()->find(hub)) {
        found = {line->lowest, *writer_at(line->lowest)};
    }
    LWLockRelease(&shared->lock);
    return found;
}

// A prepared transaction has ended. The writer may have been given away meanwhile.
void drop_prepared(const Lowest& ended) {
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    const Writer* now = writer_at(ended.number);
    if (now->line == ended.writer.line && now->pid == 0 && now->xid == ended.writer.xid) {
        leave_line(ended.number);
    }
    LWLockRelease(&shared->lock);
}

}  // namespace

int64 last_position(Oid sequence) {
    LOCAL_FCINFO(fcinfo, 1);
    InitFunctionCallInfoData(*fcinfo, nullptr, 1, InvalidOid, nullptr, nullptr);
    fcinfo->args[0].value = ObjectIdGetDatum(sequence);
    fcinfo->args[0].isnull = false;
    const Datum value = pg_sequence_last_value(fcinfo);
    return fcinfo->isnull ? 0 : DatumGetInt64(value);
}

void add(Oid hub, Oid sequence) {
    // Readers that go by xids rely on this order, too: first the xid, then a position.
    (void)GetTopTransactionId();
    if (am_unregistered || !shmem::attach() ||
        std::find(my_hubs, my_hubs + my_hub_count, hub) != my_hubs + my_hub_count) {
        return;
    }
    if (my_hub_count == kMaxHubs) {
        go_unregistered();
        return;
    }
    const Writer writer{.position = last_position(sequence),
                        .pid = MyProcPid,
                        .xid = InvalidTransactionId,
                        .line = kNone,
                        .lower = kNone,
                        .higher = kNone};
    LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
    const int32 number = unused_writer(true);
    if (number != kNone) {
        join_line({MyDatabaseId, hub}, number, writer);
        my_hubs[my_hub_count] = hub;
        my_writers[my_hub_count++] = number;
    }
    LWLockRelease(&shared->lock);
    if (number == kNone) {
        go_unregistered();
    }
}

Horizon horizon(Oid hub, Oid sequence) {
    if (!shmem::attach()) {
        return {false, 0, 0};
    }
    // A transaction that registers after the look below draws positions above this one.
    Horizon horizon{true, last_position(sequence), 0};
    Lowest lowest = lowest_writer({MyDatabaseId, hub});
    while (lowest.number != kNone && lowest.writer.pid == 0 &&
           !TransactionIdIsInProgress(lowest.writer.xid)) {
        drop_prepared(lowest);
        lowest = lowest_writer({MyDatabaseId, hub});
    }
    horizon.exact = pg_atomic_read_u32(&shared->unregistered) == 0;
    if (lowest.number != kNone && lowest.writer.position < horizon.position) {
        horizon.position = lowest.writer.position;
        horizon.writer_pid = lowest.writer.pid;
    }
    return horizon;
}

void install() {
    shmem::add_piece({writers_bytes, init_writers, use_writers});
}

constinit const pg::Participant kParticipant{
    .before_end = before_end,
    .at_end = at_end,
    .at_subtransaction_end = nullptr,
    .after_locks = nullptr,
};

}  // namespace belay::event_writers
