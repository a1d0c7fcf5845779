// A dispatcher: fetches turns of orchestrations, runs a handler for each, and acks what it decided.
//
//     belay::Dispatcher dispatcher({.connection = {.conninfo = "dbname=shop"}, .hub = "app"});
//     dispatcher.on("ShipOrder", [](belay::TurnContext& turn) {
//         belay::Decision decision = turn.decision();
//         // From turn.history() and turn.messages(): new events, activities, timers, a status.
//         return belay::TurnOutcome::decided(std::move(decision));
//     });
//     dispatcher.run();  // until dispatcher.stop()
//
// A handler gets the history so far and the messages that came since. It decides from these two and
// nothing else, for the same turn may be handed out again: after a lost lease, after a crash.
//
// Threads and connections are as those of a Worker (worker.hpp): run() waits and fetches in its own
// thread, `concurrency` threads run handlers, one renews leases, with a connection of its own. What
// handlers decide is committed together through `connections` connections, as many decisions as
// have come while these were busy, and the same call fetches the next turns. A lone turn waits for
// no other. More round trips are only needed for a history that is larger than 64 MiB, which is
// read in pages. ack_with() uses `connections` others. So a dispatcher has at most
// 2 * connections + 2, and connections + 2 without ack_with().
//
// Events are reported by the handlers' threads: a slow hook delays the next turn.
//
// Thread-safety: on() is called before run(). stop() may be called by any thread and by a signal
// handler. Handlers and hooks are called by several threads at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "belay/hub.hpp"
#include "belay/provider.hpp"
#include "belay/task.hpp"

namespace belay {

class TurnLease;  // internal

// An event of a history, or a message of a batch.
struct TurnElement {
    std::string text;      // JSON; of a corrupt element, what is stored
    bool corrupt = false;  // no JSON, though decoded once more where it came as a string
};

// The turn that a handler decides.
class TurnContext {
 public:
    using ReadHistory = std::function<std::vector<TurnElement>()>;
    TurnContext(TurnLease& lease, std::vector<TurnElement> history,
                std::vector<TurnElement> messages, ReadHistory read_history);

    const std::string& instance_id() const { return turn_.instance_id; }
    const std::string& name() const { return turn_.orchestration_name; }
    const std::string& version() const { return turn_.orchestration_version; }
    std::int64_t execution_id() const { return turn_.execution_id; }
    int attempt() const { return turn_.attempt; }  // 1 for the first
    // The time at which the turn was leased, by the server's clock (DispatcherOptions::clock, if
    // that is another one). Needs no round trip.
    OptionalTime fetched_at() const { return turn_.fetched_at; }

    // The events of the execution, in order; complete, however many they are, unless the
    // dispatcher has a cache_owner.
    const std::vector<TurnElement>& history() const { return history_; }
    // The events up to this one are not in history(), because the last ack said that the cache
    // owner has them; 0: none is missing.
    std::int64_t history_after() const { return history_after_; }
    // The last event that is stored; 0: none.
    std::int64_t last_event_id() const { return turn_.last_event_id; }
    // Reads what is missing from the server.
    void read_whole_history();
    // What came for the instance, in order; at least one.
    const std::vector<TurnElement>& messages() const { return messages_; }
    // An element of either is corrupt: what to do about it is the handler's decision.
    bool corrupt() const { return corrupt_; }

    // JSON object of the key/value state at the end of the last execution. None if it is larger
    // than 64 MiB: use Orchestrations::values.
    const OptionalText& kv_snapshot() const { return turn_.kv_snapshot; }

    std::stop_token stop_token() const;
    StopReason stop_reason() const;

    // An empty decision for this execution.
    Decision decision() const { return {.execution_id = execution_id()}; }

    // Acks the decision, for a handler that has to know whether that succeeds. It then returns
    // TurnOutcome::settled(). An ack that the server refuses leaves the turn with the handler,
    // which may ack another decision.
    void ack(const Decision& decision, Where where = Where::current());

    // Acks the decision in one transaction with what body writes through the connection: both
    // happen, or neither. The handler then returns TurnOutcome::settled().
    void ack_with(const std::function<void(Connection&)>& body, const Decision& decision,
                  Where where = Where::current());

 private:
    TurnLease& lease_;
    const Turn& turn_;
    std::vector<TurnElement> history_;
    std::vector<TurnElement> messages_;
    ReadHistory read_history_;
    std::int64_t history_after_ = 0;
    bool corrupt_ = false;
};

// What came of a turn.
struct TurnOutcome {
    enum class Kind { kDecided, kRetry, kSettled };

    Kind kind = Kind::kDecided;
    Decision decision = {};
    Milliseconds delay{0};
    bool ignore_attempt = false;
    std::string message = {};  // why it is to be tried again

