#include "core/condition.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace belay::core {
namespace {

constexpr std::array<std::string_view, 3> kKeys = {"a", "b", "c\"d"};

const char* fault_of(std::string_view text) {
    const auto value = json::parse(text);
    EXPECT_TRUE(value.has_value()) << text;
    const auto fault = check_condition(*value, kKeys);
    return fault ? fault->code_detail : "none";
}

bool met(std::string_view text, const std::vector<SignalCount>& signals) {
    EXPECT_STREQ(fault_of(text), "none") << text;
    return is_met(*json::parse(text), signals);
}

// SU-8: what is no condition is refused.
TEST(Conditions, AreCheckedOnEntry) {
    for (const char* good :
         {R"("operator_only")", R"("timeout_only")", R"({"single":{"key":"a"}})",
          R"({"single":{"key":"c\"d","names":[]}})", R"({"single":{"key":"a","names":["x","y"]}})",
          R"({"count":{"n":3,"of":"waitpoints"}})", R"({"count":{"n":9,"of":"signals"}})",
          R"({"count":{"n":2,"of":"waitpoints","keys":["a","b"]}})",
          R"({"all":[{"single":{"key":"a"}},{"count":{"n":1,"of":"sources"}}]})",
          R"({"all":[{"all":[{"all":[{"single":{"key":"a"}}]}]}]})"}) {
        EXPECT_STREQ(fault_of(good), "none") << good;
    }
    const std::pair<const char*, const char*> bad[] = {
        {R"("never")", "bad_value"},
        {"null", "bad_value"},
        {"[]", "bad_value"},
        {"{}", "bad_value"},
        {R"({"any":[]})", "bad_value"},
        {R"({"single":{"key":"a"},"all":[]})", "bad_value"},
        {R"({"all":{}})", "bad_value"},
        {R"({"all":[]})", "empty"},
        {R"({"all":["operator_only"]})", "bad_value"},
        {R"({"single":"a"})", "not_an_object"},
        {R"({"single":{}})", "missing_field"},
        {R"({"single":{"key":1}})", "missing_field"},
        {R"({"single":{"key":"z"}})", "unknown_waitpoint"},
        {R"({"single":{"key":"a","name":"x"}})", "unknown_key"},
        {R"({"single":{"key":"a","names":"x"}})", "not_an_array"},
        {R"({"single":{"key":"a","names":[1]}})", "wrong_type"},
        {R"({"count":[]})", "not_an_object"},
        {R"({"count":{"of":"signals"}})", "missing_field"},
        {R"({"count":{"n":1}})", "missing_field"},
        {R"({"count":{"n":"1","of":"signals"}})", "wrong_type"},
        {R"({"count":{"n":1,"of":"votes"}})", "bad_value"},
        {R"({"count":{"n":0,"of":"signals"}})", "out_of_range"},
        {R"({"count":{"n":1000001,"of":"signals"}})", "out_of_range"},
        {R"({"count":{"n":4,"of":"waitpoints"}})", "out_of_range"},
        {R"({"count":{"n":2,"of":"waitpoints","keys":["a"]}})", "out_of_range"},
        {R"({"count":{"n":1,"of":"signals","keys":[]}})", "empty"},
        {R"({"count":{"n":1,"of":"signals","keys":["z"]}})", "unknown_waitpoint"},
        {R"({"count":{"n":1,"of":"signals","keys":["a","a"]}})", "duplicate_key"},
        {R"({"count":{"n":1,"of":"signals","keys":["a","b","c\"d","a"]}})", "duplicate_key"},
        {R"({"count":{"n":1,"of":"signals","keys":["a","b","z","a"]}})", "unknown_waitpoint"},
        {R"({"count":{"n":1,"of":"signals","keys":[1]}})", "wrong_type"},
        {R"({"count":{"n":1,"of":"signals","names":["x"]}})", "unknown_key"},
        {R"({"all":[{"all":[{"all":[{"all":[{"single":{"key":"a"}}]}]}]}]})", "too_deep"},
    };
    for (const auto& [text, code] : bad) {
        EXPECT_STREQ(fault_of(text), code) << text;
    }
}

TEST(Conditions, SingleAsksForKeyAndName) {
    const std::string one = R"({"single":{"key":"a","names":["x","y"]}})";
    EXPECT_FALSE(met(one, {}));
    EXPECT_FALSE(met(one, {{"b", "x", std::nullopt, 1}, {"a", "z", std::nullopt, 5}}));
    EXPECT_TRUE(met(one, {{"a", "z", std::nullopt, 1}, {"a", "y", "s", 1}}));
    EXPECT_TRUE(met(R"({"single":{"key":"a"}})", {{"a", "anything", std::nullopt, 1}}));
    EXPECT_TRUE(met(R"({"single":{"key":"a","names":[]}})", {{"a", "z", std::nullopt, 1}}));
    EXPECT_TRUE(met(R"({"single":{"key":"c\"d"}})", {{"c\"d", "z", std::nullopt, 1}}));
}

TEST(Conditions, CountsWaitpointsSignalsAndSources) {
    const std::vector<SignalCount> signals = {
        {"a", "x", "s1", 2}, {"a", "y", "s1", 1}, {"b", "x", std::nullopt, 4}, {"b", "x", "s2", 1}};
    EXPECT_TRUE(met(R"({"count":{"n":2,"of":"waitpoints"}})", signals));
    EXPECT_FALSE(met(R"({"count":{"n":3,"of":"waitpoints"}})", signals));
    EXPECT_FALSE(met(R"({"count":{"n":2,"of":"waitpoints","keys":["a","c\"d"]}})", signals));
    EXPECT_TRUE(met(R"({"count":{"n":8,"of":"signals"}})", signals));
    EXPECT_FALSE(met(R"({"count":{"n":9,"of":"signals"}})", signals));
    EXPECT_TRUE(met(R"({"count":{"n":3,"of":"signals","keys":["a"]}})", signals));
    // A signal without a source counts for none.
    EXPECT_TRUE(met(R"({"count":{"n":2,"of":"sources"}})", signals));
    EXPECT_FALSE(met(R"({"count":{"n":3,"of":"sources"}})", signals));
    EXPECT_FALSE(met(R"({"count":{"n":2,"of":"sources","keys":["a"]}})", signals));
}

TEST(Conditions, AllAsksForEachPart) {
    const std::string both = R"({"all":[{"single":{"key":"a"}},{"all":[{"single":{"key":"b"}}]}]})";
    EXPECT_FALSE(met(both, {{"a", "x", std::nullopt, 1}}));
    EXPECT_FALSE(met(both, {{"b", "x", std::nullopt, 1}}));
    EXPECT_TRUE(met(both, {{"b", "x", std::nullopt, 1}, {"a", "x", std::nullopt, 1}}));
}

TEST(Conditions, NoSignalMeetsTheOnesWithoutSignals) {
    const std::vector<SignalCount> many = {{"a", "operator_only", "operator", 100}};
    EXPECT_FALSE(met(R"("operator_only")", many));
    EXPECT_FALSE(met(R"("timeout_only")", many));
}

}  // namespace
}  // namespace belay::core
