// Reading jsonb arguments.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

// The value as the server prints it, in the current memory context.
std::string_view print_jsonb(Jsonb* value);

// Whether it is printed with more than so many bytes. A number can take ten thousand times the room
// that its binary form takes.
bool is_printed_longer(Jsonb* value, int64 most);

// The elements of an array, in order; calls visit(element, place). Nothing for other values.
template <typename Visit>
void each_element(Jsonb* array, Visit visit) {
    JsonbIterator* iterator = JsonbIteratorInit(&array->root);
    JsonbValue element;
    std::size_t at = 0;
    JsonbIteratorToken token = JsonbIteratorNext(&iterator, &element, false);
    while ((token = JsonbIteratorNext(&iterator, &element, true)) != WJB_DONE) {
        if (token == WJB_ELEM) {
            visit(element, at++);
        }
    }
}

// {}, in the current memory context.
Jsonb* empty_object();

// The member of an element that is an object. Its strings lie in the array.
std::optional<JsonbValue> any_member(const JsonbValue& object, std::string_view name);
// The same; none also if it is null.
std::optional<JsonbValue> member(const JsonbValue& object, std::string_view name);

// The bytes of a jsonb string.
inline std::string_view string_view_of(const JsonbValue& string) {
    return {string.val.string.val, static_cast<std::size_t>(string.val.string.len)};
}

// A number as the server prints it.
std::string_view print_number(const JsonbValue& number);

}  // namespace belay::pg
