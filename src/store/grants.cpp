// Who may call a hub's functions and read its views, read from and written to the catalog.
//
// May touch: pg_proc and pg_class to read acls; GRANT and REVOKE on objects of the hub. Must not:
// decide which level may do what; core/levels.hpp and the verb table do.
#include "store/grants.hpp"

#include "pg/compat.hpp"
#include "pg/list.hpp"
#include "store/hub_row.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

// Calls visit(form, acl or null) for every function of the schema in language belay.
template <typename Visit>
void each_function(Oid schema, Visit visit) {
    const Oid language = get_language_oid("belay", true);
    Relation procs = table_open(ProcedureRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(procs, InvalidOid, false, nullptr, 0, nullptr);
    while (HeapTuple row = systable_getnext(scan)) {
        const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(row));
        if (form->pronamespace == schema && form->prolang == language) {
            visit(row, RelationGetDescr(procs), form);
        }
    }
    systable_endscan(scan);
    table_close(procs, AccessShareLock);
}

Acl* acl_of(HeapTuple row, TupleDesc descriptor, const FormData_pg_proc* form) {
    bool null = false;
    const Datum acl = heap_getattr(row, Anum_pg_proc_proacl, descriptor, &null);
    return null ? acldefault(OBJECT_FUNCTION, form->proowner) : DatumGetAclPCopy(acl);
}

// The acl of a relation; null if it is the default, which gives rights to the owner only.
const Acl* acl_of(Oid relation) {
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(row)) {
        return nullptr;
    }
    bool null = false;
    const Datum value = SysCacheGetAttr(RELOID, row, Anum_pg_class_relacl, &null);
    const Acl* acl = null ? nullptr : DatumGetAclPCopy(value);
    ReleaseSysCache(row);
    return acl;
}

bool is_altered(const FormData_pg_proc* form) {
    return form->proisstrict || form->prosecdef || form->proleakproof ||
           form->provolatile == PROVOLATILE_IMMUTABLE || form->proparallel != PROPARALLEL_UNSAFE;
}

bool names(const Acl* acl, Oid grantee, AclMode right) {
    const AclItem* items = ACL_DAT(acl);
    for (int i = 0; i < ACL_NUM(acl); ++i) {
        if (items[i].ai_grantee == grantee && (ACLITEM_GET_PRIVS(items[i]) & right) != 0) {
            return true;
        }
    }
    return false;
}

// A hub lacks what a later version brings until it is upgraded.
bool exists(const Hub& hub, const HubRelation& relation) {
    return OidIsValid(get_relname_relid(relation.name, hub.schema));
}

// Adds the roles that an acl names, without the owner.
void add_grantees(const Acl* acl, Oid owner, pg::List<Oid>* found) {
    const AclItem* items = ACL_DAT(acl);
    for (int i = 0; i < ACL_NUM(acl); ++i) {
        const Oid role = items[i].ai_grantee;
        bool known = role == owner || role == ACL_ID_PUBLIC;
        for (const Oid other : found->span()) {
            known = known || other == role;
        }
        if (!known) {
            found->add(role);
        }
    }
}

}  // namespace

std::span<const HubFunction> hub_functions(Oid schema) {
    pg::List<HubFunction> found;
    each_function(schema, [&found](HeapTuple row, TupleDesc descriptor,
                                   const FormData_pg_proc* form) {
        bool null = false;
        const Datum source = heap_getattr(row, Anum_pg_proc_prosrc, descriptor, &null);
        found.add({.id = form->oid,
                   .verb = null ? "" : TextDatumGetCString(source),
                   .signature = format_procedure_qualified(form->oid),
                   .is_public = names(acl_of(row, descriptor, form), ACL_ID_PUBLIC, ACL_EXECUTE),
                   .owner = form->proowner,
                   .is_altered = is_altered(form) ||
                                 !heap_attisnull(row, Anum_pg_proc_proconfig, descriptor)});
    });
    return found.span();
}

void revoke_from_public(Oid schema, Api api) {
    for (const auto& function : hub_functions(schema)) {
        if (function.is_public) {
            run_once(psprintf("REVOKE ALL ON ROUTINE %s FROM PUBLIC", function.signature));
        }
    }
    const char* name = quote_identifier(get_namespace_name(schema));
    for (const auto& relation : hub_relations(api)) {
        if (relation.kind != RELKIND_INDEX) {
            run_once(psprintf("REVOKE ALL ON %s %s.%s FROM PUBLIC",
                              relation.kind == RELKIND_SEQUENCE ? "SEQUENCE" : "TABLE", name,
                              relation.name));
        }
    }
}

bool may_execute(const Hub& hub, const char* function, Oid role) {
    CatCList* list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(function));
    bool may = false;
    for (int i = 0; i < list->n_members && !may; ++i) {
        const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(&list->members[i]->tuple));
        may = form->pronamespace == hub.schema && pg::may_call(form->oid, role);
    }
    ReleaseSysCacheList(list);
    return may;
}

