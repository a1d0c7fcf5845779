#include "entry/call.hpp"

#include "pg/datum.hpp"

namespace belay::entry {

std::optional<std::string_view> Call::text(int i) const {
    if (!has(i)) {
        return std::nullopt;
    }
    return pg::text_view(PG_GETARG_DATUM(i));
}

std::optional<int64> Call::int8(int i) const {
    return has(i) ? std::optional(PG_GETARG_INT64(i)) : std::nullopt;
}

std::optional<int32> Call::int4(int i) const {
    return has(i) ? std::optional(PG_GETARG_INT32(i)) : std::nullopt;
}

std::optional<bool> Call::boolean(int i) const {
    return has(i) ? std::optional(PG_GETARG_BOOL(i)) : std::nullopt;
}

Jsonb* Call::jsonb(int i) const {
    return has(i) ? PG_GETARG_JSONB_P(i) : nullptr;
}

std::span<const Datum> Call::texts(int i) const {
    if (!has(i)) {
        return {};
    }
    Datum* values = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    deconstruct_array(PG_GETARG_ARRAYTYPE_P(i), TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls,
                      &count);
    for (int at = 0; at < count; ++at) {
        if (nulls[at]) {
            values[at] = 0;
        }
    }
    return {values, static_cast<std::size_t>(count)};
}

pg::Clock Call::clock(int p_now_ms) const {
    return pg::start_clock(int8(p_now_ms), hub.options[store::Option::kMaxClockSkew]);
}

Datum Call::null() const {
    fcinfo->isnull = true;
    return static_cast<Datum>(0);
}

Datum Call::answer(std::string_view text) const {
    MemoryContext old = MemoryContextSwitchTo(result_memory);
    const Datum value = pg::text_datum(text);
    MemoryContextSwitchTo(old);
    return value;
}

}  // namespace belay::entry
