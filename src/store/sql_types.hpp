// The C++ types that parameters and columns of store statements can have, and how each becomes a
// Datum and back.
//
// May touch: datums and memory of the current context. Must not: run a statement, or name a table.
//
// A type is one of int16, int32, int64, double, bool, Text, pg_uuid_t, Jsonb* (null for NULL), Ms
// and the other types below, an enum that has words, Maybe of these, and ListOf for an array.
// Everything is trivially destructible: an ERROR may jump over it. What is read lives as long as
// the rows it was read from, or in the current memory context.
#pragma once

#include <array>
#include <concepts>

#include "core/flow.hpp"
#include "core/task.hpp"
#include "core/time.hpp"
#include "pg/datum.hpp"
#include "pg/pg.hpp"

namespace belay::store {

// Short names for the declarations of statements.
using Text = std::string_view;
template <typename T>
using Maybe = std::optional<T>;
template <typename T>
using ListOf = std::span<const T>;

// A timestamptz in milliseconds since 1970: what belay computes with.
struct Ms {
    int64 value;
};
// A timestamptz exactly as it is stored.
struct Us {
    TimestampTz value;
};
// An xid8.
struct Xid {
    uint64 value;
};
// An xid, as rows have it.
struct RowXid {
    TransactionId value;
};
// An oid.
struct ObjectId {
    Oid value;
};
// A bytea.
struct Bytes {
    std::string_view value;
};
// A value that is not read: it may be compressed or stored out of line.
template <typename T>
struct Unread {
    Datum value;
};

// An array that is made once and passed to several statements, where they take
// std::span<const Element>.
template <typename Element>
struct Array {
    Datum value;
};
template <typename T>
struct IsArray : std::false_type {};
template <typename Element>
struct IsArray<Array<Element>> : std::true_type {};

inline std::optional<Ms> as_ms(std::optional<int64> value) {
    return value ? std::optional(Ms{*value}) : std::nullopt;
}
inline std::optional<int64> value_of(std::optional<Ms> ms) {
    return ms ? std::optional(ms->value) : std::nullopt;
}

// The words of an enum that tables store as text. name_of(Enum) is found beside the enum; a column
// that is read needs parse, too.
template <typename Enum>
struct Word;
template <>
struct Word<core::TaskState> {
    static constexpr auto parse = core::parse_task_state;
};
template <>
struct Word<core::Pending> {
    static constexpr auto parse = core::parse_pending;
};
template <>
struct Word<core::FlowState> {
    static constexpr auto parse = core::parse_flow_state;
};
template <>
struct Word<core::CancelPolicy> {
    static constexpr auto parse = core::parse_cancel_policy;
};
template <>
struct Word<core::JoinKind> {
    static constexpr auto parse = core::parse_join_kind;
};
template <>
struct Word<core::GroupState> {
    static constexpr auto parse = core::parse_group_state;
};
template <>
struct Word<core::EdgeState> {};

// For columns that only belay writes: the tables' CHECKs know the same words.
[[noreturn]] void raise_unknown_word(std::string_view word);

// ---- One value ----

// How a type is stored: its oid, that of its array, and what arrays need to know of an element.
template <Oid Type, Oid ArrayType, int Length, bool IsByValue, char Alignment>
struct Stored {
    static constexpr Oid kOid = Type;
    static constexpr Oid kArrayOid = ArrayType;
    static constexpr int kLength = Length;
    static constexpr bool kByValue = IsByValue;
    static constexpr char kAlignment = Alignment;
};
using StoredText = Stored<TEXTOID, TEXTARRAYOID, -1, false, TYPALIGN_INT>;

template <typename T>
struct SqlType;

template <>
struct SqlType<int16> : Stored<INT2OID, INT2ARRAYOID, sizeof(int16), true, TYPALIGN_SHORT> {
    static Datum to(int16 value) { return Int16GetDatum(value); }
    static int16 from(Datum value) { return DatumGetInt16(value); }
};
template <>
struct SqlType<int32> : Stored<INT4OID, INT4ARRAYOID, sizeof(int32), true, TYPALIGN_INT> {
    static Datum to(int32 value) { return Int32GetDatum(value); }
    static int32 from(Datum value) { return DatumGetInt32(value); }
};
template <>
struct SqlType<int64>
    : Stored<INT8OID, INT8ARRAYOID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE> {
    static Datum to(int64 value) { return Int64GetDatum(value); }
    static int64 from(Datum value) { return DatumGetInt64(value); }
};
template <>
struct SqlType<double>
    : Stored<FLOAT8OID, FLOAT8ARRAYOID, sizeof(double), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE> {
    static Datum to(double value) { return Float8GetDatum(value); }
    static double from(Datum value) { return DatumGetFloat8(value); }
};
template <>
struct SqlType<bool> : Stored<BOOLOID, BOOLARRAYOID, sizeof(bool), true, TYPALIGN_CHAR> {
    static Datum to(bool value) { return BoolGetDatum(value); }
    static bool from(Datum value) { return DatumGetBool(value); }
};
template <>
struct SqlType<std::string_view> : StoredText {
    static Datum to(std::string_view value) { return pg::text_datum(value); }
    static std::string_view from(Datum value) { return pg::text_view(value); }
};
template <>
struct SqlType<pg_uuid_t> : Stored<UUIDOID, UUIDARRAYOID, UUID_LEN, false, TYPALIGN_CHAR> {
    // The id has to live until the statement has run: an argument does.
    static Datum to(const pg_uuid_t& value) { return UUIDPGetDatum(&value); }
    static pg_uuid_t from(Datum value) { return *DatumGetUUIDP(value); }
};
template <>
struct SqlType<Jsonb*> : Stored<JSONBOID, JSONBARRAYOID, -1, false, TYPALIGN_INT> {
    static Datum to(Jsonb* value) { return JsonbPGetDatum(value); }
    static Jsonb* from(Datum value) { return DatumGetJsonbP(value); }
};
template <typename T>
struct SqlType<Unread<T>> : SqlType<T> {
    static Datum to(Unread<T> unread) { return unread.value; }
    static Unread<T> from(Datum value) { return {value}; }
};
template <>
struct SqlType<Ms> : Stored<TIMESTAMPTZOID, TIMESTAMPTZARRAYOID, sizeof(TimestampTz),
                            FLOAT8PASSBYVAL, TYPALIGN_DOUBLE> {
    static Datum to(Ms ms) { return TimestampTzGetDatum(core::ms_to_pg_us(ms.value)); }
    static Ms from(Datum value) { return {core::pg_us_to_ms(DatumGetTimestampTz(value))}; }
};
template <>
struct SqlType<Us> : Stored<TIMESTAMPTZOID, TIMESTAMPTZARRAYOID, sizeof(TimestampTz),
                            FLOAT8PASSBYVAL, TYPALIGN_DOUBLE> {
    static Datum to(Us us) { return TimestampTzGetDatum(us.value); }
    static Us from(Datum value) { return {DatumGetTimestampTz(value)}; }
};
template <>
struct SqlType<Xid>
    : Stored<XID8OID, XID8ARRAYOID, sizeof(uint64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE> {
    static Datum to(Xid xid) { return UInt64GetDatum(xid.value); }
    static Xid from(Datum value) { return {DatumGetUInt64(value)}; }
};
template <>
struct SqlType<RowXid> : Stored<XIDOID, XIDARRAYOID, sizeof(TransactionId), true, TYPALIGN_INT> {
    static Datum to(RowXid xid) { return TransactionIdGetDatum(xid.value); }
    static RowXid from(Datum value) { return {DatumGetTransactionId(value)}; }
};
template <>
struct SqlType<ObjectId> : Stored<OIDOID, OIDARRAYOID, sizeof(Oid), true, TYPALIGN_INT> {
    static Datum to(ObjectId id) { return ObjectIdGetDatum(id.value); }
    static ObjectId from(Datum value) { return {DatumGetObjectId(value)}; }
};
template <>
struct SqlType<Numeric> : Stored<NUMERICOID, NUMERICARRAYOID, -1, false, TYPALIGN_INT> {
    static Datum to(Numeric value) { return NumericGetDatum(value); }
    static Numeric from(Datum value) { return DatumGetNumeric(value); }
};
template <>
struct SqlType<Bytes> : Stored<BYTEAOID, BYTEAARRAYOID, -1, false, TYPALIGN_INT> {
    static Datum to(Bytes bytes);
    static Bytes from(Datum value);
};
template <>
struct SqlType<ItemPointerData>
    : Stored<TIDOID, TIDARRAYOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT> {
    static Datum to(const ItemPointerData& place) { return PointerGetDatum(&place); }
    static ItemPointerData from(Datum value) {
        return *reinterpret_cast<ItemPointer>(DatumGetPointer(value));
    }
};
template <typename Enum>
requires std::is_enum_v<Enum>
struct SqlType<Enum> : StoredText {
    static Datum to(Enum value) { return pg::text_datum(name_of(value)); }
    static Enum from(Datum value) {
        const std::string_view word = pg::text_view(value);
        const auto parsed = Word<Enum>::parse(word);
        if (!parsed) {
            raise_unknown_word(word);
        }
        return *parsed;
    }
};

// ---- NULL ----

// Whether NULL is a value of the type, and the type without it.
template <typename T>
struct Nullable : std::false_type {
    using Value = T;
};
template <typename T>
struct Nullable<std::optional<T>> : std::true_type {
    using Value = T;
};
template <>
struct Nullable<Jsonb*> : std::true_type {
    using Value = Jsonb*;
};
template <typename T>
using NotNull = typename Nullable<T>::Value;

template <typename T>
inline constexpr Oid kTypeOf = SqlType<NotNull<T>>::kOid;

template <typename T>
constexpr bool is_null(const T& value) {
    if constexpr (std::is_same_v<T, Jsonb*>) {
        return value == nullptr;
    } else if constexpr (Nullable<T>::value) {
        return !value.has_value();
    } else {
        return false;
    }
}

// The Datum of a value that is not null. The value has to live as long as the Datum.
template <typename T>
Datum datum_of(const T& value) {
    if constexpr (std::is_same_v<T, std::optional<NotNull<T>>>) {
        return SqlType<NotNull<T>>::to(*value);
    } else {
        return SqlType<T>::to(value);
    }
}

// ---- Arrays ----

struct ElementType {
    Oid oid;
    int length;
    bool by_value;
    char alignment;
};
Datum make_array(Datum* values, bool* nulls, std::size_t count, ElementType type);
std::span<const Datum> elements_of(Datum array, ElementType type);

template <typename T>
struct SqlType<std::span<const T>> {
    using Element = SqlType<NotNull<T>>;
    static constexpr Oid kOid = Element::kArrayOid;
    static constexpr ElementType kElement{Element::kOid, Element::kLength, Element::kByValue,
                                          Element::kAlignment};

    static Datum to(std::span<const T> elements) {
        auto* values = static_cast<Datum*>(palloc(sizeof(Datum) * (elements.size() + 1)));
        auto* nulls = static_cast<bool*>(palloc(sizeof(bool) * (elements.size() + 1)));
        for (std::size_t i = 0; i < elements.size(); ++i) {
            nulls[i] = is_null(elements[i]);
            values[i] = nulls[i] ? 0 : datum_of(elements[i]);
        }
        return make_array(values, Nullable<T>::value ? nulls : nullptr, elements.size(), kElement);
    }
    // Elements that are NULL are refused.
    static std::span<const T> from(Datum array) {
        const auto values = elements_of(array, kElement);
        auto* elements = static_cast<T*>(palloc(sizeof(T) * (values.size() + 1)));
        for (std::size_t i = 0; i < values.size(); ++i) {
            elements[i] = SqlType<T>::from(values[i]);
        }
        return {elements, values.size()};
    }
};

template <typename T>
Array<T> make_array_of(std::span<const T> elements) {
    return {SqlType<std::span<const T>>::to(elements)};
}

// One column of many structs: what an array is made of.
template <typename Item, typename Of>
auto column(std::span<const Item> items, Of of) {
    using Value = std::invoke_result_t<Of, const Item&>;
    auto* values = static_cast<Value*>(palloc(sizeof(Value) * (items.size() + 1)));
    for (std::size_t i = 0; i < items.size(); ++i) {
        values[i] = of(items[i]);
    }
    return std::span<const Value>(values, items.size());
}

// ---- Which argument fits which parameter ----

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename Parameter, typename Argument>
struct Fits {
    static constexpr bool value = [] {
        if constexpr (IsOptional<Parameter>::value) {
            using Value = NotNull<Parameter>;
            if constexpr (IsOptional<Argument>::value) {
                return Fits<Value, NotNull<Argument>>::value;
            } else {
                return std::same_as<Argument, std::nullopt_t> || Fits<Value, Argument>::value;
            }
        } else if constexpr (std::is_arithmetic_v<Parameter>) {
            // Numbers may widen and never narrow; a truth value is no number.
            return std::is_arithmetic_v<Argument> &&
                   std::same_as<Parameter, bool> == std::same_as<Argument, bool> &&
                   requires(Argument argument) {
                Parameter{argument};
            };
        } else if constexpr (std::is_enum_v<Parameter>) {
            return std::same_as<Parameter, Argument>;
        } else {
            return std::convertible_to<const Argument&, Parameter>;
        }
    }();
};
template <typename T>
struct Fits<std::span<const T>, Array<T>> : std::true_type {};

}  // namespace belay::store
