// Durable functions on the client library's Dispatcher and Worker.
#include "runtime_impl.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <thread>

#include <nlohmann/json.hpp>

#include "belay/admin.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;
using EventKind = RuntimeEvent::Kind;
using nlohmann::json;

constexpr std::string_view kSystemActivity = "__duroxide_syscall:";

// Their threads mostly wait for commits, which they share: the more decide at once, the fewer
// commits there are.
int default_executors() {
    constexpr int kLeast = 16;
    return std::max(kLeast, 2 * static_cast<int>(std::thread::hardware_concurrency()));
}

std::uint64_t microseconds_since(SteadyClock::time_point then) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - then).count());
}

engine::CacheLimits limits_of(const RuntimeOptions& options) {
    engine::CacheLimits limits;
    limits.bytes = options.cache_bytes;
    limits.instances = options.cache_instances;
    limits.idle_ms = options.cache_idle.count();
    return limits;
}

DispatcherOptions dispatcher_options(const RuntimeOptions& options) {
    return {.connection = options.connection,
            .hub = options.hub,
            .concurrency = options.executors > 0 ? options.executors : default_executors(),
            .connections = options.connections,
            .lock_timeout = options.lock_timeout,
            .wait_timeout = options.wait_timeout,
            .drain_timeout = options.drain_timeout,
            .clock = options.clock};
}

// One limit for all connections of a runtime, those of system activities included.
RuntimeOptions with_limit(RuntimeOptions options) {
    if (!options.connection.reconnect_limit) {
        options.connection.reconnect_limit = std::make_shared<ReconnectLimit>();
    }
    return options;
}

WorkerOptions worker_options(const RuntimeOptions& options) {
    return {.connection = options.connection,
            .hub = options.hub,
            .concurrency = options.activity_concurrency,
            .connections = options.connections,
            .lease = options.lock_timeout,
            .wait_timeout = options.wait_timeout,
            .drain_timeout = options.drain_timeout,
            .tag_filter = options.tags,
            .tag_mode = options.tag_mode,
            .clock = options.clock};
}

// What the code has decided cannot be stored, now or later: a value that is not allowed, text that
// the server cannot hold, too much of it. Not QB005: then another runtime has gone on.
bool is_refused_for_good(const Error& error) {
    return error.sqlstate() == "QB006" || error.sqlstate().starts_with("22") ||
           error.sqlstate().starts_with("54");
}

// What the server says about the history of the turn; nothing if there is none that can be read.
std::optional<engine::StoredFacts> stored_facts(const TurnContext& turn) {
    if (turn.history_after() > 0) {
        engine::StoredFacts stored;
        stored.execution_id = turn.execution_id();
        stored.last_event_id = turn.last_event_id();
        stored.is_ours = turn.history_after() == turn.last_event_id();
        return stored;
    }
    if (turn.history().empty() || turn.corrupt()) {
        return std::nullopt;
    }
    engine::StoredFacts stored;
    stored.execution_id = turn.execution_id();
    stored.last_event_text = turn.history().back().text;
    try {
        stored.last_event_id = engine::parse_event(stored.last_event_text).id;
    } catch (const engine::Corrupt&) {
        return std::nullopt;  // The turn finds out, too.
    }
    return stored;
}

}  // namespace

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

engine::StoredFacts facts_behind(const engine::TurnDecision& decision) {
    return {.execution_id = decision.execution_id,
            .last_event_id = decision.events.back().id,
            .last_event_text = decision.events.back().text};
}

Runtime::Impl::Impl(RuntimeOptions given)
    : options(with_limit(std::move(given))), cache(limits_of(options)), worker([this] {
          WorkerOptions its_options = worker_options(options);
          its_options.on_event = [this](const WorkerEvent& event) { after_activity(event); };
          return its_options;
      }()) {
    if (options.cache_bytes > 0 && options.cache_instances > 0) {
        std::random_device random;
        cache_owner = "runtime-" + std::to_string(random()) + "-" + std::to_string(random());
    }
    engine::check_history_version(options.history_version);
    turn_options.history_version = options.history_version;
    turn_options.history_warning = options.history_warning;
    turn_options.on_nondeterminism = options.on_nondeterminism;
    turn_options.max_attempts = options.max_attempts;
    turn_options.hook = [this](const RuntimeEvent& event) { tell(event); };
    turn_options.teardown_actions = &teardown_actions;
}

