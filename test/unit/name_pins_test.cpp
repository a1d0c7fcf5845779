// AT-10: the hub option name_pins.
#include "core/name_pins.hpp"

#include <gtest/gtest.h>

#include <string>

namespace belay::core {
namespace {

TEST(NamePins, AreAnObjectOfVersions) {
    NamePin pins[kMaxNamePins];
    ASSERT_EQ(read_name_pins(R"( {"a.*" : "1000.0.7", "*": "0.1.27"} )", pins), 2u);
    EXPECT_EQ(pins[0].pattern.text, "\"a.*\"");
    EXPECT_EQ(pins[0].parts[0], 1000);
    EXPECT_EQ(pins[0].parts[1], 0);
    EXPECT_EQ(pins[0].parts[2], 7);
    EXPECT_EQ(pins[1].parts[2], 27);
    EXPECT_TRUE(is_name_pins("{}"));
    EXPECT_EQ(read_name_pins("{}", pins), 0u);
}

TEST(NamePins, RefuseEverythingElse) {
    for (const char* text :
         {"", "[]", "null", "{", R"({"a":1})", R"({"a":"1"})", R"({"a":"1.2"})", R"({"a":"1.2."})",
          R"({"a":"1.2.3.4"})", R"({"a":"1.2.3 "})", R"({"a":"-1.2.3"})", R"({"a":"1.2.x"})",
          R"({"a":"1.2.4294967296"})", R"({"a\u0000":"1.2.3"})", R"({"\ud800":"1.2.3"})"}) {
        EXPECT_FALSE(is_name_pins(text)) << text;
    }
}

TEST(NamePins, HaveABound) {
    const auto made = [](std::size_t count) {
        std::string text = "{";
        for (std::size_t i = 0; i < count; ++i) {
            text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"1.0.0\"";
        }
        return text + "}";
    };
    EXPECT_TRUE(is_name_pins(made(kMaxNamePins)));
    EXPECT_FALSE(is_name_pins(made(kMaxNamePins + 1)));
}

TEST(NamePins, MatchWholeNames) {
    struct Case {
        const char* pattern;
        const char* name;
        bool matches;
    };
    for (const auto& [pattern, name, matches] : {Case{"", "", true},
                                                 {"", "a", false},
                                                 {"*", "", true},
                                                 {"*", "anything", true},
                                                 {"a", "a", true},
                                                 {"a", "ab", false},
                                                 {"a*", "a", true},
                                                 {"a*", "abc", true},
                                                 {"a*", "ba", false},
                                                 {"*a", "ba", true},
                                                 {"*a", "ab", false},
                                                 {"a*c", "abbc", true},
                                                 {"a*c", "abcb", false},
                                                 {"a*b*c", "aXbYbZc", true},
                                                 {"a*b*c", "acb", false},
                                                 {"**", "x", true},
                                                 {"*aab", "aaaab", true},
                                                 {"a.b", "axb", false}}) {
        EXPECT_EQ(matches_pattern(pattern, name), matches) << pattern << " " << name;
    }
}

}  // namespace
}  // namespace belay::core
