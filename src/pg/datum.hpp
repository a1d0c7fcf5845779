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

// An array of texts in the current memory context; each text is copied once.
inline Datum text_array_datum(std::span<const std::string_view> texts) {
    Size bytes = ARR_OVERHEAD_NONULLS(1);
    for (const std::string_view text : texts) {
        bytes += INTALIGN(VARHDRSZ + text.size());
    }
    auto* array = static_cast<ArrayType*>(palloc(bytes));
    SET_VARSIZE(array, bytes);
    array->ndim = 1;
    array->dataoffset = 0;
    array->elemtype = TEXTOID;
    *ARR_DIMS(array) = static_cast<int>(texts.size());
    *ARR_LBOUND(array) = 1;
    char* at = ARR_DATA_PTR(array);
    for (const std::string_view text : texts) {
        const Size length = VARHDRSZ + text.size();
        SET_VARSIZE(at, length);
        memcpy(VARDATA(at), text.data(), text.size());
        memset(at + length, 0, INTALIGN(length) - length);
        at += INTALIGN(length);
    }
    return PointerGetDatum(array);
}

// The value, compressed if that makes it smaller and costs little: LZ4 takes a tenth of the time of
// pglz. The server reads it like any value that it has compressed itself.
inline Datum packed(Datum value) {
#ifdef USE_LZ4
    constexpr Size kWorthIt = 256;
    if (VARSIZE_ANY_EXHDR(DatumGetPointer(value)) >= kWorthIt) {
        const Datum smaller = toast_compress_datum(value, TOAST_LZ4_COMPRESSION);
        return DatumGetPointer(smaller) == nullptr ? value : smaller;
    }
#endif
    return value;
}

// The bytes of an array of texts without nulls. They live as long as the array, or its detoasted
// copy.
inline std::span<const std::string_view> text_views(Datum array) {
    Datum* values = nullptr;
    int count = 0;
    deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &values, nullptr,
                      &count);
    auto* views =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * static_cast<Size>(count)));
    for (int i = 0; i < count; ++i) {
        views[i] = text_view(values[i]);
    }
    return {views, static_cast<std::size_t>(count)};
}

// A jsonb value, from text that is known to be JSON that jsonb can hold.
inline Datum jsonb_datum(std::string_view value) {
    char* text = pnstrdup(value.data(), value.size());
    const Datum result = DirectFunctionCall1(jsonb_in, CStringGetDatum(text));
    pfree(text);
    return result;
}

}  // namespace belay::pg
