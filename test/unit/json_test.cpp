// What fits_jsonb and parse accept was compared with the casts to jsonb and json of a real server,
// on generated texts (JS-1, JS-2). The boundaries found that way are pinned here.
#include "core/json.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "seeded.hpp"

namespace belay::core::json {
namespace {

std::string repeat(std::string_view part, size_t times) {
    std::string text;
    text.reserve(part.size() * times);
    for (size_t i = 0; i < times; ++i) {
        text += part;
    }
    return text;
}

Value value_of(std::string_view text) {
    std::optional<Value> value = parse(text);
    EXPECT_TRUE(value) << text;
    return value.value_or(Value{});
}

std::string decoded(Value value) {
    std::string text(decoded_bound(value), '#');
    Decoded result = decode(value, text.data());
    EXPECT_LE(result.size, text.size());
    text.resize(result.size);
    return text;
}

TEST(JsonParse, ScalarsAndKinds) {
    struct {
        std::string_view text;
        Kind kind;
    } cases[] = {
        {"null", Kind::kNull},        {"true", Kind::kBool},       {"false", Kind::kBool},
        {"0", Kind::kNumber},         {"-0", Kind::kNumber},       {"12.50e+3", Kind::kNumber},
        {"1E-9", Kind::kNumber},      {"0.0", Kind::kNumber},      {"\"\"", Kind::kString},
        {"\"a b\"", Kind::kString},   {"[]", Kind::kArray},        {"{}", Kind::kObject},
        {"[ ]", Kind::kArray},        {"{ }", Kind::kObject},      {"[[],{}]", Kind::kArray},
        {"{\"\":{}}", Kind::kObject}, {"\"\x7f\"", Kind::kString}, {"\"\xc3\xa9\"", Kind::kString},
    };
    for (const auto& each : cases) {
        std::string padded = " \t\r\n" + std::string(each.text) + "\n\t ";
        Value value = value_of(padded);
        EXPECT_EQ(value.kind, each.kind) << each.text;
        EXPECT_EQ(value.text, each.text);
    }
}

TEST(JsonParse, Refused) {
    for (std::string_view text : {"",
                                  " ",
                                  "nul",
                                  "True",
                                  "truee",
                                  "true false",
                                  "1 2",
                                  "01",
                                  "-",
                                  "-01",
                                  "+1",
                                  ".5",
                                  "1.",
                                  "1.e3",
                                  "1e",
                                  "1e+",
                                  "1.5.5",
                                  "0x1",
                                  "NaN",
                                  "Infinity",
                                  "\"",
                                  "\"\\\"",
                                  "\"\\",
                                  "\"\\x\"",
                                  "\"\\u\"",
                                  "\"\\u12\"",
                                  "\"\\u12g4\"",
                                  "\"\\U0041\"",
                                  "\"\t\"",
                                  "\"\n\"",
                                  "\"\x1f\"",
                                  "'a'",
                                  "[",
                                  "]",
                                  "[1",
                                  "[1,",
                                  "[1,]",
                                  "[,]",
                                  "[1 2]",
                                  "[1}",
                                  "{",
                                  "}",
                                  "{,}",
                                  "{\"a\"",
                                  "{\"a\":",
                                  "{\"a\":}",
                                  "{\"a\":1",
                                  "{\"a\":1,",
                                  "{\"a\":1,}",
                                  "{a:1}",
                                  "{1:1}",
                                  "{\"a\"1}",
                                  "{\"a\":1]",
                                  "[]]",
                                  "{}}",
                                  "\f1",
                                  "1\v",
                                  "//c\n1",
                                  "\xc2\xa0"
                                  "1",
                                  "\xef\xbb\xbf"
                                  "1",
                                  "{\"a\":1 \"b\":2}",
                                  "[\"a]"}) {
        EXPECT_FALSE(parse(text)) << text;
        EXPECT_FALSE(fits_jsonb(text)) << text;
    }
    EXPECT_FALSE(parse(std::string_view("\0", 1)));
    EXPECT_FALSE(parse(std::string_view("1\0", 2)));
    EXPECT_FALSE(parse(std::string_view("\"\0\"", 3)));
    EXPECT_FALSE(parse({}));
}

TEST(JsonParse, FaultTellsWhere) {
    Fault fault;
    EXPECT_FALSE(parse("{\"a\": tru}", &fault));
    EXPECT_EQ(fault.offset, 6u);
    EXPECT_STREQ(fault.what, "expected a value");
    EXPECT_FALSE(parse("[1] x", &fault));
    EXPECT_EQ(fault.offset, 4u);
    EXPECT_STREQ(fault.what, "more text after the value");
    EXPECT_FALSE(parse("\"ab\\q\"", &fault));
    EXPECT_EQ(fault.offset, 3u);
    EXPECT_STREQ(fault.what, "an unrecognized escape");
    EXPECT_FALSE(parse("", &fault));
    EXPECT_EQ(fault.offset, 0u);
}

TEST(JsonParse, Depth) {
    for (auto [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
        std::string inner = *open == '[' ? "" : "1";
        std::string deepest = repeat(open, kMaxDepth) + inner + repeat(close, kMaxDepth);
        std::string deeper = repeat(open, kMaxDepth + 1) + inner + repeat(close, kMaxDepth + 1);
        EXPECT_TRUE(parse(deepest));
        Fault fault;
        EXPECT_FALSE(parse(deeper, &fault));
        EXPECT_STREQ(fault.what, "nested too deeply");
        // The wrong bracket is seen at every depth.
        std::string crossed = deepest;
        crossed[crossed.size() - 1000] = *close == ']' ? '}' : ']';
        EXPECT_FALSE(parse(crossed));
    }
    // Levels of both kinds, in an order no single bit pattern gives right by chance.
    std::string mixed;
    std::string ends;
    for (int i = 0; i < 300; ++i) {
        bool is_object = (i * i + i / 3) % 3 == 0;
        mixed += is_object ? "{\"k\":" : "[0,";
        ends.insert(0, is_object ? "}" : "]");
    }
    EXPECT_TRUE(parse(mixed + "null" + ends));
    EXPECT_TRUE(parse(repeat("[", 6000) + repeat("]", 6000)));
    // Depth counts levels that are open, not brackets.
    EXPECT_TRUE(parse("[" + repeat("[],", kMaxDepth * 2) + "1]"));
}

TEST(JsonParse, EscapesThatOtherTypesCannotHoldPass) {
    for (std::string_view text :
         {R"("\u0000")", R"("\ud800")", R"("\udc00x")", R"({"\u0000":1})"}) {
        EXPECT_TRUE(parse(text)) << text;
        EXPECT_FALSE(fits_jsonb(text)) << text;
    }
}

// Every prefix of a valid text is refused, and read without looking past its end.
TEST(JsonParse, Prefixes) {
    std::string_view text =
        R"({"a":[1.5e-3,"x\u00e9\n",true,null,{}],"b":{"c":[[],"\ud83d\ude00"]}})";
    ASSERT_TRUE(parse(text));
    for (size_t size = 0; size < text.size(); ++size) {
        std::vector<char> exact(text.begin(), text.begin() + static_cast<ptrdiff_t>(size));
        EXPECT_FALSE(parse({exact.data(), exact.size()})) << size;
        EXPECT_FALSE(fits_jsonb({exact.data(), exact.size()})) << size;
    }
}

TEST(JsonParse, RandomTextDoesNoHarm) {
    BELAY_SEEDED(random);
    constexpr std::string_view kParts[] = {
        "{",     "}",  "[",    "]",        ",",        ":",     "\"",     "\\", "\\u",
        "d8",    "00", "1",    "-",        "e",        ".",     "true",   " ",  "null",
        "\"k\"", "0",  "\x01", "\xc3\xa9", "abcdefgh", "\"v\"", "\"k\":", "1,"};
    int valid = 0;
    for (int i = 0; i < 200000; ++i) {
        std::string text;
        for (uint64_t size = random() % 10; size > 0; --size) {
            text += kParts[random() % std::size(kParts)];
        }
        std::vector<char> exact(text.begin(), text.end());
        std::string_view view(exact.data(), exact.size());
        std::optional<Value> value = parse(view);
        if (fits_jsonb(view)) {
            ASSERT_TRUE(value) << text;
        }
        if (value) {
            ++valid;
            count(*value);
            inspect(*value);
            find(*value, "k");
            as_int64(*value);
        }
    }
    EXPECT_GT(valid, 1000);
}

TEST(JsonWalk, Members) {
    Value object =
        value_of(R"( { "a" : 1 , "b":"}\"," ,"c":[1,{"x":"]"}],"d":{"e":{}} ,"a":null } )");
    Members members(object);
    std::string_view key;
    Value value;
    std::string seen;
    while (members.next(key, value)) {
        seen += std::string(key) + "=" + std::string(value.text) + ";";
    }
    EXPECT_EQ(seen, R"("a"=1;"b"="}\",";"c"=[1,{"x":"]"}];"d"={"e":{}};"a"=null;)");
    EXPECT_FALSE(members.next(key, value));
    EXPECT_EQ(count(object), 5u);
}

