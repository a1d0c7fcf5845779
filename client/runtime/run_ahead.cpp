// Turns that are run before they are leased, and committed with the outcome that they are about.
//
// May touch: the runtime's cache and counters. Must not: call the server; the worker's settler
// does.
#include <utility>

#include "runtime_impl.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

// Turns get the server's time. Of one that is not leased it is known well enough for a while after
// another one was, and never ahead.
void Runtime::Impl::note_time(const TurnContext& turn) {
    const std::lock_guard lock(mutex);
    last_leased = {.at_ms = to_ms(turn.fetched_at().value()), .known = SteadyClock::now()};
}

std::optional<std::int64_t> Runtime::Impl::server_now_ms() {
    constexpr std::chrono::minutes kWhile{1};
    if (const auto chosen = options.clock()) {
        return to_ms(*chosen);
    }
    const auto now = SteadyClock::now();
    const std::lock_guard lock(mutex);
    if (!last_leased || now - last_leased->known > kWhile) {
        return std::nullopt;
    }
    return last_leased->at_ms +
           std::chrono::duration_cast<Milliseconds>(now - last_leased->known).count();
}

// Members are destroyed in reverse order: a thread that waits for the execution continues when that
// has come or gone.
class Runtime::Impl::Ahead final : public PredictedTurn {
 public:
    Ahead(Impl& impl, std::int64_t after, Decision decision,
          std::unique_ptr<engine::Cache::Coming> coming, engine::StoredFacts stored,
          engine::TurnResult result)
        : PredictedTurn(after, std::move(decision)),
          impl_(impl),
          coming_(std::move(coming)),
          stored_(std::move(stored)),
          result_(std::move(result)) {}
    ~Ahead() override {
        if (!committed_) {
            const std::lock_guard lock(impl_.mutex);
            ++impl_.counters.ahead_refused;
        }
    }

    void committed() noexcept override {
        committed_ = true;
        try {
            impl_.count(result_);
            {
                const std::lock_guard lock(impl_.mutex);
                ++impl_.counters.turns_ahead;
            }
            impl_.keep(std::move(result_.execution), std::move(stored_));
        } catch (...) {
            // Out of memory: the next turn replays.
        }
    }

 private:
    Impl& impl_;
    std::unique_ptr<engine::Cache::Coming> coming_;
    engine::StoredFacts stored_;
    engine::TurnResult result_;
    bool committed_ = false;
};

// Null where anything is out of the ordinary: the turn is leased then, and run again.
std::unique_ptr<PredictedTurn> Runtime::Impl::predict(const ActivityCompletion& completion) {
    const auto now = server_now_ms();
    if (!now) {
        return nullptr;
    }
    const std::string& id = completion.instance_id;
    engine::Cache::Ahead ahead =
        cache.take_ahead(id, completion.execution_id, completion.activity_id);
    if (!ahead.execution) {
        return nullptr;
    }
    engine::TurnRequest request;
    request.instance_id = id;
    request.execution_id = completion.execution_id;
    request.now_ms = *now;
    request.history_omitted = true;
    request.messages.push_back(completion.message);
    Running facts{.instance_id = id,
                  .execution_id = completion.execution_id,
                  .name = ahead.execution->name(),
                  .version = ahead.execution->version()};
    engine::TurnResult result;
    try {
        result = run_code(&completion, std::move(request), std::move(facts),
                          std::move(ahead.execution), turn_options);
    } catch (const engine::HistoryNeeded&) {
        return nullptr;
    }
    if (result.kind != engine::TurnResult::Kind::kAck || result.decision.events.empty() ||
        !result.decision.cancelled_activities.empty()) {
        return nullptr;
    }
    if (result.execution) {
        result.decision.metadata =
            cache_metadata(std::move(result.decision.metadata), *result.execution);
    }
    engine::StoredFacts stored = facts_behind(result.decision);
    Decision decision = decision_of(std::move(result.decision), id);
    return std::make_unique<Ahead>(*this, ahead.stored.last_event_id, std::move(decision),
                                   std::move(ahead.coming), std::move(stored), std::move(result));
}

}  // namespace belay
