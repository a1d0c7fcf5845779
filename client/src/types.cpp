// Ids as text, and text as ids.
#include "belay/types.hpp"

#include <ostream>

#include "belay/error.hpp"

namespace belay {
namespace {

// The value of a hexadecimal digit; -1 if it is none.
int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool is_hyphen_place(std::size_t place) {
    return place == 8 || place == 13 || place == 18 || place == 23;
}

}  // namespace

std::optional<Uuid> Uuid::parse(std::string_view text) noexcept {
    if (text.size() != 36) {
        return std::nullopt;
    }
    Uuid id;
    std::size_t byte = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_hyphen_place(i)) {
            if (text[i] != '-') {
                return std::nullopt;
            }
            continue;
        }
        const int high = hex_value(text[i]);
        const int low = hex_value(text[++i]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        id.bytes_[byte++] = static_cast<unsigned char>(high << 4 | low);
    }
    return id;
}

Uuid::Uuid(std::string_view text) {
    const auto id = parse(text);
    if (!id) {
        throw Error(
            {.message = "\"" + std::string(text) + "\" is not a UUID", .sqlstate = "22P02"});
    }
    *this = *id;
}

std::string Uuid::text() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(36);
    for (const unsigned char byte : bytes_) {
        if (is_hyphen_place(text.size())) {
            text += '-';
        }
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

std::ostream& operator<<(std::ostream& out, const Uuid& id) {
    return out << id.text();
}

}  // namespace belay