TEST(JsonWalk, Elements) {
    Value array = value_of("[ 1 ,\"a,b\", [2,[3]] ,{\"k\":[]},true,\n-1.5e3\t]");
    Elements elements(array);
    Value value;
    std::string seen;
    while (elements.next(value)) {
        seen += std::string(value.text) + ";";
    }
    EXPECT_EQ(seen, "1;\"a,b\";[2,[3]];{\"k\":[]};true;-1.5e3;");
    EXPECT_FALSE(elements.next(value));
    EXPECT_EQ(count(array), 6u);
}

TEST(JsonWalk, EmptyAndOtherKinds) {
    for (std::string_view text : {"[]", "{}", "[ ]", "{\n}", "1", "\"[1]\"", "null", "true"}) {
        Value value = value_of(text);
        std::string_view key;
        Value child;
        EXPECT_EQ(count(value), 0u) << text;
        EXPECT_FALSE(Members(value).next(key, child));
        EXPECT_FALSE(Elements(value).next(child));
    }
    std::string_view key;
    Value child;
    EXPECT_FALSE(Members(value_of("[1]")).next(key, child));
    EXPECT_FALSE(Elements(value_of("{\"a\":1}")).next(child));
    EXPECT_FALSE(find(value_of("[1]"), "a"));
}

