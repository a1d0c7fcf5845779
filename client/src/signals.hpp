// Signals as the server sends them.
#pragma once

#include <string_view>
#include <vector>

#include "belay/hub.hpp"

namespace belay {

// The elements of a JSON array of signals. One that is not whole says behind which number the
// others come.
struct SignalList {
    std::vector<Signal> signals;
    OptionalNumber cut_after;
};
SignalList signals_of(std::string_view array);

// All signals behind a number, page by page.
std::vector<Signal> signals_behind(Hub& hub, std::string_view task_id, std::int64_t after,
                                   Where where);

}  // namespace belay
