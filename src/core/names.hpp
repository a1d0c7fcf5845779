// Which names a hub may have.
#pragma once

#include <cstddef>
#include <string_view>

namespace belay::core {

enum class NameFault { kNone, kEmpty, kTooLong, kReserved };

// The longest identifier PostgreSQL keeps whole, in bytes.
constexpr size_t kMaxNameBytes = 63;

// Says why a name cannot be the name of a hub's schema. Reserved are PostgreSQL's prefix pg_,
// information_schema and belay itself. The case of letters matters, as in a quoted identifier.
NameFault check_hub_name(std::string_view name);

// The word that errors use for a fault.
constexpr const char* code_detail(NameFault fault) {
    switch (fault) {
        case NameFault::kNone:
            break;
        case NameFault::kEmpty:
            return "empty";
        case NameFault::kTooLong:
            return "too_long";
        case NameFault::kReserved:
            return "reserved_name";
    }
    return "";
}

// What a caller can do about it.
inline constexpr const char* kHubNameHint =
    "Pass a name of 1 to 63 bytes that does not begin with pg_ and is not belay or "
    "information_schema.";

}  // namespace belay::core
