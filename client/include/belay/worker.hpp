// Workers: they fetch activities or claim tasks, run a handler for each, and report what came of
// it.
//
//     belay::Worker worker({.connection = {.conninfo = "dbname=shop"}, .hub = "app"});
//     worker.on("Charge", [](belay::Activity& activity) {
//         return belay::Outcome::completed(charge(activity.input()));
//     });
//     worker.run();  // until worker.stop()
//
//     belay::TaskWorker resizer({.hub = "app", .worker = "resizer"});
//     resizer.on("images", [](belay::Task& task) {
//         return belay::TaskOutcome::completed(resize(task.payload()));
//     });
//     resizer.run();
//
// Threads and connections. run() uses its own thread to wait for work and to fetch it,
// `concurrency` threads for handlers, and one to renew leases. They share `connections`
// connections, and one more waits: for work, and for word that something this worker runs was
// cancelled. Behind a pooler that one needs a session of its own.
//
// A handler learns from its stop_token that it should stop, and from stop_reason() why: its item or
// task was cancelled, a deadline of the task has passed, its lease was lost or revoked, or the
// worker's drain deadline has passed. What it returns is then not used.
//
// Thread-safety: on() is called before run(). stop() may be called by any thread and by a signal
// handler. Handlers and hooks are called by several threads at once.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "belay/hub.hpp"
#include "belay/lease.hpp"

namespace belay {

// The work item that a handler runs.
class Activity {
 public:
    Activity(WorkItem item, WorkLease& lease);

    // Fields of the item; empty if it has none. A field that is no string comes as JSON.
    const std::string& name() const { return name_; }
    const std::string& input() const { return input_; }
    const OptionalText& instance() const { return instance_; }
    OptionalNumber execution_id() const { return execution_id_; }
    OptionalNumber id() const { return id_; }

    const std::string& work_item() const { return item_.work_item; }  // JSON, as enqueued
    int attempt() const { return item_.attempt_count; }               // 1 for the first
    std::stop_token stop_token() const { return lease_.stop_token(); }
    StopReason stop_reason() const { return lease_.stop_reason(); }

    // Completes the activity in one transaction with what body writes through the connection: both
    // happen, or neither. The handler then returns Outcome::settled().
    void complete_with(const std::function<void(Connection&)>& body, std::string_view result,
                       Where where = Where::current());

    // What ack_worker takes; none for an item that belongs to no instance.
    OptionalText completion(std::string_view result) const;
    OptionalText failure(std::string_view message, bool retryable = false) const;

 private:
    WorkItem item_;
    WorkLease& lease_;
    std::string name_;
    std::string input_;
    OptionalText instance_;
    OptionalNumber execution_id_;
    OptionalNumber id_;
};

// What a handler decided.
struct Outcome {
    enum class Kind { kCompleted, kFailed, kRetry, kSettled };

    Kind kind = Kind::kCompleted;
    std::string text = {};  // result or message
    Milliseconds delay{0};
    bool ignore_attempt = false;
    bool retryable = false;  // of a failure: another call of the activity may succeed

