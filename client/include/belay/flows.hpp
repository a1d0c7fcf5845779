// Flows: directed acyclic graphs of tasks.
//
//     hub.flows().create({.tasks = {{.key = "fetch", .task = {.queue = "io"}},
//                                   {.key = "small", .task = {.queue = "img"}, .after = {"fetch"}},
//                                   {.key = "large", .task = {.queue = "img"}, .after = {"fetch"}},
//                                   {.key = "notify",
//                                    .task = {.queue = "io"},
//                                    .after = {"small", "large"},
//                                    .join = belay::FlowJoin::quorum(1)}}});
//
// Calls that let a flow grow are not repeated after a lost connection, unless they add a task that
// exists and expect no revision.
//
// Thread-safety: none; as the hub's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/tasks.hpp"

namespace belay {

enum class JoinKind { kAllOf, kAnyOf, kQuorum, kOther };
template <>
struct Words<JoinKind> {
    static constexpr std::string_view kTexts[] = {"all_of", "any_of", "quorum"};
};

// What becomes of the tasks that a join no longer needs.
enum class OnSatisfied { kCancelRemaining, kLetRun, kOther };
template <>
struct Words<OnSatisfied> {
    static constexpr std::string_view kTexts[] = {"cancel_remaining", "let_run"};
};

// How the edges into a task are joined.
struct FlowJoin {
    JoinKind kind = JoinKind::kAllOf;
    std::optional<int> k = {};                     // of a quorum
    std::optional<OnSatisfied> on_satisfied = {};  // not of kAllOf

    static FlowJoin any_of(std::optional<OnSatisfied> on_satisfied = {}) {
        return {JoinKind::kAnyOf, {}, on_satisfied};
    }
    static FlowJoin quorum(int k, std::optional<OnSatisfied> on_satisfied = {}) {
        return {JoinKind::kQuorum, k, on_satisfied};
    }
};

// The task that another one comes after, and the name under which that gets its result.
struct FlowEdge {
    std::string key;
    OptionalText pass_as;

    FlowEdge(const char* upstream) : key(upstream) {}
    FlowEdge(std::string upstream) : key(std::move(upstream)) {}
    FlowEdge(std::string upstream, std::string name)
        : key(std::move(upstream)), pass_as(std::move(name)) {}
};

// A task of a flow.
struct FlowItem {
    std::string key;  // its name in the flow
    NewTask task;     // without a key of its own
    std::vector<FlowEdge> after = {};
    std::optional<FlowJoin> join = {};  // of all edges otherwise
    bool hold = false;                  // waits until the flow is sealed
};

enum class FailPolicy { kContinue, kFailFast, kOther };
template <>
struct Words<FailPolicy> {
    static constexpr std::string_view kTexts[] = {"continue", "fail_fast"};
};

enum class FlowState { kOpen, kRunning, kCompleted, kFailed, kCancelled, kOther };
template <>
struct Words<FlowState> {
    static constexpr std::string_view kTexts[] = {"open", "running", "completed", "failed",
                                                  "cancelled"};
};

struct NewFlow {
    // With an id the call may be repeated: the flow is created once.
    std::optional<Uuid> id = {};  // one is made up otherwise
    std::string kind = {};
    std::optional<Json> headers = {};  // an object
    FailPolicy fail_policy = FailPolicy::kContinue;
    bool seal = true;  // false: it can grow
    std::vector<FlowItem> tasks = {};
};

struct CreatedFlow {
    Uuid id;
    Word<FlowState> state;
    std::int64_t revision = 0;
    bool created = false;  // false: it existed before, or a run whose answer was lost has made it
    std::map<std::string, Uuid> task_ids;  // by key
};

struct AddedTask {
    bool added = false;  // false: it was a member before
    Uuid id;
    Word<TaskState> state;
    std::int64_t revision = 0;
    std::int64_t node_count = 0;
};

enum class EdgeState { kPending, kSatisfied, kImpossible, kOther };
template <>
struct Words<EdgeState> {
    static constexpr std::string_view kTexts[] = {"pending", "satisfied", "impossible"};
};

struct AddedEdge {
    Word<EdgeState> edge_state;
    Word<TaskState> downstream_state;
    int unsatisfied = 0;
    std::int64_t revision = 0;
};

struct SetJoin {
    bool set = false;  // false: the task had this join before
    std::int64_t revision = 0;
};

struct SealedFlow {
    Word<FlowState> state;
    std::int64_t revision = 0;
};

enum class CancelPolicy { kCancelAll, kCancelPending, kFlowOnly, kOther };
template <>
struct Words<CancelPolicy> {
    static constexpr std::string_view kTexts[] = {"cancel_all", "cancel_pending", "flow_only"};
};

struct FlowCancel {
    std::string reason = {};
    CancelPolicy policy = CancelPolicy::kCancelAll;
    Milliseconds grace{30000};  // for workers to say that they have stopped
    std::string requester = {};
};

struct CancelledFlow {
    bool cancelled = false;  // false: it had ended before
    std::optional<Word<CancelPolicy>> policy;
    OptionalText reason;
    std::int64_t member_count = 0;
    std::vector<Uuid> member_ids;
};

struct FlowInfo {
    Uuid id;
    std::string kind;
    Word<FlowState> state;
    bool sealed = false;
    std::int64_t revision = 0;
    Word<FailPolicy> fail_policy;
    std::int64_t member_count = 0;
    std::int64_t open_count = 0;
    std::int64_t edge_count = 0;
    Json headers;
    OptionalText cancel_reason;
    OptionalTime created_at;
    OptionalTime updated_at;
    OptionalTime ended_at;
};

struct FlowFilter {
    std::vector<FlowState> states = {};
    OptionalText kind = {};
    std::optional<Json> headers = {};  // those that have all of these
    OptionalTime created_from = {};
    OptionalTime created_before = {};
    std::optional<Uuid> after = {};  // the last id of the page before
    int limit = 100;

