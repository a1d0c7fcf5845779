#include "json_parts.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace belay {
namespace {

using nlohmann::json;

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

// Where the first part ends: at a separator of this level, or with the text. The server has checked
// the syntax, so brackets match and strings end.
std::size_t end_of_part(std::string_view text, char separator) {
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
        } else if (c == separator && depth == 0) {
            return i;
        }
    }
    return text.size();
}

// What is between the brackets, cut at its commas.
std::vector<std::string_view> parts_between(std::string_view text, char open, char close,
                                            const char* complaint) {
    std::string_view rest = trimmed(text);
    if (rest.size() < 2 || rest.front() != open || rest.back() != close) {
        throw Error({.message = complaint});
    }
    rest = trimmed(rest.substr(1, rest.size() - 2));
    std::vector<std::string_view> parts;
    while (!rest.empty()) {
        const std::size_t end = end_of_part(rest, ',');
        parts.push_back(trimmed(rest.substr(0, end)));
        rest = trimmed(rest.substr(std::min(end + 1, rest.size())));
    }
    return parts;
}

}  // namespace

std::vector<std::string_view> array_parts(std::string_view array) {
    return parts_between(array, '[', ']', "the server sent something else than a JSON array");
}

ObjectParts object_parts(std::string_view object) {
    ObjectParts parts;
    for (const auto member :
         parts_between(object, '{', '}', "the server sent something else than a JSON object")) {
        const std::size_t colon = end_of_part(member, ':');
        parts[json::parse(member.substr(0, colon)).get<std::string>()] =
            trimmed(member.substr(std::min(colon + 1, member.size())));
    }
    return parts;
}

OptionalText json_part(const ObjectParts& parts, const std::string& key) {
    const auto found = parts.find(key);
    return found == parts.end() || found->second == "null"
               ? std::nullopt
               : OptionalText(std::string(found->second));
}

OptionalText text_part(const ObjectParts& parts, const std::string& key) {
    const auto part = json_part(parts, key);
    return part ? OptionalText(json::parse(*part).get<std::string>()) : std::nullopt;
}

}  // namespace belay
