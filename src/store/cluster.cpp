// Nodes of Citus.
//
// May touch: pg_dist_node and the tables that say what is where; the sequence of colocation groups.
// Must not: change what Citus has written.
#include "store/cluster.hpp"

#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "pg/scopes.hpp"
#include "pg/subtransaction.hpp"
#include "store/plan.hpp"
#include "store/shards.hpp"

namespace belay::store {

namespace {

constexpr const char* kNodes = R"sql(
    SELECT n.groupid, n.nodename, n.nodeport,
           (SELECT pg_catalog.count(*)
              FROM pg_catalog.pg_dist_placement AS p
              JOIN pg_catalog.pg_dist_shard AS s ON s.shardid OPERATOR(pg_catalog.=) p.shardid
              JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) s.logicalrelid
             WHERE p.groupid OPERATOR(pg_catalog.=) n.groupid
               AND c.relname OPERATOR(pg_catalog.=) 'belay_hub')
      FROM pg_catalog.pg_dist_node AS n
     WHERE n.noderole OPERATOR(pg_catalog.=) 'primary' AND n.isactive AND n.shouldhaveshards
     ORDER BY n.nodename COLLATE "C", n.nodeport
)sql";

Datum column(uint64 row, int number) {
    bool null = false;
    return heap_getattr(SPI_tuptable->vals[row], number, SPI_tuptable->tupdesc, &null);
}

constexpr const char* kForeignKeys = R"sql(
    SELECT pg_catalog.quote_ident(k.conname)
      FROM pg_catalog.pg_constraint AS k
      JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) k.conrelid
      JOIN pg_catalog.pg_class AS r ON r.oid OPERATOR(pg_catalog.=) k.confrelid
     WHERE k.contype OPERATOR(pg_catalog.=) 'f'
       AND (c.relnamespace OPERATOR(pg_catalog.=) $1)
           OPERATOR(pg_catalog.<>) (r.relnamespace OPERATOR(pg_catalog.=) $1)
     ORDER BY 1
     LIMIT 1
)sql";

}  // namespace

std::span<ListedNode> list_nodes() {
    MemoryContext memory = CurrentMemoryContext;
    return pg::with_spi([memory] {
        pg::pass_store_faults();
        if (SPI_execute(kNodes, true, 0) != SPI_OK_SELECT) {
            elog(ERROR, "could not list the nodes of Citus");
        }
        auto* listed = static_cast<ListedNode*>(
            MemoryContextAlloc(memory, sizeof(ListedNode) * (SPI_processed + 1)));
        for (uint64 i = 0; i < SPI_processed; ++i) {
            MemoryContext old = MemoryContextSwitchTo(memory);
            listed[i] = {{DatumGetInt32(column(i, 1)), TextDatumGetCString(column(i, 2)),
                          DatumGetInt32(column(i, 3))},
                         DatumGetInt64(column(i, 4))};
            MemoryContextSwitchTo(old);
        }
        return std::span<ListedNode>(listed, static_cast<std::size_t>(SPI_processed));
    });
}

bool has_nodes() {
    return !list_nodes().empty();
}

const char* foreign_key_across(Oid schema) {
    MemoryContext memory = CurrentMemoryContext;
    return pg::with_spi([schema, memory] {
        pg::pass_store_faults();
        Oid types[] = {OIDOID};
        Datum values[] = {ObjectIdGetDatum(schema)};
        const int result =
            SPI_execute_with_args(kForeignKeys, lengthof(types), types, values, nullptr, true, 1);
        if (result != SPI_OK_SELECT) {
            elog(ERROR, "could not look for foreign keys: %s", SPI_result_code_string(result));
        }
        return SPI_processed == 0
                   ? nullptr
                   : MemoryContextStrdup(
                         memory, SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1));
    });
}

std::optional<Node> find_node(const char* host, int32 port) {
    const auto nodes = list_nodes();
    for (const ListedNode& listed : nodes) {
        if (strcmp(listed.node.host, host) == 0 && listed.node.port == port) {
            return listed.node;
        }
    }
    for (const ListedNode& listed : nodes) {
        const auto place = place_of_group(listed.node.group);
        if (place && strcmp(place->host, host) == 0 && place->port == port) {
            return listed.node;
        }
    }
    return std::nullopt;
}

Node emptiest_node() {
    const ListedNode* best = nullptr;
    for (const ListedNode& listed : list_nodes()) {
        if (best == nullptr || listed.hubs < best->hubs) {
            best = &listed;
        }
    }
    if (best == nullptr) {
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("no node of Citus takes shards"), errhint("Add one with citus_add_node.")));
    }
    return best->node;
}

void choose_next_node(const Node& node) {
    const auto all = list_nodes();
    std::size_t index = 0;
    while (index < all.size() && all[index].node.group != node.group) {
        ++index;
    }
    const Oid sequence = get_relname_relid("pg_dist_colocationid_seq", PG_CATALOG_NAMESPACE);
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(sequence));
    if (!HeapTupleIsValid(row) || index == all.size()) {
        return;
    }
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(row))->relowner;
    ReleaseSysCache(row);
    // The number after this one is the next group's.
    pg::as_role(owner, [sequence, index, &all] {
        const auto count = all.size();
        std::size_t number = 0;
        do {
            number = static_cast<std::size_t>(nextval_internal(sequence, false));
        } while ((number + 1) % count != index);
    });
}

const char* library_of_node(const Node& node) {
    pg::pass_store_faults();
    Oid types[] = {INT4OID};
    Datum values[] = {Int32GetDatum(node.group)};
    const int result = SPI_execute_with_args(
        "SELECT r.result FROM pg_catalog.run_command_on_all_nodes($$SELECT belay.version() WHERE "
        "EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name = 'belay.counter_slots')$$) AS r "
        "JOIN pg_catalog.pg_dist_node AS n ON n.nodeid OPERATOR(pg_catalog.=) r.nodeid "
        "WHERE r.success AND n.groupid OPERATOR(pg_catalog.=) $1",
        lengthof(types), types, values, nullptr, true, 0);
    if (result != SPI_OK_SELECT) {
        elog(ERROR, "could not ask a node of Citus: %s", SPI_result_code_string(result));
    }
    const char* version = SPI_processed == 0
                              ? nullptr
                              : SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
    return version != nullptr && *version == '\0' ? nullptr : version;
}

void hold_shards_there(const Hub& hub) {
    // In a subtransaction, because Citus opens a transaction on the node for a SELECT only in what
    // looks like a transaction block to it; without one the locks would be gone at once.
    (void)pg::keep_if([&hub] {
        run_once(psprintf("SELECT belay.hold_shards(%s) FROM %s.belay_hub",
                          quote_literal_cstr(NameStr(hub.name)), hub.quoted_name));
        return true;
    });
}

HubThere read_hub_there(const Hub& hub) {
    pg::pass_store_faults();
    const char* sql = psprintf(
        "SELECT belay.live_leases(%s), "
        "h.options OPERATOR(pg_catalog.@>) '{\"adopted\": true}'::pg_catalog.jsonb "
        "FROM %s.belay_hub AS h",
        quote_literal_cstr(NameStr(hub.name)), hub.quoted_name);
    const int result = SPI_execute(sql, false, 0);
    if (result != SPI_OK_SELECT || SPI_processed != 1) {
        elog(ERROR, "could not read the row of hub \"%s\" on its node: %s", NameStr(hub.name),
             SPI_result_code_string(result));
    }
    return {DatumGetInt64(column(0, 1)), DatumGetBool(column(0, 2))};
}

}  // namespace belay::store
