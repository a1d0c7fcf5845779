// The inside of a Runtime, for the files that make it up: runtime.cpp runs leased turns and the
// loops, run_ahead.cpp turns that are not leased yet.
//
// Thread-safety: all of it may be used by many threads at once, but for what run() sets up.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "belay/pool.hpp"
#include "belay/runtime.hpp"
#include "cache.hpp"
#include "refusals.hpp"
#include "turn.hpp"

namespace belay {

Decision decision_of(engine::TurnDecision decided, const std::string& instance_id);

// What is stored behind a decision with events.
engine::StoredFacts facts_behind(const engine::TurnDecision& decision);

// For durations in this process only. Times that are stored are the server's.
inline std::int64_t steady_now_ms() {
    return std::chrono::duration_cast<Milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Runtime::Impl {
    explicit Impl(RuntimeOptions given);

    bool shares_slots();
    void make_dispatcher();
    void serve_system_activities();
    TurnOutcome run_turn(TurnContext& turn);
    static engine::TurnRequest request_of(const TurnContext& turn);
    struct Running;
    engine::TurnResult run_code(TurnContext& turn, std::unique_ptr<engine::Execution> live,
                                const engine::TurnOptions& its_options);
    engine::TurnResult run_code(const void* turn, engine::TurnRequest request, Running facts,
                                std::unique_ptr<engine::Execution> live,
                                const engine::TurnOptions& its_options);
    class Ahead;
    std::unique_ptr<PredictedTurn> predict(const ActivityCompletion& completion);
    void note_time(const TurnContext& turn);
    std::optional<std::int64_t> server_now_ms();
    void keep(std::unique_ptr<engine::Execution> execution, engine::StoredFacts stored);
    std::string cache_metadata(std::string metadata, const engine::Execution& execution) const;
    TurnOutcome ack(TurnContext& turn, engine::TurnResult result);
    TurnOutcome give_back(const TurnContext& turn, engine::TurnResult result);
    void count(const engine::TurnResult& result);
    void after_turn(const DispatcherEvent& event);
    void after_activity(const WorkerEvent& event);
    Milliseconds refused(const std::string& instance_id);
    void watch();

    // An exception of the hook must not change what becomes of a turn.
    void tell(const RuntimeEvent& event) noexcept {
        ++told[static_cast<std::size_t>(event.kind)];
        try {
            if (event.kind == RuntimeEvent::Kind::kNondeterministic) {
                const std::lock_guard lock(mutex);
                ++counters.nondeterministic[{event.name, event.version}];
            }
            if (options.on_event) {
                options.on_event(event);
            }
        } catch (...) {
            // Exceptions of the hook are ignored.
        }
    }
    void tell_evicted(std::vector<std::string> ids) noexcept {
        for (std::string& id : ids) {
            tell({.kind = RuntimeEvent::Kind::kEvicted, .instance_id = std::move(id)});
        }
    }

    const RuntimeOptions options;
    std::atomic<std::uint64_t> teardown_actions{0};  // before what holds executions
    Registry registry;
    engine::TurnOptions turn_options;
    engine::Cache cache;
    bool has_activities = false;
    std::string cache_owner;   // "" if nothing is kept in memory
    std::optional<Pool> pool;  // of the system activities

    // A turn whose code runs.
    struct Running {
        const engine::Resumptions* resumptions = nullptr;
        std::string instance_id;
        std::int64_t execution_id;
        std::string name;
        std::string version;
        std::chrono::nanoseconds reported{0};  // when the last one that was blocked began
    };
    mutable std::mutex mutex;
    std::unordered_map<const void*, Running> running;  // by what the turn is known as
    engine::Refusals refusals;
    std::condition_variable watch_again;
    bool watch_ends = false;
    RuntimeStats counters;  // under the mutex
    // When a turn was leased last, by the server's clock, and when this process knew.
    struct Leased {
        std::int64_t at_ms;
        std::chrono::steady_clock::time_point known;
    };
    std::optional<Leased> last_leased;
    std::chrono::nanoseconds code_time{0};
    std::array<std::atomic<std::uint64_t>, RuntimeEvent::kKinds> told = {};
    std::atomic<std::uint64_t> turn_number{0};
    std::atomic<bool> has_run = false;
    std::atomic<bool> stopping = false;
    std::atomic<Dispatcher*> dispatching = nullptr;

    // Last, so that they end first.
    std::optional<Dispatcher> dispatcher;  // made by run()
    Worker worker;
};

}  // namespace belay
