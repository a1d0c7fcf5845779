// read_flows.cpp — what can be known of flows.
//
// Calls    store::flow_revision, store::read_flow_json, store::list_flows, store::upstream_results
// Touches  nothing
// Locks    nothing
// Raises   QB006, QB016 too much to look through
#include "ops/flow/flow.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "pg/errors.hpp"
#include "store/flow_reads.hpp"

namespace belay::ops {

namespace {

constexpr const char* kFilterKeys[] = {"state", "kind", "tags", "created_from_ms", "created_to_ms"};

}  // namespace

Jsonb* get_flow(store::Tables& tables, const pg_uuid_t& id,
                std::optional<std::string_view> revision) {
    const auto present = store::flow_revision(tables, id);
    remember_flow(tables, store::uuid_text(id), present);
    return !present || present == revision ? nullptr : store::read_flow_json(tables, id, *present);
}

store::Listing list_flows(store::Tables& tables, core::json::Value filter,
                          std::optional<pg_uuid_t> after, int limit) {
    check_members(filter, "p_filter", kFilterKeys);
    const auto states = optional_words(filter, "state", "p_filter");
    for (const auto state : states.value_or(std::span<const std::string_view>())) {
        if (!core::parse_flow_state(state)) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("unrecognized p_filter.state \"%s\"", pg::excerpt(state)),
                      pg::Facts("bad_value").add("path", "p_filter.state").add("value", state),
                      "States are open, running, completed, failed and cancelled.");
        }
    }
    const auto list =
        store::list_flows(tables,
                          {.states = states,
                           .kind = optional_string(filter, "kind", "p_filter"),
                           .tags = object_member(filter, "tags", "p_filter"),
                           .created_from = optional_int(filter, "created_from_ms", "p_filter"),
                           .created_to = optional_int(filter, "created_to_ms", "p_filter")},
                          after, limit);
    if (!list.whole) {
        raise_long_search("list_flows", "browse_flows");
    }
    return list.rows;
}

store::Listing upstream_results(store::Tables& tables, const pg_uuid_t& task) {
    return store::upstream_results(tables, task);
}

}  // namespace belay::ops
