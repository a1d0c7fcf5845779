// Tables suspensions, waitpoints, signals and waitpoint_keys. A call that writes the first three
// holds the task.
#pragma once

#include "core/condition.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"
#include "store/statements.hpp"
#include "store/due_tasks.hpp"

namespace belay::store {

// ---- Suspensions ----

struct Suspension {
    int32 nr;  // of its task, from 1
    pg_uuid_t id;
    std::string_view on_timeout;
    std::string_view condition;  // JSON
    std::optional<int64> timeout_at;
    int64 resume_delay_ms;
    std::optional<std::string_view> closed_by;
};

// The one that the task is in; the one that was made with a key.
std::optional<Suspension> open_suspension(const Hub& hub, const pg_uuid_t& task);
std::optional<Suspension> suspension_by_key(const Hub& hub, const pg_uuid_t& task,
                                            std::string_view key);

struct NewSuspension {
    pg_uuid_t task_id;
    pg_uuid_t id;
    int32 attempt_index;
    std::string_view on_timeout;
    std::string_view reason_code;
    std::string_view condition;  // JSON
    std::optional<std::string_view> idempotency_key;
    std::optional<int64> timeout_at;
    int64 resume_delay_ms;
    int64 now;
};
// Returns its number.
int32 insert_suspension(const Hub& hub, const NewSuspension& suspension);

// Closes the open suspension of a task, and its waitpoints.
void close_suspension(const Hub& hub, const pg_uuid_t& task, std::string_view closed_by, int64 now);

// Leaves the end of the open suspension to operators.
void escalate_suspension(const Hub& hub, const pg_uuid_t& task);

// Deletes all there is of a task.
void delete_suspensions(const Hub& hub, const pg_uuid_t& task);

// Deletes all there is of the members of a flow.
void delete_suspensions_of_flow(const Hub& hub, const pg_uuid_t& flow);

// Tasks whose suspension has timed out.
std::span<const DueTask> timed_out(const Hub& hub, int64 now, int limit, int offset);

// What get_task and explain_claim show of the suspension that a task is in; null if there is none.
Jsonb* suspension_json(const Hub& hub, const pg_uuid_t& task);

// ---- Waitpoints ----

struct Waitpoint {
    pg_uuid_t id;
    std::string_view key;
    std::string_view kid;
    std::optional<int32> suspension_nr;  // none: pending
    std::optional<int64> expires_at;
    bool closed;
    std::optional<std::string_view> closed_by;  // of its suspension
};

std::optional<Waitpoint> read_waitpoint(const Hub& hub, const pg_uuid_t& task, const pg_uuid_t& id);
// Those of a suspension, by key.
std::span<const Waitpoint> waitpoints_of(const Hub& hub, const pg_uuid_t& task,
                                         int32 suspension_nr);

void insert_waitpoint(const Hub& hub, const pg_uuid_t& task, const Waitpoint& waitpoint, int64 now);
// Makes a pending one, and the signals that it has, part of a suspension.
void adopt_waitpoint(const Hub& hub, const pg_uuid_t& task, const pg_uuid_t& id,
                     int32 suspension_nr);

// Waitpoints as list_waitpoints lists them: id, key, state, suspension, kid, hash of the token (to
// be filled in), number of signals, created, expires, closed.
using WaitpointList = Out<pg_uuid_t, Text, Text, Maybe<pg_uuid_t>, Text, Maybe<Text>, int64, int64,
                          Maybe<int64>, Maybe<int64>>;
WaitpointList list_waitpoints(const Hub& hub, const pg_uuid_t& task, std::optional<pg_uuid_t> after,
                              int limit, int64 now);

// ---- Signals ----

struct Signal {
    pg_uuid_t task_id;
    int64 nr;
    std::optional<pg_uuid_t> waitpoint_id;  // none: belay's own
    std::optional<int32> suspension_nr;
    std::string_view signal_id;
    std::optional<std::string_view> idempotency_key;
    std::string_view name;
    std::optional<std::string_view> source;
    Jsonb* payload;
    int64 now;
};

// The number of the last signal that the task got; 0 if none came.
int64 last_signal(const Hub& hub, const pg_uuid_t& task);
// Whether the waitpoint has a signal with that id or key.
bool has_signal(const Hub& hub, const pg_uuid_t& task, const pg_uuid_t& waitpoint,
                std::string_view signal_id, std::optional<std::string_view> idempotency_key);
void insert_signal(const Hub& hub, const Signal& signal);

std::span<const core::SignalCount> count_signals(const Hub& hub, const pg_uuid_t& task,
                                                 int32 suspension_nr);
// Signals of a suspension behind a number, in their order: nr, signal_id, waitpoint_id, key, name,
// source, payload, accepted_at_ms. The second takes the suspension that the task's attempt is in or
// left last, and is for readers.
using SignalRows = Out<int64, Text, Maybe<pg_uuid_t>, Maybe<Text>, Text, Maybe<Text>,
                       Maybe<Unread<Jsonb*>>, int64>;
SignalRows read_signals(const Hub& hub, const pg_uuid_t& task, int32 suspension_nr, int64 after,
                        int limit);
Listing list_signals(const Hub& hub, const pg_uuid_t& task, int64 after, int limit);

// Of tasks that were just claimed, the suspension that the attempt left last: task, nr.
using LeftLastRows = Out<pg_uuid_t, int32>;
LeftLastRows suspensions_left_last(const Hub& hub, std::span<const pg_uuid_t> tasks);

// ---- Keys ----

struct WaitpointKey {
    std::string_view kid;
    std::string_view secret;
    std::optional<int64> valid_until;
};

// The key that signs; one by name.
WaitpointKey signing_key(const Hub& hub);
std::optional<WaitpointKey> find_waitpoint_key(const Hub& hub, std::string_view kid);
// Makes a new key the one that signs. The others continue verifying, or, with an instant, until
// then at most.
void insert_waitpoint_key(const Hub& hub, std::string_view kid, std::string_view secret,
                          std::optional<int64> others_until, int64 now);
// Deletes keys that no longer verify.
int64 forget_waitpoint_keys(const Hub& hub, int64 now);

}  // namespace belay::store
