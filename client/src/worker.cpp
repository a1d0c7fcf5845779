// The worker: which handler runs what, and which events are reported.
//
// Work comes from two sources, tasks and activities. A handler's thread takes a job from the
// settler (settler.hpp), runs its handler, hands the outcome over, and takes the next job. Only
// suspensions, and what a handler has settled itself, are dealt with in its thread.
#include "belay/worker.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include "family_loop.hpp"
#include "retry.hpp"
#include "settler.hpp"
#include "wait_loop.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// wait_for_work takes 256 queues, and one of them is the owner's, one that of activities.
constexpr std::size_t kMaxQueues = 254;
// Of each hub of a family, so that one connection waits for 64 of them or more.
constexpr std::size_t kMaxQueuesOfFamily = 2;

// What the calls of a settler take.
constexpr int kMaxPrefetch = 1000;
constexpr int kMaxPortion = 10000;
constexpr int kMaxThreshold = 10000;

void check_range(const char* name, int value, int least, int most) {
    if (value < least || value > most) {
        throw Error({.message = std::string(name) + " must be from " + std::to_string(least) +
                                " to " + std::to_string(most),
                     .sqlstate = "QB006"});
    }
}

}  // namespace

struct Worker::Impl : OwnerLoop, SettlerHost {
    using Kind = WorkerEvent::Kind;

    WorkerOptions options;
    std::map<std::pair<std::string, std::string>, Handler> handlers = {};  // by queue and kind
    std::map<std::string, Handler> activity_handlers = {};                 // by name
    ClaimOptions claim_options = {};
    FetchOptions fetch_options = {};
    Settler* settler = nullptr;  // while run() runs
    std::atomic<FamilyLoop*> family = nullptr;
    std::shared_ptr<Coupling> coupling = {};  // with a dispatcher
    // What a handler's thread runs, for the drain. Each thread has one, so that they do not meet.
    struct Active {
        std::mutex mutex = {};
        Job* job = nullptr;  // guarded by mutex
    };

    explicit Impl(WorkerOptions given) : options(std::move(given)) {
        if (options.hub.empty() != options.family.has_value()) {
            throw Error(
                {.message = "a worker needs a hub or a family, and not both", .sqlstate = "QB006"});
        }
        if (options.instance.empty()) {
            options.instance = made_up_owner(options.name);
        }
        check_range("prefetch", prefetch(), 0, kMaxPrefetch);
        check_range("prefetch_threshold", prefetch_threshold(), 1, kMaxThreshold);
        check_range("settle_max", options.settle_max, 1, kMaxPortion);
        claim_options = {.worker = options.name,
                         .worker_instance = options.instance,
                         .capabilities = options.capabilities,
                         .lease = options.lease,
                         .slots = options.slots};
        fetch_options = {.lock_timeout = options.lease,
                         .owner_id = options.instance,
                         .session_lock_timeout = options.session_lock_timeout,
                         .tag_filter = options.tag_filter,
                         .tag_mode = options.tag_mode,
                         .slots = options.slots};
        set_up({.connection = options.connection,
                .concurrency = options.concurrency,
                .connections = options.connections,
                .wait_timeout = options.wait_timeout,
                .drain_timeout = options.drain_timeout,
                .keeper = {.hub = options.hub, .lease = options.lease, .clock = options.clock}});
    }

    // What to receive follows from the handlers; known when the worker begins to run.
    void choose_sources() {
        if (handlers.empty() && activity_handlers.empty()) {
            throw Error({.message = "a worker needs a handler", .sqlstate = "QB006"});
        }
        std::vector<std::string> queues = task_queues();
        if (!activity_handlers.empty()) {
            queues.emplace_back("worker");
            keep_sessions(options.instance, options.session_lock_timeout,
                          options.session_idle_timeout);
        }
        set_queues(options.instance, std::move(queues));
    }

    // The queues of tasks to wait for. Sets those to claim from.
    std::vector<std::string> task_queues() {
        std::set<std::string> names;
        for (const auto& [key, handler] : handlers) {
            names.insert(key.first);
        }
        if (names.empty()) {
            return {};
        }
        std::vector<std::string> queues;
        claim_options.queues.reset();
        if (!names.contains("")) {
            claim_options.queues.emplace(names.begin(), names.end());
            for (const auto& name : names) {
                queues.push_back("queue:" + name);
            }
        }
        const std::size_t most = options.family ? kMaxQueuesOfFamily : kMaxQueues;
        if (queues.empty() || queues.size() > most) {
            queues = {"queue:*"};
        }
        return queues;
    }

