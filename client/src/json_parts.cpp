// Cutting the text of a JSON array into its elements.
//
// May touch: its argument. Must not: decode a number; its text is what the server has sent.
#include "json_parts.hpp"

#include <algorithm>

namespace belay {
namespace {

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

// Where the first part ends: at a comma of this level, or with the text. The server has checked the
// syntax, so brackets match and strings end.
std::size_t end_of_part(std::string_view text) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            --depth;
        } else if (c == ',' && depth == 0) {
            return i;
        }
    }
    return text.size();
}

}  // namespace

std::vector<std::string_view> array_parts(std::string_view array) {
    std::string_view rest = trimmed(array);
    if (rest.size() < 2 || rest.front() != '[' || rest.back() != ']') {
        throw Error({.message = "the server sent something else than a JSON array"});
    }
    rest = trimmed(rest.substr(1, rest.size() - 2));
    std::vector<std::string_view> parts;
    while (!rest.empty()) {
        const std::size_t end = end_of_part(rest);
        parts.push_back(trimmed(rest.substr(0, end)));
        rest = trimmed(rest.substr(std::min(end + 1, rest.size())));
    }
    return parts;
}

}  // namespace belay
