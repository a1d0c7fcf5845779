// The clock of this machine, as this program sees it: the tests may set it wrong. Servers are other
// programs and see the right one.
#pragma once

#include <atomic>
#include <cstdint>

namespace belay::test {

extern std::atomic<std::int64_t> skew_seconds;

}  // namespace belay::test
