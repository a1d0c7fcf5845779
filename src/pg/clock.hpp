// The one clock: the caller's p_now_ms, or belay.now of its transaction, or the server's own.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The server's clock, whole milliseconds since the Unix epoch. Never the transaction's start time.
int64 server_now_ms();

// A clock that is never set: for intervals, not for times.
int64 monotonic_ms();

// Time inside one call. A caller's clock stands still while the call runs, and moves on by the time
// that passed once the call has waited for a lock (CL-4); the server's clock is read each time.
struct Clock {
    bool from_server;
    bool waited;
    int64 entry_ms;
    int64 server_entry_ms;

    int64 now() const;
    void mark_waited() { waited = true; }
};

// Starts the clock of a call; without a time of the caller's it is belay.now of the transaction, if
// that is set. Raises QB006 for a time that cannot be stored, QB007 for one further
// than max_skew_ms from the server's; max_skew_ms 0 switches that check off.
Clock start_clock(std::optional<int64> p_now_ms, int64 max_skew_ms);

// The second half of start_clock by itself, for calls that check something else before (QB007).
void check_skew(const Clock& clock, int64 max_skew_ms);

}  // namespace belay::pg
