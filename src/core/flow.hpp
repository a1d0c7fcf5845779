// The rules of a flow that need no table: states, joins, cycles.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/task.hpp"

namespace belay::core {

// ---- Flows ----

enum class FlowState : int { kOpen, kRunning, kCompleted, kFailed, kCancelled };
inline constexpr std::string_view kFlowStateNames[] = {"open", "running", "completed", "failed",
                                                       "cancelled"};

constexpr std::string_view name_of(FlowState state) {
    return kFlowStateNames[static_cast<int>(state)];
}
constexpr std::optional<FlowState> parse_flow_state(std::string_view word) {
    return parse_word<FlowState>(kFlowStateNames, word);
}
constexpr bool is_terminal(FlowState state) {
    return state >= FlowState::kCompleted;
}

// The state that the counts of a flow give, unless it was cancelled or struck.
constexpr FlowState state_by_counts(bool sealed, int64_t open_members, int64_t bad_sinks) {
    if (!sealed) {
        return FlowState::kOpen;
    }
    if (open_members > 0) {
        return FlowState::kRunning;
    }
    return bad_sinks > 0 ? FlowState::kFailed : FlowState::kCompleted;
}

// Which members a cancelled flow takes along.
enum class CancelPolicy : int { kAll, kPending, kFlowOnly };
inline constexpr std::string_view kCancelPolicyNames[] = {"cancel_all", "cancel_pending",
                                                          "flow_only"};
constexpr std::string_view name_of(CancelPolicy policy) {
    return kCancelPolicyNames[static_cast<int>(policy)];
}
constexpr std::optional<CancelPolicy> parse_cancel_policy(std::string_view word) {
    return word == "cancel_flow_only" ? CancelPolicy::kFlowOnly
                                      : parse_word<CancelPolicy>(kCancelPolicyNames, word);
}

// ---- Joins ----

enum class JoinKind : int { kAllOf, kAnyOf, kQuorum };
inline constexpr std::string_view kJoinKindNames[] = {"all_of", "any_of", "quorum"};
constexpr std::string_view name_of(JoinKind kind) {
    return kJoinKindNames[static_cast<int>(kind)];
}
constexpr std::optional<JoinKind> parse_join_kind(std::string_view word) {
    return parse_word<JoinKind>(kJoinKindNames, word);
}

struct Join {
    JoinKind kind = JoinKind::kAllOf;
    int32_t k = 0;                   // of a quorum
    bool cancels_remaining = false;  // when it is satisfied; never of all_of

    friend bool operator==(const Join&, const Join&) = default;
};

enum class GroupState : int { kOpen, kSatisfied, kImpossible };
inline constexpr std::string_view kGroupStateNames[] = {"open", "satisfied", "impossible"};
constexpr std::string_view name_of(GroupState state) {
    return kGroupStateNames[static_cast<int>(state)];
}
constexpr std::optional<GroupState> parse_group_state(std::string_view word) {
    return parse_word<GroupState>(kGroupStateNames, word);
}

// How many edges a group has, and what became of them.
struct GroupCounts {
    int32_t total;
    int32_t satisfied;
    int32_t failed;
    int32_t skipped;

    constexpr int32_t unresolved() const { return total - satisfied - failed - skipped; }
};

// What the counts say of a group. growing: its flow is not sealed, so that edges may follow; held:
// its task waits for the seal.
GroupState judge(const Join& join, const GroupCounts& counts, bool growing, bool held);

// ---- Edges ----

enum class EdgeState : int { kUnsatisfied, kSatisfied, kImpossible };
inline constexpr std::string_view kEdgeStateNames[] = {"unsatisfied", "satisfied", "impossible"};
constexpr std::string_view name_of(EdgeState state) {
    return kEdgeStateNames[static_cast<int>(state)];
}

// What becomes of the edges that leave a task in this state.
constexpr EdgeState edge_after(TaskState upstream) {
    return !is_terminal(upstream)              ? EdgeState::kUnsatisfied
           : upstream == TaskState::kCompleted ? EdgeState::kSatisfied
                                               : EdgeState::kImpossible;
}

// ---- Graphs ----

// An edge between nodes by their numbers.
struct GraphEdge {
    int32_t upstream;
    int32_t downstream;
};

// Finds a cycle among the edges, which are sorted by upstream. Writes its nodes, each one upstream
// of the next and the last of the first, and returns how many; 0: there is none. The caller gives
// the memory: scratch for 3 * nodes + 1 numbers, cycle for nodes.
int32_t find_cycle(int32_t nodes, const GraphEdge* edges, int32_t edge_count, int32_t* scratch,
                   int32_t* cycle);

}  // namespace belay::core
