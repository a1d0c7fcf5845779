// What the command cancel needs of the commands about flows.
#pragma once

#include "tool.hpp"

namespace belay::tool {

void cancel_flow(Tool& tool, const std::string& id, const FlowCancel& cancel);

}  // namespace belay::tool
