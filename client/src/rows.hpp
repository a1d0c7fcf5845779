// Rows of the server as structs, and structs as JSON: what the typed calls of a hub are made of.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "belay/hub.hpp"

namespace belay {

inline std::string dumped(const nlohmann::json& value, const Where& where) {
    try {
        return value.dump();
    } catch (const nlohmann::json::exception& error) {
        throw Error({.message = error.what(), .sqlstate = "22021"}, where);
    }
}

template <typename T>
void put(nlohmann::json& object, const char* key, const std::optional<T>& value) {
    if (value) {
        object[key] = *value;
    }
}

inline OptionalNumber count_of(const std::optional<Milliseconds>& time) {
    return time ? OptionalNumber(time->count()) : std::nullopt;
}

inline std::int64_t count_of(Milliseconds time) {
    return time.count();
}

inline Uuid uuid_of(std::string_view id) {
    return {std::string(id)};
}

inline std::optional<Uuid> optional_uuid(const OptionalText& id) {
    return id ? std::optional(Uuid{*id}) : std::nullopt;
}

inline std::optional<Json> json_of(const OptionalText& text) {
    return text ? std::optional(Json{*text}) : std::nullopt;
}

// Ids with commas between them.
inline std::vector<std::string> ids_of(const std::string& joined) {
    std::vector<std::string> ids;
    for (std::size_t from = 0; from < joined.size();) {
        const std::size_t end = std::min(joined.find(',', from), joined.size());
        ids.push_back(joined.substr(from, end - from));
        from = end + 1;
    }
    return ids;
}

// Reads the fields of a row from left to right.
class Reader {
 public:
    Reader(const Result& result, int row) : result_(result), row_(row) {}

    template <typename T>
    Reader& operator>>(T& value) {
        value = result_.get<T>(row_, column_++);
        return *this;
    }

 private:
    const Result& result_;
    int row_;
    int column_ = 0;
};

template <typename T, typename Read>
std::vector<T> all_rows(const Result& result, Read read) {
    std::vector<T> rows(static_cast<std::size_t>(result.size()));
    for (int row = 0; row < result.size(); ++row) {
        Reader reader(result, row);
        read(reader, rows[static_cast<std::size_t>(row)]);
    }
    return rows;
}

template <typename T, typename Read>
std::optional<T> first_row(const Result& result, Read read) {
    if (result.empty()) {
        return std::nullopt;
    }
    T value;
    Reader reader(result, 0);
    read(reader, value);
    return value;
}

template <typename T>
std::vector<T> first_column(const Result& result) {
    return all_rows<T>(result, [](Reader& from, T& value) { from >> value; });
}

inline std::int64_t number_of(const Result& result) {
    return result.get<std::int64_t>(0, 0);
}

// A column of type timestamptz in milliseconds.
#define BELAY_MS(column) "(extract(epoch FROM " column ") * 1000)::bigint"

constexpr std::string_view kAll = "*";

}  // namespace belay
