#include "core/queue_limit.hpp"

#include <gtest/gtest.h>

namespace belay::core {
namespace {

QueueLimit limit(std::optional<int64_t> concurrency, std::optional<double> rate, double burst,
                 double tokens) {
    return {concurrency, rate, burst, tokens, 1000, 0};
}

// LI-1: places are what concurrency leaves; more active tasks than allowed leave none.
TEST(QueueLimits, PlacesAreWhatIsLeft) {
    QueueLimit three = limit(3, std::nullopt, 1, 0);
    EXPECT_EQ(free_places(three, 0), 3);
    three.active = 2;
    EXPECT_EQ(free_places(three, 0), 1);
    EXPECT_FALSE(is_crowded(three));
    three.active = 5;
    EXPECT_EQ(free_places(three, 0), 0);
    EXPECT_TRUE(is_crowded(three));
    EXPECT_EQ(free_places(limit(std::nullopt, std::nullopt, 1, 0), 0), kNever);
}

// LI-8: a move takes places and tokens; what was released takes no tokens; an older move never
// leaves more than it would have left in order.
TEST(QueueLimits, MovesTakePlacesAndTokens) {
    const QueueLimit two = limit(4, 2, 4, 4);
    const QueueLimit after = moved(two, {3, 1000});
    EXPECT_EQ(after.active, 3);
    EXPECT_EQ(free_places(after, 1000), 1);
    EXPECT_EQ(free_places(moved(after, {-1, 1500}), 1000), 1);
    EXPECT_EQ(moved(after, {-1, 1500}).refilled_at, 1000);
    const QueueLimit ordered = moved(moved(two, {2, 1000}), {1, 2000});
    const QueueLimit late = moved(moved(two, {1, 2000}), {2, 1000});
    EXPECT_EQ(ordered.active, late.active);
    EXPECT_LE(tokens_at(late, 2000), tokens_at(ordered, 2000));
    EXPECT_EQ(late.refilled_at, 2000);
}

// LI-5: the bucket fills with the time that passes, up to its size.
TEST(QueueLimits, TheBucketFillsWithTime) {
    const QueueLimit four = limit(std::nullopt, 4, 3, 0);
    EXPECT_EQ(free_places(four, 1000), 0);
    EXPECT_EQ(free_places(four, 1249), 0);
    EXPECT_EQ(free_places(four, 1250), 1);
    EXPECT_EQ(free_places(four, 1750), 3);
    EXPECT_EQ(free_places(four, 1'000'000), 3);
    EXPECT_EQ(free_places(four, 0), 0);
    EXPECT_EQ(next_token_at(four, 1000), 1250);
    EXPECT_EQ(next_token_at(four, 1100), 1250);
    EXPECT_EQ(next_token_at(four, 1300), 1300);
    EXPECT_EQ(free_places(limit(1, 4.0, 3, 3), 1000), 1);
}

TEST(QueueLimits, FractionsAddUpToWholeTokens) {
    QueueLimit third = limit(std::nullopt, 1.0 / 3, 1, 0);
    for (int64_t now = 2000; now <= 4000; now += 1000) {
        third.tokens = tokens_at(third, now);
        third.refilled_at = now;
    }
    EXPECT_EQ(free_places(third, 4000), 1);
}

TEST(QueueLimits, TheNextTokenIsThereWhenItIsPromised) {
    for (const double rate : {0.001, 0.3, 1.0, 7.0, 333.3, 1e6}) {
        const QueueLimit some = limit(std::nullopt, rate, 5, 0.25);
        const int64_t at = next_token_at(some, 1000);
        EXPECT_GE(free_places(some, at), 1) << rate;
        EXPECT_EQ(at > 1001 ? free_places(some, at - 2) : 0, 0) << rate;
    }
}

}  // namespace
}  // namespace belay::core
