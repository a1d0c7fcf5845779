// Waiting: a session registers with channels, sleeps, and is woken. The oldest waiter of a channel
// is its timekeeper: it sleeps until the next due time or end of a lease.
//
// Touches belay's shared memory, the session's latch, and what the session remembers. Locks: one
// partition at a time. Leaves no trace when the wait is cancelled or the process exits.
#include "pg/compat.hpp"
#include "shmem/wakeups/session.hpp"

namespace belay::wakeups {

namespace {

constinit int waiting_count = 0;  // channels of the current wait
constinit Channel waiting_for[kMaxChannels] = {};
constinit uint64 reported_of[kMaxChannels] = {};  // the version up to which this wait has reported
constinit bool exit_watched = false;
constinit uint32 sleep_event = 0;

Waiter* me() {
    return waiter_at(pg::my_proc_number());
}

int32 my_node(int channel) {
    return pg::my_proc_number() * kMaxChannels + channel;
}

State* state_of(const Place& place, int channel) {
    return place.channels->at(node_at(my_node(channel))->channel);
}

// Runs body(place, state) for a channel of the wait, under the lock of its partition.
template <typename Body>
void with_waiting(int channel, LWLockMode mode, Body body) {
    with_place(waiting_for[channel], mode,
               [&](const Place& place) { body(place, state_of(place, channel)); });
}

void link(const Place& place, State* state, int32 node) {
    *node_at(node) = {kNone, state->tail, place.channels->number_of(state)};
    (state->tail == kNone ? state->head : node_at(state->tail)->next) = node;
    state->tail = node;
    ++state->waiters;
    place.channels->pin(state);
}

// Counts a wait on the channel of a task: by is 1 when it begins, -1 when it ends.
void count_task_waiter(const Channel& channel, int32 by) {
    if (channel.topic == Topic::kTask) {
        (void)pg_atomic_fetch_add_u32(&shared->task_waiters, by);
    }
}

void unlink(const Place& place, State* state, int32 node) {
    const auto [next, previous, channel] = *node_at(node);
    const bool was_head = state->head == node;
    (was_head ? state->head : node_at(previous)->next) = next;
    (state->tail == node ? state->tail : node_at(next)->previous) = previous;
    --state->waiters;
    place.channels->unpin(state);
    if (was_head && state->head != kNone) {
        set_latch_of(state->head / kMaxChannels);  // the new timekeeper
    }
}

void wait_for_latch(int64 ms) {
    if (sleep_event == 0) {
        sleep_event = pg::wait_event("BelayWaitForWork");
    }
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms),
                    sleep_event);
}

extern "C" void belay_leave_wait(int, Datum) {
    end_wait(false);
}

}  // namespace

const char* reason_name(Reason reason) {
    switch (reason) {
        case Reason::kNone:
            break;
        case Reason::kWork:
            return "work";
        case Reason::kTimer:
            return "timer";
        case Reason::kLeaseExpired:
            return "lease_expired";
        case Reason::kCancelled:
            return "cancelled";
        case Reason::kChanged:
            return "changed";
        case Reason::kTimeout:
            return "timeout";
        case Reason::kShutdown:
            return "shutdown";
        case Reason::kMoved:
            return "moved";
    }
    return "";
}

