// The lease of a task: what a handler's outcome means for it.
#include "clean_text.hpp"
#include "lease_state.hpp"
#include "rows.hpp"
#include "signal_list.hpp"

namespace belay {
namespace {

// Takes its texts.
TaskFacts facts_of(ClaimedTask& task) {
    return {.id = task.id,
            .queue = std::move(task.queue),
            .kind = std::move(task.kind),
            .payload = task.payload ? std::move(*task.payload) : "null",
            .headers = std::move(task.headers),
            .priority = task.priority,
            .attempt = task.attempt,
            .checkpoint = std::move(task.checkpoint),
            .deadline = task.deadline,
            .epoch = task.epoch,
            .flow_id = task.flow_id};
}

class TaskLease final : public HeldLease {
 public:
    TaskLease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state, ClaimedTask task)
        : HeldLease(keeper, std::move(state), facts_of(task)),
          fence_(fence_of(task)),
          upstream_(std::move(task.upstream)),
          signal_text_(std::move(task.signals)) {}

    ~TaskLease() override {
        end([this](Hub& hub, bool) { TaskCalls(hub).release(fence_); });
    }

    Settlement settle(const Outcome& outcome) override {
        using Kind = WorkerEvent::Kind;
        switch (outcome.kind()) {
            case Outcome::Kind::kCompleted:
                settle_by([&](Hub& hub) { TaskCalls(hub).complete(fence_, outcome.text()); });
                return {Kind::kCompleted};
            case Outcome::Kind::kFailed:
            case Outcome::Kind::kRetry:
                return fail(outcome.failure());
            case Outcome::Kind::kDelayed:
                settle_by([&](Hub& hub) {
                    return TaskCalls(hub).delay(fence_, outcome.delay(), outcome.text());
                });
                return {Kind::kDelayed};
            case Outcome::Kind::kReleased:
                give_back(outcome.delay(), true);
                return {Kind::kReleased, outcome.failure().message};
            case Outcome::Kind::kSuspended:
                if (outcome.suspension()) {
                    return suspend_for(*outcome.suspension());
                }
                break;
            case Outcome::Kind::kSettled:
                break;
        }
        if (!settled()) {
            throw std::logic_error("the handler says that the task is settled; it is not");
        }
        return {outcome.kind() == Outcome::Kind::kSettled ? Kind::kCompleted : Kind::kSuspended};
    }

    std::optional<PortionPart> part(const Outcome& outcome) const override {
        switch (outcome.kind()) {
            case Outcome::Kind::kCompleted:
                return TaskOutcome{.fence = fence_, .result = outcome.text()};
            case Outcome::Kind::kFailed:
            case Outcome::Kind::kRetry: {
                const TaskFailure& failure = outcome.failure();
                return TaskOutcome{.fence = fence_,
                                   .word = "fail",
                                   .failure_class = text_of(failure.failure_class),
                                   .message = clean_text(failure.message),
                                   .details = failure.details
                                                  ? OptionalText(dumped(*failure.details, {}))
                                                  : std::nullopt,
                                   .delay = failure.retry_after};
            }
            case Outcome::Kind::kDelayed:
                return TaskOutcome{.fence = fence_,
                                   .word = "delay",
                                   .delay = outcome.delay(),
                                   .checkpoint = outcome.text()};
            case Outcome::Kind::kReleased:
                return part_to_give_back(outcome.delay());
            case Outcome::Kind::kSuspended:
            case Outcome::Kind::kSettled:
                break;
        }
        return std::nullopt;
    }

    PortionPart part_to_give_back(std::optional<Milliseconds> delay) const override {
        return TaskOutcome{.fence = fence_, .word = "release", .delay = delay};
    }

    void give_back(std::optional<Milliseconds> delay, bool) override {
        settle_by(
            [&](Hub& hub) { TaskCalls(hub).release(fence_, delay.value_or(Milliseconds(0))); });
    }

    void complete_with(const std::function<void(Connection&)>& body, const OptionalText& result,
                       Where where) override {
        settle_with(
            body, [&](Hub& hub) { TaskCalls(hub).complete(fence_, result, kLeaseHolder, where); },
            where);
    }

