// Reading the mode of a tag filter.
//
// Touches  its argument
// Must not know what a mode means for a row; the header does
#include "core/tags.hpp"

namespace belay::core {

std::optional<TagMode> parse_tag_mode(std::string_view word) {
    if (word == "default_only") {
        return TagMode::kDefaultOnly;
    }
    if (word == "tags") {
        return TagMode::kTags;
    }
    if (word == "default_and") {
        return TagMode::kDefaultAnd;
    }
    if (word == "any") {
        return TagMode::kAny;
    }
    if (word == "none") {
        return TagMode::kNone;
    }
    return std::nullopt;
}

}  // namespace belay::core
