// Inputs, outputs and event data as text.
//
// A string is stored raw, without quotes, unless its text would be read as a JSON string itself;
// every other value as compact JSON with sorted keys; void as the empty text. A text is read as
// JSON and converted; where that fails, the text itself is taken as a string. A value whose type
// becomes a JSON string only at run time, for example nlohmann::json, is stored raw only if its
// text is no JSON: a reader cannot distinguish the string "123" from the number.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include <nlohmann/json.hpp>

#include "belay/durable/failure.hpp"

namespace belay::detail {

std::string json_to_text(const nlohmann::json& value);

// A document, or a discarded value if the text is no JSON.
nlohmann::json parse_json(std::string_view text);

// The beginning of a text, at most so many bytes, without half a character at its end.
std::string_view cut_text(std::string_view text, std::size_t longest);
// The text as a server takes it: bytes that are no UTF-8 are replaced.
std::string clean_text(std::string_view text);

// The stored form of a string, and the string whose stored form is given.
std::string encode_string(std::string_view text);
std::string decode_string(std::string_view text);

[[noreturn]] void throw_decode_error(const std::type_info& type, std::string_view what,
                                     std::string_view text);

// Whether nlohmann-json can write and read a type.
template <class T>
concept ToJson = std::is_convertible_v<const T&, nlohmann::json>;
template <class T>
concept FromJson = requires(const nlohmann::json& document) {
    document.get<T>();
};

template <class T>
std::string encode(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
        return encode_string(std::string_view(value));
    } else {
        static_assert(ToJson<T>,
                      "nlohmann-json cannot write this type: give it a to_json, for example with "
                      "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)");
        if constexpr (ToJson<T>) {
            const nlohmann::json document = value;
            return json_to_text(document);
        }
    }
}

// `what` names the place for the text of the DecodeError.
template <class T>
T decode(std::string_view text, std::string_view what) {
    if constexpr (std::is_void_v<T>) {
        return;
    } else if constexpr (std::is_same_v<T, std::string>) {
        return decode_string(text);
    } else if constexpr (!FromJson<T>) {
        static_assert(FromJson<T>,
                      "nlohmann-json cannot read this type: give it a from_json, for example with "
                      "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...)");
    } else {
        const nlohmann::json document = parse_json(text);
        if (!document.is_discarded()) {
            try {
                return document.get<T>();
            } catch (const std::exception&) {
                // Then as a string, below.
            }
        }
        try {
            const nlohmann::json string = std::string(text);
            return string.get<T>();
        } catch (const std::exception&) {
            throw_decode_error(typeid(T), what, text);
        }
    }
}

}  // namespace belay::detail
