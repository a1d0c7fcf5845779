// Comparison of what the code asks for with what its history has, and the text of a difference.
#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "execution.hpp"

namespace belay::engine {
namespace {

using nlohmann::json;

bool is_reserved(const Event& event) {
    return event.kind == EventKind::kKeyValueSet &&
           std::string_view(event.name).starts_with(kReservedPrefix);
}

// Whether everything but the input is equal.
bool same_but_text(const Event& event, const Action& action) {
    const Event& wanted = action.event;
    if (event.kind != wanted.kind || event.name != wanted.name) {
        return false;
    }
    if (event.kind == EventKind::kActivityScheduled) {
        return event.session == wanted.session && event.tag == wanted.tag;
    }
    if (event.kind == EventKind::kOrchestrationChained ||
        (event.kind == EventKind::kSubOrchestrationScheduled && !action.generated_instance)) {
        return event.instance == wanted.instance;
    }
    return true;
}

bool compares_text(const Event& event, bool strict) {
    switch (event.kind) {
        case EventKind::kActivityScheduled:
        case EventKind::kSubOrchestrationScheduled:
        case EventKind::kOrchestrationChained:
            return true;
        case EventKind::kKeyValueSet:
            return !is_reserved(event);
        case EventKind::kCustomStatusUpdated:
            return strict;
        default:
            return false;
    }
}

std::string first_difference(const json& a, const json& b, const std::string& path) {
    if (a.is_object() && b.is_object()) {
        for (const auto& [key, value] : a.items()) {
            if (!b.contains(key)) {
                return path + "/" + key;
            }
            if (const auto found = first_difference(value, b.at(key), path + "/" + key);
                !found.empty()) {
                return found;
            }
        }
        for (const auto& [key, value] : b.items()) {
            if (!a.contains(key)) {
                return path + "/" + key;
            }
        }
        return {};
    }
    if (a.is_array() && b.is_array()) {
        for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
            const std::string next = path + "/" + std::to_string(i);
            if (i >= a.size() || i >= b.size()) {
                return next;
            }
            if (const auto found = first_difference(a[i], b[i], next); !found.empty()) {
                return found;
            }
        }
        return {};
    }
    return a == b ? std::string() : path.empty() ? "/" : path;
}

std::string difference_of_texts(const std::string& history, const std::string& code) {
    const json a = json::parse(history, nullptr, false);
    const json b = json::parse(code, nullptr, false);
    if (a.is_discarded() || b.is_discarded()) {
        return "/";
    }
    return first_difference(a, b, {});
}

std::string quoted(const Event& event) {
    if (event.kind == EventKind::kTimerCreated) {
        return "the timer";
    }
    if (event.kind == EventKind::kCustomStatusUpdated) {
        return "the change of the status";
    }
    if (event.kind == EventKind::kKeyValuesCleared) {
        return "the clearing of the values";
    }
    return "\"" + event.name + "\"";
}

}  // namespace

void Execution::differs(std::int64_t at, const std::string& history, const std::string& code,
                        const std::string& likely, const std::string& path) {
    std::string text = "nondeterministic: event " + std::to_string(at) + " of " +
                       facts_.instance_id + ", execution " + std::to_string(facts_.execution_id) +
                       " (" + code_.name + " " + code_.version + ")";
    text += "\n  the history has: " + history;
    text += "\n  the code wants:  " + code;
    if (!path.empty()) {
        text += "\n  they differ at:  " + path;
    }
    if (before_.id != 0) {
        text += "\n  before that:     event " + std::to_string(before_.id) + " " +
                std::string(name_of(before_.kind));
        if (before_.source != 0) {
            text += " of event " + std::to_string(before_.source);
        }
        if (!before_.name.empty()) {
            text += " \"" + before_.name + "\"";
        }
    }
    if (!likely.empty()) {
        text += "\n  likely:          " + likely;
    }
    throw Nondeterminism(text, at);
}

void Execution::doom(std::int64_t at, const std::string& history, const std::string& code,
                     const std::string& likely) {
    // The code may catch what we throw, but it is not run any further.
    stopped_ = true;
    try {
        differs(at, history, code, likely);
    } catch (const Nondeterminism& difference) {
        if (!doom_) {
            doom_.emplace(difference);
        }
        throw;
    }
}

