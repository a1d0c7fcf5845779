// How the front door's entry functions read their arguments and form their rows. Each error names
// the argument.
#pragma once

#include "core/time.hpp"
#include "entry/call.hpp"
#include "ops/front_door/front_door.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

inline constexpr std::size_t kMaxQueues = 1000;  // of a receive
inline constexpr const char* kClassHint =
    "Classes are transient, permanent, timeout, infra_crash and cancelled.";

[[noreturn]] void refuse_null_argument(const char* path, const char* hint);

int32 required_int4(const Call& call, int i, const char* name);
const Interval& required_interval(const Call& call, int i, const char* name);
// From 0 to 100 years, in ms.
std::optional<int64> optional_span(const Call& call, int i, const char* name);
// In ms; an infinite time is refused.
std::optional<int64> optional_time(const Call& call, int i, const char* name);
pg_uuid_t required_task(const Call& call, int i);

// Elements of a text[]; none if it is NULL. An element that is NULL is refused.
std::span<const std::string_view> texts_of(const Call& call, int i, const char* name);

// The argument queues, as one name or as an array of names: sorted, each once, at least one.
enum class Queues { kOne, kMany };
std::span<const std::string_view> checked_queues(const Call& call, int i, Queues form,
                                                 std::size_t most);

// The arguments from queues to capabilities; the duration of the lease has that name. max must be
// at least 1; least is the lowest value that the function itself accepts, for the message.
ops::ClaimRequest receive_request(const Call& call, int first, Queues form, const char* lease,
                                  int32 least = 1);

// ---- Answers ----

inline Datum time_datum(int64 ms) {
    return TimestampTzGetDatum(core::ms_to_pg_us(ms));
}

// The columns of type received, of one of the received tasks. They point into it.
inline constexpr int kReceivedColumns = 12;
struct ReceivedColumns {
    Datum values[kReceivedColumns];
    bool nulls[kReceivedColumns];
};
ReceivedColumns received_columns(const ops::Received& received, std::size_t i);

}  // namespace belay::entry
