#include "shmem/heap.hpp"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::shmem {
namespace {

struct Node {
    int64_t key;
    HeapLinks links;
};

// The nodes of a test, which count the comparisons.
struct Nodes {
    std::vector<Node>* all;
    uint64_t* comparisons;

    HeapLinks& links(int32_t node) { return (*all)[static_cast<std::size_t>(node)].links; }
    int64_t key(int32_t node) const { return (*all)[static_cast<std::size_t>(node)].key; }
    bool before(int32_t a, int32_t b) {
        ++*comparisons;
        return key(a) < key(b);
    }
};

TEST(Heap, IsEmptyAgain) {
    std::vector<Node> all(1);
    uint64_t comparisons = 0;
    const Nodes nodes{&all, &comparisons};
    const int32_t root = heap_insert(nodes, kNone, 0);
    EXPECT_EQ(root, 0);
    EXPECT_EQ(heap_remove(nodes, root, 0), kNone);
}

TEST(Heap, FirstIsTheLowest) {
    BELAY_SEEDED(random);
    constexpr int kNodes = 200;
    std::vector<Node> all(kNodes);
    uint64_t comparisons = 0;
    Nodes nodes{&all, &comparisons};
    std::multiset<std::pair<int64_t, int32_t>> model;
    std::vector<bool> inside(kNodes);
    int32_t root = kNone;
    for (int step = 0; step < 100000; ++step) {
        const auto node = static_cast<int32_t>(random() % kNodes);
        const auto at = static_cast<std::size_t>(node);
        if (inside[at]) {
            root = heap_remove(nodes, root, node);
            model.erase(model.find({all[at].key, node}));
        } else {
            all[at].key = static_cast<int64_t>(random() % 64);
            root = heap_insert(nodes, root, node);
            model.insert({all[at].key, node});
        }
        inside[at] = !inside[at];
        ASSERT_EQ(root == kNone, model.empty());
        if (root != kNone) {
            ASSERT_EQ(nodes.key(root), model.begin()->first);
        }
    }
}

// Deadlines come in order and end in order; or all are moved on by renewals, again and again.
TEST(Heap, TakesLogarithmicTime) {
    constexpr int kNodes = 4096;
    constexpr int kRounds = 20;
    std::vector<Node> all(kNodes);
    uint64_t comparisons = 0;
    Nodes nodes{&all, &comparisons};
    int32_t root = kNone;
    for (int32_t i = 0; i < kNodes; ++i) {
        all[static_cast<std::size_t>(i)].key = i;
        root = heap_insert(nodes, root, i);
    }
    for (int64_t i = 0; i < kNodes * kRounds; ++i) {
        const auto node = static_cast<int32_t>(i % kNodes);
        ASSERT_EQ(root, node);
        root = heap_remove(nodes, root, node);
        all[static_cast<std::size_t>(node)].key = i + kNodes;
        root = heap_insert(nodes, root, node);
    }
    const double per_operation = static_cast<double>(comparisons) / (kNodes * kRounds);
    EXPECT_LT(per_operation, 3 * std::log2(kNodes));
}

}  // namespace
}  // namespace belay::shmem
