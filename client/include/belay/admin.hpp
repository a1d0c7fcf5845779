// Administration: the functions and views of schema belay, dead letters, and the care of one hub.
//
//     belay::Admin(connection).create_hub("app");
//     hub.maintenance().pause();
//
// Thread-safety: none; as the connection's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"
#include "belay/tasks.hpp"

namespace belay {

enum class Api { kBelay, kDuroxidePg, kOther };
template <>
struct Words<Api> {
    static constexpr std::string_view kTexts[] = {"belay", "duroxide-pg"};
};

// What a role may do with a hub.
enum class Level { kClient, kWorker, kOperator, kMonitor, kOther };
template <>
struct Words<Level> {
    static constexpr std::string_view kTexts[] = {"client", "worker", "operator", "monitor"};
};

// What can be paused of a hub: its queues of messages, work items and intents, and all its tasks.
enum class HubQueue { kOrchestrator, kWorker, kTasks, kIntents, kOther };
template <>
struct Words<HubQueue> {
    static constexpr std::string_view kTexts[] = {"orchestrator", "worker", "tasks", "intents"};
};

struct HubInfo {
    std::string name = {};
    std::string owner = {};
    // None of these for a hub that Citus has on another node, which alone knows them.
    std::optional<Word<Api>> api = {};
    OptionalText version = {};
    std::optional<bool> is_current = {};
    std::optional<bool> paused = {};
    OptionalTime created_at = {};
    OptionalNumber size_bytes = {};
    std::vector<Word<HubQueue>> paused_queues = {};  // empty also if not known
    // host:port of the server that has it; none: this one, and Citus has not put it here.
    OptionalText place = {};
    bool is_here = true;
};

struct HubOption {
    std::string option;
    OptionalText value;
    bool is_default = false;
};

// A row of pg_stat_belay_queue.
struct QueueStats {
    std::string hub = {};
    std::string queue = {};
    std::int64_t enqueued = 0;
    std::int64_t fetched = 0;
    std::int64_t empty_fetches = 0;
    std::int64_t acked = 0;
    std::int64_t abandoned = 0;
    std::int64_t renewed = 0;
    std::int64_t lost_leases = 0;
    std::int64_t expired = 0;
    std::int64_t dead_lettered = 0;
    std::int64_t wake_ups = 0;
    std::int64_t waiters = 0;
    std::int64_t leases = 0;
    std::optional<Milliseconds> oldest_ready = {};
};

enum class WorkerState { kStarting, kIdle, kWorking, kResting, kWaiting, kStuck, kOther };
template <>
struct Words<WorkerState> {
    static constexpr std::string_view kTexts[] = {"starting", "idle",    "working",
                                                  "resting",  "waiting", "stuck"};
};

// A background worker of the server, of any database: a row of view belay.workers, which has one
// for each duty that has run.
struct BackgroundWorker {
    OptionalText database;
    OptionalNumber pid;  // none: its database waits for a process
    Word<WorkerState> state;
    OptionalTime last_loop_at;
    OptionalText duty;
    OptionalTime last_run;
    OptionalNumber runs;
    OptionalNumber errors;
    OptionalText last_error;
};

// The functions and views of schema belay.
class Admin {
 public:
    explicit Admin(Connection& connection) : connection_(&connection) {}

    std::string version(Where where = Where::current());
    void create_hub(std::string_view name, Api api = Api::kBelay, bool adopt = false,
                    Where where = Where::current());
    void drop_hub(std::string_view name, bool force = false, Where where = Where::current());
    void upgrade_hub(std::string_view name, Where where = Where::current());
    std::vector<Problem> check_hub(std::string_view name, Where where = Where::current());
    // No value restores the default.
    void set_hub_option(std::string_view name, std::string_view option, const OptionalText& value,
                        Where where = Where::current());
    void grant_hub(std::string_view name, std::string_view role, const Word<Level>& level,
                   Where where = Where::current());
    void revoke_hub(std::string_view name, std::string_view role, const Word<Level>& level,
                    Where where = Where::current());
    int new_incarnation(const OptionalText& name = {}, Where where = Where::current());
    // The way to a hub of another database: a foreign server, with a user mapping.
    void create_hub_link(std::string_view hub, std::string_view target_hub, std::string_view server,
                         Where where = Where::current());
    void drop_hub_link(std::string_view hub, std::string_view target_hub,
                       Where where = Where::current());
    bool start_worker(Where where = Where::current());
    bool stop_worker(Where where = Where::current());
    std::string metrics(Where where = Where::current());
    void stat_reset(Where where = Where::current());
    std::vector<HubInfo> hubs(Where where = Where::current());
    // The rights that keep code of the hub's owner from using more than the owner's: kOwner if the
    // session has all rights of the owner and is another role. A session without rights of the
    // owner uses what it was granted (kOwn). Throws (42501) if a superuser has set the role of the
    // session to such a role: the owner's code could set it back.
    Rights rights_on(std::string_view hub, Where where = Where::current());
    std::vector<HubOption> hub_options(std::string_view name, Where where = Where::current());
    std::vector<QueueStats> queue_stats(Where where = Where::current());
    // For members of pg_monitor.
    std::vector<BackgroundWorker> workers(Where where = Where::current());

