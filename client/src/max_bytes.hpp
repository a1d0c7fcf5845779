// The size of the largest value of a statement. For connection.cpp and connection_values.cpp.
#pragma once

#include <cstddef>

namespace belay {

// libpq counts bytes in an int, and the server takes no value of 1 GiB.
constexpr std::size_t kMaxBytes = (std::size_t{1} << 30) - 1;

}  // namespace belay
