// The settler's first part: how much may be leased, from which lane, and by whom.
//
// May touch: the settler's state, under mutex_. Must not: call the host, except stopping(), or a
// server under mutex_.
#include <algorithm>
#include <utility>

#include "settler.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// An automatic buffer has at most kMaxDepth places, and no more than jobs that handlers are
// expected to process in kExpectedWait.
constexpr int kMaxDepth = 500;
constexpr Milliseconds kExpectedWait{10};

}  // namespace

// ---- Room for new jobs. ----

int Settler::idle_handlers() const {
    const int held = running_ + static_cast<int>(buffer_.size()) + asked_;
    return std::max(0, options_.concurrency - held);
}

// Whether handlers are idle and more work is known. No outcome has to wait for that: handlers that
// have settled their jobs themselves leave none.
bool Settler::needs_a_claim() const {
    return !stopping_ && !host_.stopping() && idle_handlers() > 0 && next_lane() != nullptr;
}

// ---- Lanes. ----

Lane& Settler::add_lane(HubServer& server, std::string hub) {
    const std::lock_guard lock(mutex_);
    return lanes_.emplace_back(server, std::move(hub));
}

void Settler::close(Lane& lane) {
    const std::lock_guard lock(mutex_);
    lane.more = false;
    lane.listened = true;  // no call leases from it any more
    give_back_buffer_of(lane);
}

void Settler::listen(Lanes lanes) {
    const std::lock_guard lock(mutex_);
    for (Lane* lane : lanes) {
        lane->listened = true;
    }
}

void Settler::has_work(Lane& lane) {
    {
        const std::lock_guard lock(mutex_);
        lane.more = true;
    }
    ended_changed_.notify_one();
}

bool Settler::is_known_to_have_work(const Lane& lane) {
    const std::lock_guard lock(mutex_);
    return lane.more;
}

// Whether nothing can be done with the server of the lane for now.
bool Settler::is_away(const Lane& lane) const {
    return lane.server.failures > 0 && !finishing_ && SteadyClock::now() < lane.server.retry_at;
}

bool Settler::has_ended() const {
    return std::ranges::any_of(ended_,
                               [this](const JobPointer& job) { return !is_away(*job->lane); });
}

bool Settler::has_more() const {
    return std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.more; });
}

bool Settler::has_several_with_more() const {
    return std::ranges::count_if(lanes_, [](const Lane& lane) { return lane.more; }) > 1;
}

// The lane whose turn it is to be leased from: the next one after the last that has more work.
Lane* Settler::next_lane() const {
    const Lane* next = nullptr;
    bool is_after_last = false;
    for (const Lane& lane : lanes_) {
        const bool can_be = lane.more && !lane.listened && !is_away(lane);
        if (can_be && is_after_last) {
            next = &lane;
            break;
        }
        if (can_be && next == nullptr) {
            next = &lane;
        }
        is_after_last = is_after_last || &lane == last_leased_;
    }
    return const_cast<Lane*>(next);
}

// ---- Room for new jobs. ----

// Whether there is something for a round, and a connection for it.
bool Settler::is_about_to_begin() const {
    return rounds_ < options_.connections && (has_ended() || needs_a_claim());
}

// Whether the thread of a handler that ends now settles its job itself, in place of an idle
// settler: no other handler runs or is about to, nothing else is there or known of, and another
// thread is free for what may come.
bool Settler::is_alone(const Job& job) const {
    return running_ == 1 && sleeping_ > waking_ && ended_.empty() && buffer_.empty() &&
           !has_more() && idle_settlers_ > 0 && rounds_ < options_.connections && !stopping_ &&
           !host_.stopping() && !is_away(*job.lane);
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
        const bool grows = std::exchange(starved_, false) && has_more();
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
Settler::Source Settler::next_source(Lane& lane) const {
    lane.activities_first = !lane.activities_first;
    return options_.tasks && (!options_.activities || !lane.activities_first) ? Source::kTasks
                                                                              : Source::kActivities;
}

bool Settler::serves(Source source) const {
    return source == Source::kTasks ? options_.tasks.has_value() : options_.activities.has_value();
}

// Whether a settler is about to begin a round, which leases for the handlers that are free then. A
// round that is under way has leased for those that were free when it began.
bool Settler::is_about_to_ask() const {
    return under_way_ < options_.connections && (has_ended() || needs_a_claim());
}

// Whether the thread that waits for work has to lease, because a handler is free and no settler
// will lease for it. Returns true once for each time that thread has found no free handler.
bool Settler::is_hungry() {
    return awaits_handler_ && idle_handlers() > 0 && !is_about_to_ask() &&
           std::exchange(awaits_handler_, false);
}

// ---- For the thread that waits for work. ----

int Settler::free_handlers(Lanes lanes) {
    const std::lock_guard lock(mutex_);
    for (Lane* lane : lanes) {
        lane->listened = false;
    }
    const bool others_ask = is_about_to_ask();
    const int free = others_ask ? 0 : idle_handlers();
    awaits_handler_ = free == 0;
    if (others_ask) {
        ended_changed_.notify_one();
    }
    return free;
}

int Settler::receive(Hub& hub, Lane& lane) {
    Round round{.from = &lane};
    {
        const std::lock_guard lock(mutex_);
        round.room = reserve();
        round.first = next_source(lane);
        last_leased_ = &lane;
        ++under_way_;
    }
    Room left = round.room;
    struct End {
        Settler& settler;
        const Round& round;
        const Room& left;
        ~End() {
            bool hungry = false;
            {
                const std::lock_guard lock(settler.mutex_);
                settler.end_round(round, round.room.all() - left.all());
                round.from->listened = left.handlers > 0;
                hungry = settler.is_hungry();  // the thread of another server
            }
            if (hungry) {
                settler.host_.look_again();
            }
        }
    } end{*this, round, left};
    for (const Source source :
         {round.first, round.first == Source::kTasks ? Source::kActivities : Source::kTasks}) {
        if (left.all() > 0 && serves(source)) {
            auto work = call(hub, source, {}, {}, left).work;
            const auto count = static_cast<int>(work.size());
            const bool stays = deliver(lane, std::move(work));
            left.use(count);
            if (stays) {
                ended_changed_.notify_one();  // a settler releases what grows old
            }
        }
    }
    return round.room.all() - left.all();
}

}  // namespace belay
