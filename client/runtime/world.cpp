// World: orchestrations and activities against a hub in memory, step by step, with faults on
// request.
//
// May touch: its own memory. Must not: use real time, threads or a connection: a test gives the
// same result each time.
#include <algorithm>
#include <stdexcept>

#include "belay/testing.hpp"
#include "cache.hpp"
#include "memory_hub.hpp"
#include "refusals.hpp"
#include "replayer.hpp"

namespace belay::testing {
namespace {

using engine::HubInstance;
using engine::HubMessage;
using engine::HubWork;
using engine::ObjectWriter;

constexpr int kMaxActivityAttempts = 5;

std::string item(std::string_view kind, ObjectWriter& fields) {
    return ObjectWriter().raw(kind, fields.take()).take();
}

std::string completion_of(const HubWork& work, std::string_view kind, std::string_view field,
                          const std::string& json) {
    ObjectWriter fields;
    fields.string("instance", work.instance).number("execution_id", work.execution_id);
    fields.number("id", work.activity_id).raw(field, json);
    return item(kind, fields);
}

std::string quoted(const std::string& text) {
    std::string json;
    engine::append_string(json, text);
    return json;
}

}  // namespace

struct World::Impl {
    explicit Impl(std::uint64_t seed) : hub(seed) {}

    engine::MemoryHub hub;
    std::atomic<std::uint64_t> teardown_actions{0};  // before what holds executions
    std::unique_ptr<Registry> registry = std::make_unique<Registry>();
    std::map<std::string, Function> functions;
    engine::Cache cache{engine::CacheLimits()};
    CacheMode mode = CacheMode::kRandom;
    engine::TurnOptions options;
    bool keep_going = false;
    bool manual_time = false;
    bool fail_ack = false;
    std::uint64_t started = 0;
    engine::Refusals refusals;
    std::optional<Milliseconds> slept;  // by the activity that runs
    WorldStats stats;

