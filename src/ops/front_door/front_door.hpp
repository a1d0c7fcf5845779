// The front door: short verbs for tasks and orchestrations, on the same rows as the detailed calls.
//
// A lease is one opaque text. Each verb that takes one decodes it, and every lease that is not the
// live one of its task is QB001.
#pragma once

#include "core/token.hpp"
#include "ops/task/task.hpp"
#include "ops/wait/wait_for_work.hpp"
#include "pg/clock.hpp"
#include "pg/pg.hpp"
#include "store/hub.hpp"

namespace belay::ops {

// ---- Arguments ----

// The longest delay and the longest wait.
inline constexpr int64 kMaxSpanMs = int64{36525} * 24 * 3600 * 1000;

// An interval in milliseconds. QB006 unless it is from 0 to 100 years.
int64 checked_span(const char* path, const Interval& span);
// The duration of a lease. QB006 unless it is above 0 and at most a day.
int64 checked_lease(const char* path, const Interval& span);
// An interval in milliseconds; none unless it is from 0 to 100 years.
std::optional<int64> span_ms(const Interval& span);

// code_detail of a text that is not a lease.
inline constexpr const char* kMalformedLease = "malformed_lease";
// A lease as the caller sent it. A text that is not a lease counts as a lost one, and gives none.
std::optional<core::TaskLease> decode_lease(store::Tables& tables, std::string_view text);
// The same; QB001 for a text that is not a lease.
core::TaskLease checked_lease_text(store::Tables& tables, std::string_view text);
pg_uuid_t task_of(const core::TaskLease& lease);
// The fence of a call with that lease, which has to outlive it.
Fence fence_of(const core::TaskLease& lease);

// ---- Clients ----

// Sends tasks that are alike but for payload and key.
struct SendRequest {
    std::string_view queue;
    std::optional<std::string_view> kind;
    int64 delay_ms;
    std::optional<int64> at;
    int32 priority;
    Jsonb* policy;   // null: the queue's
    Jsonb* headers;  // null: none
};
struct SentPayload {
    const char* path;  // of the payload
    const char* key_path;
    Jsonb* payload;
    std::optional<std::string_view> key;
};
std::span<const CreatedTask> send(store::Tables& tables, const SendRequest& request,
                                  std::span<const SentPayload> payloads, pg::Clock* clock);

// Cancels a task. False if it has ended already.
bool cancel(store::Tables& tables, const pg_uuid_t& id, std::string_view reason, pg::Clock* clock);

// The state of a task, as store::read_task_status returns it; no row if there is none.
store::TaskStatus status(store::Tables& tables, const pg_uuid_t& id, const pg::Clock& clock);

// ---- Workers ----

struct LeaseText {
    char text[core::kTaskLeaseChars];
};
struct Received {
    Claimed claimed;
    std::span<const LeaseText> leases;  // of each row
};
Received receive(store::Tables& tables, const ClaimRequest& request, pg::Clock* clock);
// Completes, then receives. If the completion is refused, nothing is received.
Received complete_and_receive(store::Tables& tables, const core::TaskLease& lease, Jsonb* result,
                              const ClaimRequest& request, pg::Clock* clock);

// Returns the new end of the lease.
int64 extend(store::Tables& tables, const core::TaskLease& lease, int64 by_ms, pg::Clock* clock);
void complete(store::Tables& tables, const core::TaskLease& lease, Jsonb* result, pg::Clock* clock);
// Returns when the next attempt can begin; none if there is no other.
std::optional<int64> fail(store::Tables& tables, const core::TaskLease& lease,
                          const store::Failure& failure, std::optional<int64> retry_in_ms,
                          pg::Clock* clock);
void release(store::Tables& tables, const core::TaskLease& lease, int64 delay_ms, pg::Clock* clock);
void progress(store::Tables& tables, const core::TaskLease& lease, const ProgressReport& report,
              pg::Clock* clock);

// ---- Operators ----

// Runs a task once more that has ended without success. QB012 if it was completed.
void retry(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock);

// ---- Orchestrations ----

std::string_view start(store::Tables& tables, std::string_view orchestration,
                       std::string_view input, std::optional<std::string_view> id,
                       std::optional<std::string_view> version, pg::Clock* clock);
void raise(store::Tables& tables, std::string_view id, std::string_view event,
           std::string_view data, pg::Clock* clock);
// Asks a running instance to end. False if it has ended already; QB002 if there is none.
bool terminate(store::Tables& tables, std::string_view id, std::string_view reason,
               pg::Clock* clock);

// Whether an instance with that status runs. One that continues as new does: its next execution may
// still be queued.
inline bool is_running(std::string_view status) {
    return status == "Running" || status == "ContinuedAsNew";
}

// ---- Waits: they end the caller's transaction, and the hub is not valid afterwards ----

// Waits until one of these queues may have a task.
WaitResult await(store::Tables& tables, std::span<const std::string_view> queues, int64 timeout_ms);

// What is waited for: a task, or an instance, or whichever of the two has this id.
struct AwaitedId {
    std::optional<pg_uuid_t> task;
    std::optional<std::string_view> instance;
};
struct AwaitedResult {
    const char* state;
    Jsonb* result;  // null for NULL
};
// Waits until it has ended, or for the timeout, and returns its state then. The answer is made in
// that memory. QB002 if there is no such thing.
AwaitedResult await_result(store::Tables& tables, const AwaitedId& id, int64 timeout_ms,
                           MemoryContext memory);

}  // namespace belay::ops
