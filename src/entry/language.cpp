// The language belay: handler and validator.
//
// Calls    the verb of the function, as the hub's owner
// Must not run before the function's signature is the verb's own: arguments reach C++ unchecked.
#include "entry/call.hpp"
#include "ops/absent_hub.hpp"
#include "pg/boundary.hpp"
#include "pg/faults.hpp"
#include "pg/scopes.hpp"

#include <stdexcept>

namespace belay::entry {

namespace {

constinit HTAB* sites = nullptr;

struct TypeWord {
    Oid type;
    const char* word;
};

constexpr TypeWord kTypeWords[] = {
    {TEXTOID, "text"},
    {INT8OID, "int8"},
    {INT4OID, "int4"},
    {BOOLOID, "bool"},
    {BYTEAOID, "bytea"},
    {JSONBOID, "jsonb"},
    {JSONOID, "json"},
    {TEXTARRAYOID, "text[]"},
    {INT4ARRAYOID, "int4[]"},
    {TIMESTAMPTZOID, "timestamptz"},
    {UUIDOID, "uuid"},
    {NAMEOID, "name"},
    {VOIDOID, "void"},
    {NUMERICOID, "numeric"},
    {UUIDARRAYOID, "uuid[]"},
    {INT8ARRAYOID, "int8[]"},
    {INTERVALOID, "interval"},
    {JSONBARRAYOID, "jsonb[]"},
    {BOOLARRAYOID, "bool[]"},
    {FLOAT8OID, "float8"},
    {INTERVALARRAYOID, "interval[]"},
};

const char* type_word(Oid type) {
    for (const auto& known : kTypeWords) {
        if (known.type == type) {
            return known.word;
        }
    }
    return "?";
}

// The composite type that a function returns by name; 0 if it returns anything else.
Oid row_type_of(const FormData_pg_proc* form) {
    return get_typtype(form->prorettype) == TYPTYPE_COMPOSITE ? form->prorettype : InvalidOid;
}

// A number that changes when the type is altered.
uint64 version_of(Oid row_type) {
    return lookup_type_cache(row_type, TYPECACHE_TUPDESC)->tupDesc_identifier;
}

// Its columns; one that was dropped fits nothing.
void append_columns(StringInfo columns, Oid row_type) {
    TupleDesc row = lookup_rowtype_tupdesc(row_type, -1);
    for (int i = 0; i < row->natts; ++i) {
        const auto* column = TupleDescAttr(row, i);
        appendStringInfo(columns, "%s%s", i > 0 ? ", " : "",
                         column->attisdropped ? "?" : type_word(column->atttypid));
    }
    ReleaseTupleDesc(row);
}

struct Signature {
    const char* arguments;
    const char* result;
};

// The signature of a function in the words of the verb table.
Signature signature_of(HeapTuple function) {
    const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(function));
    StringInfoData arguments;
    StringInfoData columns;
    initStringInfo(&arguments);
    initStringInfo(&columns);
    Oid* types = nullptr;
    char** names = nullptr;
    char* modes = nullptr;
    const int count = get_func_arg_info(function, &types, &names, &modes);
    for (int i = 0; i < count; ++i) {
        const char mode = modes == nullptr ? PROARGMODE_IN : modes[i];
        const bool out = mode == PROARGMODE_OUT || mode == PROARGMODE_TABLE;
        StringInfo list = out ? &columns : &arguments;
        appendStringInfo(list, "%s%s", list->len > 0 ? ", " : "",
                         mode == PROARGMODE_VARIADIC ? "?" : type_word(types[i]));
        if (mode == PROARGMODE_INOUT) {
            appendStringInfo(&columns, "%s%s", columns.len > 0 ? ", " : "", type_word(types[i]));
        }
    }
    if (const Oid row_type = row_type_of(form); OidIsValid(row_type)) {
        append_columns(&columns, row_type);
    }
    const char* kind = form->prokind == PROKIND_FUNCTION    ? ""
                       : form->prokind == PROKIND_PROCEDURE ? "procedure "
                                                            : "other ";
    const char* set = form->proretset ? "setof " : "";
    const char* result = columns.len > 0
                             ? psprintf("%s%s(%s)", kind, set, columns.data)
                             : psprintf("%s%s%s", kind, set, type_word(form->prorettype));
    return {arguments.data, result};
}

// Whether the declared arguments are the verb's, or the first of them that an older hub declares.
bool accepts(const Verb& verb, std::string_view declared, int count) {
    const std::string_view wanted = verb.arguments;
    return count >= verb.min_args && wanted.substr(0, declared.size()) == declared &&
           (wanted.size() == declared.size() || declared.empty() || wanted[declared.size()] == ',');
}

const Verb& verb_of(HeapTuple function) {
    const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(function));
    bool null = false;
    const Datum source = SysCacheGetAttr(PROCOID, function, Anum_pg_proc_prosrc, &null);
    const char* name = null ? "" : TextDatumGetCString(source);
    const Verb* verb = find_verb(name);
    if (verb == nullptr) {
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                        errmsg("language belay has no verb \"%s\"", name),
                        errhint("Create functions of language belay with belay.create_hub or "
                                "belay.upgrade_hub.")));
    }
    const Signature declared = signature_of(function);
    if (!accepts(*verb, declared.arguments, form->pronargs) ||
        strcmp(verb->result, declared.result) != 0) {
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                 errmsg("function %s does not have the signature of verb \"%s\"",
                        NameStr(form->proname), name),
                 errdetail("The verb takes (%s) and returns %s.", verb->arguments, verb->result)));
    }
    return *verb;
}

