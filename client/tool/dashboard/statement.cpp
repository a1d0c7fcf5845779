// Values of statements as parameters and as literals, and the text that a page shows.
//
// May touch: nothing outside. Must not: be used for the text of a statement that runs, other than
// its parameters.
#include "statement.hpp"

#include <algorithm>
#include <cctype>

namespace belay::tool::dashboard {

std::string quoted_literal(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) {
        quoted += c;
        if (c == '\'') {
            quoted += c;
        }
    }
    return quoted + "'";
}

std::string shown_identifier(std::string_view name) {
    const bool plain = !name.empty() && name[0] != '_' &&
                       std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                       std::ranges::all_of(name, [](char c) {
                           return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
                       });
    return plain ? std::string(name) : quoted_identifier(name);
}

Value::Value(std::string_view text) : param(text), literal(quoted_literal(text)) {}
Value::Value(const OptionalText& text)
    : param(text), literal(text ? quoted_literal(*text) : "NULL") {}
Value::Value(const JsonText& json) : param(json), literal(quoted_literal(json.text)) {}
Value::Value(const std::optional<JsonText>& json)
    : param(json), literal(json ? quoted_literal(json->text) : "NULL") {}
Value::Value(const Uuid& uuid) : param(uuid), literal(quoted_literal(uuid.text())) {}
Value::Value(const std::optional<Uuid>& uuid)
    : param(uuid), literal(uuid ? quoted_literal(uuid->text()) : "NULL") {}
Value::Value(std::int64_t number) : param(number), literal(std::to_string(number)) {}
Value::Value(const OptionalNumber& number)
    : param(number), literal(number ? std::to_string(*number) : "NULL") {}
Value::Value(bool value) : param(value), literal(value ? "true" : "false") {}
Value::Value(double number) : param(number), literal(Json(number).dump()) {}

Params params_of(const Values& values) {
    Params params;
    for (const auto& value : values) {
        params.push_back(value.param);
    }
    return params;
}

std::string shown(std::string_view sql, const Values& values) {
    std::string text;
    for (std::size_t i = 0; i < sql.size(); ++i) {
        std::size_t number = 0;
        std::size_t end = i + 1;
        while (sql[i] == '$' && end < sql.size() && sql[end] >= '0' && sql[end] <= '9') {
            number = number * 10 + static_cast<std::size_t>(sql[end++] - '0');
        }
        if (number >= 1 && number <= values.size()) {
            text += values[number - 1].literal;
            i = end - 1;
        } else {
            text += sql[i];
        }
    }
    return text;
}

}  // namespace belay::tool::dashboard