    void write(const std::function<void(Connection&)>& body, Where where) override {
        use([&](Hub& hub) {
            hub.connection().with_transaction(
                [&] {
                    // First, so that no work is done for a lease that is gone.
                    TaskCalls(hub).guard(fence_, where);
                    body(hub.connection());
                },
                where);
        });
    }

    void progress(const TaskProgress& progress, Where where) override {
        use([&](Hub& hub) { TaskCalls(hub).progress(fence_, progress, where); });
    }

    SuspendedTask suspend(const NewSuspension& suspension, Where where) override {
        SuspendedTask answer =
            settle_by([&](Hub& hub) { return TaskCalls(hub).suspend(fence_, suspension, where); });
        if (answer.result == SuspendResult::kAlreadySatisfied) {
            state_->reopen();
        }
        return answer;
    }

    CreatedWaitpoint create_waitpoint(std::string_view key, Milliseconds expires_in,
                                      Where where) override {
        return use([&](Hub& hub) {
            return TaskCalls(hub).create_waitpoint(fence_, key, expires_in, where);
        });
    }

    std::vector<UpstreamResult> upstream(Where where) override {
        std::vector<UpstreamResult> results;
        for (const Json& part : parse_json(upstream_.value_or("[]"))) {
            if (part.contains("truncated")) {
                return use(
                    [&](Hub& hub) { return hub.flows().upstream_results(fence_.id, where); });
            }
            results.push_back({.task_id = Uuid(text_member(part, "task_id").value_or("")),
                               .key = text_member(part, "key"),
                               .pass_as = text_member(part, "pass_as"),
                               .state = Word<TaskState>(text_member(part, "state").value_or("")),
                               .result = json_member(part, "result")});
        }
        return results;
    }

    std::vector<Signal> signals(Where where) override {
        if (early_signals_) {
            return *early_signals_;
        }
        SignalList list = signals_of(parse_json(signal_text_.value_or("[]")));
        if (list.cut_after) {
            const auto more = use(
                [&](Hub& hub) { return signals_behind(hub, fence_.id, *list.cut_after, where); });
            list.signals.insert(list.signals.end(), more.begin(), more.end());
        }
        return std::move(list.signals);
    }

    void confirm_cancel() override {
        if (state_->ended && facts_.flow_id) {
            try {
                use([&](Hub& hub) { hub.flows().ack_cancel(*facts_.flow_id, facts_.id); });
            } catch (const Error& error) {
                // The grace period has passed, or the flow was deleted.
                if (!error.lock_lost() && !error.not_found()) {
                    throw;
                }
            }
        }
    }

 private:
    Settlement fail(TaskFailure failure) {
        failure.message = clean_text(std::move(failure.message));
        const FailedTask failed =
            settle_by([&](Hub& hub) { return TaskCalls(hub).fail(fence_, failure); });
        return {failed.result == "retry_scheduled" ? WorkerEvent::Kind::kRetried
                                                   : WorkerEvent::Kind::kFailed,
                std::move(failure.message)};
    }

    Settlement suspend_for(const NewSuspension& suspension) {
        SuspendedTask answer = suspend(suspension, Where::current());
        if (answer.result != SuspendResult::kAlreadySatisfied) {
            return {WorkerEvent::Kind::kSuspended};
        }
        early_signals_.emplace();
        for (auto& waitpoint : answer.waitpoints) {
            for (auto& signal : waitpoint.signals) {
                early_signals_->push_back(std::move(signal));
            }
        }
        return {.kind = WorkerEvent::Kind::kSuspended, .run_again = true};
    }

    TaskFence fence_;
    OptionalText upstream_;     // JSON array
    OptionalText signal_text_;  // JSON array
    // Signals that met the condition of a suspension at once.
    std::optional<std::vector<Signal>> early_signals_ = {};
};

}  // namespace

std::unique_ptr<HeldLease> task_lease(LeaseKeeper& keeper, std::shared_ptr<LeaseState> state,
                                      ClaimedTask task) {
    return std::make_unique<TaskLease>(keeper, std::move(state), std::move(task));
}

}  // namespace belay
