// The settler of tasks and activities: its buffer, its portions, and what becomes of each outcome.
//
// May touch: its state, under mutex_. Must not: call the host or a server under mutex_.
#include "settler.hpp"

#include <algorithm>
#include <utility>

#include "mutants.hpp"
#include "retry.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long a job may wait in an automatic buffer that is too deep.
constexpr Milliseconds kMaxWait{100};

// A portion has at most so many bytes of results, unless it is a single job.
constexpr std::size_t kMaxPortionBytes = std::size_t{8} << 20;

std::size_t bytes_of(const Job& job) {
    return job.outcome && job.outcome->text() ? job.outcome->text()->size() : 0;
}

// How long to wait for a connection: without one, a settler can do nothing else.
constexpr std::chrono::hours kPatience{24};

// The error of a call that failed in this process, from lack of memory or because of its answer:
// whether the server has committed it is unknown.
Error unknown_outcome(std::string message) {
    return Error({.message = std::move(message), .outcome_unknown = true});
}

template <typename Part>
std::vector<Part> parts_of(std::vector<PortionPart> parts) {
    std::vector<Part> all;
    all.reserve(parts.size());
    for (auto& part : parts) {
        all.push_back(std::move(std::get<Part>(part)));
    }
    return all;
}

template <typename Leased>
std::vector<Work> work_of(std::vector<Leased> leased) {
    std::vector<Work> work;
    work.reserve(leased.size());
    for (auto& one : leased) {
        work.emplace_back(std::move(one));
    }
    return work;
}

}  // namespace

void Settler::Room::use(int count) {
    const int first = std::min(count, handlers);
    handlers -= first;
    buffer = std::max(0, buffer - (count - first));
}

Settler::Settler(SettlerOptions options, SettlerHost& host)
    : options_(std::move(options)), host_(host), depth_(options_.prefetch) {
    for (int i = 0; i < options_.connections; ++i) {
        threads_.emplace_back([this] { serve(); });
    }
}

Settler::Settler(HubServer& server, SettlerOptions options, SettlerHost& host)
    : Settler(std::move(options), host) {
    first_lane_ = &add_lane(server, options_.hub);
}

// ---- For the thread that waits for work. ----

void Settler::stop_receiving() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        give_back_buffer(buffer_.size());
    }
    buffer_changed_.notify_all();
    ended_changed_.notify_all();
}

bool Settler::await_idle(SteadyClock::time_point end) {
    std::unique_lock lock(mutex_);
    return idle_.wait_until(lock, end, [this] {
        return running_ == 0 && under_way_ == 0 && buffer_.empty() && ended_.empty();
    });
}

void Settler::finish() {
    {
        const std::lock_guard lock(mutex_);
        finishing_ = true;
    }
    ended_changed_.notify_all();
    threads_.clear();
}

// ---- For the handlers' threads. ----

JobPointer Settler::take() {
    JobPointer job;
    int others = 0;
    {
        std::unique_lock lock(mutex_);
        while (!stopping_ && buffer_.empty()) {
            starved_ = true;
            ++sleeping_;
            buffer_changed_.wait(lock);
            --sleeping_;
            waking_ = std::max(0, waking_ - 1);
        }
        job = take_from_buffer();
        others = handlers_to_wake();
    }
    wake_handlers(others);
    return job;
}

JobPointer Settler::hand_over(JobPointer job) {
    predict(*job);
    job->lease->call_through(job->lane->server.portions);
    std::optional<Round> own;
    JobPointer next;
    bool settler_sleeps = false;
    bool leaves = false;
    {
        const std::lock_guard lock(mutex_);
        measure(*job);
        prefetches_ = true;
        const bool alone = is_alone(*job);
        ended_.push_back(std::move(job));
        if (alone) {
            own = begin_round();
        } else {
            --running_;
            settler_sleeps = idle_settlers_ > 0 && rounds_ < options_.connections;
            next = take_from_buffer();
            leaves = stopping_;
        }
    }
    if (own) {
        settle_here(std::move(*own));
        return take();
    }
    if (settler_sleeps) {
        ended_changed_.notify_one();
    }
    return next || leaves ? std::move(next) : take();
}

