// What sql_types.hpp declares and templates do not need: bytea, arrays, the error of a wrong word.
//
// Touches  the values that it is given
// Must not run a statement or name a table
#include "store/sql_types.hpp"

#include "pg/errors.hpp"

namespace belay::store {

void raise_unknown_word(std::string_view word) {
    ereport(
        ERROR,
        (errcode(ERRCODE_DATA_CORRUPTED),
         errmsg("a row of the hub has the unrecognized word \"%s\"", pg::c_string(word)),
         errhint("Call belay.check_hub, which shows what was altered in the tables of the hub.")));
}

Datum SqlType<Bytes>::to(Bytes bytes) {
    auto* value = static_cast<bytea*>(palloc(VARHDRSZ + bytes.value.size()));
    SET_VARSIZE(value, VARHDRSZ + bytes.value.size());
    memcpy(VARDATA(value), bytes.value.data(), bytes.value.size());
    return PointerGetDatum(value);
}

Bytes SqlType<Bytes>::from(Datum value) {
    const bytea* packed = DatumGetByteaPP(value);
    return {{VARDATA_ANY(packed), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(packed))}};
}

Datum make_array(Datum* values, bool* nulls, std::size_t count, ElementType type) {
    int size = static_cast<int>(count);
    int lower = 1;
    return PointerGetDatum(construct_md_array(values, nulls, 1, &size, &lower, type.oid,
                                              type.length, type.by_value, type.alignment));
}

std::span<const Datum> elements_of(Datum array, ElementType type) {
    Datum* values = nullptr;
    int count = 0;
    deconstruct_array(DatumGetArrayTypeP(array), type.oid, type.length, type.by_value,
                      type.alignment, &values, nullptr, &count);
    return {values, static_cast<std::size_t>(count)};
}

}  // namespace belay::store