    static TurnOutcome decided(Decision decision) { return {Kind::kDecided, std::move(decision)}; }
    // The messages are released, for another attempt after the delay.
    static TurnOutcome retry(Milliseconds delay, bool ignore_attempt = false) {
        return {Kind::kRetry, {}, delay, ignore_attempt};
    }
    // TurnContext::ack or ack_with has done it.
    static TurnOutcome settled() { return {Kind::kSettled}; }
};

// An exception that leaves a handler is a retry with a growing delay. So is a decision that the
// server refuses. How often that may happen is the hub's option max_attempts. Errors of the
// infrastructure (Error::infrastructure()) do not count.
using TurnHandler = std::function<TurnOutcome(TurnContext&)>;

struct DispatcherEvent {
    enum class Kind {
        kFetched,
        kCorrupt,    // after kFetched, if an element of the turn is corrupt
        kDecided,    // acked
        kRetried,    // released, to be tried again
        kLost,       // taken over or deleted; also an ack that came too late
        kUnknown,    // the connection broke, and it is not known whether the ack has happened
        kAbandoned,  // released because the dispatcher stops
        kNoHandler,  // released, for a dispatcher that has one
        kError,      // of a call; the dispatcher continues
    };
    Kind kind;
    const TurnContext* turn = nullptr;  // none if the event is about no turn that was read
    std::string message = {};
    std::chrono::microseconds elapsed{0};  // since the turn was fetched
};

// What has come of an activity, before that is settled.
struct ActivityCompletion {
    std::string instance_id;
    std::int64_t execution_id = 0;
    std::int64_t activity_id = 0;
    std::string message;  // for the instance, JSON
};

// A turn that was run before it was leased, because its process knows what the next turn will be:
// it has the instance in memory, and nothing but this completion can come. It is committed with the
// outcome, if that is so; else the server stores the outcome alone, and the turn comes as ever.
class PredictedTurn {
 public:
    PredictedTurn(std::int64_t after, Decision decision)
        : after_(after), decision_(std::move(decision)) {}
    // What was run is to be forgotten, unless it was committed.
    virtual ~PredictedTurn() = default;
    PredictedTurn(const PredictedTurn&) = delete;
    PredictedTurn& operator=(const PredictedTurn&) = delete;

    // The process has the instance in memory up to this event.
    std::int64_t after() const { return after_; }
    const Decision& decision() const { return decision_; }
    virtual void committed() noexcept = 0;

 private:
    std::int64_t after_;
    Decision decision_;
};

struct DispatcherOptions {
    ConnectionOptions connection = {};
    std::string hub;
    int concurrency = 4;
    int connections = 2;
    Milliseconds lock_timeout{30000};
    Milliseconds wait_timeout{30000};
    Milliseconds drain_timeout{30000};
    Milliseconds retry_delay{1000};  // after the first failure; doubled with each attempt
    Milliseconds max_retry_delay{60000};
    // Only instances whose version pin is in this range; packed as the SQL reference says.
    OptionalNumber min_version_packed = {};
    OptionalNumber max_version_packed = {};
    // Only orchestrations of these names; others are not touched. Every fetch passes over those
    // that are due, so another dispatcher should serve them.
    std::optional<std::vector<std::string>> names = {};
    // A name that no other process uses, for handlers that keep instances in memory. An ack whose
    // metadata has {"cache": {"owner": this, "events": last event id}} makes the next turn of the
    // instance come without the events up to that one.
    OptionalText cache_owner = {};
    // Only instances in these slots.
    std::optional<std::vector<std::int32_t>> slots = {};
    // Share the slots of the queue evenly with all other dispatchers that do so, instead of serving
    // all: they then do not meet at the head of the queue. Worth it with many dispatchers and a hub
    // with slot_count above 1. Uses one more thread and connection, and excludes `slots`.
    bool share_slots = false;
    Milliseconds slot_lease{30000};  // slots of a crashed dispatcher stay unserved for so long
    std::string owner_id = {};       // in table slot_owners; "" makes one up
    Clock clock = server_clock();
    std::function<void(const DispatcherEvent&)> on_event = {};
    // With a worker (share_calls_with) and a cache_owner: runs the turn that a completion is about
    // to make ready, or returns null. Its decision cancels no activities. Called by the worker's
    // threads; no event is reported for such a turn.
    std::function<std::unique_ptr<PredictedTurn>(const ActivityCompletion&)> predict = {};
};

class Worker;

class Dispatcher {
 public:
    explicit Dispatcher(DispatcherOptions options);
    ~Dispatcher();
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    // Registers the handler of an orchestration name; "" is for names that have none.
    void on(std::string name, TurnHandler handler);

    // Lets the calls of both lease for each other, while both run: an activity comes with the ack
    // of the turn that schedules it, a turn with the settlement of the activity that makes it
    // ready, if a handler is free for it. Both are of one hub, with equal times of their leases.
    // Before either runs; the worker is there for as long as this dispatcher.
    void share_calls_with(Worker& worker);

    // As Worker::run: works until stop(), then drains and leaves no lease behind.
    void run();

    void stop() noexcept;

    // How often run() has waited for the server, on all its connections; known when it returns.
    std::uint64_t round_trips() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace belay
