#include "core/gaps.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::core {
namespace {

QueuePlace at(uint64_t number) {
    return {{number, 0, 0, 0}};
}

PlaceRange range(uint64_t first, uint64_t last) {
    return {at(first), at(last)};
}

bool covers(const Gaps& gaps, uint64_t number) {
    return std::any_of(gaps.list, gaps.list + gaps.count,
                       [number](const Gap& gap) { return gap.holds(at(number)); });
}

TEST(Gaps, PlacesSortAsTheirColumns) {
    EXPECT_LT(ordered(-1), ordered(0));
    EXPECT_LT(ordered(INT64_MIN), ordered(-1));
    EXPECT_LT(ordered(0), ordered(INT64_MAX));
    for (const int64_t value : {INT64_MIN, int64_t{-7}, int64_t{0}, INT64_MAX}) {
        EXPECT_EQ(unordered(ordered(value)), value);
    }
    EXPECT_LT((QueuePlace{{1, 9, 9, 9}}), (QueuePlace{{2, 0, 0, 0}}));
    EXPECT_LT((QueuePlace{{1, 1, 1, 1}}), (QueuePlace{{1, 1, 1, 2}}));
    EXPECT_LT(kQueueStart, at(1));
}

TEST(Gaps, EndsAreNotInside) {
    const Gap gap{at(10), at(20), 1};
    EXPECT_FALSE(gap.holds(at(10)));
    EXPECT_TRUE(gap.holds(at(11)));
    EXPECT_FALSE(gap.holds(at(20)));
    EXPECT_FALSE(gap.meets(range(5, 10)));
    EXPECT_FALSE(gap.meets(range(20, 30)));
    EXPECT_TRUE(gap.meets(range(5, 11)));
    EXPECT_TRUE(gap.meets(range(5, 30)));
}

TEST(Gaps, OverlappingOnesBecomeOne) {
    Gaps gaps{};
    gaps.add({at(10), at(20), 80});
    gaps.add({at(30), at(40), 80});
    gaps.add({at(20), at(30), 80});  // 20 and 30 are not inside any
    EXPECT_EQ(gaps.count, 3);
    gaps.add({at(15), at(35), 1});
    ASSERT_EQ(gaps.count, 1);
    EXPECT_EQ(gaps.list[0].from, at(10));
    EXPECT_EQ(gaps.list[0].to, at(40));
    EXPECT_EQ(gaps.list[0].dead, 241U);
}

TEST(Gaps, WhatSavesLittleIsLeftOut) {
    Gaps gaps{};
    gaps.add({at(10), at(20), Gaps::kLeast - 1});
    EXPECT_EQ(gaps.count, 0);
    gaps.add({kQueueStart, at(20), Gaps::kLeast});
    EXPECT_EQ(gaps.count, 1);
    gaps.add({at(19), at(25), 1});  // one that grows costs nothing more
    ASSERT_EQ(gaps.count, 1);
    EXPECT_EQ(gaps.list[0].to, at(25));
}

TEST(Gaps, CutsSplitAndShorten) {
    Gaps gaps{};
    gaps.add({at(10), at(50), 100});
    gaps.cut(range(20, 25));
    ASSERT_EQ(gaps.count, 2);
    EXPECT_TRUE(covers(gaps, 19));
    EXPECT_FALSE(covers(gaps, 20));
    EXPECT_FALSE(covers(gaps, 25));
    EXPECT_TRUE(covers(gaps, 26));
    gaps.cut(range(5, 15));
    EXPECT_FALSE(covers(gaps, 11));
    EXPECT_TRUE(covers(gaps, 16));
    gaps.cut(range(0, 100));
    EXPECT_EQ(gaps.count, 0);
}

TEST(Gaps, WithoutRoomTheLeastGoes) {
    Gaps gaps{};
    for (uint64_t i = 0; i < Gaps::kMost; ++i) {
        gaps.add({at(100 * i + 1), at(100 * i + 50), static_cast<uint32_t>(100 + i)});
    }
    gaps.add({at(100'001), at(100'100), 90});
    EXPECT_EQ(gaps.count, Gaps::kMost);
    EXPECT_FALSE(covers(gaps, 100'010));
    gaps.add({at(100'001), at(100'100), 500});
    EXPECT_EQ(gaps.count, Gaps::kMost);
    EXPECT_TRUE(covers(gaps, 100'010));
    EXPECT_FALSE(covers(gaps, 2));
    gaps.cut(range(100'050, 100'050));  // no room for two halves
    EXPECT_EQ(gaps.count, Gaps::kMost);
    EXPECT_FALSE(covers(gaps, 100'050));
}

// For any additions and cuts: no gap holds a place that may have a live row, and they are in order.
TEST(Gaps, NeverSayMoreThanIsKnown) {
    BELAY_SEEDED(random);
    constexpr uint64_t kPlaces = 2000;
    Gaps gaps{};
    std::set<uint64_t> live;
    for (uint64_t i = 1; i < kPlaces; i += 2) {
        live.insert(i);
    }
    for (int step = 0; step < 20'000; ++step) {
        const uint64_t a = random() % kPlaces;
        if (random() % 3 == 0) {  // rows appear
            const uint64_t b = a + random() % 3;
            for (uint64_t i = a; i <= b; ++i) {
                live.insert(i);
            }
            gaps.cut(range(a, b));
        } else if (random() % 2 == 0) {  // a row dies
            const auto row = live.lower_bound(a);
            if (row != live.end()) {
                live.erase(row);
            }
        } else {  // a walk from one live row to the next
            const auto next = live.upper_bound(a);
            if (next != live.end()) {
                const uint64_t from = next == live.begin() ? 0 : *std::prev(next);
                gaps.add({at(from), at(*next), static_cast<uint32_t>(random() % 100)});
            }
        }
        for (int i = 0; i < gaps.count; ++i) {
            ASSERT_LT(gaps.list[i].from, gaps.list[i].to);
            ASSERT_TRUE(i == 0 || gaps.list[i - 1].to <= gaps.list[i].from);
            const auto row = live.upper_bound(gaps.list[i].from.parts[0]);
            ASSERT_TRUE(row == live.end() || *row >= gaps.list[i].to.parts[0]);
        }
    }
}

}  // namespace
}  // namespace belay::core
