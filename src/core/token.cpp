// Writing and reading tokens: fixed layouts in base64url.
//
// Touches  its arguments, and the memory that the caller provides
// Must not accept a second spelling of a token, or change: tokens are in the hands of clients
#include "core/token.hpp"

#include <cstring>

#include "core/bytes.hpp"

namespace belay::core {
namespace {

// The first byte of the binary form: kind in the upper six bits, so that it is the first character
// of the text, and format version in the lower two.
constexpr uint64_t kWorkKind = 0xc1;
constexpr uint64_t kTurnKind = 0xb5;
constexpr uint64_t kPlaceKind = 0x79;
constexpr uint64_t kLeaseKind = 0x95;

constexpr size_t kWorkBytes = 1 + 4 + 2 + 8 + 8 + 4 + 8 + 8;
constexpr size_t kTurnBytes = 1 + 8 + 8 + 4 + 8 + 8;
constexpr size_t kPlaceBytes = 1 + 8 + 4 + 8 + 8 + 1;
constexpr size_t kLeaseBytes = 1 + 16 + 8 + 4 + 16;

constexpr size_t chars_for(size_t bytes) {
    return (bytes * 8 + 5) / 6;
}
static_assert(chars_for(kWorkBytes) == kWorkTokenChars);
static_assert(chars_for(kTurnBytes) == kTurnTokenChars);
static_assert(chars_for(kPlaceBytes) == kEventPlaceChars);
static_assert(chars_for(kLeaseBytes) == kTaskLeaseChars);

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr int digit_of(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

struct Digits {
    int8_t of[256];

    constexpr Digits() : of() {
        for (int c = 0; c < 256; ++c) {
            of[c] = static_cast<int8_t>(digit_of(static_cast<char>(c)));
        }
    }
};
constexpr Digits kDigits;

void to_base64url(const char* bytes, size_t size, char* out) {
    const auto byte = [bytes](size_t i) {
        return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i]));
    };
    size_t i = 0;
    for (; i + 3 <= size; i += 3) {
        const uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
        for (int shift = 18; shift >= 0; shift -= 6) {
            *out++ = kAlphabet[three >> shift & 0x3f];
        }
    }
    if (i < size) {
        const uint32_t rest = byte(i) << 16 | (i + 1 < size ? byte(i + 1) << 8 : 0);
        *out++ = kAlphabet[rest >> 18 & 0x3f];
        *out++ = kAlphabet[rest >> 12 & 0x3f];
        if (i + 1 < size) {
            *out++ = kAlphabet[rest >> 6 & 0x3f];
        }
    }
}

// False unless the text is the one spelling of exactly `size` bytes: the bits left over at its end
// must be zero.
bool from_base64url(std::string_view text, char* bytes, size_t size) {
    if (text.size() != chars_for(size)) {
        return false;
    }
    const auto digit = [text](size_t i) {
        return static_cast<int32_t>(kDigits.of[static_cast<unsigned char>(text[i])]);
    };
    size_t i = 0;
    int32_t wrong = 0;  // negative once a character is none of the alphabet
    for (; i + 4 <= text.size(); i += 4) {
        const int32_t a = digit(i), b = digit(i + 1), c = digit(i + 2), d = digit(i + 3);
        wrong |= a | b | c | d;
        *bytes++ = static_cast<char>(a << 2 | b >> 4);
        *bytes++ = static_cast<char>(b << 4 | c >> 2);
        *bytes++ = static_cast<char>(c << 6 | d);
    }
    const size_t left = text.size() - i;  // 0, 2 or 3
    if (left > 0) {
        const int32_t a = digit(i), b = digit(i + 1), c = left == 3 ? digit(i + 2) : 0;
        wrong |= a | b | c;
        *bytes++ = static_cast<char>(a << 2 | b >> 4);
        if (left == 3) {
            *bytes++ = static_cast<char>(b << 4 | c >> 2);
        }
        const int32_t rest = left == 3 ? c & 3 : b & 15;
        return wrong >= 0 && rest == 0;
    }
    return wrong >= 0;
}

struct Writer {
    char* at;

    void put(uint64_t number, size_t width) {
        put_big_endian(at, number, width);
        at += width;
    }
    void put(const unsigned char* bytes, size_t size) {
        std::memcpy(at, bytes, size);
        at += size;
    }
};

struct Reader {
    const char* at;

    uint64_t get(size_t width) {
        uint64_t number = get_big_endian(at, width);
        at += width;
        return number;
    }
    void get(unsigned char* bytes, size_t size) {
        std::memcpy(bytes, at, size);
        at += size;
    }
};

// The byte of a number that changes most comes first: the first characters of a token, which errors
// show, then distinguish one item from its neighbours.
uint64_t low_byte_first(int64_t number) {
    return __builtin_bswap64(static_cast<uint64_t>(number));
}

int64_t from_low_byte_first(uint64_t number) {
    return static_cast<int64_t>(__builtin_bswap64(number));
}

}  // namespace

