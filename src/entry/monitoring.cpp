// Functions of schema belay that show what belay is doing.
#include "entry/call.hpp"
#include "pg/boundary.hpp"
#include "pg/wakeups.hpp"

using namespace belay;

BELAY_FUNCTION(belay_shared_memory) {
    InitMaterializedSRF(fcinfo, 0);
    const auto* info = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    const auto counts = pg::count_waits();
    const Datum values[] = {Int64GetDatum(counts.waiters), Int64GetDatum(counts.channels),
                            Int64GetDatum(counts.leases)};
    const bool nulls[lengthof(values)] = {};
    entry::Call::Set{info->setResult, info->setDesc}.add(values, nulls);
    return 0;
}
