// Settles what handlers have ended, many outcomes in one call, and leases the next work with it.
//
// The life of a job: a call leases it; it waits in the buffer; a handler's thread takes it and runs
// its handler; its outcome waits among the ended ones; a portion settles it, and the host is
// notified. Nothing waits for company: a settler that is idle sends what is there, be it one
// outcome, and what ends while all settlers have calls under way goes with their next ones. So a
// busy worker shares a commit among many jobs, and a lone job is settled at once.
//
// A commit that settles waits for the disk, one that only leases need not (belay.async_leases). So
// while jobs are long and handlers are free for more, leasing and settling are calls of their own:
// handlers do not wait for the commit of what they have done.
//
// Each outcome has its own fate. One that the server refuses is settled again by a call of its own,
// which says why. If a call is refused as a whole because of something in it, its halves are sent,
// and so on. If it fails because of the infrastructure, all its jobs are reported, and what is
// still held is released by one more call.
//
// The buffer. Handlers that end within microseconds would wait for the next call again and again,
// so an automatic buffer follows them. It has no place until a job has ended: what is buffered
// waits while handlers of other workers may be idle. Then it grows each time a handler finds it
// empty though the queue has more, up to what the handlers get through in a few milliseconds. What
// is in it goes back when the oldest job has waited for ten times as long: a run of short jobs says
// nothing about the next one.
//
// Lanes. Jobs are from a hub on a server, and each call is about one of these lanes. A worker of a
// family has many: its handlers, buffer and settlers are for all of them. Lanes that are known to
// have more work take turns: a call leases from the next one, be it the one whose outcomes are
// settled or not, so no hub takes all handlers.
//
// Threads. A settler has `connections` threads, which make the calls with connections of the pool,
// one at a time each. The handlers' threads call take(), hand_over() and done(); the thread that
// waits for work, or one for each server, calls free_handlers() and receive(). The thread of run()
// leads the end: stop_receiving(), await_idle(), and, when the handlers' threads have ended,
// finish().
//
// A lone job. To wake a settler for it takes longer than all that the client does for it besides.
// So while a settler is idle, no other handler runs, no more work is known, and another thread is
// free for what may come, the thread of the handler makes the settler's call itself. Its handler
// counts as busy meanwhile, so this is done for one job at a time.
//
// Wake-ups. Waking a thread costs more than a short job. While jobs are short, one handler's thread
// is woken at a time, and it wakes the next one if there are jobs left; else all that are needed
// are woken at once. Either way a thread is on its way for as long as jobs and sleeping threads
// exist.
//
// Locks. mutex_ guards all that changes. It is the innermost: a thread that holds it calls neither
// the server, nor the host (except stopping(), which takes no lock), nor anything of a lease. A job
// belongs to one thread at a time: the one that has taken it out of the buffer or from the ended
// ones.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "belay/pool.hpp"
#include "coupling.hpp"
#include "lease.hpp"

namespace belay {

// A server, as the settler uses it. Outlives the settler.
struct HubServer {
    using SteadyTime = std::chrono::steady_clock::time_point;

    Pool& portions;
    Pool& handlers;  // of the calls that handlers make
    LeaseKeeper& keeper;
    // Other servers have hubs of the same worker, so no settler waits for this one while it is
    // away: its jobs are put back, and tried again after a pause.
    bool is_one_of_many = false;
    // Guarded by the settler's mutex:
    int failures = 0;  // attempts to connect that have failed in a row
    SteadyTime away_since = {};
    SteadyTime retry_at = {};
};

// A hub on a server: what is leased there goes back there. Guarded by the settler's mutex, but for
// the first two.
struct Lane {
    Lane(HubServer& on, std::string name) : server(on), hub(std::move(name)) {}

    HubServer& server;
    const std::string hub;
    bool more = false;              // the last answer left it open whether there is more
    bool listened = false;          // the thread that waits is notified of new work
    bool activities_first = false;  // in the next call
};

// A task or activity between its lease and its settlement.
struct Job {
    using SteadyTime = std::chrono::steady_clock::time_point;

