// Suspensions: tasks that wait for signals without a lease.
//
// Every call that changes one holds its task. A suspension whose timeout has passed is over: no
// signal ends it any more, only settle does.
#pragma once

#include "core/json.hpp"
#include "ops/task/task.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/suspensions.hpp"
#include "store/table/tables.hpp"

namespace belay::ops {

// ---- Tokens ----

// <kid>:<hex of HMAC-SHA256(secret, kid ":" task ":" waitpoint)>.
const char* waitpoint_token(const store::WaitpointKey& key, const pg_uuid_t& task,
                            const pg_uuid_t& waitpoint);
// Whether the token is the one of the waitpoint, made with a key that still verifies.
bool is_token_good(store::Tables& tables, std::optional<std::string_view> token,
                   const pg_uuid_t& task, const pg_uuid_t& waitpoint, int64 now);

// ---- Workers ----

struct SuspendedTask {
    const char* result;
    std::optional<pg_uuid_t> suspension_id;
    const char* waitpoints;  // JSON
};
SuspendedTask suspend_task(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                           core::json::Value suspension, pg::Clock* clock);

struct NewWaitpoint {
    pg_uuid_t id;
    const char* token;
};
NewWaitpoint create_waitpoint(store::Tables& tables, const pg_uuid_t& id, const Fence& fence,
                              std::string_view key, std::optional<int64> expires_in_ms,
                              pg::Clock* clock);

// ---- Signals ----

struct SignalRequest {
    std::optional<std::string_view> signal_id;
    std::optional<std::string_view> idempotency_key;
    std::string_view name;
    std::optional<std::string_view> source;
    Jsonb* payload;
};
// Reads p_signal. QB006.
SignalRequest read_signal(store::Tables& tables, core::json::Value signal);

struct DeliveredSignal {
    const char* result;
    const char* effect;  // null: none
    core::TaskState state;
};
DeliveredSignal deliver_signal(store::Tables& tables, const pg_uuid_t& id,
                               const pg_uuid_t& waitpoint, std::optional<std::string_view> token,
                               const SignalRequest& signal, pg::Clock* clock);
// The same without a token.
DeliveredSignal approve_task(store::Tables& tables, const pg_uuid_t& id, const pg_uuid_t& waitpoint,
                             const SignalRequest& signal, pg::Clock* clock);

// ---- Operators ----

RequeuedTask resume_task(store::Tables& tables, const pg_uuid_t& id, std::string_view trigger,
                         int64 delay_ms, pg::Clock* clock);

// Whether a new key signs from now on; false if it is known already. QB006 for a known name with
// another secret.
bool seed_waitpoint_key(store::Tables& tables, std::string_view kid, std::string_view secret);
bool rotate_waitpoint_key(store::Tables& tables, std::string_view kid, std::string_view secret,
                          int64 grace_ms);

// ---- Reads ----

struct ListedWaitpoints {
    store::Listing rows;
    std::span<const char* const> hashes;  // of each row's token; null: its key is gone
};
ListedWaitpoints list_waitpoints(store::Tables& tables, const pg_uuid_t& task,
                                 std::optional<pg_uuid_t> after, int limit);

// Signals of the suspension that the task's attempt is in or left last: rows of
// store::list_signals.
store::Listing list_signals(store::Tables& tables, const pg_uuid_t& task, int64 after, int limit);

// ---- Inside ----

// The signals of a suspension as JSON objects, in order, as long as they fit into what is left.
struct SignalTexts {
    struct One {
        std::optional<pg_uuid_t> waitpoint;
        const char* text;
    };
    pg::List<One> all;
    std::optional<int64> cut_after;  // the number behind which list_signals has more
};
SignalTexts read_signal_texts(store::Tables& tables, const pg_uuid_t& task, int32 suspension_nr,
                              int64* left);
// Appends them as an array, those of one waitpoint or all. One that is not whole ends with
// {"truncated": true, "after": number}.
void append_signals(StringInfo out, const SignalTexts& signals,
                    const std::optional<pg_uuid_t>& waitpoint);

// Lets a task that is held continue: closes its suspension, puts it back, publishes that.
RequeuedTask leave_suspension(store::Tables& tables, const store::Task& task,
                              const store::Suspension& suspension, const char* closed_by,
                              std::string_view trigger, int64 delay_ms, int64 now);

// What a timeout that has passed does.
void time_out_suspension(store::Tables& tables, const store::Task& task,
                         const store::Suspension& suspension, int64 now);

// The suspension of a task that is held and suspended. If its timeout has passed, it is escalated
// if that is what the timeout does; otherwise QB010.
store::Suspension hold_suspension(store::Tables& tables, const store::Task& task, int64 now);

}  // namespace belay::ops
