// The provider interface: the worker queue and the turns of orchestrations, for authors of
// runtimes.
//
// Applications use Worker (worker.hpp), Dispatcher (dispatcher.hpp) or Runtime (runtime.hpp)
// instead. Work items, messages and events are JSON that the hub stores byte for byte, so they are
// text here. docs/provider.md describes the calls; lock tokens are what they call a lease.
//
// Thread-safety: none; as the hub's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"
#include "belay/orchestrations.hpp"

namespace belay {

// ---- Worker queue. ----

// A leased item.
struct WorkItem {
    std::string work_item;  // JSON, as it was enqueued
    std::string lock_token;
    int attempt = 0;
};

struct NewWorkItem {
    std::string work_item;  // JSON; stored byte for byte
    OptionalText instance_id = {};
    OptionalNumber execution_id = {};
    OptionalNumber activity_id = {};
    OptionalText session_id = {};
    OptionalText tag = {};
    std::optional<Milliseconds> delay = {};  // of enqueue_worker_items only
};

// Which items a fetch takes, by their tags.
enum class TagMode { kDefaultOnly, kTags, kDefaultAnd, kAny, kNone, kOther };
template <>
struct Words<TagMode> {
    static constexpr std::string_view kTexts[] = {"default_only", "tags", "default_and", "any",
                                                  "none"};
};

struct FetchOptions {
    Milliseconds lock_timeout{30000};
    OptionalText owner_id = {};
    std::optional<Milliseconds> session_lock_timeout = {};
    std::optional<std::vector<std::string>> tag_filter = {};
    TagMode tag_mode = TagMode::kDefaultOnly;
    std::optional<std::vector<std::int32_t>> slots = {};
    // Of fetch_work_items only.
    int max_items = 1;
    std::optional<int> max_new_sessions = {};
};

struct Ack {
    std::string lock_token;
    OptionalText instance_id = {};
    OptionalText completion = {};  // JSON
};

struct AckResult {
    std::string lock_token;
    bool acked = false;
    OptionalText error = {};       // a SQLSTATE
    bool outcome_unknown = false;  // not acked now, but perhaps by a run whose answer was lost
};

// How the lease of a work item ends: by an ack, or by a release.
struct WorkOutcome {
    std::string lock_token;
    bool abandon = false;
    OptionalText completion = {};            // JSON; of an ack
    std::optional<Milliseconds> delay = {};  // of the rest of these
    bool ignore_attempt = false;
    OptionalText reason = {};
};

// What to lease beside what there is use for now: only if so many are ready.
struct Prefetch {
    int most = 0;
    int threshold = 1;
};

// The result of settling one of many outcomes.
struct SettledOutcome {
    OptionalText error = {};       // a SQLSTATE; none: it is settled
    OptionalText reason = {};      // the code_detail of the error
    OptionalText result = {};      // of a task: what the call of its own returns
    bool outcome_unknown = false;  // refused, but perhaps done by a run whose answer was lost
};

struct SettledWork {
    std::vector<SettledOutcome> outcomes;
    std::vector<WorkItem> items;
};

struct Renewal {
    std::string lock_token;
    bool renewed = false;
    OptionalTime locked_until = {};
    OptionalText error = {};  // a SQLSTATE
};

enum class WorkItemState { kReady, kDelayed, kLeased, kOther };
template <>
struct Words<WorkItemState> {
    static constexpr std::string_view kTexts[] = {"ready", "delayed", "leased"};
};

struct QueuedWorkItem {
    std::int64_t id = 0;
    Word<WorkItemState> state;
    std::string work_item;
    OptionalText instance_id;
    OptionalNumber execution_id;
    OptionalNumber activity_id;
    OptionalText session_id;
    OptionalText tag;
    OptionalTime visible_at;
    OptionalTime locked_until;
    OptionalText locked_by;
    int attempt = 0;
    OptionalTime created_at;
    std::string cursor;  // for the next page
};

struct ActivityKey {
    std::string instance;
    std::int64_t execution_id = 1;
    std::int64_t activity_id = 0;
};

// ---- Both queues. ----

// The queues of the provider interface, by the names that slots and items for other hubs use.
enum class ProviderQueue { kOrchestrator, kWorker, kOther };
template <>
struct Words<ProviderQueue> {
    static constexpr std::string_view kTexts[] = {"orchestrator", "worker"};
};

// ---- Turns. ----

// A leased turn of an instance.
struct Turn {
    std::string instance_id;
    std::string orchestration_name;
    std::string orchestration_version;
    std::int64_t execution_id = 0;
    OptionalText
        history;  // JSON array; none if it is larger than 64 MiB: use Orchestrations::history
    std::string messages;  // JSON array
    std::string lock_token;
    int attempt = 0;
    OptionalText kv_snapshot;  // JSON object
    // Of ack_and_fetch_turns only. The history begins behind this event, because the cache owner
    // has what comes before it; 0: it is whole.
    std::int64_t history_after = 0;
    std::int64_t last_event_id = 0;  // the greatest that is stored; 0: none
    OptionalTime locked_until = {};
    OptionalTime fetched_at = {};  // by the clock that sets locked_until
};

struct TurnOptions {
    Milliseconds lock_timeout{30000};
    OptionalNumber min_version_packed = {};
    OptionalNumber max_version_packed = {};
    std::optional<std::vector<std::int32_t>> slots = {};
    // Of ack_and_fetch_turns only.
    int max_turns = 1;              // may be 0
    OptionalText cache_owner = {};  // as in field cache of the metadata of acks
    std::optional<std::vector<std::string>> names = {};  // only these orchestrations
};

struct NewEvent {
    std::int64_t event_id = 0;
    std::string event_data;  // JSON object; stored byte for byte
    OptionalText event_type = {};
};

// What a turn decided.
struct Decision {
    std::int64_t execution_id = 1;
    std::vector<NewEvent> history_delta = {};
    std::vector<std::string> worker_items = {};        // JSON objects
    std::vector<std::string> orchestrator_items = {};  // JSON objects
    std::string metadata = "{}";                       // JSON object
    std::vector<ActivityKey> cancelled_activities = {};
};

struct NewMessage {
    std::string work_item;  // JSON; stored byte for byte
    OptionalText instance_id = {};
    OptionalTime visible_at = {};  // of enqueue_orchestrator_items only
};

// ---- Waiting. ----

enum class WakeReason {
    kWork,
    kTimer,
    kLeaseExpired,
    kCancelled,
    kChanged,
    kTimeout,
    kShutdown,
    kMoved,
    kOther
};
template <>
struct Words<WakeReason> {
    static constexpr std::string_view kTexts[] = {
        "work", "timer", "lease_expired", "cancelled", "changed", "timeout", "shutdown", "moved"};
};

struct Wake {
    OptionalText queue;
    Word<WakeReason> reason;
};

// One of several turns to be committed. Both outlive the call.
struct TurnAck {
    std::string_view lock_token;
    const Decision& decision;
    // Of a turn that was run ahead (PredictedTurn); the token is then the activity's.
    OptionalNumber predicted_after = {};
};

struct AckedTurn {
    OptionalText error = {};   // a SQLSTATE; none: it is committed
    OptionalText reason = {};  // the code_detail of the error
    OptionalText message = {};
    bool outcome_unknown = false;  // refused, but perhaps done by a run whose answer was lost
};

struct AckedTurns {
    std::vector<AckedTurn> acks;
    std::vector<Turn> turns;
};

// hub.provider()
class Provider : public HubPart {
 public:
    using HubPart::HubPart;

