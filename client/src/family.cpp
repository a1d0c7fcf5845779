// Which hub of a family has a key.
//
// May touch: nothing outside. Must not: differ from belay.family_hub, or change: keys would move.
#include "belay/family.hpp"

#include <cstdint>
#include <cstdio>
#include <utility>

namespace belay {
namespace {

// FNV-1a with 64 bits.
std::uint64_t hash_of(std::string_view key) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : key) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    return hash;
}

}  // namespace

Family::Family(std::string name, int hubs, const SourceLocation& where)
    : name_(std::move(name)), hubs_(hubs) {
    if (hubs < 1 || hubs > kMaxHubs) {
        throw Error({.message = "a family has 1 to " + std::to_string(kMaxHubs) + " hubs",
                     .sqlstate = "22023"},
                    where);
    }
}

// Jump consistent hash: the last of the numbers that the key jumps to.
int Family::number(std::string_view key) const {
    std::uint64_t state = hash_of(key);
    std::int64_t last = 0;
    for (std::int64_t next = 0; next < hubs_;) {
        last = next;
        state = state * 2862933555777941757 + 1;
        const double chance = static_cast<double>((state >> 33) + 1) / 2147483648.0;
        next = static_cast<std::int64_t>(static_cast<double>(last + 1) * (1.0 / chance));
    }
    return static_cast<int>(last);
}

std::string Family::hub_at(int number) const {
    char digits[16];
    std::snprintf(digits, sizeof digits, "_%03d", number);
    return name_ + digits;
}

std::vector<std::string> Family::hubs() const {
    std::vector<std::string> all;
    for (int number = 0; number < hubs_; ++number) {
        all.push_back(hub_at(number));
    }
    return all;
}

}  // namespace belay
