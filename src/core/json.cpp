// Reading a JSON text that was checked: members, elements, strings and numbers; escaping.
//
// Touches  the text, and the memory that the caller provides
// Must not recurse, use the heap, or judge a text; json_parse.cpp does
#include "core/json.hpp"

#include <charconv>

#include "core/json_bytes.hpp"

namespace belay::core::json {
namespace {

constexpr bool is_high_surrogate(int32_t unit) {
    return unit >= 0xd800 && unit <= 0xdbff;
}
constexpr bool is_low_surrogate(int32_t unit) {
    return unit >= 0xdc00 && unit <= 0xdfff;
}

// The end of a string that is known to be valid and begins at `at`.
const char* skip_string(const char* at, const char* end) {
    ++at;
    while ((at = skip_plain(at, end)) < end && *at != '"') {
        at += *at == '\\' && end - at >= 2 ? 2 : 1;
    }
    return at < end ? at + 1 : end;
}

}  // namespace

Value take_value(std::string_view& text) {
    const char* begin = text.data();
    const char* end = begin + text.size();
    const char* at = begin;
    Kind kind = kind_of(*at);
    if (kind == Kind::kString) {
        at = skip_string(at, end);
    } else if (kind == Kind::kArray || kind == Kind::kObject) {
        size_t depth = 0;
        do {
            char c = *at;
            if (c == '"') {
                at = skip_string(at, end);
                continue;
            }
            depth += c == '{' || c == '[' ? 1 : 0;
            depth -= c == '}' || c == ']' ? 1 : 0;
            ++at;
        } while (depth > 0 && at < end);
    } else {
        while (at < end && !is_blank(*at) && *at != ',' && *at != '}' && *at != ']') {
            ++at;
        }
    }
    Value value{kind, text.substr(0, static_cast<size_t>(at - begin))};
    text.remove_prefix(value.text.size());
    return value;
}

namespace {

void drop_blanks(std::string_view& text) {
    const char* end = text.data() + text.size();
    text.remove_prefix(static_cast<size_t>(skip_blanks(text.data(), end) - text.data()));
}

// Removes a comma or colon and the blanks around it. After the last value there is none.
void drop_separator(std::string_view& text) {
    drop_blanks(text);
    text.remove_prefix(text.empty() ? 0 : 1);
    drop_blanks(text);
}

// The inside of an array or object, without brackets; its end is the end of the slice.
std::string_view inside(Value value) {
    std::string_view rest = value.text.substr(1, value.text.size() - 2);
    drop_blanks(rest);
    return rest;
}

// Hands the decoded string to the sink, run by run, until the sink returns false.
template <typename Sink>
StringCheck walk_string(Value string, Sink sink) {
    StringCheck check;
    if (string.kind != Kind::kString || string.text.size() < 2) {
        return check;
    }
    std::string_view rest = string.text.substr(1, string.text.size() - 2);
    while (!rest.empty()) {
        size_t plain = rest.find('\\');
        if (plain != 0) {
            std::string_view run = rest.substr(0, plain);
            if (!sink(run)) {
                return check;
            }
            rest.remove_prefix(run.size());
            continue;
        }
        if (rest.size() < 2) {
            return check;
        }
        if (rest[1] != 'u') {
            char byte = simple_escape(rest[1]);
            if (!sink(std::string_view(&byte, 1))) {
                return check;
            }
            rest.remove_prefix(2);
            continue;
        }
        int32_t code = code_unit(rest.substr(2));
        rest.remove_prefix(rest.size() < 6 ? rest.size() : 6);
        if (is_high_surrogate(code) && rest.starts_with("\\u") &&
            is_low_surrogate(code_unit(rest.substr(2)))) {
            code = 0x10000 + ((code - 0xd800) << 10) + (code_unit(rest.substr(2)) - 0xdc00);
            rest.remove_prefix(6);
        } else if (code < 0 || is_high_surrogate(code) || is_low_surrogate(code)) {
            check.has_lone_surrogate = true;
            code = 0xfffd;
        }
        check.has_nul = check.has_nul || code == 0;
        char utf8[4];
        size_t size = 0;
        if (code < 0x80) {
            utf8[size++] = static_cast<char>(code);
        } else if (code < 0x800) {
            utf8[size++] = static_cast<char>(0xc0 | code >> 6);
            utf8[size++] = static_cast<char>(0x80 | (code & 0x3f));
        } else if (code < 0x10000) {
            utf8[size++] = static_cast<char>(0xe0 | code >> 12);
            utf8[size++] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
            utf8[size++] = static_cast<char>(0x80 | (code & 0x3f));
        } else {
            utf8[size++] = static_cast<char>(0xf0 | code >> 18);
            utf8[size++] = static_cast<char>(0x80 | (code >> 12 & 0x3f));
            utf8[size++] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
            utf8[size++] = static_cast<char>(0x80 | (code & 0x3f));
        }
        if (!sink(std::string_view(utf8, size))) {
            return check;
        }
    }
    return check;
}

}  // namespace

Value known(std::string_view text) {
    return {kind_of(text.front()), text};
}

Members::Members(Value object) {
    if (object.kind == Kind::kObject) {
        rest = inside(object);
    }
}

bool Members::next(std::string_view& raw_key, Value& value) {
    if (rest.empty()) {
        return false;
    }
    raw_key = take_value(rest).text;
    drop_separator(rest);
    value = take_value(rest);
    drop_separator(rest);
    return true;
}

Elements::Elements(Value array) {
    if (array.kind == Kind::kArray) {
        rest = inside(array);
    }
}

bool Elements::next(Value& value) {
    if (rest.empty()) {
        return false;
    }
    value = take_value(rest);
    drop_separator(rest);
    return true;
}

size_t count(Value value) {
    size_t number = 0;
    Value child;
    std::string_view key;
    for (Elements elements(value); elements.next(child);) {
        ++number;
    }
    for (Members members(value); members.next(key, child);) {
        ++number;
    }
    return number;
}

bool key_is(std::string_view raw_key, std::string_view name) {
    // Escapes only make a key longer. Most have none.
    if (raw_key.size() <= name.size() + 2) {
        return raw_key.size() == name.size() + 2 && raw_key.substr(1, name.size()) == name &&
               name.find('\\') == std::string_view::npos;
    }
    if (raw_key.find('\\') == std::string_view::npos) {
        return false;
    }
    std::string_view rest = name;
    bool is_equal = true;
    StringCheck check = walk_string({Kind::kString, raw_key}, [&](std::string_view run) {
        is_equal = rest.starts_with(run);
        rest.remove_prefix(is_equal ? run.size() : 0);
        return is_equal;
    });
    return is_equal && rest.empty() && !check.has_lone_surrogate;
}

std::optional<Value> find(Value object, std::string_view name) {
    std::optional<Value> found;
    (void)find_each(object, {&name, 1}, &found);
    return found;
}

std::string_view find_each(Value object, std::span<const std::string_view> names,
                           std::optional<Value>* found) {
    for (size_t i = 0; i < names.size(); ++i) {
        found[i] = std::nullopt;
    }
    std::string_view unknown;
    std::string_view key;
    Value value;
    for (Members members(object); members.next(key, value);) {
        bool is_known = false;
        for (size_t i = 0; !is_known && i < names.size(); ++i) {
            if (key_is(key, names[i])) {
                found[i] = value;
                is_known = true;
            }
        }
        if (!is_known && unknown.empty()) {
            unknown = key;
        }
    }
    return unknown;
}

size_t decoded_bound(Value string) {
    // No escape is shorter than what it stands for.
    bool is_string = string.kind == Kind::kString && string.text.size() >= 2;
    return is_string ? string.text.size() - 2 : 0;
}

Decoded decode(Value string, char* out) {
    Decoded decoded;
    StringCheck check = walk_string(string, [&](std::string_view run) {
        std::memcpy(out + decoded.size, run.data(), run.size());
        decoded.size += run.size();
        return true;
    });
    decoded.has_nul = check.has_nul;
    decoded.has_lone_surrogate = check.has_lone_surrogate;
    return decoded;
}

StringCheck inspect(Value string) {
    return walk_string(string, [](std::string_view) { return true; });
}

std::optional<int64_t> as_int64(Value value) {
    if (value.kind != Kind::kNumber) {
        return std::nullopt;
    }
    int64_t number = 0;
    const char* end = value.text.data() + value.text.size();
    auto [stop, error] = std::from_chars(value.text.data(), end, number);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return number;
}

std::optional<bool> as_bool(Value value) {
    if (value.kind != Kind::kBool) {
        return std::nullopt;
    }
    return value.text == "true";
}

size_t escaped_bound(std::string_view text) {
    size_t size = 2;
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20) {
            size += c == '"' || c == '\\' ? 2 : 1;
        } else {
            bool is_short = c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t';
            size += is_short ? 2 : 6;
        }
    }
    return size;
}

size_t escape(std::string_view text, char* out) {
    constexpr char kHex[] = "0123456789abcdef";
    char* at = out;
    *at++ = '"';
    const char* from = text.data();
    const char* end = from + text.size();
    while (from < end) {
        const char* stop = skip_plain(from, end);
        auto size = static_cast<size_t>(stop - from);
        std::memcpy(at, from, size);
        at += size;
        from = stop;
        if (from == end) {
            break;
        }
        char c = *from++;
        *at++ = '\\';
        switch (c) {
            case '"':
            case '\\':
                *at++ = c;
                break;
            case '\b':
                *at++ = 'b';
                break;
            case '\f':
                *at++ = 'f';
                break;
            case '\n':
                *at++ = 'n';
                break;
            case '\r':
                *at++ = 'r';
                break;
            case '\t':
                *at++ = 't';
                break;
            default:
                *at++ = 'u';
                *at++ = '0';
                *at++ = '0';
                *at++ = kHex[c >> 4 & 0xf];
                *at++ = kHex[c & 0xf];
        }
    }
    *at++ = '"';
    return static_cast<size_t>(at - out);
}

}  // namespace belay::core::json
