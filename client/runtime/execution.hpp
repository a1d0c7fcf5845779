// One execution of one instance in memory: its coroutine, its requests, and its history.
//
// A turn is: replay() of each stored event, boundary(), then begin_turn(), start() or deliver() for
// each message, finish(). An execution that stays in memory begins the next turn with begin_turn().
// What a turn adds is a function of stored part, messages and code alone.
//
// Events are applied one by one; after each, all ready coroutines run until none is ready. What the
// code asks for is queued as actions. A stored decision event takes the first action, which must be
// equal; an action in the new part becomes a decision event at the end of the turn.
//
// Thread-safety: one thread at a time. Between turns that may be another one.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "belay/durable/failure.hpp"
#include "belay/durable/hook.hpp"
#include "belay/durable/instance.hpp"
#include "belay/durable/registry.hpp"
#include "details.hpp"
#include "event.hpp"
#include "resumptions.hpp"
#include "subscriptions.hpp"

namespace belay::engine {

using Values = std::map<std::string, std::string, std::less<>>;

inline constexpr std::string_view kReservedPrefix = "belay:";
inline constexpr std::string_view kRecordedKey = "belay:value";
inline constexpr std::string_view kRecordedFailureKey = "belay:failure";
inline constexpr std::string_view kVersionPrefix = "belay:version:";
inline constexpr std::size_t kMaxCarried = 100;
inline constexpr int kMaxRounds = 1000;

// A request of the code: the decision event it becomes, and the call that waits for it.
struct Action {
    Event event;
    detail::CallState* call = nullptr;  // a reference is held
    OptionalText version = {};          // of a sub-orchestration or a detached instance
    bool generated_instance = false;
};

// How the code has ended.
struct End {
    enum class Kind { kCompleted, kFailed, kContinuedAsNew };
    Kind kind = Kind::kCompleted;
    std::string text = {};      // output, details or input
    std::string output = {};    // of the instance
    OptionalText version = {};  // of the next execution
    bool cancelled = false;
    bool by_code = false;  // not by a message or a runtime
};

struct NewEvent {
    std::int64_t id;
    EventKind kind;
    std::string text;
};

struct KeyValueMutation {
    EventKind kind;
    std::string key;
    std::string value;
    std::int64_t at_ms;
};

// What a turn adds.
struct TurnOutput {
    std::vector<NewEvent> events = {};
    std::vector<std::string> worker_items = {};
    std::vector<std::string> orchestrator_items = {};
    std::vector<std::int64_t> cancelled_activities = {};
    std::vector<KeyValueMutation> mutations = {};
    std::optional<End> end = {};
};

struct ExecutionFacts {
    std::string instance_id;
    std::int64_t execution_id = 1;
    std::string history_version = "0.1.30";
    std::int64_t history_warning = 10000;
    RuntimeHook hook = {};
    // Counts what destructors ask for when the execution leaves memory; null: not counted.
    std::atomic<std::uint64_t>* teardown_actions = nullptr;
    // A replay also compares delays, status texts and outputs, from this event on.
    std::int64_t strict_from = std::numeric_limits<std::int64_t>::max();
};

// Bytes of frames that were left when their executions were destroyed, in this process: 0 unless
// the application keeps coroutines, or the compiler forgets one.
std::ptrdiff_t frame_bytes_left() noexcept;

class Execution final : public detail::Instance {
 public:
    Execution(ExecutionFacts facts, const detail::Registered& code, Values values);
    ~Execution() override;

    // ---- The stored part. All of these throw Nondeterminism. ----
    void replay(const std::vector<Event>& history);
    // The history ends here: without a terminal event, the code is still running and wants nothing
    // more.
    void boundary();

    // ---- The new part. ----
    void begin_turn(std::int64_t now_ms);
    void start(Event started);
    // What the message is for this execution.
    enum class Reception { kTaken, kDuplicate, kEnded };
    Reception deliver(const Message& message);
    void carry(const Carried& carried);
    TurnOutput finish();

    // Times the code until further notice; null: not timed.
    void time(Resumptions* resumptions) { resumptions_ = resumptions; }

    std::int64_t last_event_id() const { return last_event_id_; }
    bool ended() const { return end_ != nullptr; }
    // What memory it holds, about.
    std::size_t bytes() const;
    // What a replay must find equal: open calls, in the order of their events.
    std::vector<std::int64_t> open_calls() const;
    std::string waiting_for() const;
    // Whether this activity is its only open call.
    bool waits_only_for(std::int64_t activity_id) const;
    const OptionalText& parent_instance() const { return parent_instance_; }
    std::int64_t parent_id() const { return parent_id_; }
    std::int64_t parent_execution_id() const { return parent_execution_id_; }