// ---- A turn. ----

engine::TurnRequest Runtime::Impl::request_of(const TurnContext& turn) {
    engine::TurnRequest request;
    request.instance_id = turn.instance_id();
    request.execution_id = turn.execution_id();
    request.attempt = turn.attempt();
    request.now_ms = to_ms(turn.fetched_at().value());
    request.history_omitted = turn.history_after() > 0;
    request.history.reserve(turn.history().size());
    for (const TurnElement& element : turn.history()) {
        request.history.push_back(element.text);
    }
    for (const TurnElement& element : turn.messages()) {
        request.messages.push_back(element.text);
    }
    if (turn.kv_snapshot()) {
        request.values = engine::parse_values(*turn.kv_snapshot());
    }
    return request;
}

TurnOutcome Runtime::Impl::run_turn(TurnContext& turn) {
    note_time(turn);
    engine::TurnOptions its_options = turn_options;
    const auto number = static_cast<double>(turn_number++);
    its_options.verify = std::floor((number + 1) * options.verify_replay) >
                         std::floor(number * options.verify_replay);
    std::unique_ptr<engine::Execution> live;
    if (const auto stored = stored_facts(turn)) {
        engine::Miss miss = engine::Miss::kNone;
        live = cache.take(turn.instance_id(), *stored, miss);
    } else {
        cache.drop(turn.instance_id());
    }
    // The server has omitted what it takes this process to have.
    if (!live || its_options.verify) {
        turn.read_whole_history();
    }
    engine::TurnResult result;
    try {
        result = run_code(turn, std::move(live), its_options);
    } catch (const engine::HistoryNeeded&) {
        turn.read_whole_history();
        result = run_code(turn, nullptr, its_options);
    }
    count(result);
    if (result.kind == engine::TurnResult::Kind::kAck) {
        return ack(turn, std::move(result));
    }
    return give_back(turn, std::move(result));
}

engine::TurnResult Runtime::Impl::run_code(TurnContext& turn,
                                           std::unique_ptr<engine::Execution> live,
                                           const engine::TurnOptions& its_options) {
    return run_code(&turn, request_of(turn),
                    {.instance_id = turn.instance_id(),
                     .execution_id = turn.execution_id(),
                     .name = turn.name(),
                     .version = turn.version()},
                    std::move(live), its_options);
}

engine::TurnResult Runtime::Impl::run_code(const void* turn, engine::TurnRequest request,
                                           Running facts, std::unique_ptr<engine::Execution> live,
                                           const engine::TurnOptions& its_options) {
    const auto began = SteadyClock::now();
    engine::Resumptions resumptions(options.slow_resume);
    request.resumptions = &resumptions;
    facts.resumptions = &resumptions;
    // Leaves the list of what is watched, also if the engine throws.
    struct Watched {
        Impl& impl;
        const void* turn;
        Watched(Impl& of, const void* watched, Running facts) : impl(of), turn(watched) {
            const std::lock_guard lock(impl.mutex);
            impl.running.insert_or_assign(turn, std::move(facts));
        }
        ~Watched() {
            const std::lock_guard lock(impl.mutex);
            impl.running.erase(turn);
        }
    };
    engine::TurnResult result = [&] {
        const Watched watched(*this, turn, std::move(facts));
        return engine::run_turn(request, registry, its_options, std::move(live));
    }();
    const std::lock_guard lock(mutex);
    counters.turn_microseconds += microseconds_since(began);
    code_time += resumptions.total();
    return result;
}

void Runtime::Impl::count(const engine::TurnResult& result) {
    const std::lock_guard lock(mutex);
    ++counters.turns;
    counters.events_replayed += result.events_replayed;
    counters.dropped_duplicate += result.dropped.duplicate;
    counters.dropped_ended += result.dropped.ended;
    counters.dropped_other_execution += result.dropped.other_execution;
    counters.given_back += result.kind != engine::TurnResult::Kind::kAck;
}

