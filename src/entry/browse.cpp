// Pages, overviews and searches for people who look at a hub, and calls that act on many objects of
// a page: decode, call, encode.
#include "entry/answers.hpp"
#include "entry/verbs.hpp"
#include "ops/browse/browse.hpp"
#include "ops/browse/glance.hpp"
#include "ops/browse/read_body.hpp"
#include "ops/management/management.hpp"
#include "ops/monitoring/stat_series.hpp"
#include "ops/task/task.hpp"
#include "ops/worker_queue/worker_queue.hpp"

namespace belay::entry {

namespace {

// The arguments of a browse function, from a place on: the filter, then the others.
ops::PageArguments page_arguments(const Call& call, const char* function, int first = 0) {
    return {.function = function,
            .filter = call.jsonb(first),
            .order = call.text(first + 1),
            .after = call.text(first + 2),
            .limit = call.int4(first + 3),
            .scan = call.int4(first + 4),
            .preview = call.int4(first + 5),
            .scope = ""};
}

// The arguments of a call that acts on many: filter, others of its own, then from a place on order,
// cursor, limit, budget.
ops::BulkArguments bulk_arguments(const Call& call, int from) {
    return {.filter = call.jsonb(0),
            .order = call.text(from),
            .after = call.text(from + 1),
            .limit = call.int4(from + 2),
            .scan = call.int4(from + 3)};
}

}  // namespace

Datum browse_tasks(const Call& call) {
    return answer_jsonb(call, ops::browse_tasks(call.tables, page_arguments(call, "tasks")));
}

Datum browse_instances(const Call& call) {
    return answer_jsonb(call,
                        ops::browse_instances(call.tables, page_arguments(call, "instances")));
}

Datum browse_work_items(const Call& call) {
    return answer_jsonb(call,
                        ops::browse_work_items(call.tables, page_arguments(call, "work_items")));
}

Datum browse_messages(const Call& call) {
    return answer_jsonb(call, ops::browse_messages(call.tables, page_arguments(call, "messages")));
}

Datum browse_dead_letters(const Call& call) {
    return answer_jsonb(
        call, ops::browse_dead_letters(call.tables, page_arguments(call, "dead_letters")));
}

Datum browse_events(const Call& call) {
    return answer_jsonb(call, ops::browse_events(call.tables, page_arguments(call, "events")));
}

Datum browse_history(const Call& call) {
    return answer_jsonb(
        call, ops::browse_history(call.tables, call.required_text(0, "p_instance_id"), call.int8(1),
                                  page_arguments(call, "history", 2)));
}

Datum browse_flows(const Call& call) {
    return answer_jsonb(call, ops::browse_flows(call.tables, page_arguments(call, "flows")));
}

Datum read_body(const Call& call) {
    return answer_jsonb(call, ops::read_body(call.tables, call.caller,
                                             {.what = call.required_text(0, "p_what"),
                                              .id = call.required_text(1, "p_id"),
                                              .field = call.required_text(2, "p_field"),
                                              .offset = call.int8(3),
                                              .length = call.int8(4)}));
}

Datum glance(const Call& call) {
    return answer_jsonb(call, ops::glance(call.tables, ops::checked_cap(call.int4(0))));
}

Datum stat_series(const Call& call) {
    const auto set = call.set();
    const auto task_queue = call.text(4);
    for (const auto& step : ops::stat_series(call.tables, {.from_ms = call.int8(0),
                                                          .to_ms = call.int8(1),
                                                          .step_ms = call.int8(2),
                                                          .queue = call.text(3),
                                                          .task_queue = task_queue})) {
        Datum values[3 + task_stats::kCounters + 2 * counters::kDurations + 2];
        bool nulls[lengthof(values)] = {};
        int at = 0;
        values[at++] = Int64GetDatum(step.at_ms);
        values[at++] = CStringGetTextDatum(counters::kQueueNames[static_cast<int>(step.queue)]);
        nulls[at] = !task_queue;
        values[at++] = task_queue ? pg::text_datum(*task_queue) : 0;
        for (const int64 value : step.values) {
            values[at++] = Int64GetDatum(value);
        }
        for (const auto& duration : step.durations) {
            values[at++] = pg::int8_array_datum(duration.buckets);
            values[at++] = Int64GetDatum(duration.sum_ms);
        }
        for (const auto& gauge : {step.depth, step.oldest_ms}) {
            nulls[at] = !gauge;
            values[at++] = Int64GetDatum(gauge.value_or(0));
        }
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum list_queues(const Call& call) {
    call.set().add_rows(ops::list_queues(call.tables, ops::checked_cap(call.int4(0))));
    return call.nothing();
}

Datum list_owners(const Call& call) {
    return answer_jsonb(call,
                        ops::list_owners(call.tables, call.text(0), call.int4(1), call.int4(2)));
}

Datum find(const Call& call) {
    call.set().add_rows(ops::find(call.tables, call.required_text(0, "p_text")));
    return call.nothing();
}

Datum cancel_tasks(const Call& call) {
    const auto reason = ops::clip(call.text(1).value_or(""), ops::kMaxMessage);
    auto clock = call.unchecked_clock(6);
    return answer_jsonb(call,
                        ops::cancel_tasks(call.tables, bulk_arguments(call, 2), reason, &clock));
}

Datum replay_tasks(const Call& call) {
    auto clock = call.unchecked_clock(6);
    return answer_jsonb(call, ops::replay_tasks(call.tables, bulk_arguments(call, 2),
                                                call.boolean(1).value_or(false), &clock));
}

Datum cancel_instances(const Call& call) {
    auto clock = call.clock(6);
    return answer_jsonb(call, ops::cancel_instances(call.tables, bulk_arguments(call, 2),
                                                    call.text(1).value_or(""), &clock));
}

Datum redrive_dead_letters(const Call& call) {
    return answer_jsonb(call, ops::redrive_dead_letters(call.tables, bulk_arguments(call, 1)));
}

Datum discard_dead_letters(const Call& call) {
    return answer_jsonb(call, ops::discard_dead_letters(call.tables, bulk_arguments(call, 1)));
}

}  // namespace belay::entry
