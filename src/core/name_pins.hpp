// Version pins of orchestrations by their names: the hub option name_pins.
//
// Written as a JSON object from patterns to versions, {"billing.*": "1000.0.0"}. An instance that
// has no pin of its own counts as pinned to the version of the first pattern that its name matches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/json.hpp"

namespace belay::core {

struct NamePin {
    json::Value pattern;  // a JSON string
    int32_t parts[3];     // of the version
};

// The most patterns that the option has.
constexpr size_t kMaxNamePins = 100;

// Whether the text is a value of the option.
bool is_name_pins(std::string_view text);

// Reads the pins of a text that is one into out, which has room for kMaxNamePins; returns how many.
size_t read_name_pins(std::string_view text, NamePin* out);

// Whether the whole name matches the pattern, in which * stands for any characters, also none.
bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace belay::core