 private:
    Connection* connection_;
};

// ---- Dead letters: items of the provider interface that were set aside. ----

// Where it was.
enum class DeadLetterQueue { kOrchestrator, kWorker, kIntent, kOther };
template <>
struct Words<DeadLetterQueue> {
    static constexpr std::string_view kTexts[] = {"orchestrator", "worker", "intent"};
};

// Why it was set aside.
enum class DeadLetterReason { kMaxAttempts, kOrphan, kUndeliverable, kOther };
template <>
struct Words<DeadLetterReason> {
    static constexpr std::string_view kTexts[] = {"max_attempts", "orphan", "undeliverable"};
};

struct DeadLetter {
    std::int64_t id = 0;
    Word<DeadLetterQueue> queue;
    OptionalNumber source_id;
    OptionalText instance_id;
    OptionalNumber execution_id;
    OptionalNumber activity_id;
    OptionalText session_id;
    OptionalText tag;
    std::string work_item;  // as it was enqueued
    int attempt = 0;
    Word<DeadLetterReason> reason;
    OptionalText detail;
    OptionalTime enqueued_at;
    OptionalTime dead_at;
};

struct DeadLetterFilter {
    std::optional<Word<DeadLetterQueue>> queue = {};
    std::optional<Word<DeadLetterReason>> reason = {};
    OptionalText instance_id = {};
    OptionalNumber after = {};
    int limit = 100;
};

// A dead letter that could not be put back, and why: SQLSTATE and code_detail.
struct RefusedLetter {
    std::int64_t id = 0;
    std::string code;
    std::string word;
};
struct RedrivenLetters {
    std::int64_t done = 0;
    std::int64_t skipped = 0;  // gone meanwhile, or held by another transaction
    std::vector<RefusedLetter> failed;
};

// hub.dead_letters()
class DeadLetters : public HubPart {
 public:
    using HubPart::HubPart;

    std::vector<DeadLetter> list(const DeadLetterFilter& filter = {},
                                 Where where = Where::current());
    // Enqueues it again; the id of the new item.
    std::int64_t redrive(std::int64_t id, Where where = Where::current());
    // All that fit a filter of the SQL function, or at most so many, in portions of up to 500.
    RedrivenLetters redrive_matching(const Json& filter, OptionalNumber most = {},
                                     Where where = Where::current());
    void discard(std::int64_t id, Where where = Where::current());
};

// ---- The care of a hub. ----

struct SystemMetrics {
    std::int64_t total_instances = 0;
    std::int64_t total_executions = 0;
    std::int64_t running_instances = 0;
    std::int64_t completed_instances = 0;
    std::int64_t failed_instances = 0;
    std::int64_t total_events = 0;
};

struct ProviderDepths {
    std::int64_t orchestrator_queue = 0;
    std::int64_t worker_queue = 0;
    std::int64_t timer_queue = 0;
};

struct DutyRun {
    std::string duty;
    std::int64_t rows = 0;
    Milliseconds elapsed{0};
};

// Who has leases on tasks, work items, sessions and slots.
struct LeaseOwner {
    std::string owner_id;  // "" for leases without one
    std::int64_t live = 0;
    std::int64_t overdue = 0;
};

// hub.maintenance()
class Maintenance : public HubPart {
 public:
    using HubPart::HubPart;

    // Nothing is fetched from this queue of the hub, or from any.
    void pause(const std::optional<Word<HubQueue>>& queue = {}, std::string_view reason = "",
               Where where = Where::current());
    void resume(const std::optional<Word<HubQueue>>& queue = {}, Where where = Where::current());
    std::vector<DutyRun> reconcile(const std::optional<std::vector<std::string>>& duties = {},
                                   Where where = Where::current());
    SystemMetrics metrics(Where where = Where::current());
    ProviderDepths depths(Where where = Where::current());
    // The first 1000 by owner id, of the leases that list_owners looks at.
    std::vector<LeaseOwner> owners(Where where = Where::current());
};

}  // namespace belay
