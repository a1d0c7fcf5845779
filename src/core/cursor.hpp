// Cursors of the functions that browse: a check, and the key of the last row, in hexadecimal.
//
// The check is a hash of the list (its function, order and filter) and of the key: a cursor of
// another list, or one that was changed, is no cursor. It protects from mistakes, not from attacks:
// a key has no rights.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace belay::core {

inline constexpr std::size_t kCursorCheckDigits = 16;

constexpr std::size_t cursor_size(std::size_t key_size) {
    return kCursorCheckDigits + 2 * key_size;
}

// Writes cursor_size(key.size()) characters.
void write_cursor(std::string_view list, std::string_view key, char* out);

// The key, read into `out`, which has room for half the size of the cursor. Nothing if it is no
// cursor of this list.
std::optional<std::string_view> read_cursor(std::string_view list, std::string_view cursor,
                                            char* out);

}  // namespace belay::core
