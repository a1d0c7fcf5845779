// The thread that extends leases, and finds out why one was lost.
//
// Touches the leases' states only; what ends a lease is in lease.cpp, task_lease.cpp and
// activity_lease.cpp.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "lease_state.hpp"

namespace belay {
namespace {

// renew_work_item_locks and renew_tasks take no more.
constexpr std::size_t kMaxExtensions = 10000;

// Of so many leases that are lost at once the reason is asked for; more are lost after a failover
// or a restore, and not because each was cancelled.
constexpr std::size_t kMaxQuestions = 100;

// Whether an extension has succeeded. Notes that a task has ended.
bool is_extended(const Renewal& renewal, LeaseState&) {
    return renewal.renewed;
}
bool is_extended(const TaskExtension& extension, LeaseState& state) {
    state.ended = state.ended || extension.reason == "terminal";
    return extension.extended;
}

// A field of the JSON in an error's DETAIL; "" if there is none.
std::string detail_of(const Error& error, const char* key) {
    const Json object = Json::parse(error.detail(), nullptr, false);
    if (!object.is_object()) {
        return "";
    }
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The time by which the hub decides.
Time now_of(Hub& hub) {
    if (const auto now = hub.now()) {
        return *now;
    }
    return hub.connection()
        .call(Effect::kRepeatable, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        .get<Time>(0, 0);
}

}  // namespace

LeaseKeeper::LeaseKeeper(Pool& pool, KeeperOptions options)
    : pool_(pool),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

LeaseKeeper::~LeaseKeeper() {
    thread_.request_stop();
    thread_.join();
}

TurnLease LeaseKeeper::keep(Turn turn) {
    auto state = state_of(LeaseState::Kind::kTurn, turn.lock_token);
    begin(*state);
    {
        const std::lock_guard lock(mutex_);
        add(*state);
    }
    return TurnLease(*this, std::move(state), std::move(turn));
}

std::unique_ptr<HeldLease> LeaseKeeper::lease_of(Work work) {
    if (auto* item = std::get_if<WorkItem>(&work)) {
        auto state = state_of(LeaseState::Kind::kItem, std::move(item->lock_token));
        begin(*state);
        return activity_lease(*this, std::move(state), *item);
    }
    auto& task = std::get<ClaimedTask>(work);
    auto state = state_of(LeaseState::Kind::kTask, std::move(task.lease_id));
    begin(*state);
    state->fence = fence_of(task);
    for (const auto& deadline : {task.attempt_deadline, task.deadline}) {
        if (deadline && (!state->task_deadline || *deadline < *state->task_deadline)) {
            state->task_deadline = deadline;
        }
    }
    return task_lease(*this, std::move(state), std::move(task));
}

std::unique_ptr<HeldLease> LeaseKeeper::keep(Work work) {
    auto lease = lease_of(std::move(work));
    const std::lock_guard lock(mutex_);
    add(*lease->state_);
    return lease;
}

std::vector<std::unique_ptr<HeldLease>> LeaseKeeper::keep_all(std::vector<Work> work) {
    std::vector<std::unique_ptr<HeldLease>> leases;
    leases.reserve(work.size());
    for (auto& one : work) {
        leases.push_back(lease_of(std::move(one)));
    }
    const std::lock_guard lock(mutex_);
    for (const auto& lease : leases) {
        add(*lease->state_);
    }
    return leases;
}

void LeaseKeeper::extend_now() {
    {
        const std::lock_guard lock(mutex_);
        extend_now_ = true;
    }
    changed_.notify_all();
}

std::size_t LeaseKeeper::held() const {
    const std::lock_guard lock(mutex_);
    return held_;
}

void LeaseKeeper::begin(LeaseState& state) {
    state.deadline = std::chrono::steady_clock::now() + options_.lease;
    state.pool = &pool_;
}

void LeaseKeeper::add(LeaseState& state) {
    state.is_kept = true;
    state.next = leases_;
    if (leases_ != nullptr) {
        leases_->previous = &state;
    }
    leases_ = &state;
    ++held_;
    has_sessions_ = options_.session_owner.has_value();
}

void LeaseKeeper::remove(const std::shared_ptr<LeaseState>& state) noexcept {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(state->is_kept, false)) {
        return;
    }
    (state->previous == nullptr ? leases_ : state->previous->next) = state->next;
    if (state->next != nullptr) {
        state->next->previous = state->previous;
    }
    --held_;
}

Milliseconds LeaseKeeper::period() const {
    const auto sessions =
        options_.session_owner ? options_.session_lock_timeout : std::optional<Milliseconds>();
    return std::min(options_.lease, sessions.value_or(options_.lease)) / 3;
}

void LeaseKeeper::run(const std::stop_token& stop) {
    const auto period = this->period();
    auto next = std::chrono::steady_clock::now() + period;
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait_until(lock, stop, next, [this] { return extend_now_; });
            if (stop.stop_requested()) {
                return;
            }
            extend_now_ = false;
        }
        try {
            extend_leases();
            extend_sessions();
            next = std::chrono::steady_clock::now() + period;
        } catch (const std::exception& error) {
            report(error);
            // Sooner than usual: the leases are running out.
            next = std::chrono::steady_clock::now() +
                   std::min<Milliseconds>(period, Milliseconds(200));
        }
    }
}

void LeaseKeeper::extend_sessions() {
    {
        const std::lock_guard lock(mutex_);
        if (!std::exchange(has_sessions_, false)) {
            return;
        }
    }
    bool found = false;
    try {
        auto connection = pool_.take(period());
        found = Hub(*connection, options_.hub, options_.clock)
                    .provider()
                    .renew_session_lock({*options_.session_owner},
                                        options_.session_lock_timeout.value_or(options_.lease),
                                        options_.session_idle_timeout) > 0;
    } catch (...) {
        const std::lock_guard lock(mutex_);
        has_sessions_ = true;
        throw;
    }
    const std::lock_guard lock(mutex_);
    has_sessions_ = has_sessions_ || found;
}

