#include "core/cron.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace belay::core {
namespace {

const char* fault_of(std::string_view text) {
    Cron cron{};
    const auto fault = parse_cron(text, &cron);
    return fault ? fault->code_detail : "none";
}

Cron cron(std::string_view text) {
    Cron result{};
    EXPECT_FALSE(parse_cron(text, &result).has_value()) << text;
    return result;
}

int64_t at(int year, int month, int day, int hour, int minute) {
    return ((days_of({year, month, day}) * 24 + hour) * 60 + minute) * kMinuteMs;
}

struct Utc {
    LocalTime local(int64_t ms) const {
        const int64_t minutes = ms / kMinuteMs;
        return {date_of(minutes / 1440), static_cast<int>(minutes / 60 % 24),
                static_cast<int>(minutes % 60)};
    }
    int64_t utc(const LocalTime& time) const {
        return at(time.date.year, time.date.month, time.date.day, time.hour, time.minute);
    }
};

// An hour ahead of UTC, two between 2024-03-31 01:00 and 2024-10-27 01:00 (UTC).
struct Berlin {
    int64_t begin = at(2024, 3, 31, 1, 0);
    int64_t end = at(2024, 10, 27, 1, 0);

    int64_t ahead(int64_t ms) const { return ms >= begin && ms < end ? 2 * kHourMs : kHourMs; }
    LocalTime local(int64_t ms) const { return Utc().local(ms + ahead(ms)); }
    // As the server does it: before a gap the old offset counts, in an overlap the new one.
    int64_t utc(const LocalTime& time) const {
        const int64_t shown = Utc().utc(time);
        const int64_t winter = shown - kHourMs;
        const int64_t summer = shown - 2 * kHourMs;
        const bool is_summer = ahead(winter) != kHourMs && ahead(summer) == 2 * kHourMs;
        return is_summer ? summer : winter;
    }
};

std::vector<std::string> times(std::string_view text, int64_t after, int count, auto zone) {
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
        const auto next = next_time(cron(text), after, zone);
        if (!next) {
            all.emplace_back("never");
            break;
        }
        after = *next;
        const LocalTime utc = Utc().local(after);
        char shown[32];
        std::snprintf(shown, sizeof shown, "%04d-%02d-%02d %02d:%02d", utc.date.year,
                      utc.date.month, utc.date.day, utc.hour, utc.minute);
        all.emplace_back(shown);
    }
    return all;
}

using Times = std::vector<std::string>;

// SC-1: lists, ranges, steps, names; what is none is refused.
TEST(Cron, ReadsFiveFields) {
    EXPECT_EQ(cron("0 0 * * *").minutes, 1U);
    EXPECT_EQ(cron("*/15 0 * * *").minutes, 1U | 1U << 15 | 1U << 30 | uint64_t{1} << 45);
    EXPECT_EQ(cron("1,3-5,10-20/5 0 * * *").minutes,
              1U << 1 | 1U << 3 | 1U << 4 | 1U << 5 | 1U << 10 | 1U << 15 | 1U << 20);
    EXPECT_EQ(cron("0 0 * JAN,mar-May *").months, 1U << 1 | 1U << 3 | 1U << 4 | 1U << 5);
    EXPECT_EQ(cron("0 0 * * sun").weekdays, 1U);
    EXPECT_EQ(cron("0 0 * * 7").weekdays, 1U);
    EXPECT_EQ(cron("0 0 * * 5-7").weekdays, 1U | 1U << 5 | 1U << 6);
    EXPECT_EQ(cron("0 0 * * Mon-Fri").weekdays, 0x3eU);
    EXPECT_EQ(cron(" 0\t0  1 1 * ").days, 2U);
    const std::pair<const char*, const char*> bad[] = {{"", "missing_field"},
                                                       {"* * * *", "missing_field"},
                                                       {"* * * * * *", "too_many"},
                                                       {"60 * * * *", "out_of_range"},
                                                       {"* 24 * * *", "out_of_range"},
                                                       {"* * 0 * *", "out_of_range"},
                                                       {"* * 32 * *", "out_of_range"},
                                                       {"* * * 13 *", "out_of_range"},
                                                       {"* * * 0 *", "out_of_range"},
                                                       {"* * * * 8", "out_of_range"},
                                                       {"5-1 * * * *", "out_of_range"},
                                                       {"*/0 * * * *", "out_of_range"},
                                                       {"*/61 * * * *", "out_of_range"},
                                                       {"a * * * *", "bad_value"},
                                                       {"1, * * * *", "bad_value"},
                                                       {"-1 * * * *", "bad_value"},
                                                       {"1- * * * *", "bad_value"},
                                                       {"5/15 * * * *", "bad_value"},
                                                       {"* * * mon *", "bad_value"},
                                                       {"* * * * jan", "bad_value"},
                                                       {"1.5 * * * *", "bad_value"},
                                                       {"*/x * * * *", "bad_value"},
                                                       {"** * * * *", "bad_value"},
                                                       {"@often", "bad_value"},
                                                       {"@", "bad_value"},
                                                       {"@daily 1", "bad_value"},
                                                       {"99999999999 * * * *", "bad_value"},
                                                       {"+1 * * * *", "bad_value"}};
    for (const auto& [text, code] : bad) {
        EXPECT_STREQ(fault_of(text), code) << text;
    }
}

