// Notes: what the current transaction will say to waiting sessions, and how that is applied.
//
// Notes are kept in the session's memory, by nest level, so that applying them allocates nothing.
// They are applied after the transaction's locks are gone. Touches belay's shared memory and the
// latches of waiters. Locks: one partition at a time; the lock of prepared notes alone. Must not
// raise after the end of a transaction.
#include "pg/clock.hpp"
#include "pg/settings.hpp"
#include "pg/transaction_levels.hpp"
#include "shmem/mutants.hpp"
#include "shmem/signals.hpp"
#include "shmem/wakeups/channels.hpp"

namespace belay::wakeups {

namespace {

enum class NoteKind : uint8 {
    kReady,
    kTaken,
    kDue,
    kDueKnown,
    kLease,
    kLeaseOver,
    kHeld,
    kChanged,
    kTaskChanged,
    kHubChanged,
    kFreed,
    kMoving
};

struct Note {
    Channel channel;
    NoteKind kind;
    Reason reason;
    int32 level;
    int32 items;
    uint64 key;  // of a lease, or a version
    int64 at;    // or the mark of a change
    uint64 owner;
    pg_uuid_t task;  // of kTaskChanged, instead of the channel's name
    bool begins;     // of a lease
};

constinit Note* notes = nullptr;
constinit int note_count = 0;
constinit int note_size = 0;
// The earliest time that this transaction has noted as due, also in a subtransaction that was
// undone.
constinit int64 earliest_own_due = core::kNever;

// The first rows that this transaction has made ready. Ids never come again, so those of
// subtransactions that were undone may stay.
struct ReadyRow {
    Channel channel;
    uint64 row;
};
constexpr int kMostReadyRows = 64;
constinit ReadyRow ready_rows[kMostReadyRows] = {};
constinit int ready_row_count = 0;

Note* add_note(const Channel& channel, NoteKind kind) {
    constexpr int kLookBack = 4;
    const int level = GetCurrentTransactionNestLevel();
    if (note_count == 0) {
        earliest_own_due = core::kNever;
        ready_row_count = 0;
    }
    const bool countable =
        kind == NoteKind::kReady || kind == NoteKind::kTaken || kind == NoteKind::kHeld;
    for (int i = note_count - 1; countable && i >= 0 && i >= note_count - kLookBack; --i) {
        if (notes[i].kind == kind && notes[i].level == level && notes[i].channel == channel) {
            return &notes[i];
        }
    }
    if (note_count == note_size) {
        const int size = note_size == 0 ? 64 : note_size * 2;
        const Size bytes = sizeof(Note) * static_cast<Size>(size);
        notes = static_cast<Note*>(notes == nullptr ? MemoryContextAlloc(TopMemoryContext, bytes)
                                                    : repalloc_huge(notes, bytes));
        note_size = size;
    }
    notes[note_count] = {channel, kind, Reason::kWork, level, 0, 0, 0, 0, {}, false};
    return &notes[note_count++];
}

// ---------------------------------------------------------------- applying

// The transaction that moved rows has ended.
void end_move(const Note& note) {
    if (note.items == 0) {
        return;  // there was no room for the channel
    }
    with_place(note.channel, LW_EXCLUSIVE, [&note](const Place& place) {
        State* state = find_state(place, note.channel);
        --state->movers;
        place.channels->unpin(state);
    });
}

// Other sessions can take again what was held.
void undo(const Note& note) {
    if (note.kind == NoteKind::kMoving) {
        end_move(note);
    } else if (note.kind == NoteKind::kLease || note.kind == NoteKind::kHeld) {
        with_place(note.channel, LW_EXCLUSIVE, [&note](const Place& place) {
            if (State* state = find_state(place, note.channel)) {
                move(state);
                wake(note.channel, *state, 1, Reason::kWork);
            }
        });
    }
}

void set_due(const Note& note, State* state) {
    ++state->due_moves;
    if (note.at < state->due) {
        state->due = note.at;
        advance_timer(*state, note.at);
    }
}

void move_and_wake(const Note& note, State* state, int32 items) {
    move(state);
    wake(note.channel, *state, items, Reason::kWork);
}

// Applies a note to the state of its channel. Returns since when a lease that ends was held, in ms;
// 0: not known. The lock is held.
int64 apply(const Note& note, const Place& place, State* state, uint64 version, LostOwners* lost) {
    switch (note.kind) {
        case NoteKind::kReady:
            move_and_wake(note, state,
                          mutants::strikes(mutants::Mutant::kWakeSkip) ? 0 : note.items);
            break;
        case NoteKind::kDue:
            set_due(note, state);
            break;
        case NoteKind::kDueKnown:
            if (state->due_moves + 1 == note.key) {
                state->due = note.at;
                state->known = true;
            }
            break;
        case NoteKind::kLease:
            set_lease(place, note.channel, state,
                      {note.key, note.at, note.owner, note.begins ? pg::server_now_ms() : 0}, lost);
            break;
        case NoteKind::kLeaseOver:
            return end_lease(place, state, note.key);
        case NoteKind::kChanged:
            move(state, version);
            wake(note.channel, *state, PG_INT32_MAX, note.reason);
            break;
        case NoteKind::kFreed:
            if (state->version != note.key) {
                move_and_wake(note, state, 1);
            }
            break;
        case NoteKind::kTaken:
        case NoteKind::kTaskChanged:
        case NoteKind::kHeld:
        case NoteKind::kHubChanged:
        case NoteKind::kMoving:
            break;
    }
    return 0;
}

// Wakes all waiters of all channels of the hub.
void apply_to_hub(const Note& note) {
    for (int i = 0; i < kPartitions; ++i) {
        const Place place = place_of_partition(i);
        LWLockAcquire(&place.partition->lock, LW_EXCLUSIVE);
        place.channels->each([&note](const Channel& channel, State* state) {
            if (channel.database == note.channel.database && channel.hub == note.channel.hub) {
                move(state);
                wake(channel, *state, PG_INT32_MAX, note.reason);
            }
        });
        LWLockRelease(&place.partition->lock);
    }
}

// Wakes those who wait for the task. Nothing is allocated.
void apply_to_task(const Note& note) {
    // Our rows are visible before this is read; who waits is counted before it looks at them.
    pg_memory_barrier();
    if (pg_atomic_read_u32(&shared->task_waiters) == 0) {
        return;
    }
    constexpr char kDigits[] = "0123456789abcdef";
    char text[2 * UUID_LEN + 4];
    std::size_t size = 0;
    for (int i = 0; i < UUID_LEN; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[size++] = '-';
        }
        text[size++] = kDigits[note.task.data[i] >> 4];
        text[size++] = kDigits[note.task.data[i] & 0x0f];
    }
    const Channel channel = channel_of(note.channel.hub, Topic::kTask, {text, size});
    with_place(channel, LW_EXCLUSIVE, [&](const Place& place) {
        if (State* state = find_state(place, channel)) {
            move(state);
            wake(channel, *state, PG_INT32_MAX, Reason::kChanged);
        }
    });
}

void apply(const Note& note) {
    if (note.kind == NoteKind::kTaken) {
        return;
    }
    if (note.kind == NoteKind::kHubChanged) {
        apply_to_hub(note);
        return;
    }
    if (note.kind == NoteKind::kTaskChanged) {
        apply_to_task(note);
        return;
    }
    LostOwners lost;
    int64 held_since = 0;
    with_place(note.channel, LW_EXCLUSIVE, [&](const Place& place) {
        // A channel that is not there has no waiters; but the version of a queue must not be lost.
        State* state = is_queue(note.channel) ? find_or_make_state(place, note.channel)
                                              : find_state(place, note.channel);
        uint64 version = 0;
        if (note.kind == NoteKind::kChanged) {
            version = next_version();
            if (note.channel.topic == Topic::kOwner ||
                (note.channel.topic == Topic::kTask && note.reason != Reason::kChanged)) {
                remember_change(place, note.channel, {version, note.at, note.reason});
            }
        }
        if (state != nullptr) {
            held_since = apply(note, place, state, version, &lost);
        }
    });
    if (held_since != 0) {
        count_run(note.channel, pg::server_now_ms() - held_since);
    }
    lost.wake(note.channel);
}

// After all else: a session that sees no mover finds the versions moved.
void end_moves() {
    std::for_each_n(notes, note_count, [](const Note& note) {
        if (note.kind == NoteKind::kMoving) {
            end_move(note);
        }
    });
}

// Whether the background worker has to notify listeners.
bool is_news(const Note& note) {
    return note.kind == NoteKind::kReady || note.kind == NoteKind::kFreed ||
           note.kind == NoteKind::kChanged || note.kind == NoteKind::kTaskChanged ||
           note.kind == NoteKind::kHubChanged ||
           (note.kind == NoteKind::kDue && note.channel.topic != Topic::kTaskLease);
}

// What this transaction has made ready and leased is not ready for others.
void subtract_taken() {
    for (Note& taken : std::span(notes, static_cast<std::size_t>(note_count))) {
        for (int i = 0; taken.kind == NoteKind::kTaken && taken.items > 0 && i < note_count; ++i) {
            if (notes[i].kind == NoteKind::kReady && notes[i].channel == taken.channel) {
                const int32 both = std::min(notes[i].items, taken.items);
                notes[i].items -= both;
                taken.items -= both;
                notes[i].kind = notes[i].items == 0 ? NoteKind::kTaken : NoteKind::kReady;
            }
        }
    }
}

void apply_notes() {
    subtract_taken();
    // What others did since is asked before our own notes move the version.
    for (const bool freed : {true, false}) {
        std::for_each_n(notes, note_count, [freed](const Note& note) {
            if ((note.kind == NoteKind::kFreed) == freed) {
                apply(note);
            }
        });
    }
    end_moves();
    if (pg::settings.notify && std::any_of(notes, notes + note_count, is_news)) {
        signals::wake_worker(signals::Bell::kReady);
    }
}

// ---------------------------------------------------------------- prepared transactions

// The note of a prepared transaction on a queue, made if there is none; null: no room. The lock is
// held.
PreparedNote* prepared_note(TransactionId xid, const Channel& channel) {
    const auto count = static_cast<int>(pg_atomic_read_u32(&shared->prepared_count));
    PreparedNote* end = shared->prepared + count;
    PreparedNote* known = std::find_if(shared->prepared, end, [&](const PreparedNote& note) {
        return note.xid == xid && note.channel == channel;
    });
    if (known == end) {
        if (count == kMaxPrepared) {
            return nullptr;
        }
        *known = {xid, 0, core::kNever, false, channel};
        pg_atomic_write_u32(&shared->prepared_count, static_cast<uint32>(count + 1));
    }
    return known;
}

// A prepared transaction ends in some other process, where no callback runs: its wake-ups wait in
// shared memory under its xid. The timekeeper of a channel asks whether it has ended.
void keep_prepared() {
    const TransactionId xid = GetTopTransactionIdIfAny();
    if (!TransactionIdIsValid(xid)) {
        return;
    }
    subtract_taken();
    LWLockAcquire(&shared->prepared_lock, LW_EXCLUSIVE);
    for (const Note& note : std::span(notes, static_cast<std::size_t>(note_count))) {
        const bool counts = note.kind != NoteKind::kMoving && note.kind != NoteKind::kLeaseOver &&
                            note.kind != NoteKind::kDueKnown && is_queue(note.channel);
        PreparedNote* kept = counts ? prepared_note(xid, note.channel) : nullptr;
        if (kept == nullptr) {
            continue;
        }
        kept->items += note.kind == NoteKind::kReady ? note.items : 0;
        kept->items += note.kind == NoteKind::kFreed ? 1 : 0;
        if (note.kind == NoteKind::kDue) {
            kept->due = std::min(kept->due, note.at);
        }
        kept->leases =
            kept->leases || note.kind == NoteKind::kLease || note.kind == NoteKind::kHeld;
    }
    LWLockRelease(&shared->prepared_lock);
}

// ---------------------------------------------------------------- the end of the transaction

void after_locks(pg::Ending ending) {
    if (note_count == 0) {
        return;
    }
    switch (ending) {
        case pg::Ending::kCommit:
            apply_notes();
            break;
        case pg::Ending::kPrepare:
            end_moves();  // when it commits is not known
            keep_prepared();
            break;
        case pg::Ending::kAbort:
            std::for_each_n(notes, note_count, undo);
            break;
        case pg::Ending::kSubtransactionAbort:
            note_count = pg::end_level(notes, note_count, false, undo);
            return;
    }
    note_count = 0;
}

// A wait that was cancelled is over.
void at_end(pg::Ending ending) {
    if (ending == pg::Ending::kAbort) {
        end_wait(false);
    }
}

void at_subtransaction_end(bool commits) {
    if (commits) {
        note_count = pg::end_level(notes, note_count, true, undo);
    }
}

}  // namespace

