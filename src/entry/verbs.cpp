// The verb table. Sorted by name; a lint compares it with src/sql/hub/objects/*.sql.
#include "entry/verbs.hpp"

#include <algorithm>

namespace belay::entry {

namespace {

using core::kForOperator;

constexpr Verb kVerbs[] = {
    {"pause_hub", pause_hub, 2, "text, text", "void", Access::kWrite, kForOperator},
    {"resume_hub", resume_hub, 1, "text", "void", Access::kWrite, kForOperator},
};

constexpr bool by_name(const Verb& verb, std::string_view name) {
    return std::string_view(verb.name) < name;
}

static_assert(std::is_sorted(std::begin(kVerbs), std::end(kVerbs),
                             [](const Verb& a, const Verb& b) { return by_name(a, b.name); }));

}  // namespace

std::span<const Verb> verbs() {
    return kVerbs;
}

const Verb* find_verb(std::string_view name) {
    const auto* verb = std::lower_bound(std::begin(kVerbs), std::end(kVerbs), name, by_name);
    return verb != std::end(kVerbs) && name == verb->name ? verb : nullptr;
}

}  // namespace belay::entry
