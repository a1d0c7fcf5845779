// Arguments and rows that several entry functions of the worker queue share.
#pragma once

#include "entry/call.hpp"
#include "ops/worker_queue/worker_queue.hpp"

namespace belay::entry {

inline constexpr int32 kMaxFetch = 1000;

// A place without an argument, for p_slots.
inline constexpr int kAllSlots = FUNC_MAX_ARGS;

// Arguments of a fetch: p_lock_timeout_ms; p_owner_id and the three behind it; p_slots.
ops::FetchRequest fetch_request(const Call& call, int lock_timeout, int owner, int slots);

// The argument p_max_new_sessions.
std::optional<int32> checked_new_sessions(std::optional<int32> value);

// Item, token and attempt of a leased row, in the memory of the answer.
struct LeasedColumns {
    Datum values[3];
    bool nulls[3];
};
LeasedColumns leased_columns(const Call& call, const store::Leased& leased);

// Six arguments from the first on: the tokens under this name, and how each lease ends.
std::span<ops::WorkOutcome> read_work_outcomes(const Call& call, int first,
                                               const char* tokens_name);
// What was wrong with an outcome, as a SQLSTATE and a word; null: nothing.
const char* error_of(const ops::WorkOutcome& outcome);
const char* reason_of(const ops::WorkOutcome& outcome);

}  // namespace belay::entry
