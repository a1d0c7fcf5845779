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

// The most that one call leases.
constexpr int kMaxLeased = 1000;

// An automatic buffer has at most kMaxDepth places, and no more than jobs that handlers are
// expected to process in kExpectedWait.
constexpr int kMaxDepth = 500;
constexpr Milliseconds kExpectedWait{10};
constexpr Milliseconds kMaxWait = 10 * kExpectedWait;

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

Settler::Settler(Pool& pool, LeaseKeeper& keeper, SettlerOptions options, SettlerHost& host)
    : pool_(pool),
      keeper_(keeper),
      options_(std::move(options)),
      host_(host),
      depth_(options_.prefetch) {
    for (int i = 0; i < options_.connections; ++i) {
        threads_.emplace_back([this] { serve(); });
    }
}

// ---- Room for new jobs. ----

int Settler::idle_handlers() const {
    const int held = running_ + static_cast<int>(buffer_.size()) + asked_;
    return std::max(0, options_.concurrency - held);
}

// Whether handlers are idle and more work is known. No outcome has to wait for that: handlers that
// have settled their jobs themselves leave none.
bool Settler::needs_a_claim() const {
    return more_ && !awaits_work_ && !stopping_ && !host_.stopping() && idle_handlers() > 0;
}

// Whether a call that only leases pays off: jobs are long and handlers are idle.
bool Settler::claims_apart() const {
    return mean_length_ >= kLong && needs_a_claim();
}

// How many jobs the handlers process in kExpectedWait, if the next ones take as long as the last
// ones; 0 while no job was measured.
int Settler::most_depth() const {
    if (measured_ == 0) {
        return 0;
    }
    const auto length = std::max(mean_length_, std::chrono::nanoseconds(1000));
    // Rounded: of jobs that take a little more than the expected wait, one for each handler.
    const auto count = (options_.concurrency * kExpectedWait + length / 2) / length;
    return static_cast<int>(std::min<std::int64_t>(count, kMaxDepth));
}

void Settler::measure(const Job& job) {
    if (job.began == SteadyClock::time_point{}) {
        return;  // its handler did not run
    }
    measured_ = std::min(measured_ + 1, kRemembered);
    mean_length_ += (SteadyClock::now() - job.began - mean_length_) / measured_;
}

// How many jobs a call that begins now may lease. They count as asked for until end_round().
Settler::Room Settler::reserve() {
    if (stopping_ || host_.stopping()) {
        return {};
    }
    const int held = running_ + static_cast<int>(buffer_.size()) + asked_;
    Room room{.handlers = std::min(idle_handlers(), kMaxLeased)};
    if (options_.adapts) {
        const bool grows = std::exchange(starved_, false) && more_;
        const int wanted = grows ? std::max(2 * depth_, options_.concurrency) : depth_;
        depth_ = std::min(wanted, most_depth());
    }
    const int places = options_.concurrency + depth_ - held - room.handlers;
    // The buffer is refilled when half of it is empty: claims of few tasks cost too much.
    if (prefetches_ && (room.handlers > 0 || 2 * places >= depth_)) {
        room.buffer = std::clamp(places, 0, kMaxLeased - room.handlers);
    }
    asked_ += room.all();
    return room;
}

// Tasks and activities take turns in being leased first, so that neither takes all free handlers.
Settler::Source Settler::next_source() {
    activities_first_ = !activities_first_;
    return options_.tasks && (!options_.activities || !activities_first_) ? Source::kTasks
                                                                          : Source::kActivities;
}

bool Settler::serves(Source source) const {
    return source == Source::kTasks ? options_.tasks.has_value() : options_.activities.has_value();
}

// Whether a settler is about to begin a round, which leases for the handlers that are free then. A
// round that is under way has leased for those that were free when it began.
bool Settler::is_about_to_ask() const {
    return under_way_ < options_.connections && (!ended_.empty() || needs_a_claim());
}

// Whether the thread that waits for work has to lease, because a handler is free and no settler
// will lease for it. Returns true once for each time that thread has found no free handler.
bool Settler::is_hungry() {
    return awaits_handler_ && idle_handlers() > 0 && !is_about_to_ask() &&
           std::exchange(awaits_handler_, false);
}

