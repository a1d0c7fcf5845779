#include "core/intents.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(IntentPause, DoublesFromTheFirst) {
    EXPECT_EQ(intent_pause_ms(0, 2000), 2000);
    EXPECT_EQ(intent_pause_ms(1, 2000), 4000);
    EXPECT_EQ(intent_pause_ms(4, 2000), 32000);
}

TEST(IntentPause, IsNeverLongerThanAMinute) {
    EXPECT_EQ(intent_pause_ms(5, 2000), kLongestIntentPauseMs);
    EXPECT_EQ(intent_pause_ms(2147483647, 2000), kLongestIntentPauseMs);
    EXPECT_EQ(intent_pause_ms(0, 3600 * 1000), kLongestIntentPauseMs);
}

TEST(IntentPause, IsNeverNothing) {
    EXPECT_EQ(intent_pause_ms(0, 0), 100);
    EXPECT_EQ(intent_pause_ms(0, -5), 100);
    EXPECT_EQ(intent_pause_ms(-1, 100), 100);
}

}  // namespace
}  // namespace belay::core
