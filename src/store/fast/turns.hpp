// The hot statements of orchestrations, without SQL: messages, the locks of turns, what a turn
// reads of its instance, and what it writes. The same results, row states and locks.
//
// Each tries whether its table can be accessed directly. No value of the outer optional, or false
// of a try_…, means that it cannot: SQL serves then.
#pragma once

#include "pg/queue_gaps.hpp"
#include "store/fast/lend.hpp"
#include "store/history.hpp"
#include "store/instance_locks.hpp"
#include "store/instances.hpp"
#include "store/orchestrator_queue.hpp"

namespace belay::store::direct {

// ---- orchestrator_queue ----

struct MessageRow {
    int64 instance_key;
    int64 id;
    int16 slot;
    char kind;
    std::optional<std::string_view> parent_id;
};
bool try_insert_message(const Hub& hub, const MessageRow& row, const NewMessage& message);

// The gaps of a slot's messages, and the place of one in the claim order; visible_at as stored.
pg::GapKey message_gaps(const Hub& hub, int16 slot);
inline core::QueuePlace message_place(TimestampTz visible_at, int64 id) {
    return {{core::ordered(visible_at), core::ordered(id), 0, 0}};
}
// Looks for messages in gaps that were not looked at for so long; returns how many were found.
int64 repair_message_gaps(const Hub& hub, int64 age_ms);

// Messages in the claim order behind a place, without those of instances whose lock is live.
Answer<std::span<const WaitingMessage>> peek_messages(const Hub& hub, std::span<const int16> slots,
                                                      int64 after_visible_at, int64 after_id,
                                                      int64 now, bool with_pins, int limit);
Answer<std::span<const BatchMessage>> visible_messages(const Hub& hub, std::string_view instance_id,
                                                       int64 now, int64 after_id, int64 limit);
Answer<std::span<const LeasedMessage>> lease_messages(const Hub& hub, std::string_view instance_id,
                                                      std::span<const int64> ids, int64 lock_no);
// Deletes the messages of a lock; whether others are there that can be seen.
Answer<bool> delete_leased(const Hub& hub, int64 instance_key, int64 lock_no, int64 now);

// ---- instance_locks ----

Answer<bool> try_hold_instance(const Hub& hub, std::string_view instance_id, int64 now);
Answer<std::optional<InstanceLock>> hold_turn(const Hub& hub, const core::TurnToken& token,
                                              LockWaitPolicy policy);
// The lease of a row that this transaction holds.
bool try_grant(const Hub& hub, std::string_view instance_id, const core::TurnToken& token,
               int64 now, int64 locked_until);
bool try_set_deadline(const Hub& hub, const InstanceLock& lock, int64 locked_until);
bool try_release(const Hub& hub, const InstanceLock& lock);
bool try_delete(const Hub& hub, const InstanceLock& lock);

// ---- instances, executions, history ----

Answer<std::optional<Instance>> read_instance(const Hub& hub, std::string_view instance_id);
// Whether there was a row to touch.
Answer<bool> touch_instance(const Hub& hub, std::string_view instance_id, int64 execution_id,
                            int64 now);
// Overwrites name and version of an instance that is there. False also if it is not.
bool try_rename_instance(const Hub& hub, std::string_view instance_id, std::string_view name,
                         std::string_view version, std::optional<std::string_view> parent,
                         int64 execution_id, int64 now);
bool try_upsert_execution(const Hub& hub, std::string_view instance_id, int64 execution_id,
                          const ExecutionChange& change, int64 now);
Answer<std::optional<ExecutionMark>> read_execution_mark(const Hub& hub,
                                                         std::string_view instance_id,
                                                         int64 execution_id);
// Whether an instance has rows in kv_store, for the active snapshot; in kv_delta, now.
Answer<bool> has_store(const Hub& hub, std::string_view instance_id);
Answer<bool> has_delta(const Hub& hub, std::string_view instance_id);
Answer<std::span<const StoredEvent>> read_events(const Hub& hub, std::string_view instance_id,
                                                 int64 execution_id, int64 after_event_id,
                                                 int64 limit);
Answer<bool> has_event_from(const Hub& hub, std::string_view instance_id, int64 execution_id,
                            int64 event_id);
bool try_insert_events(const Hub& hub, std::string_view instance_id, int64 execution_id,
                       const NewEvents& events, int64 now);

}  // namespace belay::store::direct
