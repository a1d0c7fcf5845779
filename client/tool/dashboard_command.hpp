// The commands of the web interface.
#pragma once

#include "tool.hpp"

namespace belay::tool {

void add_dashboard(CLI::App& app, Tool& tool);
void add_demo_load(CLI::App& app, Tool& tool);

}  // namespace belay::tool
