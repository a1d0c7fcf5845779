// The settler beside a dispatcher: what the calls of one lease for the other.
//
// May touch: the settler's state, under mutex_. Must not: call the host or a server under mutex_.
#include <algorithm>
#include <iterator>
#include <utility>

#include "settler.hpp"

namespace belay {

// Outcomes make turns ready: a dispatcher beside this worker gets them with the same call, unless
// they are committed by it.
SettledTurnsAndWork Settler::call_for_activities(Hub& hub, const std::vector<WorkOutcome>& outcomes,
                                                 const std::vector<TurnAck>& predicted,
                                                 const FetchOptions& fetch,
                                                 const Prefetch& prefetch) {
    if (!outcomes.empty() && !hub.connection().in_transaction()) {
        BorrowedExecutors executors(options_.turns, predicted.size() < outcomes.size());
        if (executors.handlers() > 0 || (executors.side() != nullptr && !predicted.empty())) {
            SettledTurnsAndWork settled = settle_work_and_fetch(
                hub, outcomes, predicted, executors.side()->turn_options(executors.handlers()),
                fetch, prefetch);
            executors.deliver(std::move(settled.turns));
            predicts_ = predicts_ && settled.predictions;
            return settled;
        }
    }
    SettledWork settled = hub.provider().settle_and_fetch_work_items(outcomes, fetch, prefetch);
    return {.outcomes = std::move(settled.outcomes), .items = std::move(settled.items)};
}

// ---- Turns that are run ahead. ----

// In the handler's thread. If anything goes wrong the turn comes as ever.
void Settler::predict(Job& job) noexcept {
    const bool has_completion = job.outcome && (job.outcome->kind() == Outcome::Kind::kCompleted ||
                                                job.outcome->kind() == Outcome::Kind::kFailed);
    if (options_.turns == nullptr || !predicts_ || !has_completion || !job.task.is_activity()) {
        return;
    }
    const BorrowedExecutors executors(options_.turns, false);
    const TaskFacts& facts = job.lease->facts();
    if (executors.side() == nullptr || !facts.instance || !facts.execution_id ||
        !facts.activity_id) {
        return;
    }
    try {
        job.part = job.lease->part(*job.outcome);
        const auto* const outcome = job.part ? std::get_if<WorkOutcome>(&*job.part) : nullptr;
        if (outcome != nullptr && outcome->completion) {
            job.predicted = executors.side()->predict({.instance_id = *facts.instance,
                                                       .execution_id = *facts.execution_id,
                                                       .activity_id = *facts.activity_id,
                                                       .message = *outcome->completion});
        }
    } catch (const std::exception& error) {
        host_.tell_error(error);
    }
}

std::vector<TurnAck> Settler::predicted_of(const Portion& portion) {
    std::vector<TurnAck> acks;
    for (const JobPointer& job : portion.jobs) {
        if (job->predicted) {
            acks.push_back({.lock_token = job->lease->token(),
                            .decision = job->predicted->decision(),
                            .predicted_after = job->predicted->after()});
        }
    }
    return acks;
}

// What was not committed is forgotten, also if that is not known: the server has the truth.
void Settler::tell_predicted(const Portion& portion, const std::vector<AckedTurn>& acks) noexcept {
    std::size_t at = 0;
    for (const JobPointer& job : portion.jobs) {
        if (const auto predicted = std::move(job->predicted)) {
            if (at < acks.size() && !acks[at].error) {
                predicted->committed();
            }
            ++at;
        }
    }
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