bool begin_wait(std::span<const Channel> channels) {
    if (!is_shared() || pg::my_proc_number() >= shared->waiters) {
        return false;
    }
    if (!exit_watched) {
        before_shmem_exit(belay_leave_wait, 0);
        exit_watched = true;
    }
    me()->since = pg_atomic_read_u64(&shared->clock);
    pg_atomic_write_u32(&me()->state, kWaiting);
    me()->sleeping_until = core::kNever;
    waiting_count = 0;
    for (const Channel& channel : channels) {
        bool has_room = false;
        with_place(channel, LW_EXCLUSIVE, [&](const Place& place) {
            if (State* state = find_or_make_state(place, channel)) {
                link(place, state, my_node(waiting_count));
                count_task_waiter(channel, 1);
                reported_of[waiting_count] = state->version;
                waiting_for[waiting_count++] = channel;
                has_room = true;
            }
        });
        if (!has_room) {
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
    const uint32 state_of_wait = pg_atomic_exchange_u32(&me()->state, kIdle);
    for (int i = 0; i < waiting_count; ++i) {
        with_waiting(i, LW_EXCLUSIVE, [&](const Place& place, State* state) {
            unlink(place, state, my_node(i));
            count_task_waiter(waiting_for[i], -1);
            if (!returned && state_of_wait > kWaiting &&
                static_cast<int>(state_of_wait >> 8) - 1 == i) {
                wake(waiting_for[i], *state, 1, static_cast<Reason>(state_of_wait & 0xff));
            }
            if (state->waiters == 0 && state->movers == 0 && !is_queue(waiting_for[i])) {
                free_state(place, state);
            }
        });
        if (waiting_for[i].topic == Topic::kOwner) {
            remember_reported(waiting_for[i], reported_of[i]);
        }
    }
    waiting_count = 0;
}

void reported(int channel) {
    with_waiting(channel, LW_SHARED, [channel](const Place&, const State* state) {
        reported_of[channel] = state->version;
    });
}

std::optional<Woken> woken() {
    const uint32 state = pg_atomic_read_u32(&me()->state);
    if (state <= kWaiting) {
        return std::nullopt;
    }
    return Woken{static_cast<int>(state >> 8) - 1, static_cast<Reason>(state & 0xff), me()->hint};
}

Tending tend(int channel, int64 now) {
    LostOwners lost;
    Tending result{};
    publish_prepared();
    with_waiting(channel, LW_EXCLUSIVE, [&](const Place& place, State* state) {
        result = {.timekeeper = state->head == my_node(channel),
                  .must_probe = false,
                  .scan_leases = false,
                  .version = state->version,
                  .due_moves = state->due_moves,
                  .sleep_until = core::kNever};
        if (!result.timekeeper) {
            return;
        }
        end_expired(place, waiting_for[channel], state, now, &lost);
        result.scan_leases = !state->known || state->overflow;
        result.must_probe = !state->known || state->due <= now ||
                            (is_queue(waiting_for[channel]) && is_recheck_due(*state, now));
        result.version = state->version;
        const int64 recheck_at = state->recheck_at > now ? state->recheck_at : now + kGraceMs;
        result.sleep_until =
            std::min({state->due, lease_due(place, *state), recheck_at, now + kRecheckMs});
    });
    lost.wake(waiting_for[channel]);
    return result;
}

void probed(int channel, const Probe& probe, int64 now) {
    LostOwners lost;  // stays empty: the probe does not know former owners
    with_waiting(channel, LW_EXCLUSIVE, [&](const Place& place, State* state) {
        state->probed_at = now;
        state->recheck_at = state->version == probe.version ? core::kNever : now + kRecheckMs;
        // A transaction that committed meanwhile has noted its own due time: the earlier one
        // counts.
        state->due = state->due_moves == probe.due_moves ? probe.next_due
                                                         : std::min(state->due, probe.next_due);
        if (probe.leases_read) {
            state->overflow = !probe.all_leases;
            for (const LeaseEnd& lease : probe.leases) {
                set_lease(place, waiting_for[channel], state,
                          {lease.key, lease.deadline, kSameOwner, 0}, &lost);
            }
        }
        state->known = state->known || probe.leases_read;
        state->prepared_unknown = state->prepared_unknown && !probe.complete;
    });
}

std::optional<Reason> moved_since(int channel, uint64 version, int64 now) {
    std::optional<Reason> moved;
    with_waiting(channel, LW_EXCLUSIVE, [&](const Place& place, State* state) {
        if (state->version <= version) {
            state->recheck_at = core::kNever;  // an empty fetch replaces a probe
            state->probed_at = now;
        } else if (waiting_for[channel].topic == Topic::kOwner) {
            const Change* change = place.changes->find(waiting_for[channel], place.hash);
            moved = change != nullptr && change->version > version ? change->reason
                                                                   : Reason::kCancelled;
        } else {
            moved = Reason::kWork;
        }
    });
    return moved;
}

void resume_wait() {
    pg_atomic_write_u32(&me()->state, kWaiting);
}

void wake_others(int channel, int32 items, Reason reason) {
    with_waiting(channel, LW_EXCLUSIVE, [&](const Place&, const State* state) {
        wake(waiting_for[channel], *state, items, reason);
    });
}

void sleep_until(int64 at, int64 now) {
    me()->sleeping_until = at;
    wait_for_latch(std::clamp<int64>(at - now, 0, 3600 * 1000));
    me()->sleeping_until = core::kNever;  // anything that is due earlier than planned wakes us
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

void nap(int64 ms) {
    wait_for_latch(ms);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

}  // namespace belay::wakeups
