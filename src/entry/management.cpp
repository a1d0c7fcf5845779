// Entry functions of operators: decode, call the operation, encode.
#include "ops/management/management.hpp"

#include "core/time.hpp"
#include "entry/verbs.hpp"
#include "ops/admin/admin.hpp"
#include "ops/duties/duties.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

Datum removed_row(const Call& call, const store::Removed& removed) {
    const Datum values[] = {Int64GetDatum(removed.instances), Int64GetDatum(removed.executions),
                            Int64GetDatum(removed.events), Int64GetDatum(removed.messages)};
    const bool nulls[] = {false, false, false, false};
    return call.one_row(values, nulls);
}

Datum pruned_row(const Call& call, const ops::PruneResult& pruned) {
    const Datum values[] = {Int64GetDatum(pruned.instances), Int64GetDatum(pruned.executions),
                            Int64GetDatum(pruned.events)};
    const bool nulls[] = {false, false, false};
    return call.one_row(values, nulls);
}

// The rows of a read by id; NULL finds nothing.
template <typename Read>
Datum rows_by_id(const Call& call, Read read) {
    const auto set = call.set();
    if (const auto instance_id = call.text(0)) {
        set.add_rows(read(call.tables, *instance_id));
    }
    return call.nothing();
}

}  // namespace

Datum list_instances(const Call& call) {
    const auto set = call.set();
    const store::InstanceFilter filter{.status = call.text(0),
                                       .name = call.text(1),
                                       .prefix = call.text(2),
                                       .created_from = call.int8(3),
                                       .created_before = call.int8(4)};
    set.add_rows(ops::list_instances(call.tables, filter, call.text(5), call.int4(6)));
    return call.nothing();
}

Datum list_instances_by_status(const Call& call) {
    const auto set = call.set();
    if (call.has(0)) {
        const store::InstanceFilter filter{.status = call.text(0),
                                           .name = std::nullopt,
                                           .prefix = std::nullopt,
                                           .created_from = std::nullopt,
                                           .created_before = std::nullopt};
        set.add_rows(ops::list_instances(call.tables, filter, std::nullopt, std::nullopt));
    }
    return call.nothing();
}

Datum list_executions(const Call& call) {
    return rows_by_id(call, ops::list_executions);
}

Datum latest_execution_id(const Call& call) {
    return Int64GetDatum(
        ops::latest_execution_id(call.tables, call.required_text(0, "p_instance_id")));
}

Datum get_instance_info(const Call& call) {
    return rows_by_id(call, ops::instance_info);
}

Datum get_execution_info(const Call& call) {
    const auto set = call.set();
    if (call.has(0) && call.has(1)) {
        set.add_rows(ops::execution_info(call.tables, *call.text(0), *call.int8(1)));
    }
    return call.nothing();
}

Datum get_system_metrics(const Call& call) {
    const auto set = call.set();
    set.add_rows(ops::system_metrics(call.tables));
    return call.nothing();
}

Datum get_queue_depths(const Call& call) {
    const auto set = call.set();
    set.add_rows(ops::get_queue_depths(call.tables, call.clock(0)));
    return call.nothing();
}

Datum get_instance_stats(const Call& call) {
    const auto stats =
        call.has(0) ? ops::get_instance_stats(call.tables, *call.text(0)) : std::nullopt;
    const bool found = stats.has_value();
    const Datum values[] = {BoolGetDatum(found),
                            Int64GetDatum(found ? stats->history.events : 0),
                            Int64GetDatum(found ? stats->history.bytes : 0),
                            Int64GetDatum(found ? stats->carried : 0),
                            Int64GetDatum(found ? stats->kv.keys : 0),
                            Int64GetDatum(found ? stats->kv.bytes : 0)};
    const bool nulls[] = {false, false, false, false, false, false};
    return call.one_row(values, nulls);
}

Datum list_children(const Call& call) {
    return rows_by_id(call, ops::list_children);
}

