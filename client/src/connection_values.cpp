// Parameters of statements and values of results, between C++ and the formats of libpq.
//
// May touch: the result that it is given. Must not: send or receive; connection.cpp does.
#include "belay/connection.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "max_bytes.hpp"

namespace belay {
namespace {

// Oids of pg_type, which never change.
constexpr unsigned kBool = 16;
constexpr unsigned kInt8 = 20;
constexpr unsigned kInt4 = 23;
constexpr unsigned kText = 25;
constexpr unsigned kFloat8 = 701;
constexpr unsigned kBoolArray = 1000;
constexpr unsigned kInt4Array = 1007;
constexpr unsigned kTextArray = 1009;
constexpr unsigned kInt8Array = 1016;
constexpr unsigned kUuid = 2950;
constexpr unsigned kUuidArray = 2951;
constexpr unsigned kJsonb = 3802;
constexpr unsigned kJsonbArray = 3807;

template <typename T>
void put_number(std::string& to, T value) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (int shift = (static_cast<int>(sizeof(T)) - 1) * 8; shift >= 0; shift -= 8) {
        to.push_back(static_cast<char>((bits >> shift) & 0xff));
    }
}

// The header of an array with one dimension.
std::string array_header(unsigned element_type, std::size_t count, bool has_nulls = false) {
    std::string bytes;
    put_number<std::int32_t>(bytes, count == 0 ? 0 : 1);
    put_number<std::int32_t>(bytes, has_nulls ? 1 : 0);
    put_number<std::uint32_t>(bytes, element_type);
    if (count != 0) {
        put_number<std::int32_t>(bytes, static_cast<std::int32_t>(count));
        put_number<std::int32_t>(bytes, 1);
    }
    return bytes;
}

template <typename T>
std::string array_of_numbers(unsigned element_type, const std::vector<T>& numbers) {
    std::string bytes = array_header(element_type, numbers.size());
    for (const auto number : numbers) {
        put_number<std::int32_t>(bytes, sizeof(T));
        put_number<T>(bytes, number);
    }
    return bytes;
}

void put_element(std::string& to, const std::string& text) {
    put_number<std::int32_t>(to, static_cast<std::int32_t>(std::min(text.size(), kMaxBytes)));
    to += text;
}
void put_element(std::string& to, const JsonText& json) {
    put_number<std::int32_t>(to,
                             static_cast<std::int32_t>(std::min(json.text.size(), kMaxBytes)) + 1);
    to.append("\x01").append(json.text);
}
void put_element(std::string& to, std::int64_t number) {
    put_number<std::int32_t>(to, sizeof number);
    put_number(to, number);
}

template <typename T>
std::string array_of_optionals(unsigned element_type,
                               const std::vector<std::optional<T>>& elements) {
    const bool has_nulls = std::ranges::any_of(elements, [](const auto& one) { return !one; });
    std::string bytes = array_header(element_type, elements.size(), has_nulls);
    for (const auto& element : elements) {
        if (element) {
            put_element(bytes, *element);
        } else {
            put_number<std::int32_t>(bytes, -1);
        }
    }
    return bytes;
}

[[noreturn]] void throw_bad_value(const std::string& message) {
    throw Error({.message = message});
}

}  // namespace

// ---- Parameters. ----

Param::Param(std::string_view text) : type_(kText), bytes_(text) {}

Param::Param(const JsonText& json) : type_(kJsonb), bytes_("\x01" + json.text) {}

Param::Param(const std::vector<JsonText>& jsons)
    : type_(kJsonbArray), bytes_(array_header(kJsonb, jsons.size())) {
    for (const auto& json : jsons) {
        put_element(bytes_, json);
    }
}

JsonText Param::json_text(const Json& json) {
    try {
        return {json.dump()};
    } catch (const Json::exception& error) {
        throw Error({.message = error.what(), .sqlstate = "22021"});
    }
}

Param::Param(const std::vector<std::string>& texts)
    : type_(kTextArray), bytes_(array_header(kText, texts.size())) {
    for (const auto& text : texts) {
        put_element(bytes_, text);
    }
}

Param::Param(const std::vector<std::int32_t>& numbers)
    : type_(kInt4Array), bytes_(array_of_numbers(kInt4, numbers)) {}

Param::Param(const std::vector<std::int64_t>& numbers)
    : type_(kInt8Array), bytes_(array_of_numbers(kInt8, numbers)) {}

Param::Param(const std::vector<bool>& flags)
    : type_(kBoolArray), bytes_(array_header(kBool, flags.size())) {
    for (const bool flag : flags) {
        put_number<std::int32_t>(bytes_, 1);
        bytes_.push_back(flag ? '\x01' : '\x00');
    }
}

Param::Param(const std::vector<std::optional<JsonText>>& jsons)
    : type_(kJsonbArray), bytes_(array_of_optionals(kJsonb, jsons)) {}

Param::Param(const std::vector<std::optional<std::string>>& texts)
    : type_(kTextArray), bytes_(array_of_optionals(kText, texts)) {}

Param::Param(const std::vector<std::optional<std::int64_t>>& numbers)
    : type_(kInt8Array), bytes_(array_of_optionals(kInt8, numbers)) {}

Param::Param(const Uuid& uuid) : type_(kUuid), bytes_(uuid.bytes().begin(), uuid.bytes().end()) {}

Param::Param(const std::vector<Uuid>& uuids)
    : type_(kUuidArray), bytes_(array_header(kUuid, uuids.size())) {
    for (const auto& uuid : uuids) {
        put_number<std::int32_t>(bytes_, 16);
        bytes_.append(uuid.bytes().begin(), uuid.bytes().end());
    }
}

Param::Param(double number) : type_(kFloat8) {
    put_number(bytes_, std::bit_cast<std::int64_t>(number));
}

void Param::set_bool(bool value) {
    type_ = kBool;
    bytes_.assign(1, value ? '\x01' : '\x00');
}

void Param::set_int4(std::int32_t value) {
    type_ = kInt4;
    put_number(bytes_, value);
}

void Param::set_int8(std::int64_t value) {
    type_ = kInt8;
    put_number(bytes_, value);
}

// ---- Results. ----

Json parse_json(std::string_view text) {
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded()) {
        throw_bad_value("\"" + std::string(text) + "\" is not JSON");
    }
    return value;
}

std::int64_t parse_integer(std::string_view text, std::int64_t min, std::int64_t max) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value < min || value > max) {
        throw_bad_value("\"" + std::string(text) + "\" is not an integer of the wanted size");
    }
    return value;
}

double parse_double(std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) {
        throw_bad_value("\"" + std::string(text) + "\" is not a number");
    }
    return value;
}

bool parse_bool(std::string_view text) {
    if (text != "t" && text != "f") {
        throw_bad_value("\"" + std::string(text) + "\" is not a boolean");
    }
    return text == "t";
}

Result::Result(pg_result* result) : result_(result, &PQclear) {}

int Result::size() const {
    return PQntuples(result_.get());
}

int Result::columns() const {
    return PQnfields(result_.get());
}

std::int64_t Result::affected() const {
    const std::string_view count = PQcmdTuples(result_.get());
    return count.empty() ? 0 : parse_integer(count, 0, INT64_MAX);
}

bool Result::is_null(int row, int column) const {
    if (row < 0 || row >= size() || column < 0 || column >= columns()) {
        throw_bad_value("the answer has no field " + std::to_string(column) + " in row " +
                        std::to_string(row));
    }
    return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view Result::text(int row, int column) const {
    if (is_null(row, column)) {
        throw_bad_value("field " + std::to_string(column) + " of the answer is null");
    }
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

}  // namespace belay
