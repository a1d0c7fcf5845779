// The check of a text that may be no JSON, or none that jsonb can hold.
//
// Touches  the text
// Must not recurse, or use the heap: nesting costs a bit
#include "core/json_bytes.hpp"

namespace belay::core::json {
namespace {

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
        if (depth_ % 64 == 0) {
            word = 0;  // the words are not initialized: most texts need only the first
        }
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
        const char* first = at_;
        if (!read_string()) {
            return false;
        }
        const std::string_view raw_key(first, static_cast<size_t>(at_ - first));
        at_ = skip_blanks(at_, end_);
        if (at_ == end_ || *at_ != ':') {
            return fail("expected a colon");
        }
        at_ = skip_blanks(at_ + 1, end_);
        if (depth_ == 1) {
            judge_.member(raw_key, at_);
        }
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
    void member(std::string_view, const char*) {}
};

// What PostgreSQL's jsonb refuses beyond syntax.
struct JsonbJudge {
    // Values and keys that one array or object of jsonb surely holds while it is built in memory,
    // where its room doubles up to the largest allocation.
    static constexpr size_t kMaxValues = size_t{1} << 23;

    std::string_view wanted;  // the name of a member of the whole, or ""
    const char* found = nullptr;
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

    // Of duplicates the last counts.
    void member(std::string_view raw_key, const char* value) {
        if (!wanted.empty() && key_is(raw_key, wanted)) {
            found = value;
        }
    }

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

std::optional<JsonbText> parse_jsonb(std::string_view text, std::string_view member) {
    if (text.size() >= kMaxJsonbText) {
        return std::nullopt;
    }
    JsonbJudge judge;
    judge.wanted = member;
    Value value;
    if (!Scanner<JsonbJudge>(text, kMaxJsonbDepth, judge).run(&value)) {
        return std::nullopt;
    }
    JsonbText parsed{value, judge.bytes, std::nullopt};
    if (judge.found != nullptr) {
        std::string_view rest(judge.found,
                              static_cast<size_t>(text.data() + text.size() - judge.found));
        parsed.member = take_value(rest);
    }
    return parsed;
}

std::optional<size_t> jsonb_bound(std::string_view text) {
    const std::optional<JsonbText> parsed = parse_jsonb(text);
    return parsed ? std::optional(parsed->bound) : std::nullopt;
}

}  // namespace belay::core::json
