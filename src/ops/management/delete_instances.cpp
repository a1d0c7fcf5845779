// delete_instances.cpp — remove instances and everything that is stored of them.
//
// Calls    store::with_descendants, store::hold_instance_rows, store::remove_instances
// Touches  every table of orchestrations, <hub>.worker_queue, <hub>.dead_letters
// Locks    one removal at a time; the exclusions of all that go; their instance rows; then the rest
// Raises   QB002 unknown instance, QB003 running, QB004 not a root or would orphan, QB006 bad
// filter
//
// Exclusions may be taken in any order here: removals come one after the other, and nobody else who
// holds one waits for a second. What is found to belong to the tree only after instance rows are
// held would be taken in the wrong order; then those rows are let go and it begins again.
#include <algorithm>

#include "core/hash.hpp"
#include "ops/enter.hpp"
#include "ops/management/management.hpp"
#include "pg/errors.hpp"
#include "pg/list.hpp"
#include "pg/locks.hpp"
#include "pg/subtransaction.hpp"

namespace belay::ops {

namespace {

using Ids = std::span<const std::string_view>;

// More keys than this would fill the lock table: then all instances are locked at once.
constexpr std::size_t kMaxKeys = 1000;

Ids sorted(Ids ids) {
    auto* copy =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (ids.size() + 1)));
    std::copy(ids.begin(), ids.end(), copy);
    std::sort(copy, copy + ids.size());
    const auto* end = std::unique(copy, copy + ids.size());
    return {copy, static_cast<std::size_t>(end - copy)};
}

Ids joined(Ids a, Ids b) {
    auto* all = static_cast<std::string_view*>(
        palloc(sizeof(std::string_view) * (a.size() + b.size() + 1)));
    std::copy(a.begin(), a.end(), all);
    std::copy(b.begin(), b.end(), all + a.size());
    return sorted({all, a.size() + b.size()});
}

// Those of a that are not in b; both are sorted.
Ids without(Ids a, Ids b) {
    auto* rest = static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (a.size() + 1)));
    const auto* end = std::set_difference(a.begin(), a.end(), b.begin(), b.end(), rest);
    return {rest, static_cast<std::size_t>(end - rest)};
}

// What a removal takes away, and whom it keeps from being born.
struct Targets {
    Ids ids;
    Ids unborn;

    Ids all() const { return joined(ids, unborn); }
};

enum class Scope { kListed, kTrees };

Targets find_targets(const store::Hub& hub, Ids wanted, Scope scope) {
    const Ids ids =
        scope == Scope::kListed ? sorted(wanted) : sorted(store::with_descendants(hub, wanted));
    return {ids, without(sorted(store::unborn_children(hub, store::make_instance_set(ids))), ids)};
}

// The exclusions that a removal holds.
struct Exclusions {
    Ids held;
    bool all_keys;
};

// Takes the exclusions of those that are not held yet; with try_only without waiting, false if one
// cannot be had.
bool take_exclusions(const store::Hub& hub, Ids ids, bool try_only, Exclusions* exclusions) {
    const Ids missing = without(ids, exclusions->held);
    if (missing.empty()) {
        return true;
    }
    const Ids held = joined(exclusions->held, missing);
    if (!exclusions->all_keys && held.size() > kMaxKeys) {
        if (!try_only) {
            pg::lock_all_instances(hub.schema);
        } else if (!pg::try_lock_all_instances(hub.schema)) {
            return false;
        }
        exclusions->all_keys = true;
    }
    for (std::size_t i = 0; i < missing.size() && !exclusions->all_keys; ++i) {
        const int64 key = core::instance_key(missing[i]);
        if (!try_only) {
            pg::lock_instance(hub.schema, key);
        } else if (!pg::try_lock_instance(hub.schema, key)) {
            return false;
        }
    }
    const auto set = store::make_instance_set(missing);
    if (try_only && !store::try_hold_lock_rows(hub, set)) {
        return false;
    }
    if (!try_only) {
        store::hold_lock_rows(hub, set);
    }
    exclusions->held = held;
    return true;
}

// Removes what choose() picks once all of it is held. choose is called again whenever more turned
// out to belong to it, and finally with the instance rows held: then it may refuse.
template <typename Choose>
store::Removed remove(const store::Hub& hub, Choose choose) {
    Exclusions exclusions{};
    while (true) {
        if (const Targets seen = choose(false); seen.ids.empty()) {
            return {};
        } else {
            (void)take_exclusions(hub, seen.all(), false, &exclusions);
        }
        const Targets wanted = choose(false);
        if (!without(wanted.all(), exclusions.held).empty()) {
            continue;  // it grew before it was held
        }
        store::Removed removed{};
        const bool done = pg::keep_if([&hub, &choose, &exclusions, &wanted, &removed] {
            store::hold_instance_rows(hub, store::make_instance_set(wanted.ids));
            const Targets found = choose(true);
            if (!without(found.all(), exclusions.held).empty()) {
                return false;
            }
            removed = store::remove_instances(hub, store::make_instance_set(found.ids),
                                              store::make_instance_set(found.unborn),
                                              pg::server_now_ms());
            return true;
        });
        if (done) {
            return removed;
        }
    }
}

void begin_removal(const store::Hub& hub) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(hub, {.worker_queue = true, .orchestrator_queue = true, .instance_locks = true}, &clock);
    pg::lock_key(pg::LockSpace::kRemoval, hub.schema, 0);
}

