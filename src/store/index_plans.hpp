// Keeps the plans of store statements on their indexes.
#pragma once

#include <string_view>

namespace belay::store {

// Store statements that are to be planned for their indexes begin with this; the planner hook knows
// them by it.
inline constexpr std::string_view kForIndexes = "/*belay*/ ";

// Installs the planner hook.
void keep_plans_on_indexes();

}  // namespace belay::store
