// The worker of tasks.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "belay/worker.hpp"
#include "work_loop.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// wait_for_work takes 64 queues, and one of them is the owner's.
constexpr std::size_t kMaxLaneQueues = 63;

// claim_tasks gives no more.
constexpr int kMaxClaim = 1000;

}  // namespace

// ---- Tasks of handlers. ----

void Task::progress(std::optional<double> percent, const OptionalText& message, Where where) {
    lease_.progress({.percent = percent, .message = message}, where);
}

void Task::set_checkpoint(std::string_view checkpoint, Where where) {
    lease_.progress({.checkpoint = std::string(checkpoint)}, where);
}

void Task::write(const std::function<void(Connection&)>& body, Where where) {
    lease_.write(body, where);
}

void Task::complete_with(const std::function<void(Connection&)>& body, const OptionalText& result,
                         Where where) {
    lease_.complete_with(body, result, where);
}

std::vector<UpstreamResult> Task::upstream(Where where) {
    return lease_.upstream(where);
}

OptionalText Task::upstream_result(std::string_view name, Where where) {
    for (const auto& upstream : lease_.upstream(where)) {
        if (upstream.pass_as == name || upstream.key == name) {
            return upstream.result;
        }
    }
    return std::nullopt;
}

SuspendedTask Task::suspend(const NewSuspension& suspension, Where where) {
    return lease_.suspend(suspension, where);
}

CreatedWaitpoint Task::create_waitpoint(std::string_view key, Milliseconds expires_in,
                                        Where where) {
    return lease_.create_waitpoint(key, expires_in, where);
}

// ---- The worker. ----

struct TaskWorker::Impl : OwnerLoop<ClaimedTask, TaskLease> {
    using Kind = TaskEvent::Kind;
    using Report = std::function<void(Kind, std::string)>;

    TaskWorkerOptions options;
    std::map<std::pair<std::string, std::string>, TaskHandler> handlers = {};  // by lane and kind
    ClaimOptions claim_options = {};

    explicit Impl(TaskWorkerOptions given) : options(std::move(given)) {
        if (options.worker_instance.empty()) {
            options.worker_instance = made_up_owner(options.worker);
        }
        set_up({.connection = options.connection,
                .concurrency = options.concurrency,
                .connections = options.connections,
                .wait_timeout = options.wait_timeout,
                .drain_timeout = options.drain_timeout,
                .keeper = {
                    .hub = options.hub, .lock_timeout = options.lease, .clock = options.clock}});
    }

    // The lanes are those that have handlers; known when the worker begins to run.
    void set_lanes() {
        if (handlers.empty()) {
            throw Error({.message = "a worker needs a handler", .sqlstate = "QB006"});
        }
        std::set<std::string> lanes;
        for (const auto& [key, handler] : handlers) {
            lanes.insert(key.first);
        }
        claim_options = {.worker = options.worker,
                         .worker_instance = options.worker_instance,
                         .capabilities = options.capabilities,
                         .lease = options.lease,
                         .slots = options.slots};
        std::vector<std::string> queues;
        if (!lanes.contains("")) {
            claim_options.lanes.emplace(lanes.begin(), lanes.end());
            for (const auto& lane : lanes) {
                queues.push_back("lane:" + lane);
            }
        }
        if (queues.empty() || queues.size() > kMaxLaneQueues) {
            queues = {"lane:*"};
        }
        set_queues(options.worker_instance, std::move(queues));
    }

    const TaskHandler* handler_of(const Task& task) const {
        const std::string any;
        for (const auto& [lane, kind] :
             {std::pair(&task.lane(), &task.kind()), std::pair(&task.lane(), &any),
              std::pair(&any, &task.kind()), std::pair(&any, &any)}) {
            if (const auto found = handlers.find({*lane, *kind}); found != handlers.end()) {
                return &found->second;
            }
        }
        return nullptr;
    }

    std::vector<ClaimedTask> fetch(Hub& hub, int free) override {
        ClaimOptions some = claim_options;
        some.max_tasks = std::min(free, kMaxClaim);
        return hub.claim_tasks(some);
    }

    void give_back(Hub& hub, const ClaimedTask& task) override {
        try {
            hub.release_task(fence_of(task));
        } catch (const Error& error) {
            if (error.already_terminal() && task.flow_id) {
                // Perhaps cancelled with its flow before a handler has begun.
                hub.ack_cancel_member(*task.flow_id, task.task_id);
            }
            throw;
        }
    }

    void tell_error(const std::exception& error) const noexcept override {
        tell(options.on_event, {.kind = Kind::kError, .message = error.what()});
    }

