// A search tree whose nodes lie in shared memory and are known by their numbers. Every subtree
// knows the range of a second number of its nodes, their weight: the next node in order whose
// weight is small enough, or the largest there is, is found without looking at the others.
//
// A treap: its shape follows from a hash of the nodes' numbers, so that every operation takes
// logarithmic time, expected, for any order of the keys.
//
// No locks, no memory of its own, no PostgreSQL; test/unit/tree_test.cpp runs it alone. Nodes is a
// type with
//   TreeLinks& links(int32_t node)
//   bool before(int32_t a, int32_t b)  no two are equal
//   int64_t weight(int32_t node)
// A tree is the number of its root, kNone if it is empty. What before compares does not change
// while the node is in a tree; after a change of its weight, tree_reweigh is called.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "shmem/table.hpp"

namespace belay::shmem {

struct TreeLinks {
    int32_t left;
    int32_t right;
    int32_t parent;
    int64_t least;  // weight in the subtree
    int64_t most;
};

// Which of two nodes stands higher.
inline uint32_t tree_rank(int32_t node) {
    uint64_t x = (static_cast<uint64_t>(node) + 1) * 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
    return static_cast<uint32_t>(x >> 32);
}
inline bool is_above(int32_t a, int32_t b) {
    return std::pair(tree_rank(a), a) > std::pair(tree_rank(b), b);
}

// Computes the range of one node's subtree; whether it has changed.
template <typename Nodes>
bool weigh_node(Nodes nodes, int32_t node) {
    TreeLinks& links = nodes.links(node);
    int64_t least = nodes.weight(node);
    int64_t most = least;
    for (const int32_t child : {links.left, links.right}) {
        if (child != kNone) {
            least = std::min(least, nodes.links(child).least);
            most = std::max(most, nodes.links(child).most);
        }
    }
    const bool changed = least != links.least || most != links.most;
    links.least = least;
    links.most = most;
    return changed;
}

// The weight of the node has changed.
template <typename Nodes>
void tree_reweigh(Nodes nodes, int32_t node) {
    while (node != kNone && weigh_node(nodes, node)) {
        node = nodes.links(node).parent;
    }
}

// Puts another node, or none, in the place of a child.
template <typename Nodes>
void put_in_place(Nodes nodes, int32_t parent, int32_t child, int32_t other, int32_t* root) {
    if (parent == kNone) {
        *root = other;
    } else {
        TreeLinks& links = nodes.links(parent);
        (links.left == child ? links.left : links.right) = other;
    }
    if (other != kNone) {
        nodes.links(other).parent = parent;
    }
}

// Lets a node and its parent change places.
template <typename Nodes>
void rotate_up(Nodes nodes, int32_t node, int32_t* root) {
    const int32_t parent = nodes.links(node).parent;
    const bool was_left = nodes.links(parent).left == node;
    const int32_t between = was_left ? nodes.links(node).right : nodes.links(node).left;
    put_in_place(nodes, nodes.links(parent).parent, parent, node, root);
    (was_left ? nodes.links(parent).left : nodes.links(parent).right) = between;
    if (between != kNone) {
        nodes.links(between).parent = parent;
    }
    (was_left ? nodes.links(node).right : nodes.links(node).left) = parent;
    nodes.links(parent).parent = node;
    weigh_node(nodes, parent);
    weigh_node(nodes, node);
}

// Returns the new root.
template <typename Nodes>
int32_t tree_insert(Nodes nodes, int32_t root, int32_t node) {
    const int64_t weight = nodes.weight(node);
    nodes.links(node) = {kNone, kNone, kNone, weight, weight};
    if (root == kNone) {
        return node;
    }
    for (int32_t at = root;;) {
        TreeLinks& links = nodes.links(at);
        int32_t& child = nodes.before(node, at) ? links.left : links.right;
        if (child == kNone) {
            child = node;
            nodes.links(node).parent = at;
            tree_reweigh(nodes, at);
            break;
        }
        at = child;
    }
    for (int32_t parent = nodes.links(node).parent; parent != kNone && is_above(node, parent);
         parent = nodes.links(node).parent) {
        rotate_up(nodes, node, &root);
    }
    return root;
}

// Returns the new root.
template <typename Nodes>
int32_t tree_remove(Nodes nodes, int32_t root, int32_t node) {
    while (true) {
        const auto [left, right, parent, least, most] = nodes.links(node);
        if (left != kNone && right != kNone) {
            rotate_up(nodes, is_above(left, right) ? left : right, &root);
            continue;
        }
        put_in_place(nodes, parent, node, left != kNone ? left : right, &root);
        tree_reweigh(nodes, parent);
        return root;
    }
}

// The node that is neither before nor behind what order() looks for; order(node) is below 0 if the
// node comes before it, above 0 if behind, else 0.
template <typename Nodes, typename Order>
int32_t tree_find(Nodes nodes, int32_t root, Order order) {
    while (root != kNone) {
        const auto found = order(root);
        if (found == 0) {
            break;
        }
        root = found < 0 ? nodes.links(root).right : nodes.links(root).left;
    }
    return root;
}

// Which weights are wanted: those up to one, and perhaps the largest there can be.
struct Weights {
    int64_t up_to;
    bool also_largest;

    bool may_have(int64_t least, int64_t most) const {
        return least <= up_to || (also_largest && most == INT64_MAX);
    }
};

// The first node with such a weight of those that is_behind() accepts: all from some node on, in
// order. kNone: there is none.
template <typename Nodes, typename IsBehind>
int32_t tree_next(Nodes nodes, int32_t root, const Weights& weights, IsBehind is_behind) {
    if (root == kNone || !weights.may_have(nodes.links(root).least, nodes.links(root).most)) {
        return kNone;
    }
    if (is_behind(root)) {
        const int32_t left = tree_next(nodes, nodes.links(root).left, weights, is_behind);
        if (left != kNone) {
            return left;
        }
        if (weights.may_have(nodes.weight(root), nodes.weight(root))) {
            return root;
        }
    }
    return tree_next(nodes, nodes.links(root).right, weights, is_behind);
}

}  // namespace belay::shmem
