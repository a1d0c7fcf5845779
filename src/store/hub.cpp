// The cache of hubs: filled from the catalogs and the hub's row, dropped by invalidations.
//
// Touches  <hub>.belay_hub, the catalogs, memory of the session
// Locks    belay_hub while it is read; the hub row when an incarnation begins
// Must not run code of the hub's owner, or free an entry that the transaction may still use
#include "store/hub.hpp"

#include <algorithm>

#include "pg/compat.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/scopes.hpp"
#include "store/hub_row.hpp"
#include "store/index_plans.hpp"
#include "store/places.hpp"
#include "store/sequences.hpp"
#include "store/shards.hpp"
#include "store/statements.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constinit HTAB* hubs = nullptr;
constinit uint64 generation = 1;
constinit uint64 invalidations = 0;
constinit bool any_stale = false;
constinit bool any_doomed = false;

bool watches(const Hub& hub, Oid relation) {
    for (int i = 0; i < hub.watched_count; ++i) {
        if (hub.watched[i] == relation) {
            return true;
        }
    }
    return false;
}

extern "C" void belay_relation_changed(Datum, Oid relation) {
    ++invalidations;
    if (hubs == nullptr) {
        return;
    }
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, hubs);
    while (auto* hub = static_cast<Hub*>(hash_seq_search(&scan))) {
        if (!OidIsValid(relation) || watches(*hub, relation)) {
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

// Puts a copy of them into the entry.
void replace_shards(Hub* hub, const Shards* shards) {
    const Shards* old = hub->shards;
    hub->shards = nullptr;
    if (shards != nullptr) {
        void* copy = MemoryContextAlloc(CacheMemoryContext, size_of(*shards));
        hub->shards = static_cast<const Shards*>(memcpy(copy, shards, size_of(*shards)));
    }
    if (old != nullptr) {
        pfree(const_cast<Shards*>(old));
    }
}

// Frees the entries of hubs that are gone. At the end of a transaction they are not in use any
// more.
void at_end(pg::Ending) {
    free_doomed_plans();
    if (!any_doomed) {
        return;
    }
    any_doomed = false;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, hubs);
    while (auto* hub = static_cast<Hub*>(hash_seq_search(&scan))) {
        if (hub->doomed) {
            free_plans(hub->plans);
            if (hub->name_pins != nullptr) {
                pfree(hub->name_pins);
            }
            if (hub->limited_queues != nullptr) {
                pfree(hub->limited_queues);
            }
            replace_shards(hub, nullptr);
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

// One column of the hub row, found by name, with the type it has to have. No value if it is not
// there: the owner can alter the table.
std::optional<Datum> hub_column(Relation relation, HeapTuple row, const char* name, Oid type) {
    const TupleDesc columns = RelationGetDescr(relation);
    for (int i = 0; i < columns->natts; ++i) {
        const FormData_pg_attribute* column = TupleDescAttr(columns, i);
        if (!column->attisdropped && strcmp(NameStr(column->attname), name) == 0) {
            bool null = false;
            const Datum value = heap_getattr(row, column->attnum, columns, &null);
            return null || column->atttypid != type ? std::nullopt : std::optional(value);
        }
    }
    return std::nullopt;
}

bool is_adopted(Jsonb* options) {
    JsonbValue found;
    constexpr std::string_view kKey = "adopted";
    return JB_ROOT_IS_OBJECT(options) &&
           getKeyJsonValueFromContainer(&options->root, kKey.data(), static_cast<int>(kKey.size()),
                                        &found) != nullptr &&
           found.type == jbvBool && found.val.boolean;
}

// The queues that have limits, in the form of Hub.
char* limited_queues(Jsonb* options) {
    constexpr std::string_view kKey = "limited_queues";
    JsonbValue found;
    if (!JB_ROOT_IS_OBJECT(options) ||
        getKeyJsonValueFromContainer(&options->root, kKey.data(), static_cast<int>(kKey.size()),
                                     &found) == nullptr ||
        found.type != jbvBinary || !JsonContainerIsArray(found.val.binary.data)) {
        return nullptr;
    }
    const uint32 count = JsonContainerSize(found.val.binary.data);
    StringInfoData names;
    initStringInfo(&names);
    for (uint32 i = 0; i < count; ++i) {
        const JsonbValue* name = getIthJsonbValueFromContainer(found.val.binary.data, i);
        if (name != nullptr && name->type == jbvString) {
            appendStringInfoChar(&names, '\n');
            appendBinaryStringInfo(&names, name->val.string.val, name->val.string.len);
        }
    }
    appendStringInfoChar(&names, '\n');
    return count == 0 ? nullptr : MemoryContextStrdup(CacheMemoryContext, names.data);
}

// The text of that option, if it has a good one.
char* name_pins(Jsonb* stored, const Options& options) {
    const auto text = stored_option(stored, Option::kNamePins);
    return options[Option::kNamePins] == kOff || !text
               ? nullptr
               : MemoryContextStrdup(CacheMemoryContext, pg::c_string(*text));
}

// Puts a text that lives with the hub in the place of another one.
void replace_text(char** place, char* text) {
    std::swap(*place, text);
    if (text != nullptr) {
        pfree(text);
    }
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

// Lends body the hub row, read with the latest snapshot. No code of the hub's owner runs, and the
// caller's snapshot does not matter. False if there is no row or body refuses it.
template <pg::JumpSafe Body>
bool with_row(Relation relation, Body body) {
    const Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
    SysScanDesc scan = systable_beginscan(relation, InvalidOid, false, snapshot, 0, nullptr);
    HeapTuple row = systable_getnext(scan);
    const bool good = HeapTupleIsValid(row) && body(row);
    systable_endscan(scan);
    UnregisterSnapshot(snapshot);
    return good;
}

// Fills the hub from its row, except the texts that live with the entry. Returns its options; null:
// the row is not as it has to be.
Jsonb* read_columns(Relation relation, HeapTuple row, Hub* hub) {
    const auto column = [relation, row](const char* name, Oid type) {
        return hub_column(relation, row, name, type);
    };
    const auto uuid = column("uuid", UUIDOID);
    const auto version = column("version", INT4OID);
    const auto incarnation = column("incarnation", INT4OID);
    const auto epoch_floor = column("epoch_floor", INT8OID);
    const auto mark = column("mark", mark_type());
    const auto api = column("api", TEXTOID);
    const auto options = column("options", JSONBOID);
    if (!uuid || !version || !incarnation || !epoch_floor || !mark || !api || !options) {
        return nullptr;
    }
    hub->uuid = *DatumGetUUIDP(*uuid);
    hub->version = DatumGetInt32(*version);
    hub->incarnation = DatumGetInt32(*incarnation);
    hub->epoch_floor = DatumGetInt64(*epoch_floor);
    hub->mark = *reinterpret_cast<Mark*>(DatumGetPointer(*mark));
    hub->api = parse_api(pg::text_view(*api)).value_or(Api::kBelay);
    Jsonb* stored = DatumGetJsonbP(*options);
    hub->options = read_options(stored);
    hub->adopted = is_adopted(stored);
    hub->paused = paused_queues(stored);
    return stored;
}

bool read_row(Relation relation, Hub* hub) {
    return with_row(relation, [relation, hub](HeapTuple row) {
        Jsonb* stored = read_columns(relation, row, hub);
        if (stored == nullptr) {
            return false;
        }
        replace_text(&hub->limited_queues, limited_queues(stored));
        replace_text(&hub->name_pins, name_pins(stored, hub->options));
        return true;
    });
}

// Those that the owner has dropped are InvalidOid: what opens them refuses, and check_hub lists
// them.
Relations find_relations(const Hub& hub) {
    const auto named = [&hub](const char* name) { return relation_named(hub, name); };
    return {.belay_hub = named("belay_hub"),
            .worker_queue = named("worker_queue"),
            .worker_queue_id = named("worker_queue_id"),
            .orchestrator_queue = named("orchestrator_queue"),
            .orchestrator_queue_id = named("orchestrator_queue_id"),
            .sessions = named("sessions"),
            .dead_letters = named("dead_letters"),
            .dead_letters_id = named("dead_letters_id"),
            .instance_locks = named("instance_locks"),
            .instance_locks_no = named("instance_locks_no"),
            .instances = named("instances"),
            .executions = named("executions"),
            .history_turns = named("history_turns"),
            .kv_store = named("kv_store"),
            .kv_delta = named("kv_delta"),
            .outbox_events = named("outbox_events"),
            .outbox_events_position = named("outbox_events_position"),
            .outbox_subscriptions = named("outbox_subscriptions"),
            .slot_owners = named("slot_owners"),
            .intent_queue = named("intent_queue"),
            .intent_queue_id = named("intent_queue_id"),
            .intents_received = named("intents_received"),
            .intent_links = named("intent_links"),
            .tasks = named("tasks"),
            .attempts = named("attempts"),
            .queues = named("queues"),
            .capability_sets = named("capability_sets"),
            .capability_sets_id = named("capability_sets_id"),
            .dedup_keys = named("dedup_keys"),
            .flows = named("flows"),
            .suspensions = named("suspensions"),
            .queue_limits = named("queue_limits")};
}

// All tables and sequences of the hub, not only those that the store needs by oid: an extension
// such as Citus can take over any of them.
void watch_relations(Hub* hub) {
    hub->watched_count = 0;
    for (const HubRelation& relation : hub_relations(Api::kDuroxidePg)) {
        const Oid id = relation.kind == RELKIND_RELATION || relation.kind == RELKIND_SEQUENCE
                           ? get_relname_relid(relation.name, hub->schema)
                           : InvalidOid;
        if (OidIsValid(id)) {
            hub->watched[hub->watched_count++] = id;
        }
    }
    for (int i = 0; hub->shards != nullptr && i < hub->shards->count; ++i) {
        if (OidIsValid(hub->shards->shards[i].relation)) {
            hub->watched[hub->watched_count++] = hub->shards->shards[i].relation;
        }
    }
}

// Where the hub row is: in the shard, if this node has it.
Oid home_of_row(Oid relation_id, const Shards* shards) {
    for (int i = 0; shards != nullptr && shards->here && i < shards->count; ++i) {
        if (shards->shards[i].shell == relation_id) {
            return shards->shards[i].relation;
        }
    }
    return relation_id;
}

// Fills the entry from the catalogs and the hub row. False if the hub is gone or cannot be read.
bool load(Hub* hub, Oid relation_id, const Shards* shards) {
    hub->stale = true;
    const Oid home = home_of_row(relation_id, shards);
    Relation relation = OidIsValid(home) ? try_table_open(home, AccessShareLock) : nullptr;
    if (relation == nullptr) {
        return false;
    }
    const uint64 before = invalidations;
    const char* name = get_namespace_name(hub->schema);
    bool good = false;
    if (name != nullptr) {
        if (hub->plans != nullptr &&
            (strcmp(NameStr(hub->name), name) != 0 || hub->relations.belay_hub != home)) {
            // Kept statements name the schema, or shards; after a rename they would be analysed
            // under the old name. An outer call may be running one: they are freed when the
            // transaction ends.
            doom_plans(hub->plans);
            hub->plans = nullptr;
        }
        namestrcpy(&hub->name, name);
        strlcpy(hub->quoted_name, quote_identifier(name), sizeof hub->quoted_name);
        hub->owner = relation->rd_rel->relowner;
        replace_shards(hub, shards);
        hub->relations = find_relations(*hub);
        watch_relations(hub);
        std::fill_n(hub->tables, std::size(hub->tables), TableState{});
        hub->elsewhere = place_of(name).has_value();
        // Another node's row cannot be seen from here.
        if (shards != nullptr && !shards->here) {
            const bool duroxide =
                OidIsValid(get_relname_relid("_duroxide_migrations", hub->schema));
            hub->api = duroxide ? Api::kDuroxidePg : Api::kBelay;
            good = true;
        } else {
            good = read_row(relation, hub);
        }
        // What has changed while it was read may be missing: it is read again by the next call, or
        // when this one has its locks.
        hub->stale = !good || invalidations != before;
    }
    table_close(relation, AccessShareLock);
    return good;
}

// Marks the entries whose schema is gone, so that a session that makes and drops hubs all day does
// not keep them until it ends.
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

constexpr auto kLockHubRow = statement<In<>, Out<int32, Text>>(R"sql(
    SELECT h.incarnation, CAST(h.mark AS pg_catalog.text)
      FROM {hub}.belay_hub AS h
       FOR NO KEY UPDATE
)sql");

constexpr auto kNewIncarnation = statement<In<Text>, Out<>>(R"sql(
    UPDATE {hub}.belay_hub
       SET incarnation = incarnation {+} 1,
           uuid = pg_catalog.gen_random_uuid(),
           epoch_floor = epoch_floor {+} 70368744177664,
           mark = CAST($1 AS belay.hub_mark)
)sql");

}  // namespace

constinit const pg::Participant kHubParticipant{
    .before_end = nullptr,
    .at_end = at_end,
    .at_subtransaction_end = nullptr,
    .after_locks = nullptr,
};

void watch_hubs() {
    CacheRegisterRelcacheCallback(belay_relation_changed, 0);
    CacheRegisterSyscacheCallback(NAMESPACEOID, belay_schema_changed, 0);
    CacheRegisterSyscacheCallback(PROCOID, belay_function_changed, 0);
    keep_plans_on_indexes();
}

int32 live_incarnation(const Hub& hub) {
    constexpr int32 kNone = -1;
    return RecoveryInProgress() || is_current(hub.mark, hub.schema) ? hub.incarnation : kNone;
}

uint64 cache_generation() {
    return generation;
}

Oid hub_relation(Oid schema) {
    const Oid relation = get_relname_relid("belay_hub", schema);
    if (!OidIsValid(relation) || get_rel_relkind(relation) != RELKIND_RELATION ||
        get_rel_persistence(relation) == RELPERSISTENCE_TEMP) {
        return InvalidOid;
    }
    const AttrNumber mark = get_attnum(relation, "mark");
    const Oid type = mark_type();
    if (mark == InvalidAttrNumber || !OidIsValid(type) || get_atttype(relation, mark) != type) {
        return InvalidOid;
    }
    return relation;
}

namespace {

[[noreturn]] void raise_odd(Oid schema) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("hub \"%s\" was distributed without belay", get_namespace_name(schema)),
             errdetail("Its tables are not all on one node, as tables of a distributed schema."),
             errhint("Undo what was distributed, and call belay.distribute_hub.")));
}

// The hub as it is now, served here or not.
const Hub* read_hub(Oid schema, bool lenient) {
    auto* hub = static_cast<Hub*>(hash_search(hubs, &schema, HASH_FIND, nullptr));
    if (hub != nullptr && !hub->stale) {
        return hub;
    }
    doom_dropped();
    for (bool waited = false;; waited = true) {
        const Oid relation = hub_relation(schema);
        if (!OidIsValid(relation)) {
            return nullptr;
        }
        const Distribution distribution = find_shards(schema);
        if (distribution.spread == Spread::kOdd) {
            if (lenient) {
                return nullptr;
            }
            raise_odd(schema);
        }
        if (hub == nullptr) {
            bool found = false;
            hub = static_cast<Hub*>(hash_search(hubs, &schema, HASH_ENTER, &found));
            *hub = Hub{};
            hub->schema = schema;
            hub->stale = true;
        }
        if (load(hub, relation, distribution.shards)) {
            return hub;
        }
        if (waited) {
            break;
        }
        // Where its tables are may have changed while this call waited for one of them. Citus drops
        // shards in one transaction and shells in another: that one must have ended, too.
        LockRelationOid(relation, AccessShareLock);
        UnlockRelationOid(relation, AccessShareLock);
    }
    if (!lenient && OidIsValid(hub_relation(schema))) {
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("the row of table %s.belay_hub cannot be read", hub->quoted_name),
                 errdetail("The row is missing, or a column is missing, null or of another type."),
                 errhint("Restore the table from a dump of the hub.")));
    }
    return nullptr;
}