bool is_granted(Oid function, Oid role) {
    HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(row)) {
        return false;
    }
    bool null = false;
    const Datum acl = SysCacheGetAttr(PROCOID, row, Anum_pg_proc_proacl, &null);
    const bool granted = !null && names(DatumGetAclPCopy(acl), role, ACL_EXECUTE);
    ReleaseSysCache(row);
    return granted;
}

bool is_shared(Oid relation, Oid owner, bool roles_may) {
    bool shared = false;
    if (const Acl* acl = acl_of(relation)) {
        const AclItem* items = ACL_DAT(acl);
        for (int i = 0; i < ACL_NUM(acl); ++i) {
            const Oid grantee = items[i].ai_grantee;
            shared = shared || grantee == ACL_ID_PUBLIC || (!roles_may && grantee != owner);
        }
    }
    return shared;
}

bool are_views_granted(const Hub& hub, uint8 level, Oid role) {
    bool any = false;
    for (const auto& relation : hub_relations(hub.api)) {
        if ((relation.levels_in(hub.api) & level) != 0 && exists(hub, relation)) {
            const Acl* acl = acl_of(get_relname_relid(relation.name, hub.schema));
            if (acl == nullptr || !names(acl, role, ACL_SELECT)) {
                return false;
            }
            any = true;
        }
    }
    return any;
}

std::span<const Oid> grantees(const Hub& hub) {
    pg::List<Oid> found;
    each_function(hub.schema,
                  [&found](HeapTuple row, TupleDesc descriptor, const FormData_pg_proc* form) {
                      add_grantees(acl_of(row, descriptor, form), form->proowner, &found);
                  });
    for (const auto& relation : hub_relations(hub.api)) {
        if (relation.levels_in(hub.api) == core::kNoLevel) {
            continue;
        }
        if (const Acl* acl = acl_of(get_relname_relid(relation.name, hub.schema))) {
            add_grantees(acl, hub.owner, &found);
        }
    }
    return found.span();
}

void repeat_grants(const Hub& hub) {
    const auto functions = hub_functions(hub.schema);
    // One statement for many: each is a round trip to every node.
    const auto list = [&functions](Oid role) {
        StringInfoData names;
        initStringInfo(&names);
        for (const auto& function : functions) {
            if (!OidIsValid(role) || is_granted(function.id, role)) {
                appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", function.signature);
            }
        }
        return names;
    };
    run_once(psprintf("REVOKE ALL ON ROUTINE %s FROM PUBLIC", list(InvalidOid).data));
    for (const Oid role : grantees(hub)) {
        const char* name = quote_identifier(GetUserNameFromId(role, false));
        if (const StringInfoData granted = list(role); granted.len > 0) {
            run_once(psprintf("GRANT EXECUTE ON ROUTINE %s TO %s", granted.data, name));
        }
        for (const auto& relation : hub_relations(hub.api)) {
            const Acl* acl = relation.levels_in(hub.api) != core::kNoLevel && exists(hub, relation)
                                 ? acl_of(get_relname_relid(relation.name, hub.schema))
                                 : nullptr;
            if (acl != nullptr && names(acl, role, ACL_SELECT)) {
                run_once(
                    psprintf("GRANT SELECT ON %s.%s TO %s", hub.quoted_name, relation.name, name));
            }
        }
    }
}

void grant_function(const HubFunction& function, const char* role) {
    run_once(
        psprintf("GRANT EXECUTE ON ROUTINE %s TO %s", function.signature, quote_identifier(role)));
}

void revoke_function(const HubFunction& function, const char* role) {
    run_once(psprintf("REVOKE EXECUTE ON ROUTINE %s FROM %s", function.signature,
                      quote_identifier(role)));
}

void grant_views(const Hub& hub, uint8 level, const char* role) {
    for (const auto& relation : hub_relations(hub.api)) {
        if ((relation.levels_in(hub.api) & level) != 0 && exists(hub, relation)) {
            run_once(psprintf("GRANT SELECT ON %s.%s TO %s", hub.quoted_name, relation.name,
                              quote_identifier(role)));
        }
    }
}

void revoke_views(const Hub& hub, uint8 level, const char* role) {
    for (const auto& relation : hub_relations(hub.api)) {
        if ((relation.levels_in(hub.api) & level) != 0 && exists(hub, relation)) {
            run_once(psprintf("REVOKE SELECT ON %s.%s FROM %s", hub.quoted_name, relation.name,
                              quote_identifier(role)));
        }
    }
}

void grant_schema(const Hub& hub, const char* role) {
    run_once(psprintf("GRANT USAGE ON SCHEMA %s TO %s", hub.quoted_name, quote_identifier(role)));
}

void revoke_schema(const Hub& hub, const char* role) {
    run_once(
        psprintf("REVOKE USAGE ON SCHEMA %s FROM %s", hub.quoted_name, quote_identifier(role)));
}

}  // namespace belay::store
