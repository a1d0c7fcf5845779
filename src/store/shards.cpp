// The catalogs of Citus, as far as they say where a hub is.
//
// May touch: pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_node,
// pg_dist_local_group, read as catalogs are; the hub's sequences. Must not: depend on more of Citus
// than these tables, or need its headers.
#include "store/shards.hpp"

#include <algorithm>

#include "pg/clock.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/locks.hpp"
#include "pg/scopes.hpp"
#include "pg/subtransaction.hpp"
#include "pg/settings.hpp"
#include "store/hub_row.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

Oid catalog(const char* name) {
    return get_relname_relid(name, PG_CATALOG_NAMESPACE);
}

// A column by its name; the columns that are read here are never null.
Datum column_of(HeapTuple row, Relation relation, const char* name) {
    const AttrNumber number = get_attnum(RelationGetRelid(relation), name);
    bool null = number == InvalidAttrNumber;
    const Datum value = null ? 0 : heap_getattr(row, number, RelationGetDescr(relation), &null);
    if (null) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("this version of Citus has another catalog: %s.%s",
                               RelationGetRelationName(relation), name)));
    }
    return value;
}

struct Key {
    const char* column;
    RegProcedure equals;
    Datum value;
};

// Calls visit(row, relation) for the rows of a table of Citus, with that key if there is one, until
// it returns false. Nothing if there is no such table.
template <typename Visit>
void scan_catalog(const char* table, const char* index, const Key* wanted, Visit visit) {
    const Oid id = catalog(table);
    if (!OidIsValid(id)) {
        return;
    }
    Relation relation = table_open(id, AccessShareLock);
    ScanKeyData key;
    const AttrNumber number =
        wanted == nullptr ? InvalidAttrNumber : get_attnum(id, wanted->column);
    if (number != InvalidAttrNumber) {
        ScanKeyInit(&key, number, BTEqualStrategyNumber, wanted->equals, wanted->value);
    }
    const Oid index_id = index == nullptr ? InvalidOid : catalog(index);
    SysScanDesc scan = systable_beginscan(relation, index_id, OidIsValid(index_id), nullptr,
                                          number == InvalidAttrNumber ? 0 : 1,
                                          number == InvalidAttrNumber ? nullptr : &key);
    for (HeapTuple row = systable_getnext(scan); HeapTupleIsValid(row) && visit(row, relation);
         row = systable_getnext(scan)) {
    }
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
}

struct Distributed {
    bool found;
    uint32 colocation;
};

Distributed distribution_of(Oid table) {
    Distributed result{};
    const Key key{"logicalrelid", F_OIDEQ, ObjectIdGetDatum(table)};
    scan_catalog("pg_dist_partition", "pg_dist_partition_logical_relid_index", &key,
                 [&result](HeapTuple row, Relation relation) {
                     const AttrNumber id = get_attnum(RelationGetRelid(relation), "colocationid");
                     // Without it, it is one that only tests have: not served, either.
                     result = {true, id == InvalidAttrNumber
                                         ? 0
                                         : static_cast<uint32>(DatumGetInt32(
                                               column_of(row, relation, "colocationid")))};
                     return false;
                 });
    return result;
}

// The only shard of a table; no value if there are none, or more.
std::optional<int64> only_shard_of(Oid table) {
    std::optional<int64> found;
    int count = 0;
    const Key key{"logicalrelid", F_OIDEQ, ObjectIdGetDatum(table)};
    scan_catalog("pg_dist_shard", "pg_dist_shard_logical_relid_index", &key,
                 [&found, &count](HeapTuple row, Relation relation) {
                     found = DatumGetInt64(column_of(row, relation, "shardid"));
                     return ++count < 2;
                 });
    return count == 1 ? found : std::nullopt;
}

// The group of nodes that has the only active placement of a shard.
std::optional<int32> group_of_shard(int64 shard) {
    constexpr int32 kActive = 1;
    std::optional<int32> found;
    int count = 0;
    const Key key{"shardid", F_INT8EQ, Int64GetDatum(shard)};
    scan_catalog("pg_dist_placement", "pg_dist_placement_shardid_index", &key,
                 [&found, &count](HeapTuple row, Relation relation) {
                     if (DatumGetInt32(column_of(row, relation, "shardstate")) == kActive) {
                         found = DatumGetInt32(column_of(row, relation, "groupid"));
                         ++count;
                     }
                     return true;
                 });
    return count == 1 ? found : std::nullopt;
}

const char* shard_name(const char* name, int64 id) {
    return psprintf("%s_" INT64_FORMAT, name, id);
}

bool is_primary(HeapTuple row, Relation relation) {
    const Datum role = column_of(row, relation, "noderole");
    return strcmp(DatumGetCString(OidFunctionCall1(F_ENUM_OUT, role)), "primary") == 0;
}