    static Outcome completed(std::string result = "") {
        return {Kind::kCompleted, std::move(result)};
    }
    // The instance is told that the activity has failed.
    static Outcome failed(std::string message, bool retryable = false) {
        return {Kind::kFailed, std::move(message), Milliseconds(0), false, retryable};
    }
    // The item is given back, for another attempt after the delay. The reason is kept with it, for
    // its dead letter.
    static Outcome retry(Milliseconds delay, bool ignore_attempt = false, std::string reason = "") {
        return {Kind::kRetry, std::move(reason), delay, ignore_attempt};
    }
    // Activity::complete_with has done it.
    static Outcome settled() { return {Kind::kSettled}; }
};

// An exception that leaves a handler is a retry with a growing delay; after
// WorkerOptions::max_attempts it is a failure. One of the infrastructure (Error::infrastructure())
// is a retry that counts as no attempt.
using Handler = std::function<Outcome(Activity&)>;

struct WorkerEvent {
    enum class Kind {
        kFetched,
        kCompleted,
        kFailed,
        kRetried,
        kCancelled,  // while the handler ran, or before its ack
        kLost,       // expired or taken over; also an ack that came too late
        kUnknown,    // the connection broke, and nobody can say whether the ack has happened
        kAbandoned,  // given back because the worker stops
        kNoHandler,  // given back, for a worker that has one
        kError,      // of a call; the worker goes on
    };
    Kind kind;
    const Activity* activity = nullptr;  // none if the event is about no item
    std::string message = {};
    std::chrono::microseconds elapsed{0};  // since the handler was called
};

struct WorkerOptions {
    ConnectionOptions connection = {};
    std::string hub;
    std::string owner_id = {};  // "" makes one up
    int concurrency = 8;
    int connections = 3;
    Milliseconds lock_timeout{30000};
    Milliseconds wait_timeout{30000};
    Milliseconds drain_timeout{30000};
    Milliseconds retry_delay{1000};  // after the first exception; doubled with each attempt
    Milliseconds max_retry_delay{60000};
    int max_attempts = 5;
    std::optional<std::vector<std::string>> tag_filter = {};
    std::string tag_mode = "default_only";
    std::optional<std::vector<std::int32_t>> slots = {};
    // Sessions that this worker has taken stay with it: their locks are renewed until nothing was
    // done in them for the idle time. Without a lock timeout of their own they have the items'.
    std::optional<Milliseconds> session_lock_timeout = {};
    Milliseconds session_idle_timeout{300000};
    Clock clock = server_clock();
    std::function<void(const WorkerEvent&)> on_event = {};
};

class Worker {
 public:
    explicit Worker(WorkerOptions options);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Registers the handler of an activity name; "" is for names that have none.
    void on(std::string name, Handler handler);

    // Works until stop(), then drains: nothing more is fetched, running handlers may finish until
    // drain_timeout, the rest is given back without counting the attempt. No lease is left. Returns
    // when all handlers have returned, so they have to obey their stop_token. Throws if the server
    // cannot be reached at the start; later it waits for the server to come back.
    void run();

    void stop() noexcept;

    // How often run() has waited for the server, on all its connections; known when it returns.
    std::uint64_t round_trips() const;

    const std::string& owner_id() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// ---- Tasks. ----

// The task that a handler runs. Used by the handler's thread.
class Task {
 public:
    explicit Task(TaskLease& lease) : lease_(lease) {}

    const std::string& id() const { return claimed().task_id; }
    const std::string& lane() const { return claimed().lane; }
    const std::string& kind() const { return claimed().kind; }
    std::string payload() const { return claimed().payload.value_or("null"); }  // JSON
    int attempt() const { return claimed().attempt_index; }                     // 1 for the first
    // What an earlier run has left with set_checkpoint(), in this or another attempt; JSON.
    const OptionalText& checkpoint() const { return claimed().checkpoint; }
    const ClaimedTask& claimed() const { return lease_.task(); }  // all there is
    // Of a member of a flow: what the tasks before it have brought. A round trip if that is more
    // than a claim returns.
    std::vector<UpstreamResult> upstream(Where where = Where::current());
    // The result of the task before it that has this key or is passed as it; none if there is none.
    OptionalText upstream_result(std::string_view name, Where where = Where::current());
    // What came to the waitpoints of the suspension that the task goes on from.
    std::vector<Signal> signals(Where where = Where::current()) { return lease_.signals(where); }
    std::stop_token stop_token() const { return lease_.stop_token(); }
    StopReason stop_reason() const { return lease_.stop_reason(); }

    // Tells whoever looks how far the work is: percent from 0 to 100, a message, or both.
    void progress(std::optional<double> percent, const OptionalText& message = {},
                  Where where = Where::current());
    // Stores what the next run of the task gets, should this one end early; JSON.
    void set_checkpoint(std::string_view checkpoint, Where where = Where::current());

    // Writes through a connection of the worker, in a transaction that commits only while the lease
    // is held.
    void write(const std::function<void(Connection&)>& body, Where where = Where::current());
    // Completes the task in one transaction with what body writes: both happen, or neither. The
    // handler then returns TaskOutcome::settled().
    void complete_with(const std::function<void(Connection&)>& body,
                       const OptionalText& result = {}, Where where = Where::current());

    // Lets the task wait for signals. The handler then returns TaskOutcome::suspended(); it is run
    // again when they have come. If those that came early suffice (already_satisfied), it goes on
    // at once, with the signals of the answer.
    SuspendedTask suspend(const NewSuspension& suspension, Where where = Where::current());
    // Makes a waitpoint ahead of suspend(), for its token.
    CreatedWaitpoint create_waitpoint(std::string_view key, Milliseconds expires_in,
                                      Where where = Where::current());