constinit const pg::Participant kParticipant{
    .before_end = nullptr,
    .at_end = at_end,
    .at_subtransaction_end = at_subtransaction_end,
    .after_locks = after_locks,
};

void ready(const Channel& channel, int32 items) {
    if (is_shared()) {
        add_note(channel, NoteKind::kReady)->items += items;
    }
}

void ready_row(const Channel& channel, uint64 row) {
    if (!is_shared()) {
        return;
    }
    ready(channel);
    if (row != 0 && ready_row_count < kMostReadyRows) {
        ready_rows[ready_row_count++] = {channel, row};
    }
}

void taken_row(const Channel& channel, uint64 row) {
    if (note_count == 0) {
        return;
    }
    for (int i = 0; i < ready_row_count; ++i) {
        if (ready_rows[i].row == row && ready_rows[i].channel == channel) {
            ready_rows[i] = ready_rows[--ready_row_count];
            add_note(channel, NoteKind::kTaken)->items += 1;
            return;
        }
    }
}

void due(const Channel& channel, int64 at) {
    if (is_shared()) {
        add_note(channel, NoteKind::kDue)->at = at;
        earliest_own_due = std::min(earliest_own_due, at);
    }
}

int64 own_due() {
    return note_count == 0 ? core::kNever : earliest_own_due;
}

