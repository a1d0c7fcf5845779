// Signals as the server sends them.
#pragma once

#include <string_view>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

// The elements of a JSON array of signals.
std::vector<Signal> signals_of(std::string_view array);

}  // namespace belay
