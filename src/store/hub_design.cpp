// What the SQL files say that a hub's tables, indexes, views and functions look like.
//
// May touch: the files, through hub_files.hpp; PostgreSQL's parser; pg_proc. Must not: change
// anything.
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
    pg::List<FunctionDesign> functions;
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

// The text of AS.
const char* source_of(const CreateFunctionStmt* create) {
    const ListCell* cell = nullptr;
    foreach (cell, create->options) {
        const auto* option = lfirst_node(DefElem, cell);
        if (strcmp(option->defname, "as") == 0) {
            return strVal(linitial(castNode(List, option->arg)));
        }
    }
    elog(ERROR, "a function of the hub files has no body");
}

void add_function(CreateFunctionStmt* create, const char* text, Designs* designs) {
    ParseState* state = make_parsestate(nullptr);
    state->p_sourcetext = text;
    FunctionDesign design{};
    oidvector* inputs = nullptr;
    List* input_list = NIL;
    ArrayType* all_types = nullptr;
    ArrayType* modes = nullptr;
    List* input_names = NIL;
    Oid variadic = InvalidOid;
    Oid required = InvalidOid;
    interpret_function_parameter_list(state, create->parameters, get_language_oid("belay", false),
                                      create->is_procedure ? OBJECT_PROCEDURE : OBJECT_FUNCTION,
                                      &inputs, &input_list, &all_types, &modes, &design.names,
                                      &input_names, &design.defaults, &variadic, &required);
    free_parsestate(state);
    design.name = strVal(llast(create->funcname));
    design.inputs = inputs;
    design.verb = source_of(create);
    designs->functions.add(design);
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
            } else if (IsA(statement, CreateFunctionStmt)) {
                add_function(castNode(CreateFunctionStmt, statement), text, &designs);
            }
        }
    }
    return {designs.tables.span(), designs.indexes.span(), designs.views.span(),
            designs.functions.span()};
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

namespace {

// A column of pg_proc that may be null.
std::optional<Datum> proc_value(HeapTuple row, AttrNumber column) {
    bool null = false;
    const Datum value = SysCacheGetAttr(PROCOID, row, column, &null);
    return null ? std::nullopt : std::optional(value);
}

bool equals(const ArrayType* wanted, std::optional<Datum> found) {
    if (wanted == nullptr || !found) {
        return wanted == nullptr && !found;
    }
    const auto* other = DatumGetArrayTypePCopy(*found);
    return VARSIZE(wanted) == VARSIZE(other) && memcmp(wanted, other, VARSIZE(wanted)) == 0;
}

bool equals(const oidvector& wanted, const oidvector& found) {
    return wanted.dim1 == found.dim1 &&
           memcmp(wanted.values, found.values, sizeof(Oid) * static_cast<Size>(wanted.dim1)) == 0;
}

// An expression that came out of a dump was made from what the server had printed.
bool equals(List* wanted, std::optional<Datum> found) {
    if (!found) {
        return wanted == NIL;
    }
    auto* stored = static_cast<Node*>(stringToNode(TextDatumGetCString(*found)));
    auto* designed = reinterpret_cast<Node*>(wanted);
    return equal(stored, designed) || strcmp(deparse_expression(stored, NIL, false, false),
                                             deparse_expression(designed, NIL, false, false)) == 0;
}

// How a function differs from the design that it has the name and input types of; null: not at all.
const char* difference(HeapTuple row, const FunctionDesign& design) {
    const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(row));
    const auto source = proc_value(row, Anum_pg_proc_prosrc);
    if (form->prolang != get_language_oid("belay", true) || !source ||
        strcmp(TextDatumGetCString(*source), design.verb) != 0) {
        return "has another language or body";
    }
    if (!equals(design.names, proc_value(row, Anum_pg_proc_proargnames))) {
        return "has other names of arguments";
    }
    if (!equals(design.defaults, proc_value(row, Anum_pg_proc_proargdefaults))) {
        return "has other defaults of arguments";
    }
    return nullptr;
}

// The faults of all functions with a name.
void add_faults(const Hub& hub, const char* name, std::span<const FunctionDesign> designs,
                pg::List<FunctionFault>* faults) {
    CatCList* list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
    for (int i = 0; i < list->n_members; ++i) {
        HeapTuple row = &list->members[i]->tuple;
        const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(row));
        if (form->pronamespace != hub.schema) {
            continue;
        }
        const char* problem =
            "is not belay's, and has the name of a function that is: calls may find it instead";
        for (const FunctionDesign& design : designs) {
            if (strcmp(design.name, name) == 0 && equals(*design.inputs, form->proargtypes)) {
                problem = difference(row, design);
            }
        }
        if (problem != nullptr) {
            faults->add({format_procedure_qualified(form->oid), problem});
        }
    }
    ReleaseSysCacheList(list);
}

}  // namespace

std::span<const FunctionFault> function_faults(const Hub& hub,
                                               std::span<const FunctionDesign> designs) {
    pg::List<FunctionFault> faults;
    const char* last = "";
    for (const FunctionDesign& design : designs) {
        // Functions of one name stand together in the files.
        if (strcmp(design.name, last) != 0) {
            add_faults(hub, design.name, designs, &faults);
        }
        last = design.name;
    }
    return faults.span();
}

}  // namespace belay::store