void due_known(const Channel& channel, const DueHint& before, int64 due) {
    if (is_shared() && before.moves != 0) {
        Note* note = add_note(channel, NoteKind::kDueKnown);
        note->key = before.moves;
        note->at = due;
    }
}

void lease_moved(const Channel& channel, uint64 key, int64 deadline, uint64 owner) {
    if (is_shared()) {
        Note* note = add_note(channel, NoteKind::kLease);
        note->key = key;
        note->at = deadline;
        note->owner = owner;
    }
}

void lease_granted(const Channel& channel, uint64 key, int64 deadline, uint64 owner) {
    if (is_shared()) {
        lease_moved(channel, key, deadline, owner);
        notes[note_count - 1].begins = true;
    }
}

void lease_ended(const Channel& channel, uint64 key) {
    if (is_shared()) {
        add_note(channel, NoteKind::kLeaseOver)->key = key;
    }
}

void held(const Channel& channel) {
    if (is_shared()) {
        add_note(channel, NoteKind::kHeld);
    }
}

void changed(const Channel& channel, Reason reason, int64 mark) {
    if (is_shared()) {
        Note* note = add_note(channel, NoteKind::kChanged);
        note->reason = reason;
        note->at = mark;
    }
}

void task_changed(Oid hub, const pg_uuid_t& task) {
    if (is_shared()) {
        add_note({MyDatabaseId, hub, Topic::kTask, 0, 0}, NoteKind::kTaskChanged)->task = task;
    }
}

