// The hot tables, and the comparison of a table with its description.
//
// Touches  the catalog
// Must not wait for a lock, or run code of the hub's owner
#include "store/table/shape.hpp"

#include <algorithm>

#include "pg/list.hpp"
#include "store/rows/attempt.hpp"
#include "store/rows/execution.hpp"
#include "store/rows/history.hpp"
#include "store/rows/instance.hpp"
#include "store/rows/kv.hpp"
#include "store/rows/queue.hpp"
#include "store/rows/lock.hpp"
#include "store/rows/message.hpp"
#include "store/rows/outbox.hpp"
#include "store/rows/task.hpp"
#include "store/rows/work.hpp"
#include "store/shards.hpp"

namespace belay::store {

namespace {

// In the order of TableId.
constexpr TableShape kShapes[] = {
    work::kTable,      message::kTable, lock::kTable,   instance::kTable,
    execution::kTable, history::kTable, task::kTable,   attempt::kTable,
    kept::kTable,      changed::kTable, outbox::kTable, queue::kTable,
};
static_assert(std::size(kShapes) == static_cast<std::size_t>(TableId::kCount));

constexpr bool are_numbered(std::span<const ColumnShape> columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].number != static_cast<AttrNumber>(i + 1)) {
            return false;
        }
    }
    return true;
}
static_assert(std::all_of(std::begin(kShapes), std::end(kShapes), [](const TableShape& shape) {
    return are_numbered(shape.columns) && shape.indexes.size() <= kMaxIndexes &&
           shape.indexes[kByKey].primary;
}));

// What was found of one table. The names of its objects are quoted in problems and remedies.
struct Findings {
    Relation heap;
    pg::List<Alteration> list;

    void add(const char* object, const char* problem, const char* remedy) {
        list.add({pstrdup(object), problem, remedy});
    }
    // Of the table itself.
    void add(const char* problem, const char* remedy) {
        add(RelationGetRelationName(heap), problem, remedy);
    }
};

// ---------------------------------------------------------------- the table

void examine_triggers(Relation heap, Findings* findings) {
    const int count = heap->trigdesc == nullptr ? 0 : heap->trigdesc->numtriggers;
    for (int i = 0; i < count; ++i) {
        const Trigger& trigger = heap->trigdesc->triggers[i];
        if (trigger.tgenabled == TRIGGER_DISABLED) {
            continue;
        }
        if (OidIsValid(trigger.tgconstraint)) {
            const char* name = get_constraint_name(trigger.tgconstraint);
            findings->add(name, psprintf("has constraint \"%s\", which works by triggers", name),
                          "Drop the constraint.");
        } else {
            findings->add(trigger.tgname, psprintf("has trigger \"%s\"", trigger.tgname),
                          "Drop or disable the trigger.");
        }
    }
}

void examine_table(const Hub& hub, Relation heap, Findings* findings) {
    const auto* form = heap->rd_rel;
    if (form->relkind != RELKIND_RELATION || form->relispartition) {
        findings->add("is of another kind of relation", "Restore the table.");
    } else if (heap->rd_tableam != GetHeapamTableAmRoutine()) {
        findings->add("has another access method",
                      "Give it back the access method heap, with ALTER TABLE SET ACCESS METHOD.");
    }
    if (form->relowner != hub.owner) {
        findings->add("does not belong to the hub's owner",
                      "Give it back with ALTER TABLE OWNER TO.");
    } else if (pg_class_aclcheck(RelationGetRelid(heap), hub.owner,
                                 ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE) !=
               ACLCHECK_OK) {
        findings->add("may not be used by the hub's owner", "Grant the owner all rights on it.");
    }
    // relhassubclass stays true when the last child is gone.
    if (form->relhassubclass && find_inheritance_children(RelationGetRelid(heap), NoLock) != NIL) {
        findings->add("has child tables", "Drop them, or detach them with ALTER TABLE NO INHERIT.");
    }
    examine_triggers(heap, findings);
    for (int i = 0; heap->rd_rules != nullptr && i < heap->rd_rules->numLocks; ++i) {
        const ObjectAddress rule = {RewriteRelationId, heap->rd_rules->rules[i]->ruleId, 0};
        const char* name = getObjectDescription(&rule, false);
        findings->add(name, psprintf("has %s", name), "Drop the rule.");
    }
    if (form->relrowsecurity) {
        findings->add("has row security",
                      "Disable it with ALTER TABLE DISABLE ROW LEVEL SECURITY.");
    }
}

// ---------------------------------------------------------------- columns and checks

