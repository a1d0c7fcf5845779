// distribute_hub.cpp — hubs on Citus: put one on a node, move it while it works, bring it back.
//
// Calls    functions of Citus; store::lock_whole_hub_from_readers, store::run_hub_objects
// Touches  the hub's schema on all nodes; the catalogs of Citus
// Locks    the hub's name; of a hub that is here all tables; what Citus locks
// Raises   QB002 unknown hub, QB006 bad argument, QB017, 42501; 0A000 without Citus or not on its
//          coordinator, 55000 in another state than the function needs
#include <algorithm>

#include "core/version.hpp"
#include "ops/admin/admin.hpp"
#include "pg/compat.hpp"
#include "pg/errors.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "store/grants.hpp"
#include "store/hub_files.hpp"
#include "store/hub_row.hpp"
#include "store/plan.hpp"

namespace belay::ops {

namespace {

constexpr int32 kCoordinator = 0;

[[noreturn]] void raise_not_coordinator(const char* function) {
    const auto place = store::place_of_group(kCoordinator);
    ereport(ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s runs on the coordinator", function),
             place ? errhint("Connect to %s:%d.", place->host, place->port)
                   : errhint("Connect there.")));
}

}  // namespace

void require_coordinator(const char* function) {
    const auto group = store::own_group();
    if (!group || !OidIsValid(get_extension_oid("citus", true))) {
        ereport(
            ERROR,
            (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
             errmsg("extension citus is not installed in this database"),
             errhint(
                 "Move a hub between servers without Citus with belay.set_hub_place and a dump.")));
    }
    if (*group != kCoordinator) {
        raise_not_coordinator(function);
    }
}

void check_mode(const char* mode) {
    constexpr std::string_view kModes[] = {"auto", "force_logical", "block_writes"};
    if (std::find(std::begin(kModes), std::end(kModes), std::string_view(mode)) ==
        std::end(kModes)) {
        pg::raise_invalid("unknown_mode", "p_mode", psprintf("unrecognized mode \"%s\"", mode),
                          "Modes are auto, force_logical and block_writes.");
    }
}

namespace {

// The hub of the caller's that Citus has distributed.
const store::Hub& distributed_hub(const char* name, const char* function) {
    require_coordinator(function);
    const store::Hub& hub = store::own_hub_left_here(name);
    if (hub.shards == nullptr) {
        if (hub.elsewhere) {
            store::raise_elsewhere(name);
        }
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("hub \"%s\" is not distributed", name),
                        errhint("Distribute it with belay.distribute_hub.")));
    }
    return hub;
}

[[noreturn]] void raise_unknown_node(const char* host, int32 port) {
    constexpr std::size_t kMostNamed = 10;
    const auto nodes = store::list_nodes();
    StringInfo hint = makeStringInfo();
    appendStringInfoString(hint, "Nodes of pg_dist_node that have shouldhaveshards true: ");
    for (std::size_t i = 0; i < std::min(nodes.size(), kMostNamed); ++i) {
        const store::Node& node = nodes[i].node;
        const auto place = store::place_of_group(node.group);
        appendStringInfo(hint, "%s%s:%d", i > 0 ? ", " : "", place ? place->host : node.host,
                         place ? place->port : node.port);
    }
    if (nodes.size() > kMostNamed) {
        appendStringInfo(hint, " and %zu more", nodes.size() - kMostNamed);
    }
    appendStringInfoString(hint, nodes.empty() ? "none." : ".");
    pg::raise_invalid("unknown_node", "p_host",
                      psprintf("%s:%d is not a node that takes shards", host, port), hint->data);
}

store::Node checked_node(const char* host, int32 port) {
    const auto node = store::find_node(host, port);
    if (!node) {
        raise_unknown_node(host, port);
    }
    return *node;
}

// Citus leaves the rows behind that it has copied; and functions come to other nodes only when they
// are made while it looks.
void complete(const store::Hub& hub) {
    const char* name = pstrdup(NameStr(hub.name));
    const store::Api api = hub.api;
    for (const auto& relation : store::hub_relations(api)) {
        if (relation.kind == RELKIND_RELATION) {
            store::run_once(psprintf(
                "SELECT pg_catalog.truncate_local_data_after_distributing_table(%s)",
                quote_literal_cstr(psprintf("%s.%s", quote_identifier(name), relation.name))));
        }
    }
    store::run_hub_objects(name, api);
    store::repeat_grants(hub);
}

template <pg::JumpSafe Body>
void on_all_nodes(Body body) {
    store::with_pinned_settings([&body] { pg::with_spi([&body] { body(); }); },
                                store::Reach::kAllNodes);
}

}  // namespace

void refuse_on_other_nodes(const char* function) {
    if (store::own_group().value_or(kCoordinator) != kCoordinator) {
        raise_not_coordinator(function);
    }
}

