// Elements of histories and batches: JSON as it is spelt, or text that the server had to quote.
//
// May touch: its arguments. Must not: fail because an element is no JSON.
#include "turn_elements.hpp"

#include <nlohmann/json.hpp>

#include "json_parts.hpp"

namespace belay {
namespace {

using nlohmann::json;

TurnElement element_of(std::string_view text) {
    if (!text.starts_with('"')) {
        return {std::string(text)};
    }
    const json decoded = json::parse(text, nullptr, false);
    if (!decoded.is_string()) {
        return {std::string(text), true};
    }
    return element_of_text(decoded.get<std::string>());
}

}  // namespace

TurnElement element_of_text(std::string text) {
    const bool is_json = json::accept(text);
    return {std::move(text), !is_json};
}

std::vector<TurnElement> elements_of_array(std::string_view array) {
    std::vector<TurnElement> elements;
    for (const auto part : array_parts(array)) {
        elements.push_back(element_of(part));
    }
    return elements;
}

}  // namespace belay
