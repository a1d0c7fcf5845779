#include "store/hub.hpp"

#include <algorithm>

#include "pg/compat.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

constinit HTAB* hubs = nullptr;
constinit uint64 generation = 1;
constinit bool any_stale = false;
constinit bool any_doomed = false;

extern "C" void belay_relation_changed(Datum, Oid relation) {
    if (hubs == nullptr) {
        return;
    }
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, hubs);
    while (auto* hub = static_cast<Hub*>(hash_seq_search(&scan))) {
        if (!OidIsValid(relation) || relation == hub->relations.belay_hub) {
            hub->stale = true;
            any_stale = true;
            ++generation;
        }
    }
}

extern "C" void belay_schema_changed(Datum, int, uint32) {
    belay_relation_changed(0, InvalidOid);
}

extern "C" void belay_function_changed(Datum, int, uint32) {
    ++generation;
}

// Frees the entries of hubs that are gone. At the end of a transaction nobody uses them any more.
extern "C" void belay_hubs_at_end(XactEvent event, void*) {
    if (!any_doomed || (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT)) {
        return;
    }
    any_doomed = false;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, hubs);
    while (auto* hub = static_cast<Hub*>(hash_seq_search(&scan))) {
        if (hub->doomed) {
            free_plans(hub->plans);
            (void)hash_search(hubs, &hub->schema, HASH_REMOVE, nullptr);
        }
    }
}

void make_table() {
    HASHCTL control{};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(Hub);
    control.hcxt = CacheMemoryContext;
    hubs = hash_create("belay hubs", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

// One column of the hub row, found by name, with the type it has to have.
Datum hub_column(Relation relation, HeapTuple row, const char* name, Oid type, bool* null) {
    const AttrNumber number = get_attnum(RelationGetRelid(relation), name);
    if (number == InvalidAttrNumber || get_atttype(RelationGetRelid(relation), number) != type) {
        ereport(ERROR,
                (errcode(ERRCODE_DATATYPE_MISMATCH),
                 errmsg("column \"%s\" of %s.belay_hub is not of type %s", name,
                        get_namespace_name(RelationGetNamespace(relation)), format_type_be(type))));
    }
    return heap_getattr(row, number, RelationGetDescr(relation), null);
}

Datum required_hub_column(Relation relation, HeapTuple row, const char* name, Oid type) {
    bool null = false;
    const Datum value = hub_column(relation, row, name, type, &null);
    if (null) {
        ereport(ERROR, (errcode(ERRCODE_NOT_NULL_VIOLATION),
                        errmsg("column \"%s\" of %s.belay_hub is null", name,
                               get_namespace_name(RelationGetNamespace(relation)))));
    }
    return value;
}

bool is_adopted(Jsonb* options) {
    JsonbValue found;
    constexpr std::string_view kKey = "adopted";
    return JB_ROOT_IS_OBJECT(options) &&
           getKeyJsonValueFromContainer(&options->root, kKey.data(), static_cast<int>(kKey.size()),
                                        &found) != nullptr &&
           found.type == jbvBool && found.val.boolean;
}

uint8 paused_queues(Jsonb* options) {
    constexpr std::string_view kKey = "paused";
    JsonbValue found;
    if (!JB_ROOT_IS_OBJECT(options) ||
        getKeyJsonValueFromContainer(&options->root, kKey.data(), static_cast<int>(kKey.size()),
                                     &found) == nullptr ||
        found.type != jbvBinary || !JsonContainerIsObject(found.val.binary.data)) {
        return 0;
    }
    uint8 paused = 0;
    for (int i = 0; i < static_cast<int>(Queue::kCount); ++i) {
        JsonbValue reason;
        if (getKeyJsonValueFromContainer(found.val.binary.data, kQueueNames[i],
                                         static_cast<int>(strlen(kQueueNames[i])),
                                         &reason) != nullptr) {
            paused = static_cast<uint8>(paused | (1 << i));
        }
    }
    return paused;
}

// Reads the hub row with the latest snapshot. No code of the hub's owner runs.
void read_row(Relation relation, Hub* hub) {
    const Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, snapshot, 0, nullptr);
    HeapTuple row = systable_getnext(scan);
    if (!HeapTupleIsValid(row)) {
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("table %s.belay_hub is empty", hub->quoted_name),
                        errhint("Restore its row from a dump of the hub.")));
    }
    hub->uuid = *DatumGetUUIDP(required_hub_column(relation, row, "uuid", UUIDOID));
    hub->version = DatumGetInt32(required_hub_column(relation, row, "version", INT4OID));
    hub->incarnation = DatumGetInt32(required_hub_column(relation, row, "incarnation", INT4OID));
    hub->epoch_floor = DatumGetInt64(required_hub_column(relation, row, "epoch_floor", INT8OID));
    hub->mark = *reinterpret_cast<Mark*>(
        DatumGetPointer(required_hub_column(relation, row, "mark", mark_type())));
    const char* api = TextDatumGetCString(required_hub_column(relation, row, "api", TEXTOID));
    hub->api = strcmp(api, "duroxide-pg") == 0 ? Api::kDuroxidePg : Api::kBelay;
    Jsonb* options = DatumGetJsonbP(required_hub_column(relation, row, "options", JSONBOID));
    hub->options = read_options(options);
    hub->adopted = is_adopted(options);
    hub->paused = paused_queues(options);
    systable_endscan(scan);
    UnregisterSnapshot(snapshot);
}

