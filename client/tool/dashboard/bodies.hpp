// What is shown of stored bodies. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "print.hpp"

namespace belay::tool::dashboard {

// The text with the values of these keys replaced, at any depth, if it is JSON, or the beginning of
// some. Digits, order and repeated keys stay as they are.
std::string redacted(std::string_view text, const std::vector<std::string>& keys);

// At most so many bytes of UTF-8, not ending inside a character.
std::string cut_at_character(std::string_view text, std::size_t bytes);

struct BodyPolicy {
    std::vector<std::string> redact = {};
    bool hidden = false;  // none at all is shown, only how large they are

    bool changes_nothing() const { return redact.empty() && !hidden; }
};

// The first key of a filter that looks into bodies; "" if none does. Who may not see bodies, or not
// all of them, could find out with such filters what is in them.
std::string body_filter_in(const Json& filter);
// Replaces what such keys look for.
void hide_body_filters(Json& filter);

// Applies the policy to all bodies of an answer: fields that are one, and objects {text, bytes}.
void apply_policy(const BodyPolicy& policy, Json& answer);

}  // namespace belay::tool::dashboard
