// Arrays that say something about each of several outcomes, for the calls that settle many.
#pragma once

#include <algorithm>

#include "entry/call.hpp"
#include "ops/input.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

// An array with an element for each of the outcomes, which the array keys counts; one that is NULL
// says nothing about any. QB006 for another length.
inline std::span<const NullableDatum> per_outcome(const Call& call, int i, const char* name,
                                                  Oid type, const char* keys, std::size_t count) {
    const auto elements = call.elements(i, name, type);
    if (call.has(i) && elements.size() != count) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s must have one element for each of %s", name, keys),
                  pg::Facts("wrong_length")
                      .add("path", name)
                      .add("elements", static_cast<int64>(elements.size()))
                      .add("expected", static_cast<int64>(count)),
                  "Pass arrays of the same length, or NULL for one that is not needed.");
    }
    return elements;
}

inline bool has_element(std::span<const NullableDatum> elements, std::size_t i) {
    return i < elements.size() && !elements[i].isnull;
}

inline std::optional<std::string_view> text_at(std::span<const NullableDatum> elements,
                                               std::size_t i) {
    return has_element(elements, i) ? std::optional(pg::text_view(elements[i].value))
                                    : std::nullopt;
}

inline std::optional<int64> int8_at(std::span<const NullableDatum> elements, std::size_t i) {
    return has_element(elements, i) ? std::optional(DatumGetInt64(elements[i].value))
                                    : std::nullopt;
}

// Null for NULL.
inline Jsonb* jsonb_at(std::span<const NullableDatum> elements, std::size_t i) {
    return has_element(elements, i) ? DatumGetJsonbP(elements[i].value) : nullptr;
}

// What to lease beside what the caller has use for now.
struct Prefetch {
    int most;       // 0: nothing
    int threshold;  // only if so many could be leased
};

// The arguments p_prefetch and p_prefetch_threshold, from the first on. Together with p_max_items
// they are bounded as that is.
inline Prefetch read_prefetch(const Call& call, int first, int max_items, int most) {
    const int ahead = call.int4(first).value_or(0);
    constexpr int kMostLookedAt = 10000;
    return {ahead == 0 ? 0 : ops::checked_limit("p_prefetch", ahead, 1, most - max_items),
            ops::checked_limit("p_prefetch_threshold", call.int4(first + 1), 1, kMostLookedAt)};
}

// Rejects the whole call: such a word is a mistake of the program, not of one task.
[[noreturn]] inline void refuse_outcome(const char* argument, std::string_view word, std::size_t i,
                                        const char* hint) {
    pg::raise(pg::kInvalidArgument, psprintf("unrecognized outcome \"%s\"", pg::excerpt(word)),
              pg::Facts("unrecognized_outcome")
                  .add("path", ops::Path(argument, i).text())
                  .add("value", ops::clip(word, 64)),
              hint);
}

// A row of the answer, of which only some columns are set.
template <int kColumns>
struct SparseRow {
    Datum values[kColumns] = {};
    bool nulls[kColumns];

    SparseRow() { std::fill_n(nulls, kColumns, true); }
    void put(int column, Datum value) {
        values[column] = value;
        nulls[column] = false;
    }
    void put_text(int column, const char* text) {
        if (text != nullptr) {
            put(column, CStringGetTextDatum(text));
        }
    }
};

}  // namespace belay::entry
