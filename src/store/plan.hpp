// Statements of the SQL store: written once, planned once per hub and session, kept.
//
// This is what statements.hpp stands on, which new code uses. Statement, Params and Rows below are
// its untyped form: for the worker queue's lists and tasks until their SQL is typed or gone.
//
// Text of a statement: {hub} is the hub's schema, {=} and its kind are operators of pg_catalog.
// Every other name is qualified by hand. A kept plan is analysed again under the caller's
// search_path whenever something changes, so an unqualified name would let a caller run code of his
// with the hub owner's rights; test/lint/qualified_sql.sh checks it.
#pragma once

#include <algorithm>
#include <array>

#include "pg/pg.hpp"
#include "pg/scopes.hpp"
#include "store/hub.hpp"

namespace belay::store {

// ---- What every statement comes down to ----

struct SqlText {
    const char* sql;
    bool read_only;       // reads with the active snapshot; else sees the latest state
    bool planned_freely;  // as the statistics say; else for its indexes
    int parameter_count;
    const Oid* parameter_types;
};

// The rows of one execution, with columns that nobody reads here: they are answered to the caller
// of a hub function as they are. They live until release() or the end of the call.
struct Listing {
    static constexpr int kMostColumns = 32;

    SPITupleTable* table;
    uint64 count;

    int64 changed() const { return static_cast<int64>(count); }
    // Raises unless the first columns are those of row, the function's.
    void check(TupleDesc row) const;
    // All columns of a row; there is room for kMostColumns.
    void get(uint64 row, Datum* values, bool* nulls) const {
        heap_deform_tuple(table->vals[row], table->tupdesc, values, nulls);
    }
    void release() const { SPI_freetuptable(table); }
};

// Runs the statement, whose plan is kept under the key: an address that is its own.
Listing execute(const Hub& hub, const void* key, const SqlText& statement, const Datum* values,
                const char* nulls);

// Raises unless the columns have these types. The owner of a hub can alter its tables, and a
// number must not be taken for a pointer. Called once per execution.
void check_columns(TupleDesc found, std::span<const Oid> wanted);
[[noreturn]] void raise_unexpected_null(int column);
// A rule or row security of the owner must not make a change vanish silently.
void check_one(const Hub& hub, uint64 count);

// ---- The untyped form ----

inline constexpr int kMaxParams = 24;

struct Statement {
    const char* sql;
    bool read_only;
    bool planned_freely;
    int count;
    Oid types[kMaxParams];
};

// Makes a Statement; the types of its parameters follow the text. Each execution sees the latest
// committed state, and what the call itself has written.
template <typename... Types>
constexpr Statement statement(const char* sql, Types... types) {
    static_assert(sizeof...(types) <= kMaxParams);
    return {sql, false, false, static_cast<int>(sizeof...(types)), {static_cast<Oid>(types)...}};
}

// Makes a Statement that only reads, with the snapshot that is active: the one of the caller's
// query, or that of with_one_view.
template <typename... Types>
constexpr Statement query(const char* sql, Types... types) {
    static_assert(sizeof...(types) <= kMaxParams);
    return {sql, true, false, static_cast<int>(sizeof...(types)), {static_cast<Oid>(types)...}};
}

// Makes a query that reads whole tables: it is planned as the statistics say, not for its indexes.
template <typename... Types>
constexpr Statement report(const char* sql, Types... types) {
    static_assert(sizeof...(types) <= kMaxParams);
    return {sql, true, true, static_cast<int>(sizeof...(types)), {static_cast<Oid>(types)...}};
}

// A text put together from pieces that statements share: constexpr arrays, with a blank or a line's
// end between them.
template <const auto&... Pieces>
struct Joined {
    static constexpr auto make() {
        std::array<char, (sizeof(Pieces) + ...) - sizeof...(Pieces) + 1> text{};
        std::size_t at = 0;
        ((std::copy_n(Pieces, sizeof(Pieces) - 1, text.begin() + at), at += sizeof(Pieces) - 1),
         ...);
        return text;
    }
    static constexpr auto text = make();
};
template <const auto&... Pieces>
inline constexpr const char* joined = Joined<Pieces...>::text.data();

// The parameters of one execution, in order.
struct Params {
    Datum values[kMaxParams];
    char nulls[kMaxParams];
    int count = 0;

