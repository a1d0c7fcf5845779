// The task or activity that a handler of a Worker runs.
//
// An activity is a task of an orchestration: its kind is the activity's name, its payload the
// input, and it has no id, queue, checkpoint, signals or deadline of its own.
//
// Thread-safety: used by the handler's thread; a stop_token may be used by any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "belay/flows.hpp"
#include "belay/hub.hpp"
#include "belay/suspensions.hpp"

namespace belay {

class HeldLease;  // internal: what the worker holds
class Outcome;

// Why a stop_token fired.
enum class StopReason {
    kNone,       // it did not
    kCancelled,  // the task, the activity or its flow was cancelled
    kDeadline,   // of the task, or of its attempt
    kLost,       // the lease expired, was revoked or taken over
    kRequested,  // the drain deadline of the worker has passed
};

class Task {
 public:
    explicit Task(HeldLease& lease);
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    const std::string& hub() const;    // which it is from
    const Uuid& id() const;            // nil of an activity
    const std::string& queue() const;  // "" of an activity
    const std::string& kind() const;   // of an activity: its name
    const Json& payload() const;       // an activity's input that is no JSON comes as a string
    // The payload as text: of an activity the input as it was given, which need not be JSON.
    const std::string& payload_text() const;
    const Json& headers() const;  // an object
    int priority() const;
    int attempt() const;  // 1 for the first
    // What an earlier run has left with set_checkpoint(), in this or another attempt.
    const std::optional<Json>& checkpoint() const;
    OptionalTime deadline() const;
    // A number that grows with each lease of the task: a fencing token for other systems. 0 of an
    // activity.
    std::int64_t epoch() const;
    const std::optional<Uuid>& flow_id() const;

    // Of an activity; none otherwise.
    bool is_activity() const;
    const OptionalText& instance() const;
    OptionalNumber execution_id() const;
    OptionalNumber activity_id() const;

    // Of a member of a flow: what the tasks before it have brought. A round trip if that is more
    // than a claim returns.
    std::vector<UpstreamResult> upstream(Where where = Where::current());
    // The result of the task before it that has this key or is passed as it; none if there is none.
    std::optional<Json> upstream_result(std::string_view name, Where where = Where::current());
    // What came to the waitpoints of the suspension that the task continues from.
    std::vector<Signal> signals(Where where = Where::current());

    // Fires when the handler should stop; what it returns is then not used. stop_reason() says why.
    std::stop_token stop_token() const;
    StopReason stop_reason() const;

    // How far the work is: percent from 0 to 100, a message, or both.
    void progress(std::optional<double> percent, const OptionalText& message = {},
                  Where where = Where::current());
    // Stores what the next run of the task gets, should this one end early.
    void set_checkpoint(const Json& checkpoint, Where where = Where::current());

    // Writes through a connection of the worker, in a transaction that commits only while the lease
    // is held.
    void write(const std::function<void(Connection&)>& body, Where where = Where::current());
    // Completes the task in one transaction with what body writes: both happen, or neither. The
    // handler then returns settled().
    void complete_with(const std::function<void(Connection&)>& body,
                       const std::optional<Json>& result = {}, Where where = Where::current());

    // Settles with the next portion and returns when that is committed, for a handler that
    // continues afterwards; it then returns settled(). Throws Error with lock_lost() if the lease
    // is gone.
    void settle(Outcome outcome);

    // Lets the task wait for signals, and returns the tokens of its waitpoints. The handler then
    // returns suspended(); it is run again when the signals have come. If those that came early
    // suffice (kAlreadySatisfied), it continues at once, with the signals of the answer.
    SuspendedTask suspend(const NewSuspension& suspension, Where where = Where::current());
    // Makes a waitpoint ahead of suspend(), for its token.
    CreatedWaitpoint create_waitpoint(std::string_view key, Milliseconds expires_in,
                                      Where where = Where::current());

 private:
    struct Parsed;

    HeldLease& lease_;
    std::unique_ptr<Parsed> parsed_;  // what was read of it so far
};

}  // namespace belay