// Reports to the server what is in memory after the ack, so that it leaves that out of the next
// turn.
std::string Runtime::Impl::cache_metadata(std::string metadata,
                                          const engine::Execution& execution) const {
    if (cache_owner.empty() || !cache.accepts(execution.bytes()) || !metadata.ends_with('}')) {
        return metadata;
    }
    const std::string field =
        "\"cache\":" + json{{"owner", cache_owner}, {"events", execution.last_event_id()}}.dump();
    metadata.pop_back();
    return metadata + (metadata.ends_with('{') ? "" : ",") + field + "}";
}

TurnOutcome Runtime::Impl::ack(TurnContext& turn, engine::TurnResult result) {
    const std::string& id = turn.instance_id();
    if (result.execution) {
        result.decision.metadata =
            cache_metadata(std::move(result.decision.metadata), *result.execution);
    }
    engine::StoredFacts stored;
    if (!result.decision.events.empty()) {
        stored = facts_behind(result.decision);
    } else if (const auto unchanged = stored_facts(turn)) {
        stored = *unchanged;
    }
    // The next turn of the instance may come, in another thread, before this one knows that its ack
    // has succeeded.
    const engine::Cache::Coming coming(cache, id);
    try {
        turn.ack(decision_of(std::move(result.decision), id));
    } catch (const Error& error) {
        result.execution.reset();
        if (!is_refused_for_good(error)) {
            throw;
        }
        turn.read_whole_history();
        turn.ack(decision_of(engine::failure_of_turn(request_of(turn),
                                                     engine::end_of_infrastructure(
                                                         "ack_orchestration_item", error.what()),
                                                     turn_options, result.version),
                             id));
        tell({.kind = EventKind::kEnded,
              .instance_id = id,
              .execution_id = turn.execution_id(),
              .name = turn.name(),
              .version = turn.version(),
              .text = error.what()});
        return TurnOutcome::settled();
    }
    {
        const std::lock_guard lock(mutex);
        refusals.succeeded(id);
    }
    keep(std::move(result.execution), std::move(stored));
    return TurnOutcome::settled();
}

// Only after an ack that is known to have succeeded is the stored history the coroutine's.
void Runtime::Impl::keep(std::unique_ptr<engine::Execution> execution, engine::StoredFacts stored) {
    if (execution && stored.last_event_id != 0) {
        tell_evicted(cache.put(std::move(execution), std::move(stored), steady_now_ms()));
    }
}

TurnOutcome Runtime::Impl::give_back(const TurnContext& turn, engine::TurnResult result) {
    using Kind = engine::TurnResult::Kind;
    const bool corrupt = result.kind == Kind::kCorrupt;
    const bool grows = result.kind == Kind::kNoHandler || result.kind == Kind::kNondeterministic;
    TurnOutcome outcome =
        TurnOutcome::retry(grows ? refused(turn.instance_id()) : Milliseconds(1000), !corrupt);
    outcome.message = std::move(result.text);
    return outcome;
}

Milliseconds Runtime::Impl::refused(const std::string& instance_id) {
    const std::lock_guard lock(mutex);
    return Milliseconds(refusals.refused(instance_id, steady_now_ms()));
}

// ---- What the loops report. ----

void Runtime::Impl::after_turn(const DispatcherEvent& event) {
    using Kind = DispatcherEvent::Kind;
    if (event.kind == Kind::kError || event.kind == Kind::kUnknown || event.kind == Kind::kLost) {
        RuntimeEvent told_event{.kind = EventKind::kError, .text = event.message};
        if (event.turn != nullptr) {
            told_event.instance_id = event.turn->instance_id();
            told_event.execution_id = event.turn->execution_id();
            told_event.name = event.turn->name();
            told_event.version = event.turn->version();
        }
        tell(told_event);
    }
    if (options.on_turn) {
        options.on_turn(event);
    }
}

