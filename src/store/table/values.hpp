// The types of columns: what a value is in C++, and as it is stored.
//
// Touches  nothing
#pragma once

#include "pg/datum.hpp"
#include "pg/pg.hpp"

namespace belay::store {

// Of each type: Type, load and store. Texts, documents and ids are copied by load, into the current
// memory context.
template <Oid Type>
struct ValueOf;

template <>
struct ValueOf<BOOLOID> {
    using Type = bool;
    static Type load(Datum value) { return DatumGetBool(value); }
    static Datum store(Type value) { return BoolGetDatum(value); }
};
template <>
struct ValueOf<CHAROID> {
    using Type = char;
    static Type load(Datum value) { return DatumGetChar(value); }
    static Datum store(Type value) { return CharGetDatum(value); }
};
template <>
struct ValueOf<INT2OID> {
    using Type = int16;
    static Type load(Datum value) { return DatumGetInt16(value); }
    static Datum store(Type value) { return Int16GetDatum(value); }
};
template <>
struct ValueOf<INT4OID> {
    using Type = int32;
    static Type load(Datum value) { return DatumGetInt32(value); }
    static Datum store(Type value) { return Int32GetDatum(value); }
};
template <>
struct ValueOf<INT8OID> {
    using Type = int64;
    static Type load(Datum value) { return DatumGetInt64(value); }
    static Datum store(Type value) { return Int64GetDatum(value); }
};
template <>
struct ValueOf<TIMESTAMPTZOID> {
    using Type = TimestampTz;
    static Type load(Datum value) { return DatumGetTimestampTz(value); }
    static Datum store(Type value) { return TimestampTzGetDatum(value); }
};
template <>
struct ValueOf<XID8OID> {
    using Type = uint64;
    static Type load(Datum value) { return DatumGetUInt64(value); }
    static Datum store(Type value) { return UInt64GetDatum(value); }
};
template <>
struct ValueOf<UUIDOID> {
    using Type = pg_uuid_t;
    static Type load(Datum value) { return *DatumGetUUIDP(value); }
    static Datum store(const Type& value) { return UUIDPGetDatum(&value); }
};
template <>
struct ValueOf<TEXTOID> {
    using Type = std::string_view;
    static Type load(Datum value) {
        const text* copy = DatumGetTextPCopy(value);
        return {VARDATA_ANY(copy), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(copy))};
    }
    static Datum store(Type value) { return pg::text_datum(value); }
};
template <>
struct ValueOf<TEXTARRAYOID> {
    using Type = std::span<const std::string_view>;
    static Type load(Datum value) { return pg::text_views(datumCopy(value, false, -1)); }
    static Datum store(Type value) { return pg::text_array_datum(value); }
};
template <>
struct ValueOf<JSONBOID> {
    using Type = Jsonb*;
    static Type load(Datum value) { return DatumGetJsonbPCopy(value); }
    static Datum store(Type value) { return JsonbPGetDatum(value); }
};
template <>
struct ValueOf<NUMERICOID> {
    using Type = Numeric;
    static Type load(Datum value) { return DatumGetNumericCopy(value); }
    static Datum store(Type value) { return NumericGetDatum(value); }
};

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

// A value for a column of that type, or none: an empty optional, or a null pointer. A uuid is not
// copied: it has to live until the row is written.
template <Oid Type, bool Nullable, typename Value>
std::optional<Datum> stored(const Value& value) {
    using Of = ValueOf<Type>;
    if constexpr (is_optional<Value>) {
        static_assert(Nullable);
        return value ? stored<Type, Nullable>(*value) : std::nullopt;
    } else if constexpr (std::is_pointer_v<typename Of::Type>) {
        return value == nullptr ? std::nullopt : std::optional(Of::store(value));
    } else if constexpr (std::is_arithmetic_v<Value>) {
        return Of::store(typename Of::Type{value});
    } else {
        return Of::store(value);
    }
}

}  // namespace belay::store