void LeaseKeeper::extend_leases() {
    std::map<LeaseState::Kind, States> held;
    {
        const std::lock_guard lock(mutex_);
        for (LeaseState* state = leases_; state != nullptr; state = state->next) {
            if (!state->sent && !state->lost) {
                held[state->kind].push_back(state->shared_from_this());
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
        } hurry{*connection, connection->set_reconnect_timeout(options_.lease / 10)};
        Hub hub(*connection, options_.hub, options_.clock);
        extend_items(hub, held[LeaseState::Kind::kItem]);
        extend_tasks(hub, held[LeaseState::Kind::kTask]);
        extend_turns(hub, held[LeaseState::Kind::kTurn]);
    } catch (...) {
        for (const auto& [kind, states] : held) {
            for (const auto& state : states) {
                if (std::chrono::steady_clock::now() >= state->deadline.load()) {
                    state->lose(StopReason::kLost,
                                "the lease has expired: it could not be extended in time");
                }
            }
        }
        throw;
    }
}

namespace {

// Extends with extend(keys), whose answers are in the order of the keys, as many at a time as it
// takes. Returns those that are lost.
template <typename KeyOf, typename Extend>
std::vector<std::shared_ptr<LeaseState>> extend_many(
    std::span<const std::shared_ptr<LeaseState>> states, Milliseconds timeout, KeyOf key_of,
    Extend extend) {
    std::vector<std::shared_ptr<LeaseState>> lost;
    while (!states.empty()) {
        const auto some = states.first(std::min(kMaxExtensions, states.size()));
        states = states.subspan(some.size());
        std::vector<std::decay_t<decltype(key_of(*some[0]))>> keys;
        for (const auto& state : some) {
            keys.push_back(key_of(*state));
        }
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        const auto extensions = extend(keys);
        for (std::size_t i = 0; i < some.size() && i < extensions.size(); ++i) {
            if (is_extended(extensions[i], *some[i])) {
                some[i]->deadline = deadline;
            } else if (!some[i]->sent) {
                lost.push_back(some[i]);
            }
        }
    }
    return lost;
}

}  // namespace

// What the error of a call under a lease says about its loss. An item that is gone before its time
// was cancelled: no other worker could have acked it.
void LeaseKeeper::find_out_why(Hub& hub, LeaseState& state, const Error& error) const noexcept {
    StopReason why = StopReason::kLost;
    std::string text;
    try {
        const std::string code = error.code_detail();
        text = "the lease was lost" + (code.empty() ? "" : ": " + code);
        const std::string task_state = detail_of(error, "state");
        const bool is_gone_early = state.kind == LeaseState::Kind::kItem && code == "gone" &&
                                   std::chrono::steady_clock::now() < state.deadline.load();
        if (is_gone_early || task_state == "cancelled") {
            why = StopReason::kCancelled;
            const std::string reason = detail_of(error, "cancel_reason");
            text = "cancelled" + (reason.empty() ? "" : ": " + reason);
        } else if (task_state == "expired" || (task_state != "completed" && state.task_deadline &&
                                               now_of(hub) >= *state.task_deadline)) {
            why = StopReason::kDeadline;
            text = "the deadline of the task or of its attempt has passed";
        }
    } catch (const std::exception& failure) {
        report(failure);
    }
    state.ended = state.ended || error.already_terminal();
    state.lost = true;
    state.request_stop(why, std::move(text));
}

// Extensions of many do not say why one was refused: its own does.
void LeaseKeeper::ask_why(Hub& hub, const States& lost) const {
    for (std::size_t i = 0; i < lost.size(); ++i) {
        LeaseState& state = *lost[i];
        if (i >= kMaxQuestions) {
            state.lose(StopReason::kLost, "the lease was lost");
            continue;
        }
        try {
            if (state.kind == LeaseState::Kind::kTask) {
                TaskCalls(hub).extend(state.fence, options_.lease);
            } else {
                hub.provider().renew_work_item_lock(state.token, options_.lease);
            }
        } catch (const Error& error) {
            // In each case the lease is gone; a task may have been deleted.
            if (!state.sent) {
                find_out_why(hub, state, error);
            }
            if (error.infrastructure()) {
                throw;
            }
        }
    }
}

void LeaseKeeper::extend_items(Hub& hub, const States& items) const {
    ask_why(hub, extend_many(
                     items, options_.lease, [](const LeaseState& state) { return state.token; },
                     [&](const auto& tokens) {
                         return hub.provider().renew_work_item_locks(tokens, options_.lease);
                     }));
}

void LeaseKeeper::extend_tasks(Hub& hub, const States& tasks) const {
    ask_why(hub, extend_many(
                     tasks, options_.lease, [](const LeaseState& state) { return state.fence; },
                     [&](const auto& fences) {
                         return TaskCalls(hub).extend_many(fences, options_.lease);
                     }));
}

void LeaseKeeper::extend_turns(Hub& hub, const States& turns) const {
    for (const auto& state : turns) {
        const auto deadline = std::chrono::steady_clock::now() + options_.lease;
        try {
            hub.provider().renew_orchestration_item_lock(state->token, options_.lease);
            state->deadline = deadline;
        } catch (const Error& error) {
            if (!error.lock_lost()) {
                throw;
            }
            if (!state->sent) {
                find_out_why(hub, *state, error);
            }
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
