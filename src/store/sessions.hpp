// Table sessions: which owner has claimed a session, and until when.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

struct Session {
    std::string_view worker_id;
    int64 locked_until;
};

// The session as committed, without a lock.
std::optional<Session> read_session(const Hub& hub, std::string_view session_id);

// Claims the session for the owner if it is absent, expired or his, and nobody else is changing it.
// Never waits. False: lost.
bool try_claim_session(const Hub& hub, std::string_view session_id, std::string_view owner,
                       int64 now, int64 locked_until);

// Notes activity of a live session, if this owner has it. Waits for the row.
void touch_session(const Hub& hub, std::string_view session_id, std::string_view owner, int64 now);

// Holds the live sessions of these owners whose last activity is later than active_after. True if
// it had to wait for one.
bool hold_sessions(const Hub& hub, Datum owners, int64 now, int64 active_after);

// Extends those sessions; returns how many.
int64 renew_sessions(const Hub& hub, Datum owners, int64 now, int64 active_after,
                     int64 locked_until);

// Deletes expired sessions without rows in the worker queue.
int64 delete_orphaned_sessions(const Hub& hub, int64 now);

}  // namespace belay::store
