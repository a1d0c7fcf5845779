// Words that stand for the values of an enum.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace belay::core {

// A word of a table of names, as an enum.
template <typename Enum, std::size_t N>
constexpr std::optional<Enum> parse_word(const std::string_view (&names)[N],
                                         std::string_view word) {
    for (std::size_t i = 0; i < N; ++i) {
        if (word == names[i]) {
            return static_cast<Enum>(i);
        }
    }
    return std::nullopt;
}

}  // namespace belay::core
