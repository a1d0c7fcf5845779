#include "values.hpp"

#include <algorithm>

namespace belay::test::robust {
namespace {

constexpr const char* kIntegers[] = {"0",    "1",     "-1",         "2",           "3",
                                     "7",    "100",   "999",        "1000",        "1200",
                                     "2000", "10001", "2147483647", "-2147483648", "65536"};
constexpr const char* kBigIntegers[] = {
    "2147483648",          "4294967296",           "9007199254740993",     "9223372036854775807",
    "9223372036854775806", "-9223372036854775808", "-9223372036854775807", "9223372036854775",
    "253402300800000",     "8210298412800000",     "-211810204800000",     "1700000000000"};
constexpr const char* kNumbers[] = {"0",
                                    "-0",
                                    "-0.0",
                                    "1e400",
                                    "-1e400",
                                    "1e-400",
                                    "1.5",
                                    "1E+2",
                                    "0.1",
                                    "1e19",
                                    "18446744073709551616",
                                    "1e309",
                                    "5e-324",
                                    "123456789012345678901234567890",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "-1",
                                    "1000"};
constexpr const char* kBadNumbers[] = {"01",  "+1",       "1.",  ".5", "0x10",
                                       "NaN", "Infinity", "--1", "1e"};
constexpr const char* kStrings[] = {R"("")",
                                    R"("a")",
                                    R"("\u0000")",
                                    R"("\ud800")",
                                    R"("\udc00\ud800")",
                                    R"("\ud83d\ude00")",
                                    R"("\u0041\u0000")",
                                    R"("\\")",
                                    R"("\"")",
                                    R"("\/\b\f\n\r\t")",
                                    R"("\x")",
                                    R"("\u12")",
                                    "\"\t\"",
                                    "\"\xc3\xa9\"",
                                    "\"\xf0\x9f\x98\x80\"",
                                    R"("turn")",
                                    R"("ready")",
                                    R"("a")",
                                    R"("worker")",
                                    R"("all_of")",
                                    R"("Completed")",
                                    R"("00000000-0000-4000-8000-000000000001")",
                                    R"("retry")",
                                    R"("* * * * *")"};
constexpr const char* kLiterals[] = {"null", "true", "false", "nul",   "True",
                                     "[]",   "{}",   "[{}]",  "[null]"};
constexpr const char* kKeys[] = {"work_item",
                                 "instance",
                                 "execution_id",
                                 "id",
                                 "activity_id",
                                 "event_id",
                                 "event_data",
                                 "event_type",
                                 "tasks",
                                 "key",
                                 "after",
                                 "join",
                                 "kind",
                                 "task_id",
                                 "flow_id",
                                 "queue",
                                 "priority",
                                 "policy",
                                 "capabilities",
                                 "dedup_key",
                                 "deadline_ms",
                                 "delay_ms",
                                 "waitpoints",
                                 "condition",
                                 "single",
                                 "quorum",
                                 "all",
                                 "any",
                                 "lock_token",
                                 "completion_json",
                                 "status",
                                 "output",
                                 "type",
                                 "name",
                                 "value",
                                 "concurrency",
                                 "rate_per_s",
                                 "burst",
                                 "paused",
                                 "hub",
                                 "item",
                                 "ToHub",
                                 "ActivityExecute",
                                 "StartOrchestration",
                                 "TimerFired",
                                 "fire_at_ms",
                                 "session_id",
                                 "tag",
                                 "keep_last",
                                 "instance_ids",
                                 "state",
                                 "limit",
                                 "max_signals",
                                 "retries",
                                 "backoff",
                                 "",
                                 "\\u0000",
                                 "\\ud800",
                                 "a\\\"b"};
constexpr const char* kTimes[] = {"infinity",
                                  "-infinity",
                                  "epoch",
                                  "now",
                                  "4714-11-24 00:00:00+00 BC",
                                  "294276-12-31 23:59:59.999999+00",
                                  "1969-12-31",
                                  "2038-01-19",
                                  "9999-12-31 23:59:59+00"};
constexpr const char* kNumerics[] = {"NaN",
                                     "Infinity",
                                     "-Infinity",
                                     "0",
                                     "50",
                                     "100",
                                     "100.0001",
                                     "-1",
                                     "1e100",
                                     "-0",
                                     "0.00000000000000000001",
                                     "1e1000"};

constexpr const char* kIntervals[] = {"0",
                                      "1 s",
                                      "-1 s",
                                      "30 s",
                                      "25 h",
                                      "102 years",
                                      "1 month",
                                      "-1 month",
                                      "1 month -30 days",
                                      "0.0004 s",
                                      "178000000 years",
                                      "-178000000 years",
                                      "2147483647 days"};
// Elements of arrays that give the outcome of each of several leases: what ends it, and how it
// failed.
constexpr const char* kOutcomeWords[] = {"complete", "fail", "release", "delay",
                                         "suspend",  "ack",  "abandon"};
constexpr const char* kFailureClasses[] = {"transient", "permanent", "cancelled"};

bool looks_like_json(const std::string& text) {
    return !text.empty() && (text[0] == '{' || text[0] == '[');
}

// The quoted literals of an argument list.
void add_literals(const std::string& arguments, std::vector<std::string>* list) {
    for (std::size_t at = 0; (at = arguments.find('\'', at)) != std::string::npos;) {
        const auto end = arguments.find('\'', at + 1);
        if (end == std::string::npos) {
            return;
        }
        list->push_back(arguments.substr(at + 1, end - at - 1));
        at = end + 1;
    }
}

std::string quoted_element(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
        }
        quoted += c;
    }
    return quoted + "\"";
}

}  // namespace

