// Queues of tasks: send, receive, settle, and the settings of a queue.
//
//     belay::Queue mail(hub, "mail");
//     mail.send({{"to", "ada@example.org"}}, belay::SendOptions().key("welcome:ada").delay(5min));
//     for (const auto& task : mail.receive()) {
//         mail.complete(task.lease);
//     }
//
// A Worker (worker.hpp) receives, extends leases and settles by itself; these calls are for
// programs that want to do so on their own.
//
// Thread-safety: none; as the hub's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

// The pause before another attempt.
//
//     Backoff::exponential(1s, 60s)  // 1 s, 2 s, 4 s, ... 60 s
struct Backoff {
    Json json;

    // jitter: the random part of each pause, from 0 to 1.
    static Backoff fixed(Milliseconds delay, double jitter = 0);
    static Backoff exponential(Milliseconds initial, Milliseconds most, double multiplier = 2,
                               double jitter = 0);
};

// What happens when a lease expires: the same attempt continues, or it counts as failed.
enum class OnLeaseExpiry { kContinue, kRetry, kOther };
template <>
struct Words<OnLeaseExpiry> {
    static constexpr std::string_view kTexts[] = {"continue", "retry"};
};

// How a task is tried again, and how long it may take. What is not given is taken from the settings
// of its queue, or else from the server's defaults.
struct TaskPolicy {
    std::optional<int> max_attempts = {};  // 0: no limit
    std::optional<Backoff> backoff = {};
    std::optional<std::vector<FailureClass>> retryable = {};
    std::optional<Milliseconds> attempt_timeout = {};
    std::optional<OnLeaseExpiry> on_lease_expiry = {};
    std::optional<int> max_reclaims = {};
    std::optional<int> max_replays = {};
    std::optional<int> max_signals = {};

    Json json() const;
};

// What Queue::set changes; what is not given stays as it is.
struct QueueSettings {
    std::optional<bool> paused = {};
    std::optional<TaskPolicy> policy = {};
    std::optional<Milliseconds> retention = {};  // of tasks that have ended
    std::optional<int> concurrency = {};         // tasks that may run at a time
    std::optional<double> rate_per_s = {};
    std::optional<double> burst = {};

    Json json() const;
};

// How a task is sent. A builder:
//
//     SendOptions().kind("welcome").priority(5).delay(5min)
class SendOptions {
 public:
    SendOptions& kind(std::string kind) { return set(kind_, std::move(kind)); }
    // Once per queue and key: the call may be repeated, and returns the id of the first one's task.
    SendOptions& key(std::string key) { return set(key_, std::move(key)); }
    SendOptions& delay(Milliseconds delay) { return set(delay_, delay); }
    SendOptions& at(Time at) { return set(at_, at); }
    // From 0 to 9000; tasks with a higher priority are received first.
    SendOptions& priority(int priority) { return set(priority_, priority); }
    SendOptions& policy(const TaskPolicy& policy) { return set(policy_, policy.json()); }
    SendOptions& headers(Json headers) { return set(headers_, std::move(headers)); }

 private:
    friend class Queue;

    template <typename Field, typename Value>
    SendOptions& set(Field& field, Value value) {
        field = std::move(value);
        return *this;
    }

    OptionalText kind_ = {};
    OptionalText key_ = {};
    std::optional<Milliseconds> delay_ = {};
    OptionalTime at_ = {};
    int priority_ = 0;
    std::optional<Json> policy_ = {};
    std::optional<Json> headers_ = {};
};

// The exclusive right to a task until a deadline: one opaque text, which contains a fencing token.
class Lease {
 public:
    Lease() = default;
    explicit Lease(std::string text) : text_(std::move(text)) {}

    const std::string& text() const { return text_; }
    bool operator==(const Lease&) const = default;

 private:
    std::string text_;
};

struct ReceiveOptions {
    int max = 1;
    Milliseconds lease{30000};
    OptionalText worker = {};  // a name, for operators
    std::vector<std::string> capabilities = {};
};

// A received task.
struct Received {
    Uuid id;
    std::string queue;
    std::string kind;
    Json payload;
    Json headers;
    int attempt = 0;  // 1 for the first
    Lease lease;
    Time lease_until;
    OptionalTime deadline;
    Json checkpoint;  // null if none was stored
    Json signals;     // an array, of a task that was suspended
    Json upstream;    // an array, of a member of a flow
};

struct Progress {
    std::optional<double> percent = {};  // from 0 to 100
    OptionalText message = {};
    std::optional<Json> checkpoint = {};  // what the next attempt receives
};

class Queue {
 public:
    Queue(Hub& hub, std::string name) : hub_(&hub), name_(std::move(name)) {}

    const std::string& name() const { return name_; }

