// Leases that renew themselves.
//
// A LeaseKeeper has one thread. It renews all its leases of work items in one call, turns one by
// one, and sessions in one call, each time a third of the lock timeout has passed. A lease that is
// lost (QB001), or that could not be renewed until its deadline, requests a stop through its
// stop_token.
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

// The parts that leases of work items and of turns have in common.
class LeaseBase {
 public:
    LeaseBase(LeaseBase&&) noexcept = default;
    LeaseBase& operator=(LeaseBase&&) = delete;

    const std::string& lock_token() const;

    // Stops when the lease is lost, when the work is cancelled, or when somebody asks for it with
    // request_stop().
    std::stop_token stop_token() const;
    void request_stop();

    // The lease is known to be lost: nothing that was done under it will be accepted.
    bool lost() const;

    // Acked or abandoned.
    bool settled() const;

 protected:
    LeaseBase(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state);
    ~LeaseBase();

    // Runs call, which ends the lease. Throws std::logic_error if it was ended before. After an
    // error that leaves the lease as it was, it can be settled again.
    template <typename Call>
    auto settle(Call call);

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

    std::shared_ptr<LeaseState> add(const std::string& token, bool is_turn);
    void remove(const LeaseState& state) noexcept;
    void run(const std::stop_token& stop);
    void renew_all();
    void renew_leases();
    void renew_sessions();
    Milliseconds period() const;
    void report(const std::exception& error) const noexcept;

    Pool& pool_;
    const KeeperOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<std::shared_ptr<LeaseState>> leases_;  // guarded by mutex_, as are the next two
    bool renew_now_ = false;
    // Sessions may be held: something was leased since the last renewal, or that found some.
    bool has_sessions_ = false;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace belay
