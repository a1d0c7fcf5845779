// The target of a foreign server with the rights of a role, and the steps of a libpq connection to
// it.
//
// Touches  the catalogs of foreign servers, in read_remote_target alone; sockets
// Must not wait, or raise while it has a connection or a result in its hands
#include "pg/remote.hpp"

#include "pg/compat.hpp"

namespace belay::pg {

namespace {

constinit uint64 generation = 0;
constinit bool watching = false;
// libpq's own list of its parameters; kept for the process.
constinit PQconninfoOption* known_options = nullptr;

extern "C" void belay_remote_changed(Datum, int, uint32) {
    ++generation;
}

// Whether libpq knows the option, and it is one that foreign servers and user mappings may set.
bool is_connection_option(const char* name) {
    if (strcmp(name, "client_encoding") == 0 || strcmp(name, "fallback_application_name") == 0) {
        return false;
    }
    for (const PQconninfoOption* known = known_options; known->keyword != nullptr; ++known) {
        if (strcmp(known->keyword, name) == 0) {
            return strchr(known->dispchar, 'D') == nullptr;  // not for debugging
        }
    }
    return false;
}

const char* option_value(const List* options, const char* name) {
    for (int i = 0; i < list_length(options); ++i) {
        auto* option = static_cast<DefElem*>(list_nth(options, i));
        if (strcmp(option->defname, name) == 0) {
            return defGetString(option);
        }
    }
    return nullptr;
}

// A user mapping has the user, not the place.
constexpr const char* kWho[] = {"user", "password"};
constexpr const char* kWhoOfSuperuser[] = {"user",    "password", "passfile",
                                           "sslcert", "sslkey",   "sslpassword"};

struct Pairs {
    const char** keywords;
    const char** values;
    int count;

