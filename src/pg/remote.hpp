// A connection to another database, through libpq, that never waits.
//
// libpq knows nothing of ereport: nothing here raises while a connection or a result is in the
// hands of a function, so none is lost. What a connection needs to know is read in a transaction
// beforehand; afterwards no transaction need be open.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The parameters for libpq: pairs of keyword and value, ended by nulls. In the memory given.
struct RemoteTarget {
    const char** keywords;
    const char** values;
    bool password_required;  // the remote server has to ask for the password of the user mapping
};

// Reads where a foreign server leads, and as whom with the user mapping of role. Raises if there is
// no such server or mapping, or if role may not use it. In a transaction.
//
// A role that is no superuser must not connect with what the server's own account may do: its user
// mapping needs a password, and the remote server has to ask for it. A superuser can vouch for a
// foreign server that it owns, with its options password_required = false and user; then it is that
// user, not the one of the mapping.
RemoteTarget read_remote_target(Oid role, const char* server, MemoryContext memory);

// The same for a node of the Citus cluster: the role's own name and this database, with the
// parameters that the setting citus.node_conninfo has for all nodes, as Citus itself connects.
RemoteTarget read_node_target(Oid role, const char* host, int32 port, MemoryContext memory);

// Counts changes of foreign servers, user mappings and roles in this session.
uint64 remote_generation();

enum class RemoteState : uint8 {
    kClosed,
    kConnecting,
    kReady,    // nothing asked
    kAsking,   // the question is being sent, or the answer is awaited
    kAnswered  // see answer
};

struct RemoteAnswer {
    bool good;
    char sqlstate[6];  // empty: no server answered
    char message[256];
};

struct Remote {
    PGconn* connection;  // null if closed
    RemoteState state;
    bool password_required;
    bool wants_write;     // else what it waits for is to be read
    RemoteAnswer answer;  // of the last question, or why the connection is closed
};

// Begins to connect. The state is kConnecting, or kClosed with the reason.
void open_remote(Remote* remote, const RemoteTarget& target);

// Asks: a statement with one parameter of type jsonb. State kAsking, or kClosed.
void ask_remote(Remote* remote, const char* sql, const char* parameter);

// Continues as far as possible without waiting. Any change of state is seen afterwards.
void advance_remote(Remote* remote);

// Takes the answer: state kReady.
void take_answer(Remote* remote);

// Ends the connection, with a reason.
void close_remote(Remote* remote, const char* reason);

// Where it waits: the socket, and for what (WL_SOCKET_READABLE, WL_SOCKET_WRITEABLE).
// PGINVALID_SOCKET if it is closed.
pgsocket remote_socket(const Remote& remote);
uint32 remote_events(const Remote& remote);

}  // namespace belay::pg
