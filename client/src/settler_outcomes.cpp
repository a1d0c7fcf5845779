// The settler's last part: what becomes of the outcomes of a portion that was answered, refused or
// lost.
//
// May touch: the settler's state, under mutex_. Must not: call the host or a server under mutex_.
#include <algorithm>
#include <utility>

#include "clean_text.hpp"
#include "retry.hpp"
#include "settler.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What became of an outcome that was not refused. Whether a failed task is tried again is the
// server's decision.
WorkerEvent::Kind kind_of(Outcome::Kind outcome, const OptionalText& result) {
    using Kind = WorkerEvent::Kind;
    switch (outcome) {
        case Outcome::Kind::kCompleted:
        case Outcome::Kind::kSettled:
            return Kind::kCompleted;
        case Outcome::Kind::kFailed:
            return result == "retry_scheduled" ? Kind::kRetried : Kind::kFailed;
        case Outcome::Kind::kRetry:
            return !result || result == "retry_scheduled" ? Kind::kRetried : Kind::kFailed;
        case Outcome::Kind::kDelayed:
            return Kind::kDelayed;
        case Outcome::Kind::kReleased:
            return Kind::kReleased;
        case Outcome::Kind::kSuspended:
            return Kind::kSuspended;
    }
    return Kind::kError;
}

}  // namespace

// What goes wrong here must not keep the others of the portion from being reported.
void Settler::tell_outcome(JobPointer job, const SettledOutcome& outcome) noexcept {
    try {
        if (outcome.error && !outcome.outcome_unknown) {
            job->lease->leave_open();
            alone(std::move(job));
        } else if (outcome.error) {
            job->lease->leave_unknown();
            tell_failure(*job, Error({.message = "the connection broke, and the lease is gone",
                                      .sqlstate = *outcome.error,
                                      .outcome_unknown = true}));
        } else if (job->outcome) {
            const std::string& message = job->outcome->failure().message;
            if (job->loan != nullptr) {
                job->loan->settled = true;
            }
            host_.settled(*job, {kind_of(job->outcome->kind(), outcome.result),
                                 message.empty() ? "" : clean_text(message)});
        }
    } catch (const std::exception& error) {
        host_.tell_error(error);
    }
}

// Of a call that failed. Only a handler that waits for the outcome gets the error.
void Settler::tell_failure(Job& job, const Error& error) {
    if (job.loan != nullptr) {
        job.loan->error = error;
    } else if (job.outcome) {
        host_.failed_call(job, error);
    }
}

void Settler::alone(JobPointer job) noexcept {
    try {
        if (job->loan != nullptr) {
            return;  // its handler settles it
        }
        if (job->outcome) {
            host_.settle_alone(*job);
        } else {
            host_.lost_unused(*job);
        }
    } catch (const std::exception& error) {
        host_.tell_error(error);
    }
}

// After a call that was not made for want of a connection. True: the server is one of many, and the
// jobs wait until it is tried again, for at most reconnect_timeout in all.
bool Settler::put_back(HubServer& server, std::vector<JobPointer>& jobs,
                       std::vector<JobPointer>& others, const Error& error) {
    if (!server.is_one_of_many || !error.connection_lost() || error.outcome_unknown()) {
        return false;
    }
    for (const auto& job : jobs) {
        job->lease->leave_open();
    }
    const auto now = SteadyClock::now();
    bool is_first = false;
    {
        const std::lock_guard lock(mutex_);
        is_first = server.failures == 0;
        server.away_since = is_first ? now : server.away_since;
        server.retry_at = now + reconnect_pause(server.failures++);
        if (finishing_ || now >= options_.reconnect_limit->time() ||
            now >= server.away_since + options_.reconnect_timeout) {
            return false;
        }
        for (auto* some : {&jobs, &others}) {
            for (auto& job : *some) {
                ended_.push_back(std::move(job));
            }
        }
    }
    if (is_first) {
        host_.tell_error(error);
    }
    return true;
}

// After a call that failed.
void Settler::fail_portion(Lane& lane, Source source, std::vector<JobPointer> jobs,
                           const Error& error) {
    host_.failed_in(lane, error);
    if (jobs.empty()) {
        host_.tell_error(error);
        return;
    }
    if (error.infrastructure() || error.outcome_unknown() || error.elsewhere()) {
        give_back_failed(lane, source, std::move(jobs), error);
        return;
    }
    for (const auto& job : jobs) {
        job->lease->leave_open();
    }
    settle_halves(lane, source, std::move(jobs));
}

// After a call that failed because of the connection or the server. Where the outcome is unknown
// this is safe: what was settled is no longer held.
void Settler::give_back_failed(Lane& lane, Source source, std::vector<JobPointer> jobs,
                               const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        prefetches_ = false;
        give_back_buffer_of(lane);
    }
    std::vector<PortionPart> parts;
    for (const auto& job : jobs) {
        if (error.outcome_unknown()) {
            job->lease->leave_unknown();
        } else if (job->loan != nullptr) {
            job->lease->leave_open();
        }
        tell_failure(*job, error);
    }
    // What a handler waits for it releases itself.
    std::erase_if(jobs, [](const JobPointer& job) { return job->loan != nullptr; });
    if (jobs.empty()) {
        return;
    }
    for (const auto& job : jobs) {
        parts.push_back(job->lease->part_to_give_back(host_.delay_after(job->task)));
    }
    try {
        auto connection = take_connection(lane.server);
        Hub hub(*connection, lane.hub, options_.clock);
        connection->with_transaction([&] {
            // A server that has not noticed yet that the connection broke may hold the leases.
            connection->exec("SET LOCAL lock_timeout = 5000");
            call(hub, source, parts, {}, {});
        });
        for (const auto& job : jobs) {
            job->lease->leave_settled();
        }
    } catch (const std::exception& again) {
        host_.tell_error(again);
        for (const auto& job : jobs) {
            job->lease->leave_to_lapse();
        }
    }
}

}  // namespace belay
