// delete_instances.cpp — remove instances and everything that is stored of them.
//
// Calls    store::with_descendants, store::hold_instance_rows, store::remove_instances
// Touches  every table of orchestrations, <hub>.worker_queue, <hub>.dead_letters
// Locks    one removal at a time; the exclusions of all that go; their instance rows; then the rest
// Raises   QB002 unknown instance, QB003 running, QB004 not a root or would orphan, QB006 bad
// filter, QB018 altered table
//
// Exclusions are taken by key, as the acks of several turns take them. What is found to belong to
// the tree only after others are held is not waited for: if it cannot be had at once, everything is
// let go, and it begins again with all that is known by then.
#include <algorithm>

#include "core/hash.hpp"
#include "ops/enter.hpp"
#include "ops/audit.hpp"
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

// What a removal writes.
constexpr Needs kRemoval{.worker_queue = true,
                         .orchestrator_queue = true,
                         .instance_locks = true,
                         .executions = true,
                         .instances = true};

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

Targets find_targets(store::Tables& tables, Ids wanted, Scope scope) {
    const Ids ids =
        scope == Scope::kListed ? sorted(wanted) : sorted(store::with_descendants(tables, wanted));
    return {ids,
            without(sorted(store::unborn_children(tables, store::make_instance_set(ids))), ids)};
}

// The exclusions that a removal holds.
struct Exclusions {
    Ids held;
    bool all_keys;
};

// Takes the exclusions of those that are not held yet; with try_only without waiting, false if one
// cannot be had.
bool take_exclusions(store::Tables& tables, Ids ids, bool try_only, Exclusions* exclusions) {
    const Ids missing = without(ids, exclusions->held);
    if (missing.empty()) {
        return true;
    }
    const Ids held = joined(exclusions->held, missing);
    if (!exclusions->all_keys && held.size() > kMaxKeys) {
        if (!try_only) {
            pg::lock_all_instances(tables.hub.schema);
        } else if (!pg::try_lock_all_instances(tables.hub.schema)) {
            return false;
        }
        exclusions->all_keys = true;
    }
    for (std::size_t i = 0; i < missing.size() && !exclusions->all_keys; ++i) {
        const int64 key = core::instance_key(missing[i]);
        if (!try_only) {
            pg::lock_instance(tables.hub.schema, key);
        } else if (!pg::try_lock_instance(tables.hub.schema, key)) {
            return false;
        }
    }
    const auto set = store::make_instance_set(missing);
    if (try_only && !store::try_hold_lock_rows(tables, set)) {
        return false;
    }
    if (!try_only) {
        store::hold_lock_rows(tables, set);
    }
    exclusions->held = held;
    return true;
}

// Removes what choose() picks once all of it is held. choose is called again whenever more turned
// out to belong to it, and finally with the instance rows held: then it may refuse.
template <typename Choose>
store::Removed remove(store::Tables& tables, Choose choose) {
    Ids known{};  // by earlier rounds
    while (true) {
        const Targets seen = choose(false);
        if (seen.ids.empty()) {
            return {};
        }
        known = joined(known, seen.all());
        store::Removed removed{};
        const bool done = pg::keep_if([&tables, &choose, &known, &removed] {
            Exclusions exclusions{};
            (void)take_exclusions(tables, known, false, &exclusions);
            Targets wanted = choose(false);
            while (!without(wanted.all(), exclusions.held).empty()) {  // it grew before it was held
                known = joined(known, wanted.all());
                if (!take_exclusions(tables, wanted.all(), true, &exclusions)) {
                    return false;
                }
                wanted = choose(false);
            }
            store::hold_instance_rows(tables, store::make_instance_set(wanted.ids));
            const Targets found = choose(true);
            if (!without(found.all(), exclusions.held).empty()) {
                known = joined(known, found.all());
                return false;
            }
            removed = store::remove_instances(tables, store::make_instance_set(found.ids),
                                              store::make_instance_set(found.unborn),
                                              pg::server_now_ms());
            return true;
        });
        if (done) {
            return removed;
        }
    }
}

void begin_removal(store::Tables& tables) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, kRemoval, &clock);
    pg::lock_key(pg::LockSpace::kRemoval, tables.hub.schema, 0);
}

void refuse_running(store::Tables& tables, Ids ids) {
    const auto running = store::first_running(tables, store::make_instance_set(ids));
    if (running) {
        pg::raise(pg::kStillRunning,
                  psprintf("Instance %s is Running. Nothing was deleted", pg::excerpt(*running)),
                  pg::Facts("running").add("instance_id", *running),
                  "Cancel it and wait for its end, or pass p_force => true.");
    }
}

