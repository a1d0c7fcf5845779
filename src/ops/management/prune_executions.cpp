// prune_executions.cpp — forget former executions of instances.
//
// Calls    store::hold_for_pruning, store::prune
// Touches  <hub>.executions, <hub>.history, <hub>.outbox_events
// Locks    the instance row, so that its current execution stays; several by id
// Raises   QB002 unknown instance, QB006 bad filter or options, QB018 altered table
#include <algorithm>

#include "ops/audit.hpp"
#include "ops/enter.hpp"
#include "ops/management/management.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

constexpr const char* kFilterKeys[] = {"instance_ids", "completed_before", "limit"};
constexpr const char* kOptionKeys[] = {"keep_last", "completed_before"};

std::optional<int64> checked_keep_last(const char* path, std::optional<int64> value) {
    if (value && *value < 0) {
        pg::raise(pg::kInvalidArgument, psprintf("%s must not be negative", path),
                  pg::Facts("out_of_range").add("path", path).add("value", *value),
                  "Pass the number of executions to keep, the current one included.");
    }
    return value;
}

void emit_pruned(store::Tables& tables, std::optional<std::string_view> subject,
                 std::optional<std::string_view> filter, const PruneResult& result) {
    if (result.executions == 0) {
        return;
    }
    auto details = store::Details()
                       .add("instances", result.instances)
                       .add("executions", result.executions)
                       .add("events", result.events);
    if (filter) {
        details.add_json("filter", *filter);
    }
    constexpr int kPruned = core::event_place("operator", "executions_pruned");
    emit_operator_event(tables, {.event = kPruned, .subject = subject, .details = details});
}

void begin_pruning(store::Tables& tables) {
    auto clock = pg::start_clock(std::nullopt, 0);
    enter(tables, {.executions = true}, &clock);
}

}  // namespace

InstancesFilter checked_instances_filter(core::json::Value filter) {
    check_members(filter, "p_filter", kFilterKeys);
    const int64 limit = checked_filter_limit(filter);
    return {.ids = optional_texts(filter, "instance_ids", "p_filter"),
            .completed_before = optional_int(filter, "completed_before", "p_filter"),
            .limit = limit};
}

PruneResult prune_executions(store::Tables& tables, std::string_view instance_id,
                             const store::PruneOptions& options) {
    (void)checked_keep_last("p_keep_last", options.keep_last);
    begin_pruning(tables);
    const auto current = store::hold_for_pruning(tables, instance_id);
    if (!current) {
        raise_unknown_instance(psprintf("Instance %s not found", pg::excerpt(instance_id)),
                               instance_id);
    }
    const store::Pruned pruned = store::prune(tables, instance_id, *current, options);
    const PruneResult result{1, pruned.executions, pruned.events};
    emit_pruned(tables, instance_id, std::nullopt, result);
    return result;
}

PruneResult prune_executions_bulk(store::Tables& tables, core::json::Value filter,
                                  core::json::Value options) {
    const InstancesFilter wanted = checked_instances_filter(filter);
    check_members(options, "p_options", kOptionKeys);
    const store::PruneOptions pruning{
        .keep_last = checked_keep_last("p_options.keep_last",
                                       optional_int(options, "keep_last", "p_options")),
        .completed_before = optional_int(options, "completed_before", "p_options")};
    PruneResult result{};
    if (wanted.ids && wanted.ids->empty()) {
        return result;
    }
    begin_pruning(tables);
    const auto chosen =
        store::prunable(tables, wanted.ids, wanted.completed_before, wanted.limit, pruning);
    auto* ids =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (chosen.size() + 1)));
    std::copy(chosen.begin(), chosen.end(), ids);
    std::sort(ids, ids + chosen.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        CHECK_FOR_INTERRUPTS();
        // Deleted meanwhile: not selected.
        if (const auto current = store::hold_for_pruning(tables, ids[i])) {
            const store::Pruned pruned = store::prune(tables, ids[i], *current, pruning);
            result.instances += 1;
            result.executions += pruned.executions;
            result.events += pruned.events;
        }
    }
    emit_pruned(tables, std::nullopt, filter.text, result);
    return result;
}

}  // namespace belay::ops
