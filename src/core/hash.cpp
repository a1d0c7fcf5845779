// Slots of ids, and keys of instances.
//
// Touches  its arguments
// Must not change: the results are in tables and tokens
#include "core/hash.hpp"

#include "core/bytes.hpp"

namespace belay::core {

int32_t slot_of_id(int64_t id, int32_t slot_count) {
    char bytes[8];
    put_big_endian(bytes, static_cast<uint64_t>(id), sizeof(bytes));
    return slot_of(std::string_view(bytes, sizeof(bytes)), slot_count);
}

int64_t instance_key(std::string_view id) {
    return static_cast<int64_t>(fnv1a64(id));
}

}  // namespace belay::core