void hub_changed(Oid hub, Reason reason) {
    if (is_shared()) {
        add_note(channel_of(hub, Topic::kWorker), NoteKind::kHubChanged)->reason = reason;
    }
}

void freed(const Channel& channel, uint64 since_version) {
    if (is_shared()) {
        add_note(channel, NoteKind::kFreed)->key = since_version;
    }
}

void moving(const Channel& channel) {
    if (!is_shared()) {
        return;
    }
    Note* note = add_note(channel, NoteKind::kMoving);
    with_place(channel, LW_EXCLUSIVE, [&](const Place& place) {
        if (State* state = find_or_make_state(place, channel)) {
            ++state->movers;
            place.channels->pin(state);
            note->items = 1;
        }
    });
}

bool is_moving(const Channel& channel) {
    bool moving = false;
    if (is_shared()) {
        with_place(channel, LW_SHARED, [&](const Place& place) {
            const State* state = find_state(place, channel);
            moving = state != nullptr && state->movers > 0;
        });
    }
    return moving;
}

bool has_prepared() {
    return is_shared() && pg_atomic_read_u32(&shared->prepared_count) > 0;
}

void publish_prepared() {
    if (!has_prepared()) {
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
    for (const PreparedNote& note : std::span(ended, static_cast<std::size_t>(ended_count))) {
        with_place(note.channel, LW_EXCLUSIVE, [&note](const Place& place) {
            if (State* state = find_or_make_state(place, note.channel)) {
                move(state);
                ++state->due_moves;
                state->due = std::min(state->due, note.due);
                state->known = state->known && !note.leases;
                wake(note.channel, *state, note.items, Reason::kWork);
            }
        });
    }
}

}  // namespace belay::wakeups
