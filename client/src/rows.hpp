// Rows of the server as structs, and structs as JSON: what the typed calls of a hub are made of.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/hub.hpp"
#include "belay/provider.hpp"

namespace belay {

inline std::string dumped(const Json& value, const Where& where) {
    try {
        return value.dump();
    } catch (const Json::exception& error) {
        throw Error({.message = error.what(), .sqlstate = "22021"}, where);
    }
}

// Whether a repetition has found that the run whose answer was lost had done the work.
inline bool was_done_before(const Error& error) {
    return error.outcome_unknown() && error.code_detail() == "already_completed";
}

template <typename T>
void put(Json& object, const char* key, const std::optional<T>& value) {
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

inline OptionalNumber count_of(const OptionalTime& time) {
    return time ? OptionalNumber(to_ms(*time)) : std::nullopt;
}

template <typename Enum>
OptionalText text_of(const std::optional<Enum>& value) {
    return value ? OptionalText(text_of(*value)) : std::nullopt;
}

inline std::optional<JsonText> json_param(const OptionalText& text) {
    return text ? std::optional(JsonText{*text}) : std::nullopt;
}

// Words with commas between them.
inline std::vector<std::string> split_of(const std::string& joined) {
    std::vector<std::string> words;
    for (std::size_t from = 0; from < joined.size();) {
        const std::size_t end = std::min(joined.find(',', from), joined.size());
        words.push_back(joined.substr(from, end - from));
        from = end + 1;
    }
    return words;
}

inline std::vector<Uuid> ids_of(const std::string& joined) {
    std::vector<Uuid> ids;
    for (const auto& word : split_of(joined)) {
        ids.emplace_back(word);
    }
    return ids;
}

// Reads the fields of a row from left to right.
class Reader {
 public:
    Reader(const Result& result, int row, int first_column = 0)
        : result_(result), row_(row), column_(first_column) {}

    template <typename T>
    Reader& operator>>(T& value) {
        value = result_.get<T>(row_, column_++);
        return *this;
    }
    // A number of milliseconds.
    Reader& operator>>(Milliseconds& value) {
        value = Milliseconds(result_.get<std::int64_t>(row_, column_++));
        return *this;
    }
    Reader& operator>>(std::optional<Milliseconds>& value) {
        const auto count = result_.get<OptionalNumber>(row_, column_++);
        value = count ? std::optional(Milliseconds(*count)) : std::nullopt;
        return *this;
    }

 private:
    const Result& result_;
    int row_;
    int column_;
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

// The row of an outcome in the answer of a call that settles many. Of a repetition, a lost lease
// may mean that the run whose answer was lost has ended it.
inline SettledOutcome read_outcome(const Result& result, int row, bool repeated) {
    SettledOutcome outcome;
    Reader reader(result, row, 1);
    reader >> outcome.error >> outcome.reason;
    outcome.outcome_unknown =
        repeated && outcome.error &&
        (outcome.error == "QB001" || outcome.error == "QB012" || outcome.error == "QB013");
    return outcome;
}

inline std::int64_t number_of(const Result& result) {
    return result.get<std::int64_t>(0, 0);
}

// A column of type timestamptz in milliseconds.
#define BELAY_MS(column) "(extract(epoch FROM " column ") * 1000)::bigint"

constexpr std::string_view kAll = "*";

}  // namespace belay
