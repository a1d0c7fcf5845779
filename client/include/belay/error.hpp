// The one exception of the library. It has no subclasses: ask it what you may do next.
//
// Thread-safety: a value; copies may be read by any thread.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "belay/source_location.hpp"

namespace belay {

// What is known about a failure. Made by the library; applications read an Error.
struct ErrorFacts {
    std::string message = {};
    std::string sqlstate = {};  // "" if no server answered
    std::string detail = {};
    std::string hint = {};
    bool connection_lost = false;
    bool outcome_unknown = false;
    bool retry_exhausted = false;
    bool timed_out = false;
};

// Where a hub is.
struct HubPlace {
    std::string host = {};
    int port = 0;
};

// Thrown by every call of the client. Ask it what you may do next.
class Error : public std::runtime_error {
 public:
    explicit Error(ErrorFacts facts, const SourceLocation& where = SourceLocation::current());

    // "QB001", or "" if no server answered.
    std::string_view sqlstate() const noexcept { return facts_.sqlstate; }

    // The lease is not yours any more: stop working on this item, turn or task.
    bool lock_lost() const noexcept;

    // The task, or the flow, has ended. Of a task, the lease is lost, too.
    bool already_terminal() const noexcept { return facts_.sqlstate == "QB012"; }

    // What the call names does not exist.
    bool not_found() const noexcept;

    // Another server has the hub (QB017), and this one has changed nothing. A connection goes there
    // by itself, but not within a transaction, nor with a password that the place may not see.
    std::optional<HubPlace> elsewhere() const;

    // A serialization failure or a deadlock: the same call may succeed if it is run again.
    bool retryable() const noexcept;

    // As retryable(), and the library has tried as often as it does.
    bool retry_exhausted() const noexcept { return facts_.retry_exhausted; }

    // The connection is gone, or goes: its server does not have a hub that was followed there or
    // from there (3F000). The next call makes a new one.
    bool connection_lost() const noexcept { return facts_.connection_lost; }

    // It is not known whether the call has taken effect. For an ack: drop the item; if work
    // remains, it is delivered again. For a message: sent again, it may exist twice.
    bool outcome_unknown() const noexcept { return facts_.outcome_unknown; }

    // The server, a pooler or the network is to blame, not the call: the connection was lost or did
    // not come about in time, the server has no memory, disk or connections left (53xxx), has a
    // fault of its system (58xxx) or shuts down (57P0x), or does not know a prepared statement
    // (26000, 42P05). A worker does not count it as an attempt.
    bool infrastructure() const noexcept;

    // A deadline of this library has passed: of a pool, or of a connection that is being made.
    bool timed_out() const noexcept { return facts_.timed_out; }

    // The server's DETAIL; for SQLSTATEs of class QB one line of JSON. "" if there is none.
    const std::string& detail() const noexcept { return facts_.detail; }

    // The word of the case, as docs/errors.md lists them: "expired", "unknown_key". "" if none.
    std::string code_detail() const;

    // The server's HINT, what to do about it.
    const std::string& hint() const noexcept { return facts_.hint; }

    // The line of the application that made the call.
    const SourceLocation& where() const noexcept { return where_; }

    const ErrorFacts& facts() const noexcept { return facts_; }

 private:
    ErrorFacts facts_;
    SourceLocation where_;
};

}  // namespace belay