    Job(std::unique_ptr<HeldLease> held, Lane& from, SteadyTime now)
        : lease(std::move(held)), task(*lease), lane(&from), received(now) {}

    std::unique_ptr<HeldLease> lease;
    Task task;  // of the lease
    Lane* lane;
    SteadyTime received;
    SteadyTime began = {};  // the handler
    // None: no handler has begun it, and it goes back.
    std::optional<Outcome> outcome = {};
    bool told = false;                              // what became of it, while its handler ran on
    std::optional<PortionPart> part = {};           // what a portion says, if that is known
    std::unique_ptr<PredictedTurn> predicted = {};  // the turn behind it

    // A handler that waits in Task::settle() lends its job to a portion.
    struct Loan {
        bool settled = false;             // if not, a call of its own may settle it
        std::optional<Error> error = {};  // of the portion
        std::mutex mutex = {};
        std::condition_variable returned = {};
        bool is_returned = false;  // guarded by mutex

        void give_back() {
            const std::lock_guard lock(mutex);
            is_returned = true;
            returned.notify_one();  // the borrower's last use of it
        }
        void await() {
            std::unique_lock lock(mutex);
            returned.wait(lock, [this] { return is_returned; });
        }
    };
    Loan* loan = nullptr;
};

// The end of a job, or of a loan.
struct EndJob {
    void operator()(Job* job) const {
        if (job->loan != nullptr) {
            job->loan->give_back();
        } else {
            delete job;
        }
    }
};
using JobPointer = std::unique_ptr<Job, EndJob>;

// The worker, as its settler sees it. Called by several threads at once.
class SettlerHost {
 public:
    // The outcome is committed.
    virtual void settled(Job& job, Settlement settlement) = 0;
    // The outcome cannot be settled with others: the host settles it by itself, or says why not.
    virtual void settle_alone(Job& job) = 0;
    // The call that was to settle it has failed. What is still held is released afterwards.
    virtual void failed_call(Job& job, const Error& error) = 0;
    // The lease of a job that no handler has begun is lost.
    virtual void lost_unused(Job& job) = 0;
    // When to try again what was released because a call has failed.
    virtual Milliseconds delay_after(const Task& task) const = 0;

    // A call has failed in the hub.
    virtual void failed_in(const Lane&, const Error&) noexcept {}

    virtual bool stopping() const = 0;
    // A handler is free, and nothing more comes by itself.
    virtual void look_again() noexcept = 0;
    virtual void tell_error(const std::exception& error) const noexcept = 0;

 protected:
    ~SettlerHost() = default;
};

struct SettlerOptions {
    std::string hub = {};
    Clock clock = server_clock();
    int concurrency = 1;
    int connections = 1;
    int settle_max = 500;
    int prefetch = 0;     // the size of the buffer
    bool adapts = false;  // instead, it grows from 0 as handlers need it
    int prefetch_threshold = 1;
    Milliseconds prefetch_max_age{10000};
    // As of ConnectionOptions.
    Milliseconds reconnect_timeout{30000};
    std::shared_ptr<ReconnectLimit> reconnect_limit = std::make_shared<ReconnectLimit>();
    // What to lease.
    std::optional<ClaimOptions> tasks = {};
    std::optional<FetchOptions> activities = {};
    // A dispatcher whose turns come with what is settled of activities.
    SideSlot<TurnSide>* turns = nullptr;
};

class Settler : public WorkSide {
 public:
    // Without a lane; with one, of options.hub.
    Settler(SettlerOptions options, SettlerHost& host);
    Settler(HubServer& server, SettlerOptions options, SettlerHost& host);
    virtual ~Settler() { finish(); }
    Settler(const Settler&) = delete;
    Settler& operator=(const Settler&) = delete;

    // ---- For the thread that waits for work. ----

    using Lanes = std::span<Lane* const>;

