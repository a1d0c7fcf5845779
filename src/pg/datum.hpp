// Text between Datum and string_view.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The bytes of a text value. They live as long as the value, or its detoasted copy.
inline std::string_view text_view(Datum value) {
    const text* packed = DatumGetTextPP(value);
    return {VARDATA_ANY(packed), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(packed))};
}

// A text value in the current memory context.
inline Datum text_datum(std::string_view value) {
    return PointerGetDatum(cstring_to_text_with_len(value.data(), static_cast<int>(value.size())));
}

// A jsonb value, from text that is known to be JSON that jsonb can hold.
inline Datum jsonb_datum(std::string_view value) {
    char* text = pnstrdup(value.data(), value.size());
    const Datum result = DirectFunctionCall1(jsonb_in, CStringGetDatum(text));
    pfree(text);
    return result;
}

}  // namespace belay::pg