    void turn(HubInstance& instance);
    void settle_turn(HubInstance& instance, const std::vector<HubMessage>& batch,
                     engine::TurnResult result);
    void give_back(HubInstance& instance, const std::vector<HubMessage>& batch,
                   const engine::TurnResult& result);
    void activity(const std::shared_ptr<HubWork>& work);
    void run_function(const std::shared_ptr<HubWork>& work, Function& function);
    engine::StoredFacts stored_facts(HubInstance& instance, std::int64_t execution) const;
    bool jump();
    const HubInstance& existing(const std::string& id);
    std::vector<engine::RecordedExecution> recorded(const HubInstance& instance) const;
};

const HubInstance& World::Impl::existing(const std::string& id) {
    const HubInstance* const found = hub.find(id);
    if (found == nullptr) {
        throw std::logic_error("there is no instance \"" + id + "\"");
    }
    return *found;
}

// Its executions, with the values at the beginning of each.
std::vector<engine::RecordedExecution> World::Impl::recorded(const HubInstance& instance) const {
    std::vector<engine::RecordedExecution> executions;
    for (const auto& [execution, events] : instance.executions) {
        engine::RecordedExecution recorded;
        recorded.instance_id = instance.id;
        recorded.execution_id = execution;
        for (const engine::HubEvent& event : events) {
            recorded.events.push_back(event.text);
        }
        executions.push_back(std::move(recorded));
    }
    engine::chain_values(executions, {});
    return executions;
}

// ---- Turns. ----

engine::StoredFacts World::Impl::stored_facts(HubInstance& instance, std::int64_t execution) const {
    engine::StoredFacts facts;
    facts.execution_id = execution;
    const auto found = instance.executions.find(execution);
    if (found != instance.executions.end() && !found->second.empty()) {
        facts.last_event_id = found->second.back().id;
        facts.last_event_text = found->second.back().text;
    }
    return facts;
}

void World::Impl::turn(HubInstance& instance) {
    std::vector<HubMessage> batch;
    if (!hub.fetch(instance, batch)) {
        return;
    }
    ++stats.turns;
    if (mode == CacheMode::kOff || (mode == CacheMode::kRandom && hub.random()() % 4 == 0)) {
        cache.drop(instance.id);
    }
    engine::TurnRequest request;
    request.instance_id = instance.id;
    request.execution_id = instance.current;
    request.now_ms = hub.now_ms();
    request.values = instance.values;
    for (const engine::HubEvent& event : instance.executions[instance.current]) {
        request.history.push_back(event.text);
    }
    if (request.history.empty()) {
        instance.executions.erase(instance.current);
    }
    for (const HubMessage& message : batch) {
        request.messages.push_back(message.text);
        request.attempt = std::max(request.attempt, message.attempt);
    }
    engine::Miss miss = engine::Miss::kNone;
    auto live = cache.take(instance.id, stored_facts(instance, instance.current), miss);
    stats.cache_hits += live != nullptr;
    engine::TurnResult result = engine::run_turn(request, *registry, options, std::move(live));
    stats.events_replayed += result.events_replayed;
    stats.dropped_duplicate += result.dropped.duplicate;
    stats.dropped_ended += result.dropped.ended;
    stats.dropped_other_execution += result.dropped.other_execution;
    settle_turn(instance, batch, std::move(result));
}

void World::Impl::settle_turn(HubInstance& instance, const std::vector<HubMessage>& batch,
                              engine::TurnResult result) {
    if (result.kind != engine::TurnResult::Kind::kAck) {
        give_back(instance, batch, result);
        return;
    }
    if (std::exchange(fail_ack, false)) {
        result.execution.reset();
        hub.give_back(instance, batch, 0, true);
        return;
    }
    refusals.succeeded(instance.id);
    hub.ack(instance, batch, result.decision);
    if (result.execution) {
        cache.put(std::move(result.execution), stored_facts(instance, result.decision.execution_id),
                  hub.now_ms());
    }
}

void World::Impl::give_back(HubInstance& instance, const std::vector<HubMessage>& batch,
                            const engine::TurnResult& result) {
    using Kind = engine::TurnResult::Kind;
    ++stats.given_back;
    if (!keep_going && result.kind == Kind::kNondeterministic) {
        throw Nondeterminism(result.text, result.event_id);
    }
    if (!keep_going && result.kind != Kind::kEarly) {
        throw std::logic_error("instance \"" + instance.id + "\": " + result.text);
    }
    std::int64_t delay = 1000;
    if (result.kind == Kind::kNoHandler || result.kind == Kind::kNondeterministic) {
        delay = refusals.refused(instance.id, hub.now_ms());
    }
    hub.give_back(instance, batch, delay, result.kind == Kind::kCorrupt);
}

// ---- Activities. ----

void World::Impl::run_function(const std::shared_ptr<HubWork>& work, Function& function) {
    Activity activity{.name = work->name,
                      .instance_id = work->instance,
                      .execution_id = work->execution_id,
                      .id = work->activity_id,
                      .attempt = ++work->attempt,
                      .tag = work->tag,
                      .session = work->session};
    slept = Milliseconds(0);
    work->retry = false;
    std::int64_t delay = 0;
    try {
        const std::string result = function(activity, work->input);
        work->completion = completion_of(*work, "ActivityCompleted", "result", quoted(result));
    } catch (const Failure& failure) {
        work->completion =
            completion_of(*work, "ActivityFailed", "details",
                          engine::activity_details(failure.what(), failure.retryable()));
    } catch (const std::exception& error) {
        if (work->attempt >= kMaxActivityAttempts) {
            work->completion = completion_of(*work, "ActivityFailed", "details",
                                             engine::activity_details(error.what(), false));
        } else {
            work->retry = true;
            delay = std::int64_t{1000} << (work->attempt - 1);
        }
    }
    delay += slept->count();
    slept.reset();
    hub.delay(work, hub.now_ms() + delay);
}

void World::Impl::activity(const std::shared_ptr<HubWork>& work) {
    if (work->cancelled) {
        return;
    }
    if (work->completion && !work->retry) {
        hub.delay(work, hub.now_ms());  // It took its time, and is done.
        return;
    }
    const auto found = functions.find(work->name);
    if (found == functions.end()) {
        throw std::logic_error("activity \"" + work->name + "\" has no function in this World");
    }
    ++stats.activities;
    run_function(work, found->second);
}

bool World::Impl::jump() {
    if (manual_time) {
        return false;
    }
    const auto due = hub.next_due();
    if (!due) {
        return false;
    }
    hub.set_now(*due);
    return true;
}

// ---- World. ----

World::World(std::uint64_t seed) : impl_(std::make_unique<Impl>(seed)) {
    impl_->options.verify = true;
    impl_->options.teardown_actions = &impl_->teardown_actions;
}

World::~World() = default;

Registry& World::registry() {
    return *impl_->registry;
}

void World::deploy(Registry registry) {
    crash();
    impl_->registry = std::make_unique<Registry>(std::move(registry));
}

void World::on_activity(std::string name, Function function) {
    impl_->functions[std::move(name)] = std::move(function);
}

std::string World::start_text(std::string name, std::string input, std::string id,
                              OptionalText version) {
    if (id.empty()) {
        id = "instance-" + std::to_string(++impl_->started);
    }
    ObjectWriter fields;
    fields.string("instance", id).string("orchestration", name).string("input", input);
    fields.string_or_null("version", version);
    fields.raw("parent_instance", "null").raw("parent_id", "null").number("execution_id", 1);
    impl_->hub.send(item("StartOrchestration", fields));
    return id;
}

void World::raise_text(const std::string& instance, const std::string& event,
                       const std::string& data) {
    ObjectWriter fields;
    fields.string("instance", instance).string("name", event).string("data", data);
    impl_->hub.send(item("ExternalRaised", fields));
}

void World::enqueue_text(const std::string& instance, const std::string& queue,
                         const std::string& data) {
    ObjectWriter fields;
    fields.string("instance", instance).string("name", queue).string("data", data);
    impl_->hub.send(item("QueueMessage", fields));
}

void World::cancel(const std::string& instance, const std::string& reason) {
    ObjectWriter fields;
    fields.string("instance", instance).string("reason", reason);
    impl_->hub.send(item("CancelInstance", fields));
}

void World::send(std::string item) {
    impl_->hub.send(std::move(item));
}

bool World::step() {
    const auto next = impl_->hub.next();
    if (!next) {
        return false;
    }
    if (next->instance != nullptr) {
        impl_->turn(*next->instance);
    } else {
        impl_->activity(next->work);
    }
    return true;
}

void World::settle() {
    while (step()) {
    }
}

void World::run() {
    do {
        settle();
    } while (impl_->jump());
}

bool World::run_until_ended(const std::string& instance) {
    for (;;) {
        const HubInstance* const found = impl_->hub.find(instance);
        if (found != nullptr && (found->status == "Completed" || found->status == "Failed")) {
            return true;
        }
        if (!step() && !impl_->jump()) {
            return false;
        }
    }
}

TimePoint World::now() const {
    return TimePoint(Milliseconds(impl_->hub.now_ms()));
}

void World::manual_time() {
    impl_->manual_time = true;
}

void World::advance(Milliseconds duration) {
    const std::int64_t end = impl_->hub.now_ms() + duration.count();
    settle();
    for (auto due = impl_->hub.next_due(); due && *due <= end; due = impl_->hub.next_due()) {
        impl_->hub.set_now(*due);
        settle();
    }
    impl_->hub.set_now(end);
    settle();
}

void World::sleep(Milliseconds duration) {
    if (!impl_->slept) {
        throw std::logic_error("World::sleep is called by activities");
    }
    *impl_->slept += duration;
}

void World::crash() {
    impl_->cache.clear();
}

void World::fail_ack_once() {
    impl_->fail_ack = true;
}

void World::duplicate_next_message() {
    impl_->hub.duplicate_next();
}

void World::reorder_messages(std::uint64_t seed) {
    impl_->hub.reorder(seed);
}

void World::cache(CacheMode mode) {
    impl_->mode = mode;
}

void World::verify_replay(bool verify) {
    impl_->options.verify = verify;
}

void World::keep_going() {
    impl_->keep_going = true;
}

void World::fail_on_nondeterminism() {
    impl_->options.on_nondeterminism = OnNondeterminism::kFail;
}

void World::on_event(RuntimeHook hook) {
    impl_->options.hook = std::move(hook);
}

void World::history_warning(std::int64_t events) {
    impl_->options.history_warning = events;
}

InstanceState World::state(const std::string& instance) const {
    const HubInstance& found = impl_->existing(instance);
    return {.status = found.status,
            .output = found.output.value_or(""),
            .details = found.status == "Failed" ? engine::details_of_end(events(instance, 0))
                                                : std::string(),
            .custom_status = found.custom_status,
            .execution_id = found.current,
            .name = found.name,
            .version = found.version,
            .parent = found.parent};
}

std::optional<std::string> World::value(const std::string& instance, const std::string& key) const {
    const HubInstance* const found = impl_->hub.find(instance);
    if (found == nullptr) {
        return std::nullopt;
    }
    if (const auto delta = found->delta.find(key); delta != found->delta.end()) {
        return delta->second;
    }
    const auto stored = found->values.find(key);
    return stored == found->values.end() ? std::nullopt : std::optional(stored->second);
}

std::vector<std::string> World::instances() const {
    std::vector<std::string> ids;
    for (const auto& [id, instance] : impl_->hub.instances()) {
        ids.push_back(id);
    }
    return ids;
}

std::vector<std::string> World::events(const std::string& instance, std::int64_t execution) const {
    const HubInstance& found = impl_->existing(instance);
    std::vector<std::string> texts;
    const auto events = found.executions.find(execution == 0 ? found.current : execution);
    if (events != found.executions.end()) {
        for (const engine::HubEvent& event : events->second) {
            texts.push_back(event.text);
        }
    }
    return texts;
}

std::string World::history(const std::string& instance, std::int64_t execution) const {
    const HubInstance& found = impl_->existing(instance);
    const std::int64_t wanted = execution == 0 ? found.current : execution;
    for (const engine::RecordedExecution& recorded : impl_->recorded(found)) {
        if (recorded.execution_id == wanted) {
            return engine::recorded_text(recorded);
        }
    }
    throw std::logic_error("instance \"" + instance + "\" has no execution " +
                           std::to_string(wanted));
}

std::string World::waits_for(const std::string& instance) const {
    const HubInstance* const found = impl_->hub.find(instance);
    if (found == nullptr || found->executions.empty()) {
        return {};
    }
    return engine::waiting_for(impl_->recorded(*found).back(), *impl_->registry);
}

void World::torture() {
    for (const auto& [id, instance] : impl_->hub.instances()) {
        for (const engine::RecordedExecution& recorded : impl_->recorded(*instance)) {
            engine::torture(recorded, *impl_->registry);
        }
    }
}

WorldStats World::stats() const {
    WorldStats stats = impl_->stats;
    stats.teardown_actions = impl_->teardown_actions;
    return stats;
}

void throw_end(const InstanceState& state) {
    belay::detail::throw_end(state.output, state.details);
}

}  // namespace belay::testing
