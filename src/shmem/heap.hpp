// A heap whose nodes lie in shared memory and are known by their numbers: what comes first is found
// at once, a node is added in constant time, and any node is removed in logarithmic time, amortised
// over the operations (a pairing heap).
//
// No locks, no memory of its own, no PostgreSQL; test/unit/heap_test.cpp runs it alone. Nodes is a
// type with
//   HeapLinks& links(int32_t node)
//   bool before(int32_t a, int32_t b)
// A heap is the number of its root, kNone if it is empty. What before compares may change only
// while the node is in no heap.
#pragma once

#include <cstdint>
#include <utility>

#include "shmem/table.hpp"

namespace belay::shmem {

struct HeapLinks {
    int32_t child;
    int32_t next;
    int32_t previous;  // the sibling before it, or the parent
};

template <typename Nodes>
int32_t meld(Nodes nodes, int32_t a, int32_t b) {
    if (nodes.before(b, a)) {
        std::swap(a, b);
    }
    const int32_t child = nodes.links(a).child;
    nodes.links(b).next = child;
    nodes.links(b).previous = a;
    if (child != kNone) {
        nodes.links(child).previous = b;
    }
    nodes.links(a).child = b;
    return a;
}

// Returns the new root.
template <typename Nodes>
int32_t heap_insert(Nodes nodes, int32_t root, int32_t node) {
    nodes.links(node) = {kNone, kNone, kNone};
    return root == kNone ? node : meld(nodes, root, node);
}

// Makes one heap of the children of a node.
template <typename Nodes>
int32_t meld_children(Nodes nodes, int32_t node) {
    const auto detach = [&nodes](int32_t sibling) {
        nodes.links(sibling).next = kNone;
        nodes.links(sibling).previous = kNone;
    };
    int32_t pairs = kNone;
    for (int32_t child = nodes.links(node).child; child != kNone;) {
        const int32_t first = child;
        const int32_t second = nodes.links(first).next;
        child = second == kNone ? kNone : nodes.links(second).next;
        detach(first);
        int32_t pair = first;
        if (second != kNone) {
            detach(second);
            pair = meld(nodes, first, second);
        }
        nodes.links(pair).next = pairs;
        pairs = pair;
    }
    int32_t root = kNone;
    while (pairs != kNone) {
        const int32_t pair = pairs;
        pairs = nodes.links(pair).next;
        detach(pair);
        root = root == kNone ? pair : meld(nodes, root, pair);
    }
    return root;
}

// Returns the new root.
template <typename Nodes>
int32_t heap_remove(Nodes nodes, int32_t root, int32_t node) {
    const int32_t children = meld_children(nodes, node);
    if (node == root) {
        return children;
    }
    const auto [child, next, previous] = nodes.links(node);
    HeapLinks& before = nodes.links(previous);
    (before.child == node ? before.child : before.next) = next;
    if (next != kNone) {
        nodes.links(next).previous = previous;
    }
    return children == kNone ? root : meld(nodes, root, children);
}

}  // namespace belay::shmem