    // Worker queue.
    void enqueue_worker_work(const NewWorkItem& item, Where where = Where::current());
    std::int64_t enqueue_worker_items(const std::vector<NewWorkItem>& items,
                                      Where where = Where::current());
    std::optional<WorkItem> fetch_work_item(const FetchOptions& options,
                                            Where where = Where::current());
    std::vector<WorkItem> fetch_work_items(const FetchOptions& options,
                                           Where where = Where::current());
    void ack_worker(const Ack& ack, Where where = Where::current());
    std::vector<AckResult> ack_workers(const std::vector<Ack>& acks,
                                       Where where = Where::current());
    std::optional<WorkItem> ack_and_fetch_work_item(const Ack& ack, const FetchOptions& options,
                                                    Where where = Where::current());
    // Ends many leases and fetches, in one unit; each outcome has its own fate. max_items may be 0.
    SettledWork settle_and_fetch_work_items(const std::vector<WorkOutcome>& outcomes,
                                            const FetchOptions& options,
                                            const Prefetch& prefetch = {},
                                            Where where = Where::current());
    void renew_work_item_lock(std::string_view lock_token, Milliseconds extend,
                              Where where = Where::current());
    std::vector<Renewal> renew_work_item_locks(const std::vector<std::string>& lock_tokens,
                                               Milliseconds extend, Where where = Where::current());
    // The reason is kept with the item, for its dead letter.
    void abandon_work_item(std::string_view lock_token, std::optional<Milliseconds> delay = {},
                           bool ignore_attempt = false, const OptionalText& reason = {},
                           Where where = Where::current());
    std::int64_t renew_session_lock(const std::vector<std::string>& owner_ids, Milliseconds extend,
                                    Milliseconds idle_timeout, Where where = Where::current());
    std::int64_t cleanup_orphaned_sessions(Where where = Where::current());
    std::int64_t cancel_activities(const std::vector<ActivityKey>& activities,
                                   Where where = Where::current());
    std::vector<QueuedWorkItem> list_work_items(const Json& filter = Json::object(),
                                                const OptionalText& after = {}, int limit = 100,
                                                Where where = Where::current());
    std::vector<FetchReason> explain_work_item(std::int64_t id, Where where = Where::current());

