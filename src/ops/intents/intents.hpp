// Intents: work items for other hubs, delivered exactly once.
//
// An intent is a row of the source hub. Delivery notes its key at the target and enqueues the item
// only if the key is new. To a hub of the same database that is one transaction; to one of another
// database the relay sends batches and deletes what was confirmed.
#pragma once

#include "ops/input.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/intents.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// A checked item for another hub.
struct CheckedIntent {
    std::string_view target_hub;
    const char* queue;  // orchestrator or worker
    std::string_view work_item;
    std::string_view target_instance;  // empty: none
};

// Checks an item of an ack that is wrapped as {"ToHub":{"hub":...,"item":...}}. No value: it is not
// wrapped.
std::optional<CheckedIntent> checked_wrapped(const Item& item, const char* queue, const Path& path);

// Writes an intent. The hub's intents have been entered.
int64 send_intent(store::Tables& tables, const CheckedIntent& intent,
                  std::string_view source_instance, std::optional<int64> visible_at, int64 now);

int64 send_to_hub(store::Tables& tables, std::string_view target,
                  std::optional<std::string_view> queue, std::string_view work_item,
                  std::optional<int64> visible_at);

// Takes in what another hub sends: with the rights of this hub's owner. Returns how many were new.
int64 take_in(store::Tables& tables, std::span<const store::Intent> intents, int64 now);
int64 receive_intents(store::Tables& tables, const JsonArray& intents);

// What a dead letter of queue intent says besides its columns; and the intent it was.
std::string_view intent_detail(const store::Intent& intent);
store::Intent intent_of_detail(int64 dead_letter_id, int64 intent_id, std::string_view work_item,
                               std::optional<std::string_view> target_instance,
                               std::optional<std::string_view> detail);

// ---- Delivery ----

// Delivers one portion: intents that are due and at least so old, to hubs of this database; sets
// those aside that are older than the hub option intent_retention. Targets of other databases are
// left to the remote relay, if this process has one. Returns how many intents have left the queue.
int64 relay_intents(store::Tables& tables, pg::Clock* clock, int64 min_age_ms);

// What the process that delivers to other databases lends to relay_intents.
struct RemoteRelay {
    // There are intents for a linked target.
    void (*wanted)(Oid tables, std::string_view target, int64 min_age_ms);
    // Whether intents for the target have been sent and not been settled.
    bool (*in_flight)(Oid tables, std::string_view target);
};
void use_remote_relay(const RemoteRelay* relay);

inline constexpr int kMostIntents = 256;  // of one batch

// A batch for a linked target: what to send, and how to settle it.
struct RemoteBatch {
    const char* server;  // of the link, or host and port; null: there is no way any more
    const char* host;    // of the node of Citus that has the target; null: it is linked
    int32 port;
    const char* text;  // the argument of receive_intents
    int count;
    int64 ids[kMostIntents];
    bool first[kMostIntents];  // of its pair
};

// Fills a batch; its texts live in memory. Count 0: nothing is due. The target is locked.
void next_remote_batch(store::Tables& tables, std::string_view target, int64 min_age_ms, int most,
                       MemoryContext memory, RemoteBatch* batch);

// The batch has arrived; or could not be sent. The target is locked.
void settle_delivered(store::Tables& tables, std::string_view target, std::span<const int64> ids);
void settle_failed(store::Tables& tables, std::string_view target, std::span<const int64> firsts,
                   std::string_view error);

// ---- Upkeep ----

// Forgets keys that were received longer ago than the hub option intent_retention.
int64 forget_received_intents(store::Tables& tables, pg::Clock* clock);

// Links to hubs of other databases.
void create_hub_link(const char* name, const char* target, const char* server);
void drop_hub_link(const char* name, const char* target);

}  // namespace belay::ops
