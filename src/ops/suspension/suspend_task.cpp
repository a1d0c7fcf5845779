// suspend_task.cpp — let a task wait for signals, and make waitpoints ahead of that.
//
// Calls    store::insert_suspension, store::insert_waitpoint, store::adopt_waitpoint,
//          store::suspend
// Touches  <hub>.tasks, <hub>.suspensions, <hub>.waitpoints, <hub>.signals, <hub>.outbox_events
// Locks    the task
// Raises   QB001, QB002, QB006, QB007, QB010, QB012, QB013
#include <algorithm>

#include "core/condition.hpp"
#include "core/events.hpp"
#include "core/time.hpp"
#include "ops/suspension/suspension.hpp"
#include "pg/errors.hpp"
#include "shmem/counters.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr int kReleased = core::event_place("lease", "released");
constexpr std::size_t kMaxWaitpoints = 1000;

constexpr const char* kKeys[] = {"waitpoints",      "condition",      "reason_code",
                                 "timeout_at_ms",   "on_timeout",     "timeout_in_ms",
                                 "resume_delay_ms", "idempotency_key"};
constexpr const char* kWaitpointKeys[] = {"key", "waitpoint_id"};
constexpr std::string_view kTimeouts[] = {"fail", "cancel", "expire", "auto_resume", "escalate"};
constexpr std::string_view kReasons[] = {"waiting_for_signal", "waiting_for_approval",
                                         "waiting_for_callback", "waiting_for_tool_result"};

struct WaitpointRequest {
    const char* path;
    std::string_view key;
    std::optional<pg_uuid_t> id;  // of a pending one
};

struct SuspendRequest {
    std::span<const WaitpointRequest> waitpoints;
    std::string_view condition;
    std::string_view reason_code;
    std::string_view on_timeout;
    std::optional<int64> timeout_at;
    std::optional<int64> timeout_in_ms;  // from the suspension; of the two, the earlier counts
    int64 resume_delay_ms;
    std::optional<std::string_view> idempotency_key;
};

std::optional<int64> timeout_of(const SuspendRequest& request, int64 now) {
    if (!request.timeout_in_ms) {
        return request.timeout_at;
    }
    const int64 until = core::add_ms(now, *request.timeout_in_ms);
    return request.timeout_at ? std::min(*request.timeout_at, until) : until;
}

// A member that has to be one of a few words.
std::string_view word_of(json::Value object, const char* member,
                         std::span<const std::string_view> words, const char* hint) {
    const auto word = optional_string(object, member, "p_suspension");
    for (const std::string_view known : words) {
        if (!word || *word == known) {
            return known;
        }
    }
    const char* path = psprintf("p_suspension.%s", member);
    pg::raise(pg::kInvalidArgument, psprintf("%s has an unrecognized value", path),
              pg::Facts("bad_value").add("path", path).add("value", *word), hint);
}

std::span<const WaitpointRequest> read_waitpoints(json::Value suspension) {
    constexpr const char* kPath = "p_suspension.waitpoints";
    const auto array = json::find(suspension, "waitpoints");
    const std::size_t count = array ? json::count(*array) : 0;
    if (!array || array->kind != json::Kind::kArray || count == 0 || count > kMaxWaitpoints) {
        pg::raise_invalid(
            !array                              ? "missing_field"
            : array->kind != json::Kind::kArray ? "not_an_array"
            : count == 0                        ? "empty"
                                                : "too_many",
            kPath, "p_suspension.waitpoints must have 1 to 1000 elements",
            "Pass objects with a key and, optionally, the waitpoint_id of a pending waitpoint.");
    }
    pg::List<WaitpointRequest> requests;
    json::Elements elements(*array);
    json::Value element;
    while (elements.next(element)) {
        const char* path = psprintf("%s[%d]", kPath, requests.count);
        if (element.kind != json::Kind::kObject) {
            pg::raise_invalid("not_an_object", path, psprintf("%s is not a JSON object", path),
                              "Pass an object with a key.");
        }
        check_members(element, path, kWaitpointKeys);
        const auto key = optional_string(element, "key", path).value_or("");
        (void)checked_word(psprintf("%s.key", path), key);
        for (const auto& other : requests) {
            if (other.key == key) {
                pg::raise(pg::kInvalidArgument, psprintf("%s has the key of another one", path),
                          pg::Facts("duplicate_key").add("path", path).add("value", key),
                          "Use distinct keys for the waitpoints of a suspension.");
            }
        }
        requests.add({path, key, optional_uuid(element, "waitpoint_id", path)});
    }
    return requests.span();
}