    // Turns.
    void enqueue_orchestrator_work(const NewMessage& message, Where where = Where::current());
    std::int64_t enqueue_orchestrator_items(const std::vector<NewMessage>& messages,
                                            Where where = Where::current());
    std::optional<Turn> fetch_orchestration_item(const TurnOptions& options,
                                                 Where where = Where::current());
    // Commits many turns and fetches others, in one unit; each ack has its own fate.
    AckedTurns ack_and_fetch_turns(const std::vector<TurnAck>& acks, const TurnOptions& options,
                                   Where where = Where::current());
    void ack_orchestration_item(std::string_view lock_token, const Decision& decision,
                                Where where = Where::current());
    void renew_orchestration_item_lock(std::string_view lock_token, Milliseconds extend,
                                       Where where = Where::current());
    // The instance id; none if the answer to an earlier run was lost.
    OptionalText abandon_orchestration_item(std::string_view lock_token,
                                            std::optional<Milliseconds> delay = {},
                                            bool ignore_attempt = false,
                                            Where where = Where::current());
    std::vector<std::string> fetch_history(std::string_view instance_id,
                                           Where where = Where::current());
    std::vector<std::string> fetch_history_with_execution(std::string_view instance_id,
                                                          std::int64_t execution_id,
                                                          Where where = Where::current());
    void append_history(std::string_view instance_id, std::int64_t execution_id,
                        const std::vector<NewEvent>& events, Where where = Where::current());

    // The share of this owner of the slots of a queue; slots: what the caller believes slot_count
    // to be. Dispatcher keeps a share.
    std::vector<std::int32_t> acquire_slots(std::string_view owner,
                                            const Word<ProviderQueue>& queue,
                                            std::optional<int> slots = {},
                                            Milliseconds lease = Milliseconds(30000),
                                            Where where = Where::current());
    void release_slots(std::string_view owner, const Word<ProviderQueue>& queue,
                       Where where = Where::current());
    // Binds the caller's transaction to a lease: its commit fails with lock_lost() if the lease is
    // lost by then.
    void guard(std::string_view lock_token, Where where = Where::current());
    // Sends an item to a queue of another hub, exactly once. Returns the id of the intent.
    std::int64_t send_to_hub(std::string_view target_hub, const Word<ProviderQueue>& queue,
                             std::string_view work_item, OptionalTime visible_at = {},
                             Where where = Where::current());

    // Waits until there may be work on one of the queues. Not inside a transaction. With an
    // interrupt: comes back with nothing once it is signalled.
    Wake wait_for_work(const std::vector<std::string>& queues, Milliseconds timeout,
                       Where where = Where::current());
    std::optional<Wake> wait_for_work(const std::vector<std::string>& queues, Milliseconds timeout,
                                      const Interrupt& interrupt, Where where = Where::current());
};

}  // namespace belay
