// What every browse function has in common: its arguments, its cursor, its answer.
//
// A cursor holds the key of the last row that was looked at, and a check over it, the function, the
// order and the filter. So it outlives its row, and is refused with another filter.
#pragma once

#include "core/json.hpp"
#include "pg/list.hpp"
#include "pg/pg.hpp"
#include "store/browse.hpp"

namespace belay::ops {

// The arguments of a browse function as they came; those that were null have their defaults.
struct PageArguments {
    const char* function;
    Jsonb* filter;
    std::optional<std::string_view> order;
    std::optional<std::string_view> after;
    std::optional<int32> limit;
    std::optional<int32> scan;
    std::optional<int32> preview;
    std::string_view scope;  // what else names the list: the execution of a history
};

// What a call that acts on many objects gets: a filter, and where the last portion ended.
struct BulkArguments {
    Jsonb* filter;
    std::optional<std::string_view> order;
    std::optional<std::string_view> after;
    std::optional<int32> limit;
    std::optional<int32> scan;
};

struct PageRequest {
    core::json::Value filter;
    std::size_t order;  // place in the list of orders
    store::PageRange range;
    std::size_t preview;
    const char* identity;  // what a cursor is bound to
};

// Checks the arguments: QB006 for an unknown key of the filter, an unknown order, a limit out of
// range, and a cursor of another list. The first order is the one without p_order.
PageRequest open_page(const PageArguments& arguments, std::span<const char* const> filter_keys,
                      std::span<const char* const> orders);

// The names that the bodies of the rows have in the answer; null: there is no such body.
struct BodyNames {
    const char* documents[2];
    const char* texts[2];
};

// What ends a list: its last row, or nothing. A tail continues behind the last row that there was.
enum class ListEnd : uint8 { kLastRow, kNever };

// The answer: the rows, the cursor of the next page, and how many rows were looked at.
Jsonb* page_answer(const PageRequest& request, const store::PageRows& rows, const BodyNames& bodies,
                   ListEnd end = ListEnd::kLastRow);

// ---- Calls that act on many objects ----
//
// Each call acts on one portion: on the rows of one page, or on the objects that the filter names.

// The rows of a page as JSON objects, and the cursor behind them; null: the list has ended.
struct ChosenRows {
    pg::List<core::json::Value> rows;
    const char* next;
};

// The page of a bulk call: as open_page, with portions of at most 500 rows.
PageRequest open_portion(const char* function, const BulkArguments& arguments,
                         std::span<const char* const> filter_keys,
                         std::span<const char* const> orders);
ChosenRows chosen_rows(const PageRequest& request, const store::PageRows& rows);

// Whether the filter names the objects; then it must have no other key.
bool names_objects(const PageRequest& request);
void check_named(std::size_t count);

// What became of the objects of a portion.
struct Tally {
    int64 done = 0;
    int64 skipped = 0;  // nothing to do, or gone meanwhile
    int64 refused = 0;
    StringInfo failed = makeStringInfo();

    void add_failure(std::string_view id, int sqlstate, std::string_view word);
    // {"done", "skipped", "failed": [{id, code, word}], "next"}
    Jsonb* answer(const char* next) const;
};

}  // namespace belay::ops
