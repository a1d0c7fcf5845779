// The hash behind lanes, slots and instance keys.
//
// Its results are stored in tables and inside tokens, so it never changes: not between releases,
// not between machines, not between byte orders.
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::core {

// The 64-bit FNV-1a hash of the bytes, and of others before them if their hash is given.
constexpr uint64_t fnv1a64(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325ULL) {
    for (char byte : bytes) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 0x100000001b3ULL;
    }
    return hash;
}

// The slot of an instance id, a session id or the bytes of a task uuid, in 0 .. slot_count - 1.
// A count below 2 has only slot 0.
constexpr int32_t slot_of(std::string_view bytes, int32_t slot_count) {
    return slot_count < 2
               ? 0
               : static_cast<int32_t>(fnv1a64(bytes) % static_cast<uint64_t>(slot_count));
}

// The slot of a queue row that has neither instance nor session: the hash of the eight bytes of
// its id, highest byte first.
int32_t slot_of_id(int64_t id, int32_t slot_count);

// The lane of a worker row: an even number for its tag, plus 1 if it has a session. Untagged is 0,
// and no tag, the empty one included, shares it: a fetch of untagged work never meets tagged rows.
constexpr int32_t lane_of(bool has_tag, std::string_view tag, bool has_session) {
    constexpr uint64_t kTagHashes = (uint64_t{1} << 30) - 1;
    uint64_t hash30 = has_tag ? 1 + fnv1a64(tag) % kTagHashes : 0;
    return static_cast<int32_t>(2 * hash30 + (has_session ? 1 : 0));
}

// The key of an instance in the orchestrator queue and the instance locks. Two ids may share a key;
// a call that finds a row by it compares the id too.
int64_t instance_key(std::string_view id);

}  // namespace belay::core