void check_interrupts() {
    CHECK_FOR_INTERRUPTS();
}

// Checks the condition and returns its text.
std::string_view read_condition(json::Value suspension,
                                std::span<const WaitpointRequest> waitpoints, bool has_timeout) {
    constexpr const char* kPath = "p_suspension.condition";
    const auto condition = json::find(suspension, "condition");
    if (!condition) {
        pg::raise_invalid("missing_field", kPath, "p_suspension.condition is missing",
                          "Say what ends the wait, for example {\"single\": {\"key\": \"k\"}}.");
    }
    pg::List<std::string_view> keys;
    for (const auto& waitpoint : waitpoints) {
        keys.add(waitpoint.key);
    }
    if (const auto fault = core::check_condition(*condition, keys.span(), check_interrupts)) {
        pg::raise(pg::kInvalidArgument, "p_suspension.condition is not a condition",
                  pg::Facts(fault->code_detail)
                      .add("path", kPath)
                      .add("value", pg::excerpt(fault->where)),
                  "Conditions are single, all, count, operator_only and timeout_only.");
    }
    if (condition->text == core::kTimeoutOnly && !has_timeout) {
        pg::raise_invalid("missing_field", "p_suspension.timeout_at_ms",
                          "condition timeout_only needs a timeout_at_ms or timeout_in_ms",
                          "Pass a timeout: without one the task would wait forever.");
    }
    return condition->text;
}

SuspendRequest read_request(json::Value suspension) {
    check_members(suspension, "p_suspension", kKeys);
    SuspendRequest request{};
    request.waitpoints = read_waitpoints(suspension);
    request.timeout_at = optional_int(suspension, "timeout_at_ms", "p_suspension");
    request.timeout_in_ms = optional_int(suspension, "timeout_in_ms", "p_suspension");
    if (request.timeout_in_ms && *request.timeout_in_ms <= 0) {
        pg::raise(pg::kInvalidArgument, "p_suspension.timeout_in_ms must be above 0",
                  pg::Facts("out_of_range")
                      .add("path", "p_suspension.timeout_in_ms")
                      .add("value", *request.timeout_in_ms),
                  "Pass milliseconds from now.");
    }
    request.condition =
        read_condition(suspension, request.waitpoints,
                       request.timeout_at.has_value() || request.timeout_in_ms.has_value());
    request.reason_code = word_of(suspension, "reason_code", kReasons,
                                  "Reason codes are waiting_for_signal, waiting_for_approval, "
                                  "waiting_for_callback and waiting_for_tool_result.");
    request.on_timeout = word_of(suspension, "on_timeout", kTimeouts,
                                 "Pass fail, cancel, expire, auto_resume or escalate.");
    request.resume_delay_ms =
        checked_delay("p_suspension.resume_delay_ms",
                      optional_int(suspension, "resume_delay_ms", "p_suspension"))
            .value_or(0);
    request.idempotency_key = optional_string(suspension, "idempotency_key", "p_suspension");
    if (request.idempotency_key) {
        (void)checked_word("p_suspension.idempotency_key", *request.idempotency_key);
    }
    return request;
}

