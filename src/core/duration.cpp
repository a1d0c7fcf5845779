// Reading the values of hub options: numbers, durations, and sizes in bytes.
//
// Touches  its arguments
// Must not guess: what cannot be read whole gives no value
#include "core/duration.hpp"

#include <charconv>
#include <cstddef>

namespace belay::core {
namespace {

constexpr bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
constexpr bool is_letter(char c) {
    return to_lower(c) >= 'a' && to_lower(c) <= 'z';
}

constexpr bool same_word(std::string_view word, std::string_view lower) {
    if (word.size() != lower.size()) {
        return false;
    }
    for (size_t i = 0; i < word.size(); ++i) {
        if (to_lower(word[i]) != lower[i]) {
            return false;
        }
    }
    return true;
}

// Takes the characters of one class off the front of the text.
template <typename Class>
std::string_view take(std::string_view& text, Class is_in_class) {
    size_t size = 0;
    while (size < text.size() && is_in_class(text[size])) {
        ++size;
    }
    std::string_view front = text.substr(0, size);
    text.remove_prefix(size);
    return front;
}

std::string_view trim(std::string_view text) {
    take(text, is_blank);
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

// Digits only; a sign is no digit.
std::optional<int64_t> whole_number(std::string_view digits) {
    if (digits.empty() || !is_digit(digits.front())) {
        return std::nullopt;
    }
    int64_t number = 0;
    const char* end = digits.data() + digits.size();
    auto [stop, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return number;
}

struct Unit {
    std::string_view name;
    int64_t us;
};

constexpr int64_t kMsUs = 1000;
constexpr int64_t kSecondUs = 1000 * kMsUs;
constexpr int64_t kMinuteUs = 60 * kSecondUs;
constexpr int64_t kHourUs = 60 * kMinuteUs;
constexpr int64_t kDayUs = 24 * kHourUs;
constexpr int64_t kWeekUs = 7 * kDayUs;

constexpr Unit kDurationUnits[] = {
    {"us", 1},
    {"usec", 1},
    {"usecs", 1},
    {"microsecond", 1},
    {"microseconds", 1},
    {"ms", kMsUs},
    {"msec", kMsUs},
    {"msecs", kMsUs},
    {"millisecond", kMsUs},
    {"milliseconds", kMsUs},
    {"s", kSecondUs},
    {"sec", kSecondUs},
    {"secs", kSecondUs},
    {"second", kSecondUs},
    {"seconds", kSecondUs},
    {"min", kMinuteUs},
    {"mins", kMinuteUs},
    {"minute", kMinuteUs},
    {"minutes", kMinuteUs},
    {"h", kHourUs},
    {"hr", kHourUs},
    {"hrs", kHourUs},
    {"hour", kHourUs},
    {"hours", kHourUs},
    {"d", kDayUs},
    {"day", kDayUs},
    {"days", kDayUs},
    {"w", kWeekUs},
    {"week", kWeekUs},
    {"weeks", kWeekUs},
};

// A sum of amounts. Milliseconds and the microseconds below them are kept apart, so that the whole
// range of milliseconds can be reached.
struct Total {
    int64_t ms = 0;
    int64_t us = 0;  // Below 1000.

    // Adds whole.fraction units; false if the sum leaves the range. `fraction` holds digits.
    bool add(std::string_view whole, std::string_view fraction, int64_t unit_us) {
        std::optional<int64_t> units = whole_number(whole);
        if (!units) {
            return false;
        }
        // From the last digit to the first, each step divides by ten: exact, and never above the
        // unit times ten.
        int64_t part_us = 0;
        for (size_t i = fraction.size(); i-- > 0;) {
            part_us = ((fraction[i] - '0') * unit_us + part_us) / 10;
        }
        int64_t whole_ms = 0;
        if (unit_us < kMsUs) {
            whole_ms = *units / kMsUs;
            part_us += *units % kMsUs;
        } else if (__builtin_mul_overflow(*units, unit_us / kMsUs, &whole_ms)) {
            return false;
        }
        us += part_us;
        if (__builtin_add_overflow(ms, whole_ms, &ms) ||
            __builtin_add_overflow(ms, us / kMsUs, &ms)) {
            return false;
        }
        us %= kMsUs;
        return true;
    }
};

// Takes ":mm" off the front; two digits below 60.
std::string_view take_sexagesimal(std::string_view& text) {
    text.remove_prefix(1);
    std::string_view digits = take(text, is_digit);
    return digits.size() == 2 && digits[0] <= '5' ? digits : std::string_view();
}

std::string_view take_fraction(std::string_view& text) {
    if (text.size() < 2 || text[0] != '.' || !is_digit(text[1])) {
        return {};
    }
    text.remove_prefix(1);
    return take(text, is_digit);
}

// Takes one amount, "1.5 h" or "01:30:00", off the front and adds it.
bool take_amount(std::string_view& text, Total& total) {
    std::string_view whole = take(text, is_digit);
    if (!text.empty() && text.front() == ':') {
        std::string_view minutes = take_sexagesimal(text);
        std::string_view seconds = "0";
        std::string_view fraction;
        if (!text.empty() && text.front() == ':') {
            seconds = take_sexagesimal(text);
            fraction = take_fraction(text);
        }
        return total.add(whole, {}, kHourUs) && total.add(minutes, {}, kMinuteUs) &&
               total.add(seconds, fraction, kSecondUs) && (text.empty() || is_blank(text.front()));
    }
    std::string_view fraction = take_fraction(text);
    take(text, is_blank);
    std::string_view word = take(text, is_letter);
    for (const Unit& unit : kDurationUnits) {
        if (same_word(word, unit.name)) {
            return total.add(whole, fraction, unit.us);
        }
    }
    return false;
}

}  // namespace

std::optional<int64_t> parse_duration_ms(std::string_view text) {
    text = trim(text);
    if (std::optional<int64_t> ms = whole_number(text)) {
        return ms;
    }
    if (text.empty()) {
        return std::nullopt;
    }
    Total total;
    while (!text.empty()) {
        if (!take_amount(text, total)) {
            return std::nullopt;
        }
        take(text, is_blank);
    }
    return total.ms;
}

std::optional<int64_t> parse_bytes(std::string_view text) {
    text = trim(text);
    std::optional<int64_t> number = whole_number(take(text, is_digit));
    take(text, is_blank);
    int shift = 0;
    if (text.empty() || same_word(text, "b")) {
        shift = 0;
    } else if (same_word(text, "kb") || same_word(text, "kib")) {
        shift = 10;
    } else if (same_word(text, "mb") || same_word(text, "mib")) {
        shift = 20;
    } else if (same_word(text, "gb") || same_word(text, "gib")) {
        shift = 30;
    } else {
        return std::nullopt;
    }
    int64_t bytes = 0;
    if (!number || __builtin_mul_overflow(*number, int64_t{1} << shift, &bytes)) {
        return std::nullopt;
    }
    return bytes;
}

std::optional<bool> parse_bool(std::string_view text) {
    text = trim(text);
    for (std::string_view word : {"true", "on", "yes", "1"}) {
        if (same_word(text, word)) {
            return true;
        }
    }
    for (std::string_view word : {"false", "off", "no", "0"}) {
        if (same_word(text, word)) {
            return false;
        }
    }
    return std::nullopt;
}

std::optional<int64_t> parse_int(std::string_view text) {
    text = trim(text);
    bool has_plus = text.starts_with('+');
    if (has_plus) {
        text.remove_prefix(1);
    }
    if (text.empty() || (has_plus && !is_digit(text.front()))) {
        return std::nullopt;
    }
    int64_t number = 0;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return number;
}

}  // namespace belay::core
