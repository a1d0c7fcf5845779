// Leases that renew themselves.
//
// A LeaseKeeper has one thread. It renews all its leases of work items in one call, those of tasks
// in one, turns one by one, and sessions in one call, each time a third of the lock timeout has
// passed. A lease that is lost (QB001, QB012, QB013), or that could not be renewed until its
// deadline, requests a stop through its stop_token.
//
// Thread-safety: LeaseKeeper may be used by many threads at once. A lease belongs to one thread at
// a time; its stop_token may be used by any. The pool outlives the keeper, the keeper its leases.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "belay/hub.hpp"
#include "belay/pool.hpp"

namespace belay {

class LeaseKeeper;

// What a lease and its keeper share.
struct LeaseState;

// The parts that all leases have in common.
class LeaseBase {
 public:
    LeaseBase(LeaseBase&&) noexcept = default;
    LeaseBase& operator=(LeaseBase&&) = delete;

    const std::string& lock_token() const;  // of a task: the lease id

    // Stops when the lease is lost, when the work is cancelled, or when somebody asks for it with
    // request_stop().
    std::stop_token stop_token() const;
    void request_stop();

    // The lease is known to be lost: nothing that was done under it will be accepted.
    bool lost() const;

    // Ended by its owner: acked or abandoned; of a task: completed, failed, delayed, suspended or
    // released.
    bool settled() const;

 protected:
    LeaseBase(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state);
    ~LeaseBase();

    // Runs call, which ends the lease. Throws std::logic_error if it was ended before. After an
    // error that leaves the lease as it was, it can be settled again.
    template <typename Call>
    auto settle(Call call);

    // Runs call(), which needs the lease and leaves it as it is; notes if it turns out to be lost.
    template <typename Call>
    auto use(Call call);

    // Runs give_back(), for the destructors of leases that nobody has settled.
    template <typename GiveBack>
    void end(GiveBack give_back) noexcept;

    LeaseKeeper* keeper_;
    std::shared_ptr<LeaseState> state_;  // empty once moved from
};

// The lease of a work item. Exactly one of ack(), ack_and_fetch(), ack_with() and abandon() ends
// it; the destructor abandons it if none did.
class WorkLease : public LeaseBase {
 public:
    WorkLease(WorkLease&&) noexcept = default;
    ~WorkLease();

    const WorkItem& item() const { return item_; }

    // Ends the work, with a completion (JSON) for the instance, or without.
    void ack(const OptionalText& completion = {}, Where where = Where::current());

    // As ack(), and leases the next item in the same round trip.
    std::optional<WorkItem> ack_and_fetch(const OptionalText& completion,
                                          const FetchOptions& options,
                                          Where where = Where::current());

    // As ack(), in one transaction with what body(connection) writes: both happen, or neither.
    void ack_with(const std::function<void(Connection&)>& body, const OptionalText& completion = {},
                  Where where = Where::current());

    // Gives the item back.
    void abandon(std::optional<Milliseconds> delay = {}, bool ignore_attempt = false,
                 Where where = Where::current());

 private:
    friend class LeaseKeeper;
    WorkLease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state, WorkItem item)
        : LeaseBase(keeper, std::move(state)), item_(std::move(item)) {}

    WorkItem item_;
};

// The lease of a turn. As WorkLease.
class TurnLease : public LeaseBase {
 public:
    TurnLease(TurnLease&&) noexcept = default;
    ~TurnLease();

    const Turn& turn() const { return turn_; }

    void ack(const Decision& decision, Where where = Where::current());
    void ack_with(const std::function<void(Connection&)>& body, const Decision& decision,
                  Where where = Where::current());
    void abandon(std::optional<Milliseconds> delay = {}, bool ignore_attempt = false,
                 Where where = Where::current());

 private:
    friend class LeaseKeeper;
    TurnLease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state, Turn turn)
        : LeaseBase(keeper, std::move(state)), turn_(std::move(turn)) {}

    Turn turn_;
};

// The lease of a task. Exactly one of complete(), complete_and_claim(), complete_with(), fail(),
// delay(), suspend() and release() ends it; the destructor releases it if none did. Results,
// checkpoints and details are JSON.
class TaskLease : public LeaseBase {
 public:
    TaskLease(TaskLease&&) noexcept = default;
    ~TaskLease();

    const ClaimedTask& task() const { return task_; }
    TaskFence fence() const { return fence_of(task_); }

    // What the tasks before this one in its flow have brought. A round trip if that is more than a
    // claim returns.
    std::vector<UpstreamResult> upstream(Where where = Where::current());

    // What came to the waitpoints of the suspension that this lease goes on from. Round trips if
    // that is more than a claim returns.
    std::vector<Signal> signals(Where where = Where::current());

