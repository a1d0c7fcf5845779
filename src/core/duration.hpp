// The values of hub options, read from text.
//
// Blanks around a value are ignored. What cannot be read whole gives no value; nothing is guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::core {

// A duration in milliseconds: a whole number of them (1500), or amounts with units and times of day
// that add up (90 s, 1.5 h, 2 days 3 hours, 00:01:30). Units are us, ms, s, min, h, d and w, their
// long forms, in any case. What is below a millisecond is cut off. Refused: signs, months and years
// (they have no fixed length), m (minutes or months?), and anything above the range of the type.
std::optional<int64_t> parse_duration_ms(std::string_view text);

// A size in bytes: a whole number, alone or with B, kB, MB, GB, KiB, MiB or GiB in any case. Every
// unit is a power of 1024, as in PostgreSQL's settings.
std::optional<int64_t> parse_bytes(std::string_view text);

// true, on, yes, 1 or false, off, no, 0, in any case.
std::optional<bool> parse_bool(std::string_view text);

// A decimal integer with an optional sign.
std::optional<int64_t> parse_int(std::string_view text);

}  // namespace belay::core
