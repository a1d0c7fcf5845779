// Families of hubs: which hub of a family has a key.
//
// The answer is stored nowhere and computed on both sides of a connection, so it never changes.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/hash.hpp"

namespace belay::core {

inline constexpr int32_t kMaxFamily = 1024;

// The bucket of a hash, in 0 .. buckets - 1: jump consistent hash (Lamping and Veach, 2014). With
// one more bucket each key stays where it is or goes to the new one.
constexpr int32_t jump_hash(uint64_t hash, int32_t buckets) {
    int64_t bucket = 0;
    for (int64_t next = 0; next < buckets;) {
        bucket = next;
        hash = hash * 2862933555777941757ULL + 1;
        const auto ratio =
            static_cast<double>(int64_t{1} << 31) / static_cast<double>((hash >> 33) + 1);
        next = static_cast<int64_t>(static_cast<double>(bucket + 1) * ratio);
    }
    return static_cast<int32_t>(bucket);
}

// The number of the hub that has a key.
constexpr int32_t family_number(std::string_view key, int32_t hubs) {
    return jump_hash(fnv1a64(key), hubs);
}

}  // namespace belay::core
