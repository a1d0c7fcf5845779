// Where Citus keeps the tables of a hub: on which node, and under which names there.
//
// On the node that has it, a hub is served from its shards: ordinary tables beside the empty ones
// that have the hub's names ("shells").
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/places.hpp"

namespace belay::store {

struct Shard {
    const char* table;  // of the hub
    int64 id;           // the suffix of the names of its shard
    Oid shell;
    Oid relation;  // on this node; invalid elsewhere
};

struct Shards {
    uint32 colocation;  // Citus' number for the tables of the schema
    int32 group;        // of nodes: a primary and its standbys
    bool here;
    int count;
    Shard shards[];
};

// How the tables of a schema are distributed: not at all, all of them to one node by schema, or in
// another way, which is not served.
enum class Spread { kLocal, kOneNode, kOdd };
struct Distribution {
    Spread spread;
    const Shards* shards;  // if they are on one node; in the current memory context
};
Distribution find_shards(Oid schema);
std::size_t size_of(const Shards& shards);

// The place of a node, as clients see it. No value if Citus does not know it.
std::optional<Place> place_of_group(int32 group);
// The group of this node, 0 for the coordinator; no value without Citus.
std::optional<int32> own_group();

// Where a hub of this database is that Citus has on another node. No value: here, or local.
std::optional<Place> place_by_citus(Oid schema);
// The same as nodes reach each other.
std::optional<Place> node_by_citus(Oid schema);

// Raises 55000 on the coordinator for a hub that was distributed by Citus' own function.
void refuse_unadopted(const Hub& hub);

// The shard of a table; null if the hub is local, or has no such table.
const Shard* shard_of(const Hub& hub, std::string_view table);
// The table, index, view or sequence that serves under this name.
Oid relation_named(const Hub& hub, const char* name);
// The name under which a relation of the hub is known in the hub's files.
const char* name_in_hub(const Hub& hub, Oid relation);
// The same for the index of a table.
bool is_index_named(const Hub& hub, std::string_view table, Relation index, const char* name);

// What a table of a hub takes on this node.
struct ShardSize {
    Oid schema;
    Oid shell;
    Oid relation;
    Oid toast;    // invalid: it has none
    int64 pages;  // with indexes and toast, as of the last VACUUM, ANALYZE or index build
};
// The shards of all hubs that this node has from Citus.
std::span<const ShardSize> shard_sizes();

// Holds the hub, which this node has, against calls that write and those that read, for the
// transaction. Citus takes all sessions of a node for one when it looks for deadlocks: it would
// cancel a transaction that waits for one of them while another waits for the transaction. So this
// waits for tables without standing in the way of others, for up to half a minute. Raises 55P03.
void hold_shards_alone(const Hub& hub);

// Makes the sequences that the hub lacks on this node: Citus moves rows only. Inside with_spi, as
// the hub's owner.
void make_sequences(const Hub& hub);

}  // namespace belay::store