// Raises unless the id is that of a pending waitpoint with this key.
void check_pending(store::Tables& tables, const store::Task& task, const WaitpointRequest& request,
                   int64 now) {
    const auto waitpoint = store::read_waitpoint(tables, task.id, *request.id);
    if (!waitpoint || waitpoint->key != request.key) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s names no waitpoint of this task with this key", request.path),
                  pg::Facts("unknown_waitpoint")
                      .add("path", psprintf("%s.waitpoint_id", request.path))
                      .add("waitpoint_id", store::uuid_text(*request.id)),
                  "Pass what create_waitpoint returned for this task and key.");
    }
    const bool expired = waitpoint->expires_at && *waitpoint->expires_at <= now;
    if (waitpoint->suspension_nr || expired) {
        pg::raise(pg::kNotEligible,
                  psprintf("waitpoint %s is not pending any more", store::uuid_text(*request.id)),
                  pg::Facts(expired ? "waitpoint_expired" : "waitpoint_closed")
                      .add("waitpoint_id", store::uuid_text(*request.id))
                      .add("state", core::name_of(task.state)),
                  "Suspend the task without the waitpoint_id: that makes a new one.");
    }
}

// The answer for a suspension that is stored, whether it was just made or before.
SuspendedTask answer(store::Tables& tables, const pg_uuid_t& task, const pg_uuid_t& suspension,
                     int32 nr, bool at_once) {
    StringInfo out = makeStringInfo();
    int64 left = kMostOfOne;
    const auto signals = at_once ? read_signal_texts(tables, task, nr, &left) : SignalTexts{};
    for (const auto& waitpoint : store::waitpoints_of(tables, task, nr)) {
        appendStringInfoString(out, out->len == 0 ? "[{\"key\":" : ",{\"key\":");
        append_json(out, waitpoint.key);
        appendStringInfo(out, ",\"waitpoint_id\":\"%s\"", store::uuid_text(waitpoint.id));
        if (at_once) {
            appendStringInfoString(out, ",\"signals\":");
            append_signals(out, signals, waitpoint.id);
        } else if (const auto key = store::find_waitpoint_key(tables, waitpoint.kid)) {
            appendStringInfoString(out, ",\"token\":");
            append_json(out, waitpoint_token(*key, task, waitpoint.id));
        }
        appendStringInfoChar(out, '}');
    }
    appendStringInfoChar(out, ']');
    return {at_once ? "already_satisfied" : "suspended", suspension, out->data};
}

void store_waitpoints(store::Tables& tables, const store::Task& task,
                      std::span<const WaitpointRequest> requests, int32 nr, int64 now) {
    const auto key = store::signing_key(tables);
    for (const auto& request : requests) {
        if (request.id) {
            store::adopt_waitpoint(tables, task.id, *request.id, nr);
        } else {
            store::insert_waitpoint(tables, task.id,
                                    {.id = make_id(now),
                                     .key = request.key,
                                     .kid = key.kid,
                                     .suspension_nr = nr,
                                     .expires_at = std::nullopt,
                                     .closed = false,
                                     .closed_by = std::nullopt},
                                    now);
        }
    }
}

LeaseEvent released(const store::Task& task) {
    return {.event = kReleased,
            .epoch = task.lease_epoch,
            .key = "cause",
            .value = std::string_view("suspend")};
}

}  // namespace

