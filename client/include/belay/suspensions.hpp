// Suspensions: a task that waits for signals without a worker, and the signals.
//
// The handler of a task suspends it (Task::suspend, or the outcome suspended()), and is run again
// when the signals are there. The program that answers needs the token of a waitpoint:
//
//     hub.signals().deliver(task_id, waitpoint_id, token, {.name = "approved"});
//
// Thread-safety: none; as the hub's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

enum class CountOf { kWaitpoints, kSignals, kSources, kOther };
template <>
struct Words<CountOf> {
    static constexpr std::string_view kTexts[] = {"waitpoints", "signals", "sources"};
};

// What has to come before a suspended task continues. At most four deep.
//
//     Condition::all({Condition::single("approval", {"approved"}),
//                     Condition::count(2, CountOf::kSources)})
struct Condition {
    Json json;

    // A signal of one of these names at this waitpoint; no names: of any.
    static Condition single(std::string_view key, const std::vector<std::string>& names = {});
    static Condition all(const std::vector<Condition>& conditions);
    // n waitpoints, signals or sources of these waitpoints; no keys: of all.
    static Condition count(int n, CountOf of, const std::vector<std::string>& keys = {});
    static Condition operator_only();
    static Condition timeout_only();
};

enum class SuspensionReason { kSignal, kApproval, kCallback, kToolResult, kOther };
template <>
struct Words<SuspensionReason> {
    static constexpr std::string_view kTexts[] = {"waiting_for_signal", "waiting_for_approval",
                                                  "waiting_for_callback",
                                                  "waiting_for_tool_result"};
};

enum class OnTimeout { kFail, kCancel, kExpire, kAutoResume, kEscalate, kOther };
template <>
struct Words<OnTimeout> {
    static constexpr std::string_view kTexts[] = {"fail", "cancel", "expire", "auto_resume",
                                                  "escalate"};
};

struct NewWaitpoint {
    std::string key;
    std::optional<Uuid> id = {};  // of Task::create_waitpoint; a new one otherwise
};

struct NewSuspension {
    std::vector<NewWaitpoint> waitpoints;
    Condition condition;
    SuspensionReason reason = SuspensionReason::kSignal;
    // An instant, or a time from now on, by the hub's clock. Of two the earlier counts.
    OptionalTime timeout_at = {};
    std::optional<Milliseconds> timeout_in = {};
    std::optional<OnTimeout> on_timeout = {};
    Milliseconds resume_delay{0};
    // With a key the call may be repeated: it returns what the first run has returned.
    OptionalText idempotency_key = {};
};

// What came to a waitpoint.
struct Signal {
    std::string key;  // the waitpoint's
    std::string name;
    std::optional<Json> payload;
    OptionalText source;
    std::string id;
    std::optional<Uuid> waitpoint_id;
    Time accepted_at;
    std::int64_t number = 0;  // its place, if Signals::list returned it
};

struct SuspendedWaitpoint {
    std::string key;
    Uuid id;
    OptionalText token;           // authorizes the sender of a signal
    std::vector<Signal> signals;  // if the condition was met at once
};

enum class SuspendResult { kSuspended, kAlreadySatisfied, kOther };
template <>
struct Words<SuspendResult> {
    static constexpr std::string_view kTexts[] = {"suspended", "already_satisfied"};
};

struct SuspendedTask {
    // kAlreadySatisfied: signals that came early meet the condition, the lease continues.
    Word<SuspendResult> result;
    std::optional<Uuid> suspension_id;
    std::vector<SuspendedWaitpoint> waitpoints;
};

struct CreatedWaitpoint {
    Uuid id;
    std::string token;
};

struct NewSignal {
    std::string name;
    std::optional<Json> payload = {};
    OptionalText source = {};
    // With an id or a key the call may be repeated: the signal is taken once.
    OptionalText id = {};
    OptionalText idempotency_key = {};
};

enum class SignalEffect { kBuffered, kAppended, kResumed, kOther };
template <>
struct Words<SignalEffect> {
    static constexpr std::string_view kTexts[] = {"buffered", "appended_to_waitpoint",
                                                  "resume_condition_satisfied"};
};

struct DeliveredSignal {
    bool duplicate = false;  // it had been accepted before
    std::optional<Word<SignalEffect>> effect;
    Word<TaskState> state;  // of the task
};

// kPending: of no suspension yet.
enum class WaitpointState { kPending, kOpen, kClosed, kExpired, kOther };
template <>
struct Words<WaitpointState> {
    static constexpr std::string_view kTexts[] = {"pending", "open", "closed", "expired"};
};

struct WaitpointInfo {
    Uuid id;
    std::string key;
    Word<WaitpointState> state;
    std::optional<Uuid> suspension_id;
    OptionalText kid;
    OptionalText token_hash;
    std::int64_t signals = 0;
    OptionalTime created_at;
    OptionalTime expires_at;
    OptionalTime closed_at;
};

struct ResumedTask {
    Word<TaskState> state;
    OptionalTime available_at;
};

// hub.signals()
class Signals : public HubPart {
 public:
    using HubPart::HubPart;

    DeliveredSignal deliver(const Uuid& task_id, const Uuid& waitpoint_id, std::string_view token,
                            const NewSignal& signal, Where where = Where::current());
    // A signal of an operator, without a token.
    DeliveredSignal approve(const Uuid& task_id, const Uuid& waitpoint_id, std::string_view name,
                            std::string_view idempotency_key, Where where = Where::current());
    // Lets a suspended task continue, signals or not.
    ResumedTask resume(const Uuid& task_id, std::string_view trigger = "operator",
                       Milliseconds delay = Milliseconds(0), Where where = Where::current());
    std::vector<WaitpointInfo> waitpoints(const Uuid& task_id,
                                          const std::optional<Uuid>& after = {}, int limit = 100,
                                          Where where = Where::current());
    // Those of the suspension that the task's attempt is in or left last, behind a number.
    std::vector<Signal> list(const Uuid& task_id, std::int64_t after = 0, int limit = 100,
                             Where where = Where::current());

    // Keys that sign tokens. Secrets are bytes.
    std::string seed_key(std::string_view kid, std::string_view secret,
                         Where where = Where::current());
    std::string rotate_key(std::string_view kid, std::string_view secret, Milliseconds grace,
                           Where where = Where::current());
};

}  // namespace belay