// Those that an older hub does not have stay InvalidOid.
Relations find_relations(Oid schema, Oid belay_hub) {
    return {.belay_hub = belay_hub,
            .worker_queue = get_relname_relid("worker_queue", schema),
            .worker_queue_id = get_relname_relid("worker_queue_id", schema),
            .orchestrator_queue = get_relname_relid("orchestrator_queue", schema),
            .orchestrator_queue_id = get_relname_relid("orchestrator_queue_id", schema),
            .sessions = get_relname_relid("sessions", schema),
            .dead_letters = get_relname_relid("dead_letters", schema),
            .dead_letters_id = get_relname_relid("dead_letters_id", schema)};
}

// Fills the entry from the catalogs and the hub row.
void load(Hub* hub, Oid relation_id) {
    const char* name = get_namespace_name(hub->schema);
    if (hub->plans != nullptr &&
        (strcmp(NameStr(hub->name), name) != 0 || hub->relations.belay_hub != relation_id)) {
        // Kept statements name the schema; after a rename they would be analysed under its old
        // name.
        PlanCache* old = hub->plans;
        hub->plans = nullptr;
        free_plans(old);
    }
    namestrcpy(&hub->name, name);
    strlcpy(hub->quoted_name, quote_identifier(name), sizeof hub->quoted_name);
    hub->stale = true;  // an ERROR below leaves it to be read again
    Relation relation = table_open(relation_id, AccessShareLock);
    hub->owner = relation->rd_rel->relowner;
    hub->relations = find_relations(hub->schema, relation_id);
    read_row(relation, hub);
    table_close(relation, AccessShareLock);
    hub->stale = false;
}

// Marks the entries whose schema is gone, so that a session that makes and drops hubs all day does
// not keep them for ever.
void doom_dropped() {
    if (!any_stale) {
        return;
    }
    any_stale = false;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, hubs);
    while (auto* hub = static_cast<Hub*>(hash_seq_search(&scan))) {
        if (hub->stale && !SearchSysCacheExists1(NAMESPACEOID, ObjectIdGetDatum(hub->schema))) {
            hub->doomed = true;
            any_doomed = true;
        }
    }
}

constexpr Statement kLockHubRow = statement(R"sql(
    SELECT h.incarnation, h.mark
      FROM {hub}.belay_hub AS h
       FOR NO KEY UPDATE
)sql");

constexpr Statement kForgetSessions = statement(R"sql(
    DELETE FROM {hub}.sessions
)sql");

constexpr Statement kNewIncarnation = statement(R"sql(
    UPDATE {hub}.belay_hub
       SET incarnation = incarnation {+} 1,
           uuid = pg_catalog.gen_random_uuid(),
           epoch_floor = epoch_floor {+} 4294967296,
           mark = CAST($1 AS belay.hub_mark)
)sql",
                                                TEXTOID);

}  // namespace

void watch_hubs() {
    CacheRegisterRelcacheCallback(belay_relation_changed, 0);
    CacheRegisterSyscacheCallback(NAMESPACEOID, belay_schema_changed, 0);
    CacheRegisterSyscacheCallback(PROCOID, belay_function_changed, 0);
    RegisterXactCallback(belay_hubs_at_end, nullptr);
    watch_planner();
}

uint64 cache_generation() {
    return generation;
}

