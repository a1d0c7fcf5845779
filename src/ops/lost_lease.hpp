// The error of a call whose token does not open its lease (QB001).
#pragma once

#include "core/lease.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::ops {

// Why a lease is lost, as a sentence without a subject of its own: what has become of the work
// item or the turn that the token names, as far as its tables show. The queue is the one that the
// call is about: a token of the other one names nothing there, also if its lease is live.
const char* lost_reason(const store::Hub& hub, store::Queue queue, std::string_view token,
                        core::LeaseFault fault);

// Raises QB001. The message is lost_reason; in a hub of api duroxide-pg it is duroxide_text, which
// that project's clients match.
[[noreturn]] void raise_lock_lost(const store::Hub& hub, store::Queue queue,
                                  const char* duroxide_text, std::string_view token,
                                  core::LeaseFault fault, int64 locked_until);

// The same with a message of the caller's.
[[noreturn]] void raise_lock_lost(const char* message, std::string_view token,
                                  core::LeaseFault fault, int64 locked_until);

}  // namespace belay::ops
