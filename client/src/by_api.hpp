// Calls that the apis of a hub do not have alike. Where only the order of the arguments differs,
// Hub::call_named is enough.
#pragma once

#include <string_view>

#include "belay/hub.hpp"

namespace belay {

// Whether the hub has api duroxide-pg. Asks the server once per connection and hub.
bool is_duroxide_pg(Hub& hub, const Where& where);
// The same without asking; nothing if it is not known yet.
std::optional<bool> is_known_as_duroxide_pg(Hub& hub);

// Runs the call as the hub's api has it. Hubs of api belay are not asked for it: their call is
// tried first, and what it needs not be there in the others. A failed call would end a transaction,
// so there the api is asked for.
template <class Belay, class DuroxidePg>
auto call_by_api(Hub& hub, const Where& where, const Belay& belay, const DuroxidePg& duroxide_pg) {
    constexpr std::string_view kUndefinedFunction = "42883";
    if (hub.connection().in_transaction() ? is_duroxide_pg(hub, where)
                                          : is_known_as_duroxide_pg(hub).value_or(false)) {
        return duroxide_pg();
    }
    try {
        return belay();
    } catch (const Error& error) {
        if (error.sqlstate() != kUndefinedFunction || hub.connection().in_transaction() ||
            !is_duroxide_pg(hub, where)) {
            throw;
        }
    }
    return duroxide_pg();
}

// renew_work_item_lock or renew_orchestration_item_lock. Api duroxide-pg counts in seconds there:
// the lease is extended by the next whole second.
void renew_one(Hub& hub, std::string_view function, std::string_view lock_token,
               Milliseconds extend, const Where& where);

}  // namespace belay
