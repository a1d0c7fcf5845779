// Durable functions without a database: World runs them in a hub in memory, Replayer runs them
// against histories.
//
//     belay::testing::World world;
//     world.on(approval, &approve);
//     auto started = world.start(approval, order);
//     EXPECT_EQ(started.result(), "expired");        // three days later, at once
//
// Works with any test framework: failures are exceptions and reports.
//
// Thread-safety: a World or a Replayer is used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/durable.hpp"
#include "belay/durable/hook.hpp"
#include "belay/durable/registrar.hpp"

namespace belay::testing {

// What the function of an activity may ask.
struct Activity {
    std::string name;
    std::string instance_id;
    std::int64_t execution_id = 0;
    std::int64_t id = 0;
    int attempt = 1;
    OptionalText tag = {};
    OptionalText session = {};
};

// How an instance looks from outside.
struct InstanceState {
    std::string status;  // Running, Completed, Failed or ContinuedAsNew; "" before the first turn
    std::string output;
    std::string details;  // JSON, as Failure::details(); "" unless it has failed
    OptionalText custom_status;
    std::int64_t execution_id = 1;
    std::string name;
    std::string version;
    OptionalText parent;
};

struct WorldStats {
    std::uint64_t turns = 0;
    std::uint64_t activities = 0;
    std::uint64_t cache_hits = 0;
    std::uint64_t events_replayed = 0;
    std::uint64_t dropped_other_execution = 0;
    std::uint64_t dropped_duplicate = 0;
    std::uint64_t dropped_ended = 0;
    std::uint64_t given_back = 0;
    std::uint64_t teardown_actions = 0;  // of destructors, when instances left memory: ignored
};

enum class CacheMode {
    kRandom,  // instances leave memory at random, so that some turns replay and some do not
    kOn,
    kOff,
};

class World;

// An instance that was started in a World.
template <class T>
class Started {
 public:
    Started(World& world, std::string id) : world_(&world), id_(std::move(id)) {}

    const std::string& instance_id() const { return id_; }
    // Runs the world, through time, until the instance has ended. Throws Failure if it has failed,
    // and std::logic_error if nothing can happen any more.
    T result();
    InstanceState state() const;
    void cancel(std::string reason);

 private:
    World* world_;
    std::string id_;
};

// on() comes from Registrar.
class World : public belay::detail::Registrar<Activity> {
 public:
    // The seed permutes the order of what could run at the same time; 0 keeps the order in which
    // it became ready.
    explicit World(std::uint64_t seed = 0);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // Another program takes over: other orchestrations, and nothing in memory.
    void deploy(Registry registry);

    template <class O, class I, class A>
    requires belay::detail::InputOf<A, I> Started<O> start(const OrchestrationOf<O(I)>& name,
                                                           A&& input, std::string id = {},
                                                           OptionalText version = {}) {
        return Started<O>(*this,
                          start_text(name.name, belay::detail::encode<I>(std::forward<A>(input)),
                                     std::move(id), std::move(version)));
    }
    template <class O>
    Started<O> start(const OrchestrationOf<O()>& name, std::string id = {}) {
        return Started<O>(*this, start_text(name.name, {}, std::move(id), {}));
    }
    std::string start_text(std::string name, std::string input, std::string id,
                           OptionalText version);

    template <class T>
    void raise(const std::string& instance, const std::string& event, const T& data) {
        raise_text(instance, event, belay::detail::encode<T>(data));
    }
    template <class T>
    void enqueue(const std::string& instance, const std::string& queue, const T& data) {
        enqueue_text(instance, queue, belay::detail::encode<T>(data));
    }
    void raise_text(const std::string& instance, const std::string& event, const std::string& data);
    void enqueue_text(const std::string& instance, const std::string& queue,
                      const std::string& data);
    void cancel(const std::string& instance, const std::string& reason);
    // Any item, as JSON.
    void send(std::string item);

    // ---- Time. It stands still while anything can run, then jumps to what is due next. ----