    // A hub on a server that has it. The lane stays until the settler goes.
    Lane& add_lane(HubServer& server, std::string hub);

    // How many handlers have nothing to do and nothing to expect. If none, the host's look_again()
    // is called as soon as there is one. The thread does not wait for work of these lanes.
    int free_handlers(Lanes lanes);
    int free_handlers() { return free_handlers({&first_lane_, 1}); }

    // Leases work for the free handlers and for the buffer. Returns how much it was. What was
    // leased goes to the handlers, even if it throws.
    int receive(Hub& hub, Lane& lane);
    int receive(Hub& hub) { return receive(hub, *first_lane_); }

    // With several lanes. The thread is about to wait for work of these.
    void listen(Lanes lanes);
    // There is work in the lane. It is leased when its turn comes.
    void has_work(Lane& lane);
    bool is_known_to_have_work(const Lane& lane);
    // The server does not have the hub any more.
    void close(Lane& lane);

    // Nothing more is leased, and handlers' threads get no more jobs: those in the buffer go back.
    void stop_receiving();

    // Waits until no handler runs and everything is settled. False if that takes longer.
    bool await_idle(std::chrono::steady_clock::time_point end);

    // Settles the rest, when the handlers' threads have ended.
    void finish();

    // ---- For the calls of a dispatcher. ----

    int reserve_work() override;
    FetchOptions work_options(int max_items) const override;
    void receive_work(std::vector<WorkItem> items, int reserved) noexcept override;

    // ---- For the handlers' threads. ----

    // The next job, which the caller then hands over or reports as done; null if it is time to go.
    JobPointer take();
    // Takes a job that has ended, and returns as take() does.
    JobPointer hand_over(JobPointer job);
    void done(JobPointer job);
    // Settles a job whose handler continues: returns when its portion is committed, or throws.
    void settle_and_wait(Job& job, Outcome outcome);

 private:
    enum class Source { kTasks, kActivities };

    // The most that one call leases.
    static constexpr int kMaxLeased = 1000;
    // Jobs below this are short: waking a thread for one takes as long.
    static constexpr std::chrono::microseconds kShort{50};
    // Jobs above this are long: a call more to lease the next ones costs little beside them, and
    // less than handlers that wait for a commit.
    static constexpr std::chrono::milliseconds kLong{1};
    // The mean is that of about so many jobs: one that was preempted says little.
    static constexpr int kRemembered = 64;

    // How much a call may lease: for handlers that have nothing to do, and for the buffer.
    struct Room {
        int handlers = 0;
        int buffer = 0;

        int all() const { return handlers + buffer; }
        void use(int count);
    };

    // What one turn of a settler does: it settles jobs of one lane, and leases from the same or
    // another one.
    struct Round {
        Lane* lane = nullptr;  // of the jobs
        std::vector<JobPointer> jobs = {};
        Lane* from = nullptr;  // to lease from
        Room room = {};
        Source first = Source::kTasks;
    };

    struct Portion {
        std::vector<JobPointer> jobs = {};
        std::vector<PortionPart> parts = {};  // what it says of each
    };

    struct Answer {
        std::vector<SettledOutcome> outcomes = {};
        std::vector<Work> work = {};
        std::vector<AckedTurn> predicted = {};
    };

