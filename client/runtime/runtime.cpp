// Durable functions on the client library's Dispatcher and Worker. The only file that knows both.
#include "belay/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "cache.hpp"
#include "turn.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;
using EventKind = RuntimeEvent::Kind;

std::int64_t system_now_ms() {
    return std::chrono::duration_cast<Milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

int cores() {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::int64_t event_id_of(std::string_view text) {
    return engine::parse_event(text).id;
}

engine::CacheLimits limits_of(const RuntimeOptions& options) {
    engine::CacheLimits limits;
    limits.bytes = options.cache_bytes;
    limits.instances = options.cache_instances;
    limits.idle_ms = options.cache_idle.count();
    return limits;
}

Decision decision_of(engine::TurnDecision decided, const std::string& instance_id) {
    Decision decision;
    decision.execution_id = decided.execution_id;
    for (engine::NewEvent& event : decided.events) {
        decision.history_delta.push_back({.event_id = event.id,
                                          .event_data = std::move(event.text),
                                          .event_type = std::string(name_of(event.kind))});
    }
    decision.worker_items = std::move(decided.worker_items);
    decision.orchestrator_items = std::move(decided.orchestrator_items);
    decision.metadata = std::move(decided.metadata);
    for (const std::int64_t id : decided.cancelled_activities) {
        decision.cancelled_activities.push_back(
            {.instance = instance_id, .execution_id = decided.execution_id, .activity_id = id});
    }
    return decision;
}

}  // namespace

struct Runtime::Impl {
    explicit Impl(RuntimeOptions given)
        : options(std::move(given)),
          cache(limits_of(options)),
          dispatcher({.connection = options.connection,
                      .hub = options.hub,
                      .concurrency = options.executors > 0 ? options.executors : cores(),
                      .connections = options.connections,
                      .lock_timeout = options.lock_timeout,
                      .wait_timeout = options.wait_timeout,
                      .drain_timeout = options.drain_timeout,
                      .share_slots = options.share_slots,
                      .clock = options.clock,
                      .on_event = [this](const DispatcherEvent& event) { after_turn(event); }}),
          worker({.connection = options.connection,
                  .hub = options.hub,
                  .concurrency = options.activity_concurrency,
                  .lock_timeout = options.lock_timeout,
                  .wait_timeout = options.wait_timeout,
                  .drain_timeout = options.drain_timeout,
                  .tag_filter = options.tags,
                  .tag_mode = options.tag_mode,
                  .clock = options.clock,
                  .on_event = [this](const WorkerEvent& event) { after_activity(event); }}) {
        turn_options.history_version = options.history_version;
        turn_options.history_warning = options.history_warning;
        turn_options.on_nondeterminism = options.on_nondeterminism;
        turn_options.max_attempts = options.max_attempts;
        turn_options.hook = options.on_event;
        dispatcher.on("", [this](TurnContext& turn) { return run_turn(turn); });
    }

    TurnOutcome run_turn(TurnContext& turn);
    TurnOutcome settle(TurnContext& turn, engine::TurnResult result);
    void after_turn(const DispatcherEvent& event);
    void after_activity(const WorkerEvent& event);
    Milliseconds refused(const std::string& instance_id);
    void watch();
    void tell(RuntimeEvent event) const {
        if (options.on_event) {
            options.on_event(event);
        }
    }

    const RuntimeOptions options;
    Registry registry;
    engine::TurnOptions turn_options;
    engine::Cache cache;

    // A turn between its decision and the word about its ack.
    struct Pending {
        std::unique_ptr<engine::Execution> execution;
        engine::StoredFacts stored;
    };
    struct Running {
        SteadyClock::time_point began;
        std::string instance_id;
        std::string name;
        std::string version;
        bool told = false;
    };
    std::mutex mutex;
    std::unordered_map<const TurnContext*, Pending> pending;
    std::unordered_map<const TurnContext*, Running> running;
    std::map<std::string, int> refusals;  // since the last success, by instance
    std::condition_variable watch_again;
    bool stopping = false;
    std::atomic<std::uint64_t> turn_number{0};
    RuntimeStats counters;  // under the mutex

    // Last, so that they end first.
    Dispatcher dispatcher;
    Worker worker;
};

TurnOutcome Runtime::Impl::run_turn(TurnContext& turn) {
    engine::TurnRequest request;
    request.instance_id = turn.instance_id();
    request.execution_id = turn.execution_id();
    request.attempt = turn.attempt();
    request.now_ms = options.clock().value_or(system_now_ms());
    for (const TurnElement& element : turn.history()) {
        request.history.push_back(element.text);
    }
    for (const TurnElement& element : turn.messages()) {
        request.messages.push_back(element.text);
    }
    if (turn.kv_snapshot()) {
        request.values = engine::parse_values(*turn.kv_snapshot());
    }
    {
        const std::lock_guard lock(mutex);
        running.emplace(
            &turn, Running{SteadyClock::now(), turn.instance_id(), turn.name(), turn.version()});
    }
    std::unique_ptr<engine::Execution> live;
    if (!request.history.empty() && !turn.corrupt()) {
        engine::StoredFacts stored;
        stored.execution_id = turn.execution_id();
        stored.last_event_text = std::string(request.history.back());
        stored.last_event_id = event_id_of(request.history.back());
        engine::Miss miss = engine::Miss::kNone;
        live = cache.take(turn.instance_id(), stored, miss);
    } else {
        cache.drop(turn.instance_id());
    }
    engine::TurnOptions options_now = turn_options;
    const auto number = static_cast<double>(turn_number++);
    options_now.verify = std::floor((number + 1) * options.verify_replay) >
                         std::floor(number * options.verify_replay);
    return settle(turn, engine::run_turn(request, registry, options_now, std::move(live)));
}

TurnOutcome Runtime::Impl::settle(TurnContext& turn, engine::TurnResult result) {
    using Kind = engine::TurnResult::Kind;
    const std::string& id = turn.instance_id();
    {
        const std::lock_guard lock(mutex);
        ++counters.turns;
        counters.ended += result.ended;
        counters.events_replayed += result.events_replayed;
        counters.dropped_messages +=
            result.dropped.duplicate + result.dropped.ended + result.dropped.other_execution;
        counters.given_back += result.kind != Kind::kAck;
        counters.nondeterministic +=
            result.kind == Kind::kNondeterministic || result.failed_nondeterministic;
        counters.corrupt += result.kind == Kind::kCorrupt;
    }
    TurnOutcome outcome;
    switch (result.kind) {
        case Kind::kAck:
            if (result.execution && !result.decision.events.empty()) {
                Pending kept;
                kept.stored.execution_id = result.decision.execution_id;
                kept.stored.last_event_id = result.decision.events.back().id;
                kept.stored.last_event_text = result.decision.events.back().text;
                kept.execution = std::move(result.execution);
                const std::lock_guard lock(mutex);
                pending.insert_or_assign(&turn, std::move(kept));
                refusals.erase(id);
            }
            return TurnOutcome::decided(decision_of(std::move(result.decision), id));
        case Kind::kNoHandler:
        case Kind::kNondeterministic:
            outcome = TurnOutcome::retry(refused(id), true);
            break;
        case Kind::kEarly:
            outcome = TurnOutcome::retry(std::chrono::seconds(1), true);
            break;
        case Kind::kCorrupt:
            outcome = TurnOutcome::retry(std::chrono::seconds(1), false);
            break;
    }
    outcome.message = std::move(result.text);
    return outcome;
}

Milliseconds Runtime::Impl::refused(const std::string& instance_id) {
    const std::lock_guard lock(mutex);
    if (refusals.size() > 10000) {
        refusals.clear();  // They begin with one second again.
    }
    const int times = std::min(refusals[instance_id]++, 6);
    return std::min(Milliseconds(std::int64_t{1000} << times), Milliseconds(60000));
}

// Called by the thread that ran the turn, with what came of its ack.
void Runtime::Impl::after_turn(const DispatcherEvent& event) {
    using Kind = DispatcherEvent::Kind;
    if (event.kind == Kind::kFetched || event.kind == Kind::kCorrupt) {
        return;
    }
    Pending kept;
    bool was_slow = false;
    Running ran;
    if (event.turn != nullptr) {
        const std::lock_guard lock(mutex);
        if (const auto found = pending.find(event.turn); found != pending.end()) {
            kept = std::move(found->second);
            pending.erase(found);
        }
        if (const auto found = running.find(event.turn); found != running.end()) {
            ran = std::move(found->second);
            running.erase(found);
            const auto took = SteadyClock::now() - ran.began;
            counters.turn_microseconds += static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::microseconds>(took).count());
            was_slow = took > options.slow_resume;
        }
    }
    if (was_slow) {
        tell({.kind = EventKind::kSlow,
              .instance_id = ran.instance_id,
              .name = ran.name,
              .version = ran.version,
              .text = "a turn took " + std::to_string(event.elapsed.count() / 1000) + " ms"});
    }
    // Only after an ack that is known to have succeeded is the history the coroutine's.
    if (event.kind == Kind::kDecided && kept.execution) {
        for (std::string& id :
             cache.put(std::move(kept.execution), std::move(kept.stored), system_now_ms())) {
            tell({.kind = EventKind::kEvicted, .instance_id = std::move(id)});
        }
    } else if (event.kind != Kind::kDecided && !event.message.empty()) {
        tell({.kind = EventKind::kError, .instance_id = ran.instance_id, .text = event.message});
    }
}

