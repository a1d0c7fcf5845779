#include "belay/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include <nlohmann/json.hpp>

namespace belay {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

std::string text_of(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) {
        return "";
    }
    return found->is_string() ? found->get<std::string>() : found->dump();
}

OptionalNumber number_of(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer()
               ? OptionalNumber(found->get<std::int64_t>())
               : std::nullopt;
}

// JSON text for any bytes: what is no UTF-8 is replaced.
std::string dumped(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string made_up_owner() {
    std::random_device random;
    return "worker-" + std::to_string(::getpid()) + "-" + std::to_string(random());
}

}  // namespace

// ---- Activities. ----

Activity::Activity(WorkItem item, WorkLease& lease) : item_(std::move(item)), lease_(lease) {
    const json parsed = json::parse(item_.work_item, nullptr, false);
    if (!parsed.is_object() || parsed.size() != 1 || !parsed.begin()->is_object()) {
        return;
    }
    const json& fields = *parsed.begin();
    name_ = text_of(fields, "name");
    input_ = text_of(fields, "input");
    execution_id_ = number_of(fields, "execution_id");
    id_ = number_of(fields, "id");
    if (std::string instance = text_of(fields, "instance"); !instance.empty()) {
        instance_ = std::move(instance);
    }
}

OptionalText Activity::completion(std::string_view result) const {
    if (!instance_ || !execution_id_ || !id_) {
        return std::nullopt;
    }
    return dumped({{"ActivityCompleted",
                    {{"instance", *instance_},
                     {"execution_id", *execution_id_},
                     {"id", *id_},
                     {"result", result}}}});
}

OptionalText Activity::failure(std::string_view message) const {
    if (!instance_ || !execution_id_ || !id_) {
        return std::nullopt;
    }
    const json details = {
        {"Application", {{"kind", "ActivityFailed"}, {"message", message}, {"retryable", false}}}};
    return dumped({{"ActivityFailed",
                    {{"instance", *instance_},
                     {"execution_id", *execution_id_},
                     {"id", *id_},
                     {"details", details}}}});
}

void Activity::complete_with(const std::function<void(Connection&)>& body, std::string_view result,
                             Where where) {
    lease_.ack_with(body, completion(result), where);
}

// ---- The worker. ----

struct Worker::Impl {
    WorkerOptions options;
    std::map<std::string, Handler> handlers = {};
    FetchOptions fetch = {};

    std::atomic<bool> stopping = false;
    Interrupt interrupt;  // ends the wait: of stop(), and of a handler that became free

    std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex:
    std::deque<WorkItem> queue = {};
    int busy = 0;  // items in the queue and in handlers
    bool waits_for_owner_only = false;
    std::set<WorkLease*> active = {};

    void tell(WorkerEvent event) const noexcept {
        try {
            if (options.on_event) {
                options.on_event(event);
            }
        } catch (...) {
            // A hook that throws must not stop the work.
        }
    }

    void tell_error(const std::exception& error) const {
        tell({.kind = WorkerEvent::Kind::kError, .message = error.what()});
    }

    const Handler* handler_of(const std::string& name) const {
        auto found = handlers.find(name);
        if (found == handlers.end()) {
            found = handlers.find("");
        }
        return found == handlers.end() ? nullptr : &found->second;
    }

