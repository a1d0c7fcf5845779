// The hash is stored in tables and tokens. These vectors may never change.
#include "core/hash.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/bytes.hpp"
#include "seeded.hpp"

namespace belay::core {
namespace {

static_assert(fnv1a64("") == 0xcbf29ce484222325ULL);

TEST(Hash, PublishedVectors) {
    EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cULL);
    EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8ULL);
}

TEST(Hash, BytesAreUnsigned) {
    EXPECT_EQ(fnv1a64("\xc3\x84"), 0x0ac1f207b717df22ULL);
    EXPECT_NE(fnv1a64(std::string_view("\0", 1)), fnv1a64(""));
}

TEST(Hash, InstanceKeyIsTheHashAsSigned) {
    EXPECT_EQ(instance_key(""), -3750763034362895579);
    EXPECT_EQ(instance_key("ord-7"), 7843784502973826304);
    EXPECT_EQ(instance_key("a"), -5808556873153909620);
}

TEST(Hash, Slots) {
    EXPECT_EQ(slot_of("a", 7), 5);
    EXPECT_EQ(slot_of("foobar", 7), 6);
    EXPECT_EQ(slot_of("ord-7", 1024), 256);
    EXPECT_EQ(slot_of("\xc3\x84", 1024), 802);
    EXPECT_EQ(slot_of("a", 1), 0);
    EXPECT_EQ(slot_of("a", 0), 0);
    EXPECT_EQ(slot_of("a", -5), 0);
}

TEST(Hash, SlotsOfIds) {
    EXPECT_EQ(slot_of_id(0, 7), 5);
    EXPECT_EQ(slot_of_id(1, 1024), 18);
    EXPECT_EQ(slot_of_id(-1, 1024), 61);
    EXPECT_EQ(slot_of_id((int64_t{1} << 40) + 5, 1024), 627);
    EXPECT_EQ(slot_of_id(123, 1), 0);
}

TEST(Hash, Lanes) {
    EXPECT_EQ(lane_of(false, "", false), 0);
    EXPECT_EQ(lane_of(false, "", true), 1);
    EXPECT_EQ(lane_of(false, "ignored", false), 0);
    EXPECT_EQ(lane_of(true, "", false), 1742286216);
    EXPECT_EQ(lane_of(true, "gpu", false), 517908110);
    EXPECT_EQ(lane_of(true, "gpu", true), 517908111);
    EXPECT_EQ(lane_of(true, "a", false), 119716756);
}

TEST(Hash, NoTagSharesTheUntaggedLanes) {
    BELAY_SEEDED(random);
    for (int i = 0; i < 100000; ++i) {
        std::string tag = std::to_string(random());
        int32_t lane = lane_of(true, tag, true);
        ASSERT_GE(lane, 3) << tag;
        ASSERT_EQ(lane, lane_of(true, tag, false) + 1) << tag;
    }
}

TEST(Hash, SlotsAreEven) {
    constexpr int32_t kSlots = 16;
    int found[kSlots] = {};
    for (int i = 0; i < 16000; ++i) {
        int32_t slot = slot_of("instance-" + std::to_string(i), kSlots);
        ASSERT_TRUE(slot >= 0 && slot < kSlots);
        ++found[slot];
    }
    for (int number : found) {
        EXPECT_NEAR(number, 1000, 200);
    }
}

TEST(Bytes, RoundTrip) {
    char bytes[8];
    put_big_endian(bytes, 0x0102030405060708ULL, 8);
    EXPECT_EQ(std::string_view(bytes, 8), "\x01\x02\x03\x04\x05\x06\x07\x08");
    EXPECT_EQ(get_big_endian(bytes, 8), 0x0102030405060708ULL);
    put_big_endian(bytes, 0xfffe, 2);
    EXPECT_EQ(get_big_endian(bytes, 2), 0xfffeu);
}

}  // namespace
}  // namespace belay::core
