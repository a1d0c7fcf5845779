// Which names a hub may have.
//
// Touches  its argument
// Must not know which hubs there are
#include "core/names.hpp"

namespace belay::core {

NameFault check_hub_name(std::string_view name) {
    if (name.empty()) {
        return NameFault::kEmpty;
    }
    if (name.size() > kMaxNameBytes) {
        return NameFault::kTooLong;
    }
    if (name.starts_with("pg_") || name == "belay" || name == "information_schema") {
        return NameFault::kReserved;
    }
    return NameFault::kNone;
}

}  // namespace belay::core