bool distributes_new_hubs() {
    return store::own_group() == kCoordinator && OidIsValid(get_extension_oid("citus", true)) &&
           store::has_nodes();
}

void refuse_distributed(const store::Hub& hub, const char* function) {
    if (hub.shards != nullptr) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("%s cannot change hub \"%s\", which Citus has distributed", function,
                               NameStr(hub.name)),
                        errhint("Call belay.undistribute_hub on the coordinator first.")));
    }
}

const store::Hub& hub_to_define(const char* name, const char* function) {
    const store::Hub& hub = store::own_hub_left_here(name);
    if (hub.shards != nullptr) {
        require_coordinator(function);
    } else if (hub.elsewhere) {
        store::raise_elsewhere(name);
    }
    return hub;
}

void distribute_hub(const char* name, const char* host, std::optional<int32> port) {
    refuse_in_extension_script("belay.distribute_hub");
    require_coordinator("belay.distribute_hub");
    PreventCommandIfReadOnly("belay.distribute_hub");
    pg::lock_name(pg::LockSpace::kHubName, name);
    if (const store::Hub& found = store::own_hub_left_here(name); found.shards != nullptr) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("hub \"%s\" is distributed already", name),
                        errhint("Move it with belay.move_hub.")));
    }
    const store::Hub& hub = store::own_hub_by_name(name);
    if (hub.version != store::kHubVersion) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("hub \"%s\" is not of the current version", name),
                        errhint("Call belay.upgrade_hub first.")));
    }
    if (const char* key = store::foreign_key_across(hub.schema)) {
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("foreign key %s joins schema \"%s\" to a table outside of it", key, name),
                 errhint("Drop it: the hub goes to another node than that table.")));
    }
    const auto node =
        host == nullptr ? store::emptiest_node() : checked_node(host, port.value_or(5432));
    store::lock_whole_hub_from_readers(hub);
    store::announce_place(hub);
    store::choose_next_node(node);
    on_all_nodes([name, &hub] {
        store::run_once(psprintf("SELECT pg_catalog.citus_schema_distribute(%s)",
                                 quote_literal_cstr(quote_identifier(name))));
        complete(hub);
    });
    const auto found = store::find_shards(hub.schema);
    if (found.shards == nullptr || found.shards->group != node.group) {
        ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                        errmsg("hub \"%s\" has come to another node than %s:%d", name, node.host,
                               node.port),
                        errhint("Call again: another schema was distributed at the same time.")));
    }
}

void adopt_distribution(const char* name) {
    const store::Hub& hub = distributed_hub(name, "belay.adopt_distribution");
    PreventCommandIfReadOnly("belay.adopt_distribution");
    pg::lock_name(pg::LockSpace::kHubName, name);
    for (int i = 0; i < hub.shards->count; ++i) {
        LockRelationOid(hub.shards->shards[i].shell, AccessExclusiveLock);
    }
    on_all_nodes([&hub] { complete(hub); });
}

void undistribute_hub(const char* name) {
    const store::Hub& hub = distributed_hub(name, "belay.undistribute_hub");
    PreventCommandIfReadOnly("belay.undistribute_hub");
    pg::lock_name(pg::LockSpace::kHubName, name);
    store::announce_place(hub);
    on_all_nodes([name, &hub] {
        store::hold_shards_there(hub);
        store::run_once(psprintf("SELECT pg_catalog.citus_schema_undistribute(%s)",
                                 quote_literal_cstr(quote_identifier(name))));
    });
}

void hold_shards(const char* name) {
    store::hold_shards_alone(store::own_hub_by_name(name));
}

void move_hub(const char* name, const char* host, int32 port, const char* mode) {
    check_mode(mode);
    (void)distributed_hub(name, "belay.move_hub");
    PreventCommandIfReadOnly("belay.move_hub");
    pg::lock_name(pg::LockSpace::kHubName, name);
    const store::Hub& hub = distributed_hub(name, "belay.move_hub");
    const auto node = checked_node(host, port);
    if (hub.shards->group == node.group) {
        return;
    }
    on_all_nodes([name, node, mode] {
        const char* library = store::library_of_node(node);
        if (library == nullptr || strcmp(library, BELAY_VERSION) != 0) {
            ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                            errmsg("%s:%d cannot serve hub \"%s\"", node.host, node.port, name),
                            errdetail("It has belay %s, this server " BELAY_VERSION ".",
                                      library == nullptr ? "not preloaded" : library),
                            errhint("Install the same release there, with belay in "
                                    "shared_preload_libraries.")));
        }
        // The type of the mode is in a schema that owners of hubs may not use: no cast to it.
        store::run_once(psprintf("SELECT pg_catalog.citus_schema_move(%s, %s, %d, %s)",
                                 quote_literal_cstr(quote_identifier(name)),
                                 quote_literal_cstr(node.host), node.port,
                                 quote_literal_cstr(mode)));
    });
}

}  // namespace belay::ops
