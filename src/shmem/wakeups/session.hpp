// What a session remembers of its waits, for the files of this folder.
#pragma once

#include "shmem/wakeups/channels.hpp"

namespace belay::wakeups {

// A wait has reported an owner's channel up to that version. The lowest version counts: what came
// after it was not reported.
void remember_reported(const Channel& channel, uint64 version);

}  // namespace belay::wakeups