// A handler's thread does what a settler's would.
void Settler::settle_here(Round round) {
    try {
        run_round(std::move(round));
    } catch (const std::exception& error) {
        host_.tell_error(error);
    }
    bool hungry = false;
    bool others = false;
    {
        const std::lock_guard lock(mutex_);
        --running_;
        // A settler waits for the time at which what is left there is due.
        others = !ended_.empty() || !buffer_.empty() || needs_a_claim();
        hungry = is_hungry();
    }
    idle_.notify_all();
    if (others) {
        ended_changed_.notify_one();
    }
    if (hungry) {
        host_.look_again();
    }
}

void Settler::settle_and_wait(Job& job, Outcome outcome) {
    Job::Loan loan;
    job.outcome = std::move(outcome);
    job.loan = &loan;
    {
        const std::lock_guard lock(mutex_);
        ended_.emplace_back(&job);
    }
    ended_changed_.notify_one();
    loan.await();
    job.loan = nullptr;
    // Removed from the job, so that no portion settles it again.
    const Outcome sent = *std::exchange(job.outcome, std::nullopt);
    if (loan.error) {
        throw Error(*loan.error);
    }
    if (!loan.settled) {
        host_.settled(job, job.lease->settle(sent));
    }
    job.told = true;
}

// Null: the buffer is empty, or the worker stops.
JobPointer Settler::take_from_buffer() {
    if (buffer_.empty() || stopping_ || host_.stopping()) {
        return nullptr;
    }
    JobPointer job = std::move(buffer_.front());
    buffer_.pop_front();
    ++running_;
    return job;
}

// How many more of the handlers' threads the caller has to wake. They count as woken from here on.
int Settler::handlers_to_wake() {
    const int unserved = std::min(static_cast<int>(buffer_.size()), sleeping_) - waking_;
    const int most = mean_length_ < kShort ? 1 - waking_ : unserved;
    const int count = std::max(0, std::min(unserved, most));
    waking_ += count;
    return count;
}

void Settler::wake_handlers(int count) {
    for (; count > 0; --count) {
        buffer_changed_.notify_one();
    }
}

void Settler::done(JobPointer job) {
    bool hungry = false;
    bool claims = false;
    {
        const std::lock_guard lock(mutex_);
        measure(*job);
        --running_;
        prefetches_ = true;
        claims = needs_a_claim();
        hungry = is_hungry();
    }
    idle_.notify_all();
    if (claims) {
        ended_changed_.notify_one();
    }
    if (hungry) {
        host_.look_again();
    }
}

// ---- The settlers' threads. ----

void Settler::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wait_for_work(lock);
        if (!has_ended() && !needs_a_claim()) {
            return;
        }
        Round round = begin_round();
        const bool leaves_some = idle_settlers_ > 0 && is_about_to_begin();
        lock.unlock();
        if (leaves_some) {
            ended_changed_.notify_one();
        }
        try {
            run_round(std::move(round));
        } catch (const std::exception& error) {
            host_.tell_error(error);
        }
        lock.lock();
    }
}

// Waits until there is something for a round, or finish() is called.
void Settler::wait_for_work(std::unique_lock<std::mutex>& lock) {
    give_back_old();
    while (!is_about_to_begin() && !finishing_) {
        ++idle_settlers_;
        if (buffer_.empty() && ended_.empty()) {
            ended_changed_.wait(lock);
        } else {
            auto next = buffer_.empty() ? SteadyClock::time_point::max()
                                        : buffer_.front()->received + max_age();
            for (const JobPointer& job : ended_) {
                next = std::min(next, job->lane->server.retry_at);  // they are away
            }
            ended_changed_.wait_until(lock, next);
        }
        --idle_settlers_;
        give_back_old();
    }
}

// Moves the oldest jobs of the buffer to those that have ended.
void Settler::give_back_buffer(std::size_t count) {
    for (; count > 0; --count) {
        ended_.push_back(std::move(buffer_.front()));
        buffer_.pop_front();
    }
}

void Settler::give_back_buffer_of(const Lane& lane) {
    const auto is_of_another = [&lane](const JobPointer& job) { return job->lane != &lane; };
    const auto first = std::stable_partition(buffer_.begin(), buffer_.end(), is_of_another);
    std::move(first, buffer_.end(), std::back_inserter(ended_));
    buffer_.erase(first, buffer_.end());
}