// The place that belay.node_addresses gives for "host:port", if it does.
std::optional<Place> translated(const char* node) {
    std::string_view rest(pg::settings.node_addresses == nullptr ? ""
                                                                 : pg::settings.node_addresses);
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        std::string_view entry = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        while (!entry.empty() && entry.front() == ' ') {
            entry.remove_prefix(1);
        }
        while (!entry.empty() && entry.back() == ' ') {
            entry.remove_suffix(1);
        }
        const auto equals = entry.find('=');
        if (equals == std::string_view::npos || entry.substr(0, equals) != node) {
            continue;
        }
        const std::string_view address = entry.substr(equals + 1);
        const auto colon = address.rfind(':');
        const int port =
            colon == std::string_view::npos
                ? 0
                : atoi(pnstrdup(address.data() + colon + 1, address.size() - colon - 1));
        if (port > 0) {
            return Place{pnstrdup(address.data(), colon), port};
        }
    }
    return std::nullopt;
}

}  // namespace

std::size_t size_of(const Shards& shards) {
    return offsetof(Shards, shards) + sizeof(Shard) * static_cast<std::size_t>(shards.count);
}

std::optional<int32> own_group() {
    std::optional<int32> group;
    scan_catalog("pg_dist_local_group", nullptr, nullptr,
                 [&group](HeapTuple row, Relation relation) {
                     group = DatumGetInt32(column_of(row, relation, "groupid"));
                     return false;
                 });
    return group;
}

namespace {

// As nodes reach each other.
std::optional<Place> node_of_group(int32 group) {
    MemoryContext memory = CurrentMemoryContext;
    std::optional<Place> place;
    scan_catalog("pg_dist_node", nullptr, nullptr,
                 [group, memory, &place](HeapTuple row, Relation relation) {
                     if (DatumGetInt32(column_of(row, relation, "groupid")) != group ||
                         !is_primary(row, relation)) {
                         return true;
                     }
                     MemoryContext old = MemoryContextSwitchTo(memory);
                     place = {TextDatumGetCString(column_of(row, relation, "nodename")),
                              DatumGetInt32(column_of(row, relation, "nodeport"))};
                     MemoryContextSwitchTo(old);
                     return false;
                 });
    return place;
}

}  // namespace

std::optional<Place> place_of_group(int32 group) {
    const auto node = node_of_group(group);
    return node ? translated(psprintf("%s:%d", node->host, node->port)).value_or(*node) : node;
}

Distribution find_shards(Oid schema) {
    if (!OidIsValid(catalog("pg_dist_partition"))) [[likely]] {
        return {Spread::kLocal, nullptr};
    }
    const auto relations = hub_relations(Api::kDuroxidePg);
    auto* result =
        static_cast<Shards*>(palloc0(offsetof(Shards, shards) + sizeof(Shard) * relations.size()));
    bool some = false;
    bool all = true;
    bool even = true;
    for (const HubRelation& relation : relations) {
        const Oid shell = relation.kind == RELKIND_RELATION || relation.kind == RELKIND_SEQUENCE
                              ? get_relname_relid(relation.name, schema)
                              : InvalidOid;
        if (!OidIsValid(shell)) {
            continue;
        }
        const Distributed found = distribution_of(shell);
        some = some || found.found;
        if (relation.kind != RELKIND_RELATION) {
            continue;
        }
        all = all && found.found;
        even = even && found.colocation != 0 &&
               (result->count == 0 || found.colocation == result->colocation);
        result->colocation = found.colocation;
        result->shards[result->count++] = {relation.name, 0, shell, InvalidOid};
    }
    if (!some) {
        return {Spread::kLocal, nullptr};
    }
    if (!all || !even) {
        return {Spread::kOdd, nullptr};
    }
    const auto own = own_group();
    for (Shard& shard : std::span(result->shards, static_cast<std::size_t>(result->count))) {
        const auto id = only_shard_of(shard.shell);
        const auto group = id ? group_of_shard(*id) : std::nullopt;
        const bool first = &shard == result->shards;
        if (!group || !own || (!first && *group != result->group)) {
            return {Spread::kOdd, nullptr};
        }
        result->group = *group;
        result->here = *group == *own;
        shard.id = *id;
        if (result->here) {
            shard.relation = get_relname_relid(shard_name(shard.table, shard.id), schema);
        }
    }
    return {Spread::kOneNode, result};
}

std::optional<Place> place_by_citus(Oid schema) {
    const Distribution found = find_shards(schema);
    return found.shards == nullptr || found.shards->here ? std::nullopt
                                                         : place_of_group(found.shards->group);
}

std::optional<Place> node_by_citus(Oid schema) {
    const Distribution found = find_shards(schema);
    return found.shards == nullptr || found.shards->here ? std::nullopt
                                                         : node_of_group(found.shards->group);
}

