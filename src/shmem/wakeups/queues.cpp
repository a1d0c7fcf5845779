// Queues as others see them: what falls due, for the background worker and for tasks, and how much
// they are used, for monitoring.
//
// Touches belay's shared memory only. Locks: one partition at a time, and nothing is allocated
// under it. What walks over a whole partition is for monitoring only.
#include <algorithm>
#include <utility>

#include "pg/clock.hpp"
#include "shmem/wakeups/channels.hpp"

namespace belay::wakeups {

uint64 advance_queue(const Channel& channel, int64 now) {
    uint64 version = 0;
    if (!is_shared()) {
        return version;
    }
    LostOwners lost;
    with_place(channel, LW_EXCLUSIVE, [&](const Place& place) {
        State* state = find_or_make_state(place, channel);
        if (state == nullptr) {
            return;
        }
        end_expired(place, channel, state, now, &lost);
        // Where a session waits, it looks after items that fall due itself.
        if (state->due <= now && state->waiters == 0) {
            state->due = core::kNever;
            state->known = false;
            move(state);
        }
        version = state->version;
    });
    lost.wake(channel);
    return version;
}

int64 next_due(const Channel& channel) {
    int64 due = core::kNever;
    if (is_shared()) {
        with_place(channel, LW_SHARED, [&](const Place& place) {
            if (const State* state = find_state(place, channel)) {
                due = std::min(state->due, lease_due(place, *state));
            }
        });
    }
    return due;
}

DueHint due_hint(const Channel& channel) {
    DueHint hint{};
    if (!is_shared()) {
        return hint;
    }
    // What a prepared transaction will make due is not in the state yet.
    const bool complete = pg_atomic_read_u32(&shared->prepared_count) == 0;
    with_place(channel, LW_EXCLUSIVE, [&](const Place& place) {
        if (const State* state = find_or_make_state(place, channel)) {
            hint = {state->known && complete, std::min(state->due, own_due()),
                    state->due_moves + 1};
        }
    });
    return hint;
}

namespace {

// Finds the use that something in shared memory belongs to, by a hash or a number. Nothing is
// allocated after it is made.
struct Index {
    std::pair<uint64, int32>* sorted;
    std::size_t count;

    template <typename KeyOf>
    static Index make(std::span<const QueueUse> uses, KeyOf key_of) {
        Index index{static_cast<std::pair<uint64, int32>*>(
                        palloc(sizeof(std::pair<uint64, int32>) * uses.size())),
                    uses.size()};
        for (std::size_t i = 0; i < uses.size(); ++i) {
            index.sorted[i] = {key_of(uses[i]), static_cast<int32>(i)};
        }
        std::sort(index.sorted, index.sorted + index.count);
        return index;
    }
    int32 find(uint64 key) const {
        const auto* at = std::lower_bound(
            sorted, sorted + count, key,
            [](const std::pair<uint64, int32>& a, uint64 b) { return a.first < b; });
        return at != sorted + count && at->first == key ? at->second : kNone;
    }
};

uint64 number_of(Oid hub, Topic topic) {
    return static_cast<uint64>(hub) << 8 | static_cast<uint64>(topic);
}

// A process that waits for a queue, or for several channels of it.
struct Line {
    int32 use;
    int32 process;

    auto operator<=>(const Line&) const = default;
};

struct Lines {
    Line* list;
    Size most;
    Size count = 0;

    // A session that waits for several queues counts once.
    void count_in(std::span<QueueUse> uses) {
        std::sort(list, list + count);
        const Line* end = std::unique(list, list + count);
        for (const Line* line = list; line != end; ++line) {
            ++uses[static_cast<std::size_t>(line->use)].waiters;
        }
    }
};

void read_partition(const Place& place, const Index& by_number, Lines* lines) {
    place.channels->each([&](const Channel& channel, const State* state) {
        const int32 use = channel.database == MyDatabaseId
                              ? by_number.find(number_of(channel.hub, channel.topic))
                              : kNone;
        for (int32 node = use == kNone ? kNone : state->head;
             node != kNone && lines->count < lines->most; node = node_at(node)->next) {
            lines->list[lines->count++] = {use, node / kMaxChannels};
        }
    });
}

void read_leases(const Place& place, const Index& by_hash, int64 now, std::span<QueueUse> uses) {
    place.leases->each([&](const LeaseKey& key, const Lease* lease) {
        if (const int32 use = by_hash.find(key.channel); use != kNone) {
            ++uses[static_cast<std::size_t>(use)].leases;
            uses[static_cast<std::size_t>(use)].overdue += lease->deadline < now ? 1 : 0;
        }
    });
}

}  // namespace

void read_queue_uses(std::span<QueueUse> uses) {
    for (QueueUse& use : uses) {
        use.waiters = 0;
        use.leases = 0;
        use.overdue = 0;
    }
    if (!is_shared() || uses.empty()) {
        return;
    }
    const Index by_hash = Index::make(
        uses, [](const QueueUse& use) { return Channels::hash(channel_of(use.hub, use.topic)); });
    const Index by_number =
        Index::make(uses, [](const QueueUse& use) { return number_of(use.hub, use.topic); });
    const auto most = static_cast<Size>(shared->waiters) * kMaxChannels;
    Lines lines{
        static_cast<Line*>(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Line) * most)),
        most};
    const int64 now = pg::server_now_ms();
    for (int i = 0; i < kPartitions; ++i) {
        const Place place = place_of_partition(i);
        LWLockAcquire(&place.partition->lock, LW_SHARED);
        read_partition(place, by_number, &lines);
        read_leases(place, by_hash, now, uses);
        LWLockRelease(&place.partition->lock);
    }
    lines.count_in(uses);
    pfree(lines.list);
}

std::optional<int64> count_waiters(std::initializer_list<Channel> channels) {
    if (!is_shared()) {
        return std::nullopt;
    }
    const Size most = static_cast<Size>(shared->waiters) * channels.size();
    auto* sessions = static_cast<int32*>(palloc(sizeof(int32) * most));
    Size count = 0;
    for (const Channel& channel : channels) {
        with_place(channel, LW_SHARED, [&](const Place& place) {
            const State* state = find_state(place, channel);
            for (int32 node = state == nullptr ? kNone : state->head; node != kNone && count < most;
                 node = node_at(node)->next) {
                sessions[count++] = node / kMaxChannels;
            }
        });
    }
    std::sort(sessions, sessions + count);
    return std::unique(sessions, sessions + count) - sessions;  // one that waits on two counts once
}

WaitCounts count_waits() {
    WaitCounts counts{};
    for (int i = 0; is_shared() && i < kPartitions; ++i) {
        const Place place = place_of_partition(i);
        LWLockAcquire(&place.partition->lock, LW_SHARED);
        counts.channels += place.channels->size();
        counts.leases += place.leases->size();
        place.channels->each(
            [&counts](const Channel&, const State* state) { counts.waiters += state->waiters; });
        LWLockRelease(&place.partition->lock);
    }
    return counts;
}

}  // namespace belay::wakeups
