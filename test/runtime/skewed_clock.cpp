#include "skewed_clock.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace belay::test {

std::atomic<std::int64_t> skew_seconds = 0;

}  // namespace belay::test

// Stands before the C library's, for the C++ library and libpq, too.
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
    const int result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
    if (result == 0 && clock == CLOCK_REALTIME) {
        time->tv_sec += belay::test::skew_seconds;
    }
    return result;
}
