// What the counts of a group mean for its join, and the search for a cycle in a graph.
//
// Touches  its arguments, and the scratch memory that the caller provides
// Must not recurse, or use the heap
#include "core/flow.hpp"

namespace belay::core {

GroupState judge(const Join& join, const GroupCounts& counts, bool growing, bool held) {
    if (growing && held) {
        return GroupState::kOpen;
    }
    if (counts.total == 0) {
        return GroupState::kSatisfied;  // nothing to wait for
    }
    const int32_t lost = counts.failed + counts.skipped;
    const int32_t needed = join.kind == JoinKind::kAllOf   ? counts.total
                           : join.kind == JoinKind::kAnyOf ? 1
                                                           : join.k;
    if (counts.satisfied >= needed) {
        return GroupState::kSatisfied;
    }
    if (counts.total - lost >= needed || (growing && join.kind != JoinKind::kAllOf)) {
        return GroupState::kOpen;
    }
    return GroupState::kImpossible;
}

namespace {

// Takes away node after node that nothing points to. Returns how many are left, each with something
// left that points to it; waits_for counts how many edges still point to a node.
int32_t peel(int32_t nodes, const GraphEdge* edges, int32_t edge_count, const int32_t* first,
             int32_t* waits_for, int32_t* queue) {
    for (int32_t i = 0; i < nodes; ++i) {
        waits_for[i] = 0;
    }
    for (int32_t i = 0; i < edge_count; ++i) {
        ++waits_for[edges[i].downstream];
    }
    int32_t tail = 0;
    for (int32_t i = 0; i < nodes; ++i) {
        if (waits_for[i] == 0) {
            queue[tail++] = i;
        }
    }
    for (int32_t head = 0; head < tail; ++head) {
        for (int32_t i = first[queue[head]]; i < first[queue[head] + 1]; ++i) {
            if (--waits_for[edges[i].downstream] == 0) {
                queue[tail++] = edges[i].downstream;
            }
        }
    }
    return nodes - tail;
}

}  // namespace

int32_t find_cycle(int32_t nodes, const GraphEdge* edges, int32_t edge_count, int32_t* scratch,
                   int32_t* cycle) {
    int32_t* first = scratch;  // nodes + 1 of them: where the edges of a node begin
    int32_t* waits_for = scratch + nodes + 1;
    int32_t* queue = waits_for + nodes;
    int32_t at = 0;
    for (int32_t node = 0; node <= nodes; ++node) {
        while (at < edge_count && edges[at].upstream < node) {
            ++at;
        }
        first[node] = at;
    }
    if (peel(nodes, edges, edge_count, first, waits_for, queue) == 0) {
        return 0;
    }
    // Each member that is left has a predecessor that is left: walking backwards must meet a cycle.
    int32_t* before = queue;
    int32_t start = 0;
    for (int32_t i = 0; i < edge_count; ++i) {
        if (waits_for[edges[i].upstream] > 0 && waits_for[edges[i].downstream] > 0) {
            before[edges[i].downstream] = edges[i].upstream;
            start = edges[i].downstream;
        }
    }
    for (int32_t step = 0; step < nodes; ++step) {
        start = before[start];
    }
    int32_t length = 0;
    int32_t node = start;
    do {
        cycle[length++] = node;
        node = before[node];
    } while (node != start);
    for (int32_t i = 0; i < length / 2; ++i) {
        const int32_t other = cycle[i];
        cycle[i] = cycle[length - 1 - i];
        cycle[length - 1 - i] = other;
    }
    return length;
}

}  // namespace belay::core