    // The next item for a handler's thread; none if it is time to go.
    std::optional<WorkItem> pop() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return stopping || !queue.empty(); });
        if (stopping) {
            return std::nullopt;
        }
        WorkItem item = std::move(queue.front());
        queue.pop_front();
        return item;
    }

    void become_free() {
        bool wake = false;
        {
            const std::lock_guard lock(mutex);
            --busy;
            wake = waits_for_owner_only;
            waits_for_owner_only = false;
        }
        changed.notify_all();
        if (wake) {
            interrupt.signal();
        }
    }

    // A handler's thread.
    void serve(LeaseKeeper& keeper) {
        while (auto item = pop()) {
            while (item) {
                try {
                    item = handle(keeper, std::move(*item));
                } catch (const std::exception& error) {
                    tell_error(error);
                    item.reset();
                }
            }
            become_free();
        }
    }

    Milliseconds delay_after(int attempt) const {
        auto delay = options.retry_delay;
        for (int i = 1; i < attempt && delay < options.max_retry_delay; ++i) {
            delay *= 2;
        }
        return std::min(delay, options.max_retry_delay);
    }

    Outcome run_handler(const Handler& handler, Activity& activity) const {
        std::string message = "unrecognized exception";
        try {
            return handler(activity);
        } catch (const std::exception& error) {
            message = error.what();
        } catch (...) {
        }
        if (activity.attempt() >= options.max_attempts) {
            return Outcome::failed(std::move(message));
        }
        Outcome outcome = Outcome::retry(delay_after(activity.attempt()));
        outcome.text = std::move(message);
        return outcome;
    }

    // Runs one item; returns the next, if the ack brought one.
    std::optional<WorkItem> handle(LeaseKeeper& keeper, WorkItem item) {
        using Kind = WorkerEvent::Kind;
        WorkLease lease = keeper.keep(item);
        Activity activity(std::move(item), lease);
        // The drain may give the lease back while the handler runs.
        struct Registered {
            Impl& impl;
            WorkLease* lease;
            Registered(Impl& impl, WorkLease* lease) : impl(impl), lease(lease) {
                const std::lock_guard lock(impl.mutex);
                impl.active.insert(lease);
            }
            ~Registered() {
                const std::lock_guard lock(impl.mutex);
                impl.active.erase(lease);
            }
        } registered(*this, &lease);

        tell({.kind = Kind::kFetched, .activity = &activity});
        const auto began = SteadyClock::now();
        const auto event = [&](Kind kind, std::string message) {
            tell({.kind = kind,
                  .activity = &activity,
                  .message = std::move(message),
                  .elapsed = std::chrono::duration_cast<std::chrono::microseconds>(
                      SteadyClock::now() - began)});
        };
        std::optional<WorkItem> next;
        try {
            const Handler* handler = handler_of(activity.name());
            if (handler == nullptr) {
                lease.abandon(options.retry_delay, true);
                event(Kind::kNoHandler, "no handler for \"" + activity.name() + "\"");
                return next;
            }
            const Outcome outcome = run_handler(*handler, activity);
            if (lease.lost()) {
                event(Kind::kLost, "the lease was lost while the handler ran");
                return next;
            }
            switch (outcome.kind) {
                case Outcome::Kind::kRetry:
                    lease.abandon(outcome.delay, outcome.ignore_attempt);
                    event(Kind::kRetried, outcome.text);
                    break;
                case Outcome::Kind::kSettled:
                    if (!lease.settled()) {
                        throw std::logic_error("the handler says settled, but the item is not");
                    }
                    event(Kind::kCompleted, "");
                    break;
                case Outcome::Kind::kCompleted:
                case Outcome::Kind::kFailed: {
                    const bool failed = outcome.kind == Outcome::Kind::kFailed;
                    const auto completion =
                        failed ? activity.failure(outcome.text) : activity.completion(outcome.text);
                    if (stopping) {
                        lease.ack(completion);
                    } else {
                        next = lease.ack_and_fetch(completion, fetch);
                    }
                    event(failed ? Kind::kFailed : Kind::kCompleted, failed ? outcome.text : "");
                    break;
                }
            }
        } catch (const Error& error) {
            event(error.outcome_unknown() ? Kind::kUnknown
                  : error.lock_lost()     ? Kind::kLost
                                          : Kind::kError,
                  error.what());
        } catch (const std::logic_error& error) {
            event(stopping ? Kind::kAbandoned : Kind::kError, error.what());
        }
        return next;
    }

    // Fetches what the free handlers can take. Returns how many that were.
    int fetch_some(Hub& hub, int free) {
        FetchOptions some = fetch;
        some.max_items = std::min(free, 1000);
        auto items = hub.fetch_work_items(some);
        const int count = static_cast<int>(items.size());
        {
            const std::lock_guard lock(mutex);
            busy += count;
            for (auto& item : items) {
                queue.push_back(std::move(item));
            }
        }
        changed.notify_all();
        return count;
    }

    // Waits and fetches until stop().
    void run_loop(Connection& waiting, LeaseKeeper& keeper) {
        Hub hub(waiting, options.hub, options.clock);
        const std::string owner_queue = "owner:" + *fetch.owner_id;
        int vain = 0;  // wake-ups in a row that brought nothing
        bool woken = false;
        for (;;) {
            interrupt.reset();
            if (stopping) {
                return;
            }
            int free = 0;
            {
                const std::lock_guard lock(mutex);
                free = options.concurrency - busy;
                waits_for_owner_only = free == 0;
            }
            try {
                if (free > 0) {
                    const int count = fetch_some(hub, free);
                    vain = count == 0 && woken ? vain + 1 : 0;
                    woken = false;
                    if (count == free) {
                        continue;
                    }
                    // Others were faster, again and again.
                    if (vain > 4) {
                        pause(Milliseconds(std::min(50, vain)));
                    }
                }
                const auto wake =
                    free > 0 ? hub.wait_for_work({"worker", owner_queue}, options.wait_timeout,
                                                 interrupt)
                             : hub.wait_for_work({owner_queue}, options.wait_timeout, interrupt);
                if (wake && wake->queue == owner_queue) {
                    keeper.renew_now();
                }
                woken = wake && wake->queue == "worker";
            } catch (const Error& error) {
                tell_error(error);
                pause(Milliseconds(100));
            }
        }
    }

    // Sleeps, unless the worker is to stop.
    void pause(Milliseconds time) {
        const auto end = SteadyClock::now() + time;
        while (!stopping && SteadyClock::now() < end) {
            std::this_thread::sleep_for(
                std::min<SteadyClock::duration>(end - SteadyClock::now(), Milliseconds(10)));
        }
    }

    // Gives back what no handler has begun, and after the deadline also the rest.
    void drain(Pool& pool) {
        std::deque<WorkItem> unused;
        {
            const std::lock_guard lock(mutex);
            unused.swap(queue);
            busy -= static_cast<int>(unused.size());
        }
        changed.notify_all();
        for (const auto& item : unused) {
            try {
                auto connection = pool.take();
                Hub(*connection, options.hub, options.clock)
                    .abandon_work_item(item.lock_token, {}, true);
            } catch (const Error& error) {
                if (!error.lock_lost()) {
                    tell_error(error);
                }
            }
        }
        std::unique_lock lock(mutex);
        if (changed.wait_for(lock, options.drain_timeout, [this] { return busy == 0; })) {
            return;
        }
        for (WorkLease* lease : active) {
            lease->request_stop();
            try {
                if (!lease->settled() && !lease->lost()) {
                    lease->abandon({}, true);
                }
            } catch (const std::exception& error) {
                tell_error(error);
            }
        }
    }
};

