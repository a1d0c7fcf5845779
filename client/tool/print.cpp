// Printing tables, lists and JSON.
//
// May touch: the stream that it is given. Must not: send characters of a value that steer a
// terminal.
#include "print.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace belay::tool {
namespace {

// Reads one code point; returns its length in bytes, 0 if it is no UTF-8.
std::size_t decode(std::string_view text, char32_t& point) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length == 0 || text.size() < length) {
        return 0;
    }
    point = length == 1 ? first : first & (0xff >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return 0;
        }
        point = (point << 6) | (byte(i) & 0x3f);
    }
    constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < kLeast[length] || point > 0x10ffff || surrogate ? 0 : length;
}

bool steers_a_terminal(char32_t point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
           (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::string formatted(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string shown(const Json& value, Show show) {
    if (value.is_null()) {
        return "-";
    }
    switch (show) {
        case Show::kTime:
            return time_text(value.get<std::int64_t>());
        case Show::kBytes:
            return bytes_text(value.get<std::int64_t>());
        case Show::kFlag:
            return value.get<bool>() ? "yes" : "no";
        case Show::kText:
        case Show::kNumber:
            break;
    }
    return printable(value.is_string() ? value.get_ref<const std::string&>() : json_text(value));
}

bool is_right_aligned(Show show) {
    return show == Show::kNumber || show == Show::kBytes;
}

std::string without_trailing_spaces(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string result;
    char escape[16];
    while (!text.empty()) {
        char32_t point = 0;
        std::size_t length = decode(text, point);
        if (length == 0) {
            std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(text[0]));
            result += escape;
            length = 1;
        } else if (point == '\n') {
            result += "\\n";
        } else if (point == '\t') {
            result += "\\t";
        } else if (steers_a_terminal(point)) {
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(point));
            result += escape;
        } else {
            result += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return result;
}

std::string printable_lines(std::string_view text) {
    std::string lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
        if (!line.empty()) {
            lines += (lines.empty() ? "" : "\n  ") + printable(line);
        }
    }
    return lines;
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

std::string cut(std::string_view text, std::size_t width) {
    if (width_of(text) <= width) {
        return std::string(text);
    }
    if (width == 0) {
        return "";
    }
    std::size_t end = 0;
    for (std::size_t columns = 0; end < text.size(); ++end) {
        if (!is_continuation(text[end]) && ++columns == width) {
            break;
        }
    }
    return std::string(text.substr(0, end)) + "~";
}

std::string left(std::string_view text, std::size_t width) {
    std::string result = cut(text, width);
    return result + std::string(width - width_of(result), ' ');
}

std::string right(std::string_view text, std::size_t width) {
    const std::string result = cut(text, width);
    return std::string(width - width_of(result), ' ') + result;
}

std::string time_text(std::int64_t ms) {
    const std::time_t seconds = ms / 1000;
    std::tm parts{};
    char text[64];
    if (gmtime_r(&seconds, &parts) == nullptr ||
        std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts) == 0) {
        return std::to_string(ms);
    }
    return text;
}

std::string duration_text(std::int64_t ms) {
    if (ms < 1000) {
        return std::to_string(ms) + "ms";
    }
    const double seconds = static_cast<double>(ms) / 1000;
    if (seconds < 60) {
        return formatted("%.1fs", seconds);
    }
    if (seconds < 3600) {
        return formatted("%.0fm", seconds / 60);
    }
    if (seconds < 86400) {
        return formatted("%.0fh", seconds / 3600);
    }
    return formatted("%.0fd", seconds / 86400);
}

std::string bytes_text(std::int64_t bytes) {
    constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
    if (bytes < 1000) {
        return std::to_string(bytes) + " B";
    }
    double value = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    while (value >= 1000 && unit + 1 < std::size(kUnits)) {
        value /= 1000;
        ++unit;
    }
    return formatted("%.1f ", value) + kUnits[unit];
}

std::string table(const Json& rows, const std::vector<Column>& columns,
                  std::optional<std::size_t> width) {
    std::vector<std::vector<std::string>> lines(1);
    for (const auto& column : columns) {
        lines[0].push_back(column.title);
    }
    for (const auto& row : rows) {
        auto& line = lines.emplace_back();
        for (const auto& column : columns) {
            line.push_back(shown(row.at(column.key), column.show));
        }
    }
    std::vector<std::size_t> widths(columns.size(), 0);
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(line[i]));
        }
    }
    std::string text;
    for (const auto& line : lines) {
        std::string joined;
        for (std::size_t i = 0; i < line.size(); ++i) {
            joined += i == 0 ? "" : "  ";
            joined += is_right_aligned(columns[i].show) ? right(line[i], widths[i])
                                                        : left(line[i], widths[i]);
        }
        joined = without_trailing_spaces(std::move(joined));
        text += (width ? cut(joined, *width) : joined) + "\n";
    }
    return text;
}

std::string list(const Json& object, const std::vector<Column>& columns) {
    std::size_t width = 0;
    for (const auto& column : columns) {
        width = std::max(width, width_of(column.title));
    }
    std::string text;
    for (const auto& column : columns) {
        if (const auto& value = object.at(column.key); !value.is_null()) {
            text += left(column.title, width) + "  " + shown(value, column.show) + "\n";
        }
    }
    return text;
}

std::string json_text(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace belay::tool
