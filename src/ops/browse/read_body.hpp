// A slice of one body.
#pragma once

#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

struct BodySlice {
    std::string_view what;  // task, instance, history, event, dead_letter or work_item
    std::string_view id;
    std::string_view field;
    std::optional<int64> offset;
    std::optional<int64> length;
};

// {body, offset, bytes}: the text from the character in which the offset lies, and the size of the
// whole; null if there is no such body. Slices of one length, one behind the other, make the whole.
// Dead letters are for callers who may browse them: 42501 otherwise.
Jsonb* read_body(store::Tables& tables, Oid caller, const BodySlice& slice);

}  // namespace belay::ops
