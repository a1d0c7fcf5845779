// Table sessions: which owner has claimed a session, and until when.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/sql_types.hpp"

namespace belay::store {

struct Session {
    std::string_view worker_id;
    int64 locked_until;  // 0 if it was claimed in another incarnation
};

// The session as committed, without a lock.
std::optional<Session> read_session(const Hub& hub, std::string_view session_id);

// Claims the session for the owner if it is absent, expired or the owner's, and not locked.
// Never waits. False: lost.
bool try_claim_session(const Hub& hub, std::string_view session_id, std::string_view owner,
                       int64 now, int64 locked_until);

// Whether another transaction is changing the session, found out without holding it.
bool is_session_held(const Hub& hub, std::string_view session_id);

// Holds the session against other changes until the transaction ends. True if it had to wait.
bool hold_session(const Hub& hub, std::string_view session_id);

// Notes activity of a live session, if this owner has it. The session is held.
void touch_session(const Hub& hub, std::string_view session_id, std::string_view owner, int64 now);

// The live sessions of these owners whose last activity is later than active_after, by id.
std::span<const std::string_view> renewable_sessions(const Hub& hub, Array<std::string_view> owners,
                                                     int64 now, int64 active_after);

// Extends one of them, if it still is one. The session is held.
bool renew_session(const Hub& hub, std::string_view session_id, Array<std::string_view> owners,
                   int64 now, int64 active_after, int64 locked_until);

// Deletes expired sessions without rows in the worker queue: at most 1000 a call, since each is
// held in the lock table. Returns how many.
int64 delete_orphaned_sessions(const Hub& hub, int64 now);

}  // namespace belay::store
