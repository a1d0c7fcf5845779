// Tables hub_places and hub_families of schema belay.
//
// May touch: these tables; asks shards.hpp for hubs that Citus has distributed. Must not: decide
// who may change them, or what a place means for a hub that is here.
#include "store/places.hpp"

#include "pg/datum.hpp"
#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "pg/scopes.hpp"
#include "store/shards.hpp"

namespace belay::store {

namespace {

// A table of the extension; invalid while the extension is being made or dropped.
Oid extension_table(const char* name) {
    const Oid schema = get_namespace_oid("belay", true);
    return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

// Lends body the row whose first column, a name, is the key of the table; found by its primary key.
// Read as catalogs are: the latest state, not that of the caller's snapshot. No value if there is
// none.
template <typename T, pg::JumpSafe Body>
std::optional<T> find_row(const char* table, const char* index, const char* key, Body body) {
    const Oid id = extension_table(table);
    const Oid index_id = extension_table(index);
    if (!OidIsValid(id) || !OidIsValid(index_id)) {
        return std::nullopt;
    }
    NameData name;
    namestrcpy(&name, key);
    Relation relation = table_open(id, AccessShareLock);
    ScanKeyData keys;
    ScanKeyInit(&keys, 1, BTEqualStrategyNumber, F_NAMEEQ, NameGetDatum(&name));
    SysScanDesc scan = systable_beginscan(relation, index_id, true, nullptr, 1, &keys);
    std::optional<T> found;
    if (HeapTuple row = systable_getnext(scan)) {
        found = body(row, RelationGetDescr(relation));
    }
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
    return found;
}

int32 integer_of(HeapTuple row, int column, TupleDesc descriptor) {
    bool null = false;
    return DatumGetInt32(heap_getattr(row, column, descriptor, &null));
}

// Runs a statement as the owner of the table. Returns how many rows it has changed.
uint64 change(const char* table, const char* sql, std::span<Oid> types, std::span<Datum> values) {
    pg::pass_store_faults();
    const Oid id = extension_table(table);
    Relation relation = table_open(id, RowExclusiveLock);
    const Oid owner = relation->rd_rel->relowner;
    table_close(relation, NoLock);
    return pg::as_role(owner, [sql, types, values] {
        return pg::with_spi([sql, types, values] {
            const int result =
                SPI_execute_with_args(sql, static_cast<int>(types.size()), types.data(),
                                      values.data(), nullptr, false, 0);
            if (result < 0) {
                elog(ERROR, "a store statement failed: %s", SPI_result_code_string(result));
            }
            return SPI_processed;
        });
    });
}

uint64 change(const char* table, const char* sql, const char* key) {
    NameData name;
    namestrcpy(&name, key);
    Oid types[] = {NAMEOID};
    Datum values[] = {NameGetDatum(&name)};
    return change(table, sql, types, values);
}

}  // namespace

namespace {

std::optional<Place> recorded_place(const char* hub) {
    MemoryContext memory = CurrentMemoryContext;
    return find_row<Place>(
        "hub_places", "hub_places_pkey", hub, [memory](HeapTuple row, TupleDesc descriptor) {
            bool null = false;
            const Datum host = heap_getattr(row, 2, descriptor, &null);
            MemoryContext old = MemoryContextSwitchTo(memory);
            const Place place{TextDatumGetCString(host), integer_of(row, 3, descriptor)};
            MemoryContextSwitchTo(old);
            return place;
        });
}

}  // namespace

std::optional<Place> place_of(const char* hub) {
    const auto recorded = recorded_place(hub);
    const Oid schema = recorded ? InvalidOid : get_namespace_oid(hub, true);
    return OidIsValid(schema) ? place_by_citus(schema) : recorded;
}

void raise_elsewhere(const char* hub, const Place& place) {
    pg::raise(pg::kElsewhere, psprintf("hub \"%s\" is on %s:%d", hub, place.host, place.port),
              pg::Facts("elsewhere")
                  .add("hub", hub)
                  .add("host", place.host)
                  .add("port", int64{place.port}),
              "Connect there, or ask belay.hub_location.");
}

void raise_elsewhere(const char* hub) {
    const auto place = place_of(hub);
    if (!place) {
        ereport(ERROR,
                (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                 errmsg("the place of hub \"%s\" has just changed", hub), errhint("Call again.")));
    }
    raise_elsewhere(hub, *place);
}

void raise_if_brought_back(const char* hub) {
    constexpr int32 kCoordinator = 0;
    const bool is_node = own_group().value_or(kCoordinator) != kCoordinator;
    if (const auto place = is_node ? place_of_group(kCoordinator) : std::nullopt) {
        raise_elsewhere(hub, *place);
    }
}

void raise_unknown_hub(const char* hub) {
    pg::raise(pg::kNotFound, psprintf("hub \"%s\" does not exist", hub),
              pg::Facts("unknown_hub").add("hub", hub),
              "SELECT name FROM belay.hubs lists the hubs of this database.");
}

void put_place(const char* hub, const Place& place) {
    NameData name;
    namestrcpy(&name, hub);
    Oid types[] = {NAMEOID, TEXTOID, INT4OID};
    Datum values[] = {NameGetDatum(&name), CStringGetTextDatum(place.host),
                      Int32GetDatum(place.port)};
    (void)change("hub_places",
                 "INSERT INTO belay.hub_places (hub, host, port) VALUES ($1, $2, $3) "
                 "ON CONFLICT (hub) DO UPDATE SET host = EXCLUDED.host, port = EXCLUDED.port",
                 types, values);
}

bool remove_place(const char* hub) {
    return change("hub_places", "DELETE FROM belay.hub_places WHERE hub OPERATOR(pg_catalog.=) $1",
                  hub) > 0;
}

std::optional<int32> family_size(const char* family) {
    return find_row<int32>(
        "hub_families", "hub_families_pkey", family,
        [](HeapTuple row, TupleDesc descriptor) { return integer_of(row, 2, descriptor); });
}

void put_family(const char* family, int32 hubs) {
    NameData name;
    namestrcpy(&name, family);
    Oid types[] = {NAMEOID, INT4OID};
    Datum values[] = {NameGetDatum(&name), Int32GetDatum(hubs)};
    (void)change("hub_families", "INSERT INTO belay.hub_families (family, hubs) VALUES ($1, $2)",
                 types, values);
}

bool remove_family(const char* family) {
    return change("hub_families",
                  "DELETE FROM belay.hub_families WHERE family OPERATOR(pg_catalog.=) $1",
                  family) > 0;
}

}  // namespace belay::store
