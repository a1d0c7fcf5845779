// How the tool prints: tables and lists for people, JSON for programs. Values of the database are
// never sent to a terminal as they are: what could steer it is shown as an escape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace belay::tool {

using Json = nlohmann::ordered_json;

// The text on one line, with escapes for control characters, for what turns the direction of
// writing, and for bytes that are no UTF-8.
std::string printable(std::string_view text);

// As printable, of a text of several lines: each is on its own, those after the first indented.
std::string printable_lines(std::string_view text);

// How many columns a printable text takes: one per code point.
std::size_t width_of(std::string_view text);

// At most `width` columns of a printable text; one that is cut ends in "~".
std::string cut(std::string_view text, std::size_t width);

// Left-aligned or right-aligned in `width` columns, cut if it is longer.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

std::string time_text(std::int64_t ms);      // 2026-03-01 12:00:00Z
std::string duration_text(std::int64_t ms);  // 950ms, 1.5s, 12m, 3h, 40d
std::string bytes_text(std::int64_t bytes);  // 900 B, 12.3 MB

enum class Show { kText, kNumber, kTime, kBytes, kFlag };

// A column of a table, or a line of a list: which field of the rows, and how.
struct Column {
    std::string key;
    std::string title;
    Show show = Show::kText;
};

// Rows as a table with a line of titles. The last column is cut at `width`, if that is given.
std::string table(const Json& rows, const std::vector<Column>& columns,
                  std::optional<std::size_t> width);

// One object as lines of "title  value"; fields that are null are left out.
std::string list(const Json& object, const std::vector<Column>& columns);

// JSON text for any bytes: what is no UTF-8 is replaced.
std::string json_text(const Json& value);

}  // namespace belay::tool