const Shard* shard_of(const Hub& hub, std::string_view table) {
    if (hub.shards == nullptr) {
        return nullptr;
    }
    for (int i = 0; i < hub.shards->count; ++i) {
        if (table == hub.shards->shards[i].table) {
            return &hub.shards->shards[i];
        }
    }
    return nullptr;
}

Oid relation_named(const Hub& hub, const char* name) {
    const Oid shell = get_relname_relid(name, hub.schema);
    if (hub.shards == nullptr || !hub.shards->here || !OidIsValid(shell)) [[likely]] {
        return shell;
    }
    const bool index = get_rel_relkind(shell) == RELKIND_INDEX;
    const Oid table = index ? IndexGetRelation(shell, true) : shell;
    for (int i = 0; i < hub.shards->count; ++i) {
        const Shard& shard = hub.shards->shards[i];
        if (shard.shell == table) {
            return index ? get_relname_relid(shard_name(name, shard.id), hub.schema)
                         : shard.relation;
        }
    }
    return shell;
}

const char* name_in_hub(const Hub& hub, Oid relation) {
    for (int i = 0; hub.shards != nullptr && i < hub.shards->count; ++i) {
        if (hub.shards->shards[i].relation == relation) {
            return hub.shards->shards[i].table;
        }
    }
    return get_rel_name(relation);
}

// Citus copies the rows of a schema that it distributes, and leaves them on the coordinator too.
void refuse_unadopted(const Hub& hub) {
    const Shard* shard = shard_of(hub, "belay_hub");
    Relation shell = shard == nullptr ? nullptr : try_table_open(shard->shell, AccessShareLock);
    if (shell == nullptr) {
        return;
    }
    const bool left = RelationGetNumberOfBlocks(shell) > 0;
    table_close(shell, AccessShareLock);
    if (left) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("hub \"%s\" was distributed without belay", NameStr(hub.name)),
                        errdetail("Its functions are not on the other nodes."),
                        errhint("Call belay.adopt_distribution(%s).",
                                quote_literal_cstr(NameStr(hub.name)))));
    }
}

bool is_index_named(const Hub& hub, std::string_view table, Relation index, const char* name) {
    const char* found = RelationGetRelationName(index);
    if (hub.shards == nullptr) [[likely]] {
        return strcmp(found, name) == 0;
    }
    const Shard* shard = shard_of(hub, table);
    return strcmp(found, shard == nullptr ? name : shard_name(name, shard->id)) == 0;
}

namespace {

// What pg_class says of a relation. No lock: a view of all hubs must not wait for one whose tables
// Citus is about to drop.
struct Pages {
    int64 count;
    Oid toast;
};
std::optional<Pages> pages_of(Oid relation) {
    HeapTuple row = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
    if (!HeapTupleIsValid(row)) {
        return std::nullopt;
    }
    const auto* found = reinterpret_cast<Form_pg_class>(GETSTRUCT(row));
    const Pages pages{found->relpages, found->reltoastrelid};
    ReleaseSysCache(row);
    return pages;
}

int64 index_pages_of(Oid table) {
    int64 count = 0;
    Relation indexes = table_open(IndexRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_index_indrelid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(table));
    SysScanDesc scan = systable_beginscan(indexes, IndexIndrelidIndexId, true, nullptr, 1, &key);
    while (HeapTuple row = systable_getnext(scan)) {
        const auto* found = reinterpret_cast<Form_pg_index>(GETSTRUCT(row));
        count += pages_of(found->indexrelid).value_or(Pages{}).count;
    }
    systable_endscan(scan);
    table_close(indexes, AccessShareLock);
    return count;
}

// Nothing of a table that has been dropped meanwhile.
std::optional<ShardSize> size_of_shard(Oid schema, const Shard& shard) {
    const auto own = pages_of(shard.relation);
    if (!own) {
        return std::nullopt;
    }
    return ShardSize{
        schema, shard.shell, shard.relation, own->toast,
        own->count + pages_of(own->toast).value_or(Pages{}).count + index_pages_of(shard.relation)};
}

}  // namespace

std::span<const ShardSize> shard_sizes() {
    pg::List<ShardSize> sizes;
    if (!OidIsValid(catalog("pg_dist_partition"))) {
        return {};
    }
    for (const Oid schema : all_hubs()) {
        const Distribution found = find_shards(schema);
        for (int i = 0; found.shards != nullptr && found.shards->here && i < found.shards->count;
             ++i) {
            if (const auto size = size_of_shard(schema, found.shards->shards[i])) {
                sizes.add(*size);
            }
        }
    }
    return sizes.span();
}

