// Numbers as bytes, highest byte first on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace belay::core {

// Writes the low `width` bytes of the number, highest first.
constexpr void put_big_endian(char* out, uint64_t number, size_t width) {
    for (size_t i = width; i-- > 0; number >>= 8) {
        out[i] = static_cast<char>(number & 0xff);
    }
}

// Reads `width` bytes, highest first.
constexpr uint64_t get_big_endian(const char* in, size_t width) {
    uint64_t number = 0;
    for (size_t i = 0; i < width; ++i) {
        number = number << 8 | static_cast<unsigned char>(in[i]);
    }
    return number;
}

}  // namespace belay::core
