// Operations of orchestrations: messages in, turns out, history and state.
#pragma once

#include "core/json.hpp"
#include "core/lease.hpp"
#include "core/token.hpp"
#include "ops/input.hpp"
#include "ops/orchestration/version_filter.hpp"
#include "ops/worker_queue/worker_queue.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/history.hpp"
#include "store/hub.hpp"
#include "store/instance_locks.hpp"
#include "store/instances.hpp"
#include "store/orchestrator_queue.hpp"
#include "store/plan.hpp"

namespace belay::ops {

// A checked message, ready to be inserted.
struct CheckedMessage {
    std::string_view work_item;
    core::ItemKind kind;
    std::string_view instance_id;
    std::optional<int64> fire_at_ms;  // of a timer
};

// Reads and checks an item for the orchestrator queue. instance_id, if given, must be its target.
CheckedMessage checked_message(const Item& item, std::optional<std::string_view> instance_id,
                               const Path& item_path, const Path& instance_path);

// Inserts a message, visible at visible_at or, for a timer, when it fires if that is later.
void send_message(const store::Hub& hub, const CheckedMessage& message, int64 visible_at,
                  int64 now);

void enqueue_orchestrator_work(const store::Hub& hub, const CheckedMessage& message,
                               std::optional<int64> visible_at);
int64 enqueue_orchestrator_items(const store::Hub& hub, const JsonArray& items,
                                 std::optional<int64> now);

// The short forms. They return the instance id.
std::string_view start_orchestration(const store::Hub& hub, std::string_view name,
                                     std::string_view input,
                                     std::optional<std::string_view> instance_id,
                                     std::optional<std::string_view> version, int64 delay_ms,
                                     pg::Clock* clock);
void raise_event(const store::Hub& hub, std::string_view instance_id, std::string_view name,
                 std::string_view data, bool queued, pg::Clock* clock);
void cancel_instance(const store::Hub& hub, std::string_view instance_id, std::string_view reason,
                     pg::Clock* clock);

// What a turn fetch asks for.
struct TurnRequest {
    int64 lock_timeout_ms;
    VersionRange versions;
    SlotFilter slots;
};

// A leased turn, its JSON ready.
struct Turn {
    std::string_view instance_id;
    std::string_view name;
    std::string_view version;
    int64 execution_id;
    std::optional<std::string_view> history;  // absent if it is larger than 64 MiB
    std::string_view messages;
    core::TurnToken token;
    int32 attempt;
    std::optional<std::string_view> kv_snapshot;  // likewise
};
std::optional<Turn> fetch_orchestration_item(const store::Hub& hub, const TurnRequest& request,
                                             pg::Clock* clock);

// The lock of a turn, held, if the token opens it. fault says why not.
struct HeldTurn {
    std::optional<store::InstanceLock> lock;
    core::LeaseFault fault;
    int64 locked_until;
};
HeldTurn hold_turn(const store::Hub& hub, std::optional<std::string_view> token, pg::Clock* clock);

// Arguments of an ack, as they came.
struct AckArgs {
    std::optional<std::string_view> token;
    std::optional<int64> now;
    std::optional<int64> execution_id;
    Jsonb* history_delta;
    Jsonb* worker_items;
    Jsonb* orchestrator_items;
    Jsonb* metadata;
    Jsonb* cancelled_activities;
};
void ack_orchestration_item(const store::Hub& hub, const AckArgs& args);

std::string_view abandon_orchestration_item(const store::Hub& hub,
                                            std::optional<std::string_view> token,
                                            std::optional<int64> delay_ms, bool ignore_attempt,
                                            pg::Clock* clock);
void renew_orchestration_item_lock(const store::Hub& hub, std::optional<std::string_view> token,
                                   const Extension& extension, pg::Clock* clock);

// A checked history delta: parallel arrays, and the parsed events.
struct CheckedEvents {
    std::size_t count;
    int64 lowest_id;
    int64 repeated;  // ids that stand more than once in the delta
    store::NewEvents rows;
    const core::json::Value* events;
    const std::string_view* own_types;  // what an event says itself; "" if that cannot be read
};
CheckedEvents checked_events(const char* path, Jsonb* value);

// Inserts checked events. Raises QB005 for a duplicate.
void append_events(const store::Hub& hub, std::string_view instance_id, int64 execution_id,
                   const CheckedEvents& events, int64 now);

void append_history(const store::Hub& hub, std::string_view instance_id, int64 execution_id,
                    const CheckedEvents& events);

// What clients read of an instance.
std::optional<store::CustomStatus> get_custom_status(const store::Hub& hub,
                                                     std::string_view instance_id);
std::optional<std::string_view> get_kv_value(const store::Hub& hub, std::string_view instance_id,
                                             std::string_view key);
store::Rows get_kv_all_values(const store::Hub& hub, std::string_view instance_id);

// Reads of history.
store::Rows fetch_history(const store::Hub& hub, std::string_view instance_id,
                          std::optional<int64> execution_id);
store::Rows read_history(const store::Hub& hub, std::string_view instance_id,
                         std::optional<int64> execution_id, std::optional<int64> after_event_id,
                         std::optional<int32> limit);

}  // namespace belay::ops
