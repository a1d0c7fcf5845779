// Payloads: from values to the text that is stored, and back; names of types for errors.
//
// May touch: nothing outside. Must not: change how a value is stored: histories keep it.
#include "belay/durable/payload.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

namespace belay::detail {

nlohmann::json parse_json(std::string_view text) {
    return nlohmann::json::parse(text, nullptr, false);
}

namespace {

// The string, if the text is a JSON string.
std::optional<std::string> as_json_string(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] != '"') {
        return std::nullopt;
    }
    const nlohmann::json document = parse_json(text);
    return document.is_string() ? std::optional(document.get<std::string>()) : std::nullopt;
}

}  // namespace

std::string encode_string(std::string_view text) {
    return as_json_string(text) ? nlohmann::json(text).dump() : std::string(text);
}

std::string decode_string(std::string_view text) {
    return as_json_string(text).value_or(std::string(text));
}

std::string json_to_text(const nlohmann::json& value) {
    if (value.is_string() && !nlohmann::json::accept(value.get_ref<const std::string&>())) {
        return value.get<std::string>();
    }
    return value.dump();
}

std::string_view cut_text(std::string_view text, std::size_t longest) {
    std::size_t end = std::min(longest, text.size());
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
        --end;
    }
    return text.substr(0, end);
}

std::string clean_text(std::string_view text) {
    using nlohmann::json;
    return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
        .get<std::string>();
}

void throw_decode_error(const std::type_info& type, std::string_view what, std::string_view text) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
    std::string message(what);
    message += " is no ";
    message += status == 0 ? name.get() : type.name();
    message += ": ";
    message += cut_text(text, 80);
    throw DecodeError(message);
}

}  // namespace belay::detail