    // Until nothing can happen any more.
    void run();
    // What can run now; time stands still.
    void settle();
    // One turn or one activity; false if none can run now.
    bool step();
    // Until the instance has ended; false if nothing can happen before that.
    bool run_until_ended(const std::string& instance);
    TimePoint now() const;
    // No jumps but those of advance().
    void manual_time();
    void advance(Milliseconds duration);
    // Called by an activity: it takes so long.
    void sleep(Milliseconds duration);

    // ---- Faults. ----

    void crash();  // all memory is lost, the hub is kept
    void fail_ack_once();
    void duplicate_next_message();
    void reorder_messages(std::uint64_t seed);

    // ---- Settings. ----

    void cache(CacheMode mode);
    // Every turn is replayed and compared; on unless it is turned off.
    void verify_replay(bool verify);
    // What goes wrong with an instance (no handler, nondeterminism, corruption) is returned, as a
    // Runtime does, instead of being thrown.
    void keep_going();
    void fail_on_nondeterminism();
    void on_event(RuntimeHook hook);
    void history_warning(std::int64_t events);

    // ---- What is there. ----

    InstanceState state(const std::string& instance) const;
    std::optional<std::string> value(const std::string& instance, const std::string& key) const;
    std::vector<std::string> instances() const;
    // The file that Replayer reads: an execution, the current one if it is 0.
    std::string history(const std::string& instance, std::int64_t execution = 0) const;
    std::vector<std::string> events(const std::string& instance, std::int64_t execution = 0) const;
    // What the code of an instance awaits, in words; "" if nothing.
    std::string waits_for(const std::string& instance) const;
    // Replays every history. For every prefix of each: replays it, and destroys the frames. With
    // AddressSanitizer this finds mistakes of code and compiler. Throws Nondeterminism.
    void torture();
    WorldStats stats() const;

    void on_activity(std::string name, Function function) override;

 private:
    Registry& registry() override;

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// Throws what the instance has failed with.
[[noreturn]] void throw_end(const InstanceState& state);

template <class T>
T Started<T>::result() {
    if (!world_->run_until_ended(id_)) {
        const std::string what = world_->waits_for(id_);
        throw std::logic_error("instance \"" + id_ + "\" waits" +
                               (what.empty() ? std::string() : " for " + what) +
                               ", and nothing can happen any more");
    }
    const InstanceState end = world_->state(id_);
    if (end.status != "Completed") {
        throw_end(end);
    }
    return belay::detail::decode<T>(end.output, "output of the orchestration");
}

template <class T>
InstanceState Started<T>::state() const {
    return world_->state(id_);
}

template <class T>
void Started<T>::cancel(std::string reason) {
    world_->cancel(id_, reason);
}

// ---- Replays. ----

struct ReplayReport {
    bool ok = false;
    std::string text = {};                // what differs; or why the input cannot be read
    std::int64_t event_id = 0;            // where
    std::string waiting_for = {};         // what the code waits for at the end
    std::vector<std::int64_t> open = {};  // events of calls without an outcome
    bool ended = false;
    std::size_t events = 0;
};

// Runs the registered code against stored histories. Throws nothing; stores nothing.
class Replayer {
 public:
    template <class O, class R, class... I>
    requires belay::detail::Implements<R, O>
    void on(const OrchestrationOf<O(I...)>& name, Durable<R> (*code)(Context, I...),
            OrchestrationOptions options = {}) {
        registry_.on(name, code, std::move(options));
    }
    Registry& registry() { return registry_; }
    // Changed delays of timers, status texts and outputs are differences, too.
    void strict() { strict_ = true; }

    // An array of events, a dump of fetch_history, or {"history": [...], "messages": [...],
    // "kv_snapshot": {...}}.
    ReplayReport replay(std::string_view json) const;
    ReplayReport replay_file(const std::string& path) const;
    // Every prefix of it; see World::torture.
    ReplayReport torture(std::string_view json) const;

 private:
    Registry registry_;
    bool strict_ = false;
};

}  // namespace belay::testing
