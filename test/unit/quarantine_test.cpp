#include "core/quarantine.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

TEST(Quarantine, PausesDouble) {
    Quarantine hub{};
    EXPECT_FALSE(hub.is_on(0));
    hub.exceeded(1000, 60);
    EXPECT_TRUE(hub.is_on(1059));
    EXPECT_FALSE(hub.is_on(1060));
    hub.exceeded(2000, 60);
    EXPECT_EQ(hub.until_ms, 2120);
    hub.exceeded(3000, 60);
    EXPECT_EQ(hub.until_ms, 3240);
    EXPECT_EQ(hub.times, 3);
}

TEST(Quarantine, PausesHaveALimit) {
    Quarantine hub{};
    for (int i = 0; i < 100; ++i) {
        hub.exceeded(0, 60000);
    }
    EXPECT_EQ(hub.until_ms, kMostQuarantineMs);
}

TEST(Quarantine, BeginsAnewAfterProbation) {
    Quarantine hub{};
    hub.exceeded(0, 100);
    hub.exceeded(200, 100);
    EXPECT_EQ(hub.until_ms, 400);
    hub.exceeded(400 + kProbationMs - 1, 100);
    EXPECT_EQ(hub.times, 3);
    const auto later = hub.until_ms + kProbationMs;
    hub.exceeded(later, 100);
    EXPECT_EQ(hub.times, 1);
    EXPECT_EQ(hub.until_ms, later + 100);
}

}  // namespace
}  // namespace belay::core
