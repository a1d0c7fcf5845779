// Table outbox_events: events for subscribers.
//
// Touches  nothing: constants only
#pragma once

#include "pg/datum.hpp"
#include "store/table/shape.hpp"

namespace belay::store::outbox {

inline constexpr Column<INT4OID> kIncarnation{1, "incarnation"};
inline constexpr Column<INT8OID> kPosition{2, "position"};
inline constexpr Column<XID8OID> kXid{3, "xid"};
inline constexpr Column<TEXTOID> kTopic{4, "topic"};
inline constexpr Column<TEXTOID> kType{5, "type"};
inline constexpr Column<TEXTOID, kNullable> kSubject{6, "subject"};
inline constexpr Column<JSONBOID> kDetails{7, "details"};
inline constexpr Column<INT8OID> kOccurredAt{8, "occurred_at_ms"};
inline constexpr auto kColumns =
    in_order(kIncarnation, kPosition, kXid, kTopic, kType, kSubject, kDetails, kOccurredAt);

inline constexpr IndexShape kIndexes[] = {
    {"outbox_events_pkey", true, nullptr, nullptr, 2, {kIncarnation, kPosition}},
    {"outbox_operator",
     false,
     "(topic = 'operator'::text)",
     [](const Datum* values, const bool*) {
         return pg::text_view(values[kTopic - 1]) == "operator";
     },
     3,
     {kSubject, kIncarnation, kPosition}},
};

inline constexpr TableShape kTable{
    "outbox_events", &Relations::outbox_events, kColumns, {}, kIndexes};

}  // namespace belay::store::outbox
