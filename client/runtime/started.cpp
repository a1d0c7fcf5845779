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

// Of one call: a connection may be gone without a word.
constexpr Milliseconds kLongestWait{30000};

SteadyClock::time_point end_of(std::optional<Milliseconds> timeout) {
    return timeout ? SteadyClock::now() + *timeout : SteadyClock::time_point::max();
}

// Calls look, and waits for changes of the instance, until it returns a value.
template <class Look>
auto wait_for(Hub& hub, const std::string& instance_id, SteadyClock::time_point end,
              const char* what, Look look) {
    for (;;) {
        if (auto found = look()) {
            return std::move(*found);
        }
        const auto now = SteadyClock::now();
        if (now >= end) {
            throw Error({.message = "instance \"" + instance_id + "\" " + what, .timed_out = true});
        }
        Milliseconds pause = kLongestWait;
        if (end - now < pause) {
            pause = std::chrono::ceil<Milliseconds>(end - now);
        }
        hub.provider().wait_for_work({"instance:" + instance_id}, pause);
    }
}

// Throws what the instance has failed with, as the end of its history says.
[[noreturn]] void throw_failed(Hub& hub, const InstanceInfo& info) {
    const std::int64_t execution_id = info.current_execution_id.value_or(1);
    const auto execution = hub.orchestrations().execution(info.instance_id, execution_id);
    // Ids have no gaps but before the end of an execution that could not be read, so that this is
    // the last page, and sometimes more.
    OptionalNumber after =
        std::max<std::int64_t>((execution ? execution->event_count : 0) - kHistoryPage, 0);
    std::vector<std::string> events;
    for (bool more = true; more;) {
        auto page =
            hub.orchestrations().history(info.instance_id, execution_id, after, kHistoryPage);
        more = page.size() == kHistoryPage;
        for (auto& event : page) {
            after = event.event_id;
            events.push_back(std::move(event.event_data));
        }
    }
    std::string details;
    try {
        details = engine::details_of_end(events);
    } catch (const engine::Corrupt&) {
        // Then the output is all that is known.
    }
    detail::throw_end(info.output.value_or(""), details);
}

// The instance, if it is there. One that was there and is not any more was deleted.
std::optional<InstanceInfo> look_at(Hub& hub, const std::string& instance_id, bool& seen) {
    auto info = hub.orchestrations().get(instance_id);
    if (!info && seen) {
        throw Error({.message = "instance \"" + instance_id + "\" was deleted while it was awaited",
                     .sqlstate = "QB002"});
    }
    seen = info.has_value();
    return info;
}

// Waits in the server until the instance has ended or the time has come. Returns at once if it was
// not started yet, and in hubs of api duroxide-pg, which have no such wait.
void await_end(Hub& hub, const std::string& instance_id, SteadyClock::time_point end, bool& seen) {
    try {
        for (auto now = SteadyClock::now(); now < end; now = SteadyClock::now()) {
            const auto pause = std::min<SteadyClock::duration>(end - now, kLongestWait);
            if (hub.orchestrations()
                    .await(instance_id, std::chrono::ceil<Milliseconds>(pause))
                    .ended()) {
                return;
            }
            seen = true;
        }
    } catch (const Error& error) {
        constexpr std::string_view kUndefinedFunction = "42883";
        seen = seen || error.code_detail() == "deleted";
        if (!error.not_found() && error.sqlstate() != kUndefinedFunction) {
            throw;
        }
    }
}

}  // namespace

std::string detail::wait_for_end(Hub& hub, const std::string& instance_id,
                                 std::optional<Milliseconds> timeout) {
    bool seen = false;
    const auto end = end_of(timeout);
    await_end(hub, instance_id, end, seen);
    return wait_for(hub, instance_id, end, "has not ended in time", [&] {
        const auto info = look_at(hub, instance_id, seen);
        std::optional<std::string> output;
        if (info && info->status == InstanceStatus::kCompleted) {
            output = info->output.value_or("");
        } else if (info && info->status == InstanceStatus::kFailed) {
            throw_failed(hub, *info);
        }
        return output;
    });
}

OptionalText detail::wait_for_status(Hub& hub, const std::string& instance_id,
                                     const std::function<bool(const OptionalText&)>& predicate,
                                     std::optional<Milliseconds> timeout) {
    bool seen = false;
    return wait_for(hub, instance_id, end_of(timeout), "has not had such a status in time", [&] {
        // Read first: a status that is set with the end is seen, too.
        const auto info = look_at(hub, instance_id, seen);
        const auto status = hub.orchestrations().custom_status(instance_id);
        const OptionalText value = status ? status->value : OptionalText();
        std::optional<OptionalText> found;
        if (info && predicate(value)) {
            found = value;
        } else if (info && info->status == InstanceStatus::kFailed) {
            throw_failed(hub, *info);
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