// ---- For the thread that waits for work. ----

int Settler::free_handlers() {
    const std::lock_guard lock(mutex_);
    awaits_work_ = false;
    const bool others_ask = is_about_to_ask();
    const int free = others_ask ? 0 : idle_handlers();
    awaits_handler_ = free == 0;
    if (others_ask) {
        ended_changed_.notify_one();
    }
    return free;
}

int Settler::receive(Hub& hub) {
    Round round;
    {
        const std::lock_guard lock(mutex_);
        round = {.room = reserve(), .first = next_source()};
        ++under_way_;
    }
    Room left = round.room;
    struct End {
        Settler& settler;
        const Room& asked;
        const Room& left;
        ~End() {
            const std::lock_guard lock(settler.mutex_);
            settler.end_round(asked, asked.all() - left.all());
            settler.awaits_work_ = left.handlers > 0;
        }
    } end{*this, round.room, left};
    for (const Source source :
         {round.first, round.first == Source::kTasks ? Source::kActivities : Source::kTasks}) {
        if (left.all() > 0 && serves(source)) {
            auto work = call(hub, source, {}, left).work;
            const auto count = static_cast<int>(work.size());
            const bool stays = deliver(std::move(work));
            left.use(count);
            if (stays) {
                ended_changed_.notify_one();  // a settler releases what grows old
            }
        }
    }
    return round.room.all() - left.all();
}

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
    job->lease->call_through(pool_);
    JobPointer next;
    bool settler_sleeps = false;
    bool leaves = false;
    {
        const std::lock_guard lock(mutex_);
        measure(*job);
        --running_;
        prefetches_ = true;
        ended_.push_back(std::move(job));
        settler_sleeps = idle_settlers_ > 0;
        next = take_from_buffer();
        leaves = stopping_;
    }
    if (settler_sleeps) {
        ended_changed_.notify_one();
    }
    return next || leaves ? std::move(next) : take();
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
        if (ended_.empty() && !needs_a_claim()) {
            return;
        }
        Round round = begin_round();
        const bool leaves_some = idle_settlers_ > 0 && (!ended_.empty() || needs_a_claim());
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
    while (ended_.empty() && !needs_a_claim() && !finishing_) {
        ++idle_settlers_;
        if (buffer_.empty()) {
            ended_changed_.wait(lock);
        } else {
            ended_changed_.wait_until(lock, buffer_.front()->received + max_age());
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

Settler::Round Settler::begin_round() {
    Round round;
    std::size_t bytes = 0;
    // A round that only leases never follows another one, so outcomes do not wait.
    claimed_apart_ = !claimed_apart_ && !ended_.empty() && claims_apart();
    while (!claimed_apart_ && !ended_.empty() &&
           round.jobs.size() < static_cast<std::size_t>(options_.settle_max)) {
        bytes += bytes_of(*ended_.front());
        if (bytes > kMaxPortionBytes && !round.jobs.empty()) {
            break;
        }
        round.jobs.push_back(std::move(ended_.front()));
        ended_.pop_front();
    }
    // Leases nothing if the thread that waits for work, or another settler, does so.
    const bool another = idle_settlers_ > 0 && claims_apart();
    if (!awaits_work_ && (claimed_apart_ || round.jobs.empty() || !another)) {
        round.room = reserve();
    }
    round.first = next_source();
    ++under_way_;
    return round;
}

void Settler::end_round(const Room& asked, int received) {
    asked_ -= asked.all() - received;
    --under_way_;
    if (asked.handlers > 0) {
        more_ = received >= asked.handlers;
    }
}

void Settler::run_round(Round round) {
    Room left = round.room;
    struct End {
        Settler& settler;
        const Room& asked;
        const Room& left;
        ~End() {
            bool hungry = false;
            bool others = false;
            {
                const std::lock_guard lock(settler.mutex_);
                settler.end_round(asked, asked.all() - left.all());
                hungry = settler.is_hungry();
                others = !settler.ended_.empty() || settler.needs_a_claim();
            }
            settler.idle_.notify_all();
            if (others) {
                settler.ended_changed_.notify_one();
            }
            if (hungry) {
                settler.host_.look_again();
            }
        }
    } end{*this, round.room, left};
    std::vector<JobPointer> tasks;
    std::vector<JobPointer> activities;
    for (auto& job : round.jobs) {
        (job->task.is_activity() ? activities : tasks).push_back(std::move(job));
    }
    for (const Source source :
         {round.first, round.first == Source::kTasks ? Source::kActivities : Source::kTasks}) {
        auto& jobs = source == Source::kTasks ? tasks : activities;
        if (!jobs.empty() || (left.all() > 0 && serves(source))) {
            settle(source, std::move(jobs), left);
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
            part =
                job->outcome ? job->lease->part(*job->outcome) : job->lease->part_to_give_back({});
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
void Settler::settle(Source source, std::vector<JobPointer> jobs, Room& room) {
    std::vector<JobPointer> others;  // need a call of their own, when this one's connection is free
    Portion portion;
    Answer answer;
    std::optional<Error> failure;
    bool begun = false;
    try {
        portion = portion_of(std::move(jobs), others);
        if (!portion.jobs.empty() || room.all() > 0) {
            // The connection first: leases are extended until begin_portion().
            auto connection = take_connection();
            begun = true;
            begin_portion(portion, others);
            Hub hub(*connection, options_.hub, options_.clock);
            answer = call(hub, source, std::move(portion.parts), room);
        }
    } catch (const Error& error) {
        failure = error;
    } catch (const std::exception& error) {
        failure = unknown_outcome(error.what());
    }
    if (failure && !begun) {
        begin_portion(portion, others);
    }
    if (!failure) {
        hand_on(std::move(answer.work), room);
        if (answer.outcomes.size() != portion.jobs.size()) {
            failure = unknown_outcome("the answer has " + std::to_string(answer.outcomes.size()) +
                                      " outcomes of " + std::to_string(portion.jobs.size()));
        }
    }
    if (failure) {
        fail_portion(source, std::move(portion.jobs), *failure);
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
void Settler::hand_on(std::vector<Work> work, Room& room) noexcept {
    try {
        const auto count = static_cast<int>(work.size());
        deliver(std::move(work));
        room.use(count);
    } catch (const std::exception& error) {
        host_.tell_error(error);
    }
}

// After a call that was rejected as a whole: sends halves, until the outcome that caused it is
// alone.
void Settler::settle_halves(Source source, std::vector<JobPointer> jobs) {
    if (jobs.size() == 1) {
        alone(std::move(jobs[0]));
        return;
    }
    const auto middle = jobs.begin() + static_cast<std::ptrdiff_t>(jobs.size() / 2);
    std::vector<JobPointer> second(std::make_move_iterator(middle),
                                   std::make_move_iterator(jobs.end()));
    jobs.erase(middle, jobs.end());
    Room none;
    settle(source, std::move(jobs), none);
    settle(source, std::move(second), none);
}

// A pool makes connections at once or not at all; a server that restarts is waited for.
PooledConnection Settler::take_connection() {
    const auto deadline = SteadyClock::now() + options_.reconnect_timeout;
    for (int n = 0;; ++n) {
        try {
            return pool_.take(kPatience);
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
                              const Room& room) {
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
        return {std::move(settled.outcomes), work_of(std::move(settled.claimed))};
    }
    FetchOptions fetch = options_.activities.value_or(FetchOptions{});
    fetch.max_items = room.handlers;
    SettledWork settled = hub.provider().settle_and_fetch_work_items(
        parts_of<WorkOutcome>(std::move(parts)), fetch, prefetch);
    return {std::move(settled.outcomes), work_of(std::move(settled.items))};
}

// Hands over to the handlers what was leased. True if some of it stays in the buffer.
bool Settler::deliver(std::vector<Work> work) {
    if (work.empty()) {
        return false;
    }
    std::vector<JobPointer> jobs;
    jobs.reserve(work.size());
    const auto now = SteadyClock::now();
    for (auto& lease : keeper_.keep_all(std::move(work))) {
        JobPointer job(new Job(std::move(lease), now));
        job->lease->call_through(pool_);
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
