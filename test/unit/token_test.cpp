#include "core/token.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::core {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const WorkToken kWork{2000000001,        1023, 1800000000000, 42, 7, 0x0123456789abcdef,
                      0xfedcba9876543210};
constexpr std::string_view kWorkText = "wSoAAAAAAAAAAAABoxhcUAB3NZQBA_8AAAAHASNFZ4mrze_-3LqYdlQyEA";

const TurnToken kTurn{-2, 42, 7, 0x0123456789abcdef, 0xfedcba9876543210};
constexpr std::string_view kTurnText = "tSoAAAAAAAAA__________4AAAAHASNFZ4mrze_-3LqYdlQyEA";

std::string text_of(const WorkToken& token) {
    std::string text(kWorkTokenChars + 1, '#');
    encode(token, text.data());
    EXPECT_EQ(text.back(), '#') << "wrote past the end";
    text.pop_back();
    return text;
}

std::string text_of(const TurnToken& token) {
    std::string text(kTurnTokenChars + 1, '#');
    encode(token, text.data());
    EXPECT_EQ(text.back(), '#') << "wrote past the end";
    text.pop_back();
    return text;
}

const EventPlace kPlace{-3, 7, 42, 0x0123456789abcdef, true};
constexpr std::string_view kPlaceText = "eSoAAAAAAAAAAAAABwEjRWeJq83v__________0B";

std::string text_of(const EventPlace& place) {
    std::string text(kEventPlaceChars + 1, '#');
    encode(place, text.data());
    EXPECT_EQ(text.back(), '#') << "wrote past the end";
    text.pop_back();
    return text;
}

// Bytes 0, 1, 2 and so on, and their complements.
TaskLease counted_lease() {
    TaskLease lease{.epoch = 0x0102030405060708, .incarnation = 7};
    for (unsigned char i = 0; i < 16; ++i) {
        lease.task[i] = i;
        lease.nonce[i] = static_cast<unsigned char>(~i);
    }
    return lease;
}
const TaskLease kLease = counted_lease();
constexpr std::string_view kLeaseText =
    "lQABAgMEBQYHCAkKCwwNDg8BAgMEBQYHCAAAAAf__v38-_r5-Pf29fTz8vHw";

std::string text_of(const TaskLease& lease) {
    std::string text(kTaskLeaseChars + 1, '#');
    encode(lease, text.data());
    EXPECT_EQ(text.back(), '#') << "wrote past the end";
    text.pop_back();
    return text;
}

// Live leases keep their tokens over an upgrade of the module, so the form is fixed (HB-5).
TEST(Token, KnownVectors) {
    EXPECT_EQ(text_of(kWork), kWorkText);
    EXPECT_EQ(decode_work_token(kWorkText), kWork);
    EXPECT_EQ(text_of(kTurn), kTurnText);
    EXPECT_EQ(decode_turn_token(kTurnText), kTurn);
    EXPECT_EQ(text_of(kPlace), kPlaceText);
    EXPECT_EQ(decode_event_place(kPlaceText), kPlace);
    EXPECT_EQ(text_of(kLease), kLeaseText);
    EXPECT_EQ(decode_task_lease(kLeaseText), kLease);
    EXPECT_EQ(text_of(WorkToken{}), "wQ" + std::string(56, 'A'));
}

TEST(Token, Extremes) {
    WorkToken work{std::numeric_limits<int32_t>::min(),
                   std::numeric_limits<int16_t>::min(),
                   std::numeric_limits<int64_t>::min(),
                   std::numeric_limits<int64_t>::max(),
                   -1,
                   ~uint64_t{0},
                   ~uint64_t{0}};
    EXPECT_EQ(decode_work_token(text_of(work)), work);
    TurnToken turn{std::numeric_limits<int64_t>::min(), -1, std::numeric_limits<int32_t>::min(),
                   ~uint64_t{0}, 0};
    EXPECT_EQ(decode_turn_token(text_of(turn)), turn);
}

TEST(Token, RandomRoundTrips) {
    BELAY_SEEDED(random);
    for (int i = 0; i < 20000; ++i) {
        WorkToken work{static_cast<int32_t>(random()),
                       static_cast<int16_t>(random()),
                       static_cast<int64_t>(random()),
                       static_cast<int64_t>(random()),
                       static_cast<int32_t>(random()),
                       random(),
                       random()};
        ASSERT_EQ(decode_work_token(text_of(work)), work);
        TurnToken turn{static_cast<int64_t>(random()), static_cast<int64_t>(random()),
                       static_cast<int32_t>(random()), random(), random()};
        ASSERT_EQ(decode_turn_token(text_of(turn)), turn);
    }
}

// TK-3.
TEST(Token, KindsAreNotMixedUp) {
    EXPECT_FALSE(decode_turn_token(kWorkText));
    EXPECT_FALSE(decode_work_token(kTurnText));
    // Not even with the length of the other kind.
    EXPECT_FALSE(decode_turn_token(kWorkText.substr(0, kTurnTokenChars)));
    EXPECT_FALSE(decode_work_token(std::string(kTurnText) + "AAAAAAAA"));
}

