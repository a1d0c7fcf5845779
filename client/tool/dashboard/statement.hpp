// A statement with its values, and how a person would write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"
#include "print.hpp"

namespace belay::tool::dashboard {

// A value of a statement: as a parameter, and as a literal.
struct Value {
    Param param;
    std::string literal;

    Value(std::string_view text);
    Value(const std::string& text) : Value(std::string_view(text)) {}
    Value(const char* text) : Value(std::string_view(text)) {}
    Value(const OptionalText& text);
    Value(const JsonText& json);
    Value(const std::optional<JsonText>& json);
    Value(const Uuid& uuid);
    Value(const std::optional<Uuid>& uuid);
    Value(std::int64_t number);
    Value(int number) : Value(static_cast<std::int64_t>(number)) {}
    Value(const OptionalNumber& number);
    Value(bool value);
    Value(double number);
};

using Values = std::vector<Value>;

Params params_of(const Values& values);

// The statement with the values in it, for the page.
std::string shown(std::string_view sql, const Values& values);

std::string quoted_literal(std::string_view text);

// A name as a person writes it: quoted only if it has to be.
std::string shown_identifier(std::string_view name);

}  // namespace belay::tool::dashboard
