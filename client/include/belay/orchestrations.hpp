// Orchestrations: started, steered and looked at, by clients and operators.
//
//     const std::string id = hub.orchestrations().start("ShipOrder", {{"order", 7}});
//     hub.orchestrations().raise(id, "paid");
//     const auto done = hub.orchestrations().await(id, 30s);
//
// Code runs them with belay/runtime.hpp; the calls of a runtime are in belay/provider.hpp. Inputs,
// outputs and values of histories are stored as text: where it is not JSON, it is read as a string.
//
// Thread-safety: none; as the hub's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

enum class InstanceStatus { kRunning, kCompleted, kFailed, kContinuedAsNew, kOther };
template <>
struct Words<InstanceStatus> {
    static constexpr std::string_view kTexts[] = {"Running", "Completed", "Failed",
                                                  "ContinuedAsNew"};
};

struct StartOptions {
    OptionalText instance_id = {};  // one is made up otherwise
    OptionalText version = {};
    Milliseconds delay{0};
};

enum class InstanceState { kRunning, kCompleted, kFailed, kOther };
template <>
struct Words<InstanceState> {
    static constexpr std::string_view kTexts[] = {"running", "completed", "failed"};
};

struct InstanceResult {
    Word<InstanceState> state;
    std::optional<Json> result;  // an output that is no JSON comes as a string

    bool ended() const { return state != InstanceState::kRunning; }
};

struct InstanceFilter {
    std::optional<InstanceStatus> status = {};
    OptionalText name = {};
    OptionalText prefix = {};
    OptionalTime created_from = {};
    OptionalTime created_before = {};
    OptionalText after = {};  // the last id of the page before
    std::optional<int> limit = {};
};

struct InstanceInfo {
    std::string instance_id;
    OptionalText orchestration_name;
    OptionalText orchestration_version;
    OptionalNumber current_execution_id;
    OptionalTime created_at;
    OptionalTime updated_at;
    std::optional<Word<InstanceStatus>> status;
    OptionalText output;  // text, as the orchestration returned it
    OptionalText parent_instance_id;
};

// Started, and no dispatcher has picked it up yet.
struct PendingStart {
    std::string instance_id;
    OptionalText orchestration_name;
    OptionalText orchestration_version;
    OptionalTime visible_at;
    OptionalTime created_at;
    int attempt = 0;
};

struct ExecutionInfo {
    std::int64_t execution_id = 0;
    std::optional<Word<InstanceStatus>> status;
    OptionalText output;
    OptionalTime started_at;
    OptionalTime completed_at;
    std::int64_t event_count = 0;
};

struct InstanceStats {
    std::int64_t history_event_count = 0;
    std::int64_t history_size_bytes = 0;
    std::int64_t queue_pending_count = 0;
    std::int64_t kv_user_key_count = 0;
    std::int64_t kv_total_value_bytes = 0;
};

struct HistoryEvent {
    std::int64_t execution_id = 0;
    std::int64_t event_id = 0;
    OptionalText event_type;
    std::string event_data;  // byte for byte as it was stored
    OptionalTime created_at;
};

struct CustomStatus {
    OptionalText value;
    std::int64_t version = 0;
};

struct KeyValue {
    std::string key;
    OptionalText value;
};

struct TreeNode {
    std::string instance_id;
    OptionalText parent_instance_id;
    int depth = 0;
};

// Why a turn of an instance, or a work item, is not fetched.
enum class FetchCase {
    kFetchable,
    kNotFound,
    kPaused,
    kLocked,
    kLeased,
    kInTransaction,
    kVersionFilter,
    kNoMessages,
    kNotVisible,
    kStartHidden,
    kNeverStarted,
    kSessionHeld,
    kTagNeeded,
    kDeadLettered,
    kOther
};
template <>
struct Words<FetchCase> {
    static constexpr std::string_view kTexts[] = {
        "fetchable",      "not_found",      "paused",      "locked",       "leased",
        "in_transaction", "version_filter", "no_messages", "not_visible",  "start_hidden",
        "never_started",  "session_held",   "tag_needed",  "dead_lettered"};
};

struct FetchReason {
    Word<FetchCase> reason;
    OptionalText detail;
    OptionalTime until;
};

struct Deleted {
    std::int64_t instances = 0;
    std::int64_t executions = 0;
    std::int64_t events = 0;
    std::int64_t queue_messages = 0;
};

