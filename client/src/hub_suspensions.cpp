// The calls of a hub that are about suspensions, signals and schedules.
#include <nlohmann/json.hpp>

#include "belay/hub.hpp"
#include "json_parts.hpp"
#include "rows.hpp"
#include "signals.hpp"
#include "task_text.hpp"

namespace belay {
namespace {

using nlohmann::json;

std::string suspension_text(const NewSuspension& given, const Where& where) {
    json waitpoints = json::array();
    for (const auto& waitpoint : given.waitpoints) {
        json object = {{"key", waitpoint.key}};
        put(object, "waitpoint_id", waitpoint.waitpoint_id);
        waitpoints.push_back(std::move(object));
    }
    json object = {{"waitpoints", std::move(waitpoints)},
                   {"reason_code", given.reason_code},
                   {"resume_delay_ms", count_of(given.resume_delay)}};
    put(object, "timeout_at_ms", given.timeout_at_ms);
    put(object, "on_timeout", given.on_timeout);
    put(object, "idempotency_key", given.idempotency_key);
    std::string text = dumped(object, where);
    append_json(text, "condition", given.condition.text, where);
    return text;
}

std::string signal_text(const NewSignal& signal, const Where& where) {
    json object = {{"name", signal.name}};
    put(object, "source", signal.source);
    put(object, "signal_id", signal.signal_id);
    put(object, "idempotency_key", signal.idempotency_key);
    std::string text = dumped(object, where);
    append_json(text, "payload", signal.payload, where);
    return text;
}

std::string hex_of(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        hex += kDigits[value >> 4];
        hex += kDigits[value & 15];
    }
    return hex;
}

// An answer, and behind which number more signals came than it has.
struct Suspended {
    SuspendedTask task;
    OptionalNumber cut_after;
};

void read_suspended(Reader& from, Suspended& to) {
    OptionalText waitpoints;
    from >> to.task.result >> to.task.suspension_id >> waitpoints;
    const std::string array = waitpoints.value_or("[]");
    for (const auto part : array_parts(array)) {
        const ObjectParts parts = object_parts(part);
        SignalList list = signals_of(json_part(parts, "signals").value_or("[]"));
        to.cut_after = list.cut_after;
        to.task.waitpoints.push_back({.key = text_part(parts, "key").value_or(""),
                                      .waitpoint_id = text_part(parts, "waitpoint_id").value_or(""),
                                      .token = text_part(parts, "token"),
                                      .signals = std::move(list.signals)});
    }
}

void read_delivered(Reader& from, DeliveredSignal& to) {
    from >> to.result >> to.effect >> to.state;
}

}  // namespace

SignalList signals_of(std::string_view array) {
    SignalList list;
    for (const auto part : array_parts(array)) {
        const ObjectParts parts = object_parts(part);
        if (parts.contains("truncated")) {
            list.cut_after =
                json::parse(json_part(parts, "after").value_or("0")).get<std::int64_t>();
            break;
        }
        list.signals.push_back(
            {.key = text_part(parts, "key").value_or(""),
             .name = text_part(parts, "name").value_or(""),
             .payload = json_part(parts, "payload"),
             .source = text_part(parts, "source"),
             .signal_id = text_part(parts, "signal_id").value_or(""),
             .waitpoint_id = text_part(parts, "waitpoint_id").value_or(""),
             .accepted_at_ms = json::parse(json_part(parts, "accepted_at_ms").value_or("0"))
                                   .get<std::int64_t>()});
    }
    return list;
}

std::vector<Signal> signals_behind(Hub& hub, std::string_view task_id, std::int64_t after,
                                   Where where) {
    // Each may be as large as a body.
    constexpr int kPage = 10;
    std::vector<Signal> all;
    while (true) {
        auto page = hub.list_signals(task_id, after, kPage, where);
        const bool last = page.size() < static_cast<std::size_t>(kPage);
        for (auto& signal : page) {
            after = signal.nr;
            all.push_back(std::move(signal));
        }
        if (last) {
            return all;
        }
    }
}

// ---- Conditions. ----

Condition Condition::single(std::string_view key, const std::vector<std::string>& names) {
    json object = {{"key", key}};
    if (!names.empty()) {
        object["names"] = names;
    }
    return {dumped({{"single", std::move(object)}}, Where::current())};
}

Condition Condition::all(const std::vector<Condition>& conditions) {
    std::string text = "{\"all\":[";
    for (const auto& condition : conditions) {
        text.append(&condition == conditions.data() ? "" : ",").append(condition.text);
    }
    return {text + "]}"};
}

Condition Condition::count(int n, std::string_view of, const std::vector<std::string>& keys) {
    json object = {{"n", n}, {"of", of}};
    if (!keys.empty()) {
        object["keys"] = keys;
    }
    return {dumped({{"count", std::move(object)}}, Where::current())};
}

Condition Condition::operator_only() {
    return {"\"operator_only\""};
}

Condition Condition::timeout_only() {
    return {"\"timeout_only\""};
}

// ---- Suspensions. ----

SuspendedTask Hub::suspend_task(const TaskFence& fence, const NewSuspension& suspension,
                                Where where) {
    Suspended suspended =
        first_row<Suspended>(call(suspension.idempotency_key ? Effect::kRepeatable : Effect::kAck,
                                  kAll, "suspend_task",
                                  {uuid_of(fence.task_id), fence.epoch,
                                   Json{suspension_text(suspension, where)}, clock_()},
                                  where),
                             read_suspended)
            .value();
    if (suspended.cut_after) {
        for (auto& signal : signals_behind(*this, fence.task_id, *suspended.cut_after, where)) {
            for (auto& waitpoint : suspended.task.waitpoints) {
                if (waitpoint.waitpoint_id == signal.waitpoint_id) {
                    waitpoint.signals.push_back(signal);
                }
            }
        }
    }
    return std::move(suspended.task);
}

