// Leases that are extended in the background.
//
// A LeaseKeeper has one thread. It extends all its leases of activities in one call for each hub,
// those of tasks in one, turns one by one, and sessions in one call, each time a third of the lease
// has passed. A
// lease that is lost (QB001, QB012, QB013), or that could not be extended until its deadline,
// requests a stop through its stop_token.
//
// Thread-safety: LeaseKeeper may be used by many threads at once. A lease belongs to one thread at
// a time; its stop_token may be used by any. The pool outlives the keeper, the keeper its leases.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "belay/flows.hpp"
#include "belay/hub.hpp"
#include "belay/pool.hpp"
#include "belay/provider.hpp"
#include "belay/worker.hpp"
#include "task_calls.hpp"

namespace belay {

class LeaseKeeper;
class TurnSettler;

// What a lease and its keeper share.
struct LeaseState;

// The parts that all leases have in common.
class LeaseBase {
 public:
    LeaseBase(LeaseBase&&) noexcept = default;
    LeaseBase& operator=(LeaseBase&&) = delete;

    const std::string& token() const;  // of a task: the lease id
    const std::string& hub() const;

    // Stops when the lease is lost, when the work is cancelled, or after request_stop().
    std::stop_token stop_token() const;
    void request_stop();

    // Why, as soon as a stop is requested; and in words, for a log: "cancelled: enough".
    StopReason stop_reason() const;
    std::string stop_text() const;

    // The lease is known to be lost: nothing that was done under it will be accepted.
    bool lost() const;

    // Ended by its owner.
    bool settled() const;

    // As settled(), but the connection broke, and it is unknown whether the call has happened. The
    // destructor releases what is still held then.
    bool unknown() const;

    // Its calls use connections of this pool from now on; before, of the keeper's.
    void call_through(Pool& pool);

    // Gives the work back after a delay. Whether that counts as an attempt of a task is never
    // asked.
    virtual void give_back(std::optional<Milliseconds> delay, bool ignore_attempt) = 0;

 protected:
    LeaseBase(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state);
    virtual ~LeaseBase();

    // The lease is about to be ended. Throws std::logic_error if it was ended before.
    void claim_end();

    // Runs call(hub), which ends the lease. Throws std::logic_error if it was ended before. After
    // an error that leaves the lease as it was, it can be settled again. The lease is extended
    // until there is a connection.
    template <typename Call>
    auto settle_by(Call call);
    // The same for body, and then ending(hub), in one transaction. The lease is extended until
    // body returns.
    template <typename Ending>
    void settle_with(const std::function<void(Connection&)>& body, Ending ending,
                     const Where& where);
    // The same for a call that needs no connection of the lease's own.
    template <typename Call>
    void settle_elsewhere(Call call);

    // Runs call, which is to end the lease, and notes how it has failed.
    template <typename Call>
    auto note_failures(Call call);

    // Runs call(hub), which needs the lease and leaves it as it is; notes if it turns out to be
    // lost.
    template <typename Call>
    auto use(Call call);

    // Runs give_back(hub, ignore_attempt), for the destructors of leases that were not settled, or
    // perhaps not. Where the end is unknown this is safe: an ack that the server still works on has
    // locked the lease or finds it gone, and if the ack has happened the lease is gone.
    template <typename GiveBack>
    void end(GiveBack give_back) noexcept;

    LeaseKeeper* keeper_;
    std::shared_ptr<LeaseState> state_;  // empty once moved from

 private:
    friend class LeaseKeeper;
};

// The lease of a turn. One of ack(), ack_with() and give_back() ends it, else the destructor.
class TurnLease : public LeaseBase {
 public:
    TurnLease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state, Turn turn)
        : LeaseBase(keeper, std::move(state)), turn_(std::move(turn)) {}
    TurnLease(TurnLease&&) noexcept = default;
    ~TurnLease() override;

    const Turn& turn() const { return turn_; }

    // Acks go with those of other turns from now on.
    void ack_through(TurnSettler& settler) { settler_ = &settler; }
    // A call that was to commit an ack was to fetch for the thread that acked, too.
    bool has_fetched() const { return has_fetched_; }
    // The next turn of the instance, if the ack has brought it.
    std::optional<Turn> take_next() { return std::exchange(next_, std::nullopt); }

    void ack(const Decision& decision, Where where = Where::current());
    void ack_with(const std::function<void(Connection&)>& body, const Decision& decision,
                  Where where = Where::current());
    void give_back(std::optional<Milliseconds> delay, bool ignore_attempt) override;

 private:
    Turn turn_;
    TurnSettler* settler_ = nullptr;
    std::optional<Turn> next_ = {};
    bool has_fetched_ = false;
};

// ---- Tasks and activities. ----

// What was leased for a handler.
using Work = std::variant<ClaimedTask, WorkItem>;

// What became of an outcome.
struct Settlement {
    WorkerEvent::Kind kind;
    std::string message = {};
    bool run_again = false;  // the handler is to be called again: its signals are there
};

// An outcome as a part of a portion: one call that settles many.
using PortionPart = std::variant<TaskOutcome, WorkOutcome>;

// What a handler may know of its work, as text.
struct TaskFacts {
    Uuid id = {};
    std::string queue = {};
    std::string kind = {};
    std::string payload = "null";
    std::string headers = "{}";
    int priority = 0;
    int attempt = 0;
    OptionalText checkpoint = {};
    OptionalTime deadline = {};
    std::int64_t epoch = 0;
    std::optional<Uuid> flow_id = {};
    bool is_activity = false;
    OptionalText instance = {};
    OptionalNumber execution_id = {};
    OptionalNumber activity_id = {};
};

