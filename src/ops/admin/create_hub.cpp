// create_hub.cpp — make a hub: schema, tables, functions, views and rights.
//
// Calls    store::run_hub_steps, store::insert_hub_row, store::run_hub_objects
// Touches  the new schema
// Locks    the hub's name, so that two sessions making the same hub do not meet in the catalogs
// Raises   QB006 bad name, api, schema or encoding; QB017 a server has it already; 42501; 0A000
//          inside an extension script
#include "core/names.hpp"
#include "ops/admin/admin.hpp"
#include "pg/compat.hpp"
#include "pg/errors.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "shmem/signals.hpp"
#include "store/grants.hpp"
#include "store/hub_files.hpp"
#include "store/hub_row.hpp"
#include "store/plan.hpp"

namespace belay::ops {

namespace {

store::Api checked_api(std::string_view word) {
    const auto api = store::parse_api(word);
    if (!api) {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized api \"%s\"", pg::excerpt(word)),
                  pg::Facts("unknown_api").add("path", "p_api").add("value", word),
                  "Use 'belay' or 'duroxide-pg'.");
    }
    return *api;
}

void check_rights() {
    const Oid language = get_language_oid("belay", false);
    if (pg::may_use_language(language, GetUserId()) != ACLCHECK_OK) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied for language belay"),
                        errhint("Ask an administrator for GRANT USAGE ON LANGUAGE belay, and for "
                                "CREATE on the database.")));
    }
}

[[noreturn]] void refuse_schema(const char* code_detail, const char* name, const char* message,
                                const char* hint) {
    pg::raise(pg::kInvalidArgument, message,
              pg::Facts(code_detail).add("path", "p_name").add("value", name), hint);
}

// Whether an existing schema can be adopted: the caller's own, with none of the hub's names in it.
void check_adoption(Oid schema, const char* name, store::Api api,
                    std::span<const char* const> verbs) {
    if (!pg::owns_schema(schema, GetUserId())) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("must be owner of schema \"%s\" to adopt it", name)));
    }
    constexpr const char* kHint = "Rename or drop that object, or choose another schema.";
    for (const auto& relation : store::hub_relations(api)) {
        const bool relation_taken = OidIsValid(get_relname_relid(relation.name, schema));
        if (relation_taken || SearchSysCacheExists2(TYPENAMENSP, CStringGetDatum(relation.name),
                                                    ObjectIdGetDatum(schema))) {
            refuse_schema("name_taken", name,
                          psprintf("schema \"%s\" already has a %s \"%s\"", name,
                                   relation_taken ? "relation" : "type", relation.name),
                          kHint);
        }
    }
    for (const char* verb : verbs) {
        CatCList* list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(verb));
        bool taken = false;
        for (int i = 0; i < list->n_members; ++i) {
            const auto* form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(&list->members[i]->tuple));
            taken = taken || form->pronamespace == schema;
        }
        ReleaseSysCacheList(list);
        if (taken) {
            refuse_schema("name_taken", name,
                          psprintf("schema \"%s\" already has a function \"%s\"", name, verb),
                          kHint);
        }
    }
}

// The owner of an adopted schema must not create a table between our check and our CREATE
// TABLE IF NOT EXISTS: its triggers would run with the caller's rights.
void check_made_by_us(Oid schema, store::Api api) {
    for (const auto& expected : store::hub_relations(api)) {
        const Oid id = get_relname_relid(expected.name, schema);
        HeapTuple row = OidIsValid(id) ? SearchSysCache1(RELOID, ObjectIdGetDatum(id)) : nullptr;
        if (!HeapTupleIsValid(row)) {
            continue;  // a view, made later
        }
        const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(row))->relowner;
        ReleaseSysCache(row);
        if (owner != GetUserId()) {
            ereport(ERROR,
                    (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                     errmsg("relation \"%s\" was made by another role meanwhile", expected.name)));
        }
    }
}

}  // namespace

void refuse_in_extension_script(const char* function) {
    if (creating_extension) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("%s cannot run in an extension script", function),
                        errdetail("The hub's objects would become members of the extension and be "
                                  "left out of dumps."),
                        errhint("Call it after CREATE EXTENSION.")));
    }
}

void check_hub_name(const char* name) {
    const auto fault = core::check_hub_name(name);
    if (fault == core::NameFault::kNone) {
        return;
    }
    pg::raise(pg::kInvalidArgument, psprintf("invalid hub name \"%s\"", name),
              pg::Facts(core::code_detail(fault)).add("path", "p_name").add("value", name),
              core::kHubNameHint);
}

void create_hub(const char* name, std::string_view api_word, bool adopt,
                std::span<const char* const> verbs) {
    refuse_in_extension_script("belay.create_hub");
    refuse_on_other_nodes("belay.create_hub");
    check_hub_name(name);
    const store::Api api = checked_api(api_word);
    if (GetDatabaseEncoding() != PG_UTF8) {
        pg::raise(pg::kInvalidArgument, "hubs need a database with encoding UTF8",
                  pg::Facts("encoding").add("encoding", GetDatabaseEncodingName()),
                  "Create a database with ENCODING 'UTF8' for them.");
    }
    check_rights();
    PreventCommandIfReadOnly("belay.create_hub");
    pg::lock_name(pg::LockSpace::kHubName, name);
    if (store::place_of(name)) {
        store::raise_elsewhere(name);
    }
    const Oid existing = get_namespace_oid(name, true);
    if (OidIsValid(existing)) {
        if (!adopt) {
            if (store::find_hub(existing, true) != nullptr) {
                refuse_schema("schema_exists", name, psprintf("hub \"%s\" already exists", name),
                              "Use that hub, choose another name, or remove it with "
                              "belay.drop_hub.");
            }
            refuse_schema("schema_exists", name, psprintf("schema \"%s\" already exists", name),
                          "Choose another name, or pass p_adopt => true to make a hub of a schema "
                          "that you own.");
        }
        check_adoption(existing, name, api, verbs);
    }
    store::with_pinned_settings([name, api, existing] {
        pg::with_spi([name, api, existing] {
            if (!OidIsValid(existing)) {
                store::run_once(psprintf("CREATE SCHEMA %s", quote_identifier(name)));
            }
            const Oid schema = get_namespace_oid(name, false);
            store::run_hub_steps(name, 0);
            check_made_by_us(schema, api);
            store::insert_hub_row(name, schema, store::kApiNames[static_cast<int>(api)],
                                  OidIsValid(existing));
            store::run_hub_objects(name, api);
            store::revoke_from_public(schema, api);
        });
    });
    signals::want_worker_at_commit(MyDatabaseId);
    signals::wake_worker_at_commit(signals::Bell::kHubs);
}

}  // namespace belay::ops
