// drop_guard.cpp — make room for commands that need a database to themselves, and notice the
// commands after which a database has a worker, or has none.
//
// Calls    pg/worker_registry
// Must not change what the command does: it only waits for the worker to leave, at most 5 s.
#include "pg/boundary.hpp"
#include "pg/compat.hpp"
#include "pg/worker_registry.hpp"
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
void make_room(const char* name, bool owners_only, pg::HoldFor purpose = pg::HoldFor::kChange) {
    const Oid database = get_database_oid(name, true);
    if (!OidIsValid(database) ||
        (owners_only ? !pg::owns_database(database, GetUserId()) : !may_create_databases())) {
        return;
    }
    pg::hold_database(database, purpose);
    (void)pg::wait_until_left(database, kPatienceMs);
}

void before_command(const Node* command) {
    switch (nodeTag(command)) {
        case T_DropdbStmt:
            make_room(reinterpret_cast<const DropdbStmt*>(command)->dbname, true,
                      pg::HoldFor::kDrop);
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
        default:
            break;
    }
}

// What is to be done after a command. Its tree may be gone by then: a COMMIT frees it.
struct Aftermath {
    bool look_at_database;
    bool look_here;
    bool hubs_changed;
    NameData database;
};

Aftermath aftermath_of(const Node* command) {
    Aftermath result{};
    const auto look_at = [&result](const char* name) {
        result.look_at_database = true;
        namestrcpy(&result.database, name);
    };
    switch (nodeTag(command)) {
        case T_CreatedbStmt:
            look_at(reinterpret_cast<const CreatedbStmt*>(command)->dbname);
            break;
        case T_AlterDatabaseStmt:  // it may allow connections
            look_at(reinterpret_cast<const AlterDatabaseStmt*>(command)->dbname);
            break;
        case T_CreateExtensionStmt:  // of any: another one may require ours
            result.look_here = true;
            break;
        case T_TransactionStmt:
            // No callback of the prepared transaction runs.
            result.look_here = reinterpret_cast<const TransactionStmt*>(command)->kind ==
                                   TRANS_STMT_COMMIT_PREPARED &&
                               !pg::sight(MyDatabaseId).live;
            break;
        case T_DropStmt: {
            const auto type = reinterpret_cast<const DropStmt*>(command)->removeType;
            result.hubs_changed = type == OBJECT_EXTENSION || type == OBJECT_SCHEMA;
            break;
        }
        default:
            break;
    }
    return result;
}

void after_command(const Aftermath& aftermath) {
    if (aftermath.look_at_database) {
        const Oid database = get_database_oid(NameStr(aftermath.database), true);
        if (OidIsValid(database)) {
            pg::want_worker_at_commit(database);
        }
    }
    if (aftermath.look_here && OidIsValid(get_extension_oid("belay", true))) {
        pg::want_worker_at_commit(MyDatabaseId);
    }
    if (aftermath.hubs_changed) {
        pg::wake_worker_at_commit(pg::Bell::kHubs);
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
