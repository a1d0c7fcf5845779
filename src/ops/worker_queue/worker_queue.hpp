// Operations of the worker queue: enqueue, fetch, ack, renew, abandon, sessions, dead letters.
#pragma once

#include "core/lease.hpp"
#include "core/tags.hpp"
#include "core/token.hpp"
#include "ops/enter.hpp"
#include "ops/input.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/plan.hpp"
#include "store/worker_queue.hpp"

namespace belay::ops {

// What a caller says about an activity besides its text. What is absent is taken from the text.
struct ActivityArgs {
    std::optional<std::string_view> instance_id;
    std::optional<int64> execution_id;
    std::optional<int64> activity_id;
    std::optional<std::string_view> session_id;
    std::optional<std::string_view> tag;
};

// A checked activity, ready to be inserted.
struct CheckedActivity {
    std::string_view work_item;
    ActivityArgs args;
};

// Reads and checks an item for the worker queue. place is the item's; prefix stands before the
// names of the arguments in error paths.
CheckedActivity checked_activity(const Item& item, const ActivityArgs& args, const Path& place,
                                 const Path& prefix);

// Inserts a checked activity, visible at an instant. The worker queue has been entered.
void enqueue_activity(const store::Hub& hub, const CheckedActivity& activity, int64 now,
                      int64 visible_at);

void enqueue_worker_work(const store::Hub& hub, const CheckedActivity& activity, pg::Clock* clock);
// Several, visible at once.
void enqueue_activities(const store::Hub& hub, std::span<const CheckedActivity> activities,
                        pg::Clock* clock);
int64 enqueue_worker_items(const store::Hub& hub, const JsonArray& items, std::optional<int64> now);

// What a fetch may take.
struct FetchRequest {
    int64 lock_timeout_ms;
    std::optional<std::string_view> owner;
    int64 session_timeout_ms;
    core::TagMode mode;
    std::span<const Datum> tags;  // 0 for NULL
    SlotFilter slots;
    int max_items;
    std::optional<int32> max_new_sessions;
};

// Leases up to max_items activities in the order of FW-3.
store::LeasedRows fetch_work_items(const store::Hub& hub, const FetchRequest& request,
                                   pg::Clock* clock);

// Whether the row that a token leads to may have a session: its lane is odd then.
inline bool names_session(const std::optional<core::WorkToken>& token) {
    return token && (token->lane & 1) != 0;
}

// The error of a function for a lost lease: its message differs by function.
[[noreturn]] void raise_lock_lost(const char* message, std::string_view token,
                                  core::LeaseFault fault, int64 locked_until);

// The row of a token, held, if the token opens it. fault says why not.
struct HeldWork {
    std::optional<store::WorkRow> row;
    core::LeaseFault fault;
    int64 locked_until;
};
HeldWork hold_work(const store::Hub& hub, std::optional<std::string_view> token, pg::Clock* clock);

void ack_worker(const store::Hub& hub, std::optional<std::string_view> token,
                std::optional<Completion> completion, pg::Clock* clock);

struct AckResult {
    std::optional<std::string_view> token;
    bool acked;
};
std::span<const AckResult> ack_workers(const store::Hub& hub, const JsonArray& acks,
                                       std::optional<int64> now);

void renew_work_item_lock(const store::Hub& hub, std::optional<std::string_view> token,
                          const Extension& extension, pg::Clock* clock);

struct RenewResult {
    std::optional<std::string_view> token;
    bool renewed;
    int64 locked_until;
};
std::span<const RenewResult> renew_work_item_locks(const store::Hub& hub,
                                                   std::span<const Datum> tokens, int64 extend_ms,
                                                   pg::Clock* clock);

// The reason is kept with the item, and gets into its dead letter.
void abandon_work_item(const store::Hub& hub, std::optional<std::string_view> token,
                       std::optional<int64> delay_ms, bool ignore_attempt,
                       std::optional<std::string_view> reason, pg::Clock* clock);

// Extends the live sessions of these owners (0 for NULL) that were active within the idle timeout.
int64 renew_session_lock(const store::Hub& hub, std::span<const Datum> owners, int64 extend_ms,
                         int64 idle_timeout_ms, pg::Clock* clock);

// Notes activity of the session of a row that was acked or renewed, if its owner still has it.
void touch_session(const store::Hub& hub, const store::WorkRow& row, pg::Clock* clock);

// Deletes expired sessions without any activity.
int64 cleanup_orphaned_sessions(const store::Hub& hub, pg::Clock* clock);

// Deletes activities by identity, leased or not; returns how many rows went.
int64 cancel_activities(const store::Hub& hub, const JsonArray& activities);

// Moves a row that may not be leased again to dead_letters, and tells its orchestration.
void bury_work_item(const store::Hub& hub, const store::WorkKey& key, int32 attempts, int64 now);

// One page of the worker queue, in the columns of list_work_items.
store::Rows list_work_items(const store::Hub& hub, core::json::Value filter,
                            std::optional<std::string_view> after, int limit,
                            std::optional<int64> now);

// One page of dead letters, by id ascending, in the columns of the table.
store::Rows list_dead_letters(const store::Hub& hub, std::optional<std::string_view> queue,
                              std::optional<std::string_view> reason,
                              std::optional<std::string_view> instance_id, int64 after, int limit);

int64 redrive_dead_letter(const store::Hub& hub, int64 id);
int64 redrive_dead_letters(const store::Hub& hub, core::json::Value filter);
void discard_dead_letter(const store::Hub& hub, int64 id);

}  // namespace belay::ops
