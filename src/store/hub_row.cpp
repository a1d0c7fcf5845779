#include "store/hub_row.hpp"

#include "pg/errors.hpp"
#include "store/grants.hpp"
#include "store/plan.hpp"

namespace belay::store {

namespace {

constexpr HubRelation kHubRelations[] = {
    {"belay_hub", RELKIND_RELATION, core::kNoLevel},
    {"dead_letter_summary", RELKIND_VIEW, core::kForMonitor},
    {"dead_letters", RELKIND_RELATION, core::kNoLevel},
    {"dead_letters_id", RELKIND_SEQUENCE, core::kNoLevel},
    {"orchestrator_queue", RELKIND_RELATION, core::kNoLevel},
    {"orchestrator_queue_id", RELKIND_SEQUENCE, core::kNoLevel},
    {"sessions", RELKIND_RELATION, core::kNoLevel},
    {"work_items", RELKIND_VIEW, core::kNoLevel},
    {"worker_queue", RELKIND_RELATION, core::kNoLevel},
    {"worker_queue_id", RELKIND_SEQUENCE, core::kNoLevel},
};

constexpr Statement kLockRow = statement(R"sql(
    SELECT h.version
      FROM {hub}.belay_hub AS h
       FOR NO KEY UPDATE
)sql");

constexpr Statement kSetVersion = statement(R"sql(
    UPDATE {hub}.belay_hub SET version = $1
)sql",
                                            INT4OID);

constexpr Statement kSetOption = statement(R"sql(
    UPDATE {hub}.belay_hub
       SET options = pg_catalog.jsonb_set(options, ARRAY[$1], pg_catalog.to_jsonb($2), true)
)sql",
                                           TEXTOID, TEXTOID);

constexpr Statement kRemoveOption = statement(R"sql(
    UPDATE {hub}.belay_hub SET options = options {-} $1
)sql",
                                              TEXTOID);

constexpr Statement kPause = statement(R"sql(
    UPDATE {hub}.belay_hub
       SET options = pg_catalog.jsonb_set(options, ARRAY['paused'],
               COALESCE(options {->} 'paused', pg_catalog.jsonb_build_object())
               {||} pg_catalog.jsonb_build_object($1, $2), true)
)sql",
                                       TEXTOID, TEXTOID);

constexpr Statement kResume = statement(R"sql(
    UPDATE {hub}.belay_hub
       SET options = pg_catalog.jsonb_set(options, ARRAY['paused'],
               COALESCE(options {->} 'paused', pg_catalog.jsonb_build_object()) {-} $1, true)
)sql",
                                        TEXTOID);

constexpr Statement kReadRow = statement(R"sql(
    SELECT h.options, h.created_at FROM {hub}.belay_hub AS h
)sql");

// Every change of the row is seen by all sessions at their next call.
void announce(const Hub& hub) {
    CacheInvalidateRelcacheByRelid(hub.relations.belay_hub);
}

}  // namespace

std::span<const HubRelation> hub_relations() {
    return kHubRelations;
}

void insert_hub_row(const char* hub, Oid schema, const char* api, bool adopted) {
    Oid types[] = {TEXTOID, INT4OID, TEXTOID, TEXTOID};
    Datum values[] = {
        CStringGetTextDatum(api),
        Int32GetDatum(kHubVersion),
        CStringGetTextDatum(adopted ? R"({"adopted": true})" : "{}"),
        CStringGetTextDatum(print_mark(current_mark(schema))),
    };
    const char* sql = psprintf(
        "INSERT INTO %s.belay_hub (uuid, api, version, incarnation, epoch_floor, options, "
        "created_at, mark) VALUES (pg_catalog.gen_random_uuid(), $1, $2, 1, 0, "
        "CAST($3 AS pg_catalog.jsonb), pg_catalog.clock_timestamp(), CAST($4 AS belay.hub_mark))",
        quote_identifier(hub));
    if (SPI_execute_with_args(sql, lengthof(types), types, values, nullptr, false, 0) !=
        SPI_OK_INSERT) {
        elog(ERROR, "could not insert the hub row");
    }
}

void lock_hub_row(const Hub& hub) {
    run(hub, kLockRow).release();
}

void set_hub_version(const Hub& hub, int32 version) {
    run(hub, kSetVersion, Params().int4(version));
    announce(hub);
}

void set_stored_option(const Hub& hub, const char* name, std::optional<std::string_view> value) {
    if (value) {
        run(hub, kSetOption, Params().text(name).text(*value));
    } else {
        run(hub, kRemoveOption, Params().text(name));
    }
    announce(hub);
}

void set_paused(const Hub& hub, std::string_view queue, std::optional<std::string_view> reason) {
    if (reason) {
        run(hub, kPause, Params().text(queue).text(*reason));
    } else {
        run(hub, kResume, Params().text(queue));
    }
    announce(hub);
}

HubRow read_hub_row(const Hub& hub) {
    const Rows rows = run(hub, kReadRow);
    if (rows.count != 1) {
        elog(ERROR, "hub \"%s\" has " UINT64_FORMAT " rows in belay_hub", NameStr(hub.name),
             rows.count);
    }
    return {.options = DatumGetJsonbP(rows.datum(0, 1, JSONBOID)),
            .created_at = DatumGetTimestampTz(rows.datum(0, 2, TIMESTAMPTZOID))};
}

void drop_hub_objects(const Hub& hub) {
    const char* schema = pstrdup(hub.quoted_name);
    if (!hub.adopted) {
        run_once(psprintf("DROP SCHEMA %s CASCADE", schema));
        return;
    }
    for (const auto& function : hub_functions(hub.schema)) {
        run_once(psprintf("DROP ROUTINE %s CASCADE", function.signature));
    }
    for (const char kind : {RELKIND_VIEW, RELKIND_RELATION, RELKIND_SEQUENCE}) {
        for (const auto& relation : hub_relations()) {
            if (relation.kind == kind) {
                run_once(psprintf("DROP %s IF EXISTS %s.%s CASCADE",
                                  kind == RELKIND_VIEW       ? "VIEW"
                                  : kind == RELKIND_RELATION ? "TABLE"
                                                             : "SEQUENCE",
                                  schema, relation.name));
            }
        }
    }
}

}  // namespace belay::store
