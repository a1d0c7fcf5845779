// Hub options: their rules, and how their texts are read.
//
// May touch: the jsonb of the hub's row that the caller has read. Must not: read or write a table;
// hub.cpp and hub_row.cpp do.
#include "store/options.hpp"

#include "core/duration.hpp"
#include "core/events.hpp"
#include "core/name_pins.hpp"

namespace belay::store {

namespace {

constexpr int64 kBig = PG_INT64_MAX;
constexpr int64 kLongest = int64{100} * 365 * 24 * 3600 * 1000;  // no sensible duration is longer

constexpr const char* kDurationText =
    "a duration such as '90 s', '1 day' or a number of milliseconds";
constexpr const char* kDurationOrOffText =
    "a duration such as '90 s', '1 day' or a number of milliseconds, or off";
constexpr const char* kBytesText = "a size such as '16 MiB' or a number of bytes";

}  // namespace

constexpr OptionRule kOptionRules[kOptionCount] = {
    {"batch_bytes", "32 MiB", OptionForm::kBytes, 1024, 256 << 20, kBytesText},
    {"batch_messages", "10000", OptionForm::kInteger, 1, 1000000, "an integer from 1 to 1000000"},
    {"dead_letter_fails_activity", "true", OptionForm::kBool, 0, 1, "true or false"},
    {"dead_letter_retention", nullptr, OptionForm::kDuration, 0, kLongest, kDurationOrOffText,
     true},
    {"event_retention", "7 days", OptionForm::kDuration, 0, kLongest, kDurationText},
    {"events", "operator,completion,instance,lease.expired,lease.revoked", OptionForm::kEvents, 0,
     kBig, "a list of topics (lease, operator, completion, instance) or topic.type words"},
    {"fanout_bound", "256", OptionForm::kInteger, 1, 1000000, "an integer from 1 to 1000000"},
    {"instance_retention", nullptr, OptionForm::kDuration, 0, kLongest, kDurationOrOffText, true},
    {"intent_retention", "7 days", OptionForm::kDuration, 0, kLongest, kDurationText},
    {"max_attempts", "25", OptionForm::kInteger, 1, PG_INT32_MAX,
     "an integer of at least 1, or off", true},
    // get_task returns up to seven bodies in one jsonb, which ends at 256 MiB.
    {"max_body_bytes", "16 MiB", OptionForm::kBytes, 1024, 32 << 20, kBytesText},
    {"max_clock_skew", "60 s", OptionForm::kDuration, 0, kLongest, kDurationText},
    {"name_pins", nullptr, OptionForm::kNamePins, 0, 1,
     "a JSON object of up to 100 patterns and versions such as {\"billing.*\": \"1000.0.0\"}, or "
     "off",
     true},
    {"orphan_retention", "1 day", OptionForm::kDuration, 0, kLongest, kDurationText},
    {"slot_count", "1", OptionForm::kInteger, 1, 1024, "an integer from 1 to 1024"},
    {"stat_retention", "7 days", OptionForm::kDuration, 0, kLongest, kDurationText},
    {"task_retention", "24 h", OptionForm::kDuration, 0, kLongest, kDurationText},
};

std::optional<Option> find_option(std::string_view name) {
    for (int i = 0; i < kOptionCount; ++i) {
        if (name == kOptionRules[i].name) {
            return static_cast<Option>(i);
        }
    }
    return std::nullopt;
}

std::optional<int64> read_option(Option option, std::string_view text) {
    const auto& rule = kOptionRules[static_cast<int>(option)];
    if (rule.can_be_off && text == kOffWord) {
        return kOff;
    }
    std::optional<int64> value;
    switch (rule.form) {
        case OptionForm::kInteger:
            value = core::parse_int(text);
            break;
        case OptionForm::kDuration:
            value = core::parse_duration_ms(text);
            break;
        case OptionForm::kBytes:
            value = core::parse_bytes(text);
            break;
        case OptionForm::kBool:
            if (const auto word = core::parse_bool(text)) {
                value = *word ? 1 : 0;
            }
            break;
        case OptionForm::kEvents:
            if (const auto bits = core::parse_events(text)) {
                value = static_cast<int64>(*bits);
            }
            break;
        case OptionForm::kNamePins:
            if (core::is_name_pins(text)) {
                value = 1;
            }
            break;
    }
    if (value && (*value < rule.least || *value > rule.most)) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::string_view> stored_option(Jsonb* options, Option option) {
    if (options == nullptr || !JB_ROOT_IS_OBJECT(options)) {
        return std::nullopt;
    }
    const char* name = kOptionRules[static_cast<int>(option)].name;
    JsonbValue found;
    if (getKeyJsonValueFromContainer(&options->root, name, static_cast<int>(strlen(name)),
                                     &found) == nullptr ||
        found.type != jbvString) {
        return std::nullopt;
    }
    return std::string_view(found.val.string.val, static_cast<std::size_t>(found.val.string.len));
}

Options read_options(Jsonb* options) {
    Options result;
    for (int i = 0; i < kOptionCount; ++i) {
        const auto option = static_cast<Option>(i);
        std::optional<int64> value;
        if (const auto text = stored_option(options, option)) {
            value = read_option(option, *text);
        }
        if (!value && kOptionRules[i].fallback != nullptr) {
            value = read_option(option, kOptionRules[i].fallback);
        }
        result.values[i] = value.value_or(kOff);
    }
    return result;
}

}  // namespace belay::store