    Params& datum(Datum value) {
        values[count] = value;
        nulls[count++] = ' ';
        return *this;
    }
    Params& null() {
        values[count] = 0;
        nulls[count++] = 'n';
        return *this;
    }
    Params& optional_datum(std::optional<Datum> value) { return value ? datum(*value) : null(); }
    Params& int8(int64 value) { return datum(Int64GetDatum(value)); }
    Params& optional_int8(std::optional<int64> value) { return value ? int8(*value) : null(); }
    Params& int4(int32 value) { return datum(Int32GetDatum(value)); }
    Params& int2(int16 value) { return datum(Int16GetDatum(value)); }
    Params& boolean(bool value) { return datum(BoolGetDatum(value)); }
    Params& timestamp(int64 ms);
    Params& optional_timestamp(std::optional<int64> ms) { return ms ? timestamp(*ms) : null(); }
    // The id has to live until the statement has run.
    Params& uuid(const pg_uuid_t& value) { return datum(UUIDPGetDatum(&value)); }
    Params& jsonb(Jsonb* value) { return value != nullptr ? datum(JsonbPGetDatum(value)) : null(); }
    Params& text(std::string_view value);
    Params& optional_text(std::optional<std::string_view> value) {
        return value ? text(*value) : null();
    }
};

// Arrays as parameters.
Datum int2_array(std::span<const int16> numbers);
Datum int8_array(std::span<const int64> numbers);
Datum text_array(std::span<const std::string_view> texts);
Datum int4_array(std::span<const int32> numbers);
Datum uuid_array(std::span<const pg_uuid_t> ids);

struct Rows : Listing {
    constexpr Rows() : Listing{nullptr, 0} {}
    constexpr Rows(SPITupleTable* rows, uint64 number) : Listing{rows, number} {}
    explicit constexpr Rows(const Listing& listing) : Listing(listing) {}

    // A column that is not null. The type is checked: the owner of a hub can alter its tables, and
    // a number must not be taken for a pointer.
    Datum datum(uint64 row, int column, Oid type) const;

    bool is_null(uint64 row, int column) const;
    int64 int8(uint64 row, int column) const { return DatumGetInt64(datum(row, column, INT8OID)); }
    int32 int4(uint64 row, int column) const { return DatumGetInt32(datum(row, column, INT4OID)); }
    int16 int2(uint64 row, int column) const { return DatumGetInt16(datum(row, column, INT2OID)); }
    bool boolean(uint64 row, int column) const { return DatumGetBool(datum(row, column, BOOLOID)); }
    std::string_view text(uint64 row, int column) const;
    std::optional<std::string_view> optional_text(uint64 row, int column) const;
    std::optional<int64> optional_int8(uint64 row, int column) const;
    pg_uuid_t uuid(uint64 row, int column) const {
        return *DatumGetUUIDP(datum(row, column, UUIDOID));
    }
    std::optional<pg_uuid_t> optional_uuid(uint64 row, int column) const {
        return is_null(row, column) ? std::nullopt : std::optional(uuid(row, column));
    }
    Jsonb* optional_jsonb(uint64 row, int column) const;  // null for NULL
    // A timestamp, in ms.
    std::optional<int64> optional_ms(uint64 row, int column) const;
    // A word of a column that only belay writes; the table's CHECKs know the same words.
    template <typename Parse>
    auto word(uint64 row, int column, Parse parse) const {
        const auto parsed = parse(text(row, column));
        if (!parsed) {
            raise_unknown_word(text(row, column));
        }
        return *parsed;
    }
    // A text column of all rows.
    std::span<const std::string_view> texts(int column) const;

    [[noreturn]] static void raise_unknown_word(std::string_view word);
};

// Runs the statement on the hub and returns its rows. Inside with_spi only.
Rows run(const Hub& hub, const Statement& statement, const Params& params = {});

// Runs a statement that has to change exactly one row, and raises otherwise: a rule or row security
// of the owner must not make a change vanish silently.
Rows run_for_one(const Hub& hub, const Statement& statement, const Params& params = {});

// Runs a statement that is not kept: DDL and the like, without parameters.
void run_once(const char* sql);

// Frees what belongs to a hub that goes or changes its name: at once, or when the transaction ends.
void free_plans(PlanCache* plans);
void free_brief_plans(PlanCache* plans);
void doom_plans(PlanCache* plans);
void free_doomed_plans();

}  // namespace belay::store
