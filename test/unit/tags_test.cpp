#include "core/tags.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(Tags, Words) {
    EXPECT_EQ(parse_tag_mode("default_only"), TagMode::kDefaultOnly);
    EXPECT_EQ(parse_tag_mode("tags"), TagMode::kTags);
    EXPECT_EQ(parse_tag_mode("default_and"), TagMode::kDefaultAnd);
    EXPECT_EQ(parse_tag_mode("any"), TagMode::kAny);
    EXPECT_EQ(parse_tag_mode("none"), TagMode::kNone);
    for (std::string_view word : {"", "Any", "default", "tag", " any", "any ", "DefaultOnly"}) {
        EXPECT_FALSE(parse_tag_mode(word)) << word;
    }
}

TEST(Tags, Table) {
    EXPECT_TRUE(serves_untagged(TagMode::kDefaultOnly));
    EXPECT_FALSE(serves_untagged(TagMode::kTags));
    EXPECT_TRUE(serves_untagged(TagMode::kDefaultAnd));
    EXPECT_TRUE(serves_untagged(TagMode::kAny));
    EXPECT_FALSE(serves_untagged(TagMode::kNone));

    EXPECT_FALSE(serves_filter(TagMode::kDefaultOnly));
    EXPECT_TRUE(serves_filter(TagMode::kTags));
    EXPECT_TRUE(serves_filter(TagMode::kDefaultAnd));
    EXPECT_FALSE(serves_filter(TagMode::kAny));
    EXPECT_FALSE(serves_filter(TagMode::kNone));
}

}  // namespace
}  // namespace belay::core
