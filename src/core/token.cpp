#include "core/token.hpp"

#include "core/bytes.hpp"

namespace belay::core {
namespace {

// The first byte of the binary form: kind in the upper six bits, so that it is the first character
// of the text, and format version in the lower two.
constexpr uint64_t kWorkKind = 0xc1;
constexpr uint64_t kTurnKind = 0xb5;
constexpr uint64_t kPlaceKind = 0x79;

constexpr size_t kWorkBytes = 1 + 4 + 2 + 8 + 8 + 4 + 8 + 8;
constexpr size_t kTurnBytes = 1 + 8 + 8 + 4 + 8 + 8;
constexpr size_t kPlaceBytes = 1 + 8 + 4 + 8 + 8 + 1;

constexpr size_t chars_for(size_t bytes) {
    return (bytes * 8 + 5) / 6;
}
static_assert(chars_for(kWorkBytes) == kWorkTokenChars);
static_assert(chars_for(kTurnBytes) == kTurnTokenChars);
static_assert(chars_for(kPlaceBytes) == kEventPlaceChars);

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

void to_base64url(const char* bytes, size_t size, char* out) {
    uint32_t pending = 0;
    int bits = 0;
    for (size_t i = 0; i < size; ++i) {
        pending = (pending << 8 | static_cast<unsigned char>(bytes[i])) & 0xffff;
        for (bits += 8; bits >= 6; bits -= 6) {
            *out++ = kAlphabet[pending >> (bits - 6) & 0x3f];
        }
    }
    if (bits > 0) {
        *out = kAlphabet[pending << (6 - bits) & 0x3f];
    }
}

// False unless the text is the one spelling of exactly `size` bytes: the bits left over at its end
// must be zero.
bool from_base64url(std::string_view text, char* bytes, size_t size) {
    if (text.size() != chars_for(size)) {
        return false;
    }
    uint32_t pending = 0;
    int bits = 0;
    for (char c : text) {
        int digit = digit_of(c);
        if (digit < 0) {
            return false;
        }
        pending = (pending << 6 | static_cast<uint32_t>(digit)) & 0xffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            *bytes++ = static_cast<char>(pending >> bits & 0xff);
        }
    }
    return (pending & ((1u << bits) - 1)) == 0;
}

struct Writer {
    char* at;

    void put(uint64_t number, size_t width) {
        put_big_endian(at, number, width);
        at += width;
    }
};

struct Reader {
    const char* at;

    uint64_t get(size_t width) {
        uint64_t number = get_big_endian(at, width);
        at += width;
        return number;
    }
};

// The byte of a number that changes most comes first: the first characters of a token, which errors
// show, then tell one item from its neighbours.
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

}  // namespace belay::core