Oid hub_relation(Oid schema) {
    const Oid relation = get_relname_relid("belay_hub", schema);
    if (!OidIsValid(relation) || get_rel_relkind(relation) != RELKIND_RELATION) {
        return InvalidOid;
    }
    const AttrNumber mark = get_attnum(relation, "mark");
    const Oid type = mark_type();
    if (mark == InvalidAttrNumber || !OidIsValid(type) || get_atttype(relation, mark) != type) {
        return InvalidOid;
    }
    return relation;
}

const Hub* find_hub(Oid schema) {
    if (hubs == nullptr) {
        make_table();
    }
    auto* hub = static_cast<Hub*>(hash_search(hubs, &schema, HASH_FIND, nullptr));
    if (hub != nullptr && !hub->stale) {
        return hub;
    }
    doom_dropped();
    const Oid relation = hub_relation(schema);
    if (!OidIsValid(relation)) {
        return nullptr;
    }
    if (hub == nullptr) {
        bool found = false;
        hub = static_cast<Hub*>(hash_search(hubs, &schema, HASH_ENTER, &found));
        *hub = Hub{};
        hub->schema = schema;
        hub->stale = true;
    }
    load(hub, relation);
    return hub;
}

const Hub& hub_by_name(const char* name) {
    AcceptInvalidationMessages();
    const Oid schema = get_namespace_oid(name, true);
    const Hub* hub = OidIsValid(schema) ? find_hub(schema) : nullptr;
    if (hub == nullptr) {
        pg::raise(pg::kNotFound, psprintf("hub \"%s\" does not exist", name),
                  pg::Facts("unknown_hub").add("hub", name),
                  "SELECT name FROM belay.hubs lists the hubs of this database.");
    }
    return *hub;
}

const Hub& own_hub_by_name(const char* name) {
    const Hub& hub = hub_by_name(name);
    if (!pg::owns_relation(hub.relations.belay_hub, GetUserId())) {
        pg::raise_not_owner(name);
    }
    return hub;
}

std::span<const Oid> all_hubs() {
    // pg_class has an index on (relname, relnamespace): this visits the hubs, not the catalog.
    Relation classes = table_open(RelationRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_class_relname, BTEqualStrategyNumber, F_NAMEEQ,
                CStringGetDatum("belay_hub"));
    SysScanDesc scan = systable_beginscan(classes, ClassNameNspIndexId, true, nullptr, 1, &key);
    int size = 8;
    int count = 0;
    auto* found = static_cast<Oid*>(palloc(sizeof(Oid) * static_cast<Size>(size)));
    while (HeapTuple row = systable_getnext(scan)) {
        const Oid schema = reinterpret_cast<Form_pg_class>(GETSTRUCT(row))->relnamespace;
        if (OidIsValid(hub_relation(schema))) {
            if (count == size) {
                size *= 2;
                found = static_cast<Oid*>(repalloc(found, sizeof(Oid) * static_cast<Size>(size)));
            }
            found[count++] = schema;
        }
    }
    systable_endscan(scan);
    table_close(classes, AccessShareLock);
    std::sort(found, found + count, [](Oid a, Oid b) {
        return strcmp(get_namespace_name(a), get_namespace_name(b)) < 0;
    });
    return {found, static_cast<std::size_t>(count)};
}

const Hub& settle_incarnation(const Hub& hub, bool force) {
    if (!force && is_current(hub.mark, hub.schema)) [[likely]] {
        return hub;
    }
    pg::as_role(hub.owner, [&hub, force] {
        pg::with_spi(false, [&hub, force] {
            const Rows rows = run(hub, kLockHubRow);
            if (rows.count == 1 && !force &&
                is_current(*reinterpret_cast<Mark*>(DatumGetPointer(rows.datum(0, 2, mark_type()))),
                           hub.schema)) {
                return;  // another transaction began it while we waited
            }
            run(hub, kNewIncarnation, Params().text(print_mark(current_mark(hub.schema))));
            if (OidIsValid(hub.relations.sessions)) {
                run(hub, kForgetSessions);  // a claim on a session is a lease, too
            }
            ereport(LOG, (errmsg("hub \"%s\" begins a new incarnation", NameStr(hub.name))));
        });
    });
    CacheInvalidateRelcacheByRelid(hub.relations.belay_hub);
    CommandCounterIncrement();
    const_cast<Hub&>(hub).stale = true;
    return *find_hub(hub.schema);
}

}  // namespace belay::store