void Runtime::Impl::after_activity(const WorkerEvent& event) {
    using Kind = WorkerEvent::Kind;
    if (event.kind == Kind::kError || event.kind == Kind::kUnknown ||
        event.kind == Kind::kNoHandler) {
        RuntimeEvent told_event{.kind = EventKind::kError, .text = event.message};
        if (event.task != nullptr) {
            told_event.instance_id = event.task->instance().value_or("");
            told_event.execution_id = event.task->execution_id().value_or(0);
        }
        tell(told_event);
    }
    if (options.on_activity) {
        options.on_activity(event);
    }
}

// Reports code that holds its thread, and lets idle instances leave memory.
void Runtime::Impl::watch() {
    std::unique_lock lock(mutex);
    const auto pause = std::max(options.blocked_resume / 4, Milliseconds(10));
    while (!watch_again.wait_for(lock, pause, [this] { return watch_ends; })) {
        std::vector<RuntimeEvent> events;
        for (auto& [turn, ran] : running) {
            const auto now = ran.resumptions->running();
            if (now && now->began != ran.reported && now->lasts > options.blocked_resume) {
                ran.reported = now->began;
                events.push_back(
                    {.kind = EventKind::kBlocked,
                     .instance_id = ran.instance_id,
                     .execution_id = ran.execution_id,
                     .name = ran.name,
                     .version = ran.version,
                     .event_id = now->last_event_id,
                     .text = "the code has held its thread for " +
                             std::to_string(
                                 std::chrono::duration_cast<Milliseconds>(now->lasts).count()) +
                             " ms"});
            }
        }
        refusals.forget_old(steady_now_ms());
        lock.unlock();
        for (const auto& event : events) {
            tell(event);
        }
        tell_evicted(cache.drop_idle(steady_now_ms()));
        lock.lock();
    }
}

// ---- The beginning. ----

bool Runtime::Impl::shares_slots() {
    if (options.share_slots) {
        return *options.share_slots;
    }
    Connection connection(options.connection);
    for (const HubOption& option : Admin(connection).hub_options(options.hub)) {
        if (option.option == "slot_count") {
            return option.value != "1";
        }
    }
    return false;
}

void Runtime::Impl::make_dispatcher() {
    DispatcherOptions its_options = dispatcher_options(options);
    its_options.share_slots = shares_slots();
    if (!its_options.share_slots && !cache_owner.empty()) {
        tell({.kind = EventKind::kSlotsNotShared,
              .text = "turns of an instance may go to any process: with several, instances in "
                      "memory are of little use; see share_slots"});
    }
    if (options.only_registered_names) {
        its_options.names = registry.names();
    }
    if (!cache_owner.empty()) {
        its_options.cache_owner = cache_owner;
    }
    its_options.on_event = [this](const DispatcherEvent& event) { after_turn(event); };
    if (options.run_ahead && !cache_owner.empty() && !options.on_turn &&
        options.verify_replay <= 0) {
        its_options.predict = [this](const ActivityCompletion& completion) {
            return predict(completion);
        };
    }
    dispatcher.emplace(std::move(its_options));
    dispatcher->on("", [this](TurnContext& turn) { return run_turn(turn); });
    dispatching = &*dispatcher;
    if (stopping) {
        dispatcher->stop();  // stop() came before it could see the dispatcher.
    }
}

void Runtime::Impl::serve_system_activities() {
    pool.emplace(options.connection, 1);
    const std::string prefix(kSystemActivity);
    worker.on_activity(prefix + "utc_now_ms", [this](Task&) {
        if (const auto now = options.clock()) {
            return completed_text(std::to_string(to_ms(*now)));
        }
        auto connection = pool->take();
        return completed_text(
            connection
                ->exec("SELECT floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)"
                       "::bigint::text")
                .get<std::string>(0, 0));
    });
    worker.on_activity(prefix + "new_guid", [this](Task&) {
        auto connection = pool->take();
        return completed_text(
            connection->exec("SELECT pg_catalog.gen_random_uuid()::text").get<std::string>(0, 0));
    });
    worker.on_activity(prefix + "get_kv_value", [this](Task& task) {
        const json& input = task.payload();
        if (!input.is_object() || !input.contains("instance_id") || !input.contains("key") ||
            !input["instance_id"].is_string() || !input["key"].is_string()) {
            return failed("the input has to be an object with instance_id and key",
                          FailureClass::kPermanent);
        }
        auto connection = pool->take();
        Hub hub(*connection, options.hub, options.clock);
        const OptionalText value = hub.orchestrations().value(
            input["instance_id"].get<std::string>(), input["key"].get<std::string>());
        return value ? completed(json(*value)) : completed();
    });
    has_activities = true;
}

