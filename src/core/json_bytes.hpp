// The bytes of a JSON text: what json.cpp, which reads texts that were checked, and json_parse.cpp,
// which checks them, have in common.
//
// Must not: be included by anything else.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/json.hpp"

namespace belay::core::json {

constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr int hex_digit(char c) {
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The code unit of four hex digits, or -1.
constexpr int32_t code_unit(std::string_view digits) {
    if (digits.size() < 4) {
        return -1;
    }
    int32_t unit = 0;
    for (size_t i = 0; i < 4; ++i) {
        int digit = hex_digit(digits[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit << 4 | digit;
    }
    return unit;
}

// The byte a one-letter escape stands for; NUL, which no such escape stands for, if there is none.
constexpr char simple_escape(char letter) {
    switch (letter) {
        case '"':
        case '\\':
        case '/':
            return letter;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return '\0';
    }
}

inline const char* skip_blanks(const char* at, const char* end) {
    while (at < end && is_blank(*at)) {
        ++at;
    }
    return at;
}

// The first byte that ends a plain run inside a string: a quote, a backslash or a control
// character. Payloads are mostly such runs, so eight bytes are looked at in one step: subtracting
// borrows into the top bit of exactly those bytes that are too small, and perhaps of bytes above
// one of them. The lowest is always right, and where it is the first in memory it is the answer.
inline const char* skip_plain(const char* at, const char* end) {
    constexpr uint64_t kOnes = 0x0101010101010101ULL;
    constexpr uint64_t kTops = 0x8080808080808080ULL;
    while (end - at >= 8) {
        uint64_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        uint64_t quotes = word ^ (kOnes * '"');
        uint64_t backslashes = word ^ (kOnes * '\\');
        uint64_t special = ((quotes - kOnes) & ~quotes) | ((backslashes - kOnes) & ~backslashes) |
                           ((word - kOnes * 0x20) & ~word);
        if ((special & kTops) != 0) {
            if constexpr (std::endian::native == std::endian::little) {
                return at + std::countr_zero(special & kTops) / 8;
            }
            break;
        }
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) {
        ++at;
    }
    return at;
}

inline Kind kind_of(char first) {
    switch (first) {
        case '{':
            return Kind::kObject;
        case '[':
            return Kind::kArray;
        case '"':
            return Kind::kString;
        case 't':
        case 'f':
            return Kind::kBool;
        case 'n':
            return Kind::kNull;
        default:
            return Kind::kNumber;
    }
}

// Takes the value, known to be valid, that the text begins with.
Value take_value(std::string_view& text);

}  // namespace belay::core::json