bool is_ours(const FormData_pg_attribute& column, const ColumnShape& wanted) {
    return !column.attisdropped && strcmp(NameStr(column.attname), wanted.name) == 0 &&
           column.atttypid == wanted.type && column.atttypmod == -1 &&
           column.attcollation == wanted.collation && column.attnotnull == wanted.required &&
           column.attgenerated == '\0' && column.attidentity == '\0' && !column.atthasmissing;
}

// Columns of ours stand first, in their order; behind them the owner may have added columns that
// need no value.
void examine_columns(TupleDesc columns, const TableShape& shape, TableState* state,
                     Findings* findings) {
    const int ours = static_cast<int>(shape.columns.size());
    state->more_columns = columns->natts > ours;
    for (int i = 0; i < std::max(columns->natts, ours); ++i) {
        const FormData_pg_attribute* column =
            i < columns->natts ? TupleDescAttr(columns, i) : nullptr;
        if (i < ours) {
            const ColumnShape& wanted = shape.columns[static_cast<std::size_t>(i)];
            if (column == nullptr || !is_ours(*column, wanted)) {
                findings->add(wanted.name, psprintf("has another column \"%s\"", wanted.name),
                              "Restore the table's columns.");
            }
            continue;
        }
        const char* name = NameStr(column->attname);
        if (column->attisdropped) {
            continue;
        }
        if (column->attgenerated != '\0' || column->attidentity != '\0') {
            findings->add(name, psprintf("has an added generated column \"%s\"", name),
                          "Drop the column.");
        } else if (get_typtype(column->atttypid) == TYPTYPE_DOMAIN) {
            findings->add(name, psprintf("has an added column \"%s\" of a domain", name),
                          "Give the column a type that is not a domain.");
        } else if (column->attnotnull && !column->atthasdef) {
            findings->add(name, psprintf("has an added column \"%s\" that needs a value", name),
                          "Allow nulls in it, or give it a default.");
        }
    }
}

// An expression over the table's columns as the server prints it, with pg_catalog alone in the
// path.
const char* printed(Relation heap, Node* expression) {
    return deparse_expression(
        expression, deparse_context_for(RelationGetRelationName(heap), RelationGetRelid(heap)),
        false, false);
}

// The checks of the table are those that every row we write meets, in any order.
void examine_checks(Relation heap, const TableShape& shape, Findings* findings) {
    const TupleConstr* constraints = RelationGetDescr(heap)->constr;
    const int count = constraints == nullptr ? 0 : constraints->num_check;
    std::size_t met = 0;
    for (int i = 0; i < count; ++i) {
        const ConstrCheck& check = constraints->check[i];
        const char* text = printed(heap, static_cast<Node*>(stringToNode(check.ccbin)));
        if (std::any_of(shape.checks.begin(), shape.checks.end(),
                        [text](const char* wanted) { return strcmp(text, wanted) == 0; })) {
            ++met;
        } else {
            findings->add(check.ccname, psprintf("has added check constraint \"%s\"", check.ccname),
                          "Drop the constraint.");
        }
    }
    if (met < shape.checks.size()) {
        findings->add("lacks a check constraint", "Add it again, as the hub files have it.");
    }
}

// ---------------------------------------------------------------- indexes

bool predicate_fits(Relation heap, Relation index, const char* only) {
    List* predicate = RelationGetIndexPredicate(index);
    if (only == nullptr || predicate == NIL) {
        return only == nullptr && predicate == NIL;
    }
    return strcmp(printed(heap, reinterpret_cast<Node*>(make_ands_explicit(predicate))), only) == 0;
}

bool index_fits(Relation heap, Relation index, const TableShape& shape, const IndexShape& wanted) {
    const auto* form = index->rd_index;
    if (index->rd_rel->relam != BTREE_AM_OID || !form->indislive ||
        form->indisprimary != wanted.primary || form->indisunique != wanted.primary ||
        !form->indimmediate || form->indisexclusion || form->indnkeyatts != wanted.count ||
        form->indnatts != wanted.count || RelationGetIndexExpressions(index) != NIL ||
        !predicate_fits(heap, index, wanted.only)) {
        return false;
    }
    for (int i = 0; i < wanted.count; ++i) {
        const ColumnShape& column = shape.columns[static_cast<std::size_t>(wanted.columns[i] - 1)];
        const Oid standard = GetDefaultOpClass(column.type, BTREE_AM_OID);
        const int16 option =
            (wanted.descending >> i & 1) != 0 ? INDOPTION_DESC | INDOPTION_NULLS_FIRST : 0;
        if (form->indkey.values[i] != wanted.columns[i] || index->rd_indoption[i] != option ||
            index->rd_opfamily[i] != get_opclass_family(standard) ||
            index->rd_opcintype[i] != column.type ||
            index->rd_indcollation[i] != column.collation) {
            return false;
        }
    }
    return true;
}

