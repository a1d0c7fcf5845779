// Operations on hubs as a whole.
#pragma once

#include "pg/pg.hpp"
#include "store/cluster.hpp"
#include "store/hub.hpp"
#include "store/places.hpp"
#include "store/shards.hpp"

namespace belay::ops {

// The levels that may call a verb; the verb table knows.
using LevelsOf = uint8 (*)(std::string_view verb);

// The verbs that a hub of an api has.
using VerbsOf = std::span<const char* const> (*)(store::Api api);

// Makes a hub. Raises QB006 for a bad name, api or schema, 42501 for missing rights, 0A000 inside
// an extension script.
void create_hub(const char* name, std::string_view api, bool adopt,
                std::span<const char* const> verbs);

// Raises QB006 for a name that no hub can have.
void check_hub_name(const char* name);

// Says that another server has the hub. One that is here is served no more, from the end of the
// transaction on; until then calls that write wait. For its owner. remove is false if no place was
// known.
void set_hub_place(const char* name, const store::Place& place);
bool remove_hub_place(const char* name);
inline constexpr std::size_t kMaxHostBytes = 255;
void check_place(const store::Place& place);
// Whether the caller was granted set_hub_place.
bool may_set_places();

// Where a hub is. QB002 if it is not known.
struct HubLocation {
    std::optional<store::Place> place;  // none of a hub of this server that Citus does not know
    bool here;
};
HubLocation hub_location(const char* name);

// ---- Hubs that Citus distributes; called on its coordinator by their owners ----

// Puts the hub on a node: the named one, or that with the fewest hubs. Afterwards it is served
// there only.
void distribute_hub(const char* name, const char* host, std::optional<int32> port);
// Brings it back to the coordinator.
void undistribute_hub(const char* name);
// Takes it to another node while it works. mode: as Citus' citus_schema_move.
void move_hub(const char* name, const char* host, int32 port, const char* mode);
// Completes a distribution that was made with Citus' own functions.
void adopt_distribution(const char* name);

// The hub whose definition the caller is about to change. One that Citus has distributed is changed
// on the coordinator: 0A000 elsewhere.
const store::Hub& hub_to_define(const char* name, const char* function);
// Raises 0A000 for a hub that Citus has distributed.
void refuse_distributed(const store::Hub& hub, const char* function);
// Raises 0A000 without Citus, and on another node than its coordinator.
void require_coordinator(const char* function);
// Raises QB006 for a mode that citus_schema_move does not have.
void check_mode(const char* mode);
// Raises 0A000 on a node of Citus that is not the coordinator.
void refuse_on_other_nodes(const char* function);
// Whether this is the coordinator of a cluster that has nodes for hubs.
bool distributes_new_hubs();

// Ends a part of a long operation: commits, where the caller lets it.
using Pause = void (*)();

// Makes the hubs of a family: all of them, or those of this server, with the places of the others.
// Called again, it continues where it was.
struct FamilyRequest {
    const char* family;
    int32 hubs;
    std::string_view api;
    std::span<const std::string_view> servers;  // as host:port; empty: only this one
    std::string_view here;                      // one of them
    std::span<const char* const> verbs;
};
void create_hub_family(const FamilyRequest& request, Pause pause);
// Drops those of this database, and forgets the family.
void drop_hub_family(const char* family, bool force, Pause pause);

// How many hubs a family has. QB002 if it is not known.
int32 family_size(const char* family);
const char* family_hub_name(const char* family, int32 number);
// The hub of a family of that size that has the key.
const char* family_hub(const char* family, int32 hubs, std::string_view key);

// Removes what the hub is made of, live leases or not, and keeps the schema. For its owner only.
void cleanup_schema(const store::Hub& hub);

// Removes a hub. QB003 while a live lease exists, unless forced.
void drop_hub(const char* name, bool force);
// How many leases of a hub that is here are live. For its owner.
int64 live_leases(const char* name);

// Holds a hub that Citus has put on this node against all calls. For its owner.
void hold_shards(const char* name);

// Brings a hub to the version of this library. Running it again does no harm.
void upgrade_hub(const char* name, LevelsOf levels_of);

// Gives a role what a level may do, or takes it away. QB006 for an unknown level.
void grant_hub(const char* name, const char* role, std::string_view level, LevelsOf levels_of);
void revoke_hub(const char* name, const char* role, std::string_view level, LevelsOf levels_of);

// A move that makes the numbers of hubs per node more even.
struct HubMove {
    const char* hub;
    store::Node from;
    store::Node to;
    bool done;
};
// Moves one hub, unless it is a dry run. Returns this move and those that are left.
std::span<const HubMove> rebalance_hubs(const char* mode, bool dry_run);

// Calls visit for every hub of the database, in the order of their names.
void list_hubs(void (*visit)(const store::HubRow& row, const void* context), const void* context);

// The shards of all hubs that this node has from Citus.
std::span<const store::ShardSize> list_shards();

// One thing that is not as the hub's version asks for.
struct HubProblem {
    const char* object;
    const char* problem;
};

// Compares the hub with what its version asks for. Empty for a healthy hub. rows: auto, all, sample
// or none of the tasks are looked at.
std::span<const HubProblem> check_hub(const char* name, std::string_view rows, VerbsOf verbs_of);

// Runs a statement with the rights of the hub's owner only, for roles that have them. Visits the
// names of its columns as row 0, then its rows, each as an array of text.
using TextRowVisitor = void (*)(uint64 nr, Datum row, const void* context);
void run_as_owner(const char* name, const char* statement, TextRowVisitor visit,
                  const void* context);

// Begins a new incarnation of one hub, or with no name of every hub that the caller owns. Returns
// how many.
int32 new_incarnation(const char* name);

// Sets an option, or restores its default.
void set_hub_option(const char* name, std::string_view option,
                    std::optional<std::string_view> value);

// Stops or restarts the handing out of work: of one queue, or of all four.
void pause_hub(const store::Hub& hub, std::optional<std::string_view> queue,
               std::string_view reason);
void resume_hub(const store::Hub& hub, std::optional<std::string_view> queue);

// Raises 0A000 while an extension script runs: what it made would become a member of the extension
// and vanish from dumps.
void refuse_in_extension_script(const char* function);

}  // namespace belay::ops
