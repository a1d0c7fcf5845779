// Reading the five fields of cron, and the search for the next time that fits them.
//
// Touches  its arguments; asks the time zone that it is given
// Must not read a clock: the caller says from when
#include "core/cron.hpp"

#include <algorithm>
#include <charconv>
#include <span>

namespace belay::core {

namespace {

// A day comes back after at most so many days: 29 February, over a year that is no leap year.
constexpr int64_t kLongestCycle = int64_t{366} * 9;

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
    const char* name;
    int least;
    int most;
    std::span<const std::string_view> words;  // the first one stands for `least`
};

constexpr Field kFields[] = {{"minute", 0, 59, {}},
                             {"hour", 0, 23, {}},
                             {"day", 1, 31, {}},
                             {"month", 1, 12, kMonths},
                             {"weekday", 0, 7, kWeekdays}};

// Words for all five fields.
struct Alias {
    std::string_view word;
    std::string_view fields;
};

constexpr Alias kAliases[] = {{"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},
                              {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
                              {"@monthly", "0 0 1 * *"},  {"@yearly", "0 0 1 1 *"},
                              {"@annually", "0 0 1 1 *"}};

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == y; });
}

std::optional<int> read_number(std::string_view text) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool digits = !text.empty() && text[0] >= '0' && text[0] <= '9';
    return digits && read.ec == std::errc() && read.ptr == end ? std::optional(number)
                                                               : std::nullopt;
}

std::optional<int> read_value(std::string_view text, const Field& field) {
    for (std::size_t i = 0; i < field.words.size(); ++i) {
        if (same_word(text, field.words[i])) {
            return field.least + static_cast<int>(i);
        }
    }
    return read_number(text);
}

// One element of a list, as bits; the word for what is wrong with it.
const char* read_element(std::string_view text, const Field& field, uint64_t* bits) {
    const auto slash = text.find('/');
    const auto range = text.substr(0, slash);
    const auto dash = range.find('-');
    int from = field.least;
    int to = field.most;
    if (range != "*") {
        const auto first = read_value(range.substr(0, dash), field);
        const auto last =
            dash == std::string_view::npos ? first : read_value(range.substr(dash + 1), field);
        if (!first || !last ||
            (slash != std::string_view::npos && dash == std::string_view::npos)) {
            return "bad_value";
        }
        from = *first;
        to = *last;
    }
    int step = 1;
    if (slash != std::string_view::npos) {
        const auto given = read_number(text.substr(slash + 1));
        if (!given) {
            return "bad_value";
        }
        step = *given;
    }
    if (from < field.least || to > field.most || from > to || step < 1 || step > field.most + 1) {
        return "out_of_range";
    }
    for (int value = from; value <= to; value += step) {
        *bits |= uint64_t{1} << value;
    }
    return nullptr;
}

const char* read_field(std::string_view text, const Field& field, uint64_t* bits) {
    while (true) {
        const auto comma = text.find(',');
        if (const char* fault = read_element(text.substr(0, comma), field, bits)) {
            return fault;
        }
        if (comma == std::string_view::npos) {
            return nullptr;
        }
        text.remove_prefix(comma + 1);
    }
}

// The next word of the text, which is taken off it.
std::string_view next_word(std::string_view* text) {
    constexpr std::string_view kBlanks = " \t";
    text->remove_prefix(std::min(text->find_first_not_of(kBlanks), text->size()));
    const auto word = text->substr(0, text->find_first_of(kBlanks));
    text->remove_prefix(word.size());
    return word;
}

bool fits(const Cron& cron, const Date& date, int64_t days) {
    if ((cron.months >> date.month & 1) == 0) {
        return false;
    }
    const auto weekday = static_cast<int>(((days + 4) % 7 + 7) % 7);  // 1970-01-01 was a Thursday
    const bool day = (cron.days >> date.day & 1) != 0;
    const bool on_weekday = (cron.weekdays >> weekday & 1) != 0;
    return cron.any_day || cron.any_weekday ? day && on_weekday : day || on_weekday;
}

}  // namespace

std::optional<CronFault> parse_cron(std::string_view text, Cron* cron) {
    if (text.starts_with('@')) {
        const auto* alias =
            std::find_if(std::begin(kAliases), std::end(kAliases),
                         [text](const Alias& a) { return same_word(text, a.word); });
        if (alias == std::end(kAliases)) {
            return CronFault{"minute", "bad_value"};
        }
        text = alias->fields;
    }
    uint64_t bits[5] = {};
    bool stars[5] = {};
    for (int i = 0; i < 5; ++i) {
        const auto word = next_word(&text);
        if (word.empty()) {
            return CronFault{kFields[i].name, "missing_field"};
        }
        if (const char* fault = read_field(word, kFields[i], &bits[i])) {
            return CronFault{kFields[i].name, fault};
        }
        stars[i] = word[0] == '*';
    }
    if (!next_word(&text).empty()) {
        return CronFault{"weekday", "too_many"};
    }
    // 7 is Sunday, too.
    const uint64_t weekdays = (bits[4] | bits[4] >> 7) & 0x7f;
    *cron = {.minutes = bits[0],
             .hours = static_cast<uint32_t>(bits[1]),
             .days = static_cast<uint32_t>(bits[2]),
             .months = static_cast<uint32_t>(bits[3]),
             .weekdays = static_cast<uint32_t>(weekdays),
             .any_day = stars[2],
             .any_weekday = stars[4],
             .any_hour = stars[1]};
    return std::nullopt;
}

int64_t days_of(const Date& date) {
    // Years that begin in March have their odd day at the end.
    const int64_t year = date.month > 2 ? date.year : int64_t{date.year} - 1;
    const int64_t century = (year >= 0 ? year : year - 399) / 400;
    const int64_t in_era = year - century * 400;
    const int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    const int64_t day = (153 * month + 2) / 5 + date.day - 1;
    return century * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + day - 719468;
}

Date date_of(int64_t days) {
    const int64_t shifted = days + 719468;
    const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const int64_t in_era = shifted - era * 146097;
    const int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    const int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    const int64_t month = (5 * in_year + 2) / 153;
    const auto day = static_cast<int>(in_year - (153 * month + 2) / 5 + 1);
    const auto civil = static_cast<int>(month < 10 ? month + 3 : month - 9);
    return {static_cast<int>(year + era * 400 + (civil <= 2 ? 1 : 0)), civil, day};
}

std::optional<Date> next_date(const Cron& cron, const Date& from) {
    const int64_t first = days_of(from);
    for (int64_t days = first; days <= first + kLongestCycle; ++days) {
        const Date date = date_of(days);
        if (fits(cron, date, days)) {
            return date;
        }
    }
    return std::nullopt;
}

}  // namespace belay::core
