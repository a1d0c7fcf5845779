// A hub in memory: its rules, written as plainly as possible.
//
// Several clients use it, each with a transaction of its own; one call runs at a time. So the model
// knows what each client sees, what a fetch skips, and which calls would wait.
//
// A call that throws may leave the hub half changed: callers work on a copy and drop it then. Of
// the copy only the sequences count: no rollback takes an id back.
//
//   hub.cpp           transactions and the hub as a whole
//   worker_queue.cpp  activities and sessions
//   messages.cpp      the orchestrator queue
//   turns.cpp         fetch, ack, abandon and renew a turn
//   state.cpp         history, custom status, key/value state
//   dead_letters.cpp  dead letters of both queues
//   management.cpp    what operators see of instances
//   removal.cpp       deletion and pruning
//   duties.cpp        what is to be done from time to time
//   tasks.cpp         tasks
#pragma once

#include <algorithm>
#include <compare>
#include <limits>
#include <set>
#include <tuple>

#include "cases.hpp"
#include "core/lease.hpp"
#include "rows.hpp"
#include "tasks.hpp"

namespace belay::test::model {

// Stands for every instant that the server's own clock gave: the test's clock never shows it.
constexpr int64_t kServerClock = -1;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t server_now();

template <typename T>
bool contains(const std::vector<T>& list, const T& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

// ---- Activities ----

// What an enqueue says of an activity.
struct Activity {
    std::string work_item;
    Text instance;
    std::optional<int64_t> execution;
    std::optional<int64_t> activity;
    Text session;
    Text tag;
    std::string name;
};

struct Item {
    int64_t id = 0;
    int32_t lane = 0;
    int16_t slot = 0;
    int64_t due = 0;  // 0 = never delayed
    int64_t visible_at = 0;
    int64_t created_at = 0;
    Activity what;
    std::string token;         // "" = no lease
    int64_t locked_until = 0;  // 0 = no lease
    int32_t lease_incarnation = 0;
    int32_t attempts = 0;
    Text locked_by;

    auto key() const { return std::tuple(lane, slot, due, id); }
};

struct Session {
    std::string id;
    std::string owner;
    int64_t locked_until = 0;
    int64_t last_activity = 0;
    int32_t lease_incarnation = 0;
};

struct Fetch {
    int64_t now = 0;
    int64_t lock_timeout = 0;
    Text owner;
    std::optional<int64_t> session_timeout;
    std::optional<std::vector<Text>> tags;
    std::string mode = "default_only";
    std::optional<std::vector<int>> slots;
    int max_items = 1;
    std::optional<int> max_new_sessions;
};

// ---- Messages ----

// What an enqueue says of a message. One that the engine wrote itself is described, not quoted.
struct Mail {
    std::string instance;
    std::string text;
    std::string kind;
    std::optional<int64_t> fire_at;  // of a timer
    Text name;                       // of a start
    Text version;                    // likewise
    Text parent;                     // of a StartOrchestration

    bool is_start() const { return kind == "StartOrchestration" || kind == "ContinueAsNew"; }
};

struct Message {
    int64_t id = 0;
    Mail mail;
    int64_t visible_at = 0;
    int64_t created_at = 0;
    int32_t attempts = 0;
    std::string token;  // "" = never leased, or released
    // Passed over by a fetch as the message of an instance that never started. It does not lead a
    // fetch to its instance until that has started.
    bool aside = false;
};

struct DeadLetter {
    int64_t id = 0;
    std::string queue;
    int64_t source_id = 0;
    Activity what;  // for a message: its text and its instance
    Mail mail;      // of a message
    int32_t attempts = 0;
    int64_t enqueued_at = 0;
    int64_t dead_at = 0;
    std::string reason = "max_attempts";
};

struct DeadLetterFilter {
    std::optional<std::vector<int64_t>> ids;
    Text instance;
    Text queue;
    Text reason;
    std::optional<int64_t> max_id;
    int64_t limit = 500;
};

// ---- Instances ----

struct Pin {
    int64_t major = 0;
    int64_t minor = 0;
    int64_t patch = 0;

    auto operator<=>(const Pin&) const = default;
};

struct TurnLock {
    std::string instance;
    std::string token;  // "" = released
    int64_t locked_until = 0;
    int64_t locked_at = 0;
    int32_t lease_incarnation = 0;
};

struct Instance {
    std::string id;
    std::string name;
    std::string version;
    int64_t execution = 0;
    Text parent;
    Text custom_status;
    int64_t custom_status_version = 0;
    int64_t created_at = 0;
    int64_t updated_at = 0;
};

struct Execution {
    std::string instance;
    int64_t id = 0;
    std::string status = "Running";
    Text output;
    int64_t started_at = 0;
    std::optional<int64_t> completed_at;
    std::optional<Pin> pin;
};

// A change of the custom status; without a value it is cleared.
struct StatusChange {
    Text value;
};

struct KvChange {
    enum class Action { kSet, kClear, kClearAll } action = Action::kSet;
    std::string key;
    std::string value;
    std::optional<int64_t> updated_at;  // of a set; absent: now
};

// An event, and what belay reads in it.
struct Event {
    int64_t id = 0;
    std::string type;
    std::string text;
    Text started_name;  // of an OrchestrationStarted
    Text started_version;
    int64_t carried = 0;  // events of the execution before
    std::optional<StatusChange> status;
    std::optional<KvChange> kv;
};

struct StoredEvent {
    std::string instance;
    int64_t execution = 0;
    Event event;
    int64_t created_at = 0;
};

// A row of kv_store, or of kv_delta, where no value is a tombstone.
struct Value {
    std::string instance;
    std::string key;
    Text value;
    int64_t updated_at = 0;
};

// ---- Turns ----

struct TurnFetch {
    int64_t now = 0;
    int64_t lock_timeout = 0;
    std::optional<int64_t> min_version;  // packed
    std::optional<int64_t> max_version;
    std::optional<std::vector<int>> slots;
};

struct Turn {
    std::string instance;
    std::string name;
    std::string version;
    int64_t execution = 0;
    std::vector<std::string> history;
    std::vector<std::string> messages;
    int32_t attempts = 0;
    std::vector<Value> snapshot;
};

struct Identity {
    std::string instance;
    int64_t execution;
    int64_t activity;
};

struct TurnAck {
    Text token;
    int64_t now = 0;
    int64_t execution = 1;
    std::vector<Event> events;
    std::vector<Activity> activities;
    std::vector<Mail> messages;
    std::vector<Identity> cancelled;
    // Metadata.
    Text name;
    Text version;
    Text parent;
    Text status;
    Text output;
    std::optional<Pin> pin;
    std::optional<StatusChange> custom_status;
    std::optional<std::vector<KvChange>> kv;

    bool is_terminal() const { return status && *status != "Running"; }
};

// ---- Management ----

struct InstanceFilter {
    Text status;
    Text name;
    Text prefix;
    std::optional<int64_t> created_from;
    std::optional<int64_t> created_before;
    Text after;
    std::optional<int64_t> limit;
};

// Of the bulk forms of deletion and pruning.
struct BulkFilter {
    std::optional<std::vector<std::string>> ids;
    std::optional<int64_t> completed_before;
    int64_t limit = 1000;
};

struct Removed {
    int64_t instances = 0;
    int64_t executions = 0;
    int64_t events = 0;
    int64_t messages = 0;
};

struct PruneOptions {
    std::optional<int64_t> keep_last;
    std::optional<int64_t> completed_before;
};

struct Pruned {
    int64_t instances = 0;
    int64_t executions = 0;
    int64_t events = 0;
};

struct Stats {
    int64_t events = 0;
    int64_t bytes = 0;
    int64_t carried = 0;
    int64_t keys = 0;
    int64_t value_bytes = 0;
};

struct Explain {
    std::string instance;
    int64_t now = 0;
    std::optional<int64_t> min_version;  // packed
    std::optional<int64_t> max_version;
};

// Why an instance is not being fetched, and until when.
using Reasons = std::set<std::pair<std::string, std::optional<int64_t>>>;

struct TreeRow {
    std::string instance;
    Text parent;
    int depth = 0;
};

constexpr int64_t kDay = 24 * 3600 * 1000;
constexpr int32_t kMaxAttempts = 25;  // by default

class Hub {
 public:
    // ---- What is stored ----
    Table<int64_t, Item> items;
    Table<std::string, Session> sessions;
    Table<int64_t, DeadLetter> dead_letters;
    Table<int64_t, Message> messages;
    // Holding a lock's row is the exclusion of its instance, whether there is such a row or not.
    Table<std::string, TurnLock> locks;
    Table<std::string, Instance> instances;
    Table<std::pair<std::string, int64_t>, Execution> executions;
    Table<std::tuple<std::string, int64_t, int64_t>, StoredEvent> history;
    Table<std::pair<std::string, std::string>, Value> kv_store;
    Table<std::pair<std::string, std::string>, Value> kv_delta;
    // Its one row is held by the client that deletes instances: deletions come one after the other.
    Table<int, bool> removal;
    Tasks tasks;
    int32_t incarnation = 1;
    bool worker_paused = false;
    bool orchestrator_paused = false;
    int32_t slot_count = 1;
    std::optional<int32_t> max_attempts = kMaxAttempts;
    int64_t batch_messages = 10000;
    bool dead_letter_fails_activity = true;
    std::optional<int64_t> dead_letter_retention;
    std::optional<int64_t> instance_retention;
    int64_t orphan_retention = kDay;
    bool server_is_ahead = false;  // of the test's clock

    // Sequences.
    struct Sequences {
        int64_t item = 0;
        int64_t dead_letter = 0;
        int64_t message = 0;
    } last;

    // How often each case of the rules was met.
    std::array<int, kCaseNames.size()> met{};

    // ---- Transactions and the hub as a whole ----
    void end(int client, bool commit);
    void set_slot_count(int client, int32_t count, int64_t server_now);
    void begin_incarnation();

    // True for rows of every kind that have a lease or a visible_at.
    bool is_live(const auto& row, int64_t now) const {
        return row.locked_until > now && row.lease_incarnation == incarnation;
    }
    bool is_visible(const auto& row, int64_t now) const {
        return row.visible_at == kServerClock ? !server_is_ahead : row.visible_at <= now;
    }
    // No clock hides an item that was never delayed.
    bool is_visible(const Item& item, int64_t now) const { return item.due <= now; }
    bool is_before(int64_t time, int64_t limit) const {
        return time == kServerClock ? !server_is_ahead : time < limit;
    }

    // ---- Activities and sessions ----
    void enqueue(int client, const Activity& what, int64_t now, int64_t delay = 0);
    // The ids of the rows leased, in order. Their tokens are yet to be learned.
    std::vector<int64_t> fetch(int client, const Fetch& request);
    void learn_token(int client, int64_t id, const std::string& token);
    void ack(int client, const Text& token, const std::optional<Mail>& completion, int64_t now);
    std::vector<bool> ack_many(int client,
                               const std::vector<std::pair<Text, std::optional<Mail>>>& acks,
                               int64_t now);
    void renew(int client, const Text& token, int64_t now, int64_t extend);
    std::vector<bool> renew_many(int client, const std::vector<Text>& tokens, int64_t now,
                                 int64_t extend);
    void abandon(int client, const Text& token, int64_t now, std::optional<int64_t> delay,
                 bool ignore_attempt);
    int64_t renew_sessions(int client, const std::vector<Text>& owners, int64_t now, int64_t extend,
                           int64_t idle_timeout);
    int64_t cleanup_sessions(int client, int64_t now);
    int64_t cancel(int client, const std::vector<Identity>& activities);
    // ready, delayed or leased.
    std::string state_of(const Item& item, int64_t now) const;

    // ---- Messages ----
    // Hidden until visible_at, or fire_at if that is later. Returns the id.
    int64_t send(int client, const Mail& mail, int64_t visible_at, int64_t now);

    // ---- Turns ----
    // The token of the turn is yet to be learned.
    std::optional<Turn> fetch_turn(int client, const TurnFetch& request);
    void learn_turn_token(int client, const std::string& instance, const std::string& token);
    void ack_turn(int client, const TurnAck& ack);
    // The instance.
    std::string abandon_turn(int client, const Text& token, int64_t now,
                             std::optional<int64_t> delay, bool ignore_attempt);
    void renew_turn(int client, const Text& token, int64_t now, int64_t extend);

    // ---- State of instances ----
    void append_history(int client, const std::string& instance, int64_t execution,
                        const std::vector<Event>& events);
    // The greatest id in executions.
    std::optional<int64_t> latest_execution(int client, const std::string& instance) const;
    std::vector<const StoredEvent*> history_of(int client, const std::string& instance,
                                               int64_t execution) const;
    // Without a tombstone: what a client reads.
    std::vector<Value> values_of(int client, const std::string& instance) const;

    // ---- Dead letters ----
    int64_t redrive(int client, int64_t id);
    int64_t redrive_many(int client, const DeadLetterFilter& filter);
    void discard(int client, int64_t id);

    // ---- What operators see ----
    // Of the instance's current execution; null if there is no such row.
    const Execution* current_execution(int client, const Instance& instance) const;
    std::string status_of(int client, const Instance& instance) const;
    // Newest first.
    std::vector<std::string> list_instances(int client, const InstanceFilter& filter) const;
    // Parents before children, on each level by id.
    std::vector<TreeRow> tree_of(int client, const std::string& instance) const;
    std::optional<Stats> stats_of(int client, const std::string& instance) const;
    bool has_live_lease(int client, const Message& message, int64_t now) const;
    Reasons explain(int client, const Explain& request) const;

    // ---- Deletion and pruning ----
    Removed delete_instance(int client, const std::string& instance, bool force);
    Removed delete_listed(int client, const std::vector<std::string>& ids, bool force);
    Removed delete_finished(int client, const BulkFilter& filter);
    Pruned prune(int client, const std::string& instance, const PruneOptions& options);
    Pruned prune_many(int client, const BulkFilter& filter, const PruneOptions& options);

    // ---- Duties ----
    // How many rows it changed. Never waits.
    int64_t run_duty(int client, const std::string& duty, int64_t now);
    // Messages that the duty has just buried have these dead letters: ids by source.
    std::string learn_orphans(int client, const std::map<int64_t, int64_t>& ids);

 private:
    void meet(Case which, bool condition = true) {
        met[static_cast<std::size_t>(which)] += condition ? 1 : 0;
    }

    struct Held {
        Item* item = nullptr;  // null unless the token is the row's
        core::LeaseFault fault = core::LeaseFault::kUnknown;
    };
    Held hold_by_token(int client, const Text& token, int64_t now);
    Item& hold_live(int client, const Text& token, int64_t now);
    void touch_session(int client, const Item& item, int64_t now);
    bool claim_session(int client, const std::string& id, const std::string& owner, int64_t now,
                       int64_t locked_until);
    int16_t slot_of(const Activity& what, int64_t id) const;

    // The messages of an instance, by id.
    std::vector<const Message*> messages_of(int client, const std::string& instance) const;
    // The instance has started: nothing of it is aside any longer. Waits for a client that holds
    // one of its messages, but for those that carry the token.
    void settle_aside(int client, const std::string& instance, const std::string& token);

    struct HeldTurn {
        TurnLock* lock = nullptr;  // null unless the token is the lock's
        core::LeaseFault fault = core::LeaseFault::kUnknown;
    };
    HeldTurn hold_turn(int client, const Text& token, int64_t now);
    TurnLock& hold_live_turn(int client, const Text& token, int64_t now);
    void ack_instance(int client, const std::string& instance, const TurnAck& ack);
    void refuse_duplicates(int client, const std::string& instance, int64_t execution,
                           const std::vector<Event>& events) const;
    void add_events(int client, const std::string& instance, int64_t execution,
                    const std::vector<Event>& events, int64_t now);
    void change_custom_status(int client, const std::string& instance, const TurnAck& ack);
    void change_values(int client, const std::string& instance, const TurnAck& ack);
    void merge_values(int client, const std::string& instance);

    void bury(int client, int64_t id, int64_t now);
    void dead_letter_message(int client, int64_t id, int64_t now,
                             const std::string& reason = "max_attempts");
    DeadLetter take_dead_letter(int client, int64_t id);

    // The pin of the current execution against a range of packed versions.
    bool passes_filter(int client, const std::string& instance, std::optional<int64_t> min_version,
                       std::optional<int64_t> max_version) const;
    bool has_started(int client, const std::string& instance) const;
    bool has_continuation(int client, const std::string& instance) const;

    using Ids = std::set<std::string>;
    Ids with_descendants(int client, const Ids& roots) const;
    // Without an instance row, and with a queued start that names one of the ids as its parent.
    Ids unborn_children(int client, const Ids& ids) const;
    std::vector<std::string> finished_roots(int client, const BulkFilter& filter, int64_t now);
    void begin_removal(int client);
    // The exclusions of all that go, then their instance rows.
    void hold_for_removal(int client, const Ids& ids);
    void refuse_child(int client, const std::string& instance);
    void refuse_running(int client, const Ids& ids);
    void refuse_strays(int client, const Ids& ids);
    Removed remove(int client, const Ids& ids);
    // Finished roots with all that belongs to them.
    Removed remove_finished(int client, const Ids& ids);
    bool can_remove(int client, const Ids& ids) const;
    std::vector<int64_t> prunable_executions(int client, const Instance& instance,
                                             const PruneOptions& options);

    int64_t retire(int client, int64_t now);
    int64_t dead_letter_orphans(int client, int64_t now);
    int64_t clean_up_locks(int client, int64_t now);
    int64_t discard_old(int client, int64_t now);

    friend class FetchSearch;
    friend class TurnSearch;
};

// QB002.
[[noreturn]] void raise_unknown_instance(const std::string& message, const std::string& instance);

// Raises QB001 for a token that does not open its lease.
[[noreturn]] void raise_lost(const Text& token, core::LeaseFault fault, int64_t locked_until);

}  // namespace belay::test::model
