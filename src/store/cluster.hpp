// The nodes of a Citus cluster, as its coordinator sees them.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::store {

struct Node {
    int32 group;
    const char* host;  // as in pg_dist_node
    int32 port;
};

// The nodes that take shards, in the order in which Citus goes round them, and how many hubs each
// has.
struct ListedNode {
    Node node;
    int64 hubs;
};
std::span<ListedNode> list_nodes();
bool has_nodes();

// A foreign key between a table of the schema and one outside of it; null if there is none.
const char* foreign_key_across(Oid schema);

// The node that takes shards and has this address, in pg_dist_node or in belay.node_addresses.
std::optional<Node> find_node(const char* host, int32 port);
// The one with the fewest hubs. Raises 55000 if there is none.
Node emptiest_node();

// Lets the next schema that is distributed come to that node. Citus goes round its nodes by the
// number of the schema's colocation group, and offers no way to name one.
void choose_next_node(const Node& node);

// The version of belay that a node has loaded at its start; null: none. Inside with_spi.
const char* library_of_node(const Node& node);

// Of a hub that Citus has distributed, on the coordinator; inside with_spi, with Citus at work.
// Citus runs both on the node that has the hub.
// Calls wait from here on, and those that have begun have ended.
void hold_shards_there(const Hub& hub);
// What only that node knows, and drop_hub has to.
struct HubThere {
    int64 live_leases;
    bool adopted;  // the schema was there before the hub, and stays
};
HubThere read_hub_there(const Hub& hub);

}  // namespace belay::store