void encode(const WorkToken& token, char* out) {
    char bytes[kWorkBytes];
    Writer writer{bytes};
    writer.put(kWorkKind, 1);
    writer.put(low_byte_first(token.id), 8);
    writer.put(static_cast<uint64_t>(token.due), 8);
    writer.put(static_cast<uint32_t>(token.lane), 4);
    writer.put(static_cast<uint16_t>(token.slot), 2);
    writer.put(static_cast<uint32_t>(token.incarnation), 4);
    writer.put(token.nonce_hi, 8);
    writer.put(token.nonce_lo, 8);
    to_base64url(bytes, sizeof(bytes), out);
}

void encode(const TurnToken& token, char* out) {
    char bytes[kTurnBytes];
    Writer writer{bytes};
    writer.put(kTurnKind, 1);
    writer.put(low_byte_first(token.lock_no), 8);
    writer.put(static_cast<uint64_t>(token.instance_key), 8);
    writer.put(static_cast<uint32_t>(token.incarnation), 4);
    writer.put(token.nonce_hi, 8);
    writer.put(token.nonce_lo, 8);
    to_base64url(bytes, sizeof(bytes), out);
}

void encode(const EventPlace& place, char* out) {
    char bytes[kPlaceBytes];
    Writer writer{bytes};
    writer.put(kPlaceKind, 1);
    writer.put(low_byte_first(place.position), 8);
    writer.put(static_cast<uint32_t>(place.incarnation), 4);
    writer.put(place.xid, 8);
    writer.put(static_cast<uint64_t>(place.lease), 8);
    writer.put(place.by_xid ? 1 : 0, 1);
    to_base64url(bytes, sizeof(bytes), out);
}

void encode(const TaskLease& lease, char* out) {
    char bytes[kLeaseBytes];
    Writer writer{bytes};
    writer.put(kLeaseKind, 1);
    writer.put(lease.task, sizeof lease.task);
    writer.put(static_cast<uint64_t>(lease.epoch), 8);
    writer.put(static_cast<uint32_t>(lease.incarnation), 4);
    writer.put(lease.nonce, sizeof lease.nonce);
    to_base64url(bytes, sizeof(bytes), out);
}

std::optional<WorkToken> decode_work_token(std::string_view text) {
    char bytes[kWorkBytes];
    Reader reader{bytes};
    if (!from_base64url(text, bytes, sizeof(bytes)) || reader.get(1) != kWorkKind) {
        return std::nullopt;
    }
    WorkToken token;
    token.id = from_low_byte_first(reader.get(8));
    token.due = static_cast<int64_t>(reader.get(8));
    token.lane = static_cast<int32_t>(reader.get(4));
    token.slot = static_cast<int16_t>(reader.get(2));
    token.incarnation = static_cast<int32_t>(reader.get(4));
    token.nonce_hi = reader.get(8);
    token.nonce_lo = reader.get(8);
    return token;
}

std::optional<TurnToken> decode_turn_token(std::string_view text) {
    char bytes[kTurnBytes];
    Reader reader{bytes};
    if (!from_base64url(text, bytes, sizeof(bytes)) || reader.get(1) != kTurnKind) {
        return std::nullopt;
    }
    TurnToken token;
    token.lock_no = from_low_byte_first(reader.get(8));
    token.instance_key = static_cast<int64_t>(reader.get(8));
    token.incarnation = static_cast<int32_t>(reader.get(4));
    token.nonce_hi = reader.get(8);
    token.nonce_lo = reader.get(8);
    return token;
}

std::optional<EventPlace> decode_event_place(std::string_view text) {
    char bytes[kPlaceBytes];
    Reader reader{bytes};
    if (!from_base64url(text, bytes, sizeof(bytes)) || reader.get(1) != kPlaceKind) {
        return std::nullopt;
    }
    EventPlace place;
    place.position = from_low_byte_first(reader.get(8));
    place.incarnation = static_cast<int32_t>(reader.get(4));
    place.xid = reader.get(8);
    place.lease = static_cast<int64_t>(reader.get(8));
    const uint64_t by_xid = reader.get(1);
    place.by_xid = by_xid == 1;
    return by_xid > 1 ? std::nullopt : std::optional(place);
}

std::optional<TaskLease> decode_task_lease(std::string_view text) {
    char bytes[kLeaseBytes];
    Reader reader{bytes};
    if (!from_base64url(text, bytes, sizeof(bytes)) || reader.get(1) != kLeaseKind) {
        return std::nullopt;
    }
    TaskLease lease;
    reader.get(lease.task, sizeof lease.task);
    lease.epoch = static_cast<int64_t>(reader.get(8));
    lease.incarnation = static_cast<int32_t>(reader.get(4));
    reader.get(lease.nonce, sizeof lease.nonce);
    return lease;
}

bool has_nonce(const TaskLease& lease, const unsigned char* nonce) {
    unsigned difference = 0;
    for (size_t i = 0; i < sizeof lease.nonce; ++i) {
        difference |= static_cast<unsigned>(lease.nonce[i] ^ nonce[i]);
    }
    return difference == 0;
}

}  // namespace belay::core
