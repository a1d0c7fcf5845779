// SQL functions around lease tokens and keys.
//
// Touches  their arguments and their answer
// Must not read a hub: views and tests call them about rows that they have read
#include <algorithm>

#include "core/hash.hpp"
#include "core/task.hpp"
#include "core/token.hpp"
#include "pg/boundary.hpp"
#include "pg/datum.hpp"
#include "pg/random.hpp"

BELAY_FUNCTION(belay_random_int8) {
    int64 value = 0;
    belay::pg::fill_random(&value, sizeof value);
    PG_RETURN_INT64(value);
}

BELAY_FUNCTION(belay_instance_key) {
    PG_RETURN_INT64(belay::core::instance_key(belay::pg::text_view(PG_GETARG_DATUM(0))));
}

BELAY_FUNCTION(belay_work_token) {
    const belay::core::WorkToken token{.lane = PG_GETARG_INT32(0),
                                       .slot = PG_GETARG_INT16(1),
                                       .due = PG_GETARG_INT64(2),
                                       .id = PG_GETARG_INT64(3),
                                       .incarnation = PG_GETARG_INT32(4),
                                       .nonce_hi = static_cast<uint64_t>(PG_GETARG_INT64(5)),
                                       .nonce_lo = static_cast<uint64_t>(PG_GETARG_INT64(6))};
    char out[belay::core::kWorkTokenChars];
    belay::core::encode(token, out);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(out, sizeof out));
}

BELAY_FUNCTION(belay_turn_token) {
    const belay::core::TurnToken token{.instance_key = PG_GETARG_INT64(0),
                                       .lock_no = PG_GETARG_INT64(1),
                                       .incarnation = PG_GETARG_INT32(2),
                                       .nonce_hi = static_cast<uint64_t>(PG_GETARG_INT64(3)),
                                       .nonce_lo = static_cast<uint64_t>(PG_GETARG_INT64(4))};
    char out[belay::core::kTurnTokenChars];
    belay::core::encode(token, out);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(out, sizeof out));
}

// The CHECK of a hub's table tasks. One call is cheaper than the expressions it stands for: the
// server reads a CHECK anew for each statement.
BELAY_FUNCTION(belay_task_is_sound) {
    const auto word = [fcinfo](int i) {
        return PG_ARGISNULL(i) ? std::string_view() : belay::pg::text_view(PG_GETARG_DATUM(i));
    };
    const auto has = [fcinfo](int i) { return !PG_ARGISNULL(i); };
    int64 least = 0;
    for (int i = 13; i < 18; ++i) {
        least = PG_ARGISNULL(i) ? least : std::min<int64>(least, PG_GETARG_INT32(i));
    }
    for (int i = 19; i < 21; ++i) {
        least = PG_ARGISNULL(i) ? least : std::min(least, PG_GETARG_INT64(i));
    }
    const belay::core::TaskRow row{.state = word(0),
                                   .pending = word(1),
                                   .attempt_kind = word(2),
                                   .has_lease_owner = has(3),
                                   .has_lease_worker = has(4),
                                   .has_lease_until = has(5),
                                   .has_lease_check = has(6),
                                   .has_available_at = has(7),
                                   .has_terminal_at = has(8),
                                   .has_attempt_started = has(9),
                                   .has_attempt_deadline = has(10),
                                   .has_attempt_worker = has(11),
                                   .has_attempt_instance = has(12),
                                   .attempt_leases = has(13) ? PG_GETARG_INT32(13) : 0,
                                   .priority = has(18) ? PG_GETARG_INT32(18) : 0,
                                   .least = least};
    PG_RETURN_BOOL(belay::core::is_sound(row));
}
