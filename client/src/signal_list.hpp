// Signals as the server sends them in JSON.
#pragma once

#include <vector>

#include "belay/suspensions.hpp"

namespace belay {

// Members of a JSON object of the server; none if missing or null.
std::optional<Json> json_member(const Json& object, const char* key);
OptionalText text_member(const Json& object, const char* key);

// The elements of an array of signals. One that is not whole says behind which number the others
// come.
struct SignalList {
    std::vector<Signal> signals;
    OptionalNumber cut_after;
};
SignalList signals_of(const Json& array);

// All signals behind a number, page by page.
std::vector<Signal> signals_behind(Hub& hub, const Uuid& task_id, std::int64_t after, Where where);

}  // namespace belay
