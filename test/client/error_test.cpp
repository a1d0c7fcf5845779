// Error, clocks, retry pauses and parameters: no server.
#include <gtest/gtest.h>

#include <cstdio>

#include "belay/clock.hpp"
#include "belay/connection.hpp"
#include "belay/error.hpp"
#include "belay/pool.hpp"
#include "retry.hpp"

namespace belay {
namespace {

Error of(const std::string& sqlstate) {
    return Error({.message = "m", .sqlstate = sqlstate});
}

TEST(Error, AnswersBySqlstate) {
    for (const char* state : {"QB001", "QB012", "QB013"}) {
        EXPECT_TRUE(of(state).lock_lost()) << state;
    }
    EXPECT_FALSE(of("QB006").lock_lost());
    EXPECT_TRUE(of("QB002").not_found());
    EXPECT_FALSE(of("QB001").not_found());
    EXPECT_TRUE(of("40001").retryable());
    EXPECT_TRUE(of("40P01").retryable());
    EXPECT_FALSE(of("QB001").retryable());
    EXPECT_FALSE(of("").lock_lost());
    // ER-1: no error of class QB is worth a retry.
    for (int code = 0; code < 1000; ++code) {
        char state[8];
        std::snprintf(state, sizeof state, "QB%03d", code);
        EXPECT_FALSE(of(state).retryable()) << state;
    }
}

TEST(Error, AnUnknownOutcomeIsNotALostLease) {
    const Error error({.message = "m", .sqlstate = "QB001", .outcome_unknown = true});
    EXPECT_FALSE(error.lock_lost());
    EXPECT_TRUE(error.outcome_unknown());
}

TEST(Error, ReadsTheWordOfTheCase) {
    const Error error({.message = "m",
                       .sqlstate = "QB001",
                       .detail = R"({"code_detail": "expired", "locked_until": 5})",
                       .hint = "stop"});
    EXPECT_EQ(error.code_detail(), "expired");
    EXPECT_EQ(error.hint(), "stop");
    for (const char* detail : {"", "no JSON", "[1]", "{}", R"({"code_detail": 1})"}) {
        EXPECT_EQ(Error({.message = "m", .detail = detail}).code_detail(), "") << detail;
    }
}

TEST(Error, KnowsTheLine) {
    const unsigned line = __LINE__ + 1;
    const Error error({.message = "m"});
    EXPECT_EQ(error.where().line(), line);
}

TEST(Retry, DelaysGrowToTheirMost) {
    using std::chrono::milliseconds;
    EXPECT_EQ(growing_delay(milliseconds(10), milliseconds(100), 1), milliseconds(10));
    EXPECT_EQ(growing_delay(milliseconds(10), milliseconds(100), 3), milliseconds(40));
    EXPECT_EQ(growing_delay(milliseconds(10), milliseconds(100), 2'000'000'000), milliseconds(100));
    EXPECT_EQ(growing_delay(milliseconds(10), milliseconds(5), 1), milliseconds(5));
}

TEST(Retry, PausesStayInTheirBounds) {
    using std::chrono::microseconds;
    EXPECT_EQ(retry_pause(1, 0.0), microseconds(2500));
    EXPECT_EQ(retry_pause(1, 0.5), microseconds(5000));
    EXPECT_EQ(retry_pause(1, 1.0), microseconds(7500));
    EXPECT_EQ(retry_pause(2, 0.0), microseconds(5000));
    EXPECT_EQ(retry_pause(2, 1.0), microseconds(15000));
}

TEST(Clock, KnowsThreeTimes) {
    EXPECT_EQ(server_clock()(), std::nullopt);
    EXPECT_GT(system_clock()().value(), from_ms(1'700'000'000'000));
    TestClock test(from_ms(1000));
    const Clock clock = test.clock();
    test.advance(Milliseconds(5));
    EXPECT_EQ(clock(), from_ms(1005));
    test.set(from_ms(7));
    EXPECT_EQ(clock(), from_ms(7));
}

TEST(Param, HasBinaryForm) {
    EXPECT_EQ(Param(true).bytes(), std::string(1, '\1'));
    EXPECT_EQ(Param(258).bytes(), std::string("\0\0\1\2", 4));
    EXPECT_EQ(Param(std::int64_t{-1}).bytes(), std::string(8, '\xff'));
    EXPECT_EQ(Param("a").bytes(), "a");
    EXPECT_EQ(Param(Json::object()).bytes(), "\1{}");
    EXPECT_EQ(Param(JsonText{"1.50"}).bytes(),
              "\1"
              "1.50");
    EXPECT_EQ(Param(from_ms(258)).bytes(), Param(std::int64_t{258}).bytes());
    const Param null = std::optional<std::int64_t>();
    EXPECT_TRUE(null.is_null());
    EXPECT_EQ(null.type(), Param(std::int64_t{1}).type());
    EXPECT_FALSE(Param(std::optional<std::string>("x")).is_null());
}

TEST(Values, AreChecked) {
    EXPECT_EQ(parse_integer("-5", -10, 10), -5);
    EXPECT_THROW(parse_integer("11", -10, 10), Error);
    EXPECT_THROW(parse_integer("5x", -10, 10), Error);
    EXPECT_THROW(parse_integer("", -10, 10), Error);
    EXPECT_TRUE(parse_bool("t"));
    EXPECT_THROW(parse_bool("true"), Error);
    EXPECT_EQ(parse_double("1.5"), 1.5);
    EXPECT_THROW(parse_double("1.5x"), Error);
}

TEST(Pool, NeedsRoom) {
    EXPECT_THROW(Pool({}, 0), Error);
}

TEST(Connection, SaysThatNobodyListens) {
    try {
        Connection connection({.conninfo = "host=/nonexistent dbname=x user=x"});
        FAIL();
    } catch (const Error& error) {
        EXPECT_TRUE(error.connection_lost());
        EXPECT_FALSE(error.outcome_unknown());
        EXPECT_EQ(error.sqlstate(), "");
    }
}

}  // namespace
}  // namespace belay
