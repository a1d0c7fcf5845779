// Instances that were started, as other programs see them.
#include <chrono>

#include "belay/runtime.hpp"
#include "details.hpp"
#include "replayer.hpp"
#include "turn.hpp"

namespace belay {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kHistoryPage = 256;

// Calls look, and waits for changes of the instance, until it returns a value.
template <class Look>
auto wait_for(Hub& hub, const std::string& instance_id, std::optional<Milliseconds> timeout,
              const char* what, Look look) {
    const auto end = timeout ? SteadyClock::now() + *timeout : SteadyClock::time_point::max();
    for (;;) {
        if (auto found = look()) {
            return std::move(*found);
        }
        const auto now = SteadyClock::now();
        if (now >= end) {
            throw Error({.message = "instance \"" + instance_id + "\" " + what, .timed_out = true});
        }
        Milliseconds pause{30000};
        if (timeout) {
            pause = std::min(pause, std::chrono::ceil<Milliseconds>(end - now));
        }
        hub.provider().wait_for_work({"instance:" + instance_id}, pause);
    }
}

}  // namespace

std::string detail::wait_for_end(Hub& hub, const std::string& instance_id,
                                 std::optional<Milliseconds> timeout) {
    return wait_for(hub, instance_id, timeout, "has not ended in time", [&] {
        const auto info = hub.orchestrations().get(instance_id);
        std::optional<std::string> output;
        if (info && info->status == InstanceStatus::kCompleted) {
            output = info->output.value_or("");
        } else if (info && info->status == InstanceStatus::kFailed) {
            engine::throw_output(info->output.value_or(""));
        }
        return output;
    });
}

OptionalText detail::wait_for_status(Hub& hub, const std::string& instance_id,
                                     const std::function<bool(const OptionalText&)>& predicate,
                                     std::optional<Milliseconds> timeout) {
    return wait_for(hub, instance_id, timeout, "has not had such a status in time", [&] {
        // Read first: a status that is set with the end is seen, too.
        const auto info = hub.orchestrations().get(instance_id);
        const auto status = hub.orchestrations().custom_status(instance_id);
        const OptionalText value = status ? status->value : OptionalText();
        std::optional<OptionalText> found;
        if (info && predicate(value)) {
            found = value;
        } else if (info && info->status == InstanceStatus::kFailed) {
            engine::throw_output(info->output.value_or(""));
        } else if (info && info->status == InstanceStatus::kCompleted) {
            throw Failure("the instance has completed without such a status", false);
        }
        return found;
    });
}

std::vector<engine::RecordedExecution> engine::read_instance(Hub& hub,
                                                             const std::string& instance_id) {
    std::vector<RecordedExecution> executions;
    for (const std::int64_t id : hub.orchestrations().executions(instance_id)) {
        RecordedExecution execution;
        execution.instance_id = instance_id;
        execution.execution_id = id;
        OptionalNumber after;
        for (bool more = true; more;) {
            auto page = hub.orchestrations().history(instance_id, id, after, kHistoryPage);
            more = page.size() == kHistoryPage;
            for (auto& event : page) {
                after = event.event_id;
                execution.events.push_back(std::move(event.event_data));
            }
        }
        executions.push_back(std::move(execution));
    }
    // The values of executions that are no longer stored: those that no stored one has touched.
    Values now;
    for (const KeyValue& value : hub.orchestrations().values(instance_id)) {
        now.insert_or_assign(value.key, value.value.value_or(""));
    }
    chain_values(executions, std::move(now));
    return executions;
}

OptionalText history_of(Hub& hub, const std::string& instance_id) {
    const auto executions = engine::read_instance(hub, instance_id);
    if (executions.empty()) {
        return std::nullopt;
    }
    return engine::recorded_text(executions.back());
}

void inspect(Hub& hub, const Registry& registry, const std::string& instance_id,
             const std::function<void(Context)>& look) {
    const auto executions = engine::read_instance(hub, instance_id);
    if (executions.empty()) {
        throw Error({.message = "there is no instance \"" + instance_id + "\" with a history",
                     .sqlstate = "QB002"});
    }
    engine::inspect(executions.back(), registry, look);
}

}  // namespace belay
