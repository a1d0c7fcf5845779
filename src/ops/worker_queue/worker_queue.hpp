// Operations of the worker queue: enqueue, fetch, ack, renew, abandon, sessions, dead letters.
#pragma once

#include "core/lease.hpp"
#include "core/tags.hpp"
#include "core/token.hpp"
#include "ops/enter.hpp"
#include "ops/input.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/plan.hpp"
#include "store/table/tables.hpp"
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
    std::string_view unknown_kind;  // of an item of a kind that belay does not know; else empty
};

// Reads and checks an item for the worker queue. place is the item's; prefix stands before the
// names of the arguments in error paths.
CheckedActivity checked_activity(const Item& item, const ActivityArgs& args, const Path& place,
                                 const Path& prefix);

// Inserts a checked activity, visible at an instant. The worker queue has been entered.
void enqueue_activity(store::Tables& tables, const CheckedActivity& activity, int64 now,
                      int64 visible_at);

void enqueue_worker_work(store::Tables& tables, const CheckedActivity& activity, pg::Clock* clock);
// Several, visible at once.
void enqueue_activities(store::Tables& tables, std::span<const CheckedActivity> activities,
                        pg::Clock* clock);
int64 enqueue_worker_items(store::Tables& tables, const JsonArray& items, std::optional<int64> now);

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
store::LeasedRows fetch_work_items(store::Tables& tables, const FetchRequest& request,
                                   pg::Clock* clock);

// Whether at least so many rows are free that the request could get, its new sessions included.
// Changes and holds nothing. If it serves every tag, it looks at the first lanes only.
bool has_ready_work(store::Tables& tables, const FetchRequest& request, pg::Clock* clock,
                    int threshold);

// Whether the row that a token leads to may have a session: its lane is odd then.
inline bool names_session(const std::optional<core::WorkToken>& token) {
    return token && (token->lane & 1) != 0;
}

// The row of a token, held, if the token opens it. fault says why not.
struct HeldWork {
    std::optional<store::WorkRow> row;
    core::LeaseFault fault;
    int64 locked_until;
};
HeldWork hold_work(store::Tables& tables, std::optional<std::string_view> token, pg::Clock* clock);

void ack_worker(store::Tables& tables, std::optional<std::string_view> token,
                std::optional<Completion> completion, pg::Clock* clock);

// Deletes the row of a live lease, or says why the lease is lost. A lease that no other transaction
// holds goes in one step; else the row is waited for, to find out what is wrong.
HeldWork delete_or_hold(store::Tables& tables, std::optional<std::string_view> token,
                        const std::optional<core::WorkToken>& parsed, pg::Clock* clock);

// Gives the row back that hold_work returned.
void release_held(store::Tables& tables, const HeldWork& held, std::optional<int64> delay_ms,
                  bool ignore_attempt, std::optional<std::string_view> reason, pg::Clock* clock);

void send_completion(store::Tables& tables, const Completion& completion, int64 now);

enum class OutcomeKind : uint8 { kAck, kAbandon };

// How a lease ends, and what has become of that.
struct WorkOutcome {
    std::optional<std::string_view> token;
    OutcomeKind kind;
    std::optional<Completion> completion;  // of an ack
    std::optional<int64> delay_ms;         // of an abandon, as the two below
    bool ignore_attempt;
    std::optional<std::string_view> reason;
    const char* refused;     // why it is not tried, as a word; null: it is
    core::LeaseFault fault;  // why its lease is lost
    bool delivered;          // its completion is in a turn that the same call commits

    bool is_settled() const { return refused == nullptr && fault == core::LeaseFault::kNone; }
};

// Ends the leases in one unit. One that is lost is reported in its fault and undoes nothing.
void settle_work(store::Tables& tables, std::span<WorkOutcome> outcomes, pg::Clock* clock);
// Its two parts: the leases, and the completions of those that were held and are not delivered.
void end_work_leases(store::Tables& tables, std::span<WorkOutcome> outcomes, pg::Clock* clock);
void send_completions(store::Tables& tables, std::span<const WorkOutcome> outcomes, int64 now);

std::span<const WorkOutcome> ack_workers(store::Tables& tables, const JsonArray& acks,
                                         std::optional<int64> now);

void renew_work_item_lock(store::Tables& tables, std::optional<std::string_view> token,
                          const Extension& extension, pg::Clock* clock);

struct RenewResult {
    std::optional<std::string_view> token;
    bool renewed;
    int64 locked_until;
};
std::span<const RenewResult> renew_work_item_locks(store::Tables& tables,
                                                   std::span<const Datum> tokens, int64 extend_ms,
                                                   pg::Clock* clock);

// The reason is kept with the item, and gets into its dead letter.
void abandon_work_item(store::Tables& tables, std::optional<std::string_view> token,
                       std::optional<int64> delay_ms, bool ignore_attempt,
                       std::optional<std::string_view> reason, pg::Clock* clock);

// Extends the live sessions of these owners (0 for NULL) that were active within the idle timeout.
int64 renew_session_lock(store::Tables& tables, std::span<const Datum> owners, int64 extend_ms,
                         int64 idle_timeout_ms, pg::Clock* clock);

// Notes activity of the session of a row that was acked or renewed, if its owner still has it.
void touch_session(store::Tables& tables, const store::WorkRow& row, pg::Clock* clock);

// Deletes expired sessions without any activity.
int64 cleanup_orphaned_sessions(store::Tables& tables, pg::Clock* clock);

// An activity by its identity.
struct ActivityIdentity {
    std::string_view instance;
    int64 execution_id;
    int64 activity_id;
};
// Reads the elements of p_cancelled_activities.
std::span<const ActivityIdentity> checked_identities(const JsonArray& activities);
// Deletes activities, leased or not; returns how many rows went.
int64 cancel_activities(store::Tables& tables, std::span<const ActivityIdentity> activities);
// The same for a caller of level operator: writes the event activities_cancelled.
int64 cancel_activities_as_operator(store::Tables& tables,
                                    std::span<const ActivityIdentity> activities);

// Moves a row that may not be leased again to dead_letters, and notifies its orchestration.
void dead_letter_work_item(store::Tables& tables, const store::WorkKey& key, int32 attempts,
                           int64 now);

// One page of the worker queue, in the columns of list_work_items.
store::Listing list_work_items(store::Tables& tables, core::json::Value filter,
                               std::optional<std::string_view> after, int limit,
                               std::optional<int64> now);

// One page of dead letters, by id ascending, in the columns of the table.
store::Listing list_dead_letters(store::Tables& tables, std::optional<std::string_view> queue,
                                 std::optional<std::string_view> reason,
                                 std::optional<std::string_view> instance_id, int64 after,
                                 int limit);

int64 redrive_dead_letter(store::Tables& tables, int64 id);
void discard_dead_letter(store::Tables& tables, int64 id);
// Put back or delete one portion of a list (BulkArguments in ops/browse/page.hpp).
struct BulkArguments;
Jsonb* redrive_dead_letters(store::Tables& tables, const BulkArguments& arguments);
Jsonb* discard_dead_letters(store::Tables& tables, const BulkArguments& arguments);

}  // namespace belay::ops