const std::vector<std::string>& hostile_texts() {
    static const std::vector<std::string> texts = {
        "'; DROP TABLE f.tasks; --",
        "\"; DROP SCHEMA f CASCADE; --",
        "$1",
        "$$; SELECT pg_sleep(60); $$",
        "$belay$",
        "%s%s%s%n%n%d",
        "%1$s%99999$x",
        "\\",
        "\\'; SELECT 1; --",
        "E'\\x27'",
        "a\"b",
        "a''b",
        "{hub}",
        "{=}",
        "@hub@",
        "/*",
        "--",
        ";",
        "x\n\r\ty",
        "\x01\x02\x7f",
        "\xe2\x80\xae\xe2\x80\xab rtl",
        "\xef\xbb\xbf"
        "bom",
        "' || (SELECT string_agg(secret::text, '') FROM f.waitpoint_keys) || '",
        "') UNION SELECT 1; --",
        "belay_hub",
        "pg_catalog",
        "Select",
        "..",
        "../../etc/passwd",
        "NULL",
        "\xf0\x9f\x98\x80",
    };
    return texts;
}

Values::Values(std::uint64_t seed, const Words& words, const Words& others) : random_(seed) {
    for (const Words* known : {&words, &others}) {
        for (const auto& [name, value] : *known) {
            tokens_.push_back(value);
        }
    }
    for (const auto& call : writing_calls()) {
        add_literals(filled(call.arguments, "f", words), &samples_);
    }
    samples_.insert(samples_.end(), std::begin(kOutcomeWords), std::end(kOutcomeWords));
    samples_.insert(samples_.end(), std::begin(kFailureClasses), std::end(kFailureClasses));
    std::copy_if(samples_.begin(), samples_.end(), std::back_inserter(json_samples_),
                 looks_like_json);
}

void Values::begin_call() {
    length_ = once_in(2) ? std::optional(below(4)) : std::nullopt;
}

