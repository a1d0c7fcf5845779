// A place in the source code of the application, for errors.
//
// The library has its own type because clang 14 does not implement std::source_location. It is the
// same type for every compiler, so that a library and a program that were compiled with different
// compilers can be linked.
//
// Thread-safety: a value.
#pragma once

#include <cstdint>

namespace belay {

class SourceLocation {
 public:
    // As a default argument, the place of the call.
    static constexpr SourceLocation current(
        const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
        std::uint_least32_t line = static_cast<std::uint_least32_t>(__builtin_LINE())) noexcept {
        SourceLocation place;
        place.file_ = file;
        place.function_ = function;
        place.line_ = line;
        return place;
    }

    constexpr const char* file_name() const noexcept { return file_; }
    constexpr const char* function_name() const noexcept { return function_; }
    constexpr std::uint_least32_t line() const noexcept { return line_; }

 private:
    const char* file_ = "";
    const char* function_ = "";
    std::uint_least32_t line_ = 0;
};

}  // namespace belay