// ---- Runtime. ----

Runtime::Runtime(RuntimeOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
    if (impl_->options.serve_system_activities) {
        impl_->serve_system_activities();
    }
}

Runtime::~Runtime() = default;

Registry& Runtime::registry() {
    return impl_->registry;
}

void Runtime::on_activity(std::string name, Function function) {
    impl_->has_activities = true;
    impl_->worker.on_activity(std::move(name), [function = std::move(function)](Task& task) {
        try {
            return completed_text(function(task, task.payload_text()));
        } catch (const Failure& failure) {
            return failed(failure.what(), failure.retryable() ? FailureClass::kTransient
                                                              : FailureClass::kPermanent);
        }
    });
}

void Runtime::run() {
    if (impl_->has_run.exchange(true)) {
        throw std::logic_error("a runtime runs once; make another one");
    }
    const bool has_orchestrations = !impl_->registry.names().empty();
    if (!has_orchestrations && !impl_->has_activities) {
        throw std::logic_error("a runtime needs an orchestration or an activity");
    }
    if (has_orchestrations) {
        impl_->make_dispatcher();
    }
    if (has_orchestrations && impl_->has_activities) {
        impl_->dispatcher->share_calls_with(impl_->worker);
    }
    std::thread watching([this] { impl_->watch(); });
    std::exception_ptr worker_error;
    std::thread working;
    if (impl_->has_activities) {
        working = std::thread([&] {
            try {
                impl_->worker.run();
            } catch (...) {
                worker_error = std::current_exception();
                stop();
            }
        });
    }
    std::exception_ptr error;
    if (has_orchestrations) {
        try {
            impl_->dispatcher->run();
        } catch (...) {
            error = std::current_exception();
        }
        stop();
    }
    if (working.joinable()) {
        working.join();
    }
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->watch_ends = true;
    }
    impl_->watch_again.notify_all();
    watching.join();
    impl_->cache.clear();
    if (error || worker_error) {
        std::rethrow_exception(error ? error : worker_error);
    }
}

void Runtime::stop() noexcept {
    impl_->stopping = true;
    if (Dispatcher* const dispatcher = impl_->dispatching) {
        dispatcher->stop();
    }
    impl_->worker.stop();
}

RuntimeStats Runtime::stats() const {
    using engine::Miss;
    RuntimeStats stats;
    {
        const std::lock_guard lock(impl_->mutex);
        stats = impl_->counters;
        stats.code_microseconds = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(impl_->code_time).count());
    }
    const engine::CacheStats cached = impl_->cache.stats();
    const auto misses = [&](Miss miss) { return cached.misses[static_cast<std::size_t>(miss)]; };
    stats.cache_hits = cached.hits;
    stats.cache_absent = misses(Miss::kAbsent);
    stats.cache_other_event = misses(Miss::kEvent);
    stats.cache_other_execution = misses(Miss::kExecution);
    stats.cache_other_life = misses(Miss::kLife);
    stats.cache_misses = stats.cache_absent + stats.cache_other_event +
                         stats.cache_other_execution + stats.cache_other_life;
    stats.round_trips = impl_->worker.round_trips();
    if (const Dispatcher* const dispatcher = impl_->dispatching) {
        stats.turn_round_trips = dispatcher->round_trips();
        stats.round_trips += stats.turn_round_trips;
    }
    stats.teardown_actions = impl_->teardown_actions;
    stats.cache_evictions = cached.evictions;
    stats.cache_bytes = cached.bytes;
    stats.cache_instances = cached.instances;
    for (std::size_t kind = 0; kind < stats.events.size(); ++kind) {
        stats.events[kind] = impl_->told[kind];
    }
    return stats;
}

}  // namespace belay
