// Arguments and rows that several entry functions of the worker queue share.
#pragma once

#include "entry/call.hpp"
#include "ops/worker_queue/worker_queue.hpp"

namespace belay::entry {

inline constexpr int32 kMaxFetch = 1000;

// Arguments of a fetch, from p_lock_timeout_ms on; the slots come later.
ops::FetchRequest fetch_request(const Call& call, int first, int slots);

// The argument p_max_new_sessions.
std::optional<int32> checked_new_sessions(std::optional<int32> value);

// Item, token and attempt of a leased row, in the memory of the answer.
struct LeasedColumns {
    Datum values[3];
    bool nulls[3];
};
LeasedColumns leased_columns(const Call& call, const store::Leased& leased);

}  // namespace belay::entry