Datum get_parent_id(const Call& call) {
    const auto parent = ops::get_parent_id(call.tables, call.required_text(0, "p_instance_id"));
    return parent ? call.answer(*parent) : call.null();
}

Datum get_instance_tree(const Call& call) {
    return rows_by_id(call, ops::instance_tree);
}

namespace {

Datum answer_reasons(const Call& call, std::span<const ops::BlockingReason> reasons) {
    const auto set = call.set();
    for (const auto& reason : reasons) {
        const Datum values[] = {
            CStringGetTextDatum(reason.reason),
            reason.detail != nullptr ? CStringGetTextDatum(reason.detail) : 0,
            reason.until ? TimestampTzGetDatum(core::ms_to_pg_us(*reason.until)) : 0};
        const bool nulls[] = {false, reason.detail == nullptr, !reason.until};
        set.add(values, nulls);
    }
    return call.nothing();
}

}  // namespace

Datum explain_fetch(const Call& call) {
    const auto instance_id = call.required_text(0, "p_instance_id");
    const auto clock = call.clock(3);
    const ops::ExplainRequest request{.instance_id = instance_id,
                                      .versions = {call.int8(1), call.int8(2)}};
    return answer_reasons(call, ops::explain_fetch(call.tables, request, clock));
}

Datum explain_waits(const Call& call) {
    const auto instance_id = call.required_text(0, "p_instance_id");
    const int limit = ops::checked_limit("p_limit", call.int4(1), 100, 1000);
    const auto clock = call.clock(2);
    return answer_reasons(call, ops::explain_waits(call.tables, instance_id, limit, clock));
}

Datum explain_work_item(const Call& call) {
    const auto id = call.int8(0);
    if (!id) {
        pg::raise_invalid("null", "p_id", "p_id must not be null", "Pass the id of a work item.");
    }
    const auto clock = call.clock(1);
    return answer_reasons(call, ops::explain_work_item(call.tables, *id, clock));
}

Datum delete_instance(const Call& call) {
    const auto instance_id = call.required_text(0, "p_instance_id");
    return removed_row(
        call, ops::delete_instance(call.tables, instance_id, call.boolean(1).value_or(false)));
}

Datum delete_instances_atomic(const Call& call) {
    const auto given = call.texts(0, "p_instance_ids");
    auto* ids =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (given.size() + 1)));
    std::size_t count = 0;
    for (const Datum id : given) {
        if (id != 0) {
            ids[count++] = pg::text_view(id);
        }
    }
    return removed_row(call, ops::delete_instances_atomic(call.tables, {ids, count},
                                                          call.boolean(1).value_or(false)));
}

Datum delete_instances_bulk(const Call& call) {
    return removed_row(call, ops::delete_instances_bulk(
                                 call.tables, ops::checked_object("p_filter", call.jsonb(0))));
}

Datum prune_executions(const Call& call) {
    const auto instance_id = call.required_text(0, "p_instance_id");
    return pruned_row(
        call, ops::prune_executions(call.tables, instance_id,
                                    {.keep_last = call.int4(1), .completed_before = call.int8(2)}));
}

Datum prune_executions_bulk(const Call& call) {
    const auto options = call.has(1) ? ops::checked_object("p_options", call.jsonb(1))
                                     : core::json::Value{core::json::Kind::kObject, "{}"};
    return pruned_row(
        call, ops::prune_executions_bulk(call.tables,
                                         ops::checked_object("p_filter", call.jsonb(0)), options));
}

Datum reconcile(const Call& call) {
    const auto set = call.set();
    auto clock = call.clock(1);
    const auto names = call.has(0) ? std::optional(call.texts(0, "p_duties")) : std::nullopt;
    for (const auto& result : ops::reconcile(call.tables, names, &clock)) {
        const Datum values[] = {CStringGetTextDatum(result.name), Int64GetDatum(result.rows),
                                Int64GetDatum(result.elapsed_ms)};
        const bool nulls[] = {false, false, false};
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum cleanup_schema(const Call& call) {
    ops::cleanup_schema(call.tables);
    return call.nothing();
}

}  // namespace belay::entry
