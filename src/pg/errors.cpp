// Raising belay's errors, and the JSON of their DETAIL.
//
// Touches  the current memory context
// Must not show a whole token, or more than the beginning of a long value
#include "pg/errors.hpp"

#include <algorithm>

namespace belay::pg {

namespace {

// Long values are cut: a DETAIL names what was wrong, it does not repeat a payload.
constexpr std::size_t kMaxValue = 200;
constexpr std::size_t kTokenPrefix = 8;

}  // namespace

const char* c_string(std::string_view text) {
    return pnstrdup(text.data(), static_cast<Size>(text.size()));
}

const char* excerpt(std::string_view text) {
    const auto length = static_cast<int>(std::min(text.size(), std::size_t{MaxAllocSize}));
    return pnstrdup(text.data(), static_cast<Size>(pg_mbcliplen(text.data(), length,
                                                                static_cast<int>(kMaxValue))));
}

Facts::Facts(const char* code_detail) : text(makeStringInfo()) {
    appendStringInfoString(text, "{\"code_detail\":");
    escape_json(text, code_detail);
    appendStringInfoChar(text, '}');
}

Facts& Facts::add(const char* key, std::string_view value) {
    const auto cut = static_cast<std::size_t>(pg_mbcliplen(
        value.data(), static_cast<int>(std::min(value.size(), std::size_t{MaxAllocSize})),
        static_cast<int>(kMaxValue)));
    text->data[--text->len] = '\0';
    appendStringInfoChar(text, ',');
    escape_json(text, key);
    appendStringInfoChar(text, ':');
    escape_json(text, c_string(value.substr(0, cut)));
    appendStringInfoChar(text, '}');
    return *this;
}

Facts& Facts::add(const char* key, int64 value) {
    text->data[--text->len] = '\0';
    appendStringInfoChar(text, ',');
    escape_json(text, key);
    appendStringInfo(text, ":" INT64_FORMAT "}", value);
    return *this;
}

Facts& Facts::add_flag(const char* key, bool value) {
    text->data[--text->len] = '\0';
    appendStringInfoChar(text, ',');
    escape_json(text, key);
    appendStringInfoString(text, value ? ":true}" : ":false}");
    return *this;
}

Facts& Facts::add_optional(const char* key, std::optional<std::string_view> value) {
    if (value) {
        return add(key, *value);
    }
    text->data[--text->len] = '\0';
    appendStringInfoChar(text, ',');
    escape_json(text, key);
    appendStringInfoString(text, ":null}");
    return *this;
}

Facts& Facts::add_list(const char* key, std::span<const std::string_view> values) {
    text->data[--text->len] = '\0';
    appendStringInfoChar(text, ',');
    escape_json(text, key);
    appendStringInfoString(text, ":[");
    for (const auto& value : values) {
        appendStringInfoString(text, &value == values.data() ? "" : ",");
        escape_json(text, c_string(value));
    }
    appendStringInfoString(text, "]}");
    return *this;
}

Facts& Facts::add_token(const char* key, std::string_view token) {
    const auto cut = static_cast<std::size_t>(
        pg_mbcliplen(token.data(), static_cast<int>(std::min(token.size(), std::size_t{1024})),
                     static_cast<int>(kTokenPrefix)));
    return add(key, token.substr(0, cut));
}

void raise(int sqlstate, const char* message, const Facts& facts, const char* hint) {
    ereport(ERROR, (errcode(sqlstate), errmsg("%s", message),
                    errdetail_internal("%s", facts.text->data), errhint("%s", hint)));
    pg_unreachable();
}

void raise_invalid(const char* code_detail, const char* path, const char* message,
                   const char* hint) {
    raise(kInvalidArgument, message, Facts(code_detail).add("path", path), hint);
}

void raise_not_owner(const char* hub) {
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be owner of hub \"%s\"", hub)));
    pg_unreachable();
}

}  // namespace belay::pg
