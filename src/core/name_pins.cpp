// Reading the hub option name_pins, and matching names with its patterns.
//
// Touches  its arguments
// Must not use the heap: the caller provides the places
#include "core/name_pins.hpp"

#include <charconv>

namespace belay::core {

namespace {

// A version as three numbers with dots between them.
bool read_version(json::Value value, int32_t* parts) {
    if (value.kind != json::Kind::kString) {
        return false;
    }
    std::string_view rest = value.text.substr(1, value.text.size() - 2);
    for (int i = 0; i < 3; ++i) {
        if (i > 0) {
            if (rest.empty() || rest.front() != '.') {
                return false;
            }
            rest.remove_prefix(1);
        }
        const auto [end, error] =
            std::from_chars(rest.data(), rest.data() + rest.size(), parts[i], 10);
        if (error != std::errc() || parts[i] < 0) {
            return false;
        }
        rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    }
    return rest.empty();
}

// Reads up to kMaxNamePins pins; no value if the text is not a value of the option.
std::optional<size_t> read_pins(std::string_view text, NamePin* out) {
    const auto object = json::parse(text);
    if (!object || object->kind != json::Kind::kObject || json::count(*object) > kMaxNamePins) {
        return std::nullopt;
    }
    json::Members members(*object);
    std::string_view key;
    json::Value value;
    size_t count = 0;
    while (members.next(key, value)) {
        NamePin pin{{json::Kind::kString, key}, {}};
        const auto check = json::inspect(pin.pattern);
        if (check.has_nul || check.has_lone_surrogate || !read_version(value, pin.parts)) {
            return std::nullopt;
        }
        if (out != nullptr) {
            out[count] = pin;
        }
        ++count;
    }
    return count;
}

}  // namespace

bool is_name_pins(std::string_view text) {
    return read_pins(text, nullptr).has_value();
}

size_t read_name_pins(std::string_view text, NamePin* out) {
    return read_pins(text, out).value_or(0);
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
    size_t at = 0;
    size_t in_name = 0;
    // Where to continue if the part behind the last star does not match.
    size_t star = std::string_view::npos;
    size_t star_name = 0;
    while (in_name < name.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            star_name = in_name;
        } else if (at < pattern.size() && pattern[at] == name[in_name]) {
            ++at;
            ++in_name;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            in_name = ++star_name;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace belay::core