    int prefetch() const { return options.prefetch.value_or(0); }

    int prefetch_threshold() const {
        return options.prefetch_threshold.value_or(
            std::clamp(2 * options.concurrency, 1, kMaxThreshold));
    }

    SettlerOptions settler_options() const {
        SettlerOptions made{
            .hub = options.hub,
            .clock = options.clock,
            .concurrency = options.concurrency,
            .connections = options.connections,
            .settle_max = options.settle_max,
            .prefetch = prefetch(),
            .adapts = !options.prefetch,
            .prefetch_threshold = prefetch_threshold(),
            .prefetch_max_age = options.prefetch_max_age.value_or(options.lease / 3),
            .reconnect_timeout = options.connection.reconnect_timeout,
            .reconnect_limit = loop_options().connection.reconnect_limit};
        if (!handlers.empty()) {
            made.tasks = claim_options;
        }
        if (!activity_handlers.empty()) {
            made.activities = fetch_options;
            made.turns = coupling ? &coupling->turns : nullptr;
        }
        return made;
    }

    void run() {
        choose_sources();
        if (options.family) {
            run_family();
        } else {
            run_hub();
        }
    }

    void run_hub() {
        const LoopOptions& loop = loop_options();
        Pools pools(loop.connection, loop.connections);
        Connection waiting(loop.connection);
        const Count count{*this, pools, waiting};
        LeaseKeeper keeper(pools.leases, loop.keeper);
        HubServer server{pools.portions, pools.handlers, keeper};
        Settler own(server, settler_options(), *this);
        serve_while(own, [&] { wait_and_fetch(waiting, keeper); });
    }

    void run_family() {
        const LoopOptions& loop = loop_options();
        std::vector<std::string> work = queues(true);
        std::erase(work, owner_queue());
        Settler own(settler_options(), *this);
        FamilyLoop servers(
            {.family = *options.family,
             .connection = loop.connection,
             .connections = loop.connections,
             .wait_timeout = loop.wait_timeout,
             .retry_delay = options.retry_delay,
             .keeper = loop.keeper,
             .owner_queue = owner_queue(),
             .work_queues = work,
             .on_error =
                 [this](const std::string& hub, const std::exception& error) {
                     tell(options.on_event,
                          {.kind = Kind::kError, .message = error.what(), .hub = hub});
                 },
             .stopping = [this] { return stopping(); }},
            own);
        family = &servers;
        // Also if it throws: stop() may be called later.
        struct Reset {
            std::atomic<FamilyLoop*>& family;
            ~Reset() { family = nullptr; }
        } reset{family};
        serve_while(own, [&] {
            servers.begin();
            await_stop();
            servers.end();
        });
        count_round_trips(servers.round_trips());
    }

    // Runs the handlers' threads while the body waits for work, and drains.
    template <typename Body>
    void serve_while(Settler& own, const Body& body) {
        settler = &own;
        std::deque<Active> active;  // its elements stay where they are
        std::vector<std::jthread> threads;
        for (int i = 0; i < options.concurrency; ++i) {
            threads.emplace_back([this, &own, &mine = active.emplace_back()] { serve(own, mine); });
        }
        if (coupling) {
            coupling->work.open(own);
        }
        try {
            body();
        } catch (...) {
            // The threads must end before this frame does.
            stop();
            drain(own, active, threads);
            throw;
        }
        drain(own, active, threads);
    }

    // Lets handlers finish until the deadline, then takes their work from them.
    void drain(Settler& own, std::deque<Active>& active, std::vector<std::jthread>& threads) {
        own.stop_receiving();
        if (!own.await_idle(end_of_drain())) {
            for (Active& one : active) {
                const std::lock_guard lock(one.mutex);
                if (one.job != nullptr) {
                    take_away(*one.job);
                }
            }
        }
        threads.clear();
        if (coupling) {
            coupling->work.close();
        }
        own.finish();
    }

    std::shared_ptr<Coupling> couple(const std::string& hub, Milliseconds lease) {
        if (options.family || hub != options.hub || lease != options.lease || options.slots) {
            throw Error({.message = "the worker is of another hub, or its leases differ",
                         .sqlstate = "QB006"});
        }
        coupling = std::make_shared<Coupling>();
        return coupling;
    }

