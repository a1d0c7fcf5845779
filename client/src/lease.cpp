#include "belay/lease.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>
#include <utility>

#include "json_parts.hpp"
#include "signals.hpp"

namespace belay {

// renew_work_item_locks and renew_tasks take no more.
constexpr std::size_t kMaxRenewals = 10000;

using SteadyTime = std::chrono::steady_clock::time_point;

struct LeaseState {
    enum class Kind { kItem, kTurn, kTask };

    Kind kind = Kind::kItem;
    std::string token;
    TaskFence fence = {};  // of a task
    std::stop_source stop = {};
    std::atomic<bool> settled = false;
    std::atomic<bool> lost = false;
    std::atomic<bool> ended = false;  // lost because the task has ended
    // By this clock of ours the lease is certainly over. Used by the keeper's thread only, once it
    // is in the list.
    SteadyTime deadline = {};

    // Notes what a renewal has found.
    void note(bool renewed, SteadyTime until) {
        if (renewed) {
            deadline = until;
        } else {
            lose();
        }
    }
    void note(const Renewal& renewal, SteadyTime until) { note(renewal.renewed, until); }
    void note(const TaskRenewal& renewal, SteadyTime until) {
        ended = ended || renewal.reason == "terminal";
        note(renewal.renewed, until);
    }

