#include "core/json.hpp"

#include <bit>
#include <charconv>
#include <cstring>

namespace belay::core::json {
namespace {

constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr int hex_digit(char c) {
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The code unit of four hex digits, or -1.
constexpr int32_t code_unit(std::string_view digits) {
    if (digits.size() < 4) {
        return -1;
    }
    int32_t unit = 0;
    for (size_t i = 0; i < 4; ++i) {
        int digit = hex_digit(digits[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit << 4 | digit;
    }
    return unit;
}

constexpr bool is_high_surrogate(int32_t unit) {
    return unit >= 0xd800 && unit <= 0xdbff;
}
constexpr bool is_low_surrogate(int32_t unit) {
    return unit >= 0xdc00 && unit <= 0xdfff;
}

// The byte a one-letter escape stands for; NUL, which no such escape stands for, if there is none.
constexpr char simple_escape(char letter) {
    switch (letter) {
        case '"':
        case '\\':
        case '/':
            return letter;
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        default:
            return '\0';
    }
}

const char* skip_blanks(const char* at, const char* end) {
    while (at < end && is_blank(*at)) {
        ++at;
    }
    return at;
}

// The first byte that ends a plain run inside a string: a quote, a backslash or a control
// character. Payloads are mostly such runs, so eight bytes are looked at in one step: subtracting
// borrows into the top bit of exactly those bytes that are too small, and perhaps of bytes above
// one of them. The lowest is always right, and where it is the first in memory it is the answer.
const char* skip_plain(const char* at, const char* end) {
    constexpr uint64_t kOnes = 0x0101010101010101ULL;
    constexpr uint64_t kTops = 0x8080808080808080ULL;
    while (end - at >= 8) {
        uint64_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        uint64_t quotes = word ^ (kOnes * '"');
        uint64_t backslashes = word ^ (kOnes * '\\');
        uint64_t special = ((quotes - kOnes) & ~quotes) | ((backslashes - kOnes) & ~backslashes) |
                           ((word - kOnes * 0x20) & ~word);
        if ((special & kTops) != 0) {
            if constexpr (std::endian::native == std::endian::little) {
                return at + std::countr_zero(special & kTops) / 8;
            }
            break;
        }
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20) {
        ++at;
    }
    return at;
}

// The end of a string that is known to be valid and begins at `at`.
const char* skip_string(const char* at, const char* end) {
    ++at;
    while ((at = skip_plain(at, end)) < end && *at != '"') {
        at += *at == '\\' && end - at >= 2 ? 2 : 1;
    }
    return at < end ? at + 1 : end;
}

Kind kind_of(char first) {
    switch (first) {
        case '{':
            return Kind::kObject;
        case '[':
            return Kind::kArray;
        case '"':
            return Kind::kString;
        case 't':
        case 'f':
            return Kind::kBool;
        case 'n':
            return Kind::kNull;
        default:
            return Kind::kNumber;
    }
}

// Takes the value, known to be valid, that the text begins with.
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

// The full syntax check. Strings, numbers and brackets are shown to a judge, who may know more
// reasons to refuse them; its methods return a reason or null.
template <typename Judge>
class Scanner {
 public:
    Scanner(std::string_view text, size_t max_depth, Judge& judge)
        : begin_(text.data()),
          end_(text.data() + text.size()),
          at_(begin_),
          max_depth_(max_depth),
          judge_(judge) {}

    bool run(Value* value) {
        at_ = skip_blanks(at_, end_);
        const char* first = at_;
        const char* last = at_;
        do {
            if (!read_value()) {
                return false;
            }
            last = at_;
            at_ = skip_blanks(at_, end_);
            while (depth_ > 0 && at_ < end_ && *at_ == (in_object() ? '}' : ']')) {
                --depth_;
                last = ++at_;
                at_ = skip_blanks(at_, end_);
            }
            if (depth_ > 0 && !read_separator()) {
                return false;
            }
        } while (depth_ > 0);
        if (at_ < end_) {
            return fail("more text after the value");
        }
        *value = {kind_of(*first), std::string_view(first, static_cast<size_t>(last - first))};
        return true;
    }

    Fault fault() const { return {static_cast<size_t>(at_ - begin_), what_}; }

 private:
    bool fail(const char* what) {
        what_ = what;
        return false;
    }

    // A scalar, or the opening brackets down to the first scalar or empty container.
    bool read_value() {
        for (;;) {
            if (at_ == end_) {
                return fail("the text ends where a value should be");
            }
            switch (*at_) {
                case '{':
                case '[':
                    break;
                case '"':
                    return read_string();
                case 't':
                    return read_word("true");
                case 'f':
                    return read_word("false");
                case 'n':
                    return read_word("null");
                default:
                    return read_number();
            }
            bool is_object = *at_ == '{';
            if (!open(is_object)) {
                return false;
            }
            if (at_ < end_ && *at_ == (is_object ? '}' : ']')) {
                --depth_;
                ++at_;
                return true;
            }
            if (is_object && !read_key()) {
                return false;
            }
        }
    }

    bool open(bool is_object) {
        if (depth_ == max_depth_) {
            return fail("nested too deeply");
        }
        if (const char* what = judge_.container()) {
            return fail(what);
        }
        uint64_t bit = uint64_t{1} << (depth_ % 64);
        uint64_t& word = objects_[depth_ / 64];
        word = is_object ? word | bit : word & ~bit;
        ++depth_;
        at_ = skip_blanks(at_ + 1, end_);
        return true;
    }

    bool in_object() const {
        size_t top = depth_ - 1;
        return (objects_[top / 64] >> (top % 64) & 1) != 0;
    }

    bool read_separator() {
        if (at_ == end_) {
            return fail("the text ends inside an array or object");
        }
        if (*at_ != ',') {
            return fail(in_object() ? "expected a comma or }" : "expected a comma or ]");
        }
        at_ = skip_blanks(at_ + 1, end_);
        return !in_object() || read_key();
    }

    bool read_key() {
        if (at_ == end_ || *at_ != '"') {
            return fail("expected a key");
        }
        if (!read_string()) {
            return false;
        }
        at_ = skip_blanks(at_, end_);
        if (at_ == end_ || *at_ != ':') {
            return fail("expected a colon");
        }
        at_ = skip_blanks(at_ + 1, end_);
        return true;
    }

    bool read_string() {
        const char* first = at_++;
        bool has_escape = false;
        for (;;) {
            at_ = skip_plain(at_, end_);
            if (at_ == end_) {
                return fail("the text ends inside a string");
            }
            if (*at_ == '"') {
                ++at_;
                break;
            }
            if (*at_ != '\\') {
                return fail("a control character inside a string");
            }
            has_escape = true;
            if (end_ - at_ < 2) {
                return fail("the text ends inside a string");
            }
            if (at_[1] == 'u') {
                std::string_view digits(at_ + 2, static_cast<size_t>(end_ - at_ - 2));
                if (code_unit(digits) < 0) {
                    return fail("\\u without four hex digits");
                }
                at_ += 6;
            } else if (simple_escape(at_[1]) != '\0') {
                at_ += 2;
            } else {
                return fail("an unrecognized escape");
            }
        }
        const char* what = judge_.string(
            {Kind::kString, std::string_view(first, static_cast<size_t>(at_ - first))}, has_escape);
        return what == nullptr || fail(what);
    }

    bool read_word(std::string_view word) {
        if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) {
            return fail("expected a value");
        }
        if (const char* what = judge_.word()) {
            return fail(what);
        }
        at_ += word.size();
        return true;
    }

    size_t skip_digits() {
        const char* first = at_;
        while (at_ < end_ && is_digit(*at_)) {
            ++at_;
        }
        return static_cast<size_t>(at_ - first);
    }

    bool read_number() {
        const char* first = at_;
        if (*at_ == '-') {
            ++at_;
        } else if (!is_digit(*at_)) {
            return fail("expected a value");
        }
        const char* digits = at_;
        size_t size = skip_digits();
        if (size == 0 || (size > 1 && *digits == '0')) {
            return fail("a bad number");
        }
        if (at_ < end_ && *at_ == '.') {
            ++at_;
            if (skip_digits() == 0) {
                return fail("a bad number");
            }
        }
        if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
            ++at_;
            if (at_ < end_ && (*at_ == '+' || *at_ == '-')) {
                ++at_;
            }
            if (skip_digits() == 0) {
                return fail("a bad number");
            }
        }
        const char* what = judge_.number(std::string_view(first, static_cast<size_t>(at_ - first)));
        return what == nullptr || fail(what);
    }

    const char* begin_;
    const char* end_;
    const char* at_;
    size_t max_depth_;
    Judge& judge_;
    size_t depth_ = 0;
    const char* what_ = "";
    // One bit per open bracket: set for an object. Left raw, since only open levels are read.
    uint64_t objects_[kMaxDepth / 64];
};

struct SyntaxJudge {
    const char* container() { return nullptr; }
    const char* string(Value, bool) { return nullptr; }
    const char* number(std::string_view) { return nullptr; }
    const char* word() { return nullptr; }
};

// What PostgreSQL's jsonb refuses beyond syntax.
struct JsonbJudge {
    // Values and keys that one array or object of jsonb surely holds while it is built in memory,
    // where its room doubles up to the largest allocation.
    static constexpr size_t kMaxValues = size_t{1} << 23;

    size_t values = 0;
    size_t bytes = 0;  // Of the binary form, padding included, and of numbers as they are printed.

    const char* add(size_t size) {
        constexpr size_t kEntryAndPadding = 4 + 3;
        bytes += kEntryAndPadding + size;
        return ++values > kMaxValues || bytes > kMaxJsonbBytes ? "too large for jsonb" : nullptr;
    }

    const char* container() {
        constexpr size_t kHeader = 4;
        return add(kHeader);
    }

    const char* word() { return add(0); }

    const char* string(Value value, bool has_escape) {
        if (has_escape) {
            StringCheck check = inspect(value);
            if (check.has_nul) {
                return "an escaped NUL";
            }
            if (check.has_lone_surrogate) {
                return "a lone surrogate";
            }
        }
        return add(value.text.size());
    }

    // The limits of numeric: 131072 digits before the point, 16383 after it. Digits count by place,
    // not by spelling: an exponent moves the point. Zero has no first digit, so only its scale is
    // limited. The exponent itself has a limit, below which nothing else overflows.
    const char* number(std::string_view text) {
        constexpr int64_t kMaxPlace = 131071;
        constexpr int64_t kMaxScale = 16383;
        constexpr int64_t kExponentLimit = 0x7fffffff / 2;

        size_t mantissa_end = text.find_first_of("eE");
        std::string_view mantissa = text.substr(0, mantissa_end);
        int64_t exponent = 0;
        if (mantissa_end != std::string_view::npos) {
            std::string_view digits = text.substr(mantissa_end + 1);
            bool is_negative = digits.front() == '-';
            if (is_negative || digits.front() == '+') {
                digits.remove_prefix(1);
            }
            for (char digit : digits) {
                exponent = exponent * 10 + (digit - '0');
                if (exponent >= kExponentLimit) {
                    return "a number out of range";
                }
            }
            exponent = is_negative ? -exponent : exponent;
        }
        if (mantissa.front() == '-') {
            mantissa.remove_prefix(1);
        }
        size_t point = mantissa.find('.');
        size_t whole = point == std::string_view::npos ? mantissa.size() : point;
        auto scale = static_cast<int64_t>(mantissa.size() - whole);
        scale = (scale > 0 ? scale - 1 : 0) - exponent;
        size_t first = mantissa.find_first_not_of("0.");
        // Digits of the number as it is printed again: without an exponent.
        size_t printed = 0;
        if (first != std::string_view::npos) {
            // The power of ten of the first digit that is not zero.
            int64_t place = static_cast<int64_t>(whole) - static_cast<int64_t>(first);
            place = (place > 0 ? place - 1 : place) + exponent;
            if (place > kMaxPlace) {
                return "a number out of range";
            }
            printed = static_cast<size_t>(std::max<int64_t>(place, 0));
        }
        if (scale > kMaxScale) {
            return "a number out of range";
        }
        // Two bytes for four digits, the header, and a rounded group at either end.
        constexpr size_t kNumericOverhead = 8 + 2 + 2;
        printed += static_cast<size_t>(std::max<int64_t>(scale, 0));
        return add(kNumericOverhead + std::max(mantissa.size() / 2, printed));
    }
};

}  // namespace

std::optional<Value> parse(std::string_view text, Fault* fault) {
    SyntaxJudge judge;
    Scanner<SyntaxJudge> scanner(text, kMaxDepth, judge);
    Value value;
    if (scanner.run(&value)) {
        return value;
    }
    if (fault != nullptr) {
        *fault = scanner.fault();
    }
    return std::nullopt;
}

std::optional<size_t> jsonb_bound(std::string_view text) {
    if (text.size() >= kMaxJsonbText) {
        return std::nullopt;
    }
    JsonbJudge judge;
    Value value;
    if (!Scanner<JsonbJudge>(text, kMaxJsonbDepth, judge).run(&value)) {
        return std::nullopt;
    }
    return judge.bytes;
}

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
                std::memcpy(at, "u00", 3);
                at[3] = kHex[c >> 4 & 0xf];
                at[4] = kHex[c & 0xf];
                at += 5;
        }
    }
    *at++ = '"';
    return static_cast<size_t>(at - out);
}

}  // namespace belay::core::json