// Whether an automatic buffer has more jobs than threads that wait for one.
bool Settler::is_too_deep() const {
    return options_.adapts && static_cast<int>(buffer_.size()) > sleeping_;
}

// The age of the oldest job at which some of the buffer goes back.
Milliseconds Settler::max_age() const {
    return is_too_deep() ? std::min(kMaxWait, options_.prefetch_max_age)
                         : options_.prefetch_max_age;
}

void Settler::give_back_old() {
    const auto now = SteadyClock::now();
    // Handlers take from the front, so the youngest go back.
    if (is_too_deep() && now - buffer_.front()->received >= kMaxWait) {
        depth_ = 0;
        measured_ = 0;  // the last jobs say nothing about these
        prefetches_ = false;
        for (; is_too_deep(); buffer_.pop_back()) {
            ended_.push_back(std::move(buffer_.back()));
        }
    }
    const auto limit = now - options_.prefetch_max_age;
    const auto young =
        std::ranges::find_if(buffer_, [&](const JobPointer& job) { return job->received > limit; });
    const auto old = static_cast<std::size_t>(young - buffer_.begin());
    if (old > 0) {
        prefetches_ = false;
        give_back_buffer(old);
    }
}

// Takes what has ended first, and what is of the same lane.
void Settler::take_ended(Round& round) {
    std::size_t bytes = 0;
    std::vector<JobPointer> left;
    while (!ended_.empty() && round.jobs.size() < static_cast<std::size_t>(options_.settle_max)) {
        JobPointer& job = ended_.front();
        if (round.lane == nullptr && !is_away(*job->lane)) {
            round.lane = job->lane;
        }
        if (job->lane == round.lane) {
            bytes += bytes_of(*job);
            if (bytes > kMaxPortionBytes && !round.jobs.empty()) {
                break;
            }
            round.jobs.push_back(std::move(job));
        } else {
            left.push_back(std::move(job));
        }
        ended_.pop_front();
    }
    for (; !left.empty(); left.pop_back()) {
        ended_.push_front(std::move(left.back()));
    }
}

Settler::Round Settler::begin_round() {
    Round round;
    // A round that only leases never follows another one, so outcomes do not wait.
    claimed_apart_ = !claimed_apart_ && has_ended() && claims_apart();
    if (!claimed_apart_) {
        take_ended(round);
    }
    // A turn that goes with its outcome schedules activities, which come with the same call.
    const bool makes_work = std::ranges::any_of(
        round.jobs, [](const JobPointer& job) { return job->predicted != nullptr; });
    Lane* next = next_lane();
    Lane* from = next != nullptr                                                  ? next
                 : round.lane != nullptr && (!round.lane->listened || makes_work) ? round.lane
                                                                                  : nullptr;
    // Leases nothing if the thread that waits for work, or another settler, does so.
    const bool another = idle_settlers_ > 0 && claims_apart();
    if (from != nullptr && (claimed_apart_ || round.jobs.empty() || makes_work || !another)) {
        round.from = from;
        round.room = reserve();
        if (has_several_with_more()) {
            // The buffer's threshold would keep a hub with little work from its turn.
            const int ahead = std::min(round.room.buffer, options_.concurrency);
            round.room.handlers += ahead;
            round.room.buffer -= ahead;
        }
        last_leased_ = round.room.all() > 0 ? from : last_leased_;
    }
    Lane* asked = round.from != nullptr ? round.from : round.lane;
    round.first = asked != nullptr ? next_source(*asked) : Source::kTasks;
    ++under_way_;
    ++rounds_;
    return round;
}

void Settler::end_round(const Round& round, int received) {
    asked_ -= round.room.all() - received;
    --under_way_;
    if (round.room.handlers > 0) {
        round.from->more = received >= round.room.handlers;
    }
}

