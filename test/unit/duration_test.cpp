#include "core/duration.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::core {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Duration, PlainNumbersAreMilliseconds) {
    EXPECT_EQ(parse_duration_ms("0"), 0);
    EXPECT_EQ(parse_duration_ms("1500"), 1500);
    EXPECT_EQ(parse_duration_ms("  1500\t"), 1500);
    EXPECT_EQ(parse_duration_ms("9223372036854775807"), kMax);
    EXPECT_FALSE(parse_duration_ms("9223372036854775808"));
}

TEST(Duration, Units) {
    struct {
        std::string_view text;
        int64_t ms;
    } cases[] = {
        {"90 s", 90000},         {"90s", 90000},          {"90 sec", 90000},
        {"90 secs", 90000},      {"1 second", 1000},      {"2 SECONDS", 2000},
        {"500 ms", 500},         {"1 msec", 1},           {"2 msecs", 2},
        {"1 millisecond", 1},    {"2 milliseconds", 2},   {"1500 us", 1},
        {"999 microseconds", 0}, {"1 microsecond", 0},    {"3 min", 180000},
        {"3 mins", 180000},      {"1 minute", 60000},     {"2 minutes", 120000},
        {"24 h", 86400000},      {"1 hr", 3600000},       {"2 hrs", 7200000},
        {"1 Hour", 3600000},     {"2 hours", 7200000},    {"1 d", 86400000},
        {"1 day", 86400000},     {"7 days", 604800000},   {"1 w", 604800000},
        {"1 week", 604800000},   {"2 weeks", 1209600000},
    };
    for (const auto& each : cases) {
        EXPECT_EQ(parse_duration_ms(each.text), each.ms) << each.text;
    }
}

TEST(Duration, Fractions) {
    EXPECT_EQ(parse_duration_ms("1.5 h"), 5400000);
    EXPECT_EQ(parse_duration_ms("0.001 s"), 1);
    EXPECT_EQ(parse_duration_ms("0.0009 s"), 0);
    EXPECT_EQ(parse_duration_ms("0.1 w"), 60480000);
    EXPECT_EQ(parse_duration_ms("0.3333333333333333333333333333 s"), 333);
    EXPECT_EQ(parse_duration_ms("0." + std::string(50, '9') + " d"), 86399999);
    // Parts below a millisecond add up before they are cut.
    EXPECT_EQ(parse_duration_ms("0.5 ms 0.5 ms"), 1);
    EXPECT_EQ(parse_duration_ms("600 us 600 us"), 1);
}

TEST(Duration, Sums) {
    EXPECT_EQ(parse_duration_ms("2 days 3 hours"), 183600000);
    EXPECT_EQ(parse_duration_ms("1d2h"), 93600000);
    EXPECT_EQ(parse_duration_ms("1 day 02:00:00"), 93600000);
    EXPECT_EQ(parse_duration_ms("00:01:30"), 90000);
    EXPECT_EQ(parse_duration_ms("1:30"), 5400000);
    EXPECT_EQ(parse_duration_ms("100:00:00.5"), 360000500);
}

TEST(Duration, Refused) {
    for (std::string_view text :
         {"",         " ",        "-1",       "+1",         "-5 s",     "1.5",    "s",
          "1 m",      "5m",       "1 month",  "1 mon",      "1 year",   "1 y",    "1 fortnight",
          "1 day 5",  "1 s ago",  "1,5 h",    ".5 h",       "1. h",     "1 .5 h", "1e3 s",
          "infinity", "P1D",      "00:60:00", "00:00:60",   "00:1:30",  ":30",    "1:",
          "1:30:",    "1:30 h",   "1:30:00x", "00:00:01.",  "1 s, 2 s", "0x10",   "1 s -1 s",
          "1.5:30",   "00:-1:00", "1 ss",     "1 \xc2\xb5s"}) {
        EXPECT_FALSE(parse_duration_ms(text)) << '"' << text << '"';
    }
}

