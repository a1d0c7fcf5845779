// Which rows a fetch serves, by their tag.
#pragma once

#include <optional>
#include <string_view>

namespace belay::core {

enum class TagMode { kDefaultOnly, kTags, kDefaultAnd, kAny, kNone };

// Reads the mode word of a fetch: default_only, tags, default_and, any or none.
std::optional<TagMode> parse_tag_mode(std::string_view word);

// True if the mode takes rows without a tag.
constexpr bool serves_untagged(TagMode mode) {
    return mode == TagMode::kDefaultOnly || mode == TagMode::kDefaultAnd || mode == TagMode::kAny;
}

// True if the mode takes the rows whose tag is in the filter. kAny takes every tag and does not
// look at the filter.
constexpr bool serves_filter(TagMode mode) {
    return mode == TagMode::kTags || mode == TagMode::kDefaultAnd;
}

}  // namespace belay::core
