// Table belay_hub, and the list of what a hub consists of.
//
// May touch: belay_hub, and the hub's objects to drop them. Must not: read the row for a call;
// hub.cpp keeps it in its cache.
#include "store/hub_row.hpp"

#include <algorithm>
#include <iterator>

#include "pg/errors.hpp"
#include "pg/faults.hpp"
#include "pg/subtransaction.hpp"
#include "store/grants.hpp"
#include "store/shards.hpp"
#include "store/statements.hpp"
#include "store/waking.hpp"

namespace belay::store {

namespace {

constexpr uint8 kEveryLevel = core::kForClient | core::kForMonitor;

// Sorted by name; those that only api duroxide-pg has come last.
constexpr HubRelation kHubRelations[] = {
    {"attempts", RELKIND_RELATION, core::kNoLevel},
    {"attempts_pkey", RELKIND_INDEX, core::kNoLevel},
    {"belay_hub", RELKIND_RELATION, core::kNoLevel},
    {"belay_hub_pkey", RELKIND_INDEX, core::kNoLevel},
    {"cancel_backlog", RELKIND_RELATION, core::kNoLevel},
    {"cancel_backlog_grace", RELKIND_INDEX, core::kNoLevel},
    {"cancel_backlog_members", RELKIND_RELATION, core::kNoLevel},
    {"cancel_backlog_members_pkey", RELKIND_INDEX, core::kNoLevel},
    {"cancel_backlog_open", RELKIND_VIEW, core::kForMonitor},
    {"cancel_backlog_pkey", RELKIND_INDEX, core::kNoLevel},
    {"capability_sets", RELKIND_RELATION, core::kNoLevel},
    {"capability_sets_id", RELKIND_SEQUENCE, core::kNoLevel},
    {"capability_sets_pkey", RELKIND_INDEX, core::kNoLevel},
    {"capability_sets_queue", RELKIND_INDEX, core::kNoLevel},
    {"cascade_queue", RELKIND_RELATION, core::kNoLevel},
    {"cascade_queue_flow", RELKIND_INDEX, core::kNoLevel},
    {"cascade_queue_order", RELKIND_INDEX, core::kNoLevel},
    {"cascade_queue_pkey", RELKIND_INDEX, core::kNoLevel},
    {"dead_letter_summary", RELKIND_VIEW, core::kForMonitor},
    {"dead_letters", RELKIND_RELATION, core::kNoLevel},
    {"dead_letters_dead", RELKIND_INDEX, core::kNoLevel},
    {"dead_letters_id", RELKIND_SEQUENCE, core::kNoLevel},
    {"dead_letters_instance", RELKIND_INDEX, core::kNoLevel},
    {"dead_letters_pkey", RELKIND_INDEX, core::kNoLevel},
    {"dedup_keys", RELKIND_RELATION, core::kNoLevel},
    {"dedup_keys_pkey", RELKIND_INDEX, core::kNoLevel},
    {"edges", RELKIND_RELATION, core::kNoLevel},
    {"edges_pkey", RELKIND_INDEX, core::kNoLevel},
    {"edges_upstream", RELKIND_INDEX, core::kNoLevel},
    {"executions", RELKIND_RELATION, core::kNoLevel, kEveryLevel},
    {"executions_completed", RELKIND_INDEX, core::kNoLevel},
    {"executions_pkey", RELKIND_INDEX, core::kNoLevel},
    {"flow_summary", RELKIND_VIEW, core::kForMonitor},
    {"flows", RELKIND_RELATION, core::kNoLevel},
    {"flows_pkey", RELKIND_INDEX, core::kNoLevel},
    {"flows_terminal_at", RELKIND_INDEX, core::kNoLevel},
    {"groups", RELKIND_RELATION, core::kNoLevel},
    {"groups_flow", RELKIND_INDEX, core::kNoLevel},
    {"groups_pkey", RELKIND_INDEX, core::kNoLevel},
    {"history", RELKIND_VIEW, core::kNoLevel, kEveryLevel},
    {"history_turns", RELKIND_RELATION, core::kNoLevel},
    {"history_turns_pkey", RELKIND_INDEX, core::kNoLevel},
    {"hub_links", RELKIND_VIEW, core::kForMonitor},
    {"instance_lock_states", RELKIND_VIEW, core::kNoLevel},
    {"instance_locks", RELKIND_RELATION, core::kNoLevel},
    {"instance_locks_no", RELKIND_SEQUENCE, core::kNoLevel},
    {"instance_locks_pkey", RELKIND_INDEX, core::kNoLevel},
    {"instances", RELKIND_RELATION, core::kNoLevel, kEveryLevel},
    {"instances_created", RELKIND_INDEX, core::kNoLevel},
    {"instances_parent", RELKIND_INDEX, core::kNoLevel},
    {"instances_pkey", RELKIND_INDEX, core::kNoLevel},
    {"intent_links", RELKIND_RELATION, core::kNoLevel},
    {"intent_links_pkey", RELKIND_INDEX, core::kNoLevel},
    {"intent_queue", RELKIND_RELATION, core::kNoLevel},
    {"intent_queue_created", RELKIND_INDEX, core::kNoLevel},
    {"intent_queue_due", RELKIND_INDEX, core::kNoLevel},
    {"intent_queue_id", RELKIND_SEQUENCE, core::kNoLevel},
    {"intent_queue_pair", RELKIND_INDEX, core::kNoLevel},
    {"intent_queue_pkey", RELKIND_INDEX, core::kNoLevel},
    {"intents", RELKIND_VIEW, core::kForOperator},
    {"intents_received", RELKIND_RELATION, core::kNoLevel},
    {"intents_received_at", RELKIND_INDEX, core::kNoLevel},
    {"intents_received_pkey", RELKIND_INDEX, core::kNoLevel},
    {"kv_delta", RELKIND_RELATION, core::kNoLevel},
    {"kv_delta_pkey", RELKIND_INDEX, core::kNoLevel},
    {"kv_store", RELKIND_RELATION, core::kNoLevel},
    {"kv_store_pkey", RELKIND_INDEX, core::kNoLevel},
    {"messages", RELKIND_VIEW, core::kNoLevel},
    {"orchestrator_queue", RELKIND_RELATION, core::kNoLevel},
    {"orchestrator_queue_claim", RELKIND_INDEX, core::kNoLevel},
    {"orchestrator_queue_id", RELKIND_SEQUENCE, core::kNoLevel},
    {"orchestrator_queue_parent", RELKIND_INDEX, core::kNoLevel},
    {"orchestrator_queue_parked", RELKIND_INDEX, core::kNoLevel},
    {"orchestrator_queue_pkey", RELKIND_INDEX, core::kNoLevel},
    {"outbox_events", RELKIND_RELATION, core::kNoLevel},
    {"outbox_events_pkey", RELKIND_INDEX, core::kNoLevel},
    {"outbox_events_position", RELKIND_SEQUENCE, core::kNoLevel},
    {"outbox_gaps", RELKIND_RELATION, core::kNoLevel},
    {"outbox_gaps_pkey", RELKIND_INDEX, core::kNoLevel},
    {"outbox_subscriptions", RELKIND_RELATION, core::kNoLevel},
    {"outbox_subscriptions_pkey", RELKIND_INDEX, core::kNoLevel},
    {"pending_starts", RELKIND_VIEW, core::kForMonitor},
    {"queue_depths", RELKIND_VIEW, core::kForMonitor},
    {"queue_limits", RELKIND_RELATION, core::kNoLevel},
    {"queue_limits_pkey", RELKIND_INDEX, core::kNoLevel},
    {"queue_moves", RELKIND_RELATION, core::kNoLevel},
    {"queue_moves_queue", RELKIND_INDEX, core::kNoLevel},
    {"queues", RELKIND_RELATION, core::kNoLevel},
    {"queues_pkey", RELKIND_INDEX, core::kNoLevel},
    {"schedules", RELKIND_RELATION, core::kNoLevel},
    {"schedules_due", RELKIND_INDEX, core::kNoLevel},
    {"schedules_pkey", RELKIND_INDEX, core::kNoLevel},
    {"sessions", RELKIND_RELATION, core::kNoLevel},
    {"sessions_pkey", RELKIND_INDEX, core::kNoLevel},
    {"signals", RELKIND_RELATION, core::kNoLevel},
    {"signals_id", RELKIND_INDEX, core::kNoLevel},
    {"signals_key", RELKIND_INDEX, core::kNoLevel},
    {"signals_pkey", RELKIND_INDEX, core::kNoLevel},
    {"slot_leases", RELKIND_VIEW, core::kForMonitor},
    {"slot_owners", RELKIND_RELATION, core::kNoLevel},
    {"slot_owners_pkey", RELKIND_INDEX, core::kNoLevel},
    {"slot_shares", RELKIND_RELATION, core::kNoLevel},
    {"slot_shares_pkey", RELKIND_INDEX, core::kNoLevel},
    {"stat_marks", RELKIND_RELATION, core::kNoLevel},
    {"stat_marks_pkey", RELKIND_INDEX, core::kNoLevel},
    {"stat_minutes", RELKIND_RELATION, core::kNoLevel},
    {"stat_minutes_minute", RELKIND_INDEX, core::kNoLevel},
    {"stat_minutes_pkey", RELKIND_INDEX, core::kNoLevel},
    {"subscriptions", RELKIND_VIEW, core::kForMonitor},
    {"suspensions", RELKIND_RELATION, core::kNoLevel},
    {"suspensions_key", RELKIND_INDEX, core::kNoLevel},
    {"suspensions_pkey", RELKIND_INDEX, core::kNoLevel},
    {"suspensions_timeout", RELKIND_INDEX, core::kNoLevel},
    {"task_attempts", RELKIND_VIEW, core::kForMonitor},
    {"task_states", RELKIND_VIEW, core::kForMonitor},
    {"tasks", RELKIND_RELATION, core::kNoLevel},
    {"tasks_claim", RELKIND_INDEX, core::kNoLevel},
    {"tasks_deadline", RELKIND_INDEX, core::kNoLevel},
    {"tasks_due", RELKIND_INDEX, core::kNoLevel},
    {"tasks_expiry", RELKIND_INDEX, core::kNoLevel},
    {"tasks_flow", RELKIND_INDEX, core::kNoLevel},
    {"tasks_pkey", RELKIND_INDEX, core::kNoLevel},
    {"tasks_terminal_at", RELKIND_INDEX, core::kNoLevel},
    {"waitpoint_keys", RELKIND_RELATION, core::kNoLevel},
    {"waitpoint_keys_pkey", RELKIND_INDEX, core::kNoLevel},
    {"waitpoint_keys_signs", RELKIND_INDEX, core::kNoLevel},
    {"waitpoints", RELKIND_RELATION, core::kNoLevel},
    {"waitpoints_pkey", RELKIND_INDEX, core::kNoLevel},
    {"work_items", RELKIND_VIEW, core::kNoLevel},
    {"worker_queue", RELKIND_RELATION, core::kNoLevel},
    {"worker_queue_activity", RELKIND_INDEX, core::kNoLevel},
    {"worker_queue_id", RELKIND_SEQUENCE, core::kNoLevel},
    {"worker_queue_pkey", RELKIND_INDEX, core::kNoLevel},
    {"worker_queue_session", RELKIND_INDEX, core::kNoLevel},
    {"_duroxide_migrations", RELKIND_RELATION, core::kNoLevel, kEveryLevel},
    {"_duroxide_migrations_pkey", RELKIND_INDEX, core::kNoLevel},
};

constexpr std::size_t kOnlyDuroxidePg = 2;

constexpr auto kLockRow = statement<In<>, Out<int32>>(R"sql(
    SELECT h.version
      FROM {hub}.belay_hub AS h
       FOR NO KEY UPDATE
)sql");

constexpr auto kSetVersion = statement<In<int32>, Out<>>(R"sql(
    UPDATE {hub}.belay_hub SET version = $1
)sql");

constexpr auto kSetOption = statement<In<Text, Text>, Out<>>(R"sql(
    UPDATE {hub}.belay_hub
       SET options = pg_catalog.jsonb_set(options, ARRAY[$1], pg_catalog.to_jsonb($2), true)
)sql");

constexpr auto kRemoveOption = statement<In<Text>, Out<>>(R"sql(
    UPDATE {hub}.belay_hub SET options = options {-} $1
)sql");

constexpr auto kPause = statement<In<Text, Text>, Out<>>(R"sql(
    UPDATE {hub}.belay_hub
       SET options = pg_catalog.jsonb_set(options, ARRAY['paused'],
               COALESCE(options {->} 'paused', pg_catalog.jsonb_build_object())
               {||} pg_catalog.jsonb_build_object($1, $2), true)
)sql");

constexpr auto kResume = statement<In<Text>, Out<>>(R"sql(
    UPDATE {hub}.belay_hub
       SET options = pg_catalog.jsonb_set(options, ARRAY['paused'],
               COALESCE(options {->} 'paused', pg_catalog.jsonb_build_object()) {-} $1, true)
)sql");

constexpr auto kSetLimitedQueues = statement<In<ListOf<Text>>, Out<>>(R"sql(
    UPDATE {hub}.belay_hub
       SET options = pg_catalog.jsonb_set(options, ARRAY['limited_queues'],
               pg_catalog.to_jsonb($1), true)
)sql");

constexpr auto kTaskQueueNames = statement<In<>, Out<Text>>(R"sql(
    SELECT l.name FROM {hub}.queues AS l
)sql");

// Every change of the row is seen by all sessions at their next call.
void announce(const Hub& hub) {
    CacheInvalidateRelcacheByRelid(hub.relations.belay_hub);
}

}  // namespace

static_assert(std::count_if(std::begin(kHubRelations), std::end(kHubRelations),
                            [](const HubRelation& relation) {
                                return relation.kind == RELKIND_RELATION ||
                                       relation.kind == RELKIND_SEQUENCE;
                            }) *
                  2 <=
              kMaxWatched);

std::span<const HubRelation> hub_relations(Api api) {
    return {kHubRelations,
            lengthof(kHubRelations) - (api == Api::kDuroxidePg ? 0 : kOnlyDuroxidePg)};
}

namespace {

// What stands in the options of a new hub. Applications of duroxide-pg count attempts themselves,
// and expect that the queue never sets anything aside.
const char* first_options(std::string_view api, bool adopted) {
    const bool duroxide = api == kApiNames[static_cast<int>(Api::kDuroxidePg)];
    return psprintf("{%s%s%s}", duroxide ? R"("max_attempts": "off")" : "",
                    duroxide && adopted ? ", " : "", adopted ? R"("adopted": true)" : "");
}

}  // namespace

void insert_hub_row(const char* hub, Oid schema, const char* api, bool adopted) {
    pg::pass_store_faults();
    Oid types[] = {TEXTOID, INT4OID, TEXTOID, TEXTOID};
    Datum values[] = {
        CStringGetTextDatum(api),
        Int32GetDatum(kHubVersion),
        CStringGetTextDatum(first_options(api, adopted)),
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
    (void)hold_place(hub, true);
    run(hub, kLockRow).release();
}

namespace {

// Those by which calls enter come first, in their order.
void lock_tables_of(const Hub& hub, LOCKMODE mode) {
    for (const Oid table :
         {hub.relations.worker_queue, hub.relations.orchestrator_queue,
          hub.relations.instance_locks, hub.relations.sessions, hub.relations.intent_queue,
          hub.relations.slot_owners, hub.relations.tasks}) {
        if (OidIsValid(table)) {  // a hub of which a table was dropped by hand can be moved, too
            LockRelationOid(table, mode);
        }
    }
    for (const auto& relation : hub_relations(hub.api)) {
        const Oid id =
            relation.kind == RELKIND_RELATION ? relation_named(hub, relation.name) : InvalidOid;
        if (OidIsValid(id) && id != hub.relations.belay_hub) {
            LockRelationOid(id, mode);
        }
    }
}

}  // namespace

void lock_whole_hub(const Hub& hub) {
    pg::as_role(hub.owner, [&hub] { pg::with_spi([&hub] { lock_hub_row(hub); }); });
    lock_tables_of(hub, ExclusiveLock);
}

void lock_whole_hub_from_readers(const Hub& hub) {
    constexpr int kMostTries = 20;
    for (int tries = 1;; ++tries) {
        const auto end = pg::try_in_subtransaction([&hub] {
            LockRelationOid(hub.relations.belay_hub, AccessExclusiveLock);
            lock_tables_of(hub, AccessExclusiveLock);
            return true;
        });
        if (end.error == nullptr) {
            return;
        }
        if (end.error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED || tries == kMostTries) {
            ReThrowError(end.error);
        }
        FreeErrorData(end.error);
    }
}

void announce_place(const Hub& hub) {
    wakeups::hub_changed(hub.schema, wakeups::Reason::kMoved);
    announce(hub);
    CommandCounterIncrement();  // for this session
}

void set_hub_version(const Hub& hub, int32 version) {
    run_for_one(hub, kSetVersion, version);
    announce(hub);
}

void set_stored_option(const Hub& hub, const char* name, std::optional<std::string_view> value) {
    if (value) {
        run_for_one(hub, kSetOption, name, *value);
    } else {
        run_for_one(hub, kRemoveOption, name);
    }
    announce(hub);
}

void set_limited_queues(const Hub& hub, std::span<const std::string_view> queues) {
    run_for_one(hub, kSetLimitedQueues, queues);
    announce(hub);
}

void set_paused(const Hub& hub, std::string_view queue, std::optional<std::string_view> reason) {
    if (reason) {
        run_for_one(hub, kPause, queue, *reason);
    } else {
        run_for_one(hub, kResume, queue);
        wake_all_queues(hub, wakeups::Reason::kWork);
        if (queue == kQueueNames[static_cast<int>(Queue::kTasks)]) {
            for (const auto [name] : run(hub, kTaskQueueNames)) {
                wakeups::changed(queue_channel(hub, name), wakeups::Reason::kWork);
            }
        }
    }
    announce(hub);
}

void drop_hub_objects(const Hub& hub, bool keep_schema) {
    const char* schema = pstrdup(hub.quoted_name);
    const Api api = hub.api;
    wakeups::hub_changed(hub.schema, wakeups::Reason::kShutdown);
    if (!keep_schema) {
        run_once(psprintf("DROP SCHEMA %s CASCADE", schema));
        return;
    }
    for (const auto& function : hub_functions(hub.schema)) {
        run_once(psprintf("DROP ROUTINE %s CASCADE", function.signature));
    }
    for (const char* type : {"claimed_task", "received", "task_status"}) {
        run_once(psprintf("DROP TYPE IF EXISTS %s.%s CASCADE", schema, type));
    }
    for (const char kind : {RELKIND_VIEW, RELKIND_RELATION, RELKIND_SEQUENCE}) {
        for (const auto& relation : hub_relations(api)) {
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