 private:
    TaskLease& lease_;
};

// Thrown by a handler whose attempt has failed: with the class, which decides whether there is
// another, details, and when to try again. Every other exception is a failure of class transient,
// but for those of the infrastructure (Error::infrastructure()): the task is released.
class TaskFailed : public std::runtime_error {
 public:
    explicit TaskFailed(TaskFailure failure)
        : std::runtime_error(failure.message), failure_(std::move(failure)) {}

    const TaskFailure& failure() const { return failure_; }

 private:
    TaskFailure failure_;
};

// What a handler decided.
struct TaskOutcome {
    enum class Kind { kCompleted, kFailed, kDelayed, kReleased, kSettled, kSuspended };

    Kind kind = Kind::kCompleted;
    OptionalText json = {};  // result or checkpoint
    TaskFailure failure = {};
    Milliseconds delay{0};

    static TaskOutcome completed(OptionalText result = {}) {
        return {Kind::kCompleted, std::move(result)};
    }
    static TaskOutcome failed(TaskFailure failure) {
        return {Kind::kFailed, {}, std::move(failure)};
    }
    // The attempt goes on after the delay, here or elsewhere.
    static TaskOutcome delayed(Milliseconds delay, OptionalText checkpoint = {}) {
        return {Kind::kDelayed, std::move(checkpoint), {}, delay};
    }
    // The task is given back unharmed.
    static TaskOutcome released(Milliseconds delay = Milliseconds(0)) {
        return {Kind::kReleased, {}, {}, delay};
    }
    // Task::complete_with has done it.
    static TaskOutcome settled() { return {Kind::kSettled}; }
    // Task::suspend has done it.
    static TaskOutcome suspended() { return {Kind::kSuspended}; }
};

using TaskHandler = std::function<TaskOutcome(Task&)>;

struct TaskEvent {
    enum class Kind {
        kClaimed,
        kCompleted,
        kFailed,   // for good, or cancelled by the handler
        kRetried,  // failed, and another attempt follows
        kDelayed,
        kReleased,
        kSuspended,
        kCancelled,  // while the handler ran, or before its call
        kDeadline,   // of the task or its attempt has passed
        kLost,       // revoked or expired; also a call that came too late
        kUnknown,    // the connection broke, and nobody can say whether the call has happened
        kAbandoned,  // released because the worker stops
        kNoHandler,  // released, for a worker that has one
        kError,      // of a call; the worker goes on
    };
    Kind kind;
    const Task* task = nullptr;  // none if the event is about no task
    std::string message = {};
    std::chrono::microseconds elapsed{0};  // since the handler was called
};

struct TaskWorkerOptions {
    ConnectionOptions connection = {};
    std::string hub;
    std::string worker = "worker";     // the kind of worker, for whoever looks
    std::string worker_instance = {};  // this one of it; "" makes a name up
    std::vector<std::string> capabilities = {};
    int concurrency = 8;
    int connections = 3;
    Milliseconds lease{30000};
    Milliseconds wait_timeout{30000};
    Milliseconds drain_timeout{30000};
    Milliseconds retry_delay{1000};  // for tasks without a handler, and after infrastructure errors
    std::optional<std::vector<std::int32_t>> slots = {};
    Clock clock = server_clock();
    std::function<void(const TaskEvent&)> on_event = {};
};

// As Worker, for the tasks of some lanes. Which comes first is the server's decision: priority,
// then time. Whether a failure is retried, and when, says the task's policy. When the handler of a
// member that was cancelled with its flow has stopped, the worker says so (ack_cancel_member).
class TaskWorker {
 public:
    explicit TaskWorker(TaskWorkerOptions options);
    ~TaskWorker();
    TaskWorker(const TaskWorker&) = delete;
    TaskWorker& operator=(const TaskWorker&) = delete;

    // Registers the handler of a lane, or of one kind of task in it. Lane "" stands for all lanes
    // and claims from all of them; kind "" for kinds that have no handler of their own.
    void on(std::string lane, TaskHandler handler);
    void on(std::string lane, std::string kind, TaskHandler handler);

    // As Worker::run(); what is not done by the drain deadline is released, which counts no retry.
    void run();

    void stop() noexcept;
    std::uint64_t round_trips() const;
    const std::string& worker_instance() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace belay