    void serve();
    void settle_here(Round round);
    void wait_for_work(std::unique_lock<std::mutex>& lock);
    void run_round(Round round);
    void settle(Lane& lane, Source source, std::vector<JobPointer> jobs, Room& room);
    Portion portion_of(std::vector<JobPointer> jobs, std::vector<JobPointer>& others);
    void begin_portion(Portion& portion, std::vector<JobPointer>& others);
    void hand_on(Lane& lane, std::vector<Work> work, Room& room) noexcept;
    bool put_back(HubServer& server, std::vector<JobPointer>& jobs, std::vector<JobPointer>& others,
                  const Error& error);
    void fail_portion(Lane& lane, Source source, std::vector<JobPointer> jobs, const Error& error);
    void settle_halves(Lane& lane, Source source, std::vector<JobPointer> jobs);
    void tell_outcome(JobPointer job, const SettledOutcome& outcome) noexcept;
    void give_back_failed(Lane& lane, Source source, std::vector<JobPointer> jobs,
                          const Error& error);
    void alone(JobPointer job) noexcept;
    void tell_failure(Job& job, const Error& error);
    PooledConnection take_connection(HubServer& server);
    Answer call(Hub& hub, Source source, std::vector<PortionPart> parts,
                const std::vector<TurnAck>& predicted, const Room& room);
    SettledTurnsAndWork call_for_activities(Hub& hub, const std::vector<WorkOutcome>& outcomes,
                                            const std::vector<TurnAck>& predicted,
                                            const FetchOptions& fetch, const Prefetch& prefetch);
    void predict(Job& job) noexcept;
    static std::vector<TurnAck> predicted_of(const Portion& portion);
    static void tell_predicted(const Portion& portion, const std::vector<AckedTurn>& acks) noexcept;
    bool serves(Source source) const;
    bool deliver(Lane& lane, std::vector<Work> work);

    // Called with mutex_ held.
    int idle_handlers() const;
    bool is_away(const Lane& lane) const;
    bool has_ended() const;
    Lane* next_lane() const;
    bool has_more() const;
    bool has_several_with_more() const;
    bool needs_a_claim() const;
    bool is_about_to_begin() const;
    bool is_alone(const Job& job) const;
    bool claims_apart() const;
    bool is_about_to_ask() const;
    Room reserve();
    void take_ended(Round& round);
    Round begin_round();
    void end_round(const Round& round, int received);
    bool is_hungry();
    void give_back_buffer(std::size_t count);
    void give_back_buffer_of(const Lane& lane);
    void give_back_old();
    Source next_source(Lane& lane) const;
    JobPointer take_from_buffer();
    int handlers_to_wake();
    int most_depth() const;
    void measure(const Job& job);
    bool is_too_deep() const;
    Milliseconds max_age() const;

    // Called without it.
    void wake_handlers(int count);

    const SettlerOptions options_;
    SettlerHost& host_;

    std::atomic<bool> predicts_{true};  // until a hub turns out not to have predicted turns

    std::mutex mutex_;
    std::condition_variable buffer_changed_;
    std::condition_variable ended_changed_;
    std::condition_variable idle_;
    // Guarded by mutex_:
    std::list<Lane> lanes_ = {};
    Lane* first_lane_ = nullptr;
    const Lane* last_leased_ = nullptr;  // from
    std::deque<JobPointer> buffer_;      // oldest first
    std::deque<JobPointer> ended_;       // in the order in which they ended
    int running_ = 0;                    // jobs in handlers
    int sleeping_ = 0;                   // handlers' threads that wait for a job
    int waking_ = 0;                     // of these, those that have been woken and do not run yet
    int idle_settlers_ = 0;              // settlers' threads that wait for a round
    int depth_ = 0;                      // how large the buffer is to be
    bool starved_ = false;               // a handler has found it empty since the last round began
    std::chrono::nanoseconds mean_length_{kShort};  // of jobs in handlers, of late
    int measured_ = 0;             // how many jobs mean_length_ is of, up to kRemembered
    int asked_ = 0;                // jobs that calls under way may bring
    int under_way_ = 0;            // rounds, and calls of threads that wait for work
    int rounds_ = 0;               // of settlers, and of handlers' threads in their place
    bool claimed_apart_ = false;   // the last round has only leased
    bool awaits_handler_ = false;  // a thread that waits is to be notified of a free handler
    bool prefetches_ = true;       // not after jobs grew old in the buffer, until one has ended
    bool stopping_ = false;
    bool finishing_ = false;
    std::vector<std::jthread> threads_;  // the last member: they use the others
};

}  // namespace belay