    // Workers can receive the task when the transaction has committed.
    Uuid send(const Json& payload, const SendOptions& options = {}, Where where = Where::current());
    // All or none, at most 10,000; the ids are in the order of the payloads. The key of the options
    // does not apply: keys, if given, has one for each payload.
    std::vector<Uuid> send_many(const std::vector<Json>& payloads, const SendOptions& options = {},
                                const std::optional<std::vector<std::string>>& keys = {},
                                Where where = Where::current());
    std::vector<Uuid> send_texts(const std::vector<JsonText>& payloads,
                                 const SendOptions& options = {},
                                 const std::optional<std::vector<std::string>>& keys = {},
                                 Where where = Where::current());

    // Leases the next tasks, by priority, then by time. Empty: no task is ready.
    std::vector<Received> receive(const ReceiveOptions& options = {},
                                  Where where = Where::current());
    // Waits until there may be a task, at most for the timeout. Not inside a transaction.
    void await(Milliseconds timeout = Milliseconds(30000), Where where = Where::current());

    // What the holder of a lease does. Every one throws Error with lock_lost() if the lease is
    // gone.
    Time extend(const Lease& lease, Milliseconds by = Milliseconds(30000),
                Where where = Where::current());
    void progress(const Lease& lease, const Progress& progress, Where where = Where::current());
    void complete(const Lease& lease, const std::optional<Json>& result = {},
                  Where where = Where::current());
    // Completes a task and receives the next ones of this queue.
    std::vector<Received> complete_and_receive(const Lease& lease,
                                               const std::optional<Json>& result,
                                               const ReceiveOptions& options = {},
                                               Where where = Where::current());
    // When the next attempt can begin; none: the task has failed permanently.
    OptionalTime fail(const Lease& lease, std::string_view error,
                      std::optional<Milliseconds> retry_in = {},
                      FailureClass failure_class = FailureClass::kTransient,
                      Where where = Where::current());
    // Counts as no attempt.
    void release(const Lease& lease, std::optional<Milliseconds> delay = {},
                 Where where = Where::current());

    // For operators.
    void set(const QueueSettings& settings, Where where = Where::current());
    // The settings as JSON, where null restores a default.
    void set_json(const Json& settings, Where where = Where::current());
    void pause(Where where = Where::current());
    void resume(Where where = Where::current());

 private:
    Hub* hub_;
    std::string name_;
};

// Collects tasks and sends them many at a time, which costs a small part of sending each.
//
//     belay::Batch batch(mail);
//     for (const auto& address : addresses) {
//         batch.add({{"to", address}});
//     }
//     batch.flush();
//
// Each portion is a call of its own, in the transaction of the connection if there is one. What was
// neither sent by add() nor by flush() is dropped with the batch: a destructor cannot say that it
// has failed.
class Batch {
 public:
    static constexpr std::size_t kMaxSize = 10000;

    // Sends when so many tasks have been added. Of the options the key does not apply. Throws Error
    // (QB006) unless size is from 1 to kMaxSize.
    explicit Batch(Queue queue, std::size_t size = 1000, SendOptions options = {});

    // If the call that sends fails, the portion stays, and flush() sends it again. Whether that is
    // safe is the caller's decision (Error::outcome_unknown()), unless all tasks have keys.
    void add(const Json& payload, Where where = Where::current());
    // Once per queue and key. A portion with keys needs one for each task: those before are sent.
    void add(const Json& payload, std::string key, Where where = Where::current());
    // As text, which is sent as it is and has to be JSON.
    void add_text(std::string payload, Where where = Where::current());

    // Sends the rest.
    void flush(Where where = Where::current());

    std::size_t waiting() const { return payloads_.size(); }
    std::size_t sent() const { return sent_; }

 private:
    void put(std::string payload, std::optional<std::string> key, const Where& where);

    Queue queue_;
    std::size_t size_;
    SendOptions options_;
    std::vector<JsonText> payloads_ = {};
    std::vector<std::string> keys_ = {};  // none, or one for each
    std::size_t sent_ = 0;
};

// How many tasks a queue has.
struct QueueDepth {
    std::string queue = {};
    bool paused = false;
    std::int64_t ready = 0;
    std::int64_t delayed = 0;
    std::int64_t blocked = 0;
    std::int64_t active = 0;
    std::int64_t suspended = 0;
    std::int64_t overdue_leases = 0;
    std::optional<Milliseconds> oldest_ready_age = {};
};

// hub.queues()
class Queues : public HubPart {
 public:
    using HubPart::HubPart;

    Queue operator[](std::string name) { return Queue(hub(), std::move(name)); }
    std::vector<QueueDepth> depths(Where where = Where::current());
};

}  // namespace belay
