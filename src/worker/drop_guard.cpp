// drop_guard.cpp — make room for commands that need a database to themselves, notice the commands
// after which a database has a worker, or has none, and stand by DROP EXTENSION belay.
//
// Calls    registry, store::all_hubs
// Touches  belay's shared memory; the schema that CREATE EXTENSION made, if it is empty
// Must not refuse or delay a command beyond what follows
//
// A command on a database only waits for the worker to leave, at most 5 s. DROP EXTENSION belay is
// refused while there are hubs, as PostgreSQL itself does, but in belay's words. The schema that
// CREATE EXTENSION has made goes with the extension if it is empty then.
#include <algorithm>

#include "pg/boundary.hpp"
#include "pg/compat.hpp"
#include "pg/subtransaction.hpp"
#include "shmem/registry.hpp"
#include "store/hub.hpp"
#include "worker/worker.hpp"

namespace belay::worker {

namespace {

constexpr int kPatienceMs = 5000;

constinit ProcessUtility_hook_type previous_hook = nullptr;

bool may_create_databases() {
    if (superuser()) {
        return true;
    }
    HeapTuple role = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
    if (!HeapTupleIsValid(role)) {
        return false;
    }
    const bool may = reinterpret_cast<Form_pg_authid>(GETSTRUCT(role))->rolcreatedb;
    ReleaseSysCache(role);
    return may;
}

const char* option_of(const List* options, const char* name) {
    for (int i = 0; i < list_length(options); ++i) {
        auto* option = static_cast<DefElem*>(list_nth(options, i));
        if (strcmp(option->defname, name) == 0) {
            return option->arg == nullptr ? nullptr : defGetString(option);
        }
    }
    return nullptr;
}

// Makes the worker leave the database, for those who may do what they are about to do.
void make_room(const char* name, bool owners_only,
               registry::HoldFor purpose = registry::HoldFor::kChange) {
    const Oid database = get_database_oid(name, true);
    if (!OidIsValid(database) ||
        (owners_only ? !pg::owns_database(database, GetUserId()) : !may_create_databases())) {
        return;
    }
    registry::hold_database(database, purpose);
    (void)registry::wait_until_left(database, kPatienceMs);
}

// Whether the command drops extension belay, which exists.
bool drops_belay(const DropStmt* drop) {
    if (drop->removeType != OBJECT_EXTENSION || !OidIsValid(get_extension_oid("belay", true))) {
        return false;
    }
    for (int i = 0; i < list_length(drop->objects); ++i) {
        if (strcmp(strVal(list_nth(drop->objects, i)), "belay") == 0) {
            return true;
        }
    }
    return false;
}

// PostgreSQL would list the hundreds of objects of each hub, and would not say how to remove one.
void refuse_while_hubs_exist() {
    constexpr std::size_t kMostNamed = 10;
    const auto hubs = store::all_hubs();
    if (hubs.empty()) {
        return;
    }
    StringInfo names = makeStringInfo();
    for (std::size_t i = 0; i < std::min(hubs.size(), kMostNamed); ++i) {
        const char* name = get_namespace_name(hubs[i]);
        appendStringInfo(names, "%s%s", i > 0 ? ", " : "", name == nullptr ? "?" : name);
    }
    if (hubs.size() > kMostNamed) {
        appendStringInfo(names, " and %zu more", hubs.size() - kMostNamed);
    }
    ereport(ERROR,
            (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
             errmsg("cannot drop extension belay because hubs depend on it"),
             errdetail("Hubs of this database: %s.", names->data),
             errhint("Remove each hub with SELECT belay.drop_hub('name'). DROP EXTENSION belay "
                     "CASCADE removes the functions and views of all hubs, and leaves their "
                     "tables behind.")));
}

void before_command(const Node* command) {
    switch (nodeTag(command)) {
        case T_DropdbStmt:
            make_room(reinterpret_cast<const DropdbStmt*>(command)->dbname, true,
                      registry::HoldFor::kDrop);
            break;
        case T_RenameStmt: {
            const auto* rename = reinterpret_cast<const RenameStmt*>(command);
            if (rename->renameType == OBJECT_DATABASE) {
                make_room(rename->subname, true);
            }
            break;
        }
        case T_AlterDatabaseStmt: {
            const auto* alter = reinterpret_cast<const AlterDatabaseStmt*>(command);
            if (option_of(alter->options, "tablespace") != nullptr) {
                make_room(alter->dbname, true);
            }
            break;
        }
        case T_CreatedbStmt: {
            const auto* create = reinterpret_cast<const CreatedbStmt*>(command);
            const char* source = option_of(create->options, "template");
            make_room(source != nullptr ? source : "template1", false);
            break;
        }
        case T_DropStmt: {
            const auto* drop = reinterpret_cast<const DropStmt*>(command);
            if (drop->behavior == DROP_RESTRICT && drops_belay(drop)) {
                refuse_while_hubs_exist();
            }
            break;
        }
        default:
            break;
    }
}

// What is to be done after a command. Its tree may be gone by then: a COMMIT frees it.
struct Aftermath {
    bool probe_database;
    bool probe_here;
    bool hubs_changed;
    NameData database;
    Oid schema;  // that may be empty after DROP EXTENSION belay
};

// Drops the schema unless something is in it.
void drop_if_empty(Oid schema) {
    if (get_namespace_name(schema) == nullptr) {
        return;
    }
    const ObjectAddress address{NamespaceRelationId, schema, 0};
    const auto end = pg::try_in_subtransaction([address] {
        performDeletion(&address, DROP_RESTRICT, 0);
        return true;
    });
    if (end.error != nullptr && end.error->sqlerrcode != ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST) {
        ReThrowError(end.error);
    }
}

// Whether a worker serves this database. One that is only starting may have looked for the
// extension before it was there, and leave.
bool has_settled_worker() {
    const registry::Sighting seen = registry::sight(MyDatabaseId);
    return seen.live && seen.state != registry::WorkerState::kStarting;
}

Aftermath aftermath_of(const Node* command) {
    Aftermath result{};
    const auto inspect = [&result](const char* name) {
        result.probe_database = true;
        namestrcpy(&result.database, name);
    };
    switch (nodeTag(command)) {
        case T_CreatedbStmt:
            inspect(reinterpret_cast<const CreatedbStmt*>(command)->dbname);
            break;
        case T_AlterDatabaseStmt:  // it may allow connections
            inspect(reinterpret_cast<const AlterDatabaseStmt*>(command)->dbname);
            break;
        case T_CreateExtensionStmt:  // of any: another one may require ours
            result.probe_here = true;
            break;
        case T_TransactionStmt:
            // No callback of the prepared transaction runs.
            result.probe_here = reinterpret_cast<const TransactionStmt*>(command)->kind ==
                                    TRANS_STMT_COMMIT_PREPARED &&
                                !has_settled_worker();
            break;
        case T_DropStmt: {
            const auto* drop = reinterpret_cast<const DropStmt*>(command);
            result.hubs_changed =
                drop->removeType == OBJECT_EXTENSION || drop->removeType == OBJECT_SCHEMA;
            if (drops_belay(drop)) {
                result.schema = get_namespace_oid("belay", true);
            }
            break;
        }
        default:
            break;
    }
    return result;
}

void after_command(const Aftermath& aftermath) {
    if (aftermath.probe_database) {
        const Oid database = get_database_oid(NameStr(aftermath.database), true);
        if (OidIsValid(database)) {
            signals::want_worker_at_commit(database);
        }
    }
    if (aftermath.probe_here && OidIsValid(get_extension_oid("belay", true))) {
        signals::want_worker_at_commit(MyDatabaseId);
    }
    if (OidIsValid(aftermath.schema)) {
        drop_if_empty(aftermath.schema);
    }
    if (aftermath.hubs_changed) {
        signals::wake_worker_at_commit(signals::Bell::kHubs);
    }
}

extern "C" void belay_utility(PlannedStmt* statement, const char* text, bool read_only_tree,
                              ProcessUtilityContext context, ParamListInfo parameters,
                              QueryEnvironment* environment, DestReceiver* receiver,
                              QueryCompletion* completion) {
    const Aftermath aftermath = pg::at_boundary([statement] {
        before_command(statement->utilityStmt);
        return aftermath_of(statement->utilityStmt);
    });
    (previous_hook != nullptr ? previous_hook : standard_ProcessUtility)(
        statement, text, read_only_tree, context, parameters, environment, receiver, completion);
    if (IsTransactionState()) {
        pg::at_boundary([&aftermath] { after_command(aftermath); });
    }
}

}  // namespace

void install_drop_guard() {
    previous_hook = ProcessUtility_hook;
    ProcessUtility_hook = belay_utility;
}

}  // namespace belay::worker
