#include "store/fast/outbox.hpp"

#include "store/fast/columns.hpp"
#include "store/fast/lend.hpp"

namespace belay::store::direct {

bool try_insert_event(const Hub& hub, const EventRow& event) {
    return writing(hub, pg::FaultPoint::kFastpathEvent, DirectId::kOutboxEvents,
                   [&](DirectTable& table) {
                       NewRow row;
                       row.int4(outbox::kIncarnation, hub.incarnation)
                           .int8(outbox::kPosition, event.position)
                           .set(outbox::kXid,
                                UInt64GetDatum(U64FromFullTransactionId(GetTopFullTransactionId())))
                           .text(outbox::kTopic, event.topic)
                           .text(outbox::kType, event.type)
                           .text(outbox::kSubject, event.subject)
                           .set(outbox::kDetails, event.details)
                           .int8(outbox::kOccurredAt, event.occurred_at);
                       (void)insert_row(&table, &row);
                       return true;
                   })
        .value_or(false);
}

}  // namespace belay::store::direct