    // Notes the loss, unless the lease was ended by its owner meanwhile.
    void lose() {
        if (!settled) {
            lost = true;
            stop.request_stop();
        }
    }
};

// ---- Leases. ----

LeaseBase::LeaseBase(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state)
    : keeper_(&keeper), state_(std::move(state)) {}

LeaseBase::~LeaseBase() {
    if (state_) {
        keeper_->remove(*state_);
    }
}

const std::string& LeaseBase::lock_token() const {
    return state_->token;
}

std::stop_token LeaseBase::stop_token() const {
    return state_->stop.get_token();
}

void LeaseBase::request_stop() {
    state_->stop.request_stop();
}

bool LeaseBase::lost() const {
    return state_->lost;
}

bool LeaseBase::settled() const {
    return state_->settled;
}

template <typename Call>
auto LeaseBase::use(Call call) {
    try {
        auto connection = keeper_->pool_.take();
        Hub hub(*connection, keeper_->options_.hub, keeper_->options_.clock);
        return call(hub);
    } catch (const Error& error) {
        if (error.lock_lost()) {
            state_->ended = state_->ended || error.already_terminal();
            state_->lost = true;
            state_->stop.request_stop();
        }
        throw;
    }
}

template <typename Call>
auto LeaseBase::settle(Call call) {
    if (state_->settled.exchange(true)) {
        throw std::logic_error("the lease was acked or abandoned before");
    }
    try {
        return use(call);
    } catch (const Error& error) {
        if (!error.lock_lost() && !error.outcome_unknown()) {
            state_->settled = false;
        }
        throw;
    } catch (...) {
        state_->settled = false;
        throw;
    }
}

template <typename GiveBack>
void LeaseBase::end(GiveBack give_back) noexcept {
    if (!state_ || state_->settled || state_->lost) {
        return;
    }
    try {
        give_back();
    } catch (const std::exception& error) {
        keeper_->report(error);
    }
}

namespace {

// Runs body, and then ending, in one transaction.
template <typename Ending>
void in_one_transaction(Hub& hub, const std::function<void(Connection&)>& body, Ending ending,
                        const Where& where) {
    hub.connection().with_transaction(
        [&] {
            body(hub.connection());
            ending();
        },
        where);
}

}  // namespace

WorkLease::~WorkLease() {
    end([this] { abandon(); });
}

void WorkLease::ack(const OptionalText& completion, Where where) {
    settle([&](Hub& hub) {
        hub.ack_worker({.lock_token = item_.lock_token, .completion = completion}, where);
    });
}

std::optional<WorkItem> WorkLease::ack_and_fetch(const OptionalText& completion,
                                                 const FetchOptions& options, Where where) {
    return settle([&](Hub& hub) {
        return hub.ack_and_fetch_work_item(
            {.lock_token = item_.lock_token, .completion = completion}, options, where);
    });
}

void WorkLease::ack_with(const std::function<void(Connection&)>& body,
                         const OptionalText& completion, Where where) {
    settle([&](Hub& hub) {
        in_one_transaction(
            hub, body,
            [&] {
                hub.ack_worker({.lock_token = item_.lock_token, .completion = completion}, where);
            },
            where);
    });
}

void WorkLease::abandon(std::optional<Milliseconds> delay, bool ignore_attempt, Where where) {
    settle(
        [&](Hub& hub) { hub.abandon_work_item(item_.lock_token, delay, ignore_attempt, where); });
}

TurnLease::~TurnLease() {
    end([this] { abandon(); });
}

void TurnLease::ack(const Decision& decision, Where where) {
    settle([&](Hub& hub) { hub.ack_orchestration_item(turn_.lock_token, decision, where); });
}

void TurnLease::ack_with(const std::function<void(Connection&)>& body, const Decision& decision,
                         Where where) {
    settle([&](Hub& hub) {
        in_one_transaction(
            hub, body, [&] { hub.ack_orchestration_item(turn_.lock_token, decision, where); },
            where);
    });
}

void TurnLease::abandon(std::optional<Milliseconds> delay, bool ignore_attempt, Where where) {
    settle([&](Hub& hub) {
        hub.abandon_orchestration_item(turn_.lock_token, delay, ignore_attempt, where);
    });
}

TaskLease::~TaskLease() {
    end([this] { release(); });
}

void TaskLease::complete(const OptionalText& result, Where where) {
    settle([&](Hub& hub) { hub.complete_task(fence(), result, kLeaseHolder, where); });
}

std::vector<ClaimedTask> TaskLease::complete_and_claim(const OptionalText& result,
                                                       const ClaimOptions& options, Where where) {
    return settle(
        [&](Hub& hub) { return hub.complete_and_claim(fence(), result, options, where); });
}

void TaskLease::complete_with(const std::function<void(Connection&)>& body,
                              const OptionalText& result, Where where) {
    settle([&](Hub& hub) {
        in_one_transaction(
            hub, body, [&] { hub.complete_task(fence(), result, kLeaseHolder, where); }, where);
    });
}

FailedTask TaskLease::fail(const TaskFailure& failure, Where where) {
    return settle([&](Hub& hub) { return hub.fail_task(fence(), failure, kLeaseHolder, where); });
}

PausedTask TaskLease::delay(Milliseconds delay, const OptionalText& checkpoint, Where where) {
    return settle([&](Hub& hub) { return hub.delay_task(fence(), delay, checkpoint, where); });
}

SuspendedTask TaskLease::suspend(const NewSuspension& suspension, Where where) {
    SuspendedTask answer =
        settle([&](Hub& hub) { return hub.suspend_task(fence(), suspension, where); });
    if (answer.result == "already_satisfied") {
        state_->settled = false;
    }
    return answer;
}

CreatedWaitpoint TaskLease::create_waitpoint(std::string_view key, Milliseconds expires_in,
                                             Where where) {
    return use([&](Hub& hub) { return hub.create_waitpoint(fence(), key, expires_in, where); });
}

std::vector<UpstreamResult> TaskLease::upstream(Where where) {
    std::vector<UpstreamResult> results;
    const std::string array = task_.upstream.value_or("[]");
    for (const auto element : array_parts(array)) {
        const ObjectParts parts = object_parts(element);
        if (parts.contains("truncated")) {
            return use([&](Hub& hub) { return hub.upstream_results(task_.task_id, where); });
        }
        results.push_back({.task_id = text_part(parts, "task_id").value_or(""),
                           .key = text_part(parts, "key"),
                           .pass_as = text_part(parts, "pass_as"),
                           .state = text_part(parts, "state").value_or(""),
                           .result = json_part(parts, "result")});
    }
    return results;
}

std::vector<Signal> TaskLease::signals(Where where) {
    SignalList list = signals_of(task_.signals.value_or("[]"));
    if (list.cut_after) {
        const auto more = use(
            [&](Hub& hub) { return signals_behind(hub, task_.task_id, *list.cut_after, where); });
        list.signals.insert(list.signals.end(), more.begin(), more.end());
    }
    return std::move(list.signals);
}

bool TaskLease::ended() const {
    return state_->ended;
}

void TaskLease::ack_cancel(Where where) {
    if (task_.flow_id) {
        use([&](Hub& hub) { hub.ack_cancel_member(*task_.flow_id, task_.task_id, where); });
    }
}

void TaskLease::release(Milliseconds delay, Where where) {
    settle([&](Hub& hub) { hub.release_task(fence(), delay, where); });
}

void TaskLease::progress(const TaskProgress& progress, Where where) {
    use([&](Hub& hub) { hub.progress_task(fence(), progress, where); });
}

void TaskLease::write(const std::function<void(Connection&)>& body, Where where) {
    use([&](Hub& hub) {
        hub.connection().with_transaction(
            [&] {
                // First, so that nothing is done in vain for a lease that is gone.
                hub.guard_task(fence(), where);
                body(hub.connection());
            },
            where);
    });
}

// ---- The keeper. ----

LeaseKeeper::LeaseKeeper(Pool& pool, KeeperOptions options)
    : pool_(pool),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

LeaseKeeper::~LeaseKeeper() {
    thread_.request_stop();
    thread_.join();
}

namespace {

std::shared_ptr<LeaseState> state_of(LeaseState::Kind kind, const std::string& token) {
    auto state = std::make_shared<LeaseState>();
    state->kind = kind;
    state->token = token;
    return state;
}

}  // namespace

WorkLease LeaseKeeper::keep(WorkItem item) {
    auto state = add(state_of(LeaseState::Kind::kItem, item.lock_token));
    return WorkLease(*this, std::move(state), std::move(item));
}

TurnLease LeaseKeeper::keep(Turn turn) {
    auto state = add(state_of(LeaseState::Kind::kTurn, turn.lock_token));
    return TurnLease(*this, std::move(state), std::move(turn));
}

TaskLease LeaseKeeper::keep(ClaimedTask task) {
    auto state = state_of(LeaseState::Kind::kTask, task.lease_id);
    state->fence = fence_of(task);
    add(state);
    return TaskLease(*this, std::move(state), std::move(task));
}

void LeaseKeeper::renew_now() {
    {
        const std::lock_guard lock(mutex_);
        renew_now_ = true;
    }
    changed_.notify_all();
}

std::size_t LeaseKeeper::held() const {
    const std::lock_guard lock(mutex_);
    return leases_.size();
}

std::shared_ptr<LeaseState> LeaseKeeper::add(std::shared_ptr<LeaseState> state) {
    state->deadline = std::chrono::steady_clock::now() + options_.lock_timeout;
    const std::lock_guard lock(mutex_);
    leases_.push_back(state);
    has_sessions_ = options_.session_owner.has_value();
    return state;
}

void LeaseKeeper::remove(const LeaseState& state) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(leases_, [&](const auto& other) { return other.get() == &state; });
}