    // ---- detail::Instance. ----
    const std::string& instance_id() const override { return facts_.instance_id; }
    std::int64_t execution_id() const override { return facts_.execution_id; }
    const std::string& name() const override { return code_.name; }
    const std::string& version() const override { return code_.version; }
    std::int64_t history_size() const override { return last_event_id_; }
    std::int64_t now_ms() const override { return now_ms_; }
    bool replaying() const override { return replaying_; }
    bool cancel_requested() const override { return cancel_reason_.has_value(); }
    const std::string& cancel_reason() const override;
    detail::CallState* ask(detail::CallRequest request) override;
    void start_detached(std::string name, std::string id, std::string input,
                        OptionalText version) override;
    void set_status(OptionalText status) override;
    void set_value(std::string key, std::string value) override;
    std::optional<std::string> value(std::string_view key) const override;
    void clear_value(std::string key) override;
    void clear_values() override;
    int change_version(std::string_view change, int current) override;
    std::optional<std::string> recorded() override;
    void record(std::string value, bool failed) override;
    std::uint64_t random() override;
    void log(std::string text) override;
    void drop(detail::CallState& call) override;

 private:
    // A decision event of a call.
    struct Entry {
        std::int64_t id;
        detail::CallState* call;  // a reference is held; null once it is not needed
        const std::string* name;
        detail::CallKind kind;
        bool closed;
        bool cancelled;  // its breadcrumb is stored
    };
    // The event before, for texts.
    struct Before {
        std::int64_t id = 0;
        EventKind kind = EventKind::kOrchestrationStarted;
        std::int64_t source = 0;
        std::string name = {};
    };

    // execution.cpp
    void root_finished() override { root_finished_ = true; }
    void before_resumption() override;
    void after_resumption() override;
    void apply(const Event& event);
    void apply_start(const Event& event);
    void apply_decision(const Event& event);
    void apply_outcome(const Event& event);
    void apply_breadcrumb(const Event& event);
    void apply_cancel(const Event& event);
    void apply_terminal(const Event& event);
    void run();
    void take_end();
    void force_end(EndOfCode end, bool cancelled);
    void settle(detail::CallState& call, std::string text, bool failed);
    void bind(Action& action, std::int64_t id);
    Entry* entry(std::int64_t id);
    void release_call(Entry& entry);
    std::string describe_end() const;
    void tell(RuntimeEvent::Kind kind, std::string text) const;

    // decisions.cpp
    void emit(Event event);
    void write_decisions(int& rounds);
    void write_breadcrumbs();
    void write_end();
    void send_work(const Action& action);
    void cancel_child(const detail::CallState& call, std::string_view reason);
    void write_continuation(const End& end);
    void answer_parent(const End& end);
    void close_entry(Entry& entry, std::string_view activity_reason);
    void collect_items();

    // asking.cpp
    void push(Action action);
    bool ignores_asking();
    void check_key(std::string_view key) const;
    void set_reserved(std::string key, std::string value);

    // matching.cpp
    void match(const Event& event, const Action& action);
    [[noreturn]] void differs(std::int64_t at, const std::string& history, const std::string& code,
                              const std::string& likely = {}, const std::string& path = {});
    [[noreturn]] void doom(std::int64_t at, const std::string& history, const std::string& code,
                           const std::string& likely);
    std::string nothing_wanted() const;
    std::string likely_reason(const Event& event, const Action& action) const;
    bool skip_retired(const Event& event);
    void scan(const std::vector<Event>& history);

    const ExecutionFacts facts_;
    const detail::Registered& code_;
    Resumptions* resumptions_ = nullptr;
    std::unique_ptr<detail::Root> root_;
    bool root_finished_ = false;
    bool replaying_ = false;
    bool end_stored_ = false;
    bool tearing_down_ = false;
    std::optional<Nondeterminism> doom_;
    std::int64_t now_ms_ = 0;
    std::int64_t last_event_id_ = 0;
    std::int64_t first_new_id_ = 0;
    Before before_;

    std::uint64_t asked_ = 0;
    std::list<Action> actions_;
    std::vector<Entry> entries_;  // by id
    std::vector<detail::CallState*> dropped_;
    std::set<std::string, std::less<>> names_;
    Subscriptions& subscriptions();
    std::unique_ptr<Subscriptions> subscriptions_;  // made when it is needed

    OptionalText parent_instance_;
    std::int64_t parent_id_ = 0;
    std::int64_t parent_execution_id_ = 0;
    OptionalText cancel_reason_;
    bool cancel_stored_ = false;
    OptionalText status_;
    Values values_;
    struct Recorded {
        std::string value;
        bool failed;
    };
    // What most executions do not have, made when it is needed: an execution that waits is small.
    struct Choices {
        std::list<Recorded> recorded = {};
        std::map<std::string, std::pair<int, std::int64_t>, std::less<>> stored_versions = {};
        std::map<std::string, int, std::less<>> answers = {};
    };
    Choices& choices();
    std::unique_ptr<Choices> choices_;
    std::uint64_t seed_ = 0;
    std::uint64_t drawn_ = 0;

    std::unique_ptr<End> end_;
    // The rest of the stored part, while it is applied.
    const std::vector<Event>* stored_ = nullptr;
    std::size_t stored_at_ = 0;
    // What a turn is adding; null between turns.
    struct Addition {
        TurnOutput output = {};
        std::vector<std::string> started = {};  // sent unless the instance ends in this turn
        struct ChildCancel {
            std::int64_t id;
            std::string item;
        };
        std::vector<ChildCancel> child_cancels = {};
    };
    std::unique_ptr<Addition> adding_;
};

}  // namespace belay::engine
