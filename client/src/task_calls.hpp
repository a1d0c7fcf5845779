// The detailed calls of a worker of tasks: what a Worker uses in place of Queue::receive and its
// like, because it needs more columns, many leases per call and the epoch.
//
// JSON stays text here: a handler that does not look at a payload does not pay for its parsing, and
// what it stores keeps every digit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"
#include "belay/outcome.hpp"
#include "belay/provider.hpp"
#include "belay/suspensions.hpp"
#include "belay/tasks.hpp"

namespace belay {

struct ClaimOptions {
    std::string worker;           // the kind of worker
    std::string worker_instance;  // this process of it; "owner:<it>" is notified of lost leases
    std::optional<std::vector<std::string>> queues = {};  // none: all
    std::vector<std::string> capabilities = {};
    Milliseconds lease{30000};
    int max_tasks = 1;
    std::optional<std::vector<std::int32_t>> slots = {};
};

// A leased task.
struct ClaimedTask {
    Uuid id;
    std::string queue;
    std::string kind;
    OptionalText payload;  // JSON
    std::string headers;   // JSON object
    int priority = 0;
    int attempt = 0;           // 1 for the first
    std::string attempt_kind;  // initial, retry, replay; reclaim, snooze, resume continue with one
    int retry_count = 0;
    int reclaim_count = 0;
    int replay_count = 0;
    std::int64_t epoch = 0;
    std::string lease_id;
    Time lease_until;
    OptionalTime attempt_deadline;
    OptionalTime deadline;
    OptionalText checkpoint;    // JSON
    OptionalText last_failure;  // JSON object
    std::optional<Uuid> flow_id;
    OptionalText flow_key;
    OptionalText upstream;  // JSON array
    OptionalText signals;   // JSON array
};

// The lease that a call names. An operator's call may do without the epoch.
struct TaskFence {
    Uuid id;
    OptionalNumber epoch = {};
};

inline TaskFence fence_of(const ClaimedTask& task) {
    return {task.id, task.epoch};
}

struct ExtendedLease {
    Time lease_until;
    bool capped = false;  // a deadline of the task cut it
};

struct TaskExtension {
    Uuid id;
    bool extended = false;
    OptionalTime lease_until;
    OptionalText reason;  // not_found, terminal, not_active, stale_epoch, lease_expired
};

// What is given is stored.
struct TaskProgress {
    std::optional<double> percent = {};
    OptionalText message = {};
    OptionalText checkpoint = {};            // JSON
    std::optional<Milliseconds> lease = {};  // extends, too
};

struct FailedTask {
    std::string result;  // retry_scheduled, terminal_failed, cancelled
    Word<TaskState> state;
    OptionalTime available_at;
    std::optional<int> next_attempt;
};

// How the lease of a task ends, in one call with others. What is not said by the word is not given.
struct TaskOutcome {
    TaskFence fence = {};
    std::string word = "complete";  // complete, fail, delay, release
    OptionalText result = {};       // JSON
    OptionalText failure_class = {};
    OptionalText message = {};
    OptionalText details = {};  // JSON
    std::optional<Milliseconds> delay = {};
    OptionalText checkpoint = {};  // JSON
};

struct SettledTasks {
    std::vector<SettledOutcome> outcomes;
    std::vector<ClaimedTask> claimed;
};

constexpr std::string_view kLeaseHolder = "lease_holder";
constexpr std::string_view kOperatorOverride = "operator_override";

class TaskCalls : public HubPart {
 public:
    using HubPart::HubPart;

    std::vector<ClaimedTask> claim(const ClaimOptions& options, Where where = Where::current());
    ExtendedLease extend(const TaskFence& fence, Milliseconds lease,
                         Where where = Where::current());
    std::vector<TaskExtension> extend_many(const std::vector<TaskFence>& fences, Milliseconds lease,
                                           Where where = Where::current());
    Time progress(const TaskFence& fence, const TaskProgress& progress,
                  Where where = Where::current());
    // False: a run whose answer was lost has completed it.
    bool complete(const TaskFence& fence, const OptionalText& result = {},
                  std::string_view source = kLeaseHolder, Where where = Where::current());
    std::vector<ClaimedTask> complete_and_claim(const TaskFence& fence, const OptionalText& result,
                                                const ClaimOptions& options,
                                                Where where = Where::current());
    // Ends many leases and claims, in one unit; each outcome has its own fate. max_tasks may be 0.
    // A completion that a run whose answer was lost has done counts as done. Of claimed tasks only
    // what a lease needs is read.
    SettledTasks settle_and_claim(const std::vector<TaskOutcome>& outcomes,
                                  const ClaimOptions& options, const Prefetch& prefetch = {},
                                  Where where = Where::current());
    FailedTask fail(const TaskFence& fence, const TaskFailure& failure,
                    std::string_view source = kLeaseHolder, Where where = Where::current());
    ResumedTask delay(const TaskFence& fence, Milliseconds delay,
                      const OptionalText& checkpoint = {}, Where where = Where::current());
    // None: the lease is gone, and the answer of the run that may have done it was lost.
    std::optional<ResumedTask> release(const TaskFence& fence, Milliseconds delay = Milliseconds(0),
                                       Where where = Where::current());
    // Binds the caller's transaction to the lease.
    void guard(const TaskFence& fence, Where where = Where::current());
    SuspendedTask suspend(const TaskFence& fence, const NewSuspension& suspension,
                          Where where = Where::current());
    CreatedWaitpoint create_waitpoint(const TaskFence& fence, std::string_view key,
                                      Milliseconds expires_in, Where where = Where::current());
};

}  // namespace belay