void Runtime::Impl::after_activity(const WorkerEvent& event) {
    if (event.kind == WorkerEvent::Kind::kError || event.kind == WorkerEvent::Kind::kUnknown ||
        event.kind == WorkerEvent::Kind::kNoHandler) {
        tell({.kind = EventKind::kError, .text = event.message});
    }
}

// Tells of turns that hold their thread, and lets idle instances leave memory.
void Runtime::Impl::watch() {
    std::unique_lock lock(mutex);
    const auto pause = std::max(options.blocked_resume / 4, Milliseconds(10));
    while (!watch_again.wait_for(lock, pause, [this] { return stopping; })) {
        std::vector<RuntimeEvent> events;
        for (auto& [turn, ran] : running) {
            if (!ran.told && SteadyClock::now() - ran.began > options.blocked_resume) {
                ran.told = true;
                events.push_back({.kind = EventKind::kBlocked,
                                  .instance_id = ran.instance_id,
                                  .name = ran.name,
                                  .version = ran.version,
                                  .text = "a turn still runs"});
            }
        }
        lock.unlock();
        for (auto& event : events) {
            tell(std::move(event));
        }
        for (auto& id : cache.drop_idle(system_now_ms())) {
            tell({.kind = EventKind::kEvicted, .instance_id = std::move(id)});
        }
        lock.lock();
    }
}