    void add(MemoryContext memory, const char* keyword, const char* value) {
        keywords[count] = MemoryContextStrdup(memory, keyword);
        values[count++] = MemoryContextStrdup(memory, value);
    }
    void add_options(MemoryContext memory, const List* options) {
        for (int i = 0; i < list_length(options); ++i) {
            auto* option = static_cast<DefElem*>(list_nth(options, i));
            if (is_connection_option(option->defname)) {
                add(memory, option->defname, defGetString(option));
            }
        }
    }
    void add_named(MemoryContext memory, const List* options, std::span<const char* const> names) {
        for (const char* name : names) {
            if (const char* value = option_value(options, name)) {
                add(memory, name, value);
            }
        }
    }
};

void set_answer(RemoteAnswer* answer, bool good, const char* sqlstate, const char* message) {
    answer->good = good;
    strlcpy(answer->sqlstate, sqlstate == nullptr ? "" : sqlstate, sizeof answer->sqlstate);
    strlcpy(answer->message, message == nullptr ? "" : message, sizeof answer->message);
    for (char* at = answer->message; *at != '\0'; ++at) {
        if (*at == '\n') {
            *at = *(at + 1) == '\0' ? '\0' : ' ';
        }
    }
}

extern "C" void belay_remote_notice(void*, const PGresult*) {}

void close_broken(Remote* remote) {
    char message[sizeof remote->answer.message];
    strlcpy(message, PQerrorMessage(remote->connection), sizeof message);
    close_remote(remote, message[0] != '\0' ? message : "the connection was lost");
}

void finish_connecting(Remote* remote) {
    if (remote->password_required && PQconnectionUsedPassword(remote->connection) == 0) {
        close_remote(remote,
                     "the remote server did not ask for a password, which the owner of the hub "
                     "needs who is no superuser");
        return;
    }
    if (PQsetnonblocking(remote->connection, 1) != 0) {
        close_broken(remote);
        return;
    }
    remote->state = RemoteState::kReady;
}

void advance_connecting(Remote* remote) {
    switch (PQconnectPoll(remote->connection)) {
        case PGRES_POLLING_OK:
            finish_connecting(remote);
            break;
        case PGRES_POLLING_READING:
            remote->wants_write = false;
            break;
        case PGRES_POLLING_WRITING:
            remote->wants_write = true;
            break;
        default:
            close_broken(remote);
            break;
    }
}

// Reads what has come. False: the connection is gone.
bool read_more(Remote* remote) {
    if (PQconsumeInput(remote->connection) == 0 || PQstatus(remote->connection) != CONNECTION_OK) {
        close_broken(remote);
        return false;
    }
    return true;
}

void advance_asking(Remote* remote) {
    if (!read_more(remote)) {
        return;
    }
    if (remote->wants_write) {
        const int left = PQflush(remote->connection);
        if (left < 0) {
            close_broken(remote);
            return;
        }
        remote->wants_write = left > 0;
    }
    while (PQisBusy(remote->connection) == 0) {
        PGresult* result = PQgetResult(remote->connection);
        if (result == nullptr) {
            remote->state = RemoteState::kAnswered;
            return;
        }
        // The first error counts.
        const ExecStatusType status = PQresultStatus(result);
        if (remote->answer.good && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
            set_answer(&remote->answer, false, PQresultErrorField(result, PG_DIAG_SQLSTATE),
                       message != nullptr ? message : PQresultErrorMessage(result));
        }
        PQclear(result);
        if (PQstatus(remote->connection) != CONNECTION_OK) {
            close_broken(remote);
            return;
        }
    }
}

void begin_to_watch() {
    if (!watching) {
        watching = true;
        CacheRegisterSyscacheCallback(FOREIGNSERVEROID, belay_remote_changed, 0);
        CacheRegisterSyscacheCallback(USERMAPPINGOID, belay_remote_changed, 0);
        CacheRegisterSyscacheCallback(AUTHOID, belay_remote_changed, 0);
    }
    if (known_options == nullptr) {
        known_options = PQconndefaults();
        if (known_options == nullptr) {
            ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
        }
    }
}

}  // namespace

RemoteTarget read_remote_target(Oid role, const char* server, MemoryContext memory) {
    begin_to_watch();
    const ForeignServer* found = GetForeignServerByName(server, false);
    if (!may_use_server(found->serverid, role)) {
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied for foreign server %s", server)));
    }
    const bool by_superuser = superuser_arg(role);
    const char* needed = option_value(found->options, "password_required");
    const bool vouched = !by_superuser && superuser_arg(found->owner) && needed != nullptr &&
                         strcmp(needed, "false") == 0 &&
                         option_value(found->options, "user") != nullptr;
    const List* who = vouched ? NIL : GetUserMapping(role, found->serverid)->options;
    const bool required = !by_superuser && !vouched;
    const char* password = option_value(who, "password");
    if (required && (password == nullptr || password[0] == '\0')) {
        ereport(ERROR,
                (errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
                 errmsg("the user mapping of role \"%s\" for foreign server %s has no password",
                        GetUserNameFromId(role, false), server),
                 errhint("Add one, or let a superuser set the options password_required 'false' "
                         "and user of a foreign server of its own.")));
    }
    const auto room = static_cast<Size>(list_length(found->options) +
                                        static_cast<int>(lengthof(kWhoOfSuperuser)) + 4);
    Pairs pairs{static_cast<const char**>(MemoryContextAllocZero(memory, sizeof(char*) * room)),
                static_cast<const char**>(MemoryContextAllocZero(memory, sizeof(char*) * room)), 0};
    pairs.add_options(memory, found->options);
    pairs.add_named(memory, who,
                    by_superuser ? std::span(kWhoOfSuperuser) : std::span<const char* const>(kWho));
    pairs.add(memory, "client_encoding", GetDatabaseEncodingName());
    pairs.add(memory, "fallback_application_name", "belay relay");
    return {pairs.keywords, pairs.values, required};
}

RemoteTarget read_node_target(Oid role, const char* host, int32 port, MemoryContext memory) {
    begin_to_watch();
    const char* conninfo = GetConfigOption("citus.node_conninfo", true, false);
    char* error = nullptr;
    PQconninfoOption* options = PQconninfoParse(conninfo == nullptr ? "" : conninfo, &error);
    if (options == nullptr) {
        PQfreemem(error);
        ereport(ERROR, (errcode(ERRCODE_CONFIG_FILE_ERROR),
                        errmsg("setting citus.node_conninfo cannot be read")));
    }
    // Nothing raises before they are released, except a lack of memory.
    Size count = 0;
    while (options[count].keyword != nullptr) {
        ++count;
    }
    const Size room = count + 8;
    Pairs pairs{static_cast<const char**>(MemoryContextAllocZero(memory, sizeof(char*) * room)),
                static_cast<const char**>(MemoryContextAllocZero(memory, sizeof(char*) * room)), 0};
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
        if (option->val != nullptr) {
            pairs.add(memory, option->keyword, option->val);
        }
    }
    PQconninfoFree(options);
    pairs.add(memory, "host", host);
    pairs.add(memory, "port", psprintf("%d", port));
    pairs.add(memory, "dbname", get_database_name(MyDatabaseId));
    pairs.add(memory, "user", GetUserNameFromId(role, false));
    pairs.add(memory, "client_encoding", GetDatabaseEncodingName());
    pairs.add(memory, "fallback_application_name", "belay relay");
    return {pairs.keywords, pairs.values, false};
}

