// A hub, as a connection sees it: the root of all calls.
//
//     belay::Connection connection({.conninfo = "dbname=shop"});
//     belay::Hub hub(connection, "app");
//     belay::Queue mail(hub, "mail");                     // belay/queue.hpp
//     mail.send({{"to", "ada@example.org"}});
//     hub.flows().cancel(flow_id);                        // belay/flows.hpp
//
// The calls are grouped by subject, each group with a header of its own; include the ones that you
// use. A call is one round trip, runs the SQL function that docs/sql-reference.md describes, and
// sends the hub's clock. Calls run in the connection's transaction if there is one, otherwise each
// is a transaction of its own; then lost connections and retries are handled as connection.hpp
// says:
// - receives, extensions of leases and reads are repeated;
// - what ends a lease is repeated with the same lease; if that finds the lease gone, the error says
//   outcome_unknown(), because the first run may have done it. A completion that finds that the
//   first run has completed the task is a success;
// - a task that has an id or a key is created once, however often the call is repeated; so are
//   flows with an id, signals with an id or a key, and suspensions with a key;
// - other messages, and changes of the hub, are not repeated: the error says outcome_unknown().
//
// Thread-safety: none; as the connection's, of which a Hub is a view. It does not own it. Groups
// and queues refer to the Hub, which outlives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/clock.hpp"
#include "belay/connection.hpp"
#include "belay/types.hpp"

namespace belay {

class Queues;          // belay/queue.hpp
class Tasks;           // belay/tasks.hpp
class Signals;         // belay/suspensions.hpp
class Flows;           // belay/flows.hpp
class Orchestrations;  // belay/orchestrations.hpp
class Events;          // belay/events.hpp
class Schedules;       // belay/schedules.hpp
class DeadLetters;     // belay/admin.hpp
class Maintenance;     // belay/admin.hpp
class Provider;        // belay/provider.hpp

// Whose rights the statements of a Hub run with. The owner of a hub can put code into its views and
// functions; a statement runs that code with the rights of the session.
enum class Rights {
    kOwn,    // those of the session
    kOwner,  // those of the hub's owner alone, by belay.run_as_owner. For sessions that have more
             // rights: superusers, and members of the owner's role. Waiting is not possible.
};

class Hub {
 public:
    Hub(Connection& connection, std::string_view name, Clock clock = server_clock(),
        Rights rights = Rights::kOwn);

    Queues queues();
    Tasks tasks();
    Signals signals();
    Flows flows();
    Orchestrations orchestrations();
    Events events();
    Schedules schedules();
    DeadLetters dead_letters();
    Maintenance maintenance();
    Provider provider();

    Connection& connection() const { return *connection_; }
    const std::string& name() const { return name_; }
    const std::string& schema() const { return schema_; }  // the name, quoted
    Rights rights() const { return rights_; }
    std::optional<Time> now() const { return clock_(); }  // none: the server's clock

    // Runs a statement of the caller's, with the rights of this object. Parameters are $1, $2, ...
    Result query(Effect effect, std::string_view sql, const Params& params = {},
                 Where where = Where::current());

    // SELECT columns FROM <hub>.function($1, $2, ...).
    Result call(Effect effect, std::string_view columns, std::string_view function,
                const Params& params, const Where& where);

    // The same with the names of the arguments, for functions whose order depends on the hub's api.
    struct Argument {
        std::string_view name;
        Param value;
    };
    Result call_named(Effect effect, std::string_view columns, std::string_view function,
                      const std::vector<Argument>& arguments, const Where& where);

    // A statement of functions without a clock argument: the hub's clock is set for it. 0A000 with
    // a clock and the owner's rights.
    Result query_at_clock(Effect effect, const std::string& sql, const Params& params,
                          const Where& where);

    // Throws Error (0A000) if this object cannot wait, which ends transactions.
    void check_can_wait(const Where& where) const;

 private:
    Connection* connection_;
    std::string name_;
    std::string schema_;  // quoted
    Clock clock_;
    Rights rights_;
};

// A group of calls.
class HubPart {
 public:
    explicit HubPart(Hub& hub) : hub_(&hub) {}
    Hub& hub() const { return *hub_; }

 private:
    Hub* hub_;
};

// An identifier as SQL has it: in double quotes.
std::string quoted_identifier(std::string_view name);

}  // namespace belay
