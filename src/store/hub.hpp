// Hubs as the server sees them: found by schema, cached per session, dropped on invalidation.
//
// A hub is a schema that holds the one-row table belay_hub with a column of type belay.hub_mark.
// There is no list of hubs to keep in step.
#pragma once

#include "pg/pg.hpp"
#include "pg/transactions.hpp"
#include "store/mark.hpp"
#include "store/options.hpp"

namespace belay::store {

// The version of the hub files that this library was built with: the number of the last file in
// sql/hub/steps. A lint compares the two.
inline constexpr int32 kHubVersion = 1;

enum class Api : int { kBelay, kDuroxidePg };
inline constexpr const char* kApiNames[] = {"belay", "duroxide-pg"};

constexpr std::optional<Api> parse_api(std::string_view word) {
    for (const Api api : {Api::kBelay, Api::kDuroxidePg}) {
        if (word == kApiNames[static_cast<int>(api)]) {
            return api;
        }
    }
    return std::nullopt;
}

// What can be paused by itself.
enum class Queue : int { kOrchestrator, kWorker, kTasks, kIntents, kCount };
inline constexpr const char* kQueueNames[] = {"orchestrator", "worker", "tasks", "intents"};

// The tables and sequences that the store uses by oid.
struct Relations {
    Oid belay_hub;
    Oid worker_queue;
    Oid worker_queue_id;
    Oid orchestrator_queue;
    Oid orchestrator_queue_id;
    Oid sessions;
    Oid dead_letters;
    Oid dead_letters_id;
    Oid instance_locks;
    Oid instance_locks_no;
    Oid instances;
    Oid executions;
    Oid history_turns;
    Oid kv_store;
    Oid kv_delta;
    Oid outbox_events;
    Oid outbox_events_position;
    Oid outbox_subscriptions;
    Oid slot_owners;
    Oid intent_queue;
    Oid intent_queue_id;
    Oid intents_received;
    Oid intent_links;
    Oid tasks;
    Oid attempts;
    Oid queues;
    Oid capability_sets;
    Oid capability_sets_id;
    Oid dedup_keys;
    Oid flows;
    Oid suspensions;
    Oid queue_limits;
};

struct PlanCache;
struct Shards;  // store/shards.hpp

// The tables that are accessed directly; store/rows/ describes them.
enum class TableId : int {
    kWorkerQueue,
    kOrchestratorQueue,
    kInstanceLocks,
    kInstances,
    kExecutions,
    kHistory,
    kTasks,
    kAttempts,
    kKvStore,
    kKvDelta,
    kOutboxEvents,
    kQueues,
    kCount,
};
inline constexpr int kMaxIndexes = 9;
inline constexpr int kMaxWatched = 128;

// What access to such a table needs to know: found out when it is first opened, and again after an
// invalidation.
struct TableState {
    bool known;         // it was compared with its description, and fits
    bool more_columns;  // the owner has added some behind ours
    bool more_indexes;
    Oid indexes[kMaxIndexes];  // in the order of the table's description
};

struct Hub {
    Oid schema;  // the key of the cache
    Oid owner;   // of table belay_hub: whose rights the store runs with
    NameData name;
    char quoted_name[NAMEDATALEN * 2 + 2];
    Relations relations;
    pg_uuid_t uuid;
    Api api;
    int32 version;
    int32 incarnation;
    int64 epoch_floor;
    bool adopted;          // drop_hub keeps the schema
    uint8 paused;          // a bit per Queue
    char* limited_queues;  // their names, each between newlines; null: none; an empty one: many
    char* name_pins;       // the text of that option; null: none
    Mark mark;
    Options options;
    bool elsewhere;  // another server has it, as belay.hub_places or Citus says: not served here
    const Shards* shards;  // if Citus has distributed it; null: its tables are those of its names
    bool stale;            // something it was read from has changed
    bool doomed;           // its schema is gone; freed when the transaction ends
    PlanCache* plans;
    TableState tables[static_cast<int>(TableId::kCount)];
    // Its tables, shards and sequences: a change of one makes the entry stale.
    Oid watched[kMaxWatched];
    int watched_count;

    bool is_paused(Queue queue) const { return (paused >> static_cast<int>(queue) & 1) != 0; }
};

// Registers the callbacks that keep the cache true. Called once, from _PG_init.
void watch_hubs();

// Frees what the transaction may still have used of hubs that are gone.
extern const pg::Participant kHubParticipant;

// The hub in that schema, or null if the schema is not a hub or is being dropped. The pointer stays
// good for the rest of the transaction; its contents are those of the latest committed hub row (or
// our own change). Raises if the hub's row cannot be read, or if the hub is on another server
// (QB017), unless lenient: then null, too.
const Hub* find_hub(Oid schema, bool lenient = false);
// The same, for those who do not use the hub: also one that is elsewhere, as it was left here.
const Hub* find_hub_left_here(Oid schema);
// Reads the hub again if it has changed. Raises if it is gone, or elsewhere.
void refresh_hub(const Hub& hub);
// Raises QB017 if the hub is elsewhere by now. For calls that may have waited for a lock on a table
// of it since they found it.
void check_is_here(const Hub& hub);

// Keeps a hub that Citus has distributed on this node until the transaction ends: a move waits for
// it. A call that writes does so before it locks any table. Raises QB017 if the hub has gone.
// False: it did not wait, and a move is under way.
bool hold_shards(const Hub& hub, bool wait);
bool holds_shards(const Hub& hub);
// Only takes the lock, without waiting: the caller finds the hub again.
bool lock_shards(const Hub& hub);
inline bool hold_place(const Hub& hub, bool wait) {
    return hub.shards == nullptr || hold_shards(hub, wait);
}
inline bool holds_place(const Hub& hub) {
    return hub.shards == nullptr || holds_shards(hub);
}

// A hub for listings, served here or not: what its row says, and none of what only calls need,
// such as its tables, so that a list of many hubs costs a few reads of the catalog for each. No
// value if the schema is no hub, or the row cannot be read.
struct HubRow {
    const Hub* hub;  // in the current memory context
    Jsonb* options;  // null: Citus has the row on another node
    TimestampTz created_at;
};
std::optional<HubRow> read_hub_row(Oid schema);

// The hub of that name. Raises QB002 if there is none, QB017 if it is elsewhere.
const Hub& hub_by_name(const char* name);

// As hub_by_name, for its owner only: 42501 for others.
const Hub& own_hub_by_name(const char* name);
// The same, also for a hub that is elsewhere and was left here.
const Hub& own_hub_left_here(const char* name);

// The oid of the table belay_hub in that schema if the schema is a hub, else InvalidOid.
Oid hub_relation(Oid schema);

// The schemas of this database that are hubs, sorted by name.
std::span<const Oid> all_hubs();

// Plans that are made while this is on are freed by free_brief_plans: for a process that visits
// many hubs and needs them seldom. Not inside of a call.
void keep_plans_briefly(bool yes);
void free_brief_plans(Oid schema);
// Frees the plans of all hubs. Not inside of a call.
void free_all_plans();

// Begins a new incarnation if the hub's mark is not the one it has to have; waits for another
// transaction that is doing so. Returns the hub as it is now. force begins one in any case.
const Hub& settle_incarnation(const Hub& hub, bool force = false);

// The incarnation whose leases count for a reader. In a restored or promoted hub no lease counts,
// also before the first writing call begins the new incarnation.
int32 live_incarnation(const Hub& hub);

// Counts the changes that make cached call sites invalid.
uint64 cache_generation();

}  // namespace belay::store