CreatedWaitpoint Hub::create_waitpoint(const TaskFence& fence, std::string_view key,
                                       Milliseconds expires_in, Where where) {
    return first_row<CreatedWaitpoint>(
               call(Effect::kWrite, kAll, "create_waitpoint",
                    {uuid_of(fence.task_id), fence.epoch, key, count_of(expires_in), clock_()},
                    where),
               [](Reader& from, CreatedWaitpoint& to) { from >> to.waitpoint_id >> to.token; })
        .value();
}

DeliveredSignal Hub::deliver_signal(std::string_view task_id, std::string_view waitpoint_id,
                                    std::string_view token, const NewSignal& signal, Where where) {
    const bool is_taken_once = signal.signal_id || signal.idempotency_key;
    return first_row<DeliveredSignal>(
               call(is_taken_once ? Effect::kRepeatable : Effect::kWrite, kAll, "deliver_signal",
                    {uuid_of(task_id), uuid_of(waitpoint_id), token,
                     Json{signal_text(signal, where)}, clock_()},
                    where),
               read_delivered)
        .value();
}

DeliveredSignal Hub::approve_task(std::string_view task_id, std::string_view waitpoint_id,
                                  std::string_view name, std::string_view idempotency_key,
                                  Where where) {
    return first_row<DeliveredSignal>(
               call(Effect::kRepeatable, kAll, "approve_task",
                    {uuid_of(task_id), uuid_of(waitpoint_id), name, idempotency_key, clock_()},
                    where),
               read_delivered)
        .value();
}

PausedTask Hub::resume_task(std::string_view task_id, std::string_view trigger, Milliseconds delay,
                            Where where) {
    return first_row<PausedTask>(
               // Repeated, it could end the next suspension.
               call(Effect::kWrite, kAll, "resume_task",
                    {uuid_of(task_id), trigger, count_of(delay), clock_()}, where),
               [](Reader& from, PausedTask& to) { from >> to.state >> to.available_at_ms; })
        .value();
}

std::vector<WaitpointInfo> Hub::list_waitpoints(std::string_view task_id, const OptionalText& after,
                                                int limit, Where where) {
    return all_rows<WaitpointInfo>(call(Effect::kRepeatable, kAll, "list_waitpoints",
                                        {uuid_of(task_id), optional_uuid(after), limit}, where),
                                   [](Reader& from, WaitpointInfo& to) {
                                       from >> to.waitpoint_id >> to.key >> to.state >>
                                           to.suspension_id >> to.kid >> to.token_hash >>
                                           to.signals >> to.created_at_ms >> to.expires_at_ms >>
                                           to.closed_at_ms;
                                   });
}

std::vector<Signal> Hub::list_signals(std::string_view task_id, std::int64_t after, int limit,
                                      Where where) {
    return all_rows<Signal>(
        call(Effect::kRepeatable, kAll, "list_signals", {uuid_of(task_id), after, limit}, where),
        [](Reader& from, Signal& to) {
            OptionalText waitpoint_id;
            OptionalText key;
            from >> to.nr >> to.signal_id >> waitpoint_id >> key >> to.name >> to.source >>
                to.payload >> to.accepted_at_ms;
            to.waitpoint_id = waitpoint_id.value_or("");
            to.key = key.value_or("");
        });
}

std::string Hub::seed_waitpoint_key(std::string_view kid, std::string_view secret, Where where) {
    return connection_
        ->call(Effect::kRepeatable,
               "SELECT " + schema_ + ".seed_waitpoint_key($1, pg_catalog.decode($2, 'hex'))",
               {kid, hex_of(secret)}, where)
        .get<std::string>(0, 0);
}

std::string Hub::rotate_waitpoint_key(std::string_view kid, std::string_view secret,
                                      Milliseconds grace, Where where) {
    return connection_
        ->call(Effect::kRepeatable,
               "SELECT " + schema_ + ".rotate_waitpoint_key($1, pg_catalog.decode($2, 'hex'), $3)",
               {kid, hex_of(secret), count_of(grace)}, where)
        .get<std::string>(0, 0);
}

// ---- Schedules. ----

std::int64_t Hub::create_schedule(const NewSchedule& schedule, Where where) {
    return number_of(call(Effect::kWrite, kAll, "create_schedule",
                          {schedule.name, schedule.cron, Json{task_text(schedule.task, where)},
                           schedule.time_zone, schedule.catch_up, clock_()},
                          where));
}

void Hub::drop_schedule(std::string_view name, Where where) {
    call(Effect::kWrite, kAll, "drop_schedule", {name}, where);
}

void Hub::pause_schedule(std::string_view name, Where where) {
    call(Effect::kRepeatable, kAll, "pause_schedule", {name}, where);
}

std::int64_t Hub::resume_schedule(std::string_view name, Where where) {
    return number_of(call(Effect::kRepeatable, kAll, "resume_schedule", {name, clock_()}, where));
}

std::vector<ScheduleInfo> Hub::list_schedules(Where where) {
    return all_rows<ScheduleInfo>(call(Effect::kRepeatable, kAll, "list_schedules", {}, where),
                                  [](Reader& from, ScheduleInfo& to) {
                                      from >> to.name >> to.cron >> to.time_zone >> to.catch_up >>
                                          to.task >> to.paused >> to.next_due_ms >>
                                          to.last_due_ms >> to.last_error >> to.created_at_ms;
                                  });
}

}  // namespace belay
