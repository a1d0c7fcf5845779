// Tables intent_queue and intents_received: what is on its way to other hubs, and what came from
// them.
//
// A call that tries, buries or removes intents for a target holds the hub's lock on that target
// (pg::LockSpace::kIntentTarget). Inserts do not: a new intent is never marked as blocked.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// One delivery at the target, however often it is repeated.
struct IntentKey {
    pg_uuid_t source_uuid;
    int64 id;
};

// The source instance and the target instance; both empty where there is none.
struct IntentPair {
    std::string_view source_instance;
    std::string_view target_instance;

    bool operator==(const IntentPair&) const = default;
    // Without a target instance nothing orders the intents.
    bool ordered() const { return !target_instance.empty(); }
};

struct Intent {
    IntentKey key;
    IntentPair pair;
    std::string_view target_hub;
    std::string_view queue;  // orchestrator or worker
    std::string_view work_item;
    std::optional<int64> visible_at;  // ms; absent: when it arrives
    int64 created_at;                 // ms
    int32 attempts;
    std::optional<std::string_view> last_error;
};

// Intents, and the rows that hold their texts.
struct IntentList {
    std::span<const Intent> intents;
    Listing rows;

    void release() const { rows.release(); }
};

// Inserts an intent of a new id, or of an old key, and notifies the relay. Returns the id.
int64 insert_intent(const Hub& hub, const Intent& intent);
int64 new_intent(const Hub& hub, Intent intent);

// The first target after that name, in the order of names, for which there are intents.
std::optional<std::string_view> next_target(const Hub& hub, std::string_view after);

// Intents that can be tried: due, not known to stand behind another, created before an instant.
struct DueIntent {
    int64 id;
    int64 bytes;
    IntentPair pair;
};
std::span<const DueIntent> due_intents(const Hub& hub, std::string_view target, int64 now,
                                       int64 created_before, int limit);

// The first intents of a pair, by id.
struct PairIntent {
    int64 id;
    int64 bytes;
    bool due;
};
std::span<const PairIntent> pair_intents(const Hub& hub, std::string_view target,
                                         const IntentPair& pair, int64 now, int limit);

// Reads the intents, by id. Those that are gone are left out.
IntentList read_intents(const Hub& hub, std::span<const int64> ids);

// Intents for the target created before an instant, by id; without those that could still be tried
// for the first time, unless untried is true.
IntentList old_intents(const Hub& hub, std::string_view target, int64 created_before, bool untried,
                       int limit);

// Deletes the intents; returns the pairs of those that were there.
std::span<const IntentPair> delete_intents(const Hub& hub, std::span<const int64> ids);

// Marks what stands behind the first intent of the pair; takes the mark off the first.
void block_followers(const Hub& hub, std::string_view target, const IntentPair& pair);
void release_first(const Hub& hub, std::string_view target, const IntentPair& pair);

// Notes an attempt that failed.
void record_failure(const Hub& hub, int64 id, int64 next_try_at, std::string_view error);

// Makes everything for the target due now.
void hurry_intents(const Hub& hub, std::string_view target, int64 now);

// Notes the key of an intent that arrives. False: it has arrived before. Waits for another
// transaction that is taking in the same one.
bool record_received(const Hub& hub, const IntentKey& key, int64 now);

// Forgets up to limit keys received before an instant; returns how many.
int64 forget_received(const Hub& hub, int64 before, int limit);

// Through which foreign server a target is reached, if it is linked.
std::optional<std::string_view> link_server(const Hub& hub, std::string_view target);
void set_link(const Hub& hub, std::string_view target, std::string_view server, int64 now);
bool remove_link(const Hub& hub, std::string_view target);

}  // namespace belay::store
