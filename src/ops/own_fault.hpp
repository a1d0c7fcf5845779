// Errors of belay that concern one element of a portion, for the calls that settle many.
#pragma once

#include "core/json.hpp"
#include "ops/input.hpp"
#include "pg/errors.hpp"
#include "pg/pg.hpp"

namespace belay::ops {

// The word in the DETAIL of an error of class QB.
inline const char* code_detail_of(const ErrorData* error) {
    const auto facts = error->detail == nullptr
                           ? std::nullopt
                           : core::json::parse(std::string_view(error->detail));
    const auto word = facts ? core::json::find(*facts, "code_detail") : std::nullopt;
    return word ? pg::c_string(decode(*word)) : "";
}

// Whether an error is about the one element: belay itself has refused it. The clock is every
// element's, a table that the owner has altered too.
inline bool is_its_own_fault(const ErrorData* error) {
    return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TO_CATEGORY(pg::kInvalidArgument) &&
           error->sqlerrcode != pg::kClockSkew && error->sqlerrcode != pg::kTableAltered;
}

}  // namespace belay::ops
