// Entry functions of the front door that start, steer or wait: orchestrations and results. Waits
// run with the caller's rights, outside of SPI.
#include "entry/answers.hpp"
#include "entry/front_door_call.hpp"
#include "entry/verbs.hpp"
#include "entry/waiting.hpp"
#include "ops/front_door/front_door.hpp"
#include "pg/datum.hpp"
#include "pg/jsonb.hpp"

namespace belay::entry {

namespace {

constexpr const char* kIdHint = "Pass the id that start returned.";

// JSON as its text; NULL is JSON null.
std::string_view json_text(const Call& call, int i, const char* name) {
    Jsonb* value = ops::checked_body(call.tables, name, call.jsonb(i));
    return value == nullptr ? "null" : pg::print_jsonb(value);
}

std::string_view required_instance(const Call& call, int i) {
    const auto id = call.text(i);
    if (!id) {
        refuse_null_argument("id", kIdHint);
    }
    ops::check_instance_id("id", *id);
    return *id;
}

std::string_view required_word(const Call& call, int i, const char* name) {
    const auto word = call.text(i);
    if (!word) {
        refuse_null_argument(name, "Pass a name.");
    }
    return ops::checked_word(name, *word, ops::kMaxId);
}

Datum await_queues(const Call& call, Queues form) {
    refuse_in_transaction(call, "await");
    const auto queues =
        checked_queues(call, 0, form, static_cast<std::size_t>(wakeups::kMaxChannels));
    const int64 timeout = ops::checked_span("timeout", required_interval(call, 1, "timeout"));
    call.prepare_row();
    const auto result = ops::await(call.tables, queues, timeout);
    return answer_wait(call, result);
}

Datum await_result_of(const Call& call, const ops::AwaitedId& id) {
    const int64 timeout = ops::checked_span("timeout", required_interval(call, 1, "timeout"));
    call.prepare_row();
    const auto result = ops::await_result(call.tables, id, timeout, call.result_memory);
    MemoryContext old = MemoryContextSwitchTo(call.result_memory);
    const Datum values[] = {CStringGetTextDatum(result.state),
                            result.result == nullptr ? 0 : JsonbPGetDatum(result.result)};
    const bool nulls[] = {false, result.result == nullptr};
    MemoryContextSwitchTo(old);
    return call.one_row(values, nulls);
}

}  // namespace

Datum start(const Call& call) {
    const auto name = required_word(call, 0, "orchestration");
    const auto input = json_text(call, 1, "input");
    const auto id = call.text(2);
    if (id) {
        ops::check_instance_id("id", *id);
    }
    const auto version = call.text(3);
    if (version) {
        (void)ops::checked_word("version", *version);
    }
    auto clock = call.clock();
    return call.answer(ops::start(call.tables, name, input, id, version, &clock));
}

Datum raise(const Call& call) {
    const auto id = required_instance(call, 0);
    const auto event = required_word(call, 1, "event");
    const auto data = json_text(call, 2, "data");
    auto clock = call.clock();
    ops::raise(call.tables, id, event, data, &clock);
    return call.nothing();
}

Datum terminate(const Call& call) {
    const auto id = required_instance(call, 0);
    const auto reason = ops::clip(call.text(1).value_or(""), ops::kMaxMessage);
    auto clock = call.clock();
    return BoolGetDatum(ops::terminate(call.tables, id, reason, &clock));
}

Datum await(const Call& call) {
    return await_queues(call, Queues::kMany);
}

Datum await_one_queue(const Call& call) {
    return await_queues(call, Queues::kOne);
}

Datum await_result(const Call& call) {
    refuse_in_transaction(call, "await_result");
    return await_result_of(call, {.task = required_task(call, 0), .instance = std::nullopt});
}

Datum await_result_text(const Call& call) {
    refuse_in_transaction(call, "await_result");
    const auto id = required_instance(call, 0);
    return await_result_of(call, {.task = ops::parse_uuid(id), .instance = id});
}

}  // namespace belay::entry
