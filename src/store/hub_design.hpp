// What the hub files say that the tables, indexes, views and functions of a hub are. Read from the
// files by PostgreSQL's own parser, for check_hub: so the files are the only place that describes
// them. Changes nothing.
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

// A btree over columns, with the operator classes and collations that their types have.
struct IndexDesign {
    const char* name;
    std::span<const char* const> columns;
    std::span<const int16> options;  // of each column, as pg_index.indoption
    bool unique;
    bool primary;
    const Node* predicate;  // not analysed; null: none
};

struct ViewDesign {
    const char* name;
    Query* query;
};

// A function or procedure, as pg_proc describes it. Language belay checks the signature.
struct FunctionDesign {
    const char* name;
    const oidvector* inputs;  // types
    ArrayType* names;
    List* defaults;
    const char* verb;  // decides what the function returns
};

struct HubDesign {
    std::span<const TableDesign> tables;
    std::span<const IndexDesign> indexes;
    std::span<const ViewDesign> views;
    std::span<const FunctionDesign> functions;
};

// The design of a hub of this version. Call it with the settings of with_pinned_settings; the
// tables that the views read must be there.
HubDesign read_hub_design(const Hub& hub);

// Whether an index of the hub is as designed. A predicate can be compared only if the columns of
// the table are as designed.
bool has_design(Relation index, const IndexDesign& design, bool columns_fit);

// Whether a view of the hub is defined as designed.
bool has_design(Oid view, const ViewDesign& design);

struct FunctionFault {
    const char* function;
    const char* problem;
};
// The functions of the hub that are not as designed, and those that have the name of a designed
// one: calls may find them instead. Under the settings of read_hub_design.
std::span<const FunctionFault> function_faults(const Hub& hub,
                                               std::span<const FunctionDesign> designs);

}  // namespace belay::store
