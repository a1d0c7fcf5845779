// A worker: it receives tasks and activities, runs a handler for each, and settles them.
//
//     belay::Worker worker({.connection = {.conninfo = "dbname=shop"}, .hub = "app"});
//     worker.on("mail", [](belay::Task& task) {
//         send_mail(task.payload().at("to"));
//         return belay::completed({{"sent", true}});
//     });
//     worker.on_activity("Charge", [](belay::Task& task) {
//         return belay::completed(charge(task.payload()));
//     });
//     worker.run();  // until worker.stop()
//
// Which task comes first is the server's decision: priority, then time. Whether a failure is
// retried, and when, is decided by the task's policy. Tasks and activities take turns for free
// handlers.
//
// Outcomes are settled in portions. The thread of a handler that returns continues with the next
// task at once; a settler sends its outcome, with all others that have ended meanwhile, and the
// same call receives what there is room for; while tasks take longer than a millisecond, a call of
// its own does, at the same time. Nothing waits for a portion to fill, and the outcome of a lone
// task is sent by the thread of its handler. Each outcome has its own fate, and its event comes
// after the commit. Task::settle() waits for that commit. complete_with() and write() are
// transactions of their own.
//
// Threads and connections. run() uses its own thread to wait for work and to receive it,
// `concurrency` threads for handlers, `connections` to settle, and one to extend leases. Settlers
// share `connections` connections, one extends leases, and one waits: for work, and for word that
// something this worker runs was cancelled. Behind a pooler that one needs a session of its own.
// The calls that handlers make, such as write() and complete_with(), share `connections` others:
// slow ones delay one another, and neither portions nor leases. All are made when they are needed,
// so a worker has at most 2 * connections + 2, and connections + 2 if its handlers make no calls.
//
// A family. With WorkerOptions::family instead of a hub the worker serves all hubs of the family,
// on one server or several, with the same handlers; Task::hub() says which hub a task is from.
// For each server that has some of them it has a thread and a connection that wait for work of all
// of these, one thread that extends leases, and the connections above. Hubs that have work take
// turns for free handlers. Moves of hubs are followed. A hub that no server has, or whose server is
// away, does not keep the others from being served: it is reported by a kError with its name, or
// without one if its server is away, and asked for again every retry_delay. The first server, that
// of the connection's conninfo, has to know the places of those that it does not have
// (belay.hub_locations).
//
// Events. kReceived is reported by the thread of the handler, the outcome of a portion by the
// thread that has settled it: a hook that is slow delays that settler's next portion, and with it
// the jobs that its call leases. A hook should only count or enqueue.
//
// Thread-safety: on() and on_activity() are called before run(). stop() may be called by any thread
// and by a signal handler. Handlers and hooks are called by several threads at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/family.hpp"
#include "belay/outcome.hpp"
#include "belay/provider.hpp"
#include "belay/task.hpp"

namespace belay {

// An exception that leaves a handler is a failure (TaskFailed) or a transient one. Of an activity,
// a transient one is another attempt after a growing delay, up to WorkerOptions::max_attempts.
using Handler = std::function<Outcome(Task&)>;

struct WorkerEvent {
    enum class Kind {
        kReceived,
        kCompleted,
        kFailed,   // permanently
        kRetried,  // failed, and another attempt follows
        kDelayed,
        kReleased,
        kSuspended,
        kCancelled,  // while the handler ran, or before its outcome was stored
        kDeadline,   // of the task or its attempt has passed
        kLost,       // revoked or expired; also an outcome that came too late
        kUnknown,    // the connection broke, and it is unknown whether the outcome was stored
        kAbandoned,  // released because the worker stops
        kNoHandler,  // released, for a worker that has one
        kError,      // of a call; the worker continues
    };
    Kind kind;
    const Task* task = nullptr;  // none if the event is about no task
    std::string message = {};
    std::chrono::microseconds elapsed{0};  // since the handler was called
    std::string hub = {};                  // of an error that concerns one hub of a family
};

struct WorkerOptions {
    ConnectionOptions connection = {};
    // Either a hub or a whole family; all that follows is for the worker, however many hubs it has.
    std::string hub = {};
    std::optional<Family> family = {};
    std::string name = "worker";  // the kind of worker, for operators
    std::string instance = {};    // this one of it; "" makes a name up
    std::vector<std::string> capabilities = {};
    int concurrency = 8;
    int connections = 3;
    // How many tasks are leased ahead, before a handler is free for them; at most 1000, and none
    // with 0. Their leases are extended like those of running tasks. They are released, without
    // counting the attempt, when the worker stops, when a call fails, or after prefetch_max_age (by
    // default a third of the lease). By default the worker prefetches as many as its handlers
    // finish in about 10 ms, at most 500, estimated from the durations of the last tasks, so none
    // before a task has ended; they are released after 100 ms if the next tasks take longer.
    std::optional<int> prefetch = {};
    std::optional<Milliseconds> prefetch_max_age = {};
    // Nothing is prefetched unless this many tasks are ready, because other workers may have free
    // handlers. By default twice the number of handlers.
    std::optional<int> prefetch_threshold = {};
    int settle_max = 500;  // outcomes in one portion
    Milliseconds lease{30000};
    Milliseconds wait_timeout{30000};
    Milliseconds drain_timeout{30000};
    // After exceptions of an activity, doubled with each attempt; and for what has no handler, and
    // after errors of the infrastructure.
    Milliseconds retry_delay{1000};
    Milliseconds max_retry_delay{60000};
    int max_attempts = 5;  // of an activity whose handler throws; tasks have a policy
    // Only work in these slots.
    std::optional<std::vector<std::int32_t>> slots = {};
    // Which activities, by their tags.
    std::optional<std::vector<std::string>> tag_filter = {};
    TagMode tag_mode = TagMode::kDefaultOnly;
    // Sessions of activities that this worker has taken stay with it: their locks are extended
    // until nothing was done in them for the idle time. By default they last as long as a lease.
    std::optional<Milliseconds> session_lock_timeout = {};
    Milliseconds session_idle_timeout{300000};
    Clock clock = server_clock();
    std::function<void(const WorkerEvent&)> on_event = {};  // should return at once, see above
};

struct Coupling;

class Worker {
 public:
    explicit Worker(WorkerOptions options);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // Registers the handler of a queue, or of one kind of task in it. Queue "" stands for all
    // queues and receives from all of them; kind "" for kinds that have no handler of their own.
    void on(std::string queue, Handler handler);
    void on(std::string queue, std::string kind, Handler handler);

    // Registers the handler of an activity name; "" is for names that have none.
    void on_activity(std::string name, Handler handler);

    // Works until stop(), then drains: nothing more is received, running handlers may finish until
    // drain_timeout and are settled, the rest is released without counting the attempt. No lease is
    // left. Returns when all handlers have returned, so they have to obey their stop_token. Throws
    // if there is no handler, and if the server cannot be reached at the start; later it waits for
    // the server to come back, but after stop() no longer than drain_timeout: then leases that
    // cannot be released end by themselves, and on_event receives the errors.
    void run();

    void stop() noexcept;

    // How often run() has waited for the server, on all its connections; known when it returns.
    std::uint64_t round_trips() const;

    const std::string& instance() const;

 private:
    friend class Dispatcher;
    // For a dispatcher of this hub with leases of this time.
    std::shared_ptr<Coupling> couple(const std::string& hub, Milliseconds lease);

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace belay