// ---- Runtime. ----

Runtime::Runtime(RuntimeOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Runtime::~Runtime() = default;

Registry& Runtime::registry() {
    return impl_->registry;
}

void Runtime::on_activity(std::string name, Function function) {
    impl_->worker.on(std::move(name), [function = std::move(function)](Activity& activity) {
        try {
            return Outcome::completed(function(activity));
        } catch (const Failure& failure) {
            return Outcome::failed(failure.what(), failure.retryable());
        }
    });
}

void Runtime::run() {
    std::exception_ptr worker_error;
    std::thread watching([this] { impl_->watch(); });
    std::thread working([&] {
        try {
            impl_->worker.run();
        } catch (...) {
            worker_error = std::current_exception();
            impl_->dispatcher.stop();
        }
    });
    std::exception_ptr error;
    try {
        impl_->dispatcher.run();
    } catch (...) {
        error = std::current_exception();
    }
    impl_->worker.stop();
    working.join();
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->stopping = true;
    }
    impl_->watch_again.notify_all();
    watching.join();
    impl_->cache.clear();
    if (error || worker_error) {
        std::rethrow_exception(error ? error : worker_error);
    }
}

void Runtime::stop() noexcept {
    impl_->dispatcher.stop();
    impl_->worker.stop();
}

RuntimeStats Runtime::stats() const {
    RuntimeStats stats;
    {
        const std::lock_guard lock(impl_->mutex);
        stats = impl_->counters;
    }
    const engine::CacheStats cached = impl_->cache.stats();
    stats.cache_hits = cached.hits;
    for (const std::uint64_t misses : cached.misses) {
        stats.cache_misses += misses;
    }
    stats.cache_evictions = cached.evictions;
    stats.cache_bytes = cached.bytes;
    stats.cache_instances = cached.instances;
    return stats;
}

// ---- Instances that were started. ----

std::string detail::wait_for_end(Hub& hub, const std::string& instance_id,
                                 std::optional<Milliseconds> timeout) {
    const auto end = timeout ? SteadyClock::now() + *timeout : SteadyClock::time_point::max();
    for (;;) {
        const auto info = hub.get_instance_info(instance_id);
        if (info && info->status == "Completed") {
            return info->output.value_or("");
        }
        if (info && info->status == "Failed") {
            constexpr std::string_view kCancelled = "canceled: ";
            const std::string output = info->output.value_or("");
            if (output.starts_with(kCancelled)) {
                throw Cancelled(output.substr(kCancelled.size()));
            }
            throw Failure(output, false);
        }
        const auto now = SteadyClock::now();
        if (now >= end) {
            throw Error({.message = "instance \"" + instance_id + "\" has not ended in time",
                         .timed_out = true});
        }
        Milliseconds pause{30000};
        if (timeout) {
            pause = std::min(pause, std::chrono::ceil<Milliseconds>(end - now));
        }
        hub.wait_for_work({"instance:" + instance_id}, pause);
    }
}

}  // namespace belay
