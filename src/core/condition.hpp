// What a suspended task waits for: conditions over the signals that have come.
//
//   {"single": {"key": "approval", "names": ["approved"]}}     a signal at that waitpoint
//   {"all": [condition, ...]}                                   all of them
//   {"count": {"n": 2, "of": "sources", "keys": ["a", "b"]}}    so many waitpoints, signals,
//   sources "operator_only", "timeout_only"                             no signal ends the wait
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/json.hpp"

namespace belay::core {

inline constexpr std::string_view kOperatorOnly = "\"operator_only\"";
inline constexpr std::string_view kTimeoutOnly = "\"timeout_only\"";

// Where a condition is not one.
struct ConditionFault {
    const char* code_detail;
    std::string_view where;  // the JSON that is wrong
};

// Checks a condition over waitpoints with these keys, which are distinct. A condition may have very
// many parts: pause is called before each, and may leave by a jump.
std::optional<ConditionFault> check_condition(
    json::Value condition, std::span<const std::string_view> keys, void (*pause)() = [] {});

// Signals that are alike, and how many there are.
struct SignalCount {
    std::string_view key;  // of the waitpoint
    std::string_view name;
    std::optional<std::string_view> source;
    int64_t count;
};

// Whether the signals meet a condition that was checked.
bool is_met(json::Value condition, std::span<const SignalCount> signals);

}  // namespace belay::core
