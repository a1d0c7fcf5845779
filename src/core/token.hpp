// Lease tokens: the text a worker shows to finish what it fetched.
//
// A token holds the key of its row, so the row is found without an index on tokens, and 128 random
// bits, so it cannot be guessed from that key. The random bits come last: the first characters of a
// token may be shown in an error. A token has exactly one spelling, so comparing tokens as text and
// as values is the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::core {

// The lease of one row of the worker queue. Begins with w.
struct WorkToken {
    int32_t lane = 0;
    int16_t slot = 0;
    int64_t due = 0;
    int64_t id = 0;
    int32_t incarnation = 0;
    uint64_t nonce_hi = 0;
    uint64_t nonce_lo = 0;

    bool operator==(const WorkToken&) const = default;
};

// The lease of one turn: of an instance and the batch fetched with it. Begins with t.
struct TurnToken {
    int64_t instance_key = 0;
    int64_t lock_no = 0;
    int32_t incarnation = 0;
    uint64_t nonce_hi = 0;
    uint64_t nonce_lo = 0;

    bool operator==(const TurnToken&) const = default;
};

// The lease of one task, as the front door hands it out. Begins with l.
struct TaskLease {
    unsigned char task[16] = {};
    int64_t epoch = 0;
    int32_t incarnation = 0;
    unsigned char nonce[16] = {};

    bool operator==(const TaskLease&) const = default;
};

// A place among the events of a hub, and the lease of the batch in which it was handed out. Not a
// secret: a reader of a subscription may also move it. Begins with e.
struct EventPlace {
    int64_t lease = 0;
    int32_t incarnation = 0;
    int64_t position = 0;
    uint64_t xid = 0;
    bool by_xid = false;  // the batch was in the order of xids

    bool operator==(const EventPlace&) const = default;
};

// Lengths of the texts, without a terminator.
constexpr size_t kWorkTokenChars = 58;
constexpr size_t kTurnTokenChars = 50;
constexpr size_t kEventPlaceChars = 40;
constexpr size_t kTaskLeaseChars = 60;

// Writes exactly that many characters of base64url, and no NUL.
void encode(const WorkToken& token, char* out);
void encode(const TurnToken& token, char* out);
void encode(const EventPlace& place, char* out);
void encode(const TaskLease& lease, char* out);

// Reads a token back. Anything that encode does not write, the other kinds of tokens included,
// gives no value.
std::optional<WorkToken> decode_work_token(std::string_view text);
std::optional<TurnToken> decode_turn_token(std::string_view text);
std::optional<EventPlace> decode_event_place(std::string_view text);
std::optional<TaskLease> decode_task_lease(std::string_view text);

// Whether the lease has this nonce, of 16 bytes. The time does not depend on where they differ.
bool has_nonce(const TaskLease& lease, const unsigned char* nonce);

}  // namespace belay::core
