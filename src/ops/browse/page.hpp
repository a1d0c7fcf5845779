// What every browse function has in common: its arguments, its cursor, its answer.
//
// A cursor holds the key of the last row that was looked at, and a check over it, the function, the
// order and the filter. So it outlives its row, and is refused with another filter.
#pragma once

#include "core/json.hpp"
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

// What ends a list: its last row, or nothing. A tail goes on behind the last row that there was.
enum class ListEnd : uint8 { kLastRow, kNever };

// The answer: the rows, the cursor of the next page, and how many rows were looked at.
Jsonb* page_answer(const PageRequest& request, const store::PageRows& rows, const BodyNames& bodies,
                   ListEnd end = ListEnd::kLastRow);

}  // namespace belay::ops
