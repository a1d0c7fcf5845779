// Hub options: their names, defaults and checked values. One table says all.
#pragma once

#include "pg/pg.hpp"

namespace belay::store {

// Sorted by name, in the order of kOptionRules.
enum class Option : int {
    kBatchBytes,
    kBatchMessages,
    kDeadLetterFailsActivity,
    kDeadLetterRetention,
    kEventRetention,
    kEvents,
    kFanoutBound,
    kInstanceRetention,
    kIntentRetention,
    kMaxAttempts,
    kMaxBodyBytes,
    kMaxClockSkew,
    kNamePins,
    kOrphanRetention,
    kSlotCount,
    kStatRetention,
    kTaskRetention,
    kCount,
};

inline constexpr int kOptionCount = static_cast<int>(Option::kCount);

// The value of an option that is switched off (shown as null).
inline constexpr int64 kOff = -1;

// What switches an option off that is on by default.
inline constexpr std::string_view kOffWord = "off";

// Checked values: integers, milliseconds, bytes, 0 or 1, bits of core::kEventTypes, or, of
// name_pins, 1: its text is in the hub.
struct Options {
    int64 values[kOptionCount];

    int64 operator[](Option option) const { return values[static_cast<int>(option)]; }
};

// How the value of an option is written.
enum class OptionForm { kInteger, kDuration, kBytes, kBool, kEvents, kNamePins };

struct OptionRule {
    const char* name;
    const char* fallback;  // the default as text; null if the option is off by default
    OptionForm form;
    int64 least;
    int64 most;
    const char* expected;     // what a good value looks like, for the hint
    bool can_be_off = false;  // by the word off
};

extern const OptionRule kOptionRules[kOptionCount];

// The option of that name.
std::optional<Option> find_option(std::string_view name);

// The checked value of a text for the option; no value if the text is not one of its values.
std::optional<int64> read_option(Option option, std::string_view text);

// The value of the option stored in the hub's options, if it has one of its own.
std::optional<std::string_view> stored_option(Jsonb* options, Option option);

// The checked values of a hub's options, defaults filled in. A stored value that no longer passes
// (the owner wrote it by hand) counts as unset.
Options read_options(Jsonb* options);

}  // namespace belay::store