// SC-1: words for common schedules stand for five fields.
TEST(Cron, KnowsWordsForCommonSchedules) {
    const std::pair<const char*, const char*> words[] = {
        {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
        {"@Weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@YEARLY", "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"}};
    for (const auto& [word, fields] : words) {
        const Cron a = cron(word);
        const Cron b = cron(fields);
        EXPECT_EQ(memcmp(&a, &b, sizeof a), 0) << word;
    }
}

// SC-2: strictly after; day and weekday as cron has them.
TEST(Cron, FindsTheNextTime) {
    const int64_t start = at(2024, 2, 28, 10, 30);
    EXPECT_EQ(times("30 10 * * *", start, 2, Utc()),
              (Times{"2024-02-29 10:30", "2024-03-01 10:30"}));
    EXPECT_EQ(times("*/20 * * * *", start, 3, Utc()),
              (Times{"2024-02-28 10:40", "2024-02-28 11:00", "2024-02-28 11:20"}));
    EXPECT_EQ(times("* * * * *", start + 1, 2, Utc()),
              (Times{"2024-02-28 10:31", "2024-02-28 10:32"}));
    EXPECT_EQ(times("* * * * *", start - 1, 1, Utc()), (Times{"2024-02-28 10:30"}));
    EXPECT_EQ(times("0 12 31 * *", start, 3, Utc()),
              (Times{"2024-03-31 12:00", "2024-05-31 12:00", "2024-07-31 12:00"}));
    EXPECT_EQ(times("0 12 29 2 *", start, 2, Utc()),
              (Times{"2024-02-29 12:00", "2028-02-29 12:00"}));
    EXPECT_EQ(times("0 * 29 2 *", at(2097, 1, 1, 0, 0), 1, Utc()), (Times{"2104-02-29 00:00"}));
    EXPECT_EQ(times("0 0 30 2 *", start, 1, Utc()), (Times{"never"}));
    EXPECT_EQ(times("0 * 31 6 *", start, 1, Utc()), (Times{"never"}));
    // 2024-03-01 was a Friday. Either suffices if both are restricted, else both have to fit.
    EXPECT_EQ(
        times("0 0 13 * fri", start, 4, Utc()),
        (Times{"2024-03-01 00:00", "2024-03-08 00:00", "2024-03-13 00:00", "2024-03-15 00:00"}));
    EXPECT_EQ(times("0 0 * * fri", start, 2, Utc()),
              (Times{"2024-03-01 00:00", "2024-03-08 00:00"}));
    EXPECT_EQ(times("0 0 */2 * fri", start, 2, Utc()),
              (Times{"2024-03-01 00:00", "2024-03-15 00:00"}));
    EXPECT_EQ(times("0 0 1 jan 0", start, 2, Utc()),
              (Times{"2025-01-01 00:00", "2025-01-05 00:00"}));
    EXPECT_EQ(times("59 23 31 12 *", start, 1, Utc()), (Times{"2024-12-31 23:59"}));
}

// SC-3: clocks that go forward.
TEST(Cron, CountsATimeThatIsLeftOutAnHourLater) {
    const int64_t before = at(2024, 3, 30, 12, 0);
    EXPECT_EQ(times("30 2 * * *", before, 3, Berlin()),
              (Times{"2024-03-31 01:30", "2024-04-01 00:30", "2024-04-02 00:30"}));
    // 02:00, 02:30 and 03:00, 03:30 fall together.
    EXPECT_EQ(times("0,30 2,3 31 3 *", before, 3, Berlin()),
              (Times{"2024-03-31 01:00", "2024-03-31 01:30", "2025-03-31 01:00"}));
    EXPECT_EQ(times("30 * * * *", at(2024, 3, 30, 23, 45), 3, Berlin()),
              (Times{"2024-03-31 00:30", "2024-03-31 01:30", "2024-03-31 02:30"}));
    EXPECT_EQ(times("0 */2 * * *", at(2024, 3, 30, 22, 30), 3, Berlin()),
              (Times{"2024-03-30 23:00", "2024-03-31 02:00", "2024-03-31 04:00"}));
}

// SC-3: clocks that go back.
TEST(Cron, CountsATimeThatComesTwiceOnceADay) {
    const int64_t before = at(2024, 10, 26, 12, 0);
    EXPECT_EQ(times("30 2 * * *", before, 2, Berlin()),
              (Times{"2024-10-27 01:30", "2024-10-28 01:30"}));
    EXPECT_EQ(times("30 * * * *", at(2024, 10, 26, 23, 45), 3, Berlin()),
              (Times{"2024-10-27 00:30", "2024-10-27 01:30", "2024-10-27 02:30"}));
    EXPECT_EQ(times("*/30 1-3 * * *", before, 7, Berlin()),
              (Times{"2024-10-26 23:00", "2024-10-26 23:30", "2024-10-27 01:00", "2024-10-27 01:30",
                     "2024-10-27 02:00", "2024-10-27 02:30", "2024-10-28 00:00"}));
}

// SC-4: the last of many times.
TEST(Cron, ListsTheLastTimes) {
    const auto last = [](std::string_view text, int64_t from, int64_t upto, int most) {
        std::vector<int64_t> all;
        last_times(cron(text), from, upto, most, Utc(),
                   [&all](int64_t time) { all.push_back(time); });
        return all;
    };
    const int64_t start = at(2024, 1, 1, 0, 0);
    EXPECT_EQ(last("* * * * *", start, start + 2 * kMinuteMs, 10),
              (std::vector{start, start + kMinuteMs, start + 2 * kMinuteMs}));
    EXPECT_EQ(last("* * * * *", start, start + 2 * kMinuteMs, 1),
              (std::vector{start + 2 * kMinuteMs}));
    EXPECT_EQ(last("* * * * *", start, at(2034, 1, 1, 0, 0), 1),
              (std::vector{at(2034, 1, 1, 0, 0)}));
    EXPECT_EQ(last("0 0 1 1 *", start, at(2034, 6, 1, 0, 0), 1),
              (std::vector{at(2034, 1, 1, 0, 0)}));
    EXPECT_EQ(last("0 0 1 1 *", start, at(2034, 6, 1, 0, 0), 100).size(), 11U);
    const auto thousand = last("*/2 * * * *", start, at(2024, 3, 1, 0, 0), 1000);
    ASSERT_EQ(thousand.size(), 1000U);
    EXPECT_EQ(thousand.back(), at(2024, 3, 1, 0, 0));
    EXPECT_EQ(thousand.front(), at(2024, 3, 1, 0, 0) - 999 * 2 * kMinuteMs);
    EXPECT_TRUE(last("0 0 1 1 *", at(2024, 2, 1, 0, 0), at(2024, 6, 1, 0, 0), 5).empty());
}

// SC-6: however long the downtime was, only its end is looked at.
TEST(Cron, LooksBackNoFurtherThanItMust) {
    struct Counting : Utc {
        int64_t* asked;
        LocalTime local(int64_t ms) const {
            ++*asked;
            return Utc::local(ms);
        }
    };
    const int64_t upto = int64_t{8'210'298'412'800'000};  // in the year 262142
    for (const char* text : {"* * * * *", "7 * * * *", "0 */5 * * *", "0 0 * * *", "30 8 * * mon",
                             "0 0 1 1 *", "0 0 29 2 *"}) {
        int64_t asked = 0;
        Counting zone;
        zone.asked = &asked;
        std::vector<int64_t> all;
        last_times(cron(text), at(1970, 1, 1, 0, 0), upto, 1000, zone,
                   [&all](int64_t time) { all.push_back(time); });
        EXPECT_EQ(all.size(), 1000U) << text;
        EXPECT_LT(asked, 50'000) << text;
    }
}

TEST(Dates, GoThereAndBack) {
    for (int64_t days = -800'000; days <= 800'000; days += 37) {
        EXPECT_EQ(days_of(date_of(days)), days);
    }
    EXPECT_EQ(days_of({1970, 1, 1}), 0);
    EXPECT_EQ(days_of({2000, 2, 29}), 11016);
    EXPECT_EQ(date_of(11017), (Date{2000, 3, 1}));
}

}  // namespace
}  // namespace belay::core