    std::optional<ClaimedTask> handle(LeaseKeeper& keeper, Pool&, ClaimedTask claimed) override {
        TaskLease lease = keeper.keep(std::move(claimed));
        Task task(lease);
        const Active active(*this, lease);
        tell(options.on_event, {.kind = Kind::kClaimed, .task = &task});
        const auto began = SteadyClock::now();
        std::string last_message;
        const Report report = [&](Kind kind, std::string message) {
            last_message = message;
            tell(options.on_event, {.kind = kind,
                                    .task = &task,
                                    .message = std::move(message),
                                    .elapsed = elapsed_since(began)});
        };
        std::optional<ClaimedTask> next;
        const bool infrastructure = report_failures<Kind>(
            lease, [&] { next = work_on(lease, task, report); }, report);
        // A refused call keeps the lease. It would be refused again, so that is a failed attempt.
        if (!infrastructure && !lease.settled() && !lease.lost()) {
            report_failures<Kind>(
                lease, [&] { fail(lease, {.message = last_message}, report); }, report);
        }
        give_back_later(lease, options.retry_delay, true);
        confirm_cancel(lease);
        return next;
    }

    // The handler has stopped; whoever has cancelled the flow wants to know.
    void confirm_cancel(TaskLease& lease) const noexcept {
        try {
            if (lease.ended()) {
                lease.ack_cancel();
            }
        } catch (const std::exception& error) {
            tell_error(error);
        }
    }

    static void fail(TaskLease& lease, TaskFailure failure, const Report& report) {
        failure.message = clean(std::move(failure.message));
        const FailedTask failed = lease.fail(failure);
        report(failed.result == "retry_scheduled" ? Kind::kRetried : Kind::kFailed,
               std::move(failure.message));
    }

    TaskOutcome run_handler(const TaskHandler& handler, Task& task) const {
        return run_guarded<TaskOutcome>(
            [&] {
                try {
                    return handler(task);
                } catch (const TaskFailed& failed) {
                    return TaskOutcome::failed(failed.failure());
                }
            },
            [&](HandlerFailure failure) {
                TaskOutcome outcome = TaskOutcome::failed({.message = std::move(failure.message)});
                if (failure.infrastructure) {
                    outcome.kind = TaskOutcome::Kind::kReleased;
                    outcome.delay = options.retry_delay;
                }
                return outcome;
            });
    }

    // Runs the handler and settles the task; returns the next one, if that brought one.
    std::optional<ClaimedTask> work_on(TaskLease& lease, Task& task, const Report& report) {
        const TaskHandler* handler = handler_of(task);
        if (handler == nullptr) {
            lease.release(options.retry_delay);
            report(Kind::kNoHandler,
                   "no handler for kind \"" + task.kind() + "\" in lane \"" + task.lane() + "\"");
            return std::nullopt;
        }
        const TaskOutcome outcome = run_handler(*handler, task);
        if (lease.unknown()) {
            report(Kind::kUnknown, unknown_text(outcome.failure.message));
            return std::nullopt;
        }
        if (lease.lost()) {
            report(kind_of<Kind>(lease.stop_reason()), lease.stop_text());
            return std::nullopt;
        }
        switch (outcome.kind) {
            case TaskOutcome::Kind::kCompleted:
                return complete(lease, outcome.json, report);
            case TaskOutcome::Kind::kFailed:
                fail(lease, outcome.failure, report);
                break;
            case TaskOutcome::Kind::kDelayed:
                lease.delay(outcome.delay, outcome.json);
                report(Kind::kDelayed, "");
                break;
            case TaskOutcome::Kind::kReleased:
                lease.release(outcome.delay);
                report(Kind::kReleased, outcome.failure.message);
                break;
            case TaskOutcome::Kind::kSettled:
            case TaskOutcome::Kind::kSuspended:
                if (!lease.settled()) {
                    throw std::logic_error("the handler says that the task is settled; it is not");
                }
                report(outcome.kind == TaskOutcome::Kind::kSettled ? Kind::kCompleted
                                                                   : Kind::kSuspended,
                       "");
                break;
        }
        return std::nullopt;
    }

    std::optional<ClaimedTask> complete(TaskLease& lease, const OptionalText& result,
                                        const Report& report) {
        std::vector<ClaimedTask> next;
        if (stopping()) {
            lease.complete(result);
        } else {
            next = lease.complete_and_claim(result, claim_options);
        }
        report(Kind::kCompleted, "");
        return next.empty() ? std::nullopt : std::optional(std::move(next[0]));
    }
};

TaskWorker::TaskWorker(TaskWorkerOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

TaskWorker::~TaskWorker() = default;

void TaskWorker::on(std::string lane, TaskHandler handler) {
    on(std::move(lane), "", std::move(handler));
}

void TaskWorker::on(std::string lane, std::string kind, TaskHandler handler) {
    impl_->handlers[{std::move(lane), std::move(kind)}] = std::move(handler);
}

void TaskWorker::run() {
    impl_->set_lanes();
    impl_->run();
}

void TaskWorker::stop() noexcept {
    impl_->stop();
}

std::uint64_t TaskWorker::round_trips() const {
    return impl_->round_trips();
}

const std::string& TaskWorker::worker_instance() const {
    return impl_->options.worker_instance;
}

}  // namespace belay
