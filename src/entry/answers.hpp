// Answers that several entry functions give in the same form.
#pragma once

#include "entry/call.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

inline Datum uuid_datum(const pg_uuid_t& id) {
    auto* copy = static_cast<pg_uuid_t*>(palloc(sizeof(pg_uuid_t)));
    *copy = id;
    return UUIDPGetDatum(copy);
}

// Forms one row in memory that outlives the call.
template <typename Fill>
Datum answer_row(const Call& call, Fill fill) {
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    Datum values[8] = {};
    bool nulls[8] = {};
    fill(values, nulls);
    const Datum row = call.one_row(values, nulls);
    MemoryContextSwitchTo(old);
    return row;
}

// A jsonb, or null, in such memory.
inline Datum answer_jsonb(const Call& call, const Jsonb* value) {
    if (value == nullptr) {
        return call.null();
    }
    auto* copy = MemoryContextAlloc(call.result_memory, VARSIZE(value));
    memcpy(copy, value, VARSIZE(value));
    return PointerGetDatum(copy);
}

// The argument p_limit of a list that comes page by page.
inline int32 page_limit(const Call& call, int i) {
    constexpr int32 kMaxPage = 1000;
    const int32 limit = call.int4(i).value_or(100);
    if (limit < 0 || limit > kMaxPage) {
        pg::raise(pg::kInvalidArgument, "p_limit must be from 0 to 1000",
                  pg::Facts("out_of_range").add("path", "p_limit").add("value", limit),
                  "Ask for several smaller pages.");
    }
    return limit;
}

}  // namespace belay::entry