const Hub* served(const Hub* hub, bool lenient) {
    if (hub == nullptr || !hub->elsewhere) {
        return hub;
    }
    if (!lenient) {
        refuse_unadopted(*hub);
        raise_elsewhere(NameStr(hub->name));
    }
    return nullptr;
}

}  // namespace

const Hub* find_hub(Oid schema, bool lenient) {
    if (hubs == nullptr) {
        make_table();
    }
    const auto* hub = static_cast<const Hub*>(hash_search(hubs, &schema, HASH_FIND, nullptr));
    if (hub != nullptr && !hub->stale && !hub->elsewhere) [[likely]] {
        return hub;
    }
    return served(read_hub(schema, lenient), lenient);
}

const Hub* find_hub_left_here(Oid schema) {
    if (hubs == nullptr) {
        make_table();
    }
    return read_hub(schema, true);
}

void check_is_here(const Hub& hub) {
    // One that was elsewhere before is used on purpose.
    if (hub.stale && !hub.elsewhere && place_of(NameStr(hub.name))) {
        raise_elsewhere(NameStr(hub.name));
    }
}

void free_brief_plans(Oid schema) {
    if (hubs == nullptr) {
        return;
    }
    if (auto* hub = static_cast<Hub*>(hash_search(hubs, &schema, HASH_FIND, nullptr))) {
        free_brief_plans(hub->plans);
    }
}