// Refuses a function outside a hub, or of another owner than the hub's.
void check_home(HeapTuple function) {
    const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(function));
    const Oid relation = store::hub_relation(form->pronamespace);
    if (!OidIsValid(relation)) {
        ops::raise_absent_hub(form->pronamespace);
    }
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(row)) {
        elog(ERROR, "cache lookup failed for relation %u", relation);
    }
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(row))->relowner;
    ReleaseSysCache(row);
    if (owner != form->proowner) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("function %s does not belong to the owner of hub \"%s\"",
                               NameStr(form->proname), get_namespace_name(form->pronamespace))));
    }
}

Site* find_site(Oid function_id) {
    if (sites == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(Oid);
        control.entrysize = sizeof(Site);
        control.hcxt = CacheMemoryContext;
        sites =
            hash_create("belay call sites", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    auto* site = static_cast<Site*>(hash_search(sites, &function_id, HASH_FIND, nullptr));
    if (site != nullptr && site->generation == store::cache_generation() &&
        (!OidIsValid(site->row_type) || site->row_version == version_of(site->row_type)))
        [[likely]] {
        return site;
    }
    // Looking things up may let an invalidation in: then this entry is only good for this call.
    const uint64 generation = store::cache_generation();
    HeapTuple function = SearchSysCache1(PROCOID, ObjectIdGetDatum(function_id));
    if (!HeapTupleIsValid(function)) {
        elog(ERROR, "cache lookup failed for function %u", function_id);
    }
    const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(function));
    const Oid schema = form->pronamespace;
    const Oid row_type = row_type_of(form);
    const uint64 row_version = OidIsValid(row_type) ? version_of(row_type) : 0;
    const Verb& verb = verb_of(function);
    check_home(function);
    ReleaseSysCache(function);
    if (site == nullptr) {
        bool found = false;
        site = static_cast<Site*>(hash_search(sites, &function_id, HASH_ENTER, &found));
        site->row = nullptr;
    } else if (site->row_type != row_type || site->row_version != row_version) {
        site->row = nullptr;  // a call that is under way may still use the old one
    }
    site->row_type = row_type;
    site->row_version = row_version;
    site->verb = &verb;
    site->schema = schema;
    site->generation = generation;
    return site;
}

// The ways in which a call can go wrong inside C++, for the tests of the boundary.
void pass_boundary_faults() {
    if (pg::fault(pg::FaultPoint::kBoundaryThrow)) {
        throw std::runtime_error("injected fault at \"boundary.throw\"");
    }
    if (pg::fault(pg::FaultPoint::kBoundaryThrowUnknown)) {
        throw 42;
    }
    if (pg::fault(pg::FaultPoint::kBoundaryMemory)) {
        throw std::bad_alloc();
    }
    pg::fail_here(pg::FaultPoint::kBoundaryError);
}

const store::Hub& hub_of(const Site& site) {
    const store::Hub* hub = store::find_hub(site.schema);
    if (hub == nullptr) {
        ops::raise_absent_hub(site.schema);
    }
    if (site.verb->access != Access::kWrite) {
        return *hub;
    }
    PreventCommandIfReadOnly(site.verb->name);
    PreventCommandDuringRecovery(site.verb->name);
    PreventCommandIfParallelMode(site.verb->name);
    // A fetch does not wait for a move: it finds nothing that it could take.
    if (!store::hold_place(*hub, false)) [[unlikely]] {
        if (never_waits(*site.verb)) {
            return *hub;
        }
        (void)store::hold_place(*hub, true);
    }
    return store::settle_incarnation(*hub);
}

}  // namespace

}  // namespace belay::entry

BELAY_FUNCTION(belay_call_handler) {
    using namespace belay;
    if (CALLED_AS_TRIGGER(fcinfo) || CALLED_AS_EVENT_TRIGGER(fcinfo)) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("functions of language belay cannot be triggers")));
    }
    AcceptInvalidationMessages();
    entry::Site* site = entry::find_site(fcinfo->flinfo->fn_oid);
    const store::Hub& hub = entry::hub_of(*site);
    MemoryContext result_memory = CurrentMemoryContext;
    const Oid caller = GetUserId();
    const auto call = [&hub, fcinfo, site, result_memory, caller] {
        return store::with_tables(
            hub, [&hub, fcinfo, site, result_memory, caller](store::Tables& tables) {
                return site->verb->call({tables, hub, fcinfo, site, result_memory, caller});
            });
    };
    if (site->verb->access == entry::Access::kWait) {
        return call();
    }
    return pg::as_role(hub.owner, [call] {
        return pg::with_spi([call] {
            entry::pass_boundary_faults();
            return call();
        });
    });
}

BELAY_FUNCTION(belay_validator) {
    using namespace belay;
    const Oid function_id = PG_GETARG_OID(0);
    if (!CheckFunctionValidatorAccess(fcinfo->flinfo->fn_oid, function_id)) {
        PG_RETURN_VOID();
    }
    HeapTuple function = SearchSysCache1(PROCOID, ObjectIdGetDatum(function_id));
    if (!HeapTupleIsValid(function)) {
        elog(ERROR, "cache lookup failed for function %u", function_id);
    }
    (void)entry::verb_of(function);
    // A restore creates functions before tables and switches this check off; the handler makes it
    // at the first call.
    if (check_function_bodies) {
        entry::check_home(function);
    }
    ReleaseSysCache(function);
    PG_RETURN_VOID();
}
