// What is shown of stored bodies: redacted keys, hidden bodies, and previews cut at a character.
//
// May touch: nothing outside. Must not: show the value of a redacted key, however the key is
// spelled and wherever the text is cut.
#include "bodies.hpp"

#include <algorithm>

namespace belay::tool::dashboard {
namespace {

constexpr const char* kRedacted = "\"[redacted]\"";

// Fields that hold a body as a string. Errors are bodies: they repeat what they are about. A "text"
// or "value" is one beside its size; without it, it is a sentence or a setting.
constexpr std::string_view kBodies[] = {
    "custom_status", "detail", "details", "error",   "failure_message",  "input",  "last_error",
    "message",       "output", "payload", "preview", "progress_message", "result", "task"};

// Keys of filters that look into bodies.
constexpr std::string_view kBodyFilters[] = {"failure", "input",  "message", "output",
                                             "payload", "result", "tags"};

bool is_body(std::string_view key, const Json& object) {
    return std::ranges::find(kBodies, key) != std::end(kBodies) ||
           ((key == "text" || key == "value") && object.contains("bytes"));
}

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// The end of the string that begins at `from`, behind its quote.
std::size_t end_of_string(std::string_view text, std::size_t from) {
    for (std::size_t i = from + 1; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == '"') {
            return i + 1;
        }
    }
    return text.size();
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
    while (at < text.size() && is_blank(text[at])) {
        ++at;
    }
    return at;
}

// The end of the value that begins at `from`.
std::size_t end_of_value(std::string_view text, std::size_t from) {
    int depth = 0;
    for (std::size_t i = from; i < text.size();) {
        const char c = text[i];
        if (c == '"') {
            i = end_of_string(text, i);
        } else if (c == '{' || c == '[') {
            ++depth;
            ++i;
        } else if (c == '}' || c == ']') {
            if (depth == 0) {
                return i;
            }
            --depth;
            ++i;
        } else if (c == ',' && depth == 0) {
            return i;
        } else {
            ++i;
            continue;
        }
        if (depth == 0) {
            return i;
        }
    }
    return text.size();
}

// Whether the token is one of the keys, written with or without escapes.
bool names(std::string_view token, const std::vector<std::string>& keys) {
    if (std::ranges::any_of(keys, [&](const std::string& key) {
            return token.size() == key.size() + 2 && token.substr(1, key.size()) == key;
        })) {
        return true;
    }
    if (token.find('\\') == std::string_view::npos) {
        return false;
    }
    const Json decoded = Json::parse(token, nullptr, false);
    return decoded.is_string() && std::ranges::find(keys, decoded.get<std::string>()) != keys.end();
}

// A string that has JSON in it, without the values of the keys; none if nothing in it is hidden. A
// preview can end in the middle of it.
std::optional<std::string> redacted_inside(std::string_view token,
                                           const std::vector<std::string>& keys) {
    if (token.find("\\\"") == std::string_view::npos) {
        return std::nullopt;
    }
    std::string text(token);
    Json decoded = Json::parse(text, nullptr, false);
    // What a cut leaves of an escape is at most five characters long.
    for (std::size_t cut = 0; decoded.is_discarded() && cut <= 5 && text.size() > cut; ++cut) {
        decoded = Json::parse(text.substr(0, text.size() - cut) + '"', nullptr, false);
    }
    if (!decoded.is_string()) {
        return std::nullopt;
    }
    const auto& inside = decoded.get_ref<const std::string&>();
    const std::string hidden = redacted(inside, keys);
    return hidden == inside ? std::nullopt : std::optional(json_text(Json(hidden)));
}

}  // namespace

std::string redacted(std::string_view text, const std::vector<std::string>& keys) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != '"') {
            out += text[i++];
            continue;
        }
        const std::size_t end = end_of_string(text, i);
        const std::string_view token = text.substr(i, end - i);
        out += redacted_inside(token, keys).value_or(std::string(token));
        i = end;
        const std::size_t colon = skip_blanks(text, i);
        if (colon < text.size() && text[colon] == ':' && names(token, keys)) {
            const std::size_t value = skip_blanks(text, colon + 1);
            out += text.substr(i, value - i);
            out += value < text.size() ? kRedacted : "";
            i = end_of_value(text, value);
        }
    }
    return out;
}

std::string cut_at_character(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) {
        return std::string(text);
    }
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) {
        --bytes;
    }
    return std::string(text.substr(0, bytes));
}

std::string body_filter_in(const Json& filter) {
    for (const auto& [key, value] : filter.items()) {
        if (std::ranges::find(kBodyFilters, key) != std::end(kBodyFilters)) {
            return key;
        }
    }
    return "";
}

void hide_body_filters(Json& filter) {
    for (auto& [key, value] : filter.items()) {
        if (std::ranges::find(kBodyFilters, key) != std::end(kBodyFilters)) {
            value = "[hidden]";
        }
    }
}

void apply_policy(const BodyPolicy& policy, Json& answer) {
    if (answer.is_array()) {
        for (auto& item : answer) {
            apply_policy(policy, item);
        }
        return;
    }
    if (!answer.is_object()) {
        return;
    }
    if (!policy.hidden && answer.contains("text") && answer["text"].is_string() &&
        answer.contains("bytes") && answer["bytes"].is_number()) {
        // A body and its size: the size of what is shown, if that is all of it.
        const auto& text = answer["text"].get_ref<const std::string&>();
        const std::string hidden = redacted(text, policy.redact);
        if (answer["bytes"] == text.size()) {
            answer["bytes"] = hidden.size();
        }
    }
    for (auto& [key, value] : answer.items()) {
        if (value.is_string() && is_body(key, answer)) {
            if (policy.hidden) {
                value = nullptr;
            } else {
                value = redacted(value.get_ref<const std::string&>(), policy.redact);
            }
        } else if (key != "sql") {
            apply_policy(policy, value);
        }
    }
}

}  // namespace belay::tool::dashboard
