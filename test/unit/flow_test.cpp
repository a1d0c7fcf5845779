#include "core/flow.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::core {
namespace {

// The table of joins as it is written: s satisfied, x lost, n in all.
GroupState by_table(const Join& join, int s, int x, int n) {
    switch (join.kind) {
        case JoinKind::kAllOf:
            return s == n  ? GroupState::kSatisfied
                   : x > 0 ? GroupState::kImpossible
                           : GroupState::kOpen;
        case JoinKind::kAnyOf:
            return s >= 1   ? GroupState::kSatisfied
                   : x == n ? GroupState::kImpossible
                            : GroupState::kOpen;
        case JoinKind::kQuorum:
            return s >= join.k      ? GroupState::kSatisfied
                   : n - x < join.k ? GroupState::kImpossible
                                    : GroupState::kOpen;
    }
    return GroupState::kOpen;
}

// JN-1, JN-2, JN-3, JN-5: every count of every join of up to six edges; it does not matter whether
// what is lost has failed or was skipped.
TEST(Joins, AreJudgedByTheirCounts) {
    for (int n = 1; n <= 6; ++n) {
        for (int s = 0; s <= n; ++s) {
            for (int failed = 0; failed <= n - s; ++failed) {
                for (int skipped = 0; skipped <= n - s - failed; ++skipped) {
                    const GroupCounts counts{n, s, failed, skipped};
                    std::vector<Join> joins{{JoinKind::kAllOf, 0, false},
                                            {JoinKind::kAnyOf, 0, true}};
                    for (int k = 1; k <= n; ++k) {
                        joins.push_back({JoinKind::kQuorum, k, true});
                    }
                    for (const Join& join : joins) {
                        const auto wanted = by_table(join, s, failed + skipped, n);
                        EXPECT_EQ(judge(join, counts, false, false), wanted)
                            << name_of(join.kind) << ' ' << join.k << " of " << n << ": " << s
                            << '/' << failed << '/' << skipped;
                        // FG-6, FG-7: while edges may follow.
                        const bool stays =
                            wanted == GroupState::kImpossible && join.kind != JoinKind::kAllOf;
                        EXPECT_EQ(judge(join, counts, true, false),
                                  stays ? GroupState::kOpen : wanted);
                        EXPECT_EQ(judge(join, counts, true, true), GroupState::kOpen);
                        EXPECT_EQ(judge(join, counts, false, true), wanted);
                    }
                }
            }
        }
    }
}

// FS-1, FS-2: the seal, then open members, then sinks.
TEST(Flows, EndByTheirCounts) {
    EXPECT_EQ(state_by_counts(false, 0, 0), FlowState::kOpen);
    EXPECT_EQ(state_by_counts(false, 0, 3), FlowState::kOpen);
    EXPECT_EQ(state_by_counts(true, 1, 3), FlowState::kRunning);
    EXPECT_EQ(state_by_counts(true, 0, 1), FlowState::kFailed);
    EXPECT_EQ(state_by_counts(true, 0, 0), FlowState::kCompleted);
}

std::vector<int32_t> cycle_of(int32_t nodes, std::vector<GraphEdge> edges) {
    std::sort(edges.begin(), edges.end(), [](const GraphEdge& a, const GraphEdge& b) {
        return std::pair(a.upstream, a.downstream) < std::pair(b.upstream, b.downstream);
    });
    std::vector<int32_t> scratch(3 * static_cast<std::size_t>(nodes) + 1);
    std::vector<int32_t> cycle(static_cast<std::size_t>(nodes));
    cycle.resize(static_cast<std::size_t>(find_cycle(
        nodes, edges.data(), static_cast<int32_t>(edges.size()), scratch.data(), cycle.data())));
    return cycle;
}

// FC-1: a cycle is one: each of its nodes leads to the next, none comes twice.
TEST(Graphs, ACycleIsFound) {
    EXPECT_TRUE(cycle_of(0, {}).empty());
    EXPECT_TRUE(cycle_of(3, {{0, 1}, {1, 2}, {0, 2}}).empty());
    EXPECT_EQ(cycle_of(2, {{0, 1}, {1, 0}}).size(), 2U);
    EXPECT_EQ(cycle_of(5, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}).size(), 3U);
}

// FC-1: random graphs: edges that all lead forwards make none; one that leads back along a path
// does.
TEST(Graphs, ACycleIsFoundIffThereIsOne) {
    BELAY_SEEDED(random);
    const auto number = [&random](int64_t from, int64_t to) {
        return std::uniform_int_distribution<int64_t>(from, to)(random);
    };
    for (int round = 0; round < 2000; ++round) {
        const int32_t nodes = static_cast<int32_t>(number(2, 40));
        std::set<std::pair<int32_t, int32_t>> chosen;
        for (int64_t i = number(0, 80); i > 0; --i) {
            const auto a = static_cast<int32_t>(number(0, nodes - 1));
            const auto b = static_cast<int32_t>(number(0, nodes - 1));
            if (a != b) {
                chosen.insert({std::min(a, b), std::max(a, b)});
            }
        }
        std::vector<GraphEdge> edges;
        for (const auto& [a, b] : chosen) {
            edges.push_back({a, b});
        }
        EXPECT_TRUE(cycle_of(nodes, edges).empty());
        if (chosen.empty()) {
            continue;
        }
        // A way along the edges, and back from its end.
        const int32_t from = chosen.begin()->first;
        int32_t to = from;
        for (auto next = chosen.lower_bound({to, 0});
             next != chosen.end() && next->first == to && (to == from || number(0, 3) > 0);
             next = chosen.lower_bound({to, 0})) {
            to = next->second;
        }
        edges.push_back({to, from});
        chosen.insert({to, from});
        const auto cycle = cycle_of(nodes, edges);
        ASSERT_GE(cycle.size(), 2U);
        EXPECT_EQ(std::set<int32_t>(cycle.begin(), cycle.end()).size(), cycle.size());
        for (std::size_t i = 0; i < cycle.size(); ++i) {
            EXPECT_TRUE(chosen.contains({cycle[i], cycle[(i + 1) % cycle.size()]}));
        }
    }
}

}  // namespace
}  // namespace belay::core