void make_sequences(const Hub& hub) {
    AcceptInvalidationMessages();  // another session may have made them before it let us continue
    const int level = NewGUCNestLevel();
    (void)set_config_option("citus.enable_ddl_propagation", "off", PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_SAVE, true, 0, false);
    for (const HubRelation& relation : hub_relations(hub.api)) {
        if (relation.kind == RELKIND_SEQUENCE &&
            !OidIsValid(get_relname_relid(relation.name, hub.schema))) {
            // The hub file says the same; a test compares them.
            const bool small = strcmp(relation.name, "capability_sets_id") == 0;
            run_once(psprintf("CREATE SEQUENCE %s.%s AS pg_catalog.%s CACHE 1", hub.quoted_name,
                              relation.name, small ? "int4" : "int8"));
        }
    }
    AtEOXact_GUC(false, level);
}

// ---------------------------------------------------------------- the lock on the place

namespace {

// Whether this version of Citus takes the lock that belay takes.
constinit bool lock_is_known = false;

// Asks Citus' own function for the lock, and looks whether it is the one.
void check_lock(const Hub& hub) {
    const Oid types[] = {INT4OID, INT8ARRAYOID};
    const Oid function =
        GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("lock_shard_metadata"),
                        PointerGetDatum(buildoidvector(types, lengthof(types))),
                        ObjectIdGetDatum(PG_CATALOG_NAMESPACE));
    if (OidIsValid(function)) {
        Datum id = Int64GetDatum(hub.shards->shards[0].id);
        ArrayType* ids =
            construct_array(&id, 1, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
        pg::as_role(hub.owner, [function, ids] {
            (void)OidFunctionCall2(function, Int32GetDatum(ShareLock), PointerGetDatum(ids));
        });
    }
    if (!pg::holds_placements(hub.shards->colocation)) {
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("this version of Citus locks shards in another way"),
                        errhint("Make the hub local with belay.undistribute_hub.")));
    }
    lock_is_known = true;
}

// False: to find it out would mean to wait.
bool is_lock_known(const Hub& hub, bool wait) {
    if (!lock_is_known) [[unlikely]] {
        if (!wait && !pg::are_placements_free(hub.shards->colocation)) {
            return false;
        }
        check_lock(hub);
    }
    return true;
}

}  // namespace

bool hold_shards(const Hub& hub, bool wait) {
    while (hub.shards != nullptr) {
        const uint32 colocation = hub.shards->colocation;
        if (!is_lock_known(hub, wait) || !pg::hold_placements(colocation, wait)) {
            return false;
        }
        // What a move has changed is seen from here on.
        AcceptInvalidationMessages();
        refresh_hub(hub);
        if (hub.shards != nullptr && hub.shards->colocation == colocation) [[likely]] {
            return true;
        }
    }
    return true;
}

bool lock_shards(const Hub& hub) {
    return is_lock_known(hub, false) && pg::hold_placements(hub.shards->colocation, false);
}

bool holds_shards(const Hub& hub) {
    return pg::holds_placements(hub.shards->colocation);
}

namespace {

constexpr int64 kPollMs = 2;

// Whether take() comes to succeed within that time. It must not wait.
template <typename Take>
bool poll_for(int64 limit_ms, Take take) {
    for (const int64 end = pg::monotonic_ms() + limit_ms;;) {
        if (take()) {
            return true;
        }
        if (pg::monotonic_ms() >= end) {
            return false;
        }
        CHECK_FOR_INTERRUPTS();
        pg_usleep(kPollMs * 1000);
    }
}

// All or nothing. Calls that have begun to write and wait for other tables cannot continue while
// the lock on the place is held: so not for long.
bool try_hold_shards(const Hub& hub) {
    constexpr int64 kPatienceMs = 200;
    const uint32 colocation = hub.shards->colocation;
    if (!poll_for(kPatienceMs,
                  [colocation] { return pg::hold_placements_alone(colocation, false); })) {
        // Others hold it by turns.
        (void)pg::hold_placements_alone(colocation, true);
    }
    for (const Shard& shard :
         std::span(hub.shards->shards, static_cast<std::size_t>(hub.shards->count))) {
        if (!poll_for(kPatienceMs, [&shard] {
                return ConditionalLockRelationOid(shard.relation, AccessExclusiveLock);
            })) {
            return false;
        }
    }
    return true;
}

}  // namespace

void hold_shards_alone(const Hub& hub) {
    constexpr int64 kPauseMs = 50;
    constexpr int64 kLimitMs = 30000;
    if (hub.shards == nullptr || !hub.shards->here) {
        raise_elsewhere(NameStr(hub.name));
    }
    const int64 end = pg::monotonic_ms() + kLimitMs;
    while (!pg::keep_if([&hub] { return try_hold_shards(hub); })) {
        if (pg::monotonic_ms() >= end) {
            ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                            errmsg("hub \"%s\" is in use", NameStr(hub.name)),
                            errhint("Call again when transactions that use it have ended.")));
        }
        pg_usleep(kPauseMs * 1000);
    }
}

}  // namespace belay::store
