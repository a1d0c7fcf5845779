// Runs durable functions and their activities against a hub.
//
//     belay::Runtime runtime({.connection = {.conninfo = "dbname=shop"}, .hub = "app"});
//     runtime.on(hello, &say_hello);
//     runtime.on(greet, [](std::string name) { return "Hello " + name; });
//     runtime.run();  // until runtime.stop()
//
//     belay::start(hub, hello, std::string("world")).wait();
//
// Threads. `executors` threads run turns, `activity_concurrency` threads run activities; each kind
// has a loop that fetches and a thread that renews leases, as Dispatcher and Worker have. One more
// thread watches turns that take long.
//
// Instances stay in memory between turns, so that a turn does not replay the history (see
// cache_bytes). With several processes, share_slots keeps an instance with one of them.
//
// Thread-safety: on() is called before run(). stop() may be called by any thread and by a signal
// handler. Activities and the hook are called by several threads at once; the code of one instance
// by one thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/dispatcher.hpp"
#include "belay/durable.hpp"
#include "belay/durable/hook.hpp"
#include "belay/durable/registrar.hpp"
#include "belay/worker.hpp"

namespace belay {

struct RuntimeOptions {
    ConnectionOptions connection = {};
    std::string hub;
    int executors = 0;    // 0: twice the number of cores, and at least 16
    int connections = 2;  // of turns, and as many of activities
    int activity_concurrency = 8;
    std::optional<std::vector<std::string>> tags = {};
    TagMode tag_mode = TagMode::kDefaultOnly;
    Milliseconds lock_timeout{30000};
    Milliseconds wait_timeout{30000};
    Milliseconds drain_timeout{30000};
    // Fetch only turns of the orchestrations that are registered: those of other applications on
    // the hub are neither leased nor delayed by this runtime. Every fetch passes over theirs that
    // are due. Otherwise an orchestration that is not registered is released with a delay.
    bool only_registered_names = false;
    // Share the slots of the hub with the other runtimes, so that the turns of an instance come to
    // one process. None: if the hub's slot_count is above 1.
    std::optional<bool> share_slots = {};
    std::string history_version = "0.1.30";  // three numbers
    std::int64_t history_warning = 10000;
    std::size_t cache_bytes = std::size_t{256} << 20;  // 0: every turn replays
    std::size_t cache_instances = 10000;
    Milliseconds cache_idle{600000};  // 0: an instance leaves after each turn, as tests want it
    // Code that holds its thread for longer, from one suspension to the next, is reported: as kSlow
    // after that, as kBlocked while it still does.
    Milliseconds slow_resume{200};
    Milliseconds blocked_resume{2000};
    OnNondeterminism on_nondeterminism = OnNondeterminism::kBlock;
    int max_attempts = 10;     // of a turn whose history or messages cannot be read
    double verify_replay = 0;  // part of the turns that are replayed and compared
    // Run the turn behind an activity before the outcome of that is settled, if it is the only
    // thing that an instance in memory waits for, and commit both together. If the server knows
    // better, the turn is run again, and hooks learn of what it does twice. Not with on_turn or
    // verify_replay, which are about turns that were leased.
    bool run_ahead = true;
    // Serve the activities "__duroxide_syscall:utc_now_ms", "__duroxide_syscall:new_guid" and
    // "__duroxide_syscall:get_kv_value", which orchestrations of duroxide applications call.
    bool serve_system_activities = false;
    Clock clock = server_clock();
    RuntimeHook on_event = {};
    std::function<void(const DispatcherEvent&)> on_turn = {};
    std::function<void(const WorkerEvent&)> on_activity = {};
};

struct RuntimeStats {
    std::uint64_t turns = 0;
    std::uint64_t given_back = 0;
    std::uint64_t turns_ahead = 0;    // run before they were leased: committed, and part of turns
    std::uint64_t ahead_refused = 0;  // not committed
    std::uint64_t dropped_other_execution = 0;  // messages
    std::uint64_t dropped_duplicate = 0;
    std::uint64_t dropped_ended = 0;
    std::uint64_t events_replayed = 0;
    std::uint64_t turn_microseconds = 0;  // in the code and in the engine
    std::uint64_t code_microseconds = 0;  // in the code alone
    // Waits for the server, on all connections; known when run() has returned.
    std::uint64_t round_trips = 0;
    std::uint64_t turn_round_trips = 0;  // the part of them that is not of activities
    // Turns whose code differed from their history, by name and version of the orchestration.
    std::map<std::pair<std::string, std::string>, std::uint64_t> nondeterministic = {};
    std::uint64_t cache_hits = 0;
    std::uint64_t cache_misses = 0;           // the sum of:
    std::uint64_t cache_absent = 0;           // it never was in the cache, or has left
    std::uint64_t cache_other_event = 0;      // another process has had a turn
    std::uint64_t cache_other_execution = 0;  // the instance has continued as new
    std::uint64_t cache_other_life = 0;       // it was deleted and made again under its id
    std::uint64_t cache_evictions = 0;
    std::size_t cache_bytes = 0;
    std::size_t cache_instances = 0;
    // What destructors asked for or dropped when instances left memory: it is ignored.
    std::uint64_t teardown_actions = 0;

