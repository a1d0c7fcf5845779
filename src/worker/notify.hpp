// NOTIFY for clients that would rather listen than wait.
#pragma once

#include "pg/pg.hpp"

namespace belay::worker {

// Sends a NOTIFY for every queue of these hubs that may have something new since the last time.
// Returns how long until the next item falls due, in ms.
int64 send_notifications(std::span<const Oid> hubs);

}  // namespace belay::worker
