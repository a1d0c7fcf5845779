// What operators did, for those who ask later.
//
// Touches  nothing: declarations only
#pragma once

#include "core/events.hpp"
#include "store/outbox.hpp"

namespace belay::ops {

// Adds who acts (by: session user; as: the role that was set; via: application_name) and why: the
// reason of the call, or else setting belay.reason.
void add_actor(store::Details* details, std::optional<std::string_view> reason = std::nullopt);

struct Deed {
    int event;  // core::event_place of topic operator
    std::optional<std::string_view> subject;
    store::Details details = {};
    std::optional<std::string_view> reason = std::nullopt;  // of the call
};

// Writes the event of a call that has changed something, if the hub writes events of this kind.
void emit_operator_event(const store::Hub& hub, const Deed& deed, int64 now);

// The same at this moment.
void emit_operator_event(const store::Hub& hub, const Deed& deed);

}  // namespace belay::ops
