// The check of a condition, and whether the signals that have come meet it.
//
// Touches  its arguments; the heap, for the words that a count compares
// Must not look for faults in is_met: check_condition has accepted what comes there
#include "core/condition.hpp"

#include <algorithm>
#include <vector>

namespace belay::core {

namespace {

constexpr int kMaxDepth = 4;
constexpr int64_t kMostSignals = 1'000'000;

using Fault = std::optional<ConditionFault>;

bool lists(json::Value array, std::string_view text) {
    json::Elements elements(array);
    json::Value element;
    while (elements.next(element)) {
        if (json::key_is(element.text, text)) {
            return true;
        }
    }
    return false;
}

// Whether the element, a string, is one of the texts.
bool is_one_of(json::Value element, std::span<const std::string_view> texts) {
    return std::any_of(texts.begin(), texts.end(), [element](std::string_view text) {
        return json::key_is(element.text, text);
    });
}

// Refuses members that are not in the list.
Fault check_members(json::Value object, std::initializer_list<std::string_view> known) {
    json::Members members(object);
    std::string_view key;
    json::Value value;
    while (members.next(key, value)) {
        if (std::none_of(known.begin(), known.end(),
                         [key](std::string_view name) { return json::key_is(key, name); })) {
            return ConditionFault{"unknown_key", key};
        }
    }
    return std::nullopt;
}

Fault check_strings(json::Value array, std::string_view where) {
    if (array.kind != json::Kind::kArray) {
        return ConditionFault{"not_an_array", where};
    }
    json::Elements elements(array);
    json::Value element;
    while (elements.next(element)) {
        if (element.kind != json::Kind::kString) {
            return ConditionFault{"wrong_type", element.text};
        }
    }
    return std::nullopt;
}

Fault check_single(json::Value single, std::span<const std::string_view> keys) {
    if (single.kind != json::Kind::kObject) {
        return ConditionFault{"not_an_object", single.text};
    }
    if (const Fault fault = check_members(single, {"key", "names"})) {
        return fault;
    }
    const auto key = json::find(single, "key");
    if (!key || key->kind != json::Kind::kString) {
        return ConditionFault{"missing_field", single.text};
    }
    if (!is_one_of(*key, keys)) {
        return ConditionFault{"unknown_waitpoint", key->text};
    }
    const auto names = json::find(single, "names");
    return names ? check_strings(*names, names->text) : std::nullopt;
}

// The keys of a count: known ones, each once.
Fault check_keys(json::Value array, std::span<const std::string_view> keys) {
    if (const Fault fault = check_strings(array, array.text)) {
        return fault;
    }
    if (json::count(array) > keys.size()) {
        // Of so many the first are enough to say what is wrong.
        json::Elements elements(array);
        json::Value element;
        for (std::size_t i = 0; i <= keys.size() && elements.next(element); ++i) {
            if (!is_one_of(element, keys)) {
                return ConditionFault{"unknown_waitpoint", element.text};
            }
        }
        return ConditionFault{"duplicate_key", array.text};
    }
    for (const std::string_view key : keys) {
        json::Elements elements(array);
        json::Value element;
        int times = 0;
        while (elements.next(element)) {
            times += json::key_is(element.text, key) ? 1 : 0;
        }
        if (times > 1) {
            return ConditionFault{"duplicate_key", array.text};
        }
    }
    json::Elements elements(array);
    json::Value element;
    while (elements.next(element)) {
        if (!is_one_of(element, keys)) {
            return ConditionFault{"unknown_waitpoint", element.text};
        }
    }
    return json::count(array) == 0 ? Fault(ConditionFault{"empty", array.text}) : std::nullopt;
}

Fault check_count(json::Value count, std::span<const std::string_view> keys) {
    if (count.kind != json::Kind::kObject) {
        return ConditionFault{"not_an_object", count.text};
    }
    if (const Fault fault = check_members(count, {"n", "of", "keys"})) {
        return fault;
    }
    const auto n = json::find(count, "n");
    const auto of = json::find(count, "of");
    if (!n || !of) {
        return ConditionFault{"missing_field", count.text};
    }
    const auto number = json::as_int64(*n);
    if (!number) {
        return ConditionFault{"wrong_type", n->text};
    }
    const bool waitpoints = of->text == "\"waitpoints\"";
    if (!waitpoints && of->text != "\"signals\"" && of->text != "\"sources\"") {
        return ConditionFault{"bad_value", of->text};
    }
    size_t given = keys.size();
    if (const auto listed = json::find(count, "keys")) {
        if (const Fault fault = check_keys(*listed, keys)) {
            return fault;
        }
        given = json::count(*listed);
    }
    if (*number < 1 || *number > kMostSignals ||
        (waitpoints && *number > static_cast<int64_t>(given))) {
        return ConditionFault{"out_of_range", n->text};
    }
    return std::nullopt;
}

Fault check(json::Value condition, std::span<const std::string_view> keys, void (*pause)(),
            int depth) {
    pause();
    if (depth > kMaxDepth) {
        return ConditionFault{"too_deep", condition.text};
    }
    if (depth == 1 && (condition.text == kOperatorOnly || condition.text == kTimeoutOnly)) {
        return std::nullopt;
    }
    if (condition.kind != json::Kind::kObject || json::count(condition) != 1) {
        return ConditionFault{"bad_value", condition.text};
    }
    if (const auto single = json::find(condition, "single")) {
        return check_single(*single, keys);
    }
    if (const auto count = json::find(condition, "count")) {
        return check_count(*count, keys);
    }
    const auto all = json::find(condition, "all");
    if (!all || all->kind != json::Kind::kArray) {
        return ConditionFault{"bad_value", condition.text};
    }
    if (json::count(*all) == 0) {
        return ConditionFault{"empty", all->text};
    }
    json::Elements elements(*all);
    json::Value element;
    while (elements.next(element)) {
        if (const Fault fault = check(element, keys, pause, depth + 1)) {
            return fault;
        }
    }
    return std::nullopt;
}

bool is_single_met(json::Value single, std::span<const SignalCount> signals) {
    const auto key = json::find(single, "key");
    const auto names = json::find(single, "names");
    const bool any_name = !names || json::count(*names) == 0;
    return std::any_of(signals.begin(), signals.end(), [&](const SignalCount& signal) {
        return json::key_is(key->text, signal.key) && (any_name || lists(*names, signal.name));
    });
}

int64_t count_distinct(std::vector<std::string_view> texts) {
    std::sort(texts.begin(), texts.end());
    return std::unique(texts.begin(), texts.end()) - texts.begin();
}

bool is_count_met(json::Value count, std::span<const SignalCount> signals) {
    const int64_t n = *json::as_int64(*json::find(count, "n"));
    const std::string_view of = json::find(count, "of")->text;
    const auto keys = json::find(count, "keys");
    int64_t total = 0;
    std::vector<std::string_view> words;
    for (const SignalCount& signal : signals) {
        if (keys && !lists(*keys, signal.key)) {
            continue;
        }
        total += signal.count;
        if (of == "\"waitpoints\"") {
            words.push_back(signal.key);
        } else if (signal.source) {
            words.push_back(*signal.source);
        }
    }
    return (of == "\"signals\"" ? total : count_distinct(std::move(words))) >= n;
}

}  // namespace

std::optional<ConditionFault> check_condition(json::Value condition,
                                              std::span<const std::string_view> keys,
                                              void (*pause)()) {
    return check(condition, keys, pause, 1);
}

bool is_met(json::Value condition, std::span<const SignalCount> signals) {
    if (const auto single = json::find(condition, "single")) {
        return is_single_met(*single, signals);
    }
    if (const auto count = json::find(condition, "count")) {
        return is_count_met(*count, signals);
    }
    const auto all = json::find(condition, "all");
    if (!all) {
        return false;  // operator_only, timeout_only
    }
    json::Elements elements(*all);
    json::Value element;
    while (elements.next(element)) {
        if (!is_met(element, signals)) {
            return false;
        }
    }
    return true;
}

}  // namespace belay::core
