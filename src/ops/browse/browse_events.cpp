// browse_events.cpp — events, histories and flows, page by page.
//
// Calls    store::read_horizon, store::browse_events, store::browse_history, store::browse_flows
// Touches  nothing
// Locks    nothing
// Raises   QB006
// Races    none: one query with one snapshot, taken behind the horizon
// Faults   none: it only reads
#include "ops/browse/browse.hpp"
#include "ops/input.hpp"
#include "pg/errors.hpp"
#include "pg/scopes.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

namespace {

constexpr const char* kDirections[] = {"newest", "oldest"};
constexpr const char* kEventKeys[] = {"topics", "types", "subject", "by", "from_ms", "to_ms"};
constexpr const char* kHistoryKeys[] = {"types", "contains"};
constexpr const char* kFlowKeys[] = {"state", "kind", "tags", "created_from_ms", "created_to_ms"};
// As store::FlowOrder.
constexpr const char* kFlowOrders[] = {"created", "ended"};

std::optional<std::span<const std::string_view>> checked_flow_states(core::json::Value filter) {
    const auto states = optional_words(filter, "state", "p_filter");
    for (const auto state : states.value_or(std::span<const std::string_view>())) {
        if (!core::parse_flow_state(state)) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("unrecognized p_filter.state \"%s\"", pg::excerpt(state)),
                      pg::Facts("bad_value").add("path", "p_filter.state").add("value", state),
                      "States are open, running, completed, failed and cancelled.");
        }
    }
    return states;
}

}  // namespace

Jsonb* browse_events(store::Tables& tables, const PageArguments& arguments) {
    const auto request = open_page(arguments, kEventKeys, kDirections);
    const auto& filter = request.filter;
    const store::EventPageFilter wanted{.topics = optional_words(filter, "topics", "p_filter"),
                                        .types = optional_words(filter, "types", "p_filter"),
                                        .subject = optional_string(filter, "subject", "p_filter"),
                                        .by = optional_string(filter, "by", "p_filter"),
                                        .from_ms = optional_int(filter, "from_ms", "p_filter"),
                                        .to_ms = optional_int(filter, "to_ms", "p_filter")};
    const auto direction = static_cast<store::Direction>(request.order);
    const auto horizon = store::read_horizon(tables);
    const store::EventLimit upto{
        .position = horizon.exact ? std::optional(horizon.position) : std::nullopt,
        .xid = horizon.xid};
    const auto rows = pg::with_one_view([&tables, direction, &wanted, &upto, &request] {
        return store::browse_events(tables, direction, wanted, upto, request.range);
    });
    return page_answer(
        request, rows, {.documents = {"details", nullptr}, .texts = {nullptr, nullptr}},
        direction == store::Direction::kOldest ? ListEnd::kNever : ListEnd::kLastRow);
}

Jsonb* browse_history(store::Tables& tables, std::string_view instance_id,
                      std::optional<int64> execution_id, PageArguments arguments) {
    check_instance_id("p_instance_id", instance_id);
    arguments.scope =
        psprintf("%s " INT64_FORMAT, pg::c_string(instance_id), execution_id.value_or(0));
    const auto request = open_page(arguments, kHistoryKeys, kDirections);
    const auto rows =
        store::browse_history(tables, static_cast<store::Direction>(request.order),
                              {.instance_id = instance_id,
                               .execution_id = execution_id,
                               .types = optional_words(request.filter, "types", "p_filter"),
                               .contains = optional_string(request.filter, "contains", "p_filter")},
                              request.range);
    return page_answer(request, rows,
                       {.documents = {nullptr, nullptr}, .texts = {"event_data", nullptr}});
}

Jsonb* browse_flows(store::Tables& tables, const PageArguments& arguments) {
    const auto request = open_page(arguments, kFlowKeys, kFlowOrders);
    const auto& filter = request.filter;
    const auto rows =
        store::browse_flows(tables, static_cast<store::FlowOrder>(request.order),
                            {.states = checked_flow_states(filter),
                             .kind = optional_string(filter, "kind", "p_filter"),
                             .tags = object_member(filter, "tags", "p_filter"),
                             .created_from = optional_int(filter, "created_from_ms", "p_filter"),
                             .created_to = optional_int(filter, "created_to_ms", "p_filter")},
                            request.range);
    return page_answer(request, rows,
                       {.documents = {nullptr, nullptr}, .texts = {nullptr, nullptr}});
}

}  // namespace belay::ops