void Settler::run_round(Round round) {
    Room left = round.room;
    struct End {
        Settler& settler;
        const Round& round;
        const Room& left;
        ~End() {
            bool hungry = false;
            bool others = false;
            {
                const std::lock_guard lock(settler.mutex_);
                --settler.rounds_;
                settler.end_round(round, round.room.all() - left.all());
                hungry = settler.is_hungry();
                others = settler.is_about_to_begin();
            }
            settler.idle_.notify_all();
            if (others) {
                settler.ended_changed_.notify_one();
            }
            if (hungry) {
                settler.host_.look_again();
            }
        }
    } end{*this, round, left};
    std::vector<JobPointer> tasks;
    std::vector<JobPointer> activities;
    for (auto& job : round.jobs) {
        (job->task.is_activity() ? activities : tasks).push_back(std::move(job));
    }
    const Source second = round.first == Source::kTasks ? Source::kActivities : Source::kTasks;
    Room none;
    Room& beside = round.from == round.lane ? left : none;
    for (const Source source : {round.first, second}) {
        auto& jobs = source == Source::kTasks ? tasks : activities;
        if (!jobs.empty() || (round.lane != nullptr && beside.all() > 0 && serves(source))) {
            settle(*round.lane, source, std::move(jobs), beside);
        }
    }
    for (const Source source : {round.first, second}) {
        if (round.from != nullptr && round.from != round.lane && left.all() > 0 && serves(source)) {
            settle(*round.from, source, {}, left);
        }
    }
}

// Makes a portion of the jobs. Those that need a call of their own go to `others`.
Settler::Portion Settler::portion_of(std::vector<JobPointer> jobs,
                                     std::vector<JobPointer>& others) {
    Portion portion;
    for (auto& job : jobs) {
        std::optional<PortionPart> part;
        try {
            part = job->part      ? std::exchange(job->part, std::nullopt)
                   : job->outcome ? job->lease->part(*job->outcome)
                                  : job->lease->part_to_give_back({});
        } catch (const std::exception&) {
            // A call of its own reports what is wrong with it.
        }
        if (part) {
            portion.parts.push_back(std::move(*part));
            portion.jobs.push_back(std::move(job));
        } else {
            others.push_back(std::move(job));
        }
    }
    return portion;
}

// Claims the jobs' leases for the call that ends them. What was lost or ended meanwhile goes to
// `others`.
void Settler::begin_portion(Portion& portion, std::vector<JobPointer>& others) {
    auto job = portion.jobs.begin();
    auto part = portion.parts.begin();
    while (job != portion.jobs.end()) {
        if (!(*job)->lease->lost() && (*job)->lease->begin_settling()) {
            ++job;
            ++part;
            continue;
        }
        others.push_back(std::move(*job));
        job = portion.jobs.erase(job);
        part = portion.parts.erase(part);
    }
}

// Settles jobs of one source; uses some of the room.
void Settler::settle(Lane& lane, Source source, std::vector<JobPointer> jobs, Room& room) {
    std::vector<JobPointer> others;  // need a call of their own, when this one's connection is free
    Portion portion;
    Answer answer;
    std::optional<Error> failure;
    bool begun = false;
    try {
        portion = portion_of(std::move(jobs), others);
        if (!portion.jobs.empty() || room.all() > 0) {
            // The connection first: leases are extended until begin_portion().
            auto connection = take_connection(lane.server);
            begun = true;
            begin_portion(portion, others);
            Hub hub(*connection, lane.hub, options_.clock);
            const std::vector<TurnAck> predicted = predicted_of(portion);
            answer = call(hub, source, std::move(portion.parts), predicted, room);
        }
    } catch (const Error& error) {
        failure = error;
    } catch (const std::exception& error) {
        failure = unknown_outcome(error.what());
    }
    tell_predicted(portion, answer.predicted);
    if (failure && put_back(lane.server, portion.jobs, others, *failure)) {
        return;
    }
    if (failure && !begun) {
        begin_portion(portion, others);
    }
    if (!failure) {
        hand_on(lane, std::move(answer.work), room);
        if (answer.outcomes.size() != portion.jobs.size()) {
            failure = unknown_outcome("the answer has " + std::to_string(answer.outcomes.size()) +
                                      " outcomes of " + std::to_string(portion.jobs.size()));
        }
    }
    if (failure) {
        fail_portion(lane, source, std::move(portion.jobs), *failure);
    } else {
        for (std::size_t i = 0; i < portion.jobs.size(); ++i) {
            tell_outcome(std::move(portion.jobs[i]), answer.outcomes[i]);
        }
    }
    for (auto& job : others) {
        alone(std::move(job));
    }
}