Worker::Worker(WorkerOptions options) : impl_(std::make_unique<Impl>()) {
    if (options.concurrency < 1 || options.connections < 1) {
        throw Error({.message = "a worker needs at least one handler thread and one connection",
                     .sqlstate = "QB006"});
    }
    if (options.owner_id.empty()) {
        options.owner_id = made_up_owner();
    }
    impl_->fetch = {.lock_timeout = options.lock_timeout,
                    .owner_id = options.owner_id,
                    .tag_filter = options.tag_filter,
                    .tag_mode = options.tag_mode,
                    .slots = options.slots};
    impl_->options = std::move(options);
}

Worker::~Worker() = default;

void Worker::on(std::string name, Handler handler) {
    impl_->handlers[std::move(name)] = std::move(handler);
}

void Worker::run() {
    const auto& options = impl_->options;
    Pool pool(options.connection, static_cast<std::size_t>(options.connections));
    Connection waiting(options.connection);
    LeaseKeeper keeper(
        pool, {.hub = options.hub,
               .lock_timeout = options.lock_timeout,
               .clock = options.clock,
               .on_error = [this](const std::exception& error) { impl_->tell_error(error); }});
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.concurrency; ++i) {
        threads.emplace_back([&] { impl_->serve(keeper); });
    }
    try {
        impl_->run_loop(waiting, keeper);
    } catch (...) {
        // The threads must end before this frame does.
        stop();
        impl_->drain(pool);
        throw;
    }
    impl_->drain(pool);
}

void Worker::stop() noexcept {
    impl_->stopping = true;
    impl_->interrupt.signal();
}

const std::string& Worker::owner_id() const {
    return *impl_->fetch.owner_id;
}

}  // namespace belay
