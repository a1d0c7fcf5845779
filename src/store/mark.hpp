// The mark of a hub: under which cluster, timeline, database and schema it last ran.
//
// A hub whose mark differs from where it finds itself has been promoted, restored or copied; it
// then begins a new incarnation, and every lease granted before counts as lost.
#pragma once

#include "pg/pg.hpp"

namespace belay::store {

// The stored form of type belay.hub_mark: fixed length, passed by reference.
struct Mark {
    uint64 system_id;
    uint32 timeline;
    Oid database;
    Oid schema;
    uint32 unused;  // keeps the size a multiple of the alignment; always 0

    bool operator==(const Mark&) const = default;
};
static_assert(sizeof(Mark) == 24);

// The mark that a hub in this schema has to have now. Only on a primary.
Mark current_mark(Oid schema);

// Whether the hub's mark is the one it has to have now. Cheap: called once per writing call.
bool is_current(const Mark& mark, Oid schema);

// The text form of a mark: system identifier, timeline, database and schema, with slashes between.
const char* print_mark(const Mark& mark);

// Reads the text form; no value if it is not one.
std::optional<Mark> parse_mark(const char* text);

// The oid of type belay.hub_mark, or InvalidOid if the extension is not there.
Oid mark_type();

}  // namespace belay::store
