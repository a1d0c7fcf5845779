// JSON as text: a writer, and a reader of one object's fields that builds no document.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::engine {

// A history or a message that cannot be read.
class Corrupt : public std::runtime_error {
 public:
    using std::runtime_error::runtime_error;
};

// Appends a string with quotes. Only what JSON requires is escaped.
void append_string(std::string& out, std::string_view text);

// Builds an object, field by field.
class ObjectWriter {
 public:
    ObjectWriter() : text_("{") {}

    ObjectWriter& string(std::string_view key, std::string_view value);
    ObjectWriter& number(std::string_view key, std::int64_t value);
    ObjectWriter& raw(std::string_view key, std::string_view json);
    ObjectWriter& string_or_null(std::string_view key, const std::optional<std::string>& value);
    ObjectWriter& number_or_null(std::string_view key, std::int64_t value);  // null if 0
    std::string take();

 private:
    void key(std::string_view key);

    std::string text_;
};

// Reads the fields of one object in their order. Throws Corrupt.
class ObjectReader {
 public:
    explicit ObjectReader(std::string_view object);

    // Moves to the next field; false at the end.
    bool next();
    std::string_view key() const { return key_; }
    std::string_view raw() const { return raw_; }
    bool is_null() const { return raw_ == "null"; }
    bool is_string() const { return raw_.front() == '"'; }
    std::string string() const;
    std::int64_t number() const;

 private:
    void skip_space();
    void expect(char c);

    std::string_view text_;
    std::size_t at_ = 0;
    bool first_ = true;
    std::string key_buffer_;
    std::string_view key_;
    std::string_view raw_;
};

// The elements of an array, as they are spelt. Throws Corrupt.
std::vector<std::string_view> array_elements(std::string_view array);

// The text of a JSON string with its quotes. Throws Corrupt.
std::string decode_json_string(std::string_view quoted);

}  // namespace belay::engine
