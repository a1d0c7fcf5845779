// The thread that extends leases, and finds out why one was lost.
//
// Touches the leases' states only; what ends a lease is in lease.cpp, task_lease.cpp and
// activity_lease.cpp.
#include <algorithm>
#include <exception>
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
    begin(*state, options_.hub);
    {
        const std::lock_guard lock(mutex_);
        add(*state);
    }
    return TurnLease(*this, std::move(state), std::move(turn));
}

std::unique_ptr<HeldLease> LeaseKeeper::lease_of(Work work, const std::string& hub) {
    if (auto* item = std::get_if<WorkItem>(&work)) {
        auto state = state_of(LeaseState::Kind::kItem, std::move(item->lock_token));
        begin(*state, hub);
        return activity_lease(*this, std::move(state), *item);
    }
    auto& task = std::get<ClaimedTask>(work);
    auto state = state_of(LeaseState::Kind::kTask, std::move(task.lease_id));
    begin(*state, hub);
    state->fence = fence_of(task);
    for (const auto& deadline : {task.attempt_deadline, task.deadline}) {
        if (deadline && (!state->task_deadline || *deadline < *state->task_deadline)) {
            state->task_deadline = deadline;
        }
    }
    return task_lease(*this, std::move(state), std::move(task));
}

std::vector<std::unique_ptr<HeldLease>> LeaseKeeper::keep_all(std::vector<Work> work,
                                                              const std::string& hub) {
    std::vector<std::unique_ptr<HeldLease>> leases;
    leases.reserve(work.size());
    const std::string& name = name_of(hub);
    for (auto& one : work) {
        leases.push_back(lease_of(std::move(one), name));
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

// A copy that stays until the keeper goes.
const std::string& LeaseKeeper::name_of(const std::string& hub) {
    const std::lock_guard lock(mutex_);
    return *hubs_.insert(hub).first;
}

void LeaseKeeper::begin(LeaseState& state, const std::string& hub) {
    state.hub = &hub;
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
    if (options_.session_owner) {
        session_hubs_.insert(state.hub);
    }
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
    std::set<const std::string*> hubs;
    {
        const std::lock_guard lock(mutex_);
        hubs.swap(session_hubs_);
    }
    std::exception_ptr failure;
    for (const std::string* hub : hubs) {
        bool may_hold_some = true;
        try {
            auto connection = pool_.take(period());
            may_hold_some =
                Hub(*connection, *hub, options_.clock)
                    .provider()
                    .renew_session_lock({*options_.session_owner},
                                        options_.session_lock_timeout.value_or(options_.lease),
                                        options_.session_idle_timeout) > 0;
        } catch (...) {
            failure = std::current_exception();
        }
        if (may_hold_some) {
            const std::lock_guard lock(mutex_);
            session_hubs_.insert(hub);
        }
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

struct LeaseKeeper::HeldOfHub {
    const std::string* hub = nullptr;
    std::map<LeaseState::Kind, States> states = {};

    States of(LeaseState::Kind kind) const {
        const auto found = states.find(kind);
        return found == states.end() ? States{} : found->second;
    }

    // After an error. On a server that does not have the hub any more no lease is left.
    void lose(const std::exception_ptr& failure) const {
        bool has_moved = false;
        try {
            std::rethrow_exception(failure);
        } catch (const Error& error) {
            has_moved = error.elsewhere().has_value();
        } catch (...) {
            // Their deadlines count.
        }
        for (const auto& [kind, all] : states) {
            for (const auto& state : all) {
                if (has_moved) {
                    state->lose(StopReason::kLost, "the lease was lost: its hub has moved");
                } else if (std::chrono::steady_clock::now() >= state->deadline.load()) {
                    state->lose(StopReason::kLost,
                                "the lease has expired: it could not be extended in time");
                }
            }
        }
    }
};

// An error in one hub does not keep the leases of the others from being extended.
void LeaseKeeper::extend_leases() {
    std::map<const std::string*, HeldOfHub> held;
    {
        const std::lock_guard lock(mutex_);
        for (LeaseState* state = leases_; state != nullptr; state = state->next) {
            if (!state->sent && !state->lost) {
                HeldOfHub& of_hub = held[state->hub];
                of_hub.hub = state->hub;
                of_hub.states[state->kind].push_back(state->shared_from_this());
            }
        }
    }
    std::exception_ptr failure;
    bool is_lost = false;
    for (const auto& [name, of_hub] : held) {
        try {
            if (!is_lost) {
                auto connection = pool_.take(period());
                extend_leases_of(*connection, of_hub);
                continue;
            }
        } catch (const Error& error) {
            is_lost = error.connection_lost();
            failure = std::current_exception();
        } catch (...) {
            failure = std::current_exception();
        }
        of_hub.lose(failure);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

void LeaseKeeper::extend_leases_of(Connection& connection, const HeldOfHub& held) const {
    // A server that is away must not keep us from noticing that deadlines pass.
    struct Hurry {
        Connection& connection;
        Milliseconds usual;
        ~Hurry() { connection.set_reconnect_timeout(usual); }
    } hurry{connection, connection.set_reconnect_timeout(options_.lease / 10)};
    Hub hub(connection, *held.hub, options_.clock);
    extend_items(hub, held.of(LeaseState::Kind::kItem));
    extend_tasks(hub, held.of(LeaseState::Kind::kTask));
    extend_turns(hub, held.of(LeaseState::Kind::kTurn));
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
