// check_hub.cpp — compare a hub with what its version asks for.
//
// Calls    store::hub_relations, store::hub_functions, store::check_tasks, pg::quarantined_hubs
// Touches  nothing
// Raises   QB002 unknown hub, 42501
#include "core/levels.hpp"
#include "ops/admin/admin.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "pg/worker_registry.hpp"
#include "store/grants.hpp"
#include "store/hub_row.hpp"
#include "store/task_reads.hpp"

namespace belay::ops {

namespace {

struct Findings {
    pg::List<HubProblem> problems;

    void add(const char* object, const char* problem) { problems.add({object, problem}); }
};

// Triggers, rules and row security can make a change vanish or run code of the owner's.
void check_extras(const char* name, Oid id, Findings* findings) {
    Relation relation = try_relation_open(id, AccessShareLock);
    if (relation == nullptr) {
        return;
    }
    if (relation->trigdesc != nullptr) {
        findings->add(name, "has triggers");
    }
    if (relation->rd_rel->relkind == RELKIND_RELATION && relation->rd_rules != nullptr) {
        findings->add(name, "has rules");
    }
    if (relation->rd_rel->relrowsecurity) {
        findings->add(name, "has row security");
    }
    relation_close(relation, AccessShareLock);
}

void check_relations(const store::Hub& hub, Findings* findings) {
    for (const auto& expected : store::hub_relations(hub.api)) {
        const Oid id = get_relname_relid(expected.name, hub.schema);
        HeapTuple row = OidIsValid(id) ? SearchSysCache1(RELOID, ObjectIdGetDatum(id)) : nullptr;
        if (!HeapTupleIsValid(row)) {
            findings->add(expected.name, "is missing");
            continue;
        }
        const FormData_pg_class form = *reinterpret_cast<Form_pg_class>(GETSTRUCT(row));
        ReleaseSysCache(row);
        if (form.relkind != expected.kind) {
            findings->add(expected.name, "is of another kind of relation");
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
            check_extras(expected.name, id, findings);
        }
    }
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
        if (function.owner != hub.owner) {
            findings->add(function.signature, "does not belong to the hub's owner");
        }
        if (function.is_public) {
            findings->add(function.signature, "may be called by PUBLIC");
        }
    }
}

void check_task_rows(const store::Hub& hub, Findings* findings) {
    MemoryContext memory = CurrentMemoryContext;
    pg::as_role(hub.owner, [&hub, findings, memory] {
        pg::with_spi([&hub, findings, memory] {
            const auto problems = store::check_tasks(hub, std::nullopt);
            MemoryContextSwitchTo(memory);
            for (const auto& [object, problem] : problems) {
                findings->add(pg::c_string(object), pg::c_string(problem));
            }
        });
    });
}

void check_quarantine(const store::Hub& hub, Findings* findings) {
    for (const auto& resting : pg::quarantined_hubs()) {
        if (resting.hub == hub.schema) {
            findings->add("belay_hub",
                          psprintf("is left alone by the background worker: %s took longer than "
                                   "belay.duty_timeout",
                                   resting.what));
        }
    }
}

}  // namespace

std::span<const HubProblem> check_hub(const char* name, VerbsOf verbs_of) {
    const store::Hub& hub = store::own_hub_by_name(name);
    Findings findings;
    if (hub.version != store::kHubVersion) {
        findings.add("belay_hub", psprintf("has version %d, the library has %d", hub.version,
                                           store::kHubVersion));
    }
    check_relations(hub, &findings);
    check_functions(hub, verbs_of(hub.api), &findings);
    // Rows are read only in tables that are as they should be.
    if (OidIsValid(hub.relations.tasks) && findings.problems.count == 0) {
        check_task_rows(hub, &findings);
    }
    check_quarantine(hub, &findings);
    return findings.problems.span();
}

}  // namespace belay::ops
