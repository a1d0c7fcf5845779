// Channels: their shared memory, versions, and last changes.
//
// Touches belay's shared memory only. Locks: callers hold that of the partition; nothing here takes
// one. A channel without waiters is forgotten in constant time when there is no room.
#include "shmem/wakeups/channels.hpp"

#include "core/hash.hpp"
#include "pg/clock.hpp"
#include "pg/settings.hpp"
#include "shmem/shared_memory.hpp"

namespace belay::wakeups {

namespace {

constexpr int kChannels = 256;  // per partition
constexpr int kChanges = 64;    // remembered, per partition

int leases_per_partition() {
    return std::max(64, pg::settings.lease_slots / kPartitions);
}

Size partition_bytes(int leases) {
    return Channels::bytes(kChannels) + Changes::bytes(kChanges) + Leases::bytes(leases);
}

char* tables_at(int partition) {
    return reinterpret_cast<char*>(shared) + MAXALIGN(sizeof(Shared)) +
           static_cast<Size>(partition) * partition_bytes(shared->leases);
}

Waiter* all_waiters() {
    return reinterpret_cast<Waiter*>(tables_at(kPartitions));
}

Size wake_bytes() {
    const auto waiters = static_cast<Size>(MaxBackends);
    return MAXALIGN(sizeof(Shared)) + kPartitions * partition_bytes(leases_per_partition()) +
           sizeof(Waiter) * waiters + sizeof(Node) * waiters * kMaxChannels;
}

void init_wake(void* piece) {
    shared = static_cast<Shared*>(piece);
    memset(shared, 0, sizeof(Shared));
    pg_atomic_init_u64(&shared->clock, 1);
    pg_atomic_init_u32(&shared->prepared_count, 0);
    pg_atomic_init_u32(&shared->task_waiters, 0);
    LWLockInitialize(&shared->prepared_lock, shmem::lock_tranche());
    shared->leases = leases_per_partition();
    shared->waiters = MaxBackends;
    for (int i = 0; i < kPartitions; ++i) {
        const Place place = place_of_partition(i);
        LWLockInitialize(&place.partition->lock, shmem::lock_tranche());
        (void)Channels::make(place.channels, kChannels);
        (void)Changes::make(place.changes, kChanges);
        (void)Leases::make(place.leases, shared->leases);
    }
    for (int32 i = 0; i < shared->waiters; ++i) {
        pg_atomic_init_u32(&waiter_at(i)->state, kIdle);
    }
}

void use_wake(void* piece) {
    shared = static_cast<Shared*>(piece);
}

// The version of a new state. A session may wait for an owner again, whose channel was forgotten
// meanwhile.
uint64 first_version(const Place& place, const Channel& channel) {
    if (channel.topic != Topic::kOwner) {
        return next_version();
    }
    const Change* change = place.changes->find(channel, place.hash);
    return std::max(place.partition->owner_version, change != nullptr ? change->version : 0);
}

}  // namespace

constinit Shared* shared = nullptr;

bool is_shared() {
    return shared != nullptr || shmem::attach();
}

Waiter* waiter_at(int32 number) {
    return all_waiters() + number;
}

Node* node_at(int32 number) {
    return reinterpret_cast<Node*>(all_waiters() + shared->waiters) + number;
}

Place place_of_partition(int number) {
    char* tables = tables_at(number);
    return {.partition = &shared->partitions[number],
            .channels = reinterpret_cast<Channels*>(tables),
            .changes = reinterpret_cast<Changes*>(tables + Channels::bytes(kChannels)),
            .leases = reinterpret_cast<Leases*>(tables + Channels::bytes(kChannels) +
                                                Changes::bytes(kChanges)),
            .hash = 0};
}

Place place_of(const Channel& channel) {
    const uint64 hash = Channels::hash(channel);
    Place place = place_of_partition(static_cast<int>(hash % kPartitions));
    place.hash = hash;
    return place;
}

State* find_or_make_state(const Place& place, const Channel& channel) {
    State* state = find_state(place, channel);
    if (state == nullptr) {
        state = place.channels->insert(channel, place.hash, shmem::WhenFull::kForget);
        if (state == nullptr) {
            return nullptr;
        }
        *state = {.birth = ++place.partition->births,
                  .head = kNone,
                  .tail = kNone,
                  .waiters = 0,
                  .movers = 0,
                  .leases = kNone,
                  .version = first_version(place, channel),
                  .probed_at = 0,
                  .moved_at = 0,
                  .recheck_at = core::kNever,
                  .due_moves = 0,
                  .due = core::kNever,
                  .known = !is_queue(channel),
                  .overflow = false,
                  .prepared_unknown = is_queue(channel) && max_prepared_xacts > 0};
    }
    place.channels->touch(state);
    return state;
}

void free_state(const Place& place, State* state) {
    state->birth = 0;  // what points to it by number must not take it for the channel
    place.channels->erase(state);
}

bool is_queue(const Channel& channel) {
    return channel.topic == Topic::kOrchestrator || channel.topic == Topic::kWorker ||
           channel.topic == Topic::kOutbox || channel.topic == Topic::kQueue ||
           channel.topic == Topic::kTaskDue || channel.topic == Topic::kTaskLease;
}

uint64 next_version() {
    return pg_atomic_add_fetch_u64(&shared->clock, 1);
}

void move(State* state, uint64 version) {
    state->version = version;
    state->moved_at = pg::server_now_ms();
    state->recheck_at = std::min(state->recheck_at, state->moved_at + kRecheckMs);
}

bool is_recheck_due(const State& state, int64 now) {
    const int64 at = state.overflow || state.prepared_unknown
                         ? std::min(state.recheck_at, state.probed_at + kRecheckMs)
                         : state.recheck_at;
    return now >= at && (now >= state.moved_at + kGraceMs || now >= at + kRecheckMs);
}

// The oldest one makes room.
void remember_change(const Place& place, const Channel& channel, const Change& change) {
    if (Change* known = place.changes->find(channel, place.hash)) {
        place.changes->erase(known);
    }
    *place.changes->insert(channel, place.hash, shmem::WhenFull::kForget,
                           [&place](const Channel& forgotten, const Change* last) {
                               if (forgotten.topic == Topic::kOwner) {
                                   place.partition->owner_version =
                                       std::max(place.partition->owner_version, last->version);
                               }
                           }) = change;
}

Channel channel_of(Oid hub, Topic topic, std::string_view name) {
    return {MyDatabaseId, hub, topic, 0, name.empty() ? 0 : core::fnv1a64(name)};
}

std::optional<LastChange> last_change(const Channel& channel) {
    std::optional<LastChange> last;
    if (is_shared()) {
        with_place(channel, LW_SHARED, [&](const Place& place) {
            if (const Change* found = place.changes->find(channel, place.hash)) {
                last = LastChange{found->reason, found->mark};
            }
        });
    }
    return last;
}

uint64 queue_version(const Channel& channel) {
    uint64 version = 0;
    if (!is_shared()) {
        return version;
    }
    with_place(channel, LW_SHARED, [&](const Place& place) {
        if (State* state = find_state(place, channel)) {
            place.channels->touch(state);
            version = state->version;
        }
    });
    if (version == 0) {
        with_place(channel, LW_EXCLUSIVE, [&](const Place& place) {
            const State* state = find_or_make_state(place, channel);
            version = state != nullptr ? state->version : 0;
        });
    }
    return version;
}

void install() {
    shmem::add_piece({wake_bytes, init_wake, use_wake});
}

}  // namespace belay::wakeups