    // How often an event was reported to the hook.
    std::uint64_t of(RuntimeEvent::Kind kind) const {
        return events[static_cast<std::size_t>(kind)];
    }
    std::array<std::uint64_t, RuntimeEvent::kKinds> events = {};
};

// on() comes from Registrar.
class Runtime : public detail::Registrar<Task> {
 public:
    // Throws std::invalid_argument if history_version is no version.
    explicit Runtime(RuntimeOptions options);
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    // Works until stop(): then running turns and activities may finish until drain_timeout, and no
    // lease is left; a server that is gone is waited for no longer, either. Fetches turns only if
    // an orchestration is registered, and activities only if an activity is. Throws if the server
    // cannot be reached at the start, and std::logic_error if nothing is registered or this runtime
    // has run before.
    void run();
    void stop() noexcept;
    RuntimeStats stats() const;

    void on_activity(std::string name, Function function) override;

 private:
    Registry& registry() override;

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

namespace detail {
// Waits until the instance has ended; its output, or a Failure.
std::string wait_for_end(Hub& hub, const std::string& instance_id,
                         std::optional<Milliseconds> timeout);
// Waits until the predicate holds for the custom status, or the instance has ended.
OptionalText wait_for_status(Hub& hub, const std::string& instance_id,
                             const std::function<bool(const OptionalText&)>& predicate,
                             std::optional<Milliseconds> timeout);
}  // namespace detail

// An instance that was started. Refers to the hub.
template <class T>
class Started {
 public:
    Started(Hub& hub, std::string id) : hub_(&hub), id_(std::move(id)) {}

    const std::string& instance_id() const { return id_; }
    // Waits in the server until the instance has ended. Throws Failure, and Cancelled, if it has
    // ended so, with what the end of its history says; Error if the timeout has passed, and if the
    // instance is deleted meanwhile (not_found()).
    T wait(std::optional<Milliseconds> timeout = {}) {
        return detail::decode<T>(detail::wait_for_end(*hub_, id_, timeout),
                                 "output of the orchestration");
    }
    // Waits in the server until the predicate holds for the custom status, and returns it. Throws
    // Failure if the instance ends before; Error as wait() does.
    OptionalText wait_status(const std::function<bool(const OptionalText&)>& predicate,
                             std::optional<Milliseconds> timeout = {}) {
        return detail::wait_for_status(*hub_, id_, predicate, timeout);
    }
    std::optional<InstanceInfo> status() { return hub_->orchestrations().get(id_); }
    void cancel(std::string_view reason) { hub_->orchestrations().cancel(id_, reason); }

 private:
    Hub* hub_;
    std::string id_;
};

template <class O, class I, class A>
requires detail::InputOf<A, I> Started<O> start(Hub& hub, const OrchestrationOf<O(I)>& name,
                                                A&& input, const StartOptions& options = {}) {
    return Started<O>(hub, hub.orchestrations().start_text(
                               name.name, detail::encode<I>(std::forward<A>(input)), options));
}

template <class O>
Started<O> start(Hub& hub, const OrchestrationOf<O()>& name, const StartOptions& options = {}) {
    return Started<O>(hub, hub.orchestrations().start_text(name.name, "", options));
}

// The current execution of an instance, as JSON that testing::Replayer reads; none if the instance
// has no history.
OptionalText history_of(Hub& hub, const std::string& instance_id);

// Replays the current execution of an instance in this process and calls look with its Context, as
// if the code stood where it waits: for debugging and rare queries. Nothing is stored, and what the
// code or look asks for is not done. Throws Error (QB002) if there is no such instance,
// Nondeterminism if the code differs from its history.
void inspect(Hub& hub, const Registry& registry, const std::string& instance_id,
             const std::function<void(Context)>& look);

}  // namespace belay