TEST(JsonWalk, FindTakesTheLastDuplicate) {
    Value object = value_of(R"({"a":1,"b":2,"\u0061":3,"":4,"x":{"c":5}})");
    EXPECT_EQ(find(object, "a")->text, "3");
    EXPECT_EQ(find(object, "b")->text, "2");
    EXPECT_EQ(find(object, "")->text, "4");
    EXPECT_FALSE(find(object, "c"));
    EXPECT_FALSE(find(object, "A"));
}

TEST(JsonWalk, KeyIs) {
    EXPECT_TRUE(key_is(R"("instance")", "instance"));
    EXPECT_FALSE(key_is(R"("instance")", "instanc"));
    EXPECT_FALSE(key_is(R"("instance")", "instances"));
    EXPECT_TRUE(key_is(R"("inst\u0061nce")", "instance"));
    EXPECT_TRUE(key_is(R"("a\"b\\c\/d")", "a\"b\\c/d"));
    EXPECT_TRUE(key_is(R"("\ud83d\ude00")", "\xf0\x9f\x98\x80"));
    EXPECT_FALSE(key_is(R"("\ud83d")", "\xef\xbf\xbd"));
    EXPECT_TRUE(key_is(R"("\u0000")", std::string_view("\0", 1)));
    EXPECT_TRUE(key_is(R"("")", ""));
    EXPECT_FALSE(key_is(R"("")", "a"));
}

