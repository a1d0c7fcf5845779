// What the code asks for through its Context.
#include <stdexcept>

#include "execution.hpp"

namespace belay::engine {
namespace {

using detail::CallKind;

constexpr std::size_t kMaxName = 1024;
constexpr std::size_t kMaxTag = 256;
constexpr std::size_t kMaxStatus = 256 * 1024;
constexpr std::size_t kMaxValue = 64 * 1024;
constexpr std::size_t kMaxKeys = 150;

void check_length(std::string_view text, std::size_t longest, const char* what) {
    if (text.size() > longest) {
        throw std::length_error(std::string(what) + " has " + std::to_string(text.size()) +
                                " bytes; the limit is " + std::to_string(longest));
    }
}

void check_instance_id(std::string_view id) {
    check_length(id, kMaxName, "an instance id");
    if (id.empty()) {
        throw std::invalid_argument("an instance has an id");
    }
}

EventKind decision_of(CallKind kind) {
    switch (kind) {
        case CallKind::kActivity:
            return EventKind::kActivityScheduled;
        case CallKind::kTimer:
            return EventKind::kTimerCreated;
        case CallKind::kChild:
            return EventKind::kSubOrchestrationScheduled;
        case CallKind::kEvent:
            return EventKind::kExternalSubscribed;
        case CallKind::kQueue:
            break;
    }
    return EventKind::kExternalSubscribedPersistent;
}

// A bijection that mixes all bits.
std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace

bool Execution::ignores_asking() {
    if (tearing_down_ && facts_.teardown_actions != nullptr) {
        ++*facts_.teardown_actions;
    }
    return tearing_down_;
}

void Execution::push(Action action) {
    actions_.push_back(std::move(action));
}

detail::CallState* Execution::ask(detail::CallRequest request) {
    check_length(request.name, kMaxName, "a name");
    check_length(request.options.tag().value_or(""), kMaxTag, "a tag");
    check_length(request.options.session().value_or(""), kMaxName, "a session");
    if (const OptionalText& id = request.options.instance()) {
        check_instance_id(*id);
        if (id->starts_with("sub::")) {
            throw std::invalid_argument(
                "an instance id that is given does not begin with \"sub::\"");
        }
    }
    auto* const call = new detail::CallState(this, request.kind, ++asked_);
    call->name = request.name;
    call->account();
    if (ignores_asking()) {
        call->dropped = true;
        return call;
    }
    Action action;
    action.event.kind = decision_of(request.kind);
    action.event.name = std::move(request.name);
    if (request.kind == CallKind::kActivity || request.kind == CallKind::kChild) {
        action.event.text = std::move(request.input);
    }
    if (request.kind == CallKind::kActivity) {
        action.event.session = request.options.session();
        action.event.tag = request.options.tag();
    } else if (request.kind == CallKind::kChild) {
        action.event.instance = request.options.instance();
        action.generated_instance = !request.options.instance();
        action.version = request.options.version();
    } else if (request.kind == CallKind::kTimer) {
        action.event.number = request.fire_at_ms;
    }
    ++call->references;
    action.call = call;
    push(std::move(action));
    return call;
}

void Execution::start_detached(std::string name, std::string id, std::string input,
                               OptionalText version) {
    check_length(name, kMaxName, "a name");
    check_instance_id(id);
    if (ignores_asking()) {
        return;
    }
    Action action;
    action.event.kind = EventKind::kOrchestrationChained;
    action.event.name = std::move(name);
    action.event.instance = std::move(id);
    action.event.text = std::move(input);
    action.version = std::move(version);
    push(std::move(action));
}

void Execution::set_status(OptionalText status) {
    check_length(status.value_or(""), kMaxStatus, "a status");
    if (ignores_asking()) {
        return;
    }
    Action action;
    action.event.kind = EventKind::kCustomStatusUpdated;
    action.event.text = std::move(status);
    push(std::move(action));
}

void Execution::check_key(std::string_view key) const {
    check_length(key, kMaxName, "a key");
    if (key.starts_with(kReservedPrefix)) {
        throw std::invalid_argument("keys that begin with \"belay:\" are reserved");
    }
}

void Execution::set_value(std::string key, std::string value) {
    check_key(key);
    check_length(value, kMaxValue, "a value");
    if (!values_.contains(key) && values_.size() >= kMaxKeys) {
        throw std::length_error("an instance has at most 150 keys");
    }
    if (ignores_asking()) {
        return;
    }
    Action action;
    action.event.kind = EventKind::kKeyValueSet;
    action.event.name = key;
    action.event.text = value;
    push(std::move(action));
    values_.insert_or_assign(std::move(key), std::move(value));
}

std::optional<std::string> Execution::value(std::string_view key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
}

void Execution::clear_value(std::string key) {
    check_key(key);
    if (ignores_asking()) {
        return;
    }
    values_.erase(key);
    Action action;
    action.event.kind = EventKind::kKeyValueCleared;
    action.event.name = std::move(key);
    push(std::move(action));
}

void Execution::clear_values() {
    if (ignores_asking()) {
        return;
    }
    values_.clear();
    Action action;
    action.event.kind = EventKind::kKeyValuesCleared;
    push(std::move(action));
}

void Execution::set_reserved(std::string key, std::string value) {
    check_length(value, kMaxValue, "a recorded value");
    if (ignores_asking()) {
        return;
    }
    Action action;
    action.event.kind = EventKind::kKeyValueSet;
    action.event.name = std::move(key);
    action.event.text = std::move(value);
    push(std::move(action));
}

std::optional<std::string> Execution::recorded() {
    if (!replaying_) {
        return std::nullopt;
    }
    if (choices().recorded.empty()) {
        doom(last_event_id_ + 1, "nothing more", "KeyValueSet \"belay:value\" from record()",
             "a record() was added; see ctx.version()");
    }
    Recorded next = std::move(choices().recorded.front());
    choices().recorded.pop_front();
    record(next.value, next.failed);
    if (next.failed) {
        throw Failure(next.value, false);
    }
    return std::move(next.value);
}

void Execution::record(std::string value, bool failed) {
    set_reserved(std::string(failed ? kRecordedFailureKey : kRecordedKey), std::move(value));
}

int Execution::change_version(std::string_view change, int current) {
    if (current < 1) {
        throw std::invalid_argument("the version of a change is at least 1");
    }
    check_length(change, kMaxName - kVersionPrefix.size(), "a change");
    const std::string key = std::string(kVersionPrefix) + std::string(change);
    auto& stored_versions = choices().stored_versions;
    auto& answers = choices().answers;
    auto answer = answers.find(change);
    if (answer == answers.end()) {
        const auto stored = stored_versions.find(change);
        int version = 0;
        if (stored != stored_versions.end()) {
            version = stored->second.first;
        } else if (!replaying_) {
            version = current;
        }
        // The event of a retired change is skipped wherever it is.
        const bool retired = code_.options.retired_versions().contains(change);
        if (version > 0 && !(retired && stored != stored_versions.end())) {
            set_reserved(key, std::to_string(version));
        }
        answer = answers.emplace(std::string(change), version).first;
    }
    const std::string has =
        "version " + std::to_string(answer->second) + " of change \"" + std::string(change) + "\"";
    if (answer->second > current) {
        doom(last_event_id_, has, "at most version " + std::to_string(current),
             "made by newer code");
    }
    const auto least = code_.options.min_versions().find(change);
    if (least != code_.options.min_versions().end() && answer->second < least->second) {
        doom(last_event_id_, has, "at least version " + std::to_string(least->second),
             "the code does not support this version of the change any more");
    }
    return answer->second;
}

std::uint64_t Execution::random() {
    return mixed(seed_ + ++drawn_ * 0x9e3779b97f4a7c15);
}

void Execution::log(std::string text) {
    if (!replaying_ && !tearing_down_) {
        tell(RuntimeEvent::Kind::kLog, std::move(text));
    }
}

void Execution::drop(detail::CallState& call) {
    call.dropped = true;
    if (ignores_asking()) {
        return;
    }
    if (call.kind == CallKind::kQueue) {
        subscriptions().dropped(call);
    }
    ++call.references;
    dropped_.push_back(&call);
}

}  // namespace belay::engine
