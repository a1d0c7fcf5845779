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
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "belay/dispatcher.hpp"
#include "belay/durable.hpp"
#include "belay/durable/hook.hpp"
#include "belay/worker.hpp"

namespace belay {

struct RuntimeOptions {
    ConnectionOptions connection = {};
    std::string hub;
    int executors = 0;  // 0: the number of cores
    int connections = 2;
    int activity_concurrency = 8;
    std::optional<std::vector<std::string>> tags = {};
    std::string tag_mode = "default_only";
    Milliseconds lock_timeout{30000};
    Milliseconds wait_timeout{30000};
    Milliseconds drain_timeout{30000};
    bool share_slots = false;
    std::string history_version = "0.1.30";
    std::int64_t history_warning = 10000;
    std::size_t cache_bytes = std::size_t{256} << 20;  // 0: every turn replays
    std::size_t cache_instances = 10000;
    Milliseconds cache_idle{600000};
    Milliseconds slow_resume{200};
    Milliseconds blocked_resume{2000};
    OnNondeterminism on_nondeterminism = OnNondeterminism::kBlock;
    int max_attempts = 10;     // of a turn whose history or messages cannot be read
    double verify_replay = 0;  // part of the turns that are replayed and compared
    Clock clock = server_clock();
    RuntimeHook on_event = {};
};

struct RuntimeStats {
    std::uint64_t turns = 0;
    std::uint64_t ended = 0;
    std::uint64_t given_back = 0;
    std::uint64_t nondeterministic = 0;
    std::uint64_t corrupt = 0;
    std::uint64_t dropped_messages = 0;
    std::uint64_t events_replayed = 0;
    std::uint64_t turn_microseconds = 0;
    std::uint64_t cache_hits = 0;
    std::uint64_t cache_misses = 0;
    std::uint64_t cache_evictions = 0;
    std::size_t cache_bytes = 0;
    std::size_t cache_instances = 0;
};

class Runtime {
 public:
    explicit Runtime(RuntimeOptions options);
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    template <class O, class... I>
    void on(const OrchestrationOf<O(I...)>& name, Durable<O> (*code)(Context, I...),
            OrchestrationOptions options = {}) {
        registry().on(name, code, std::move(options));
    }
    // The function of an activity: O(I) or O(Activity&, I). A Failure that it throws fails the
    // activity; another exception is tried again, as a Worker does.
    template <class O, class I, class F>
    requires(std::is_invocable_v<F&, I> ||
             std::is_invocable_v<F&, Activity&, I>) void on(const ActivityOf<O(I)>& name,
                                                            F function) {
        on_activity(name.name, [function = std::move(function)](Activity& activity) {
            I input = detail::decode<I>(activity.input(), "input of the activity");
            return run_typed<O>([&]() -> O {
                if constexpr (std::is_invocable_v<F&, Activity&, I>) {
                    return static_cast<O>(function(activity, std::move(input)));
                } else {
                    return static_cast<O>(function(std::move(input)));
                }
            });
        });
    }
    template <class O, class F>
    requires(std::is_invocable_v<F&> ||
             std::is_invocable_v<F&, Activity&>) void on(const ActivityOf<O()>& name, F function) {
        on_activity(name.name, [function = std::move(function)](Activity& activity) {
            return run_typed<O>([&]() -> O {
                if constexpr (std::is_invocable_v<F&, Activity&>) {
                    return static_cast<O>(function(activity));
                } else {
                    static_cast<void>(activity);
                    return static_cast<O>(function());
                }
            });
        });
    }

    // Works until stop(): then running turns and activities may finish until drain_timeout, and no
    // lease is left.
    void run();
    void stop() noexcept;
    RuntimeStats stats() const;

    using Function = std::function<std::string(Activity&)>;
    void on_activity(std::string name, Function function);

 private:
    template <class O, class F>
    static std::string run_typed(F run) {
        if constexpr (std::is_void_v<O>) {
            run();
            return {};
        } else {
            return detail::encode<O>(run());
        }
    }

    Registry& registry();

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

namespace detail {
// Waits until the instance has ended; its output, or a Failure.
std::string wait_for_end(Hub& hub, const std::string& instance_id,
                         std::optional<Milliseconds> timeout);
}  // namespace detail

// An instance that was started. Refers to the hub.
template <class T>
class Started {
 public:
    Started(Hub& hub, std::string id) : hub_(&hub), id_(std::move(id)) {}

    const std::string& instance_id() const { return id_; }
    // Waits in the server until the instance has ended. Throws Failure, and Cancelled, if it has
    // ended so; Error if the timeout has passed.
    T wait(std::optional<Milliseconds> timeout = {}) {
        return detail::decode<T>(detail::wait_for_end(*hub_, id_, timeout),
                                 "output of the orchestration");
    }
    std::optional<InstanceInfo> status() { return hub_->get_instance_info(id_); }
    void cancel(std::string_view reason) { hub_->cancel_instance(id_, reason); }

 private:
    Hub* hub_;
    std::string id_;
};

template <class O, class I, class A>
requires detail::InputOf<A, I> Started<O> start(Hub& hub, const OrchestrationOf<O(I)>& name,
                                                A&& input, const StartOptions& options = {}) {
    return Started<O>(hub, hub.start_orchestration(
                               name.name, detail::encode<I>(std::forward<A>(input)), options));
}

template <class O>
Started<O> start(Hub& hub, const OrchestrationOf<O()>& name, const StartOptions& options = {}) {
    return Started<O>(hub, hub.start_orchestration(name.name, "", options));
}

}  // namespace belay