TEST(Duration, Range) {
    EXPECT_EQ(parse_duration_ms("9223372036854775807 ms"), kMax);
    EXPECT_EQ(parse_duration_ms("9223372036854775807 us"), 9223372036854775);
    EXPECT_EQ(parse_duration_ms("9223372036854775806 ms 1000 us"), kMax);
    EXPECT_FALSE(parse_duration_ms("9223372036854775808 us"));
    EXPECT_FALSE(parse_duration_ms("9223372036854775807 ms 1 ms"));
    EXPECT_FALSE(parse_duration_ms("9223372036854775807 ms 1000 us"));
    EXPECT_EQ(parse_duration_ms("9223372036854775 s"), 9223372036854775000);
    EXPECT_FALSE(parse_duration_ms("9223372036854776 s"));
    EXPECT_FALSE(parse_duration_ms("99999999999999 w"));
}

TEST(Duration, RandomTextDoesNoHarm) {
    BELAY_SEEDED(random);
    constexpr std::string_view kCharacters = "0123456789.: smhdwinyek+-\t";
    for (int i = 0; i < 200000; ++i) {
        std::string text;
        for (uint64_t size = random() % 12; size > 0; --size) {
            text += kCharacters[random() % kCharacters.size()];
        }
        // A copy of the exact size, so that a sanitizer sees any look past the end.
        std::vector<char> exact(text.begin(), text.end());
        std::optional<int64_t> ms = parse_duration_ms({exact.data(), exact.size()});
        ASSERT_TRUE(!ms || *ms >= 0) << text;
    }
}

TEST(Size, Units) {
    EXPECT_EQ(parse_bytes("0"), 0);
    EXPECT_EQ(parse_bytes("4096"), 4096);
    EXPECT_EQ(parse_bytes("10 B"), 10);
    EXPECT_EQ(parse_bytes("1kB"), 1024);
    EXPECT_EQ(parse_bytes("1 KiB"), 1024);
    EXPECT_EQ(parse_bytes("16 MiB"), 16777216);
    EXPECT_EQ(parse_bytes("32MB"), 33554432);
    EXPECT_EQ(parse_bytes(" 2 gb "), 2147483648);
    EXPECT_EQ(parse_bytes("1 GiB"), 1073741824);
    EXPECT_EQ(parse_bytes("9223372036854775807"), kMax);
    EXPECT_EQ(parse_bytes("8589934591 GB"), 8589934591 << 30);
    for (std::string_view text : {"", "B", "-1", "+1", "1.5 MB", "1 TB", "1 K", "1 MBs", "1 M B",
                                  "8589934592 GB", "9223372036854775808", "1 1", "0x10"}) {
        EXPECT_FALSE(parse_bytes(text)) << '"' << text << '"';
    }
}

TEST(Bool, Words) {
    for (std::string_view text : {"true", "on", "yes", "1", "TRUE", "On", " yes "}) {
        EXPECT_EQ(parse_bool(text), true) << text;
    }
    for (std::string_view text : {"false", "off", "no", "0", "False", "OFF", "\tno\n"}) {
        EXPECT_EQ(parse_bool(text), false) << text;
    }
    for (std::string_view text : {"", "t", "f", "y", "2", "00", "truee", "o", "null"}) {
        EXPECT_FALSE(parse_bool(text).has_value()) << text;
    }
}

TEST(Int, Range) {
    EXPECT_EQ(parse_int("0"), 0);
    EXPECT_EQ(parse_int(" 42 "), 42);
    EXPECT_EQ(parse_int("+42"), 42);
    EXPECT_EQ(parse_int("-42"), -42);
    EXPECT_EQ(parse_int("007"), 7);
    EXPECT_EQ(parse_int("9223372036854775807"), kMax);
    EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<int64_t>::min());
    for (std::string_view text : {"", "+", "-", "+-1", "--1", "1.0", "1e3", "0x1", "1 2", "- 1",
                                  "9223372036854775808", "-9223372036854775809", "one"}) {
        EXPECT_FALSE(parse_int(text)) << '"' << text << '"';
    }
}

}  // namespace
}  // namespace belay::core