// A child goes with its root, never alone.
void refuse_child(store::Tables& tables, std::string_view instance_id) {
    const auto lineage = store::read_lineage(tables, instance_id);
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

void emit_deleted(store::Tables& tables, std::optional<std::string_view> subject,
                  std::optional<std::string_view> filter, const store::Removed& removed) {
    if (removed.instances == 0) {
        return;
    }
    auto details = store::Details().add("instances", removed.instances);
    if (filter) {
        details.add_json("filter", *filter);
    }
    constexpr int kDeleted = core::event_place("operator", "instances_deleted");
    emit_operator_event(tables, {.event = kDeleted, .subject = subject, .details = details});
}

}  // namespace

store::Removed delete_instances_atomic(store::Tables& tables, Ids instance_ids, bool force) {
    if (instance_ids.empty()) {
        return {};
    }
    begin_removal(tables);
    const store::Removed removed = remove(tables, [&tables, instance_ids, force](bool held) {
        const Targets targets = find_targets(tables, instance_ids, Scope::kListed);
        if (held) {
            if (!force) {
                refuse_running(tables, targets.ids);
            }
            const auto stray =
                store::first_stray_child(tables, store::make_instance_set(targets.ids));
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
    emit_deleted(tables,
                 instance_ids.size() == 1 ? std::optional(instance_ids.front()) : std::nullopt,
                 std::nullopt, removed);
    return removed;
}

store::Removed delete_instance(store::Tables& tables, std::string_view instance_id, bool force) {
    begin_removal(tables);
    refuse_child(tables, instance_id);
    const auto* root = &instance_id;
    const store::Removed removed = remove(tables, [&tables, root, force](bool held) {
        const Targets targets = find_targets(tables, {root, 1}, Scope::kTrees);
        if (held) {
            refuse_child(tables, *root);
            if (!force) {
                refuse_running(tables, targets.ids);
            }
        }
        return targets;
    });
    if (removed.instances == 0) {
        raise_unknown_instance(psprintf("Instance not found: %s", pg::excerpt(instance_id)),
                               instance_id);
    }
    emit_deleted(tables, instance_id, std::nullopt, removed);
    return removed;
}

store::Removed delete_instances_bulk(store::Tables& tables, core::json::Value filter) {
    const InstancesFilter wanted = checked_instances_filter(filter);
    if (wanted.ids && wanted.ids->empty()) {
        return {};
    }
    begin_removal(tables);
    const auto roots_of = [&tables, &wanted](std::optional<Ids> ids, int64 limit) {
        return store::finished_roots(tables, {.ids = ids,
                                              .completed_before = wanted.completed_before,
                                              .limit = limit,
                                              .now = pg::server_now_ms()});
    };
    const Ids roots = roots_of(wanted.ids, wanted.limit);
    const store::Removed removed = remove(tables, [&tables, &roots_of, roots](bool held) {
        // Only those that are still finished once they are held.
        return find_targets(tables,
                            held ? roots_of(roots, static_cast<int64>(roots.size() + 1)) : roots,
                            Scope::kTrees);
    });
    emit_deleted(tables, std::nullopt, filter.text, removed);
    return removed;
}

// Never waits, so it needs no turn among the removals.
int64 retire_instances(store::Tables& tables, int64 completed_before, int64 now, int limit) {
    if (!try_enter(tables, kRemoval)) {
        return 0;
    }
    const auto finished = [&tables, completed_before, now](std::optional<Ids> ids, int64 count) {
        return store::finished_roots(
            tables, {.ids = ids, .completed_before = completed_before, .limit = count, .now = now});
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
        const bool gone = pg::keep_if([&tables, &finished, &exclusions, only, now] {
            Exclusions held = exclusions;
            const Targets targets = find_targets(tables, only, Scope::kTrees);
            if (targets.ids.empty() || !take_exclusions(tables, targets.all(), true, &held)) {
                return false;
            }
            const auto set = store::make_instance_set(targets.ids);
            if (!store::try_hold_instance_rows(tables, set) || finished(only, 1).empty() ||
                !store::try_hold_queue_rows(tables, set) ||
                !without(find_targets(tables, only, Scope::kTrees).all(), held.held).empty()) {
                return false;
            }
            (void)store::remove_instances(tables, set, store::make_instance_set(targets.unborn),
                                          now);
            exclusions = held;
            return true;
        });
        retired += gone ? 1 : 0;
        CHECK_FOR_INTERRUPTS();
    }
    return retired;
}

}  // namespace belay::ops
