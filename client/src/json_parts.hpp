// The parts of JSON text, each as it is spelt: numbers that no double can hold stay what they are.
#pragma once

#include <string_view>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

// The elements of an array that the server has sent. Throws Error if it is none.
std::vector<std::string_view> array_parts(std::string_view array);

}  // namespace belay
