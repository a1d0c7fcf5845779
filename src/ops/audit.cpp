// audit.cpp — what operators did, with who did it and why.
//
// Calls    store::write_event
// Touches  <hub>.outbox_events
// Locks    nothing
// Raises   nothing itself
#include "ops/audit.hpp"

#include "pg/clock.hpp"
#include "pg/settings.hpp"

namespace belay::ops {

void add_actor(store::Details* details, std::optional<std::string_view> reason) {
    const auto name_of = [](Oid role) {
        const char* name = GetUserNameFromId(role, true);
        return name == nullptr ? std::nullopt : std::optional(std::string_view(name));
    };
    const auto given = [](const char* text) {
        return text == nullptr || text[0] == '\0' ? std::nullopt
                                                  : std::optional(std::string_view(text));
    };
    details->add("by", name_of(GetSessionUserId()))
        .add("as", name_of(GetOuterUserId()))
        .add("via", given(application_name))
        .add("reason", reason && !reason->empty() ? reason : given(pg::settings.reason));
}

void emit_operator_event(const store::Hub& hub, const Deed& deed, int64 now) {
    if (!store::wants_event(hub, deed.event)) {
        return;
    }
    store::Details details = deed.details;
    add_actor(&details, deed.reason);
    store::write_event(hub, deed.event, deed.subject, details, now);
}

void emit_operator_event(const store::Hub& hub, const Deed& deed) {
    emit_operator_event(hub, deed, pg::server_now_ms());
}

}  // namespace belay::ops
