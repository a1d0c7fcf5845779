// What the SQL files say that a hub's tables, indexes and views look like.
//
// May touch: the files, through hub_files.hpp; PostgreSQL's parser. Must not: change anything.
#include "store/hub_design.hpp"

#include "pg/list.hpp"
#include "store/hub_files.hpp"

namespace belay::store {

namespace {

bool has_constraint(const List* constraints, ConstrType type) {
    const ListCell* cell = nullptr;
    foreach (cell, constraints) {
        if (lfirst_node(Constraint, cell)->contype == type) {
            return true;
        }
    }
    return false;
}

int count_checks(const List* constraints) {
    int count = 0;
    const ListCell* cell = nullptr;
    foreach (cell, constraints) {
        count += lfirst_node(Constraint, cell)->contype == CONSTR_CHECK ? 1 : 0;
    }
    return count;
}

ColumnDesign column_design(ColumnDef* column) {
    ColumnDesign design{.name = column->colname,
                        .type = InvalidOid,
                        .type_modifier = -1,
                        .collation = InvalidOid,
                        .not_null = column->is_not_null ||
                                    has_constraint(column->constraints, CONSTR_NOTNULL) ||
                                    has_constraint(column->constraints, CONSTR_PRIMARY)};
    typenameTypeIdAndMod(nullptr, column->typeName, &design.type, &design.type_modifier);
    design.collation = GetColumnDefCollation(nullptr, column, design.type);
    return design;
}

struct Designs {
    pg::List<TableDesign> tables;
    pg::List<IndexDesign> indexes;
    pg::List<ViewDesign> views;
};

std::span<const char* const> texts_of(const List* values) {
    pg::List<const char*> names;
    const ListCell* cell = nullptr;
    foreach (cell, values) {
        names.add(strVal(lfirst(cell)));
    }
    return names.span();
}

void add_key(const char* table, const Constraint* constraint, Designs* designs) {
    if (constraint->contype == CONSTR_PRIMARY && constraint->keys != NIL) {
        designs->indexes.add({.name = constraint->conname != nullptr ? constraint->conname
                                                                     : psprintf("%s_pkey", table),
                              .columns = texts_of(constraint->keys),
                              .unique = true,
                              .partial = false});
    }
}

void add_table(CreateStmt* create, Designs* designs) {
    pg::List<ColumnDesign> columns;
    const char* name = create->relation->relname;
    int checks = 0;
    const ListCell* cell = nullptr;
    foreach (cell, create->tableElts) {
        auto* element = static_cast<Node*>(lfirst(cell));
        if (IsA(element, ColumnDef)) {
            auto* column = castNode(ColumnDef, element);
            columns.add(column_design(column));
            checks += count_checks(column->constraints);
        } else if (IsA(element, Constraint)) {
            const auto* constraint = castNode(Constraint, element);
            checks += constraint->contype == CONSTR_CHECK ? 1 : 0;
            add_key(name, constraint, designs);
        }
    }
    // A key of several columns makes them not null.
    const auto keys = designs->indexes.span();
    if (!keys.empty()) {
        for (const char* key : keys.back().columns) {
            for (auto& column : columns) {
                column.not_null = column.not_null || strcmp(column.name, key) == 0;
            }
        }
    }
    designs->tables.add({.name = name, .columns = columns.span(), .checks = checks});
}

void add_index(const IndexStmt* index, Designs* designs) {
    pg::List<const char*> columns;
    const ListCell* cell = nullptr;
    foreach (cell, index->indexParams) {
        const char* name = lfirst_node(IndexElem, cell)->name;
        columns.add(name != nullptr ? name : "");
    }
    designs->indexes.add({.name = index->idxname,
                          .columns = columns.span(),
                          .unique = index->unique,
                          .partial = index->whereClause != nullptr});
}

void add_view(const ViewStmt* view, const char* text, Designs* designs) {
    RawStmt* select = makeNode(RawStmt);
    select->stmt = view->query;
    Query* query = parse_analyze_fixedparams(select, text, nullptr, 0, nullptr);
    designs->views.add({.name = view->view->relname, .query = query});
}

}  // namespace

HubDesign read_hub_design(const Hub& hub) {
    Designs designs;
    for (const char* text : hub_file_texts(NameStr(hub.name), hub.api)) {
        const ListCell* cell = nullptr;
        foreach (cell, raw_parser(text, RAW_PARSE_DEFAULT)) {
            Node* statement = lfirst_node(RawStmt, cell)->stmt;
            if (IsA(statement, CreateStmt)) {
                add_table(castNode(CreateStmt, statement), &designs);
            } else if (IsA(statement, IndexStmt)) {
                add_index(castNode(IndexStmt, statement), &designs);
            } else if (IsA(statement, ViewStmt)) {
                add_view(castNode(ViewStmt, statement), text, &designs);
            }
        }
    }
    return {designs.tables.span(), designs.indexes.span(), designs.views.span()};
}

namespace {

// A query as the server prints that of a view, which has entries for OLD and NEW: the printer
// qualifies columns if there is more than one entry, so it gets a second one that stands nowhere.
const char* print_as_view(Query* query, bool as_stored) {
    if (as_stored && list_length(query->rtable) == 1) {
        auto* unused = static_cast<RangeTblEntry*>(copyObjectImpl(linitial(query->rtable)));
        unused->inFromCl = false;
        query->rtable = lappend(query->rtable, unused);
    }
    return pg_get_querydef(query, false);
}

// A view that came out of a dump was made from what the server had printed.
Query* parse_printed(const char* text) {
    List* statements = raw_parser(text, RAW_PARSE_DEFAULT);
    return parse_analyze_fixedparams(linitial_node(RawStmt, statements), text, nullptr, 0, nullptr);
}

}  // namespace

bool has_design(Oid view, const ViewDesign& design) {
    Relation relation = relation_open(view, AccessShareLock);
    bool same = false;
    if (relation->rd_rel->relkind == RELKIND_VIEW && relation->rd_rules != nullptr) {
        auto* stored = static_cast<Query*>(copyObjectImpl(get_view_query(relation)));
        const bool with_more = list_length(stored->rtable) > 1;
        const char* found = pg_get_querydef(stored, false);
        const char* wanted =
            print_as_view(static_cast<Query*>(copyObjectImpl(design.query)), with_more);
        same = strcmp(found, wanted) == 0 ||
               strcmp(found, print_as_view(parse_printed(wanted), with_more)) == 0;
    }
    relation_close(relation, AccessShareLock);
    return same;
}

}  // namespace belay::store
