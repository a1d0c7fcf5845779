#include "belay/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "retry.hpp"
#include "work_loop.hpp"

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

OptionalText Activity::failure(std::string_view message, bool retryable) const {
    if (!instance_ || !execution_id_ || !id_) {
        return std::nullopt;
    }
    const json details = {
        {"Application",
         {{"kind", "ActivityFailed"}, {"message", message}, {"retryable", retryable}}}};
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

struct Worker::Impl : OwnerLoop<WorkItem, WorkLease> {
    WorkerOptions options;
    std::map<std::string, Handler> handlers = {};
    FetchOptions fetch_options = {};

    explicit Impl(WorkerOptions given) : options(std::move(given)) {
        if (options.owner_id.empty()) {
            options.owner_id = made_up_owner("worker");
        }
        set_queues(options.owner_id, {"worker"});
        fetch_options = {.lock_timeout = options.lock_timeout,
                         .owner_id = options.owner_id,
                         .session_lock_timeout = options.session_lock_timeout,
                         .tag_filter = options.tag_filter,
                         .tag_mode = options.tag_mode,
                         .slots = options.slots};
        set_up({.connection = options.connection,
                .concurrency = options.concurrency,
                .connections = options.connections,
                .wait_timeout = options.wait_timeout,
                .drain_timeout = options.drain_timeout,
                .keeper = {.hub = options.hub,
                           .lock_timeout = options.lock_timeout,
                           .clock = options.clock,
                           .session_owner = options.owner_id,
                           .session_lock_timeout = options.session_lock_timeout,
                           .session_idle_timeout = options.session_idle_timeout}});
    }

    std::vector<WorkItem> fetch(Hub& hub, int free) override {
        FetchOptions some = fetch_options;
        some.max_items = std::min(free, 1000);
        return hub.fetch_work_items(some);
    }

    void give_back(Hub& hub, const WorkItem& item) override {
        hub.abandon_work_item(item.lock_token, {}, true);
    }

    void tell_error(const std::exception& error) const noexcept override {
        tell(options.on_event, {.kind = WorkerEvent::Kind::kError, .message = error.what()});
    }

    Milliseconds delay_after(int attempt) const {
        return growing_delay(options.retry_delay, options.max_retry_delay, attempt);
    }

    Outcome run_handler(const Handler& handler, Activity& activity) const {
        return run_guarded<Outcome>(
            [&] { return handler(activity); },
            [&](HandlerFailure failure) {
                if (!failure.infrastructure && activity.attempt() >= options.max_attempts) {
                    return Outcome::failed(std::move(failure.message));
                }
                return Outcome::retry(delay_after(activity.attempt()), failure.infrastructure,
                                      std::move(failure.message));
            });
    }

    std::optional<WorkItem> handle(LeaseKeeper& keeper, Pool&, WorkItem item) override {
        using Kind = WorkerEvent::Kind;
        WorkLease lease = keeper.keep(item);
        Activity activity(std::move(item), lease);
        const Active active(*this, lease);
        tell(options.on_event, {.kind = Kind::kFetched, .activity = &activity});
        const auto began = SteadyClock::now();
        const auto event = [&](Kind kind, std::string message) {
            tell(options.on_event, {.kind = kind,
                                    .activity = &activity,
                                    .message = std::move(message),
                                    .elapsed = elapsed_since(began)});
        };
        std::optional<WorkItem> next;
        const bool infrastructure = report_failures<Kind>(
            lease, [&] { next = work_on(lease, activity, event); }, event);
        // A refused ack keeps the lease.
        give_back_later(lease, delay_after(activity.attempt()), infrastructure);
        return next;
    }

    // Runs the handler and settles the item; returns the next one, if that brought one.
    template <typename Event>
    std::optional<WorkItem> work_on(WorkLease& lease, Activity& activity, const Event& event) {
        using Kind = WorkerEvent::Kind;
        const Handler* handler = find_handler(handlers, activity.name());
        if (handler == nullptr) {
            lease.abandon(options.retry_delay, true);
            event(Kind::kNoHandler, "no handler for \"" + activity.name() + "\"");
            return std::nullopt;
        }
        const Outcome outcome = run_handler(*handler, activity);
        if (lease.unknown()) {
            event(Kind::kUnknown, unknown_text(outcome.text));
            return std::nullopt;
        }
        if (lease.lost()) {
            event(kind_of<Kind>(lease.stop_reason()), lease.stop_text());
            return std::nullopt;
        }
        std::optional<WorkItem> next;
        switch (outcome.kind) {
            case Outcome::Kind::kRetry:
                lease.abandon(outcome.delay, outcome.ignore_attempt,
                              outcome.text.empty() ? OptionalText() : clean(outcome.text));
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
                const auto completion = failed ? activity.failure(outcome.text, outcome.retryable)
                                               : activity.completion(outcome.text);
                if (stopping()) {
                    lease.ack(completion);
                } else {
                    next = lease.ack_and_fetch(completion, fetch_options);
                }
                event(failed ? Kind::kFailed : Kind::kCompleted, failed ? outcome.text : "");
                break;
            }
        }
        return next;
    }
};

Worker::Worker(WorkerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Worker::~Worker() = default;

void Worker::on(std::string name, Handler handler) {
    impl_->handlers[std::move(name)] = std::move(handler);
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

const std::string& Worker::owner_id() const {
    return impl_->options.owner_id;
}

}  // namespace belay
