// The entry functions of all verbs: decode, call the operation, encode.
#pragma once

#include "entry/call.hpp"

namespace belay::entry {

Datum pause_hub(const Call& call);
Datum resume_hub(const Call& call);

}  // namespace belay::entry
