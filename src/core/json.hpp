// A JSON scanner that copies nothing.
//
// Payloads are kept as the bytes the client wrote, so most of what belay wants to know about one is
// "is this JSON" and "what is in this field". A Value is a slice of the text; only the strings
// belay needs are decoded, into memory the caller provides. Nothing here recurses: nesting costs
// a bit, not a stack frame. Input is taken as valid UTF-8, which the server has checked before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace belay::core::json {

enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

// One value as it stands in the text: no blanks around it, quotes and brackets included.
struct Value {
    Kind kind = Kind::kNull;
    std::string_view text;
};

// Where the text stops being JSON, and why in a few words.
struct Fault {
    size_t offset = 0;
    const char* what = "";
};

// Arrays and objects inside each other that parse accepts.
constexpr size_t kMaxDepth = 65536;

// Checks that the text is exactly one JSON value (RFC 8259, as PostgreSQL's type json) and returns
// it. Escaped NULs and lone surrogates pass: they are valid JSON that other types cannot hold.
std::optional<Value> parse(std::string_view text, Fault* fault = nullptr);

// The value of a text that is known to be one, without blanks around it: what jsonb prints as.
Value known(std::string_view text);

// Walks the members of an object that came from parse, in text order, duplicates included. Any
// other kind of value has no members.
struct Members {
    explicit Members(Value object);

    // Steps to the next member; false at the end. The key is raw, quotes included: compare it with
    // key_is, or decode it as the string it is.
    bool next(std::string_view& raw_key, Value& value);

    std::string_view rest;
};

// Walks the elements of an array that came from parse. Any other kind of value has none.
struct Elements {
    explicit Elements(Value array);

    // Steps to the next element; false at the end.
    bool next(Value& value);

    std::string_view rest;
};

// The number of elements of an array or members of an object, duplicates included; 0 for others.
size_t count(Value value);

// True if the raw key (quotes included), with its escapes decoded, is the name.
bool key_is(std::string_view raw_key, std::string_view name);

// The member of that name. Of duplicates the last counts, as in jsonb.
std::optional<Value> find(Value object, std::string_view name);

// The members of those names, in one walk over the object: found[i] is that of names[i]. Returns
// the first key, raw, that is none of the names; empty if there is none.
std::string_view find_each(Value object, std::span<const std::string_view> names,
                           std::optional<Value>* found);

// What a string holds that PostgreSQL's text cannot.
struct StringCheck {
    bool has_nul = false;
    bool has_lone_surrogate = false;
};

struct Decoded {
    size_t size = 0;
    bool has_nul = false;
    bool has_lone_surrogate = false;
};

// An upper bound of the bytes decode writes for this string.
size_t decoded_bound(Value string);

// Writes the string as UTF-8, without quotes and escapes, and returns its size. An escaped NUL is
// written as a NUL byte, a lone surrogate as U+FFFD; both are reported. Any other kind of value
// decodes to nothing.
Decoded decode(Value string, char* out);

// What decode would report.
StringCheck inspect(Value string);

// The number, if it is spelt as an integer (no fraction, no exponent) and fits the type.
std::optional<int64_t> as_int64(Value value);

std::optional<bool> as_bool(Value value);

// Deepest nesting and size of text that belay hands to jsonb. The depth is what PostgreSQL's
// recursive parser takes with its default stack, with room to spare.
constexpr size_t kMaxJsonbDepth = 6000;
constexpr size_t kMaxJsonbText = size_t{256} << 20;

// An upper bound of the bytes of the text's jsonb form inside an array, if a cast to jsonb
// succeeds, and of the digits that it prints: 1e131071 takes 12 bytes and prints 131072. Exact in
// syntax, escapes and the range of numbers; careful in size: a text of many millions of values,
// which may or may not fit, does not.
std::optional<size_t> jsonb_bound(std::string_view text);

// The same with the value, as parse has it, and with its member of that name, as find has it: a
// text need not be read twice.
struct JsonbText {
    Value value;
    size_t bound;
    std::optional<Value> member;
};
std::optional<JsonbText> parse_jsonb(std::string_view text, std::string_view member = "");

// True if a cast of the text to jsonb succeeds.
inline bool fits_jsonb(std::string_view text) {
    return jsonb_bound(text).has_value();
}

// Bytes that the elements of one array of jsonb may take together: offsets inside have 28 bits.
constexpr size_t kMaxJsonbBytes = (size_t{1} << 28) - 1;

// The bytes escape writes for this text.
size_t escaped_bound(std::string_view text);

// Writes the UTF-8 text as a JSON string, quotes included, and returns the number of bytes.
size_t escape(std::string_view text, char* out);

}  // namespace belay::core::json
