// Removing instances and executions.
//
// Ids come as an array of text, made once and handed to every statement.
#pragma once

#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"

namespace belay::store {

// Instances, with the arrays that statements take.
struct InstanceSet {
    std::span<const std::string_view> ids;
    Array<std::string_view> id_array;
    Array<int64> key_array;
};
InstanceSet make_instance_set(std::span<const std::string_view> ids);

// ---- Who is to go ----

// These instances and all their descendants that exist, each once.
std::span<const std::string_view> with_descendants(const Hub& hub,
                                                   std::span<const std::string_view> ids);

// Targets of queued starts whose parent is one of these, that have no instance row yet.
std::span<const std::string_view> unborn_children(const Hub& hub, const InstanceSet& parents);

// What selects finished roots. The lock of a root must not be live.
struct FinishedFilter {
    std::optional<std::span<const std::string_view>> ids;
    std::optional<int64> completed_before;  // ms
    int64 limit;
    int64 now;
};
std::span<const std::string_view> finished_roots(const Hub& hub, const FinishedFilter& filter);

// Those of the ids that have an instance row whose current execution is Running, or a queued
// ContinueAsNew; the first by id.
std::optional<std::string_view> first_running(const Hub& hub, const InstanceSet& set);

// An instance outside the set whose parent is inside; the first by id.
struct StrayChild {
    std::string_view instance_id;
    std::string_view parent_id;
};
std::optional<StrayChild> first_stray_child(const Hub& hub, const InstanceSet& set);

// What decides whether an instance is a root. No value: no such instance.
struct Lineage {
    std::optional<std::string_view> living_parent;
};
std::optional<Lineage> read_lineage(const Hub& hub, std::string_view instance_id);

// ---- Holding them ----

// Each takes the rows of the set FOR UPDATE, waiting for others; the try forms take none of them
// and return false if another transaction holds one.
void hold_lock_rows(const Hub& hub, const InstanceSet& set);
void hold_instance_rows(const Hub& hub, const InstanceSet& set);
bool try_hold_lock_rows(const Hub& hub, const InstanceSet& set);
bool try_hold_instance_rows(const Hub& hub, const InstanceSet& set);
bool try_hold_queue_rows(const Hub& hub, const InstanceSet& set);

// ---- Removing them ----

struct Removed {
    int64 instances;
    int64 executions;
    int64 events;
    int64 messages;  // of both queues
};

// Removes all that is stored of the set, and queued starts of its unborn children. The exclusions
// and instance rows of the set are held.
Removed remove_instances(const Hub& hub, const InstanceSet& set, const InstanceSet& unborn,
                         int64 now);

// ---- Pruning ----

// Holds the row of an instance, so that its current execution stays. No value: no such row.
std::optional<int64> hold_for_pruning(const Hub& hub, std::string_view instance_id);

struct PruneOptions {
    std::optional<int64> keep_last;
    std::optional<int64> completed_before;  // ms
};
struct Pruned {
    int64 executions;
    int64 events;
};
Pruned prune(const Hub& hub, std::string_view instance_id, int64 current_execution_id,
             const PruneOptions& options);

// Instances to prune: those that have something to prune first, then by id.
std::span<const std::string_view> prunable(const Hub& hub,
                                           std::optional<std::span<const std::string_view>> ids,
                                           std::optional<int64> completed_before, int64 limit,
                                           const PruneOptions& options);

}  // namespace belay::store