    void take_away(Job& job) const {
        LeaseBase& lease = *job.lease;
        lease.request_stop();
        lease.call_through(job.lane->server.portions);  // its handler may keep its connection
        try {
            give_up(lease, {}, true);
        } catch (const std::exception& error) {
            tell_error(error);
        }
    }

    int free_handlers() override { return settler->free_handlers(); }

    int fetch_some(Hub& hub, int) override { return settler->receive(hub); }

    bool stopping() const override { return WaitLoop::stopping(); }

    void look_again() noexcept override {
        if (FamilyLoop* servers = family) {
            servers->look_again();
        } else {
            WaitLoop::look_again();
        }
    }

    void failed_in(const Lane& lane, const Error& error) noexcept override {
        if (FamilyLoop* servers = family) {
            servers->failed_in(lane, error);
        }
    }

    void tell_error(const std::exception& error) const noexcept override {
        tell(options.on_event, {.kind = Kind::kError, .message = error.what()});
    }

    Milliseconds delay_after(const Task& task) const override {
        return task.is_activity()
                   ? growing_delay(options.retry_delay, options.max_retry_delay, task.attempt())
                   : options.retry_delay;
    }

    const Handler* handler_of(const Task& task) const {
        if (task.is_activity()) {
            return find_handler(activity_handlers, task.kind());
        }
        const std::string any;
        for (const auto& [queue, kind] :
             {std::pair(&task.queue(), &task.kind()), std::pair(&task.queue(), &any),
              std::pair(&any, &task.kind()), std::pair(&any, &any)}) {
            const auto found = handlers.find({*queue, *kind});
            if (found != handlers.end()) {
                return &found->second;
            }
        }
        return nullptr;
    }

    // An exception as an outcome.
    Outcome outcome_of(HandlerFailure failure, const Task& task) const {
        if (failure.infrastructure) {
            return released(delay_after(task))
                .with_failure({.message = std::move(failure.message)});
        }
        if (task.is_activity() && task.attempt() < options.max_attempts) {
            return retry_in(delay_after(task), std::move(failure.message));
        }
        return failed(std::move(failure.message),
                      task.is_activity() ? FailureClass::kPermanent : FailureClass::kTransient);
    }

    Outcome run_handler(const Handler& handler, Task& task) const {
        return run_guarded<Outcome>(
            [&] {
                try {
                    return handler(task);
                } catch (const TaskFailed& error) {
                    return failed(error.failure());
                }
            },
            [&](HandlerFailure failure) { return outcome_of(std::move(failure), task); });
    }

    // Reports what became of a job, and remembers what it said.
    class Report {
     public:
        Report(const Impl& worker, const Job& job) : worker_(worker), job_(job) {}

        void operator()(Kind kind, std::string message) const {
            last_message_ = message;
            tell(worker_.options.on_event, {.kind = kind,
                                            .task = &job_.task,
                                            .message = std::move(message),
                                            .elapsed = elapsed_since(job_.began)});
        }

        const std::string& last_message() const { return last_message_; }

     private:
        const Impl& worker_;
        const Job& job_;
        mutable std::string last_message_ = {};
    };

    // Makes a job known to the drain, which releases it if its handler takes too long.
    class Known {
     public:
        Known(Active& active, Job& job) : active_(active) { set(&job); }
        ~Known() { set(nullptr); }
        Known(const Known&) = delete;
        Known& operator=(const Known&) = delete;

     private:
        void set(Job* job) {
            const std::lock_guard lock(active_.mutex);
            active_.job = job;
        }

        Active& active_;
    };

    // A handler's thread.
    void serve(Settler& own, Active& active) {
        for (JobPointer job = own.take(); job;) {
            job->lease->call_through(job->lane->server.handlers);
            bool hands_over = false;
            try {
                hands_over = run_job(*job, active);
            } catch (const std::exception& error) {
                tell_error(error);
            }
            if (hands_over) {
                job = own.hand_over(std::move(job));
            } else {
                own.done(std::move(job));
                job = own.take();
            }
        }
    }

    // True if the job has an outcome for a portion; otherwise it is over.
    bool run_job(Job& job, Active& active) {
        const Known known(active, job);
        if (job.lease->lost()) {
            lost_unused(job);
            return false;
        }
        job.began = SteadyClock::now();
        tell(options.on_event, {.kind = Kind::kReceived, .task = &job.task});
        const Report report(*this, job);
        const bool infrastructure = report_failures<Kind>(
            *job.lease, [&] { work_on(job, report); }, report);
        if (!job.outcome) {
            conclude(job, infrastructure, report);
        }
        return job.outcome.has_value();
    }