Value Values::of(const std::string& type) {
    if (once_in(12)) {
        return std::nullopt;
    }
    if (type.ends_with("[]")) {
        return array(type.substr(0, type.size() - 2));
    }
    if (type == "text" || type == "name" || type == "cstring") {
        return text();
    }
    if (type == "json" || type == "jsonb") {
        return once_in(4) ? json() : mutated_json(one_of(json_samples_));
    }
    if (type == "bigint") {
        return integer(once_in(3));
    }
    if (type == "integer") {
        return integer(false);
    }
    if (type == "smallint") {
        return std::to_string(static_cast<int>(below(65536)) - 32768);
    }
    if (type == "oid") {
        return std::to_string(below(once_in(2) ? 30000 : 4294967295u));
    }
    if (type == "boolean") {
        return once_in(2) ? "true" : "false";
    }
    if (type == "uuid") {
        return uuid();
    }
    if (type == "numeric") {
        return one_of(kNumerics);
    }
    if (type == "timestamp with time zone") {
        return time();
    }
    if (type == "interval") {
        return interval();
    }
    if (type == "bytea") {
        std::string hex = "\\x";
        for (std::size_t i = below(70); i > 0; --i) {
            hex += "0123456789abcdef"[below(16)];
            hex += "0123456789abcdef"[below(16)];
        }
        return hex;
    }
    if (type == "belay.hub_mark") {
        return mutated("1/1/1/1");
    }
    return text();
}

std::string Values::text() {
    switch (below(12)) {
        case 0:
            return "";
        case 1:
        case 2:
            return one_of(hostile_texts());
        case 3:
            return token();
        case 4:
            return mutated(one_of(samples_));
        case 5:
            return mutated_json(one_of(json_samples_));
        case 6:
            return json();
        case 7:
            return std::string(once_in(10) ? 1000000 : below(3000), once_in(2) ? 'x' : '\\');
        case 8:
            return uuid();
        case 9:
            return integer(true);
        default:
            return one_of(samples_);
    }
}

std::string Values::token() {
    std::string token = one_of(tokens_);
    switch (below(7)) {
        case 0:
            return token.substr(0, below(token.size() + 1));
        case 1:
            if (!token.empty()) {
                token[below(token.size())] ^= static_cast<char>(1u << below(6));
            }
            return token;
        case 2:
            return token + one_of(tokens_);
        case 3:
            return one_of(tokens_).substr(0, 8) +
                   token.substr(std::min<std::size_t>(8, token.size()));
        case 4:
            std::reverse(token.begin(), token.end());
            return token;
        default:
            return token;
    }
}

std::string Values::number() {
    return once_in(8) ? one_of(kBadNumbers) : once_in(2) ? one_of(kNumbers) : integer(true);
}

std::string Values::json(int depth) {
    switch (below(depth > 4 ? 4 : 8)) {
        case 0:
            return number();
        case 1:
            return one_of(kLiterals);
        case 2:
        case 3:
            return one_of(kStrings);
        case 4: {
            std::string text = "[";
            for (std::size_t i = below(5); i > 0; --i) {
                text += json(depth + 1) + (i > 1 ? "," : "");
            }
            return text + "]";
        }
        case 5:
        case 6: {
            std::string text = "{";
            for (std::size_t i = below(6); i > 0; --i) {
                text +=
                    '"' + std::string(one_of(kKeys)) + "\":" + json(depth + 1) + (i > 1 ? "," : "");
            }
            return text + "}";
        }
        default: {
            // Deep: beyond any recursion limit.
            const std::size_t levels = once_in(6) ? 200000 : below(400);
            const bool objects = once_in(2);
            std::string text;
            for (std::size_t i = 0; i < levels; ++i) {
                text += objects ? "{\"a\":" : "[";
            }
            text += "1";
            return text + std::string(levels, objects ? '}' : ']');
        }
    }
}

std::string Values::mutated_json(const std::string& sample) {
    std::string text = sample;
    for (std::size_t times = below(3) + 1; times > 0; --times) {
        // The places where a value begins.
        std::vector<std::size_t> places;
        bool in_string = false;
        for (std::size_t i = 0; i + 1 < text.size(); ++i) {
            if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) {
                in_string = !in_string;
            } else if (!in_string && (text[i] == ':' || text[i] == '[' || text[i] == ',')) {
                places.push_back(i + 1);
            }
        }
        if (places.empty()) {
            return text;
        }
        const std::size_t begin = one_of(places);
        std::size_t end = begin;
        int depth = 0;
        in_string = false;
        while (end < text.size()) {
            const char c = text[end];
            if (c == '"' && text[end - 1] != '\\') {
                in_string = !in_string;
            }
            if (!in_string) {
                depth += c == '{' || c == '[' ? 1 : 0;
                if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
                    break;
                }
                depth -= c == '}' || c == ']' ? 1 : 0;
            }
            ++end;
        }
        const std::string value = text.substr(begin, end - begin);
        switch (below(5)) {
            case 0:
                text.replace(begin, end - begin, "[" + value + "]");
                break;
            case 1:  // a key twice, or an element
                text.insert(begin, once_in(2) ? value + ","
                                              : value + ",\"" + std::string(one_of(kKeys)) + "\":");
                break;
            case 2:
                text.replace(begin, end - begin, mutated(value));
                break;
            default:
                text.replace(begin, end - begin, once_in(3) ? number() : json(2));
        }
    }
    return text;
}

