// The settler beside a dispatcher: what the calls of one lease for the other.
//
// May touch: the settler's state, under mutex_. Must not: call the host or a server under mutex_.
#include <algorithm>
#include <iterator>
#include <utility>

#include "settler.hpp"

namespace belay {

// Outcomes make turns ready: a dispatcher beside this worker gets them with the same call.
SettledWork Settler::call_for_activities(Hub& hub, const std::vector<WorkOutcome>& outcomes,
                                         const FetchOptions& fetch, const Prefetch& prefetch) {
    if (!outcomes.empty() && !hub.connection().in_transaction()) {
        BorrowedExecutors executors(options_.turns);
        if (executors.handlers() > 0) {
            SettledTurnsAndWork settled = settle_work_and_fetch(
                hub, outcomes, executors.side()->turn_options(executors.handlers()), fetch,
                prefetch);
            executors.deliver(std::move(settled.turns));
            return {std::move(settled.outcomes), std::move(settled.items)};
        }
    }
    return hub.provider().settle_and_fetch_work_items(outcomes, fetch, prefetch);
}

// ---- For the calls of a dispatcher. ----

int Settler::reserve_work() {
    const std::lock_guard lock(mutex_);
    if (stopping_ || host_.stopping() || !serves(Source::kActivities)) {
        return 0;
    }
    const int count = std::min(idle_handlers(), kMaxLeased);
    asked_ += count;
    return count;
}

FetchOptions Settler::work_options(int max_items) const {
    FetchOptions fetch = options_.activities.value_or(FetchOptions{});
    fetch.max_items = max_items;
    return fetch;
}

void Settler::receive_work(std::vector<WorkItem> items, int reserved) noexcept {
    int taken = 0;
    try {
        const int count = static_cast<int>(items.size());
        deliver(*first_lane_, std::vector<Work>(std::make_move_iterator(items.begin()),
                                                std::make_move_iterator(items.end())));
        taken = count;
    } catch (const std::exception& error) {
        host_.tell_error(error);  // the leases lapse
    }
    bool hungry = false;
    {
        const std::lock_guard lock(mutex_);
        asked_ -= reserved - taken;
        hungry = is_hungry();
    }
    ended_changed_.notify_one();
    if (hungry) {
        host_.look_again();
    }
}

}  // namespace belay
