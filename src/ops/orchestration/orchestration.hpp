// Operations of orchestrations: messages in, turns out, history and state.
#pragma once

#include <algorithm>

#include "core/json.hpp"
#include "core/lease.hpp"
#include "core/token.hpp"
#include "ops/input.hpp"
#include "ops/orchestration/version_filter.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/history.hpp"
#include "store/instance_locks.hpp"
#include "store/instances.hpp"
#include "store/orchestrator_queue.hpp"
#include "store/plan.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// A checked message, ready to be inserted.
struct CheckedMessage {
    std::string_view work_item;
    core::ItemKind kind;
    std::string_view instance_id;
    std::optional<int64> fire_at_ms;  // of a timer
    std::string_view unknown_kind;    // of an item of a kind that belay does not know; else empty
};

// Reads and checks an item for the orchestrator queue. instance_id, if given, must be its target.
CheckedMessage checked_message(const Item& item, std::optional<std::string_view> instance_id,
                               const Path& item_path, const Path& instance_path);

// Inserts a message, visible at visible_at or, for a timer, when it fires if that is later.
void send_message(store::Tables& tables, const CheckedMessage& message, int64 visible_at,
                  int64 now);

void enqueue_orchestrator_work(store::Tables& tables, const CheckedMessage& message,
                               std::optional<int64> visible_at);
int64 enqueue_orchestrator_items(store::Tables& tables, const JsonArray& items,
                                 std::optional<int64> now);

// The short forms. They return the instance id.
std::string_view start_orchestration(store::Tables& tables, std::string_view name,
                                     std::string_view input,
                                     std::optional<std::string_view> instance_id,
                                     std::optional<std::string_view> version, int64 delay_ms,
                                     pg::Clock* clock);
void raise_event(store::Tables& tables, std::string_view instance_id, std::string_view name,
                 std::string_view data, bool queued, pg::Clock* clock);
void cancel_instance(store::Tables& tables, std::string_view instance_id, std::string_view reason,
                     pg::Clock* clock);

// The orchestrations that a client serves: all, or those of these names, which are sorted.
struct NameFilter {
    bool all;
    std::span<const std::string_view> names;

    bool has(std::string_view name) const {
        return all || std::binary_search(names.begin(), names.end(), name);
    }
};

// What a turn fetch asks for.
struct TurnRequest {
    int64 lock_timeout_ms;
    VersionRange versions;
    SlotFilter slots;
    NameFilter names;
    std::optional<std::string_view> cache_owner;
    int max_turns;
};

// A leased turn, its JSON ready.
struct Turn {
    std::string_view instance_id;
    std::string_view name;
    std::string_view version;
    int64 execution_id;
    std::optional<std::string_view> history;  // absent if it is larger than 64 MiB
    int64 history_after;                      // the caller has the events up to this one cached
    int64 last_event_id;                      // of the stored ones
    std::string_view messages;
    core::TurnToken token;
    int64 locked_until;
    int32 attempt;
    std::optional<std::string_view> kv_snapshot;  // likewise
};
// Up to max_turns; fewer if they are large together.
std::span<const Turn> fetch_turns(store::Tables& tables, const TurnRequest& request,
                                  pg::Clock* clock);

// The lock of a turn, held, if the token opens it. fault says why not.
struct HeldTurn {
    std::optional<store::InstanceLock> lock;
    core::LeaseFault fault;
    int64 locked_until;
};
HeldTurn hold_turn(store::Tables& tables, std::optional<std::string_view> token, pg::Clock* clock);

// Arguments of an ack, as they came.
struct AckArgs {
    std::optional<std::string_view> token;
    std::optional<int64> execution_id;
    Jsonb* history_delta;
    Jsonb* worker_items;
    Jsonb* orchestrator_items;
    Jsonb* metadata;
    Jsonb* cancelled_activities;
};
void ack_orchestration_item(store::Tables& tables, const AckArgs& args, std::optional<int64> now);

// One ack of several.
struct TurnAck {
    AckArgs args;
    // Why it was not accepted: SQLSTATE (0: it was), the word of the error, and its text.
    int refused;
    const char* reason;
    const char* message;
    // Of a predicted turn: its process has the instance in memory up to this event, and the token
    // is that of an activity whose outcome is the only message of the turn.
    std::optional<int64> predicted_after;
};
// Each that is no predicted turn follows the rules of ack_orchestration_item; one that is refused
// changes nothing and keeps its lock, and the others are not affected.
void ack_turns(store::Tables& tables, std::span<TurnAck> acks, pg::Clock* clock);

// Ends the leases of activities as settle_work does, and commits the predicted turns among the acks
// that a fetch for the request, made right now, would lease with just their outcomes. What becomes
// of instance, history and queues is as if it had been made, and the turn acked. A turn that is
// refused changes nothing: its outcome is a message, as without it.
void settle_predicted(store::Tables& tables, std::span<TurnAck> acks, const TurnRequest& request,
                      std::span<WorkOutcome> outcomes, pg::Clock* clock);

std::string_view abandon_orchestration_item(store::Tables& tables,
                                            std::optional<std::string_view> token,
                                            std::optional<int64> delay_ms, bool ignore_attempt,
                                            pg::Clock* clock);
void renew_orchestration_item_lock(store::Tables& tables, std::optional<std::string_view> token,
                                   const Extension& extension, pg::Clock* clock);

// A checked history delta: parallel arrays, and the parsed events.
struct CheckedEvents {
    std::size_t count;
    std::span<const int64> sorted_ids;
    int64 repeated;  // ids that stand more than once in the delta
    store::NewEvents rows;
    const core::json::Value* events;
    const std::string_view* own_types;  // what an event says itself; "" if that cannot be read
};
CheckedEvents checked_events(const char* path, Jsonb* value);

// How many of the events cannot be stored, because their ids are not new, and where the history
// ends with them, if that is known. All that write history of an instance hold its exclusion: with
// it, what is not stored now stays so. known_end: the last event, if the caller knows it.
struct Addition {
    int64 duplicates;
    std::optional<int64> last_event_id;
};
Addition examine_addition(store::Tables& tables, std::string_view instance_id, int64 execution_id,
                          const CheckedEvents& events, std::optional<int64> known_end);
// Raises QB005.
[[noreturn]] void raise_duplicates(std::string_view instance_id, int64 execution_id,
                                   int64 duplicates);

void append_history(store::Tables& tables, std::string_view instance_id, int64 execution_id,
                    const CheckedEvents& events);

// What clients read of an instance.
std::optional<store::CustomStatus> get_custom_status(store::Tables& tables,
                                                     std::string_view instance_id);
std::optional<std::string_view> get_kv_value(store::Tables& tables, std::string_view instance_id,
                                             std::string_view key);
store::Listing get_kv_all_values(store::Tables& tables, std::string_view instance_id);

// Reads of history.
store::Listing fetch_history(store::Tables& tables, std::string_view instance_id,
                             std::optional<int64> execution_id);
store::Listing read_history(store::Tables& tables, std::string_view instance_id,
                            std::optional<int64> execution_id, std::optional<int64> after_event_id,
                            std::optional<int32> limit);

}  // namespace belay::ops
