// The last number of a sequence, and moving a sequence forward.
//
// Touches  the sequence
// Must not draw a number, or move a sequence back
#include "pg/sequence.hpp"

namespace belay::pg {

int64 last_number(Oid sequence) {
    LOCAL_FCINFO(call, 1);
    InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
    call->args[0] = {ObjectIdGetDatum(sequence), false};
    const Datum last = pg_sequence_last_value(call);
    return call->isnull ? 0 : DatumGetInt64(last);
}

void raise_sequence(Oid sequence, int64 floor) {
    if (last_number(sequence) < floor) {
        (void)DirectFunctionCall2(setval_oid, ObjectIdGetDatum(sequence), Int64GetDatum(floor));
    }
}

}  // namespace belay::pg
