// JSON as text: escapes, a writer of objects, and a reader of one object's fields that builds no
// document.
//
// May touch: nothing outside. Must not: know which fields an event or message has; event.cpp and
// message.cpp do.
#include "json_text.hpp"

#include <array>
#include <charconv>

namespace belay::engine {
namespace {

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::size_t after_space(std::string_view text, std::size_t at) {
    while (at < text.size() && is_space(text[at])) {
        ++at;
    }
    return at;
}

// Where the string that begins at `at` ends, behind its quote.
std::size_t after_string(std::string_view text, std::size_t at) {
    for (++at; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '"') {
            return at + 1;
        }
    }
    throw Corrupt("a JSON string does not end");
}

// Where the value that begins at `at` ends.
std::size_t after_value(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == '"') {
            at = after_string(text, at);
        } else if (c == '{' || c == '[') {
            ++depth;
            ++at;
        } else if (c == '}' || c == ']') {
            if (depth == 0) {
                return at;
            }
            --depth;
            ++at;
        } else if (depth > 0) {
            ++at;
            continue;
        } else {
            while (at < text.size() && text[at] != ',' && text[at] != '}' && text[at] != ']' &&
                   !is_space(text[at])) {
                ++at;
            }
            return at;
        }
        if (depth == 0) {
            return at;
        }
    }
    throw Corrupt("a JSON value does not end");
}

void append_code_point(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

std::uint32_t four_digits(std::string_view text, std::size_t at) {
    std::uint32_t code = 0;
    if (at + 4 > text.size()) {
        throw Corrupt("an escape of a JSON string is cut off");
    }
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, code, 16);
    if (error != std::errc() || end != text.data() + at + 4) {
        throw Corrupt("an escape of a JSON string has no four digits");
    }
    return code;
}

// Appends the character of the escape whose 'u' is at `at`; returns where its last digit is.
std::size_t append_unicode(std::string& out, std::string_view text, std::size_t at) {
    std::uint32_t code = four_digits(text, at + 1);
    at += 4;
    if (code >= 0xd800 && code < 0xdc00 && text.substr(at + 1, 2) == "\\u") {
        const std::uint32_t low = four_digits(text, at + 3);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        }
    }
    append_code_point(out, code);
    return at;
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    out += '"';
    std::size_t copied = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        out.append(text, copied, i - copied);
        copied = i + 1;
        out += '\\';
        switch (c) {
            case '"':
            case '\\':
                out += static_cast<char>(c);
                break;
            case '\n':
                out += 'n';
                break;
            case '\r':
                out += 'r';
                break;
            case '\t':
                out += 't';
                break;
            case '\b':
                out += 'b';
                break;
            case '\f':
                out += 'f';
                break;
            default:
                out += "u00";
                out += kDigits[c >> 4];
                out += kDigits[c & 15];
        }
    }
    out.append(text, copied, text.size() - copied);
    out += '"';
}

// ---- ObjectWriter. ----

void ObjectWriter::key(std::string_view key) {
    if (text_.size() > 1) {
        text_ += ',';
    }
    text_ += '"';
    text_ += key;
    text_ += "\":";
}

ObjectWriter& ObjectWriter::string(std::string_view name, std::string_view value) {
    key(name);
    append_string(text_, value);
    return *this;
}

ObjectWriter& ObjectWriter::number(std::string_view name, std::int64_t value) {
    key(name);
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
    return *this;
}

ObjectWriter& ObjectWriter::raw(std::string_view name, std::string_view json) {
    key(name);
    text_ += json;
    return *this;
}

ObjectWriter& ObjectWriter::string_or_null(std::string_view name,
                                           const std::optional<std::string>& value) {
    return value ? string(name, *value) : raw(name, "null");
}

ObjectWriter& ObjectWriter::number_or_null(std::string_view name, std::int64_t value) {
    return value != 0 ? number(name, value) : raw(name, "null");
}

std::string ObjectWriter::take() {
    text_ += '}';
    return std::move(text_);
}

// ---- ObjectReader. ----

ObjectReader::ObjectReader(std::string_view object) : text_(object) {
    skip_space();
    expect('{');
}

void ObjectReader::skip_space() {
    at_ = after_space(text_, at_);
}

void ObjectReader::expect(char c) {
    if (at_ >= text_.size() || text_[at_] != c) {
        throw Corrupt("not a JSON object: " + std::string(text_.substr(0, 80)));
    }
    ++at_;
}

bool ObjectReader::next() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '}') {
        return false;
    }
    if (!first_) {
        expect(',');
        skip_space();
    }
    first_ = false;
    if (at_ >= text_.size() || text_[at_] != '"') {
        expect('"');
    }
    const std::size_t key_end = after_string(text_, at_);
    key_ = text_.substr(at_ + 1, key_end - at_ - 2);
    if (key_.find('\\') != std::string_view::npos) {
        key_buffer_ = decode_json_string(text_.substr(at_, key_end - at_));
        key_ = key_buffer_;
    }
    at_ = key_end;
    skip_space();
    expect(':');
    skip_space();
    const std::size_t end = after_value(text_, at_);
    raw_ = text_.substr(at_, end - at_);
    if (raw_.empty()) {
        throw Corrupt("a field without a value: " + std::string(text_.substr(0, 80)));
    }
    at_ = end;
    return true;
}

std::string ObjectReader::string() const {
    if (!is_string()) {
        throw Corrupt("field \"" + std::string(key_) + "\" is no string");
    }
    return decode_json_string(raw_);
}

std::int64_t ObjectReader::number() const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(raw_.data(), raw_.data() + raw_.size(), value);
    if (error != std::errc() || end != raw_.data() + raw_.size()) {
        throw Corrupt("field \"" + std::string(key_) + "\" is no whole number");
    }
    return value;
}

std::vector<std::string_view> array_elements(std::string_view array) {
    std::size_t at = after_space(array, 0);
    if (at >= array.size() || array[at] != '[') {
        throw Corrupt("not a JSON array: " + std::string(array.substr(0, 80)));
    }
    std::vector<std::string_view> elements;
    at = after_space(array, at + 1);
    while (at < array.size() && array[at] != ']') {
        const std::size_t end = after_value(array, at);
        if (end == at) {
            break;
        }
        elements.push_back(array.substr(at, end - at));
        at = after_space(array, end);
        if (at < array.size() && array[at] == ',') {
            at = after_space(array, at + 1);
        } else {
            break;
        }
    }
    if (at >= array.size() || array[at] != ']') {
        throw Corrupt("a JSON array does not end");
    }
    return elements;
}

std::string decode_json_string(std::string_view quoted) {
    if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') {
        throw Corrupt("not a JSON string: " + std::string(quoted.substr(0, 80)));
    }
    const std::string_view text = quoted.substr(1, quoted.size() - 2);
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t escape = text.find('\\', i);
        out.append(text, i, escape == std::string_view::npos ? escape : escape - i);
        if (escape == std::string_view::npos) {
            break;
        }
        i = escape + 1;
        const char c = i < text.size() ? text[i] : '\0';
        constexpr std::string_view kEscapes = "\"\\/bfnrt";
        constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
        if (const auto found = kEscapes.find(c); found != std::string_view::npos) {
            out += kCharacters[found];
        } else if (c == 'u') {
            i = append_unicode(out, text, i);
        } else {
            throw Corrupt("a JSON string has a wrong escape");
        }
    }
    return out;
}

}  // namespace belay::engine
