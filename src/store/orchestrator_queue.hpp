// Table orchestrator_queue: messages to instances.
//
// A message is leased by the lock of its instance: lock_no ties it to the lock's row. A parked
// message belongs to an instance that never started; it is out of the claim index and found by key
// only.
#pragma once

#include "core/work_item.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/table/tables.hpp"

namespace belay::store {

struct NewMessage {
    std::string_view instance_id;
    std::string_view work_item;
    core::ItemKind kind;
    int64 visible_at;  // ms
    int64 created_at;  // ms
};

// Inserts a message with the next id and returns the id.
int64 insert_message(Tables& tables, const NewMessage& message);

// The pin of an instance's current execution; absent if there is none.
struct Pin {
    int32 major;
    int32 minor;
    int32 patch;

    auto operator<=>(const Pin&) const = default;
};

// A message whose instance a fetch may try.
struct WaitingMessage {
    int16 slot;
    int64 visible_at;  // microseconds as stored: the place in the claim order
    int64 id;
    std::string_view instance_id;
    std::optional<ItemPointerData> lock_row;  // where the instance's lock row was seen
    std::optional<std::string_view> name;     // of an instance that has a row
    std::optional<Pin> pin;
};

// Up to limit visible messages per slot, in the order (visible_at, id) behind the given place,
// without those of instances whose lock is live. Names and pins only if they are asked for. The
// queue and the locks are opened with that mode: a fetch is going to write.
std::span<const WaitingMessage> peek_messages(Tables& tables, std::span<const int16> slots,
                                              int64 after_visible_at, int64 after_id,
                                              const pg::Clock& clock, bool with_instances,
                                              int limit, LOCKMODE mode);

// Looks for messages in gaps that were not looked at for so long; returns how many were found.
int64 repair_message_gaps(Tables& tables, int64 age_ms);

// What a fetch needs to know of a message before it reads its text.
struct BatchMessage {
    int64 id;
    int64 bytes;
    int32 attempt;
    ItemPointerData row;  // where it was seen
};

// The visible messages of an instance in the order of their ids behind the given one, up to limit.
std::span<const BatchMessage> visible_messages(Tables& tables, std::string_view instance_id,
                                               int64 now, int64 after_id, int64 limit);

// A message that starts an instance.
struct StartMessage {
    int64 id;
    std::string_view work_item;
};

// What has come for an instance that has no row yet.
struct Arrivals {
    std::optional<StartMessage> start;  // the first that is visible
    bool start_queued;                  // visible or hidden
    bool others_queued;                 // visible ones that are no queue messages
};
Arrivals read_arrivals(Tables& tables, std::string_view instance_id, int64 now);
bool has_start(Tables& tables, std::string_view instance_id);

// A leased message.
struct LeasedMessage {
    int64 id;
    int32 attempt;
    std::string_view work_item;
};

// Leases these messages for a lock, in the order of their ids; leaves out those that another
// transaction holds.
std::span<const LeasedMessage> lease_messages(Tables& tables, std::string_view instance_id,
                                              std::span<const BatchMessage> messages,
                                              int64 lock_no);

// Deletes the messages that a lock leased; waits for transactions that have one.
void delete_leased(Tables& tables, int64 instance_key, int64 lock_no, int64 now);

// Gives the messages that a lock leased back; waits likewise.
void release_leased(Tables& tables, int64 instance_key, int64 lock_no, bool ignore_attempt,
                    std::optional<int64> visible_at);

// Deletes the visible queue messages of an instance that never started, without those that another
// transaction holds; none if its start has come meanwhile.
void drop_queue_messages(Tables& tables, std::string_view instance_id, int64 now);

// Takes the visible messages of an instance that never started out of the claim index.
void park_messages(Tables& tables, std::string_view instance_id, int64 now);

// Puts them back. False if there were none.
bool unpark_messages(Tables& tables, std::string_view instance_id);

// The same, waiting for calls that are setting messages of the instance aside; not those of this
// lock.
void settle_parked(Tables& tables, std::string_view instance_id, int64 lock_no);

// Moves a message that was leased too often to dead_letters. False if another transaction holds it.
bool dead_letter_message(Tables& tables, std::string_view instance_id, int64 id, int64 now);

// ---- In sets, by SQL: message_lists.cpp ----

// Instances with parked messages older than an instant, one for each message, oldest first.
std::span<const std::string_view> orphaned_instances(const Hub& hub, int64 created_before,
                                                     int64 limit);

// Instances without a row among the oldest messages that no fetch has set aside, in each slot.
std::span<const std::string_view> unmet_orphans(const Hub& hub, std::span<const int16> slots,
                                                int64 created_before, int64 messages);

// Moves the messages of an instance that are older than an instant to dead_letters, reason orphan;
// leaves out those that another transaction holds. Returns how many went.
int64 dead_letter_orphans(const Hub& hub, std::string_view instance_id, int64 created_before,
                          int64 now);

// Gives every message the slot that a new slot_count asks for.
void reslot_messages(const Hub& hub, int32 slot_count);

}  // namespace belay::store