struct Pruned {
    std::int64_t instances_processed = 0;
    std::int64_t executions_deleted = 0;
    std::int64_t events_deleted = 0;
};

// hub.orchestrations()
class Orchestrations : public HubPart {
 public:
    using HubPart::HubPart;

    // The id of the instance. One that exists is not started again.
    std::string start(std::string_view orchestration, const Json& input = nullptr,
                      const StartOptions& options = {}, Where where = Where::current());
    // As start(), with an input that is any text.
    std::string start_text(std::string_view orchestration, std::string_view input,
                           const StartOptions& options = {}, Where where = Where::current());
    void raise(std::string_view instance_id, std::string_view event, const Json& data = nullptr,
               Where where = Where::current());
    // As raise(), with any text; queued: for an orchestration that reads events from a queue.
    void raise_text(std::string_view instance_id, std::string_view event,
                    std::string_view data = "", bool queued = false,
                    Where where = Where::current());
    // Asks the instance to end: its next turn sees the cancellation. False: it had ended already.
    bool terminate(std::string_view instance_id, std::string_view reason = "",
                   Where where = Where::current());
    // As terminate(), for an instance that need not exist yet.
    void cancel(std::string_view instance_id, std::string_view reason = "",
                Where where = Where::current());
    // Waits until the instance has ended, at most for the timeout, and returns how it is then. Not
    // inside a transaction. Throws Error with not_found() if there is none.
    InstanceResult await(std::string_view instance_id, Milliseconds timeout = Milliseconds(30000),
                         Where where = Where::current());

    // Instances.
    std::vector<std::string> list_ids(const InstanceFilter& filter = {},
                                      Where where = Where::current());
    std::vector<InstanceInfo> list(const InstanceFilter& filter = {},
                                   Where where = Where::current());
    std::optional<InstanceInfo> get(std::string_view instance_id, Where where = Where::current());
    std::optional<InstanceStats> stats(std::string_view instance_id,
                                       Where where = Where::current());
    // Of one instance, or of all: those that were started first.
    std::vector<PendingStart> pending_starts(const OptionalText& instance_id = {}, int limit = 100,
                                             Where where = Where::current());
    std::vector<std::string> children(std::string_view instance_id, Where where = Where::current());
    OptionalText parent(std::string_view instance_id, Where where = Where::current());
    std::vector<TreeNode> tree(std::string_view instance_id, Where where = Where::current());
    // Why no dispatcher gets a turn of the instance.
    std::vector<FetchReason> explain(std::string_view instance_id,
                                     OptionalNumber min_version_packed = {},
                                     OptionalNumber max_version_packed = {},
                                     Where where = Where::current());

    // Executions, histories and state.
    std::vector<std::int64_t> executions(std::string_view instance_id,
                                         Where where = Where::current());
    OptionalNumber latest_execution(std::string_view instance_id, Where where = Where::current());
    std::optional<ExecutionInfo> execution(std::string_view instance_id, std::int64_t execution_id,
                                           Where where = Where::current());
    std::vector<HistoryEvent> history(std::string_view instance_id,
                                      OptionalNumber execution_id = {},
                                      OptionalNumber after_event_id = {},
                                      std::optional<int> limit = {},
                                      Where where = Where::current());
    // None: it has not changed since that version.
    std::optional<CustomStatus> custom_status(std::string_view instance_id,
                                              std::int64_t last_seen_version = 0,
                                              Where where = Where::current());
    OptionalText value(std::string_view instance_id, std::string_view key,
                       Where where = Where::current());
    std::vector<KeyValue> values(std::string_view instance_id, Where where = Where::current());

    // Cleaning up. Filters and options are those of the SQL functions.
    Deleted remove(std::string_view instance_id, bool force = false,
                   Where where = Where::current());
    Deleted remove_all(const std::vector<std::string>& instance_ids, bool force = false,
                       Where where = Where::current());
    Deleted remove_matching(const Json& filter, Where where = Where::current());
    Pruned prune(std::string_view instance_id, std::optional<int> keep_last = {},
                 OptionalTime completed_before = {}, Where where = Where::current());
    Pruned prune_matching(const Json& filter, const Json& options = Json::object(),
                          Where where = Where::current());
};

}  // namespace belay
