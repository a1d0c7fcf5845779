// Arguments and rows that several entry functions of tasks share.
#pragma once

#include "entry/call.hpp"
#include "ops/task/task.hpp"

namespace belay::entry {

inline constexpr int32 kMaxClaim = 1000;

// The elements of an array of texts; NULL among them is QB006.
std::span<const std::string_view> words(const Call& call, int i, const char* path);

// Arguments of a claim, from p_worker to p_slots. With may_be_none p_max_items may be 0.
ops::ClaimRequest claim_request(const Call& call, int first, bool may_be_none = false);

// The columns of type claimed_task, of one of the claimed tasks. They point into it.
inline constexpr int kClaimedColumns = 22;
struct ClaimedColumns {
    Datum values[kClaimedColumns];
    bool nulls[kClaimedColumns];
};
ClaimedColumns claimed_columns(const Call& call, const ops::Claimed& claimed, std::size_t i);

// A row for each of them.
void add_claimed(const Call& call, const Call::Set& set, const ops::Claimed& claimed);

}  // namespace belay::entry
