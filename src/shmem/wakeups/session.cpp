// What a session remembers between its waits: empty fetches, the hint that it still has to hand on,
// and what it has reported of owners.
//
// Touches the session's memory; resolve_hint wakes a waiter under the lock of the channel's
// partition.
#include "shmem/wakeups/session.hpp"

#include <utility>

namespace belay::wakeups {

namespace {

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

// What the last waits of this session have reported of owners. Of fixed size, because a wait may
// end in an error; a session that waits for more owners misses what happens between its waits.
constinit Remembered reported_owners[kMaxChannels] = {};
constinit int next_reported_owner = 0;

Remembered* find_reported_owner(const Channel& channel) {
    for (Remembered& owner : reported_owners) {
        if (owner.channel == channel) {
            return &owner;
        }
    }
    return nullptr;
}

}  // namespace

void remember_reported(const Channel& channel, uint64 version) {
    if (Remembered* known = find_reported_owner(channel)) {
        known->version = std::min(known->version, version);
    } else if (Remembered* unused = find_reported_owner({})) {
        *unused = {channel, version};
    } else {
        reported_owners[next_reported_owner] = {channel, version};
        next_reported_owner = (next_reported_owner + 1) % kMaxChannels;
    }
}

void owe_hint(const Channel& channel, uint64 version) {
    owed = {channel, version};
}

uint64 next_hint() {
    return pg_atomic_read_u64(&shared->clock) + 1;
}

void resolve_hint(const Channel& channel, bool found_nothing) {
    if (owed.version == 0 || !(owed.channel == channel)) {
        return;
    }
    const uint64 version = std::exchange(owed.version, 0);
    if (!found_nothing) {
        return;
    }
    with_place(channel, LW_EXCLUSIVE, [&](const Place& place) {
        if (const State* state = find_state(place, channel)) {
            wake(channel, *state, 1, Reason::kWork, version);
        }
    });
}

void remember_empty(const Channel& channel, uint64 version) {
    if (version == 0) {
        return;
    }
    resolve_hint(channel, true);
    remember_seen(channel, version);
}

void remember_seen(const Channel& channel, uint64 version) {
    bool found = false;
    auto* known = static_cast<Remembered*>(hash_search(memory(), &channel, HASH_ENTER, &found));
    known->version = found ? std::min(known->version, version) : version;
}

std::optional<uint64> take_remembered(const Channel& channel) {
    if (channel.topic == Topic::kOwner) {
        Remembered* reported = find_reported_owner(channel);
        if (reported == nullptr) {
            return std::nullopt;
        }
        reported->channel = {};
        return reported->version;
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

}  // namespace belay::wakeups
