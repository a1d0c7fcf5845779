// belay's errors: SQLSTATE class QB, always with a DETAIL of one line of JSON and a HINT.
#pragma once

#include "pg/pg.hpp"

namespace belay::pg {

inline constexpr int kLockLost = MAKE_SQLSTATE('Q', 'B', '0', '0', '1');
inline constexpr int kNotFound = MAKE_SQLSTATE('Q', 'B', '0', '0', '2');
inline constexpr int kStillRunning = MAKE_SQLSTATE('Q', 'B', '0', '0', '3');
inline constexpr int kNotARoot = MAKE_SQLSTATE('Q', 'B', '0', '0', '4');
inline constexpr int kDuplicateEvent = MAKE_SQLSTATE('Q', 'B', '0', '0', '5');
inline constexpr int kInvalidArgument = MAKE_SQLSTATE('Q', 'B', '0', '0', '6');
inline constexpr int kClockSkew = MAKE_SQLSTATE('Q', 'B', '0', '0', '7');
inline constexpr int kNotEligible = MAKE_SQLSTATE('Q', 'B', '0', '1', '0');
inline constexpr int kNotTerminal = MAKE_SQLSTATE('Q', 'B', '0', '1', '1');
inline constexpr int kAlreadyTerminal = MAKE_SQLSTATE('Q', 'B', '0', '1', '2');
inline constexpr int kNotActive = MAKE_SQLSTATE('Q', 'B', '0', '1', '3');
inline constexpr int kGraphConflict = MAKE_SQLSTATE('Q', 'B', '0', '1', '4');
inline constexpr int kLimitExceeded = MAKE_SQLSTATE('Q', 'B', '0', '1', '6');
inline constexpr int kElsewhere = MAKE_SQLSTATE('Q', 'B', '0', '1', '7');
inline constexpr int kTableAltered = MAKE_SQLSTATE('Q', 'B', '0', '1', '8');

// The DETAIL of an error: a JSON object on one line whose first key is code_detail.
struct Facts {
    StringInfo text;

    explicit Facts(const char* code_detail);
    Facts& add(const char* key, std::string_view value);
    Facts& add(const char* key, int64 value);
    Facts& add_flag(const char* key, bool value);
    Facts& add_optional(const char* key, std::optional<std::string_view> value);  // null if absent
    Facts& add_list(const char* key, std::span<const std::string_view> values);
    // The first characters of a token: enough to find it in a log, too few to use it.
    Facts& add_token(const char* key, std::string_view token);
};

// Raises an error of class QB. The message is copied; facts and hint are never empty.
[[noreturn]] void raise(int sqlstate, const char* message, const Facts& facts, const char* hint);

// Raises QB006 for an argument: path names it, as in p_items[7].work_item.
[[noreturn]] void raise_invalid(const char* code_detail, const char* path, const char* message,
                                const char* hint);

// Raises 42501 for an object of which the caller is not the owner.
[[noreturn]] void raise_not_owner(const char* hub);

// The beginning of a text that a caller sent, for a message.
const char* excerpt(std::string_view text);

// NUL-terminated copy of text in the current memory context.
const char* c_string(std::string_view text);

}  // namespace belay::pg
