#include "shmem/tree.hpp"

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::shmem {
namespace {

struct Node {
    int64_t key;
    int64_t weight;
    TreeLinks links;
};

// The nodes of a test, which count how often one is looked at.
struct Nodes {
    std::vector<Node>* all;
    uint64_t* looks;

    Node& at(int32_t node) const {
        ++*looks;
        return (*all)[static_cast<std::size_t>(node)];
    }
    TreeLinks& links(int32_t node) const { return at(node).links; }
    bool before(int32_t a, int32_t b) const { return at(a).key < at(b).key; }
    int64_t weight(int32_t node) const { return at(node).weight; }
};

// A tree and a plain list of what is in it, side by side.
class Both {
 public:
    explicit Both(int size) : all_(static_cast<std::size_t>(size)) {}

    bool has(int64_t key) const { return plain_.contains(key); }
    std::size_t size() const { return plain_.size(); }

    void insert(int32_t node, int64_t key, int64_t weight) {
        all_[static_cast<std::size_t>(node)] = {key, weight, {}};
        root_ = tree_insert(nodes(), root_, node);
        plain_[key] = node;
    }
    int32_t remove(int64_t key) {
        const int32_t node = plain_.at(key);
        root_ = tree_remove(nodes(), root_, node);
        plain_.erase(key);
        return node;
    }
    void set_weight(int64_t key, int64_t weight) {
        all_[static_cast<std::size_t>(plain_.at(key))].weight = weight;
        tree_reweigh(nodes(), plain_.at(key));
    }
    int32_t find(int64_t key) {
        return tree_find(nodes(), root_, [&](int32_t node) {
            return all_[static_cast<std::size_t>(node)].key <=> key;
        });
    }
    int32_t next(int64_t after, const Weights& weights) {
        return tree_next(nodes(), root_, weights, [&](int32_t node) {
            return all_[static_cast<std::size_t>(node)].key > after;
        });
    }
    int32_t plain_next(int64_t after, const Weights& weights) const {
        for (auto at = plain_.upper_bound(after); at != plain_.end(); ++at) {
            const int64_t weight = all_[static_cast<std::size_t>(at->second)].weight;
            if (weights.may_have(weight, weight)) {
                return at->second;
            }
        }
        return kNone;
    }
    int64_t key_at(std::size_t place) const {
        return std::next(plain_.begin(), static_cast<std::ptrdiff_t>(place))->first;
    }
    int32_t plain_find(int64_t key) const { return has(key) ? plain_.at(key) : kNone; }

    // Every link and every range is what it should be.
    void check() {
        std::size_t count = 0;
        check_below(root_, kNone, &count);
        EXPECT_EQ(count, plain_.size());
        int64_t least = INT64_MAX;
        int64_t most = INT64_MIN;
        for (const auto& [key, node] : plain_) {
            least = std::min(least, all_[static_cast<std::size_t>(node)].weight);
            most = std::max(most, all_[static_cast<std::size_t>(node)].weight);
        }
        if (root_ != kNone) {
            EXPECT_EQ(all_[static_cast<std::size_t>(root_)].links.least, least);
            EXPECT_EQ(all_[static_cast<std::size_t>(root_)].links.most, most);
        }
    }

    uint64_t looks() const { return looks_; }
    void forget_looks() { looks_ = 0; }

 private:
    Nodes nodes() { return {&all_, &looks_}; }
    void check_below(int32_t node, int32_t parent, std::size_t* count) {
        if (node == kNone) {
            return;
        }
        ++*count;
        const Node found = all_[static_cast<std::size_t>(node)];
        EXPECT_EQ(found.links.parent, parent);
        EXPECT_FALSE(weigh_node(nodes(), node));
        for (const int32_t child : {found.links.left, found.links.right}) {
            if (child != kNone) {
                EXPECT_TRUE(is_above(node, child));
                EXPECT_EQ(all_[static_cast<std::size_t>(child)].key < found.key,
                          child == found.links.left);
            }
            check_below(child, node, count);
        }
    }

    std::vector<Node> all_;
    std::map<int64_t, int32_t> plain_;
    int32_t root_ = kNone;
    uint64_t looks_ = 0;
};

TEST(Tree, FindsWhatAPlainListFinds) {
    constexpr int kNodes = 200;
    constexpr int kSteps = 20000;
    BELAY_SEEDED(random);
    Both both(kNodes);
    std::vector<int32_t> free;
    for (int32_t node = 0; node < kNodes; ++node) {
        free.push_back(node);
    }
    const auto some_weight = [&] {
        const auto drawn = static_cast<int64_t>(random() % 20);
        return drawn == 19 ? INT64_MAX : drawn;
    };
    for (int step = 0; step < kSteps; ++step) {
        const auto key = static_cast<int64_t>(random() % 500);
        const int what = static_cast<int>(random() % 4);
        if (what == 0 && !free.empty() && !both.has(key)) {
            both.insert(free.back(), key, some_weight());
            free.pop_back();
        } else if (what == 1 && both.size() > 0) {
            free.push_back(both.remove(both.key_at(random() % both.size())));
        } else if (what == 2 && both.size() > 0) {
            both.set_weight(both.key_at(random() % both.size()), some_weight());
        }
        const Weights weights{.up_to = static_cast<int64_t>(random() % 20) - 1,
                              .also_largest = random() % 2 == 0};
        ASSERT_EQ(both.find(key), both.plain_find(key));
        ASSERT_EQ(both.next(key, weights), both.plain_next(key, weights));
        if (step % 100 == 0) {
            both.check();
        }
    }
    both.check();
}

// One node of many has the weight that is looked for: the others are not looked at, also if keys
// came in order.
TEST(Tree, LooksAtFewNodes) {
    constexpr int32_t kNodes = 100000;
    Both both(kNodes);
    for (int32_t node = 0; node < kNodes; ++node) {
        both.insert(node, node, 1000);
    }
    const double most = 20.0 * std::log2(kNodes);
    for (const int64_t key : {0, 1, 4711, kNodes / 2, kNodes - 1}) {
        both.forget_looks();
        both.set_weight(key, 5);
        EXPECT_EQ(both.next(-1, {.up_to = 5, .also_largest = false}), key);
        EXPECT_EQ(both.next(key, {.up_to = 5, .also_largest = false}), kNone);
        EXPECT_EQ(both.find(key), key);
        both.set_weight(key, 1000);
        EXPECT_LT(static_cast<double>(both.looks()), 10 * most);
    }
    both.forget_looks();
    EXPECT_EQ(both.next(kNodes / 2, {.up_to = 999, .also_largest = true}), kNone);
    EXPECT_LT(both.looks(), 10u);
}

}  // namespace
}  // namespace belay::shmem
