// Leases of channels, and the wake-ups that their ends cause.
//
// A channel has a heap of its leases, by deadline: the timekeeper knows the next end at once. When
// there is no room, the oldest lease of the partition is forgotten, and its channel reads the
// tables instead. Touches belay's shared memory only. Locks: callers hold that of the partition,
// except LostOwners::wake, which takes it.
#include "shmem/wakeups/channels.hpp"

namespace belay::wakeups {

namespace {

struct Nodes {
    Leases* leases;

    shmem::HeapLinks& links(int32 node) { return leases->at(node)->links; }
    bool before(int32 a, int32 b) { return leases->at(a)->deadline < leases->at(b)->deadline; }
};

// Whether the lease is in the heap of that state, which is the one of its channel.
bool is_of(const Lease& lease, const State& state) {
    return lease.birth == state.birth;
}

void add_to_heap(const Place& place, State* state, Lease* lease) {
    lease->channel = place.channels->number_of(state);
    lease->birth = state->birth;
    state->leases =
        shmem::heap_insert(Nodes{place.leases}, state->leases, place.leases->number_of(lease));
}

void remove_from_heap(const Place& place, State* state, const Lease* lease) {
    state->leases =
        shmem::heap_remove(Nodes{place.leases}, state->leases, place.leases->number_of(lease));
}

Lease* make_lease(const Place& place, const LeaseKey& key, uint64 hash) {
    return place.leases->insert(key, hash, shmem::WhenFull::kForget,
                                [&place](const LeaseKey&, const Lease* forgotten) {
                                    State* state = place.channels->at(forgotten->channel);
                                    if (is_of(*forgotten, *state)) {
                                        remove_from_heap(place, state, forgotten);
                                        state->overflow = true;
                                    }
                                });
}

}  // namespace

int64 lease_due(const Place& place, const State& state) {
    return state.leases == kNone ? core::kNever : place.leases->at(state.leases)->deadline;
}

void set_lease(const Place& place, const Channel& channel, State* state, const LeaseChange& change,
               LostOwners* lost) {
    const LeaseKey key{place.hash, change.key};
    const uint64 hash = Leases::hash(key);
    Lease* lease = place.leases->find(key, hash);
    if (lease == nullptr) {
        lease = make_lease(place, key, hash);
        lease->owner = change.owner == kSameOwner ? 0 : change.owner;
    } else {
        if (is_of(*lease, *state)) {
            remove_from_heap(place, state, lease);
        }
        if (change.owner != kSameOwner) {
            if (lease->owner != change.owner) {
                lost->add(lease->owner);  // taken over
                lease->owner = change.owner;
            }
            count_event(channel, counters::Counter::kExpired, 1);
        }
        place.leases->touch(lease);
    }
    const bool is_next = change.deadline < lease_due(place, *state);
    lease->deadline = change.deadline;
    lease->since = change.since != 0 ? change.since : lease->since;
    add_to_heap(place, state, lease);
    if (is_next) {
        advance_timer(*state, change.deadline);
    }
}

int64 end_lease(const Place& place, State* state, uint64 key) {
    Lease* lease = place.leases->find({place.hash, key});
    if (lease == nullptr) {
        return 0;
    }
    const int64 since = lease->since;
    if (is_of(*lease, *state)) {
        remove_from_heap(place, state, lease);
    }
    place.leases->erase(lease);
    return since;
}

void end_expired(const Place& place, const Channel& channel, State* state, int64 now,
                 LostOwners* lost) {
    int32 expired = 0;
    while (lease_due(place, *state) <= now && !lost->is_full()) {
        Lease* lease = place.leases->at(state->leases);
        ++expired;
        lost->add(lease->owner);
        remove_from_heap(place, state, lease);
        place.leases->erase(lease);
    }
    if (expired > 0) {
        move(state);
        wake(channel, *state, expired, Reason::kLeaseExpired);
        count_event(channel, counters::Counter::kExpired, expired);
    }
}

void LostOwners::wake(const Channel& queue) const {
    for (int i = 0; i < count; ++i) {
        const Channel channel{queue.database, queue.hub, Topic::kOwner, 0, names[i]};
        with_place(channel, LW_EXCLUSIVE, [&channel](const Place& place) {
            const uint64 version = next_version();
            remember_change(place, channel, {version, 0, Reason::kLeaseExpired});
            if (State* state = find_state(place, channel)) {
                move(state, version);
                wakeups::wake(channel, *state, PG_INT32_MAX, Reason::kLeaseExpired);
            }
        });
    }
}

}  // namespace belay::wakeups
