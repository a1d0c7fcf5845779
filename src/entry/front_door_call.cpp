// Arguments and rows of the front door: intervals, times and lists of queues; a received task as a
// row.
//
// Touches  the call's arguments and its answer
// Must not decide anything about a task; ops/front_door does
#include "entry/front_door_call.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "pg/datum.hpp"

namespace belay::entry {

void refuse_null_argument(const char* path, const char* hint) {
    pg::raise_invalid("null", path, psprintf("%s must not be null", path), hint);
}

int32 required_int4(const Call& call, int i, const char* name) {
    const auto value = call.int4(i);
    if (!value) {
        refuse_null_argument(name, "Pass a number, or leave the argument out.");
    }
    return *value;
}

const Interval& required_interval(const Call& call, int i, const char* name) {
    if (!call.has(i)) {
        refuse_null_argument(name, "Pass an interval, or leave the argument out.");
    }
    return *DatumGetIntervalP(call.fcinfo->args[i].value);
}

std::optional<int64> optional_span(const Call& call, int i, const char* name) {
    return call.has(i) ? std::optional(ops::checked_span(name, required_interval(call, i, name)))
                       : std::nullopt;
}

std::optional<int64> optional_time(const Call& call, int i, const char* name) {
    if (!call.has(i)) {
        return std::nullopt;
    }
    const TimestampTz time = DatumGetTimestampTz(call.fcinfo->args[i].value);
    if (TIMESTAMP_NOT_FINITE(time)) {
        pg::raise_invalid("out_of_range", name, psprintf("%s must not be infinite", name),
                          "Pass the time at which the task may run.");
    }
    return core::pg_us_to_ms(time);
}

pg_uuid_t required_task(const Call& call, int i) {
    const auto id = call.uuid(i);
    if (!id) {
        refuse_null_argument("id", "Pass the id that send returned.");
    }
    return *id;
}

std::span<const std::string_view> texts_of(const Call& call, int i, const char* name) {
    const auto given = call.texts(i, name);
    auto* all =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (given.size() + 1)));
    for (std::size_t at = 0; at < given.size(); ++at) {
        if (given[at] == 0) {
            refuse_null_argument(psprintf("%s[%zu]", name, at), "Leave the element out.");
        }
        all[at] = pg::text_view(given[at]);
    }
    return {all, given.size()};
}

namespace {

constexpr int32 kMaxReceived = 1000;
constexpr const char* kQueuesHint = "Pass the name of a queue, or an array of names.";

// A driver that sends an array without its type has it read as the one name '{a,b}'.
void refuse_array_text(std::string_view queue) {
    if (queue.starts_with('{') && queue.ends_with('}')) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("queues is the text of an array: \"%s\"", pg::excerpt(queue)),
                  pg::Facts("wrong_type").add("path", "queues").add("value", ops::clip(queue, 64)),
                  "Cast the argument: queues => $1::text[].");
    }
}

}  // namespace

std::span<const std::string_view> checked_queues(const Call& call, int i, Queues form,
                                                 std::size_t most) {
    if (!call.has(i)) {
        refuse_null_argument("queues", kQueuesHint);
    }
    if (form == Queues::kOne) {
        auto* one = static_cast<std::string_view*>(palloc(sizeof(std::string_view)));
        *one = ops::checked_word("queues", *call.text(i), ops::kMaxQueue);
        refuse_array_text(*one);
        return {one, 1};
    }
    const auto given = texts_of(call, i, "queues");
    auto* queues =
        static_cast<std::string_view*>(palloc(sizeof(std::string_view) * (given.size() + 1)));
    for (std::size_t at = 0; at < given.size(); ++at) {
        queues[at] = ops::checked_word(psprintf("queues[%zu]", at), given[at], ops::kMaxQueue);
    }
    std::sort(queues, queues + given.size());
    const auto count =
        static_cast<std::size_t>(std::unique(queues, queues + given.size()) - queues);
    if (count == 0 || count > most) {
        pg::raise(pg::kInvalidArgument, psprintf("queues must have 1 to %zu names", most),
                  pg::Facts(count == 0 ? "empty" : "too_many")
                      .add("path", "queues")
                      .add("elements", static_cast<int64>(count)),
                  kQueuesHint);
    }
    return {queues, count};
}

// The arguments from queues to capabilities; the duration of the lease has that name.
ops::ClaimRequest receive_request(const Call& call, int first, Queues form, const char* lease,
                                  int32 least) {
    ops::ClaimRequest request{};
    request.queues = checked_queues(call, first, form, kMaxQueues);
    request.max = required_int4(call, first + 1, "max");
    if (request.max < 1 || request.max > kMaxReceived) {
        pg::raise(pg::kInvalidArgument, psprintf("max must be from %d to %d", least, kMaxReceived),
                  pg::Facts("out_of_range").add("path", "max").add("value", request.max),
                  request.max > kMaxReceived ? "Receive several times for more tasks."
                  : least > 0                ? "Receive at least one task."
                                             : "Pass 0 to receive no task.");
    }
    request.lease_ms = ops::checked_lease(lease, required_interval(call, first + 2, lease));
    // A worker without a name shows under the session's.
    const char* session = *application_name != '\0' ? application_name : "unnamed";
    const auto worker = call.text(first + 3);
    request.worker =
        worker ? ops::checked_word("worker", *worker) : ops::clip(session, ops::kMaxWord);
    request.worker_instance = worker ? *worker : std::string_view(psprintf("pid %d", MyProcPid));
    request.capabilities =
        ops::checked_capabilities("capabilities", texts_of(call, first + 4, "capabilities"));
    request.slots = {true, {}};
    return request;
}

ReceivedColumns received_columns(const ops::Received& received, std::size_t i) {
    const auto& claimed = received.claimed;
    const store::ClaimedTask& task = claimed.tasks[i];
    const int64 deadline = std::min(task.life.attempt_deadline.value_or(core::kNever),
                                    task.life.deadline.value_or(core::kNever));
    const auto& lease = received.leases[i].text;
    return {
        .values = {UUIDPGetDatum(&task.id), task.queue, task.kind, task.payload, task.tags,
                   Int32GetDatum(task.life.attempt_index), pg::text_datum({lease, sizeof lease}),
                   time_datum(*task.life.lease_until), time_datum(deadline), task.checkpoint,
                   claimed.signals[i], claimed.upstream[i]},
        .nulls = {false, false, pg::text_view(task.kind).empty(), task.payload == 0, false, false,
                  false, false, deadline == core::kNever, task.checkpoint == 0,
                  claimed.signals[i] == 0, claimed.upstream[i] == 0}};
}

}  // namespace belay::entry
