// read_instances.cpp — lists, totals and single instances.
//
// Calls    store::list_instances, store::read_parent, store::history_size, store::kv_size
// Touches  nothing
// Locks    nothing
// Raises   QB002 instance not found, QB006 bad limit, QB016 too much to look through
#include "ops/management/management.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "pg/errors.hpp"
#include "store/instances.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

// How many events the first event carried over from the execution before.
int64 carried_events(std::optional<std::string_view> first_event) {
    const auto event = first_event ? json::parse(*first_event) : std::nullopt;
    const auto carried = event ? json::find(*event, "carry_forward_events") : std::nullopt;
    return carried && carried->kind == json::Kind::kArray
               ? static_cast<int64>(json::count(*carried))
               : 0;
}

}  // namespace

void raise_unknown_instance(const char* message, std::string_view instance_id) {
    pg::raise(pg::kNotFound, message, pg::Facts("unknown_instance").add("instance_id", instance_id),
              "Check the id; list_instances shows the instances that exist.");
}

store::Listing list_instances(store::Tables& tables, const store::InstanceFilter& filter,
                              std::optional<std::string_view> after, std::optional<int32> limit) {
    const auto most = checked_list_limit(limit, "instances");
    std::optional<store::InstancePlace> place;
    if (after) {
        place = store::place_of_instance(tables, *after);
        if (!place) {
            pg::raise(pg::kNotFound, psprintf("Instance not found: %s", pg::excerpt(*after)),
                      pg::Facts("unknown_instance").add("path", "p_after").add("value", *after),
                      "Begin again, or page with p_created_before_ms: the last instance of the "
                      "page before was deleted.");
        }
    }
    // Applications of duroxide-pg list what they have, however much that is.
    const bool bounded = tables.hub.api == store::Api::kBelay;
    const auto list = store::list_instances(tables, filter, place, most, bounded);
    if (!list.whole) {
        raise_long_search("list_instances", "browse_instances");
    }
    return list.rows;
}

store::Listing instance_info(store::Tables& tables, std::string_view instance_id) {
    const auto found = store::instance_info(tables, instance_id);
    std::optional<int64> seen_execution;
    std::string_view seen_status;
    for (const auto& [id, name, version, execution, created_at, updated_at, status, output,
                      parent] : found) {
        seen_execution = execution;
        seen_status = status;
    }
    remember_status(tables, instance_id, seen_execution, seen_status);
    return found;
}

int64 latest_execution_id(store::Tables& tables, std::string_view instance_id) {
    const auto latest = store::latest_execution(tables, instance_id);
    if (!latest) {
        raise_unknown_instance(psprintf("Instance not found: %s", pg::excerpt(instance_id)),
                               instance_id);
    }
    return *latest;
}

std::optional<std::string_view> get_parent_id(store::Tables& tables, std::string_view instance_id) {
    const auto parent = store::read_parent(tables, instance_id);
    if (!parent) {
        raise_unknown_instance(psprintf("Instance not found: %s", pg::excerpt(instance_id)),
                               instance_id);
    }
    return parent->instance_id;
}

store::Listing get_queue_depths(store::Tables& tables, const pg::Clock& clock) {
    return store::queue_depths(tables, clock.now());
}

std::optional<InstanceStats> get_instance_stats(store::Tables& tables,
                                                std::string_view instance_id) {
    const auto instance = store::read_instance(tables, instance_id);
    if (!instance) {
        return std::nullopt;
    }
    const int64 execution = instance->current_execution_id;
    return InstanceStats{
        .history = store::history_size(tables, instance_id, execution),
        .carried = carried_events(store::first_event(tables, instance_id, execution)),
        .kv = store::kv_size(tables, instance_id)};
}

}  // namespace belay::ops
