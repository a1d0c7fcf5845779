// What the hub files say that the tables, indexes and views of a hub are. Read from the files by
// PostgreSQL's own parser, for check_hub: so the files are the only place that describes them.
// Changes nothing.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

struct ColumnDesign {
    const char* name;
    Oid type;
    int32 type_modifier;
    Oid collation;
    bool not_null;
};

struct TableDesign {
    const char* name;
    std::span<const ColumnDesign> columns;
    int checks;  // how many check constraints
};

struct IndexDesign {
    const char* name;
    std::span<const char* const> columns;
    bool unique;
    bool partial;
};

struct ViewDesign {
    const char* name;
    Query* query;
};

struct HubDesign {
    std::span<const TableDesign> tables;
    std::span<const IndexDesign> indexes;
    std::span<const ViewDesign> views;
};

// The design of a hub of this version. Call it with the settings of with_pinned_settings; the
// tables that the views read must be there.
HubDesign read_hub_design(const Hub& hub);

// Whether a view of the hub is defined as designed.
bool has_design(Oid view, const ViewDesign& design);

}  // namespace belay::store
