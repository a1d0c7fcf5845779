// Which names a hub may have.
#pragma once

#include <cstddef>
#include <string_view>

namespace belay::core {

enum class NameFault { kNone, kEmpty, kTooLong, kReserved };

// The longest identifier PostgreSQL keeps whole, in bytes.
constexpr size_t kMaxNameBytes = 63;

// Tells why a name cannot be the name of a hub's schema. Reserved are PostgreSQL's prefix pg_,
// information_schema and belay itself. The case of letters matters, as in a quoted identifier.
NameFault check_hub_name(std::string_view name);

}  // namespace belay::core
