// Statements of the SQL store: written once, planned once per hub and session, kept.
//
// This is what statements.hpp stands on, which declares and runs them by their types.
//
// May touch: SPI. Must not: name a table.
//
// Text of a statement: {hub} is the hub's schema, {=} and its kind are operators of pg_catalog.
// Every other name is qualified by hand. A kept plan is analysed again under the caller's
// search_path whenever something changes, so an unqualified name would let a caller run own code
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

// The rows of one execution, with columns that are not read here: they are returned to the caller
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

// Runs a statement that is not kept: DDL and the like, without parameters.
void run_once(const char* sql);

// Frees what belongs to a hub that goes or changes its name: at once, or when the transaction ends.
void free_plans(PlanCache* plans);
void free_brief_plans(PlanCache* plans);
void doom_plans(PlanCache* plans);
void free_doomed_plans();

}  // namespace belay::store