std::string Execution::waiting_for() const {
    const detail::CallState* first = nullptr;
    for (const detail::CallState* call = calls_; call != nullptr; call = call->next_call) {
        if (call->waiter != nullptr && !call->done &&
            (first == nullptr || call->sequence < first->sequence)) {
            first = call;
        }
    }
    if (first == nullptr) {
        return {};
    }
    const std::string what =
        first->kind == detail::CallKind::kTimer ? "(a timer)" : "\"" + first->name + "\"";
    return first->event_id == 0 ? what : "event " + std::to_string(first->event_id) + " " + what;
}

std::string Execution::nothing_wanted() const {
    if (end_) {
        return "nothing, it has returned";
    }
    const std::string waiting = waiting_for();
    return waiting.empty() ? "nothing" : "nothing, it waits for " + waiting;
}

std::string Execution::likely_reason(const Event& event, const Action& action) const {
    const Event& wanted = action.event;
    if (event.kind == wanted.kind && event.name == wanted.name) {
        if (event.kind == EventKind::kActivityScheduled &&
            (event.session != wanted.session || event.tag != wanted.tag)) {
            return "the options of " + quoted(event) + " were changed; see ctx.version()";
        }
        return "what " + quoted(event) +
               " gets was changed, or comes from outside of the history (clock, random numbers, "
               "addresses, unordered containers)";
    }
    // Is what the code wants further on in the history, or what the history has further on in
    // the code?
    const auto equals_wanted = [&](const Event& later) {
        return later.kind == wanted.kind && later.name == wanted.name;
    };
    if (stored_ != nullptr &&
        std::any_of(stored_->begin() + static_cast<std::ptrdiff_t>(stored_at_), stored_->end(),
                    equals_wanted)) {
        return "the call of " + quoted(event) +
               " was removed, or the order of calls was changed; see ctx.version()";
    }
    return "a call was added before " + quoted(event) + "; see ctx.version()";
}

void Execution::match(const Event& event, const Action& action) {
    const Event& wanted = action.event;
    const bool strict = event.id >= facts_.strict_from;
    std::string path;
    if (same_but_text(event, action)) {
        const bool delay_differs =
            strict && event.kind == EventKind::kTimerCreated && event.number != wanted.number;
        if (!delay_differs && (!compares_text(event, strict) || event.text == wanted.text)) {
            return;
        }
        if (event.text && wanted.text) {
            path = difference_of_texts(*event.text, *wanted.text);
        }
    }
    Event shown = wanted;
    if (action.generated_instance) {
        shown.instance = event.instance;
    }
    differs(event.id, describe(event), describe(shown), likely_reason(event, action), path);
}

bool Execution::skip_retired(const Event& event) {
    return event.kind == EventKind::kKeyValueSet &&
           std::string_view(event.name).starts_with(kVersionPrefix) &&
           code_.options.retired_versions().contains(
               std::string_view(event.name).substr(kVersionPrefix.size()));
}

void Execution::scan(const std::vector<Event>& history) {
    for (const Event& event : history) {
        if (!is_reserved(event)) {
            continue;
        }
        const std::string& text = event.text.value();
        if (event.name == kRecordedKey || event.name == kRecordedFailureKey) {
            choices().recorded.push_back({text, event.name == kRecordedFailureKey});
        } else if (std::string_view(event.name).starts_with(kVersionPrefix)) {
            const std::string change = event.name.substr(kVersionPrefix.size());
            int number = 0;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), number);
            if (error != std::errc() || end != text.data() + text.size() || number < 1) {
                throw Corrupt("the version of change \"" + change + "\" is no number: " + text);
            }
            choices().stored_versions.emplace(change, std::pair(number, event.id));
        }
    }
    for (const auto& [change, least] : code_.options.min_versions()) {
        const auto stored = choices().stored_versions.find(change);
        if (stored != choices().stored_versions.end() && stored->second.first < least) {
            differs(
                stored->second.second,
                "version " + std::to_string(stored->second.first) + " of change \"" + change + "\"",
                "at least version " + std::to_string(least),
                "the code does not support this version of the change any more");
        }
    }
}

}  // namespace belay::engine