const IndexShape* find_index(const Hub& hub, Relation index, const TableShape& shape) {
    const auto found = std::find_if(shape.indexes.begin(), shape.indexes.end(),
                                    [&hub, index, &shape](const IndexShape& wanted) {
                                        return is_index_named(hub, shape.name, index, wanted.name);
                                    });
    return found == shape.indexes.end() ? nullptr : &*found;
}

constexpr int kPasses = 3;

void examine_indexes(const Hub& hub, Relation heap, const TableShape& shape, TableState* state,
                     Findings* findings, int pass = 1) {
    const auto before = findings->list.count;
    List* indexes = RelationGetIndexList(heap);
    for (int i = 0; i < list_length(indexes); ++i) {
        Relation index = index_open(list_nth_oid(indexes, i), AccessShareLock);
        const IndexShape* wanted = find_index(hub, index, shape);
        if (wanted == nullptr) {
            state->more_indexes = true;
        } else if (!index_fits(heap, index, shape, *wanted)) {
            findings->add(wanted->name, psprintf("has another index \"%s\"", wanted->name),
                          "Drop it, and create the one of the hub files.");
        } else if (!index->rd_index->indisvalid || !index->rd_index->indisready) {
            findings->add(wanted->name,
                          psprintf("has index \"%s\", which is not valid", wanted->name),
                          "REINDEX it.");
        } else {
            state->indexes[wanted - shape.indexes.data()] = RelationGetRelid(index);
        }
        index_close(index, AccessShareLock);
    }
    // REINDEX CONCURRENTLY swaps names beside those who only read: then the list was an older one.
    List* after = RelationGetIndexList(heap);
    const bool same = equal(indexes, after);
    list_free(indexes);
    list_free(after);
    if (!same && pass < kPasses) {
        findings->list.count = before;
        std::fill(std::begin(state->indexes), std::end(state->indexes), InvalidOid);
        examine_indexes(hub, heap, shape, state, findings, pass + 1);
        return;
    }
    for (std::size_t i = 0; i < shape.indexes.size(); ++i) {
        const char* name = shape.indexes[i].name;
        const bool told = OidIsValid(state->indexes[i]) ||
                          std::any_of(findings->list.begin(), findings->list.end(),
                                      [name](const Alteration& found) {
                                          return strcmp(found.object, name) == 0;
                                      });
        if (!told) {
            findings->add(name, psprintf("lacks index \"%s\"", name), "Create it again.");
        }
    }
}

}  // namespace

const TableShape& shape_of(TableId id) {
    return kShapes[static_cast<int>(id)];
}

const TableShape* find_shape(std::string_view table) {
    const auto* found =
        std::find_if(std::begin(kShapes), std::end(kShapes),
                     [table](const TableShape& shape) { return table == shape.name; });
    return found == std::end(kShapes) ? nullptr : found;
}

std::span<const Alteration> examine(const Hub& hub, Relation heap, const TableShape& shape,
                                    TableState* state) {
    // An operator prints without its schema if a caller's path leads to it: then it could be one
    // that only looks like ours.
    const int level = NewGUCNestLevel();
    (void)set_config_option("search_path", "pg_catalog", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_SAVE, true, 0, false);
    *state = {};
    Findings findings{heap, {}};
    examine_table(hub, heap, &findings);
    examine_columns(RelationGetDescr(heap), shape, state, &findings);
    examine_checks(heap, shape, &findings);
    examine_indexes(hub, heap, shape, state, &findings);
    AtEOXact_GUC(false, level);
    state->known = findings.list.count == 0;
    return findings.list.span();
}

std::span<const Alteration> slow_parts(const Hub& hub, Relation heap, const TableShape& shape) {
    Findings findings{heap, {}};
    const TupleDesc columns = RelationGetDescr(heap);
    for (int i = static_cast<int>(shape.columns.size()); i < columns->natts; ++i) {
        const FormData_pg_attribute* column = TupleDescAttr(columns, i);
        if (!column->attisdropped) {
            const char* name = pstrdup(NameStr(column->attname));
            findings.add(name, psprintf("has added column \"%s\": each write costs more", name),
                         "Drop it if it is not needed.");
        }
    }
    List* indexes = RelationGetIndexList(heap);
    for (int i = 0; i < list_length(indexes); ++i) {
        Relation index = index_open(list_nth_oid(indexes, i), AccessShareLock);
        if (find_index(hub, index, shape) == nullptr) {
            const char* name = pstrdup(RelationGetRelationName(index));
            findings.add(name, psprintf("has added index \"%s\": each write costs more", name),
                         "Drop it if it is not needed.");
        }
        index_close(index, AccessShareLock);
    }
    list_free(indexes);
    return findings.list.span();
}

}  // namespace belay::store