Milliseconds LeaseKeeper::period() const {
    const auto sessions =
        options_.session_owner ? options_.session_lock_timeout : std::optional<Milliseconds>();
    return std::min(options_.lock_timeout, sessions.value_or(options_.lock_timeout)) / 3;
}

std::vector<AckResult> LeaseKeeper::ack_all(std::span<WorkLease> leases,
                                            const std::vector<OptionalText>& completions,
                                            Where where) {
    if (leases.size() != completions.size()) {
        throw std::logic_error("each lease needs its completion, be it none");
    }
    std::size_t taken = 0;
    const auto open_again = [&] {
        for (std::size_t i = 0; i < taken; ++i) {
            leases[i].state_->settled = false;
        }
    };
    std::vector<Ack> acks;
    for (; taken < leases.size(); ++taken) {
        if (leases[taken].state_->settled.exchange(true)) {
            open_again();
            throw std::logic_error("the lease was acked or abandoned before");
        }
        acks.push_back(
            {.lock_token = leases[taken].lock_token(), .completion = completions[taken]});
    }
    try {
        auto connection = pool_.take();
        auto results = Hub(*connection, options_.hub, options_.clock).ack_workers(acks, where);
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (!results[i].acked && !results[i].outcome_unknown) {
                leases[i].state_->lost = true;
                leases[i].state_->stop.request_stop();
            }
        }
        return results;
    } catch (const Error& error) {
        if (!error.outcome_unknown()) {
            open_again();
        }
        throw;
    } catch (...) {
        open_again();
        throw;
    }
}

