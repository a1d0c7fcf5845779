// browse_instances.cpp — instances, page by page, in the order of one index.
//
// Calls    store::browse_instances
// Touches  nothing
// Locks    nothing
// Raises   QB006
// Races    none: one query with the caller's snapshot
// Faults   none: it only reads
#include <algorithm>

#include "ops/browse/browse.hpp"
#include "ops/input.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

constexpr const char* kKeys[] = {
    "status",        "name",  "version", "prefix",  "parent_id", "created_from_ms",
    "created_to_ms", "input", "output",  "upto_ms",
    "ids",  // only of calls that act on instances
};
// As store::InstanceOrder.
constexpr const char* kOrders[] = {"created", "ended", "failed", "running"};

std::optional<std::span<const std::string_view>> statuses_of(core::json::Value filter) {
    const auto statuses = optional_words(filter, "status", "p_filter");
    for (const auto status : statuses.value_or(std::span<const std::string_view>())) {
        if (status != "Running" && status != "Completed" && status != "Failed" &&
            status != "ContinuedAsNew") {
            pg::raise(pg::kInvalidArgument,
                      psprintf("unrecognized p_filter.status \"%s\"", pg::excerpt(status)),
                      pg::Facts("bad_value").add("path", "p_filter.status").add("value", status),
                      "Values are Running, Completed, Failed and ContinuedAsNew.");
        }
    }
    return statuses;
}

}  // namespace

store::InstancePageFilter instance_page_filter(core::json::Value filter) {
    return {.statuses = statuses_of(filter),
            .name = optional_string(filter, "name", "p_filter"),
            .version = optional_string(filter, "version", "p_filter"),
            .prefix = optional_string(filter, "prefix", "p_filter"),
            .parent = optional_string(filter, "parent_id", "p_filter"),
            .created_from = optional_int(filter, "created_from_ms", "p_filter"),
            .created_to = optional_int(filter, "created_to_ms", "p_filter"),
            .input = optional_string(filter, "input", "p_filter"),
            .output = optional_string(filter, "output", "p_filter"),
            .upto = optional_int(filter, "upto_ms", "p_filter")};
}

namespace {

store::PageRows read_page(store::Tables& tables, PageRequest* request) {
    // A row that is looked up in another table costs as much as so many that are not.
    constexpr int64 kCostOfLookup = 25;
    constexpr int64 kLeastLookups = 100;
    const auto order = static_cast<store::InstanceOrder>(request->order);
    const auto filter = instance_page_filter(request->filter);
    if (order != store::InstanceOrder::kCreated || filter.statuses || filter.input ||
        filter.output) {
        request->range.scan = std::max(kLeastLookups, request->range.scan / kCostOfLookup);
    }
    return store::browse_instances(tables.hub, order, filter, request->range);
}

}  // namespace

Jsonb* browse_instances(store::Tables& tables, const PageArguments& arguments) {
    auto request = open_page(arguments, std::span(kKeys).first(std::size(kKeys) - 1), kOrders);
    const auto rows = read_page(tables, &request);
    return page_answer(request, rows,
                       {.documents = {nullptr, nullptr}, .texts = {"custom_status", "output"}});
}

ChosenInstances choose_instances(store::Tables& tables, const char* function,
                                 const BulkArguments& arguments) {
    auto request = open_portion(function, arguments, kKeys, kOrders);
    ChosenInstances chosen{};
    if (names_objects(request)) {
        const auto ids = optional_texts(request.filter, "ids", "p_filter");
        check_named(ids ? ids->size() : 0);
        for (const auto id : ids.value_or(std::span<const std::string_view>())) {
            chosen.ids.add(id);
        }
        return chosen;
    }
    const auto rows = chosen_rows(request, read_page(tables, &request));
    for (const auto& row : rows.rows) {
        chosen.ids.add(required_string(row, "instance_id", "row"));
    }
    chosen.next = rows.next;
    return chosen;
}

}  // namespace belay::ops
