// Entry functions of orchestrations: decode, call the operation, encode.
#include "ops/orchestration/orchestration.hpp"

#include "core/time.hpp"
#include "entry/verbs.hpp"
#include "pg/async_commit.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

namespace {

constexpr std::size_t kMaxBatch = 10000;

std::string_view required_instance(const Call& call, int i, const char* name) {
    const auto value = call.required_text(i, name);
    ops::check_instance_id(name, value);
    return value;
}

// A name that must be there and not be empty.
std::string_view required_name(const Call& call, int i) {
    const auto value = call.required_text(i, "p_name");
    if (value.empty()) {
        pg::raise_invalid("empty", "p_name", "p_name must not be empty", "Pass a name.");
    }
    ops::check_label("p_name", value);
    return value;
}

Datum renew_turn(const Call& call, const ops::Extension& extension) {
    auto clock = call.clock(2);
    pg::begin_lease_write();
    ops::renew_orchestration_item_lock(call.tables, call.text(0), extension, &clock);
    pg::end_lease_write();
    return call.nothing();
}

}  // namespace

Datum enqueue_orchestrator_work(const Call& call) {
    const auto message = ops::checked_message(call.required_text(1, "p_work_item"), call.text(0),
                                              "p_work_item", "p_instance_id");
    std::optional<int64> visible_at;
    if (call.has(2)) {
        visible_at = core::pg_us_to_ms(DatumGetTimestampTz(call.fcinfo->args[2].value));
    }
    ops::enqueue_orchestrator_work(call.tables, message, visible_at);
    return call.nothing();
}

Datum enqueue_orchestrator_items(const Call& call) {
    return Int64GetDatum(ops::enqueue_orchestrator_items(
        call.tables, ops::checked_array("p_items", call.jsonb(0), kMaxBatch), call.int8(1)));
}

Datum start_orchestration(const Call& call) {
    const auto name = required_name(call, 0);
    const auto instance_id = call.text(2);
    if (instance_id) {
        ops::check_instance_id("p_instance_id", *instance_id);
    }
    const int64 delay = ops::checked_delay("p_delay_ms", call.int8(4)).value_or(0);
    auto clock = call.clock(5);
    return call.answer(ops::start_orchestration(call.tables, name, call.text(1).value_or(""),
                                                instance_id, call.text(3), delay, &clock));
}

Datum raise_event(const Call& call) {
    const auto instance_id = required_instance(call, 0, "p_instance_id");
    const auto name = required_name(call, 1);
    auto clock = call.clock(4);
    ops::raise_event(call.tables, instance_id, name, call.text(2).value_or(""),
                     call.boolean(3).value_or(false), &clock);
    return call.nothing();
}

Datum cancel_instance(const Call& call) {
    const auto instance_id = required_instance(call, 0, "p_instance_id");
    auto clock = call.clock(2);
    ops::cancel_instance(call.tables, instance_id, call.text(1).value_or(""), &clock);
    return call.nothing();
}

Datum ack_orchestration_item(const Call& call) {
    ops::ack_orchestration_item(call.tables,
                                {.token = call.text(0),
                                 .execution_id = call.int8(1),
                                 .history_delta = call.jsonb(2),
                                 .worker_items = call.jsonb(3),
                                 .orchestrator_items = call.jsonb(4),
                                 .metadata = call.jsonb(5),
                                 .cancelled_activities = call.jsonb(6)},
                                call.int8(7));
    return call.nothing();
}

Datum abandon_orchestration_item(const Call& call) {
    const auto delay = ops::checked_delay("p_delay_ms", call.int8(1));
    auto clock = call.clock(3);
    return call.answer(ops::abandon_orchestration_item(call.tables, call.text(0), delay,
                                                       call.boolean(2).value_or(false), &clock));
}

Datum renew_orchestration_item_lock(const Call& call) {
    return renew_turn(call, ops::extension_ms(call.int8(1)));
}

Datum renew_orchestration_item_lock_secs(const Call& call) {
    return renew_turn(call, ops::extension_secs(call.int8(1)));
}

Datum fetch_history(const Call& call) {
    const auto set = call.set();
    if (const auto instance_id = call.text(0)) {
        set.add_rows(ops::fetch_history(call.tables, *instance_id, std::nullopt));
    }
    return call.nothing();
}

Datum fetch_history_with_execution(const Call& call) {
    const auto set = call.set();
    if (call.has(0) && call.has(1)) {
        set.add_rows(ops::fetch_history(call.tables, *call.text(0), call.int8(1)));
    }
    return call.nothing();
}

Datum read_history(const Call& call) {
    const auto set = call.set();
    if (const auto instance_id = call.text(0)) {
        set.add_rows(
            ops::read_history(call.tables, *instance_id, call.int8(1), call.int8(2), call.int4(3)));
    }
    return call.nothing();
}

Datum append_history(const Call& call) {
    const auto instance_id = required_instance(call, 0, "p_instance_id");
    const auto execution_id = call.int8(1);
    if (!execution_id || *execution_id <= 0) {
        pg::raise_invalid(execution_id ? "out_of_range" : "null", "p_execution_id",
                          "p_execution_id must be greater than 0",
                          "Pass an execution id of at least 1.");
    }
    ops::append_history(call.tables, instance_id, *execution_id,
                        ops::checked_events("p_events", call.jsonb(2)));
    return call.nothing();
}

Datum get_custom_status(const Call& call) {
    const auto status =
        call.has(0) ? ops::get_custom_status(call.tables, *call.text(0)) : std::nullopt;
    if (!status || status->version <= call.int8(1).value_or(-1)) {
        return call.no_row();
    }
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    const Datum values[] = {status->status ? pg::text_datum(*status->status) : 0,
                            Int64GetDatum(status->version)};
    MemoryContextSwitchTo(old);
    const bool nulls[] = {!status->status, false};
    return call.one_row(values, nulls);
}

Datum get_kv_value(const Call& call) {
    const auto value = call.has(0) && call.has(1)
                           ? ops::get_kv_value(call.tables, *call.text(0), *call.text(1))
                           : std::nullopt;
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    const Datum values[] = {value ? pg::text_datum(*value) : 0, BoolGetDatum(value.has_value())};
    MemoryContextSwitchTo(old);
    const bool nulls[] = {!value, false};
    return call.one_row(values, nulls);
}

Datum get_kv_all_values(const Call& call) {
    const auto set = call.set();
    if (const auto instance_id = call.text(0)) {
        set.add_rows(ops::get_kv_all_values(call.tables, *instance_id));
    }
    return call.nothing();
}

}  // namespace belay::entry