    // Runs the handler, and settles what is not for a portion.
    void work_on(Job& job, const Report& report) {
        HeldLease& lease = *job.lease;
        const Handler* handler = handler_of(job.task);
        if (handler == nullptr) {
            lease.give_back(options.retry_delay, true);
            report(Kind::kNoHandler, no_handler_text(job.task));
            return;
        }
        while (true) {
            Outcome outcome = run_handler(*handler, job.task);
            if (lease.unknown()) {
                report(Kind::kUnknown, unknown_text(outcome.failure().message));
                return;
            }
            if (lease.lost()) {
                report(kind_of<Kind>(lease.stop_reason()), lease.stop_text());
                return;
            }
            if (outcome.kind() != Outcome::Kind::kSuspended &&
                outcome.kind() != Outcome::Kind::kSettled) {
                job.outcome = std::move(outcome);
                return;
            }
            if (job.told && outcome.kind() == Outcome::Kind::kSettled) {
                return;
            }
            Settlement settlement = lease.settle(outcome);
            if (!settlement.run_again) {
                report(settlement.kind, std::move(settlement.message));
                return;
            }
        }
    }

    // The end of a job that no portion has settled.
    void conclude(Job& job, bool infrastructure, const Report& report) {
        HeldLease& lease = *job.lease;
        // An outcome that was rejected leaves the lease. It would be rejected again, so that is a
        // failed attempt: of a task by a failure, of an activity because giving it back counts.
        if (!job.task.is_activity() && !infrastructure && !lease.settled() && !lease.lost()) {
            report_failures<Kind>(
                lease,
                [&] {
                    Settlement rejected = lease.settle(failed(report.last_message()));
                    report(rejected.kind, std::move(rejected.message));
                },
                report);
        }
        give_back_later(lease, delay_after(job.task), infrastructure);
        confirm_cancel(lease);
    }

    void confirm_cancel(HeldLease& lease) const {
        try {
            lease.confirm_cancel();
        } catch (const std::exception& error) {
            tell_error(error);
        }
    }

    void settled(Job& job, Settlement settlement) override {
        Report(*this, job)(settlement.kind, std::move(settlement.message));
    }

    void settle_alone(Job& job) override {
        HeldLease& lease = *job.lease;
        const Report report(*this, job);
        bool infrastructure = false;
        if (lease.lost()) {
            report(kind_of<Kind>(lease.stop_reason()), lease.stop_text());
        } else {
            infrastructure = report_failures<Kind>(
                lease,
                [&] {
                    Settlement settlement = lease.settle(*job.outcome);
                    report(settlement.kind, std::move(settlement.message));
                },
                report);
        }
        conclude(job, infrastructure, report);
    }

    void failed_call(Job& job, const Error& error) override {
        Report(*this, job)(kind_of<Kind>(error), error.what());
    }

    void lost_unused(Job& job) override {
        try {
            give_up(*job.lease, {}, true);
        } catch (const Error& error) {
            if (!error.lock_lost()) {
                tell_error(error);
            }
        }
        // Perhaps cancelled with its flow before a handler has begun.
        confirm_cancel(*job.lease);
    }

    static std::string no_handler_text(const Task& task) {
        return task.is_activity() ? "no handler for activity \"" + task.kind() + "\""
                                  : "no handler for kind \"" + task.kind() + "\" of queue \"" +
                                        task.queue() + "\"";
    }
};

Worker::Worker(WorkerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Worker::~Worker() = default;

void Worker::on(std::string queue, Handler handler) {
    on(std::move(queue), "", std::move(handler));
}

void Worker::on(std::string queue, std::string kind, Handler handler) {
    impl_->handlers[{std::move(queue), std::move(kind)}] = std::move(handler);
}

void Worker::on_activity(std::string name, Handler handler) {
    impl_->activity_handlers[std::move(name)] = std::move(handler);
}

void Worker::run() {
    impl_->run();
}

void Worker::stop() noexcept {
    impl_->stop();
}

std::uint64_t Worker::round_trips() const {
    return impl_->round_trips();
}

std::shared_ptr<Coupling> Worker::couple(const std::string& hub, Milliseconds lease) {
    return impl_->couple(hub, lease);
}

const std::string& Worker::instance() const {
    return impl_->options.instance;
}

}  // namespace belay
