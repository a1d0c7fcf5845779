// Operations of operators: see instances, explain, remove and prune them.
#pragma once

#include "core/json.hpp"
#include "ops/input.hpp"
#include "ops/orchestration/version_filter.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/listing.hpp"
#include "store/plan.hpp"
#include "store/removal.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// ---- Reading ----

// Reads that are the store's own.
using store::execution_info;
using store::instance_tree;
using store::list_children;
using store::list_executions;
using store::system_metrics;

store::Listing list_instances(store::Tables& tables, const store::InstanceFilter& filter,
                              std::optional<std::string_view> after, std::optional<int32> limit);

// One instance with its status; a later wait for it knows what the session saw.
store::Listing instance_info(store::Tables& tables, std::string_view instance_id);

// QB002 for an instance that has no execution, and one that has no row, respectively.
int64 latest_execution_id(store::Tables& tables, std::string_view instance_id);
std::optional<std::string_view> get_parent_id(store::Tables& tables, std::string_view instance_id);

store::Listing get_queue_depths(store::Tables& tables, const pg::Clock& clock);

// No value: no instance row.
struct InstanceStats {
    store::HistorySize history;
    int64 carried;  // messages that the last continue-as-new carried over
    store::KvSize kv;
};
std::optional<InstanceStats> get_instance_stats(store::Tables& tables,
                                                std::string_view instance_id);

// Why an instance is not being fetched; empty if it can be fetched now.
struct BlockingReason {
    const char* reason;
    const char* detail;          // null: none
    std::optional<int64> until;  // ms
};
struct ExplainRequest {
    std::string_view instance_id;
    VersionRange versions;
};
std::span<const BlockingReason> explain_fetch(store::Tables& tables, const ExplainRequest& request,
                                              const pg::Clock& clock);

// Why a work item is not being fetched; fetchable or tag_needed if nothing keeps it but that no
// worker takes it.
std::span<const BlockingReason> explain_work_item(store::Tables& tables, int64 id,
                                                  const pg::Clock& clock);

// What an instance waits for, at most so many of a kind: activities with their workers, timers,
// other messages that are not visible yet, children that run, and events that it subscribed to.
std::span<const BlockingReason> explain_waits(store::Tables& tables, std::string_view instance_id,
                                              int limit, const pg::Clock& clock);

// ---- Cancelling ----

// Asks the running ones of one portion of a list to end.
struct BulkArguments;
Jsonb* cancel_instances(store::Tables& tables, const BulkArguments& arguments,
                        std::string_view reason, pg::Clock* clock);

// ---- Removing ----

store::Removed delete_instance(store::Tables& tables, std::string_view instance_id, bool force);
store::Removed delete_instances_atomic(store::Tables& tables,
                                       std::span<const std::string_view> instance_ids, bool force);
store::Removed delete_instances_bulk(store::Tables& tables, core::json::Value filter);

// Deletes up to limit roots that finished before an instant, without those that another transaction
// holds; returns how many roots went.
int64 retire_instances(store::Tables& tables, int64 completed_before, int64 now, int limit);

// ---- Pruning ----

struct PruneResult {
    int64 instances;
    int64 executions;
    int64 events;
};
PruneResult prune_executions(store::Tables& tables, std::string_view instance_id,
                             const store::PruneOptions& options);
PruneResult prune_executions_bulk(store::Tables& tables, core::json::Value filter,
                                  core::json::Value options);

// What the filters of deletion and pruning have in common.
struct InstancesFilter {
    std::optional<std::span<const std::string_view>> ids;
    std::optional<int64> completed_before;
    int64 limit;
};
InstancesFilter checked_instances_filter(core::json::Value filter);

[[noreturn]] void raise_unknown_instance(const char* message, std::string_view instance_id);

}  // namespace belay::ops