void refuse_running(const store::Hub& hub, Ids ids) {
    const auto running = store::first_running(hub, store::make_instance_set(ids));
    if (running) {
        pg::raise(pg::kStillRunning,
                  psprintf("Instance %s is Running. Nothing was deleted", pg::excerpt(*running)),
                  pg::Facts("running").add("instance_id", *running),
                  "Cancel it and wait for its end, or pass p_force => true.");
    }
}

// A child goes with its root, never alone.
void refuse_child(const store::Hub& hub, std::string_view instance_id) {
    const auto lineage = store::read_lineage(hub, instance_id);
    if (!lineage) {
        raise_unknown_instance(psprintf("Instance not found: %s", pg::excerpt(instance_id)),
                               instance_id);
    }
    if (lineage->living_parent) {
        pg::raise(pg::kNotARoot,
                  psprintf("Instance %s is a sub-orchestration: only a root can be deleted, and "
                           "its parent %s exists",
                           pg::excerpt(instance_id), pg::excerpt(*lineage->living_parent)),
                  pg::Facts("not_a_root")
                      .add("instance_id", instance_id)
                      .add("parent_instance_id", *lineage->living_parent),
                  "Delete the root; its whole tree goes with it.");
    }
}

}  // namespace

store::Removed delete_instances_atomic(const store::Hub& hub, Ids instance_ids, bool force) {
    if (instance_ids.empty()) {
        return {};
    }
    begin_removal(hub);
    return remove(hub, [&hub, instance_ids, force](bool held) {
        const Targets targets = find_targets(hub, instance_ids, Scope::kListed);
        if (held) {
            if (!force) {
                refuse_running(hub, targets.ids);
            }
            const auto stray = store::first_stray_child(hub, store::make_instance_set(targets.ids));
            if (stray) {
                pg::raise(pg::kNotARoot,
                          psprintf("Orphan detected: child %s of %s is not in the list; delete "
                                   "the whole tree together",
                                   pg::excerpt(stray->instance_id), pg::excerpt(stray->parent_id)),
                          pg::Facts("would_orphan")
                              .add("instance_id", stray->instance_id)
                              .add("parent_instance_id", stray->parent_id),
                          "List all instances of the tree (get_instance_tree), or use "
                          "delete_instance on its root.");
            }
        }
        return targets;
    });
}

store::Removed delete_instance(const store::Hub& hub, std::string_view instance_id, bool force) {
    begin_removal(hub);
    refuse_child(hub, instance_id);
    const auto* root = &instance_id;
    const store::Removed removed = remove(hub, [&hub, root, force](bool held) {
        const Targets targets = find_targets(hub, {root, 1}, Scope::kTrees);
        if (held) {
            refuse_child(hub, *root);
            if (!force) {
                refuse_running(hub, targets.ids);
            }
        }
        return targets;
    });
    if (removed.instances == 0) {
        raise_unknown_instance(psprintf("Instance not found: %s", pg::excerpt(instance_id)),
                               instance_id);
    }
    return removed;
}

store::Removed delete_instances_bulk(const store::Hub& hub, core::json::Value filter) {
    const InstancesFilter wanted = checked_instances_filter(filter);
    if (wanted.ids && wanted.ids->empty()) {
        return {};
    }
    begin_removal(hub);
    const auto roots_of = [&hub, &wanted](std::optional<Ids> ids, int64 limit) {
        return store::finished_roots(hub, {.ids = ids,
                                           .completed_before = wanted.completed_before,
                                           .limit = limit,
                                           .now = pg::server_now_ms()});
    };
    const Ids roots = roots_of(wanted.ids, wanted.limit);
    return remove(hub, [&hub, &roots_of, roots](bool held) {
        // Only those that are still finished once they are held.
        return find_targets(hub,
                            held ? roots_of(roots, static_cast<int64>(roots.size() + 1)) : roots,
                            Scope::kTrees);
    });
}

// Never waits, so it needs no turn among the removals.
int64 retire_instances(const store::Hub& hub, int64 completed_before, int64 now, int limit) {
    if (!try_enter(hub,
                   {.worker_queue = true, .orchestrator_queue = true, .instance_locks = true})) {
        return 0;
    }
    const auto finished = [&hub, completed_before, now](std::optional<Ids> ids, int64 count) {
        return store::finished_roots(
            hub, {.ids = ids, .completed_before = completed_before, .limit = count, .now = now});
    };
    // Others may hold the oldest ones: those behind them have their turn.
    constexpr int kCandidates = 10;
    Exclusions exclusions{};
    int64 retired = 0;
    for (const std::string_view root : finished(std::nullopt, int64{limit} * kCandidates)) {
        if (retired == limit) {
            break;
        }
        const Ids only{&root, 1};
        const bool gone = pg::keep_if([&hub, &finished, &exclusions, only, now] {
            Exclusions held = exclusions;
            const Targets targets = find_targets(hub, only, Scope::kTrees);
            if (targets.ids.empty() || !take_exclusions(hub, targets.all(), true, &held)) {
                return false;
            }
            const auto set = store::make_instance_set(targets.ids);
            if (!store::try_hold_instance_rows(hub, set) || finished(only, 1).empty() ||
                !store::try_hold_queue_rows(hub, set) ||
                !without(find_targets(hub, only, Scope::kTrees).all(), held.held).empty()) {
                return false;
            }
            (void)store::remove_instances(hub, set, store::make_instance_set(targets.unborn), now);
            exclusions = held;
            return true;
        });
        retired += gone ? 1 : 0;
        CHECK_FOR_INTERRUPTS();
    }
    return retired;
}

}  // namespace belay::ops
