// Text between Datum and string_view; arrays of numbers.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// An array of bigint, in the current memory context.
inline Datum int8_array_datum(std::span<const int64> numbers) {
    auto* elements = static_cast<Datum*>(palloc(sizeof(Datum) * (numbers.size() + 1)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        elements[i] = Int64GetDatum(numbers[i]);
    }
    return PointerGetDatum(construct_array(elements, static_cast<int>(numbers.size()), INT8OID,
                                           sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

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
