// SQL functions around lease tokens and keys.
#include "core/hash.hpp"
#include "core/token.hpp"
#include "pg/boundary.hpp"
#include "pg/datum.hpp"

BELAY_FUNCTION(belay_random_int8) {
    int64 value = 0;
    if (!pg_strong_random(&value, sizeof value)) {
        ereport(ERROR,
                (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
    }
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
