// Cursors as text.
//
// Touches  nothing
// Must not know what a key says; ops/browse does
#include "core/cursor.hpp"

#include "core/hash.hpp"

namespace belay::core {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

uint64_t check_of(std::string_view list, std::string_view key) {
    return fnv1a64(key, fnv1a64(list));
}

std::optional<unsigned> digit_of(char c) {
    return c >= '0' && c <= '9'   ? std::optional<unsigned>(c - '0')
           : c >= 'a' && c <= 'f' ? std::optional<unsigned>(c - 'a' + 10)
                                  : std::nullopt;
}

}  // namespace

void write_cursor(std::string_view list, std::string_view key, char* out) {
    const uint64_t check = check_of(list, key);
    for (int shift = 60; shift >= 0; shift -= 4) {
        *out++ = kDigits[check >> shift & 0xf];
    }
    for (const char c : key) {
        const auto byte = static_cast<unsigned char>(c);
        *out++ = kDigits[byte >> 4];
        *out++ = kDigits[byte & 0xf];
    }
}

std::optional<std::string_view> read_cursor(std::string_view list, std::string_view cursor,
                                            char* out) {
    if (cursor.size() <= kCursorCheckDigits || cursor.size() % 2 != 0) {
        return std::nullopt;
    }
    uint64_t check = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < cursor.size(); i += 2) {
        const auto high = digit_of(cursor[i]);
        const auto low = digit_of(cursor[i + 1]);
        if (!high || !low) {
            return std::nullopt;
        }
        const unsigned byte = *high << 4 | *low;
        if (i < kCursorCheckDigits) {
            check = check << 8 | byte;
        } else {
            out[size++] = static_cast<char>(byte);
        }
    }
    const std::string_view key(out, size);
    return check == check_of(list, key) ? std::optional(key) : std::nullopt;
}

}  // namespace belay::core