SuspendedTask suspend_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                           json::Value suspension, pg::Clock* clock) {
    const auto request = read_request(suspension);
    const auto task = hold_task_and_flow(tables, id, clock);
    if (request.idempotency_key) {
        if (const auto known = store::suspension_by_key(tables, id, *request.idempotency_key)) {
            return answer(tables, id, known->id, known->nr, known->closed_by == "at_once");
        }
    }
    const int64 now = clock->now();
    check_fence(tables, task, fence, now);
    if (request.timeout_at && *request.timeout_at <= now) {
        pg::raise(pg::kInvalidArgument, "p_suspension.timeout_at_ms lies in the past",
                  pg::Facts("out_of_range")
                      .add("path", "p_suspension.timeout_at_ms")
                      .add("value", *request.timeout_at),
                  "Pass an instant after now, in milliseconds since 1970.");
    }
    for (const auto& waitpoint : request.waitpoints) {
        if (waitpoint.id) {
            check_pending(tables, task, waitpoint, now);
        }
    }
    if (!may_go_back(tables, task)) {
        allow_own_end(task, fence);
        emit_lease_event(tables, task, released(task), now);
        cancel_with_flow(tables, task, std::nullopt, {wakeups::Reason::kCancelled, false}, now);
        return {"cancelled", std::nullopt, "[]"};
    }
    const pg_uuid_t suspension_id = make_id(now);
    const int32 nr = store::insert_suspension(tables, {.task_id = id,
                                                       .id = suspension_id,
                                                       .attempt_index = task.attempt_index,
                                                       .on_timeout = request.on_timeout,
                                                       .reason_code = request.reason_code,
                                                       .condition = request.condition,
                                                       .idempotency_key = request.idempotency_key,
                                                       .timeout_at = timeout_of(request, now),
                                                       .resume_delay_ms = request.resume_delay_ms,
                                                       .now = now});
    store_waitpoints(tables, task, request.waitpoints, nr, now);
    // Signals may have come before the task slept.
    const bool at_once =
        core::is_met(*json::parse(request.condition), store::count_signals(tables, id, nr));
    if (at_once) {
        store::close_suspension(tables, id, "at_once", now);
    } else {
        allow_own_end(task, fence);
        emit_lease_event(tables, task, released(task), now);
        store::suspend(tables, task, now);
        counters::add(tables.hub.schema, counters::Queue::kTasks, counters::Counter::kAbandoned);
    }
    return answer(tables, id, suspension_id, nr, at_once);
}

NewWaitpoint create_waitpoint(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                              std::string_view key, std::optional<int64> expires_in_ms,
                              pg::Clock* clock) {
    const auto task = hold_task(tables, id, clock);
    const int64 now = clock->now();
    check_fence(tables, task, fence, now);
    const auto signing = store::signing_key(tables);
    const pg_uuid_t waitpoint = make_id(now);
    store::insert_waitpoint(
        tables, id,
        {.id = waitpoint,
         .key = key,
         .kid = signing.kid,
         .suspension_nr = std::nullopt,
         .expires_at =
             expires_in_ms ? std::optional(core::add_ms(now, *expires_in_ms)) : std::nullopt,
         .closed = false,
         .closed_by = std::nullopt},
        now);
    store::touch(tables, task, now);
    return {waitpoint, waitpoint_token(signing, id, waitpoint)};
}

ListedWaitpoints list_waitpoints(store::Tables& tables, const pg_uuid_t& task,
                                 std::optional<pg_uuid_t> after, int limit) {
    constexpr std::size_t kShown = 8;  // bytes of the hash
    const auto rows = store::list_waitpoints(tables, task, after, limit, pg::server_now_ms());
    auto** hashes = static_cast<const char**>(palloc0(sizeof(char*) * (rows.count + 1)));
    for (uint64 i = 0; i < rows.count; ++i) {
        const auto [waitpoint, name, state, suspension, kid, hash_column, signals, created_at,
                    expires_at, closed_at] = rows[i];
        if (const auto key = store::find_waitpoint_key(tables, kid)) {
            const char* token = waitpoint_token(*key, task, waitpoint);
            const Datum hash = DirectFunctionCall1(sha256_bytea, CStringGetTextDatum(token));
            const auto* bytes = reinterpret_cast<const uint8*>(VARDATA_ANY(DatumGetByteaPP(hash)));
            StringInfo text = makeStringInfo();
            for (std::size_t at = 0; at < kShown; ++at) {
                appendStringInfo(text, "%02x", bytes[at]);
            }
            hashes[i] = text->data;
        }
    }
    return {rows, {hashes, static_cast<std::size_t>(rows.count)}};
}

}  // namespace belay::ops
