#include "belay/durable/payload.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace belay::detail {

std::string json_to_text(const nlohmann::json& value) {
    if (value.is_string()) {
        return value.get<std::string>();
    }
    return value.dump();
}

nlohmann::json parse_json(std::string_view text) {
    return nlohmann::json::parse(text, nullptr, false);
}

std::string decode_string(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '"') {
        const nlohmann::json document = parse_json(text);
        if (document.is_string()) {
            return document.get<std::string>();
        }
    }
    return std::string(text);
}

void throw_decode_error(const std::type_info& type, std::string_view what, std::string_view text) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
    std::string message(what);
    message += " is no ";
    message += status == 0 ? name.get() : type.name();
    message += ": ";
    message += text.substr(0, 80);
    throw DecodeError(message);
}

}  // namespace belay::detail