void free_all_plans() {
    if (hubs == nullptr) {
        return;
    }
    HASH_SEQ_STATUS all;
    hash_seq_init(&all, hubs);
    while (auto* hub = static_cast<Hub*>(hash_seq_search(&all))) {
        free_plans(hub->plans);
        hub->plans = nullptr;
    }
}

void refresh_hub(const Hub& hub) {
    if (hub.stale && find_hub(hub.schema) == nullptr) {
        raise_if_brought_back(NameStr(hub.name));
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
                        errmsg("hub \"%s\" was dropped meanwhile", NameStr(hub.name))));
    }
}

std::optional<HubRow> read_hub_row(Oid schema) {
    const Oid relation_id = hub_relation(schema);
    const char* name = get_namespace_name(schema);
    if (!OidIsValid(relation_id) || name == nullptr) {
        return std::nullopt;
    }
    const Distribution distribution = find_shards(schema);
    if (distribution.spread == Spread::kOdd) {
        return std::nullopt;
    }
    Relation relation =
        try_table_open(home_of_row(relation_id, distribution.shards), AccessShareLock);
    if (relation == nullptr) {
        return std::nullopt;
    }
    auto* hub = static_cast<Hub*>(palloc0(sizeof(Hub)));
    hub->schema = schema;
    hub->owner = relation->rd_rel->relowner;
    namestrcpy(&hub->name, name);
    hub->elsewhere = place_of(name).has_value();
    HubRow result{hub, nullptr, 0};
    bool good = true;
    if (distribution.shards != nullptr && !distribution.shards->here) {
        hub->elsewhere = true;
    } else {
        good = with_row(relation, [relation, hub, &result](HeapTuple row) {
            const Jsonb* options = read_columns(relation, row, hub);
            const auto created_at = hub_column(relation, row, "created_at", TIMESTAMPTZOID);
            if (options == nullptr || !created_at) {
                return false;
            }
            result.options = DatumGetJsonbPCopy(PointerGetDatum(options));
            result.created_at = DatumGetTimestampTz(*created_at);
            return true;
        });
    }
    table_close(relation, AccessShareLock);
    return good ? std::optional(result) : std::nullopt;
}