// The lease of a task or an activity, until a portion, settle(), complete_with(), suspend(),
// give_back() or the destructor ends it.
class HeldLease : public LeaseBase {
 public:
    const TaskFacts& facts() const { return facts_; }

    // Ends the lease as the handler has decided, by a call of its own.
    virtual Settlement settle(const Outcome& outcome) = 0;

    // What a portion says to do the same; none if only a call of its own can.
    virtual std::optional<PortionPart> part(const Outcome& outcome) const = 0;
    // What a portion says to give the work back without counting the attempt.
    virtual PortionPart part_to_give_back(std::optional<Milliseconds> delay) const = 0;

    // How a portion ends the lease. begin_settling() comes first, right before the portion is sent,
    // because the lease is extended no more: false if it was ended before. Then nothing if the
    // portion was done, or one of the others.
    bool begin_settling();
    void leave_open();      // the portion has not happened, or not for this lease
    void leave_unknown();   // see unknown()
    void leave_settled();   // what was unknown is known
    void leave_to_lapse();  // nothing more is done about it

    // Ends the lease by the next portion; returns when that is committed. Throws as settle() does.
    void settle_in_portion(Outcome outcome);
    // Who makes portions.
    void set_portions(std::function<void(Outcome)> portions) { portions_ = std::move(portions); }

    virtual void complete_with(const std::function<void(Connection&)>& body,
                               const OptionalText& result, Where where) = 0;
    virtual void write(const std::function<void(Connection&)>& body, Where where) = 0;

    // Of tasks only; an activity throws Error (0A000).
    virtual void progress(const TaskProgress& progress, Where where) = 0;
    virtual SuspendedTask suspend(const NewSuspension& suspension, Where where) = 0;
    virtual CreatedWaitpoint create_waitpoint(std::string_view key, Milliseconds expires_in,
                                              Where where) = 0;
    virtual std::vector<UpstreamResult> upstream(Where where) = 0;
    virtual std::vector<Signal> signals(Where where) = 0;

    // Reports that nothing works under this lease any more, if it was lost because its flow was
    // cancelled.
    virtual void confirm_cancel() = 0;

 protected:
    HeldLease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state, TaskFacts facts)
        : LeaseBase(keeper, std::move(state)), facts_(std::move(facts)) {}

    TaskFacts facts_;

 private:
    std::function<void(Outcome)> portions_ = {};
};

struct KeeperOptions {
    std::string hub = {};  // of leases that are kept without one
    // As the fetches have it. Leases are extended by the same time.
    Milliseconds lease{30000};
    Clock clock = server_clock();
    // An owner id whose session locks are extended too, until a session was idle for so long. The
    // locks last session_lock_timeout, by default as long as a lease.
    OptionalText session_owner = {};
    std::optional<Milliseconds> session_lock_timeout = {};
    Milliseconds session_idle_timeout{300000};
    // Receives errors that no caller sees: of extensions, and of what destructors release. Called
    // by any thread.
    std::function<void(const std::exception&)> on_error = {};
};

class LeaseKeeper {
 public:
    // Extends by connections of the pool: if it is used for nothing else, nothing keeps the leases
    // from being extended.
    LeaseKeeper(Pool& pool, KeeperOptions options);
    ~LeaseKeeper();
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;

    // Takes over what was just fetched.
    TurnLease keep(Turn turn);
    std::unique_ptr<HeldLease> keep(Work work) { return std::move(keep_all({std::move(work)})[0]); }
    std::vector<std::unique_ptr<HeldLease>> keep_all(std::vector<Work> work) {
        return keep_all(std::move(work), options_.hub);
    }
    std::vector<std::unique_ptr<HeldLease>> keep_all(std::vector<Work> work,
                                                     const std::string& hub);

    // Extends all leases soon, in the keeper's thread: those that were cancelled are found out.
    void extend_now();

    // How many leases are held.
    std::size_t held() const;

 private:
    friend class LeaseBase;

    using States = std::vector<std::shared_ptr<LeaseState>>;

    struct HeldOfHub;

    std::unique_ptr<HeldLease> lease_of(Work work, const std::string& hub);
    const std::string& name_of(const std::string& hub);
    void begin(LeaseState& state, const std::string& hub);
    void add(LeaseState& state);  // with mutex_ held
    void remove(const std::shared_ptr<LeaseState>& state) noexcept;
    void run(const std::stop_token& stop);
    void extend_leases();
    void extend_leases_of(Connection& connection, const HeldOfHub& held) const;
    void extend_sessions();
    void find_out_why(Hub& hub, LeaseState& state, const Error& error) const noexcept;
    void ask_why(Hub& hub, const States& lost) const;
    void extend_items(Hub& hub, const States& items) const;
    void extend_turns(Hub& hub, const States& turns) const;
    void extend_tasks(Hub& hub, const States& tasks) const;
    Milliseconds period() const;
    void report(const std::exception& error) const noexcept;

    Pool& pool_;
    const KeeperOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    // Guarded by mutex_:
    std::set<std::string> hubs_ = {};  // a lease may go while its hub's name is being used
    LeaseState* leases_ = nullptr;     // the first
    std::size_t held_ = 0;
    bool extend_now_ = false;
    // Where sessions may be held: something was leased since the last extension, or that found
    // some.
    std::set<const std::string*> session_hubs_ = {};
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace belay
