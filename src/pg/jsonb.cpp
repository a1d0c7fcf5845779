// Reading jsonb: members, numbers, and its text.
//
// Touches  the current memory context
// Must not change a value
#include "pg/jsonb.hpp"

#include "core/json.hpp"

namespace belay::pg {

namespace {

struct Printer {
    StringInfoData out;
    bool between = false;  // a comma comes before the next value

    void put(std::string_view text) {
        appendBinaryStringInfo(&out, text.data(), static_cast<int>(text.size()));
    }

    void begin_value() {
        if (between) {
            put(", ");
        }
    }

    void open(char bracket) {
        begin_value();
        appendStringInfoCharMacro(&out, bracket);
        between = false;
    }

    void close(char bracket) {
        appendStringInfoCharMacro(&out, bracket);
        between = true;
    }

    void string(std::string_view text) {
        // The bound is exact but looks at each byte. Short strings have room for the worst.
        constexpr std::size_t kShort = 4096;
        constexpr std::size_t kLongestEscape = 6;
        const std::size_t room = text.size() <= kShort ? text.size() * kLongestEscape + 2
                                                       : core::json::escaped_bound(text);
        enlargeStringInfo(&out, static_cast<int>(room));
        out.len += static_cast<int>(core::json::escape(text, out.data + out.len));
    }

    void scalar(const JsonbValue& value) {
        begin_value();
        between = true;
        switch (value.type) {
            case jbvNull:
                return put("null");
            case jbvBool:
                return put(value.val.boolean ? "true" : "false");
            case jbvNumeric:
                return put(print_number(value));
            case jbvString:
                return string(string_view_of(value));
            default:
                elog(ERROR, "unknown jsonb scalar type");
        }
    }
};

}  // namespace

std::string_view print_number(const JsonbValue& number) {
    return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number.val.numeric)));
}

std::string_view print_jsonb(Jsonb* value) {
    Printer printer{};
    initStringInfo(&printer.out);
    enlargeStringInfo(&printer.out, static_cast<int>(VARSIZE(value)));
    JsonbIterator* iterator = JsonbIteratorInit(&value->root);
    const bool is_scalar = JB_ROOT_IS_SCALAR(value);  // an array of one, without its brackets
    JsonbValue part;
    for (JsonbIteratorToken token;
         (token = JsonbIteratorNext(&iterator, &part, false)) != WJB_DONE;) {
        switch (token) {
            case WJB_BEGIN_ARRAY:
                if (!is_scalar) {
                    printer.open('[');
                }
                break;
            case WJB_END_ARRAY:
                if (!is_scalar) {
                    printer.close(']');
                }
                break;
            case WJB_BEGIN_OBJECT:
                printer.open('{');
                break;
            case WJB_END_OBJECT:
                printer.close('}');
                break;
            case WJB_KEY:
                printer.scalar(part);
                printer.put(": ");
                printer.between = false;
                break;
            default:
                printer.scalar(part);
        }
    }
    return {printer.out.data, static_cast<std::size_t>(printer.out.len)};
}

bool is_printed_longer(Jsonb* value, int64 most) {
    // Of the binary form, a number has at least 8 bytes and prints at most so many.
    constexpr int64 kMostPerNumber = 131072 + 16383 + 2;
    constexpr int64 kLeastOfNumber = 8;
    if (int64{VARSIZE(value)} / kLeastOfNumber * kMostPerNumber <= most) {
        return false;
    }
    JsonbIterator* iterator = JsonbIteratorInit(&value->root);
    JsonbValue part;
    int64 bytes = 0;
    for (JsonbIteratorToken token;
         bytes <= most && (token = JsonbIteratorNext(&iterator, &part, false)) != WJB_DONE;) {
        constexpr int64 kAround = 2;  // brackets, or what stands between two values
        bytes += kAround;
        if (token != WJB_KEY && token != WJB_VALUE && token != WJB_ELEM) {
            continue;
        }
        if (part.type == jbvString) {
            bytes += static_cast<int64>(core::json::escaped_bound(string_view_of(part)));
        } else if (part.type == jbvNumeric) {
            const std::string_view digits = print_number(part);
            bytes += static_cast<int64>(digits.size());
            pfree(const_cast<char*>(digits.data()));
        } else {
            constexpr int64 kLongestWord = 5;
            bytes += kLongestWord;
        }
    }
    return bytes > most;
}

Jsonb* empty_object() {
    auto* object = static_cast<Jsonb*>(palloc(sizeof(Jsonb)));
    SET_VARSIZE(object, sizeof(Jsonb));
    object->root.header = JB_FOBJECT;
    return object;
}

std::optional<JsonbValue> any_member(const JsonbValue& object, std::string_view name) {
    JsonbValue value;
    const bool found =
        getKeyJsonValueFromContainer(object.val.binary.data, name.data(),
                                     static_cast<int>(name.size()), &value) != nullptr;
    return found ? std::optional(value) : std::nullopt;
}

std::optional<JsonbValue> member(const JsonbValue& object, std::string_view name) {
    const auto value = any_member(object, name);
    return value && value->type != jbvNull ? value : std::nullopt;
}

}  // namespace belay::pg