const Hub& hub_by_name(const char* name) {
    AcceptInvalidationMessages();
    const Oid schema = get_namespace_oid(name, true);
    const Hub* hub = OidIsValid(schema) ? find_hub(schema) : nullptr;
    if (hub == nullptr && place_of(name)) {
        raise_elsewhere(name);
    }
    if (hub == nullptr) {
        raise_unknown_hub(name);
    }
    return *hub;
}

const Hub& own_hub_left_here(const char* name) {
    AcceptInvalidationMessages();
    const Oid schema = get_namespace_oid(name, true);
    const Hub* hub = OidIsValid(schema) ? find_hub_left_here(schema) : nullptr;
    if (hub == nullptr || !hub->elsewhere) {
        return own_hub_by_name(name);
    }
    if (!pg::owns_relation(hub->relations.belay_hub, GetUserId())) {
        pg::raise_not_owner(name);
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
    struct Found {
        Oid schema;
        std::string_view name;
    };
    // pg_class has an index on (relname, relnamespace): this visits the hubs, not the catalog.
    Relation classes = table_open(RelationRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_class_relname, BTEqualStrategyNumber, F_NAMEEQ,
                CStringGetDatum("belay_hub"));
    SysScanDesc scan = systable_beginscan(classes, ClassNameNspIndexId, true, nullptr, 1, &key);
    pg::List<Found> found;
    while (HeapTuple row = systable_getnext(scan)) {
        const Oid schema = reinterpret_cast<Form_pg_class>(GETSTRUCT(row))->relnamespace;
        if (OidIsValid(hub_relation(schema))) {
            const char* name = get_namespace_name(schema);
            found.add({schema, name == nullptr ? "" : name});  // being dropped
        }
    }
    systable_endscan(scan);
    table_close(classes, AccessShareLock);
    std::sort(found.items, found.items + found.count,
              [](const Found& a, const Found& b) { return a.name < b.name; });
    auto* schemas = static_cast<Oid*>(palloc(sizeof(Oid) * (static_cast<Size>(found.count) + 1)));
    for (int i = 0; i < found.count; ++i) {
        schemas[i] = found.items[i].schema;
    }
    return {schemas, static_cast<std::size_t>(found.count)};
}

const Hub& settle_incarnation(const Hub& hub, bool force) {
    if (!force && is_current(hub.mark, hub.schema)) [[likely]] {
        return hub;
    }
    pg::as_role(hub.owner, [&hub, force] {
        pg::with_spi([&hub, force] {
            // Events of the old incarnation come first: none may be committed after one of the new.
            // Of itself an incarnation begins when no transaction of the old one runs any more.
            // A hub of which the table was dropped by hand has none.
            if (force && OidIsValid(hub.relations.outbox_events)) {
                LockRelationOid(hub.relations.outbox_events, ShareLock);
            }
            const auto [incarnation, mark] = run_for_one(hub, kLockHubRow);
            const auto found = parse_mark(pg::c_string(mark));
            if (!force && found && is_current(*found, hub.schema)) {
                return;  // another transaction began it while we waited
            }
            if (hub.shards != nullptr) {
                make_sequences(hub);
                const_cast<Hub&>(hub).relations = find_relations(hub);
            }
            run_for_one(hub, kNewIncarnation, print_mark(current_mark(hub.schema)));
            raise_sequences(hub, incarnation + 1);
            ereport(LOG, (errmsg("hub \"%s\" begins a new incarnation", NameStr(hub.name))));
        });
    });
    wake_all_queues(hub, wakeups::Reason::kWork);  // leases of the old one are over
    CacheInvalidateRelcacheByRelid(hub.relations.belay_hub);
    CommandCounterIncrement();
    const_cast<Hub&>(hub).stale = true;
    const Hub* settled = find_hub(hub.schema);
    if (settled == nullptr) {
        elog(ERROR, "hub \"%s\" vanished while its row was held", NameStr(hub.name));
    }
    return *settled;
}

}  // namespace belay::store
