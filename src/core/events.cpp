// Reading the hub option events: a list of topics and topic.type words, as bits.
//
// Touches  its argument
// Must not skip a word that it does not know: then there is no value
#include "core/events.hpp"

namespace belay::core {

namespace {

std::string_view trimmed(std::string_view word) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const auto first = word.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return word.substr(first, word.find_last_not_of(kBlanks) - first + 1);
}

// The bits of one word; 0 if it names nothing.
uint64_t bits_of(std::string_view word) {
    const auto dot = word.find('.');
    const auto topic = word.substr(0, dot);
    uint64_t bits = 0;
    uint64_t bit = 1;
    for (const auto& event : kEventTypes) {
        if (event.topic == topic &&
            (dot == std::string_view::npos || event.type == word.substr(dot + 1))) {
            bits |= bit;
        }
        bit <<= 1;
    }
    return bits;
}

}  // namespace

std::optional<uint64_t> parse_events(std::string_view list) {
    if (trimmed(list).empty()) {
        return 0;
    }
    uint64_t all = 0;
    while (true) {
        const auto comma = list.find(',');
        const auto bits = bits_of(trimmed(list.substr(0, comma)));
        if (bits == 0) {
            return std::nullopt;
        }
        all |= bits;
        if (comma == std::string_view::npos) {
            return all;
        }
        list.remove_prefix(comma + 1);
    }
}

}  // namespace belay::core