void LeaseKeeper::run(const std::stop_token& stop) {
    const auto period = this->period();
    auto next = std::chrono::steady_clock::now() + period;
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait_until(lock, stop, next, [this] { return renew_now_; });
            if (stop.stop_requested()) {
                return;
            }
            renew_now_ = false;
        }
        try {
            renew_all();
            next = std::chrono::steady_clock::now() + period;
        } catch (const std::exception& error) {
            report(error);
            // Sooner than usual: the leases are running out.
            next = std::chrono::steady_clock::now() +
                   std::min<Milliseconds>(period, Milliseconds(200));
        }
    }
}

void LeaseKeeper::renew_all() {
    renew_leases();
    renew_sessions();
}

void LeaseKeeper::renew_sessions() {
    {
        const std::lock_guard lock(mutex_);
        if (!std::exchange(has_sessions_, false)) {
            return;
        }
    }
    bool found = false;
    try {
        auto connection = pool_.take(period());
        found =
            Hub(*connection, options_.hub, options_.clock)
                .renew_session_lock({*options_.session_owner},
                                    options_.session_lock_timeout.value_or(options_.lock_timeout),
                                    options_.session_idle_timeout) > 0;
    } catch (...) {
        const std::lock_guard lock(mutex_);
        has_sessions_ = true;
        throw;
    }
    const std::lock_guard lock(mutex_);
    has_sessions_ = has_sessions_ || found;
}

void LeaseKeeper::renew_leases() {
    std::map<LeaseState::Kind, States> held;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& state : leases_) {
            if (!state->settled && !state->lost) {
                held[state->kind].push_back(state);
            }
        }
    }
    if (held.empty()) {
        return;
    }
    try {
        auto connection = pool_.take(period());
        // A server that is away must not keep us from noticing that deadlines pass.
        struct Hurry {
            Connection& connection;
            Milliseconds usual;
            ~Hurry() { connection.set_reconnect_timeout(usual); }
        } hurry{*connection, connection->set_reconnect_timeout(options_.lock_timeout / 10)};
        Hub hub(*connection, options_.hub, options_.clock);
        renew_items(hub, held[LeaseState::Kind::kItem]);
        renew_tasks(hub, held[LeaseState::Kind::kTask]);
        renew_turns(hub, held[LeaseState::Kind::kTurn]);
    } catch (...) {
        for (const auto& [kind, states] : held) {
            for (const auto& state : states) {
                if (std::chrono::steady_clock::now() >= state->deadline) {
                    state->lose();
                }
            }
        }
        throw;
    }
}

namespace {

// Renews with renew(keys), whose answers are in the order of the keys, as many at a time as it
// takes.
template <typename KeyOf, typename Renew>
void renew_many(std::span<const std::shared_ptr<LeaseState>> states, Milliseconds timeout,
                KeyOf key_of, Renew renew) {
    while (!states.empty()) {
        const auto some = states.first(std::min(kMaxRenewals, states.size()));
        states = states.subspan(some.size());
        std::vector<std::decay_t<decltype(key_of(*some[0]))>> keys;
        for (const auto& state : some) {
            keys.push_back(key_of(*state));
        }
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        const auto renewals = renew(keys);
        for (std::size_t i = 0; i < some.size() && i < renewals.size(); ++i) {
            some[i]->note(renewals[i], deadline);
        }
    }
}

}  // namespace

void LeaseKeeper::renew_items(Hub& hub, const States& items) const {
    renew_many(
        items, options_.lock_timeout, [](const LeaseState& state) { return state.token; },
        [&](const auto& tokens) {
            return hub.renew_work_item_locks(tokens, options_.lock_timeout);
        });
}

void LeaseKeeper::renew_tasks(Hub& hub, const States& tasks) const {
    renew_many(
        tasks, options_.lock_timeout, [](const LeaseState& state) { return state.fence; },
        [&](const auto& fences) { return hub.renew_tasks(fences, options_.lock_timeout); });
}

void LeaseKeeper::renew_turns(Hub& hub, const States& turns) const {
    for (const auto& state : turns) {
        const auto deadline = std::chrono::steady_clock::now() + options_.lock_timeout;
        try {
            hub.renew_orchestration_item_lock(state->token, options_.lock_timeout);
            state->note(true, deadline);
        } catch (const Error& error) {
            if (!error.lock_lost()) {
                throw;
            }
            state->note(false, deadline);
        }
    }
}

void LeaseKeeper::report(const std::exception& error) const noexcept {
    try {
        if (options_.on_error) {
            options_.on_error(error);
        }
    } catch (...) {
        // A hook that throws has had its chance.
    }
}

}  // namespace belay
