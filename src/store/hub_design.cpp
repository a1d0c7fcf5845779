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

// The options of so many columns, all ascending.
std::span<const int16> no_options(std::size_t count) {
    return {static_cast<const int16*>(palloc0(sizeof(int16) * count)), count};
}

// column: the one that the constraint stands at; null: the constraint lists its columns.
void add_key(const char* table, const char* column, const Constraint* constraint,
             Designs* designs) {
    if (constraint->contype == CONSTR_PRIMARY) {
        pg::List<const char*> only;
        if (column != nullptr) {
            only.add(column);
        }
        const auto columns = column != nullptr ? only.span() : texts_of(constraint->keys);
        designs->indexes.add({.name = constraint->conname != nullptr ? constraint->conname
                                                                     : psprintf("%s_pkey", table),
                              .columns = columns,
                              .options = no_options(columns.size()),
                              .unique = true,
                              .primary = true,
                              .predicate = nullptr});
    }
}

void add_table(CreateStmt* create, Designs* designs) {
    pg::List<ColumnDesign> columns;
    const char* name = create->relation->relname;
    const auto before = static_cast<std::size_t>(designs->indexes.count);
    int checks = 0;
    const ListCell* cell = nullptr;
    foreach (cell, create->tableElts) {
        auto* element = static_cast<Node*>(lfirst(cell));
        if (IsA(element, ColumnDef)) {
            auto* column = castNode(ColumnDef, element);
            columns.add(column_design(column));
            checks += count_checks(column->constraints);
            const ListCell* place = nullptr;
            foreach (place, column->constraints) {
                add_key(name, column->colname, lfirst_node(Constraint, place), designs);
            }
        } else if (IsA(element, Constraint)) {
            const auto* constraint = castNode(Constraint, element);
            checks += constraint->contype == CONSTR_CHECK ? 1 : 0;
            add_key(name, nullptr, constraint, designs);
        }
    }
    // A key makes its columns not null.
    for (const auto& index : designs->indexes.span().subspan(before)) {
        for (const char* key : index.columns) {
            for (auto& column : columns) {
                column.not_null = column.not_null || strcmp(column.name, key) == 0;
            }
        }
    }
    designs->tables.add({.name = name, .columns = columns.span(), .checks = checks});
}

void add_index(const IndexStmt* index, Designs* designs) {
    pg::List<const char*> columns;
    pg::List<int16> options;
    const ListCell* cell = nullptr;
    foreach (cell, index->indexParams) {
        const auto* element = lfirst_node(IndexElem, cell);
        if (element->name == nullptr || element->opclass != NIL || element->collation != NIL) {
            elog(ERROR, "index %s of the hub files is more than this function knows",
                 index->idxname);
        }
        const bool descending = element->ordering == SORTBY_DESC;
        const bool nulls_first = element->nulls_ordering == SORTBY_NULLS_DEFAULT
                                     ? descending
                                     : element->nulls_ordering == SORTBY_NULLS_FIRST;
        columns.add(element->name);
        options.add(static_cast<int16>((descending ? INDOPTION_DESC : 0) |
                                       (nulls_first ? INDOPTION_NULLS_FIRST : 0)));
    }
    designs->indexes.add({.name = index->idxname,
                          .columns = columns.span(),
                          .options = options.span(),
                          .unique = index->unique,
                          .primary = false,
                          .predicate = index->whereClause});
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

const char* printed(Relation heap, Node* expression) {
    return deparse_expression(
        expression, deparse_context_for(RelationGetRelationName(heap), RelationGetRelid(heap)),
        false, false);
}

// The predicate that an index of the design has on this table, as CREATE INDEX stores it.
const char* designed_predicate(Relation heap, const Node* predicate) {
    ParseState* state = make_parsestate(nullptr);
    ParseNamespaceItem* item =
        addRangeTableEntryForRelation(state, heap, AccessShareLock, nullptr, false, true);
    addNSItemToQuery(state, item, false, true, true);
    Node* condition = transformWhereClause(state, static_cast<Node*>(copyObjectImpl(predicate)),
                                           EXPR_KIND_INDEX_PREDICATE, "WHERE");
    assign_expr_collations(state, condition);
    free_parsestate(state);
    return printed(heap, condition);
}

bool has_predicate(Relation heap, Relation index, const Node* designed, bool columns_fit) {
    HeapTuple row = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(RelationGetRelid(index)));
    if (!HeapTupleIsValid(row)) {
        return false;
    }
    bool null = false;
    const Datum predicate = SysCacheGetAttr(INDEXRELID, row, Anum_pg_index_indpred, &null);
    auto* stored =
        null ? nullptr : static_cast<Node*>(stringToNode(TextDatumGetCString(predicate)));
    ReleaseSysCache(row);
    if (stored == nullptr || designed == nullptr || !columns_fit) {
        return (stored == nullptr) == (designed == nullptr);
    }
    return strcmp(printed(heap, stored), designed_predicate(heap, designed)) == 0;
}

bool has_columns(Relation heap, Relation index, const IndexDesign& design) {
    const FormData_pg_index& form = *index->rd_index;
    for (int i = 0; i < form.indnkeyatts; ++i) {
        const auto place = static_cast<std::size_t>(i);
        const AttrNumber number = form.indkey.values[i];
        if (number <= 0) {  // an expression
            return false;
        }
        const FormData_pg_attribute* column = TupleDescAttr(RelationGetDescr(heap), number - 1);
        const Oid standard = GetDefaultOpClass(column->atttypid, BTREE_AM_OID);
        if (strcmp(NameStr(column->attname), design.columns[place]) != 0 ||
            index->rd_indoption[i] != design.options[place] ||
            index->rd_opfamily[i] != get_opclass_family(standard) ||
            index->rd_opcintype[i] != get_opclass_input_type(standard) ||
            index->rd_indcollation[i] != column->attcollation) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool has_design(Relation index, const IndexDesign& design, bool columns_fit) {
    const FormData_pg_index& form = *index->rd_index;
    if (index->rd_rel->relam != BTREE_AM_OID ||
        form.indnatts != static_cast<int>(design.columns.size()) ||
        form.indnkeyatts != form.indnatts || form.indisunique != design.unique ||
        form.indisprimary != design.primary || !form.indimmediate || form.indisexclusion ||
        form.indnullsnotdistinct) {
        return false;
    }
    Relation heap = relation_open(form.indrelid, AccessShareLock);
    const bool same = has_columns(heap, index, design) &&
                      has_predicate(heap, index, design.predicate, columns_fit);
    relation_close(heap, AccessShareLock);
    return same;
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