// The flag of a place is 0 or 1: there is one spelling.
TEST(Token, PlacesHaveOneSpelling) {
    EventPlace place{std::numeric_limits<int64_t>::min(), -1, std::numeric_limits<int64_t>::max(),
                     ~uint64_t{0}, false};
    EXPECT_EQ(decode_event_place(text_of(place)), place);
    std::string text(kPlaceText);
    text.back() = 'C';
    EXPECT_EQ(decode_event_place(text), std::nullopt);
    text.back() = 'B';
    EXPECT_EQ(decode_event_place(text), kPlace);
    EXPECT_EQ(decode_event_place(kTurnText.substr(0, kEventPlaceChars)), std::nullopt);
    text[0] = 'w';
    EXPECT_EQ(decode_event_place(text), std::nullopt);
    EXPECT_EQ(decode_event_place(text.substr(1)), std::nullopt);
}

// LE-1: a lease has one spelling, and is none of the other tokens.
TEST(Token, LeasesOfTasks) {
    static_assert(kTaskLeaseChars <= 120);
    BELAY_SEEDED(random);
    for (int i = 0; i < 20000; ++i) {
        TaskLease lease{.epoch = static_cast<int64_t>(random()),
                        .incarnation = static_cast<int32_t>(random())};
        for (size_t byte = 0; byte < sizeof lease.task; ++byte) {
            lease.task[byte] = static_cast<unsigned char>(random());
            lease.nonce[byte] = static_cast<unsigned char>(random());
        }
        ASSERT_EQ(decode_task_lease(text_of(lease)), lease);
    }
    for (const std::string_view other : {kWorkText, kTurnText, kPlaceText}) {
        EXPECT_FALSE(decode_task_lease(other));
        std::string padded(other);
        padded.resize(kTaskLeaseChars, 'A');
        EXPECT_FALSE(decode_task_lease(padded));
    }
    EXPECT_FALSE(decode_work_token(kLeaseText.substr(0, kWorkTokenChars)));
    EXPECT_FALSE(decode_turn_token(kLeaseText.substr(0, kTurnTokenChars)));
    for (size_t length = 0; length < kTaskLeaseChars; ++length) {
        EXPECT_FALSE(decode_task_lease(kLeaseText.substr(0, length)));
    }
    EXPECT_FALSE(decode_task_lease(std::string(kLeaseText) + "A"));
    EXPECT_FALSE(decode_task_lease(std::string(1 << 20, 'l')));
    for (size_t place = 0; place < kTaskLeaseChars; ++place) {
        for (int byte = 0; byte < 256; ++byte) {
            std::string text(kLeaseText);
            text[place] = static_cast<char>(byte);
            const auto lease = decode_task_lease(text);
            ASSERT_EQ(lease == kLease, text == kLeaseText) << place << ' ' << byte;
            if (lease) {
                ASSERT_EQ(text_of(*lease), text);
            }
        }
    }
}

// LE-2: every bit of the nonce counts.
TEST(Token, NonceOfALease) {
    EXPECT_TRUE(has_nonce(kLease, kLease.nonce));
    for (int bit = 0; bit < 128; ++bit) {
        TaskLease other = kLease;
        other.nonce[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
        EXPECT_FALSE(has_nonce(kLease, other.nonce)) << bit;
    }
}

TEST(Token, Length) {
    EXPECT_FALSE(decode_work_token(""));
    EXPECT_FALSE(decode_turn_token(""));
    EXPECT_FALSE(decode_work_token(kWorkText.substr(1)));
    EXPECT_FALSE(decode_work_token(kWorkText.substr(0, kWorkTokenChars - 1)));
    EXPECT_FALSE(decode_work_token(std::string(kWorkText) + "A"));
    EXPECT_FALSE(decode_work_token(std::string(kWorkText) + "="));
    EXPECT_FALSE(decode_work_token(" " + std::string(kWorkText)));
    EXPECT_FALSE(decode_work_token(std::string(1 << 20, 'w')));
}

// Each single character, replaced by each byte, gives another token or none: never the same one.
TEST(Token, OneSpelling) {
    for (size_t place = 0; place < kWorkTokenChars; ++place) {
        for (int byte = 0; byte < 256; ++byte) {
            std::string text(kWorkText);
            if (text[place] == static_cast<char>(byte)) {
                continue;
            }
            text[place] = static_cast<char>(byte);
            std::optional<WorkToken> token = decode_work_token(text);
            if (kAlphabet.find(static_cast<char>(byte)) == std::string_view::npos) {
                ASSERT_FALSE(token) << place << ' ' << byte;
            }
            if (token) {
                ASSERT_NE(*token, kWork) << place << ' ' << byte;
                ASSERT_EQ(text_of(*token), text);
            }
        }
    }
}

TEST(Token, LeftOverBitsMustBeZero) {
    // The last character carries two bits of the token and four that must be zero.
    int accepted_work = 0;
    int accepted_turn = 0;
    for (char c : kAlphabet) {
        std::string work(kWorkText);
        work.back() = c;
        accepted_work += decode_work_token(work) ? 1 : 0;
        std::string turn(kTurnText);
        turn.back() = c;
        accepted_turn += decode_turn_token(turn) ? 1 : 0;
    }
    EXPECT_EQ(accepted_work, 4);
    EXPECT_EQ(accepted_turn, 4);
}

TEST(Token, StandardBase64IsAnotherAlphabet) {
    std::string text(kWorkText);
    text[text.find('_')] = '/';
    EXPECT_FALSE(decode_work_token(text));
    text = kTurnText;
    text[text.find('-')] = '+';
    EXPECT_FALSE(decode_turn_token(text));
}

}  // namespace
}  // namespace belay::core