    void complete(const OptionalText& result = {}, Where where = Where::current());

    // As complete(), and leases the next tasks in the same round trip.
    std::vector<ClaimedTask> complete_and_claim(const OptionalText& result,
                                                const ClaimOptions& options,
                                                Where where = Where::current());

    // As complete(), in one transaction with what body(connection) writes: both happen, or neither.
    void complete_with(const std::function<void(Connection&)>& body,
                       const OptionalText& result = {}, Where where = Where::current());

    // Ends the attempt; the task's policy decides whether another follows.
    FailedTask fail(const TaskFailure& failure, Where where = Where::current());

    // Puts the task to sleep; its attempt goes on at the next claim, which gets the checkpoint.
    PausedTask delay(Milliseconds delay, const OptionalText& checkpoint = {},
                     Where where = Where::current());

    // Lets the task wait for signals without a lease; its attempt goes on at a later claim, which
    // gets them. If signals that came early suffice (already_satisfied), the lease goes on at once
    // and is still to be ended.
    SuspendedTask suspend(const NewSuspension& suspension, Where where = Where::current());

    // Makes a waitpoint ahead of suspend(), for its token; keeps the lease.
    CreatedWaitpoint create_waitpoint(std::string_view key, Milliseconds expires_in,
                                      Where where = Where::current());

    // Gives the task back unharmed: no retry is counted.
    void release(Milliseconds delay = Milliseconds(0), Where where = Where::current());

    // Stores progress or a checkpoint, and keeps the lease.
    void progress(const TaskProgress& progress, Where where = Where::current());

    // Writes in a transaction that commits only while the lease is held. For steps before the last,
    // which is complete_with().
    void write(const std::function<void(Connection&)>& body, Where where = Where::current());

    // The lease was lost because the task has ended; perhaps it was cancelled, with its flow.
    bool ended() const;

    // Says that nothing works under this lease any more, to whoever has cancelled the flow. For
    // members, once ended(); TaskWorker does it.
    void ack_cancel(Where where = Where::current());

 private:
    friend class LeaseKeeper;
    TaskLease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state, ClaimedTask task)
        : LeaseBase(keeper, std::move(state)), task_(std::move(task)) {}

    ClaimedTask task_;
};

struct KeeperOptions {
    std::string hub;
    // As the fetches have it. Renewals extend leases by the same time.
    Milliseconds lock_timeout{30000};
    Clock clock = server_clock();
    // An owner id whose session locks are renewed too, until a session was idle for so long. The
    // locks last session_lock_timeout, by default as long as those of items.
    OptionalText session_owner = {};
    std::optional<Milliseconds> session_lock_timeout = {};
    Milliseconds session_idle_timeout{300000};
    // Told of errors that no caller sees: of renewals, and of abandons in destructors. Called by
    // any thread.
    std::function<void(const std::exception&)> on_error = {};
};

class LeaseKeeper {
 public:
    LeaseKeeper(Pool& pool, KeeperOptions options);
    ~LeaseKeeper();
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;

    // Takes over what was just fetched.
    WorkLease keep(WorkItem item);
    TurnLease keep(Turn turn);
    TaskLease keep(ClaimedTask task);

    // Renews all leases soon, in the keeper's thread: those that were cancelled are found out.
    void renew_now();

    // Acks many leases of this keeper in one round trip. completions[i] is that of leases[i]. Tells
    // of each what became of it; those that were not acked are lost. If it throws, none is settled,
    // unless the outcome is unknown.
    std::vector<AckResult> ack_all(std::span<WorkLease> leases,
                                   const std::vector<OptionalText>& completions,
                                   Where where = Where::current());

    // How many leases are held.
    std::size_t held() const;

 private:
    friend class LeaseBase;
    friend class WorkLease;
    friend class TurnLease;
    friend class TaskLease;

    using States = std::vector<std::shared_ptr<LeaseState>>;

    std::shared_ptr<LeaseState> add(std::shared_ptr<LeaseState> state);
    void remove(const LeaseState& state) noexcept;
    void run(const std::stop_token& stop);
    void renew_all();
    void renew_leases();
    void renew_items(Hub& hub, const States& items) const;
    void renew_turns(Hub& hub, const States& turns) const;
    void renew_tasks(Hub& hub, const States& tasks) const;
    void renew_sessions();
    Milliseconds period() const;
    void report(const std::exception& error) const noexcept;

    Pool& pool_;
    const KeeperOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    States leases_;  // guarded by mutex_, as are the next two
    bool renew_now_ = false;
    // Sessions may be held: something was leased since the last renewal, or that found some.
    bool has_sessions_ = false;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace belay