// Must not throw, because the outcomes still have to be reported. Leases of work that cannot be
// handed over lapse.
void Settler::hand_on(Lane& lane, std::vector<Work> work, Room& room) noexcept {
    try {
        const auto count = static_cast<int>(work.size());
        deliver(lane, std::move(work));
        room.use(count);
    } catch (const std::exception& error) {
        host_.tell_error(error);
    }
}

// After a call that was rejected as a whole: sends halves, until the outcome that caused it is
// alone.
void Settler::settle_halves(Lane& lane, Source source, std::vector<JobPointer> jobs) {
    if (jobs.size() == 1) {
        alone(std::move(jobs[0]));
        return;
    }
    const auto middle = jobs.begin() + static_cast<std::ptrdiff_t>(jobs.size() / 2);
    std::vector<JobPointer> second(std::make_move_iterator(middle),
                                   std::make_move_iterator(jobs.end()));
    jobs.erase(middle, jobs.end());
    Room none;
    settle(lane, source, std::move(jobs), none);
    settle(lane, source, std::move(second), none);
}

// A pool makes connections at once or not at all; a server that restarts is waited for, if there is
// no other one to work for.
PooledConnection Settler::take_connection(HubServer& server) {
    if (server.is_one_of_many) {
        auto connection = server.portions.take(kPatience);
        const std::lock_guard lock(mutex_);
        server.failures = 0;
        return connection;
    }
    const auto deadline = SteadyClock::now() + options_.reconnect_timeout;
    for (int n = 0;; ++n) {
        try {
            return server.portions.take(kPatience);
        } catch (const Error& error) {
            const auto pause = reconnect_pause(n);
            const auto next = SteadyClock::now() + pause;
            if (!error.connection_lost() || next >= deadline ||
                next >= options_.reconnect_limit->time()) {
                throw;
            }
            std::this_thread::sleep_for(pause);
        }
    }
}

Settler::Answer Settler::call(Hub& hub, Source source, std::vector<PortionPart> parts,
                              const std::vector<TurnAck>& predicted, const Room& room) {
    const Prefetch prefetch{.most = room.buffer, .threshold = options_.prefetch_threshold};
    if (source == Source::kTasks) {
        ClaimOptions claim = options_.tasks.value_or(ClaimOptions{});
        claim.max_tasks = room.handlers;
        const bool cut = !parts.empty() && mutants::cuts_portion();
        if (cut) {
            parts.pop_back();
        }
        SettledTasks settled = TaskCalls(hub).settle_and_claim(
            parts_of<TaskOutcome>(std::move(parts)), claim, prefetch);
        if (cut) {
            settled.outcomes.emplace_back();
        }
        return {.outcomes = std::move(settled.outcomes),
                .work = work_of(std::move(settled.claimed))};
    }
    FetchOptions fetch = options_.activities.value_or(FetchOptions{});
    fetch.max_items = room.handlers;
    SettledTurnsAndWork settled = call_for_activities(hub, parts_of<WorkOutcome>(std::move(parts)),
                                                      predicted, fetch, prefetch);
    return {.outcomes = std::move(settled.outcomes),
            .work = work_of(std::move(settled.items)),
            .predicted = std::move(settled.acks)};
}

// Hands over to the handlers what was leased. True if some of it stays in the buffer.
bool Settler::deliver(Lane& lane, std::vector<Work> work) {
    if (work.empty()) {
        return false;
    }
    std::vector<JobPointer> jobs;
    jobs.reserve(work.size());
    const auto now = SteadyClock::now();
    for (auto& lease : lane.server.keeper.keep_all(std::move(work), lane.hub)) {
        JobPointer job(new Job(std::move(lease), lane, now));
        job->lease->call_through(lane.server.portions);
        job->lease->set_portions(
            [this, &lent = *job](Outcome outcome) { settle_and_wait(lent, std::move(outcome)); });
        jobs.push_back(std::move(job));
    }
    int handlers = 0;
    bool stays = false;
    {
        const std::lock_guard lock(mutex_);
        asked_ -= static_cast<int>(jobs.size());
        for (auto& job : jobs) {
            (stopping_ ? ended_ : buffer_).push_back(std::move(job));
        }
        handlers = handlers_to_wake();
        stays = stopping_ || static_cast<int>(buffer_.size()) > sleeping_;
    }
    wake_handlers(handlers);
    return stays;
}

}  // namespace belay
