// A worker: fetches activities, runs a handler for each, and reports what came of it.
//
//     belay::Worker worker({.connection = {.conninfo = "dbname=shop"}, .hub = "app"});
//     worker.on("Charge", [](belay::Activity& activity) {
//         return belay::Outcome::completed(charge(activity.input()));
//     });
//     worker.run();  // until worker.stop()
//
// Threads and connections. run() uses its own thread to wait for work and to fetch it,
// `concurrency` threads for handlers, and one to renew leases. They share `connections`
// connections, and one more waits: for work, and for word that something this worker runs was
// cancelled. Behind a pooler that one needs a session of its own.
//
// A handler learns from its stop_token that it should stop: its item was cancelled, its lease was
// lost, or the worker's drain deadline has passed. What it returns is then not used.
//
// Thread-safety: on() is called before run(). stop() may be called by any thread and by a signal
// handler. Handlers and hooks are called by several threads at once.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

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

    // Completes the activity in one transaction with what body writes through the connection: both
    // happen, or neither. The handler then returns Outcome::settled().
    void complete_with(const std::function<void(Connection&)>& body, std::string_view result,
                       Where where = Where::current());

    // What ack_worker takes; none for an item that belongs to no instance.
    OptionalText completion(std::string_view result) const;
    OptionalText failure(std::string_view message) const;

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

    static Outcome completed(std::string result = "") {
        return {Kind::kCompleted, std::move(result)};
    }
    // The instance is told that the activity has failed.
    static Outcome failed(std::string message) { return {Kind::kFailed, std::move(message)}; }
    // The item is given back, for another attempt after the delay.
    static Outcome retry(Milliseconds delay, bool ignore_attempt = false) {
        return {Kind::kRetry, "", delay, ignore_attempt};
    }
    // Activity::complete_with has done it.
    static Outcome settled() { return {Kind::kSettled}; }
};

// An exception that leaves a handler is a retry with a growing delay; after
// WorkerOptions::max_attempts it is a failure.
using Handler = std::function<Outcome(Activity&)>;

struct WorkerEvent {
    enum class Kind {
        kFetched,
        kCompleted,
        kFailed,
        kRetried,
        kLost,       // cancelled or taken over; also an ack that came too late
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

}  // namespace belay
