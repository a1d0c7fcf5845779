// rebalance_hubs.cpp — as many hubs on each node of Citus as on every other, or one more.
//
// Calls    move_hub, store::list_nodes
// Touches  what move_hub touches, for one hub
// Locks    what move_hub locks, for one hub
// Raises   QB006 bad mode, 0A000 without Citus or not on its coordinator
#include <algorithm>

#include "ops/admin/admin.hpp"
#include "pg/compat.hpp"
#include "pg/list.hpp"

namespace belay::ops {

namespace {

// A hub that the caller may move.
struct Placed {
    const char* name;
    int32 group;
};

std::span<Placed> own_hubs() {
    pg::List<Placed> found;
    AcceptInvalidationMessages();
    for (const Oid schema : store::all_hubs()) {
        const store::Hub* hub = store::find_hub_left_here(schema);
        if (hub != nullptr && hub->shards != nullptr &&
            pg::owns_relation(hub->relations.belay_hub, GetUserId())) {
            found.add({pstrdup(NameStr(hub->name)), hub->shards->group});
        }
    }
    return {found.items, static_cast<std::size_t>(found.count)};
}

// The node with most hubs that the caller may move one of, if another has at least two fewer.
std::optional<HubMove> next_move(std::span<store::ListedNode> nodes, std::span<Placed> hubs) {
    const auto fewest = std::min_element(
        nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.hubs < b.hubs; });
    Placed* chosen = nullptr;
    store::ListedNode* from = nullptr;
    for (Placed& hub : hubs) {
        const auto at = std::find_if(nodes.begin(), nodes.end(), [&hub](const auto& node) {
            return node.node.group == hub.group;
        });
        if (at != nodes.end() && at->hubs > fewest->hubs + 1 &&
            (from == nullptr || at->hubs > from->hubs)) {
            chosen = &hub;
            from = &*at;
        }
    }
    if (chosen == nullptr) {
        return std::nullopt;
    }
    --from->hubs;
    ++fewest->hubs;
    chosen->group = fewest->node.group;
    return HubMove{chosen->name, from->node, fewest->node, false};
}

}  // namespace

std::span<const HubMove> rebalance_hubs(const char* mode, bool dry_run) {
    require_coordinator("belay.rebalance_hubs");
    check_mode(mode);
    const auto nodes = store::list_nodes();
    const auto hubs = own_hubs();
    pg::List<HubMove> moves;
    while (const auto move = next_move(nodes, hubs)) {
        moves.add(*move);
    }
    if (moves.count > 0 && !dry_run) {
        HubMove& first = moves.items[0];
        move_hub(first.hub, first.to.host, first.to.port, mode);
        first.done = true;
    }
    return moves.span();
}

}  // namespace belay::ops
