// Times of a schedule: the five fields of cron, in a time zone.
//
//   minute (0-59)  hour (0-23)  day (1-31)  month (1-12, jan-dec)  weekday (0-7, sun-sat; 0 and 7
//   are Sunday)
//
// A field is a list of numbers, ranges and stars, the last two perhaps with a step:
// 1,5,10-20/2,*/15. If both day and weekday are restricted, either suffices.
//
// Where clocks change: an hour field that begins with a star means all hours that pass, so those
// that come twice count twice and those that are left out do not exist. Any other hour field names
// times of the day: each counts once a day, and one that is left out counts later by the
// length of the gap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::core {

struct Cron {
    uint64_t minutes;  // bits
    uint32_t hours;
    uint32_t days;
    uint32_t months;
    uint32_t weekdays;
    bool any_day;  // its field begins with a star
    bool any_weekday;
    bool any_hour;
};

// Where a text is no schedule.
struct CronFault {
    const char* field;
    const char* code_detail;
};
std::optional<CronFault> parse_cron(std::string_view text, Cron* cron);

struct Date {
    int year;
    int month;  // 1 to 12
    int day;

    bool operator==(const Date&) const = default;
};

// Days since 1970-01-01, and back.
int64_t days_of(const Date& date);
Date date_of(int64_t days);

// The first date that fits, from the given one on; none within the years that any date takes to
// come back.
std::optional<Date> next_date(const Cron& cron, const Date& from);

// A time of the day on a clock on the wall.
struct LocalTime {
    Date date;
    int hour;
    int minute;
};

inline constexpr int64_t kMinuteMs = 60'000;
inline constexpr int64_t kHourMs = 60 * kMinuteMs;

// Goes through the minutes that pass.
template <typename Zone>
std::optional<int64_t> next_by_clock(const Cron& cron, int64_t after, const Zone& zone) {
    int64_t at = after - ((after % kMinuteMs) + kMinuteMs) % kMinuteMs + kMinuteMs;
    while (true) {
        const LocalTime local = zone.local(at);
        const auto date = next_date(cron, local.date);
        if (!date) {
            return std::nullopt;
        }
        if (*date != local.date) {
            // Begin a little before that day: no clock is changed by more than that.
            at = std::max(at + kMinuteMs, zone.utc({*date, 0, 0}) - 3 * kHourMs);
            continue;
        }
        const bool in_hour = (cron.hours >> local.hour & 1) != 0;
        int minute = local.minute;
        while (minute < 60 && !(in_hour && (cron.minutes >> minute & 1) != 0)) {
            ++minute;
        }
        if (minute == local.minute) {
            return at;
        }
        at += (minute - local.minute) * kMinuteMs;  // within the hour, or to the next
    }
}

// Goes through the times of the days.
template <typename Zone>
std::optional<int64_t> next_by_calendar(const Cron& cron, int64_t after, const Zone& zone) {
    Date from = date_of(days_of(zone.local(after).date) - 1);
    while (const auto date = next_date(cron, from)) {
        std::optional<int64_t> first;
        for (int hour = 0; hour < 24; ++hour) {
            for (int minute = 0; minute < 60; ++minute) {
                if ((cron.hours >> hour & 1) == 0 || (cron.minutes >> minute & 1) == 0) {
                    continue;
                }
                const int64_t at = zone.utc({*date, hour, minute});
                if (at > after && (!first || at < *first)) {
                    first = at;
                }
            }
        }
        if (first) {
            return first;
        }
        from = date_of(days_of(*date) + 1);
    }
    return std::nullopt;
}

// The first time after an instant, in ms. zone.local(ms) is the LocalTime of an instant,
// zone.utc(LocalTime) an instant of a LocalTime.
template <typename Zone>
std::optional<int64_t> next_time(const Cron& cron, int64_t after, const Zone& zone) {
    return cron.any_hour ? next_by_clock(cron, after, zone) : next_by_calendar(cron, after, zone);
}

// The last times from `from` to `upto`, both included, at most so many; add(ms) gets them in order.
template <typename Zone, typename Add>
void last_times(const Cron& cron, int64_t from, int64_t upto, int most, const Zone& zone, Add add) {
    // Few times lie far back, and many need not be looked at: the span grows until it has enough.
    constexpr int64_t kLongest = int64_t{1} << 58;
    for (int64_t span = kHourMs;; span *= 4) {
        const int64_t begin = std::max(from - 1, upto - span);
        int count = 0;
        for (auto at = next_time(cron, begin, zone); at && *at <= upto;
             at = next_time(cron, *at, zone)) {
            ++count;
        }
        if (count < most && begin > from - 1 && span < kLongest) {
            continue;
        }
        int skip = std::max(0, count - most);
        for (auto at = next_time(cron, begin, zone); at && *at <= upto;
             at = next_time(cron, *at, zone)) {
            if (skip-- <= 0) {
                add(*at);
            }
        }
        return;
    }
}

}  // namespace belay::core
