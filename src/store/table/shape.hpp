// How a row description is written: columns with their types, the key, the indexes.
//
// Each hot table has one description, in store/rows/. It is the only place that knows the order,
// the types and the nullability of the table's columns, and which rows a partial index holds;
// readers and writers are made from it. A test compares the descriptions with the catalog.
//
// Touches  nothing: constants only
#pragma once

#include <array>

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/table/values.hpp"

namespace belay::store {

// ---- Columns ----

inline constexpr bool kNullable = true;

struct ColumnShape {
    AttrNumber number;
    const char* name;
    Oid type;
    Oid collation;
    bool required;
};

template <Oid Type, bool Nullable = false>
struct Column {
    using Value = typename ValueOf<Type>::Type;

    AttrNumber number;
    const char* name;
    Oid collation = Type == TEXTOID ? DEFAULT_COLLATION_OID : InvalidOid;

    constexpr operator AttrNumber() const { return number; }
    constexpr ColumnShape shape() const { return {number, name, Type, collation, !Nullable}; }
};

// The columns of a table, in its order.
template <typename... Columns>
constexpr std::array<ColumnShape, sizeof...(Columns)> in_order(const Columns&... columns) {
    return {columns.shape()...};
}

// ---- Tables ----

inline constexpr int kMaxKeys = 6;

struct IndexShape {
    const char* name;
    bool primary;
    const char* only;  // the condition of a partial index as the server prints it; null: none
    // Whether a row has an entry, by its columns from 0 on; null: each.
    bool (*holds)(const Datum* values, const bool* nulls);
    int count;
    AttrNumber columns[kMaxKeys];
    uint8 descending = 0;  // a bit per column
};

struct TableShape {
    const char* name;
    Oid Relations::*relation;
    std::span<const ColumnShape> columns;
    std::span<const char* const> checks;  // as the server prints them; what we write meets them
    std::span<const IndexShape> indexes;  // that of the primary key first
};

// The index of the primary key, in every table.
inline constexpr int kByKey = 0;

const TableShape& shape_of(TableId id);
// The description of the hot table of that name, or null.
const TableShape* find_shape(std::string_view table);

// ---- What an owner has changed ----

// A change of a table that direct access does not serve.
struct Alteration {
    const char* object;   // what was changed: the table, or a trigger, column or index of it
    const char* problem;  // as a predicate of the table: has trigger "t"
    const char* remedy;   // what the owner can do about it
};

// Compares an opened table with its description and lists every alteration; state receives what
// access needs to know. Runs under the caller's settings but with a search_path of its own.
std::span<const Alteration> examine(const Hub& hub, Relation heap, const TableShape& shape,
                                    TableState* state);

// Further indexes and columns of a table: served, but each write costs more.
std::span<const Alteration> slow_parts(const Hub& hub, Relation heap, const TableShape& shape);

}  // namespace belay::store