TEST(JsonString, Decode) {
    EXPECT_EQ(decoded(value_of(R"("")")), "");
    EXPECT_EQ(decoded(value_of(R"("plain")")), "plain");
    EXPECT_EQ(decoded(value_of(R"("\"\\\/\b\f\n\r\t")")), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(decoded(value_of(R"("\u0041\u007f\u0080\u07ff\u0800\uffff")")),
              "A\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf");
    EXPECT_EQ(decoded(value_of(R"("\ud800\udc00\uDBFF\uDFFF")")),
              "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
    EXPECT_EQ(decoded(value_of("\"\xf0\x9f\x98\x80\\u00e9\"")), "\xf0\x9f\x98\x80\xc3\xa9");
    EXPECT_EQ(decoded(value_of("12")), "");
    EXPECT_EQ(decoded_bound(value_of("12")), 0u);
}

TEST(JsonString, NulAndLoneSurrogates) {
    struct {
        std::string_view text;
        std::string_view result;
        bool has_nul;
        bool has_lone_surrogate;
    } cases[] = {
        {R"("a\u0000b")", std::string_view("a\0b", 3), true, false},
        {R"("\\u0000")", "\\u0000", false, false},
        {R"("\ud83d")", "\xef\xbf\xbd", false, true},
        {R"("\ude00")", "\xef\xbf\xbd", false, true},
        {R"("\ud83dx")", "\xef\xbf\xbdx", false, true},
        {R"("\ud83d\n")", "\xef\xbf\xbd\n", false, true},
        {R"("\ud83d\u0041")",
         "\xef\xbf\xbd"
         "A",
         false, true},
        {R"("\ude00\ud83d")", "\xef\xbf\xbd\xef\xbf\xbd", false, true},
        {R"("\ud83d\ud83d\ude00")", "\xef\xbf\xbd\xf0\x9f\x98\x80", false, true},
        {R"("\ud83d\ude00\ude00")", "\xf0\x9f\x98\x80\xef\xbf\xbd", false, true},
        {R"("\ud83d\u0000")", std::string_view("\xef\xbf\xbd\0", 4), true, true},
        {R"("\ud83d\ude00")", "\xf0\x9f\x98\x80", false, false},
    };
    for (const auto& each : cases) {
        Value value = value_of(each.text);
        EXPECT_EQ(decoded(value), each.result) << each.text;
        StringCheck check = inspect(value);
        EXPECT_EQ(check.has_nul, each.has_nul) << each.text;
        EXPECT_EQ(check.has_lone_surrogate, each.has_lone_surrogate) << each.text;
        EXPECT_EQ(fits_jsonb(each.text), !each.has_nul && !each.has_lone_surrogate) << each.text;
    }
}

TEST(JsonString, EscapeWritesWhatDecodeReads) {
    BELAY_SEEDED(random);
    constexpr std::string_view kParts[] = {"a",
                                           "\"",
                                           "\\",
                                           "/",
                                           "\n",
                                           "\t",
                                           "\x01",
                                           "\x1f",
                                           "\x7f",
                                           "\xc3\xa9",
                                           "\xf0\x9f\x98\x80",
                                           "abcdefghijkl",
                                           "\b",
                                           "\f",
                                           "\r",
                                           std::string_view("\0", 1)};
    for (int i = 0; i < 50000; ++i) {
        std::string text;
        for (uint64_t size = random() % 20; size > 0; --size) {
            text += kParts[random() % std::size(kParts)];
        }
        std::vector<char> literal(escaped_bound(text));
        ASSERT_EQ(escape(text, literal.data()), literal.size());
        std::string_view view(literal.data(), literal.size());
        std::optional<Value> value = parse(view);
        ASSERT_TRUE(value) << view;
        ASSERT_EQ(value->text, view);
        ASSERT_EQ(decoded(*value), text);
        ASSERT_TRUE(key_is(view, text));
    }
}

TEST(JsonString, EscapeForms) {
    std::string_view text("\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa9\0", 14);
    std::string literal(escaped_bound(text), '#');
    escape(text, literal.data());
    EXPECT_EQ(literal, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa9\\u0000\"");
    EXPECT_EQ(escaped_bound(""), 2u);
}

// A special character at every place of a run longer than the scanner's step.
TEST(JsonString, RunsOfEveryLength) {
    for (size_t before = 0; before < 20; ++before) {
        for (size_t after = 0; after < 20; ++after) {
            for (int byte = 1; byte < 128; ++byte) {
                auto c = static_cast<char>(byte);
                std::string inner = std::string(before, 'x') + c + std::string(after, '\xc3');
                bool is_plain = byte >= 0x20 && c != '"' && c != '\\';
                ASSERT_EQ(parse("\"" + inner + "\"").has_value(), is_plain)
                    << before << ' ' << after << ' ' << byte;
            }
        }
    }
}

TEST(JsonNumber, AsInt64) {
    EXPECT_EQ(as_int64(value_of("0")), 0);
    EXPECT_EQ(as_int64(value_of("-0")), 0);
    EXPECT_EQ(as_int64(value_of("-17")), -17);
    EXPECT_EQ(as_int64(value_of("9223372036854775807")), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(as_int64(value_of("-9223372036854775808")), std::numeric_limits<int64_t>::min());
    for (std::string_view text : {"9223372036854775808", "-9223372036854775809", "1.0", "1e3",
                                  "1E0", "\"1\"", "null", "true", "[1]"}) {
        EXPECT_FALSE(as_int64(value_of(text))) << text;
    }
}

TEST(JsonNumber, AsBool) {
    EXPECT_EQ(as_bool(value_of("true")), true);
    EXPECT_EQ(as_bool(value_of("false")), false);
    EXPECT_FALSE(as_bool(value_of("1")).has_value());
    EXPECT_FALSE(as_bool(value_of("\"true\"")).has_value());
}

TEST(JsonbFit, NumbersThatFit) {
    std::string zeros16383(16383, '0');
    for (const std::string& text : {
             std::string("1e131071"),
             std::string("-9.99e131071"),
             std::string("10e131070"),
             std::string("0.1e131072"),
             std::string("0.001e131074"),
             std::string("1e-16383"),
             std::string("0e-16383"),
             std::string("1.5e-16382"),
             std::string("100e-16383"),
             std::string("0e1073741822"),
             std::string("-0e+1073741822"),
             std::string("0.0e131080"),
             std::string("0.000e999999"),
             std::string("1E00000000000000131071"),
             "0." + zeros16383,
             "1." + zeros16383,
             "0." + zeros16383 + "1e1",
             "1" + std::string(131071, '0'),
             "1" + std::string(131072, '0') + "e-1",
             "9" + std::string(131071, '9') + "." + std::string(16383, '9'),
         }) {
        EXPECT_TRUE(fits_jsonb(text)) << text.substr(0, 40);
        EXPECT_TRUE(fits_jsonb("[" + text + "]"));
    }
}

TEST(JsonbFit, NumbersOutOfRange) {
    std::string zeros16384(16384, '0');
    for (const std::string& text : {
             std::string("1e131072"),
             std::string("-1e131072"),
             std::string("10e131071"),
             std::string("0.1e131073"),
             std::string("0.001e131075"),
             std::string("1e-16384"),
             std::string("0e-16384"),
             std::string("1.0e-16383"),
             std::string("100e-16384"),
             std::string("0e1073741823"),
             std::string("0e-1073741823"),
             std::string("0e99999999999999999999999999"),
             std::string("1e99999999999999999999999999"),
             std::string("1e-99999999999999999999999999"),
             "0." + zeros16384,
             "1." + zeros16384,
             "1" + std::string(131072, '0'),
             "1" + std::string(131072, '0') + "e0",
         }) {
        EXPECT_TRUE(parse(text)) << text.substr(0, 40);
        EXPECT_FALSE(fits_jsonb(text)) << text.substr(0, 40);
        EXPECT_FALSE(fits_jsonb("{\"a\":[" + text + "]}"));
    }
}

TEST(JsonbFit, Depth) {
    EXPECT_TRUE(fits_jsonb(repeat("[", kMaxJsonbDepth) + repeat("]", kMaxJsonbDepth)));
    EXPECT_FALSE(fits_jsonb(repeat("[", kMaxJsonbDepth + 1) + repeat("]", kMaxJsonbDepth + 1)));
    EXPECT_TRUE(fits_jsonb(repeat("{\"a\":", kMaxJsonbDepth) + "1" + repeat("}", kMaxJsonbDepth)));
}

// The server builds an array of 2^24 elements but not one more, an object of 2^23 pairs but not one
// more, though the text is far below 256 MB. What we hand it stays below both.
TEST(JsonbFit, Size) {
    constexpr size_t kMaxValues = size_t{1} << 23;
    EXPECT_TRUE(fits_jsonb("[" + repeat("1,", kMaxValues - 2) + "1]"));
    EXPECT_FALSE(fits_jsonb("[" + repeat("1,", kMaxValues - 1) + "1]"));
    EXPECT_TRUE(fits_jsonb("\"" + std::string(200 << 20, 'x') + "\""));
    EXPECT_FALSE(fits_jsonb("\"" + std::string(256 << 20, 'x') + "\""));
    EXPECT_FALSE(fits_jsonb("1" + std::string(256 << 20, ' ')));
    // Many small objects: more bytes as jsonb than as text.
    EXPECT_FALSE(fits_jsonb("[" + repeat("[0,0,0],", 3000000) + "0]"));
}

// One walk over a text checks it and finds a member of the whole, as find does.
TEST(JsonbFit, Member) {
    const auto member = [](std::string_view text) -> std::optional<std::string_view> {
        const auto parsed = parse_jsonb(text, "type");
        EXPECT_TRUE(parsed) << text;
        return parsed && parsed->member ? std::optional(parsed->member->text) : std::nullopt;
    };
    EXPECT_EQ(member(R"({"id":1,"type":"A"})"), R"("A")");
    EXPECT_EQ(member(R"( { "type" : {"type":[1,2]} , "id" : 1 } )"), R"({"type":[1,2]})");
    EXPECT_EQ(member(R"({"type":"A","type":12})"), "12");
    EXPECT_EQ(member(R"({"t\u0079pe":null})"), "null");
    EXPECT_EQ(member(R"({"id":{"type":"A"},"types":"B"})"), std::nullopt);
    EXPECT_EQ(member(R"([{"type":"A"}])"), std::nullopt);
    EXPECT_EQ(member(R"("type")"), std::nullopt);
    EXPECT_FALSE(parse_jsonb(R"({"type":"A")", "type"));
    EXPECT_EQ(parse_jsonb(R"({"":1})")->member, std::nullopt);
}

// Texts that fit one by one need not fit together into one array: then their bounds tell. As jsonb
// a number of one digit takes twelve bytes.
TEST(JsonbFit, Bound) {
    EXPECT_EQ(jsonb_bound("\"\\u0000\""), std::nullopt);
    EXPECT_GE(jsonb_bound("\"" + std::string(1000, 'x') + "\""), 1000u);
    const auto numbers = jsonb_bound("[" + repeat("1,", 3000000) + "1]");
    ASSERT_TRUE(numbers);
    EXPECT_GE(*numbers, 12 * 3000001u);
    EXPECT_GT(8 * *numbers, kMaxJsonbBytes);
    const std::string event =
        R"({"event_id":123456,"source_event_id":null,"instance_id":"i","execution_id":1,)"
        R"("timestamp_ms":1800000000000,"duroxide_version":"0.1.30","type":"X","name":"n"})";
    // 64 MiB of small events leave room for as much again.
    constexpr size_t kHistory = size_t{64} << 20;
    EXPECT_LT(*jsonb_bound(event) * (kHistory / event.size()), kMaxJsonbBytes - kHistory);
}

}  // namespace
}  // namespace belay::core::json