uint64 remote_generation() {
    return generation;
}

void open_remote(Remote* remote, const RemoteTarget& target) {
    Assert(remote->connection == nullptr);
    if (!AcquireExternalFD()) {
        set_answer(&remote->answer, false, "53000", "too many open files");
        return;
    }
    remote->password_required = target.password_required;
    remote->wants_write = true;
    remote->state = RemoteState::kConnecting;
    remote->connection = PQconnectStartParams(target.keywords, target.values, 0);
    if (remote->connection == nullptr) {
        ReleaseExternalFD();
        remote->state = RemoteState::kClosed;
        set_answer(&remote->answer, false, "53200", "out of memory");
    } else if (PQstatus(remote->connection) == CONNECTION_BAD) {
        close_broken(remote);
    } else {
        (void)PQsetNoticeReceiver(remote->connection, belay_remote_notice, nullptr);
    }
}

void ask_remote(Remote* remote, const char* sql, const char* parameter) {
    Assert(remote->state == RemoteState::kReady);
    const Oid types[] = {JSONBOID};
    const char* values[] = {parameter};
    set_answer(&remote->answer, true, "", "");
    if (PQsendQueryParams(remote->connection, sql, 1, types, values, nullptr, nullptr, 0) == 0) {
        close_broken(remote);
        return;
    }
    remote->state = RemoteState::kAsking;
    remote->wants_write = true;
    advance_remote(remote);
}

void advance_remote(Remote* remote) {
    switch (remote->state) {
        case RemoteState::kConnecting:
            advance_connecting(remote);
            break;
        case RemoteState::kAsking:
            advance_asking(remote);
            break;
        case RemoteState::kReady:
            (void)read_more(remote);  // a notice, or the end
            break;
        case RemoteState::kClosed:
        case RemoteState::kAnswered:
            break;
    }
}

void take_answer(Remote* remote) {
    Assert(remote->state == RemoteState::kAnswered);
    remote->state = RemoteState::kReady;
}

void close_remote(Remote* remote, const char* reason) {
    set_answer(&remote->answer, false, "", reason);
    if (remote->connection != nullptr) {
        PQfinish(remote->connection);
        ReleaseExternalFD();
    }
    remote->connection = nullptr;
    remote->state = RemoteState::kClosed;
}

pgsocket remote_socket(const Remote& remote) {
    return remote.connection == nullptr ? PGINVALID_SOCKET : PQsocket(remote.connection);
}

uint32 remote_events(const Remote& remote) {
    const uint32 write = remote.wants_write ? WL_SOCKET_WRITEABLE : 0;
    switch (remote.state) {
        case RemoteState::kConnecting:
            return remote.wants_write ? write : WL_SOCKET_READABLE;
        case RemoteState::kAsking:
            return WL_SOCKET_READABLE | write;
        default:
            return WL_SOCKET_READABLE;
    }
}

}  // namespace belay::pg
