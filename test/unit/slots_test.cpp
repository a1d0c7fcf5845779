#include "core/slots.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::core {
namespace {

using Owners = std::vector<int32_t>;

Owners deal(Owners owner_of, int32_t owners, int32_t caller) {
    std::vector<int32_t> held(static_cast<std::size_t>(owners));
    deal_slots(owner_of, held, caller);
    return owner_of;
}

// SL-2: alone, an owner has everything.
TEST(Slots, OneOwnerHasAll) {
    EXPECT_EQ(deal({-1, -1, -1}, 1, 0), (Owners{0, 0, 0}));
    EXPECT_EQ(deal({-1}, 1, 0), (Owners{0}));
}

// SL-4: a newcomer takes nothing away; it gets its share when the other one calls.
TEST(Slots, NewcomerWaitsForTheOthers) {
    EXPECT_EQ(deal({0, 0, 0, 0}, 2, 1), (Owners{0, 0, 0, 0}));
    EXPECT_EQ(deal({0, 0, 0, 0}, 2, 0), (Owners{0, 0, 1, 1}));
}

// SL-3: the owner that calls first gives up the odd slot, and the other one keeps it.
TEST(Slots, TheOddSlotStaysWhereItIs) {
    EXPECT_EQ(deal({0, 0, 1, 1, 1}, 2, 0), (Owners{0, 0, 1, 1, 1}));
    EXPECT_EQ(deal({0, 0, 1, 1, 1}, 2, 1), (Owners{0, 0, 1, 1, 1}));
    EXPECT_EQ(deal({0, 0, 0, 1, 1, 1, 2}, 3, 0), (Owners{0, 0, 2, 1, 1, 1, 2}));
}

// SL-2: more owners than slots: some have none.
TEST(Slots, MoreOwnersThanSlots) {
    EXPECT_EQ(deal({0, 1}, 4, 3), (Owners{0, 1}));
    EXPECT_EQ(deal({-1, 1}, 4, 3), (Owners{3, 1}));
    EXPECT_EQ(deal({0, 0}, 4, 0), (Owners{0, 1}));
}

// SL-2 to SL-4: from any state, once every owner has called, in any order, shares are even; and
// no owner but the caller ever loses a slot.
TEST(Slots, AnyStateIsEvenAfterOneRound) {
    BELAY_SEEDED(random);
    for (int round = 0; round < 2000; ++round) {
        const auto slots = 1 + static_cast<int32_t>(random() % 40);
        const auto owners = 1 + static_cast<int32_t>(random() % 9);
        Owners owner_of(static_cast<std::size_t>(slots));
        for (int32_t& owner : owner_of) {
            owner = static_cast<int32_t>(random() % static_cast<uint64_t>(owners + 1)) - 1;
        }
        Owners callers(static_cast<std::size_t>(owners));
        std::iota(callers.begin(), callers.end(), 0);
        std::shuffle(callers.begin(), callers.end(), random);
        for (const int32_t caller : callers) {
            const Owners before = owner_of;
            owner_of = deal(before, owners, caller);
            for (std::size_t slot = 0; slot < owner_of.size(); ++slot) {
                ASSERT_NE(owner_of[slot], kNoOwner);
                ASSERT_TRUE(before[slot] == owner_of[slot] || before[slot] == caller ||
                            before[slot] == kNoOwner);
            }
        }
        for (int32_t owner = 0; owner < owners; ++owner) {
            const auto held =
                static_cast<int32_t>(std::count(owner_of.begin(), owner_of.end(), owner));
            ASSERT_GE(held, slots / owners);
            ASSERT_LE(held, (slots + owners - 1) / owners);
        }
        // Even shares stay where they are.
        const Owners settled = owner_of;
        for (const int32_t caller : callers) {
            owner_of = deal(owner_of, owners, caller);
        }
        ASSERT_EQ(owner_of, settled);
    }
}

}  // namespace
}  // namespace belay::core
