// An Interrupt: a pipe that a thread writes to, so that another one stops waiting.
//
// May touch: its pipe. Must not: throw or wait once it is made; signal() is called by any thread.
#include "belay/connection.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace belay {

Interrupt::Interrupt() {
    int ends[2];
    if (::pipe(ends) != 0) {
        throw Error({.message = "cannot make a pipe"});
    }
    read_ = ends[0];
    write_ = ends[1];
    for (const int end : ends) {
        ::fcntl(end, F_SETFL, O_NONBLOCK);
        ::fcntl(end, F_SETFD, FD_CLOEXEC);
    }
}

Interrupt::~Interrupt() {
    ::close(read_);
    ::close(write_);
}

void Interrupt::signal() noexcept {
    // A full pipe is signalled enough.
    [[maybe_unused]] const auto written = ::write(write_, "", 1);
}

void Interrupt::reset() noexcept {
    char buffer[64];
    while (::read(read_, buffer, sizeof buffer) > 0) {
    }
}

}  // namespace belay
