// check_hub.cpp — compare a hub with what its version asks for.
//
// Calls    store::hub_relations, store::hub_functions, store::read_hub_design,
//          store::function_faults, store::examine, store::check_tasks, store::check_sequences,
//          registry::quarantined_hubs
// Touches  nothing
// Locks    the tables that it reads, ACCESS SHARE
// Raises   QB002 unknown hub, QB006 bad argument, 42501
#include <algorithm>
#include <cmath>

#include "core/levels.hpp"
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "shmem/registry.hpp"
#include "store/grants.hpp"
#include "store/hub_design.hpp"
#include "store/hub_files.hpp"
#include "store/hub_row.hpp"
#include "store/sequences.hpp"
#include "store/shards.hpp"
#include "store/table/shape.hpp"
#include "store/task_reads.hpp"

namespace belay::ops {

namespace {

struct Findings {
    pg::List<HubProblem> problems;
    pg::List<HubProblem> advice;  // what is served, but at a cost

    void add(const char* object, const char* problem) {
        const bool known =
            std::any_of(problems.begin(), problems.end(), [=](const HubProblem& told) {
                return strcmp(told.object, object) == 0 && strcmp(told.problem, problem) == 0;
            });
        if (!known) {
            problems.add({object, problem});
        }
    }
};

// Triggers, rules and row security can make a change vanish or run code of the owner's; children
// hide rows from it.
void check_extras(const char* name, Relation relation, Findings* findings) {
    if (relation->trigdesc != nullptr) {
        findings->add(name, "has triggers");
    }
    if (relation->rd_rules != nullptr) {
        findings->add(name, "has rules");
    }
    if (relation->rd_rel->relrowsecurity) {
        findings->add(name, "has row security");
    }
    if (has_subclass(RelationGetRelid(relation))) {
        findings->add(name, "has child tables");
    }
}

bool equals(const store::ColumnDesign& wanted, const FormData_pg_attribute& found) {
    return wanted.type == found.atttypid && wanted.type_modifier == found.atttypmod &&
           wanted.collation == found.attcollation && wanted.not_null == found.attnotnull;
}

// Columns of the design stand first, in its order; behind them the owner may have added columns
// that need no value.
void check_columns(const store::TableDesign& table, Relation relation, Findings* findings) {
    const TupleDesc descriptor = RelationGetDescr(relation);
    const int wanted = static_cast<int>(table.columns.size());
    for (int i = 0; i < std::max(wanted, descriptor->natts); ++i) {
        const FormData_pg_attribute* found =
            i < descriptor->natts ? TupleDescAttr(descriptor, i) : nullptr;
        if (i < wanted) {
            const auto& column = table.columns[static_cast<std::size_t>(i)];
            if (found == nullptr || strcmp(NameStr(found->attname), column.name) != 0 ||
                !equals(column, *found)) {
                findings->add(table.name, psprintf("has another column \"%s\"", column.name));
            }
        } else if (!found->attisdropped && found->attnotnull && !found->atthasdef) {
            findings->add(table.name, psprintf("has an added column \"%s\" that needs a value",
                                               NameStr(found->attname)));
        }
    }
    const int checks = descriptor->constr != nullptr ? descriptor->constr->num_check : 0;
    if (checks != table.checks) {
        findings->add(table.name, checks > table.checks ? "has added check constraints"
                                                        : "lacks check constraints");
    }
}

// A hot table is refused with the same words by the first call that needs it.
void check_hot_table(const store::Hub& hub, const store::TableShape& shape, Relation relation,
                     Findings* findings) {
    store::TableState ignored;
    for (const auto& found : store::examine(hub, relation, shape, &ignored)) {
        findings->add(shape.name, found.problem);
    }
    for (const auto& part : store::slow_parts(hub, relation, shape)) {
        findings->advice.add({shape.name, part.problem});
    }
}

void check_table(const store::Hub& hub, const store::TableDesign& table, Findings* findings) {
    const Oid id = store::relation_named(hub, table.name);
    Relation relation = OidIsValid(id) ? try_relation_open(id, AccessShareLock) : nullptr;
    if (relation == nullptr) {
        return;  // check_relations reports it
    }
    if (const store::TableShape* shape = store::find_shape(table.name)) {
        check_hot_table(hub, *shape, relation, findings);
    } else if (relation->rd_rel->relkind == RELKIND_RELATION) {
        check_extras(table.name, relation, findings);
        check_columns(table, relation, findings);
    }
    if (relation->rd_rel->relispartition || has_superclass(RelationGetRelid(relation))) {
        findings->add(table.name, "is a child of another table");
    }
    relation_close(relation, AccessShareLock);
}

// Whether the columns of a table are as designed.
bool has_columns(const store::Hub& hub, const store::HubDesign& design, Oid id) {
    const char* name = store::name_in_hub(hub, id);
    Findings findings;
    for (const auto& table : design.tables) {
        if (name != nullptr && strcmp(table.name, name) == 0) {
            Relation relation = relation_open(id, AccessShareLock);
            check_columns(table, relation, &findings);
            relation_close(relation, AccessShareLock);
            return findings.problems.count == 0;
        }
    }
    return false;
}

void check_index(const store::Hub& hub, const store::HubDesign& design,
                 const store::IndexDesign& wanted, Findings* findings) {
    const Oid id = store::relation_named(hub, wanted.name);
    Relation index = OidIsValid(id) ? try_relation_open(id, AccessShareLock) : nullptr;
    if (index == nullptr) {
        return;  // check_relations reports it
    }
    const char* table =
        index->rd_index == nullptr ? nullptr : store::name_in_hub(hub, index->rd_index->indrelid);
    if (table != nullptr && store::find_shape(table) != nullptr) {
        relation_close(index, AccessShareLock);
        return;  // check_hot_table has looked at it
    }
    if (table == nullptr ||
        !store::has_design(index, wanted, has_columns(hub, design, index->rd_index->indrelid))) {
        findings->add(wanted.name, "is another index");
    } else if (!index->rd_index->indisvalid || !index->rd_index->indisready) {
        findings->add(wanted.name, "is not valid; REINDEX it");
    }
    relation_close(index, AccessShareLock);
}

// Tables, indexes, views and functions as the hub files say.
void check_design(const store::Hub& hub, Findings* findings) {
    store::with_pinned_settings([&hub, findings] {
        const auto design = store::read_hub_design(hub);
        for (const auto& table : design.tables) {
            check_table(hub, table, findings);
        }
        for (const auto& index : design.indexes) {
            check_index(hub, design, index, findings);
        }
        for (const auto& view : design.views) {
            const Oid id = get_relname_relid(view.name, hub.schema);
            if (OidIsValid(id) && !store::has_design(id, view)) {
                findings->add(view.name, "has another definition");
            }
        }
        for (const auto& fault : store::function_faults(hub, design.functions)) {
            findings->add(fault.function, fault.problem);
        }
    });
}

// False: one is missing, so that its design cannot be compared, nor that of the views that read it.
bool check_relations(const store::Hub& hub, Findings* findings) {
    bool complete = true;
    for (const auto& expected : store::hub_relations(hub.api)) {
        const Oid id = store::relation_named(hub, expected.name);
        HeapTuple row = OidIsValid(id) ? SearchSysCache1(RELOID, ObjectIdGetDatum(id)) : nullptr;
        if (!HeapTupleIsValid(row)) {
            findings->add(expected.name, "is missing");
            complete = complete && expected.kind == RELKIND_INDEX;
            continue;
        }
        const FormData_pg_class form = *reinterpret_cast<Form_pg_class>(GETSTRUCT(row));
        ReleaseSysCache(row);
        if (form.relkind != expected.kind) {
            findings->add(expected.name, "is of another kind of relation");
            complete = false;
        }
        if (form.relowner != hub.owner) {
            findings->add(expected.name, "does not belong to the hub's owner");
        }
        if (store::is_shared(id, hub.owner, expected.levels_in(hub.api) != core::kNoLevel)) {
            findings->add(expected.name, "has grants that no level gives");
        }
        if (form.relkind == RELKIND_RELATION) {
            if (form.relpersistence != RELPERSISTENCE_PERMANENT) {
                findings->add(expected.name, "is not permanent");
            }
        }
    }
    return complete;
}

void check_functions(const store::Hub& hub, std::span<const char* const> verbs,
                     Findings* findings) {
    const auto functions = store::hub_functions(hub.schema);
    for (const char* verb : verbs) {
        bool found = false;
        for (const auto& function : functions) {
            found = found || strcmp(function.verb, verb) == 0;
        }
        if (!found) {
            findings->add(verb, "has no function");
        }
    }
    for (const auto& function : functions) {
        if (function.is_altered) {
            findings->add(
                function.signature,
                "was made strict, immutable, parallel safe, leakproof or security definer, "
                "or was given settings");
        }
        if (function.owner != hub.owner) {
            findings->add(function.signature, "does not belong to the hub's owner");
        }
        if (function.is_public) {
            findings->add(function.signature, "may be called by PUBLIC");
        }
    }
}

// Which rows are looked at.
constexpr int64 kFew = 100000;
constexpr int64 kSample = 10000;

// About how many rows a table has, as the server has last counted them.
double estimated_rows(const store::Hub& hub, const char* name) {
    Relation table = table_open(store::relation_named(hub, name), AccessShareLock);
    const double estimate = table->rd_rel->reltuples;
    table_close(table, AccessShareLock);
    return std::max(estimate, 0.0);
}

store::CheckedTasks checked_rows(const store::Hub& hub, std::string_view rows) {
    store::CheckedTasks checked{.flow = std::nullopt, .newest = std::nullopt};
    const double tasks = estimated_rows(hub, "tasks");
    if (rows == "all" || (rows == "auto" && tasks <= kFew)) {
        return checked;
    }
    checked.newest = kSample;
    checked.flows = estimated_rows(hub, "flows") + estimated_rows(hub, "groups") +
                        estimated_rows(hub, "edges") <=
                    kSample;
    if (rows == "auto") {
        ereport(NOTICE,
                (errmsg("only the newest " INT64_FORMAT " of about %.0f tasks are checked%s",
                        kSample, tasks, checked.flows ? "" : ", and no flows"),
                 errhint("Call belay.check_hub('%s', 'all') to read every task; allow it about "
                         "%.0f seconds.",
                         NameStr(hub.name), std::ceil(tasks / kFew))));
    }
    return checked;
}

void check_task_rows(const store::Hub& hub, const store::CheckedTasks& checked,
                     Findings* findings) {
    MemoryContext memory = CurrentMemoryContext;
    pg::as_role(hub.owner, [&hub, &checked, findings, memory] {
        pg::with_spi([&hub, &checked, findings, memory] {
            const auto problems = store::check_tasks(hub, checked);
            MemoryContextSwitchTo(memory);
            // Each is reported once, and there may be one for every task.
            for (const auto& [object, problem] : problems) {
                findings->problems.add({pg::c_string(object), pg::c_string(problem)});
            }
        });
    });
}

void tell_skipped(const store::Hub& hub, std::span<const char* const> sequences) {
    StringInfo names = makeStringInfo();
    for (const char* name : sequences) {
        appendStringInfo(names, "%s%s", names->len == 0 ? "" : ", ", name);
    }
    ereport(
        NOTICE,
        (errmsg("sequences of large tables are not compared with their rows: %s", names->data),
         errhint("Call belay.check_hub('%s', 'all') to read these tables.", NameStr(hub.name))));
}

void check_sequences(const store::Hub& hub, std::string_view rows, Findings* findings) {
    MemoryContext memory = CurrentMemoryContext;
    pg::as_role(hub.owner, [&hub, rows, findings, memory] {
        pg::with_spi([&hub, rows, findings, memory] {
            const auto [late, skipped] = store::check_sequences(hub, rows == "all");
            MemoryContextSwitchTo(memory);
            for (const auto& [name, last, largest] : late) {
                findings->add(name,
                              psprintf("is at " INT64_FORMAT ", below a row's number " INT64_FORMAT
                                       "; belay.new_incarnation sets it right",
                                       last, largest));
            }
            if (rows == "auto" && !skipped.empty()) {
                tell_skipped(hub, skipped);
            }
        });
    });
}

void check_word(std::string_view rows) {
    if (rows != "auto" && rows != "all" && rows != "sample" && rows != "none") {
        pg::raise(pg::kInvalidArgument,
                  psprintf("unrecognized value for p_rows: \"%s\"", pg::excerpt(rows)),
                  pg::Facts("bad_value").add("path", "p_rows").add("value", rows),
                  "Pass auto, all, sample or none.");
    }
}

void check_quarantine(const store::Hub& hub, Findings* findings) {
    for (const auto& resting : registry::quarantined_hubs()) {
        if (resting.hub == hub.schema) {
            findings->add("belay_hub",
                          psprintf("is left alone by the background worker: %s took longer than "
                                   "belay.duty_timeout",
                                   resting.what));
        }
    }
}

}  // namespace

std::span<const HubProblem> check_hub(const char* name, std::string_view rows, VerbsOf verbs_of) {
    check_word(rows);
    const store::Hub& hub = store::own_hub_by_name(name);
    Findings findings;
    if (hub.version != store::kHubVersion) {
        findings.add("belay_hub", psprintf("has version %d, the library has %d", hub.version,
                                           store::kHubVersion));
    }
    const bool complete = check_relations(hub, &findings);
    check_functions(hub, verbs_of(hub.api), &findings);
    if (complete) {
        check_design(hub, &findings);
    }
    // Rows are read only in tables that are as they should be.
    if (findings.problems.count == 0 && rows != "none") {
        check_task_rows(hub, checked_rows(hub, rows), &findings);
        check_sequences(hub, rows, &findings);
    }
    check_quarantine(hub, &findings);
    for (const HubProblem& advice : findings.advice) {
        findings.problems.add(advice);
    }
    return findings.problems.span();
}

}  // namespace belay::ops
