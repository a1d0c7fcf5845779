// The types that all headers share: JSON, ids, times, and words of the server.
//
// Values only: nothing here talks to a server. JSON is nlohmann's; numbers that neither an int64
// nor a double holds lose digits there, and where that matters the text is available, too.
//
// Thread-safety: as of plain values.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay {

using Json = nlohmann::json;
using Milliseconds = std::chrono::milliseconds;

// An instant, in milliseconds since the Unix epoch.
using Time = std::chrono::sys_time<Milliseconds>;

using OptionalText = std::optional<std::string>;
using OptionalNumber = std::optional<std::int64_t>;
using OptionalTime = std::optional<Time>;

// A UUID. The default is the nil UUID, 00000000-0000-0000-0000-000000000000.
class Uuid {
 public:
    constexpr Uuid() = default;
    // Of the usual form, 8-4-4-4-12 hexadecimal digits. Throws Error (22P02) for any other text.
    explicit Uuid(std::string_view text);
    static std::optional<Uuid> parse(std::string_view text) noexcept;

    bool is_nil() const { return *this == Uuid(); }
    std::string text() const;  // as PostgreSQL prints it
    const std::array<unsigned char, 16>& bytes() const { return bytes_; }

    auto operator<=>(const Uuid&) const = default;

 private:
    std::array<unsigned char, 16> bytes_ = {};
};

std::ostream& operator<<(std::ostream& out, const Uuid& id);

// The texts of an enumeration, in the order of its values; kOther, the last one, has none.
template <typename Enum>
struct Words;

// A word of the server: one of an enumeration's values, or kOther with the text of a word that this
// version of the library does not recognize.
//
//     if (status.state == TaskState::kFailed) { std::cerr << status.state.text(); }
template <typename Enum>
class Word {
 public:
    Word() = default;
    Word(Enum value) : value_(value) {}
    explicit Word(std::string_view text) {
        for (std::size_t i = 0; i < std::size(Words<Enum>::kTexts); ++i) {
            if (Words<Enum>::kTexts[i] == text) {
                value_ = static_cast<Enum>(i);
                return;
            }
        }
        value_ = Enum::kOther;
        other_ = text;
    }

    operator Enum() const { return value_; }
    Enum value() const { return value_; }
    std::string_view text() const {
        return value_ == Enum::kOther ? std::string_view(other_)
                                      : Words<Enum>::kTexts[static_cast<std::size_t>(value_)];
    }

    friend bool operator==(const Word& a, Enum b) { return a.value_ == b; }
    friend bool operator==(const Word& a, const Word& b) { return a.text() == b.text(); }

 private:
    Enum value_{};
    std::string other_;  // of kOther
};

template <typename Enum>
std::string text_of(const Word<Enum>& word) {
    return std::string(word.text());
}
template <typename Enum>
requires requires {
    Words<Enum>::kTexts;
}
std::string text_of(Enum value) {
    return std::string(Word<Enum>(value).text());
}

// Ids and words in JSON are strings.
template <typename AnyJson>
requires nlohmann::detail::is_basic_json<AnyJson>::value void to_json(AnyJson& json,
                                                                      const Uuid& id) {
    json = id.text();
}
template <typename AnyJson, typename Enum>
requires nlohmann::detail::is_basic_json<AnyJson>::value void to_json(AnyJson& json,
                                                                      const Word<Enum>& word) {
    json = std::string(word.text());
}

enum class TaskState {
    kBlocked,
    kDelayed,
    kReady,
    kActive,
    kSuspended,
    kCompleted,
    kFailed,
    kCancelled,
    kExpired,
    kSkipped,
    kOther
};
template <>
struct Words<TaskState> {
    static constexpr std::string_view kTexts[] = {"blocked",   "delayed",   "ready",  "active",
                                                  "suspended", "completed", "failed", "cancelled",
                                                  "expired",   "skipped"};
};

// Whether a task in this state has ended.
inline bool has_ended(TaskState state) {
    return state >= TaskState::kCompleted && state <= TaskState::kSkipped;
}

// Why an attempt of a task has failed. The task's policy says which classes are retried.
enum class FailureClass { kTransient, kPermanent, kTimeout, kInfraCrash, kCancelled, kOther };
template <>
struct Words<FailureClass> {
    static constexpr std::string_view kTexts[] = {"transient", "permanent", "timeout",
                                                  "infra_crash", "cancelled"};
};

// Milliseconds since the Unix epoch, as JSON documents of the server have times.
inline std::int64_t to_ms(Time time) {
    return time.time_since_epoch().count();
}
inline Time from_ms(std::int64_t ms) {
    return Time(Milliseconds(ms));
}

}  // namespace belay

template <>
struct std::hash<belay::Uuid> {
    std::size_t operator()(const belay::Uuid& id) const noexcept {
        return std::hash<std::string_view>()(
            {reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size()});
    }
};