std::string Values::mutated(std::string sample) {
    for (std::size_t times = below(3) + 1; times > 0; --times) {
        const std::size_t at = below(sample.size() + 1);
        switch (below(5)) {
            case 0:
                sample.resize(at);
                break;
            case 1:
                sample.insert(at, 1, static_cast<char>(1 + below(127)));
                break;
            case 2:
                sample.insert(at, 1, static_cast<char>(128 + below(128)));  // not UTF-8
                break;
            case 3:
                sample.insert(at, sample.substr(below(sample.size() + 1)));
                break;
            default:
                if (at < sample.size()) {
                    sample[at] = static_cast<char>(1 + below(127));
                }
        }
        if (sample.size() > 100000) {
            sample.resize(1000);
        }
    }
    return sample;
}

std::string Values::integer(bool big) {
    if (once_in(4)) {
        return std::to_string(below(3000));
    }
    return big ? one_of(kBigIntegers) : one_of(kIntegers);
}

std::string Values::uuid() {
    static const char* const known[] = {"01", "02", "03", "05", "08", "09", "0a", "11",
                                        "12", "31", "32", "41", "51", "55", "61", "62",
                                        "91", "f1", "f2", "f3", "f4", "f5", "f6"};
    if (once_in(8)) {
        return once_in(2) ? "00000000-0000-0000-0000-000000000000"
                          : "ffffffff-ffff-ffff-ffff-ffffffffffff";
    }
    return id_of(one_of(known));
}

std::string Values::time() {
    return one_of(kTimes);
}

std::string Values::interval() {
    return one_of(kIntervals);
}

// Calls that settle several leases take arrays whose elements fit each other, at the same place:
// with elements of one kind in most arrays they come to look at the leases.
Value Values::like_others(const std::string& type, std::size_t kind) {
    if (type == "text") {
        switch (kind) {
            case 0:
            case 1:
                return one_of(kOutcomeWords);
            case 2:
                return one_of(kFailureClasses);
            case 3:
                return one_of(tokens_);
            default:
                return of(type);
        }
    }
    if (type == "bigint" && kind < 3) {
        return "1";  // the epoch of a first lease
    }
    if (type == "jsonb" && kind < 3) {
        return one_of(json_samples_);
    }
    return of(type);
}

std::string Values::array(const std::string& element) {
    if (once_in(10)) {
        return once_in(2) ? "{}" : "{{}}";
    }
    const std::size_t count = length_ ? *length_ : once_in(20) ? 2000 : below(5);
    const std::size_t kind = below(6);
    const auto list = [&] {
        std::string text = "{";
        for (std::size_t i = count; i > 0; --i) {
            const Value value = once_in(12) ? of(element) : like_others(element, kind);
            text += (value ? quoted_element(*value) : "NULL") + std::string(i > 1 ? "," : "");
            if (text.size() > 1000000) {
                break;
            }
        }
        if (text.back() == ',') {
            text.pop_back();
        }
        return text + "}";
    };
    switch (below(8)) {
        case 0: {
            const std::string part = list();
            return "{" + part + "," + part + "}";
        }
        case 1: {  // a lower bound other than 1
            const std::string text = list();
            return text == "{}" || text.size() > 1000000
                       ? text
                       : "[-1:" + std::to_string(static_cast<int>(count) - 2) + "]=" + text;
        }
        default:
            return list();
    }
}

}  // namespace belay::test::robust