    Json json() const;
};

// A task that another one has waited for.
struct UpstreamResult {
    Uuid task_id;
    OptionalText key;
    OptionalText pass_as;
    Word<TaskState> state;
    std::optional<Json> result;
};

// hub.flows()
class Flows : public HubPart {
 public:
    using HubPart::HubPart;

    // Building.
    CreatedFlow create(const NewFlow& flow, Where where = Where::current());
    AddedTask add_task(const Uuid& flow_id, const FlowItem& item,
                       OptionalNumber expected_revision = {}, Where where = Where::current());
    AddedTask add_task(const Uuid& flow_id, const Uuid& task_id,
                       OptionalNumber expected_revision = {}, Where where = Where::current());
    AddedEdge add_edge(const Uuid& flow_id, const Uuid& upstream_id, const Uuid& downstream_id,
                       const OptionalText& pass_as = {}, OptionalNumber expected_revision = {},
                       Where where = Where::current());
    SetJoin set_join(const Uuid& flow_id, const Uuid& task_id, const FlowJoin& join,
                     OptionalNumber expected_revision = {}, Where where = Where::current());
    SealedFlow seal(const Uuid& flow_id, OptionalNumber expected_revision = {},
                    Where where = Where::current());

    // Steering and reading.
    CancelledFlow cancel(const Uuid& flow_id, const FlowCancel& cancel = {},
                         Where where = Where::current());
    // A worker says that it has stopped working on a member. Worker does it. QB001
    // already_completed if the member owes no confirmation (any more).
    void ack_cancel(const Uuid& flow_id, const Uuid& task_id, Where where = Where::current());
    bool remove(const Uuid& flow_id, Where where = Where::current());
    // All about a flow, as JSON; none if there is none.
    std::optional<Json> get(const Uuid& flow_id, Where where = Where::current());
    std::vector<FlowInfo> list(const FlowFilter& filter = {}, Where where = Where::current());
    std::vector<UpstreamResult> upstream_results(const Uuid& task_id,
                                                 Where where = Where::current());
};

}  // namespace belay
