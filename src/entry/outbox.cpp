// Entry functions of the outbox: decode, call the operation, encode.
#include "ops/outbox/outbox.hpp"

#include "entry/verbs.hpp"
#include "pg/boundary.hpp"
#include "pg/datum.hpp"
#include "pg/scopes.hpp"
#include "shmem/event_writers.hpp"

namespace belay::entry {

namespace {

void add_events(const Call::Set& set, const store::EventRows& events, bool by_xid, int64 lease) {
    for (const auto& [incarnation, position, xid, topic, type, subject, details, occurred_at] :
         events) {
        char upto[core::kEventPlaceChars];
        core::encode(core::EventPlace{.lease = lease,
                                      .incarnation = incarnation,
                                      .position = position,
                                      .xid = xid.value,
                                      .by_xid = by_xid},
                     upto);
        const Datum values[] = {
            CStringGetTextDatum(psprintf("%d-" INT64_FORMAT, incarnation, position)),
            pg::text_datum(topic),
            pg::text_datum(type),
            subject ? pg::text_datum(*subject) : 0,
            details.value,
            Int64GetDatum(occurred_at),
            PointerGetDatum(cstring_to_text_with_len(upto, sizeof upto))};
        const bool nulls[] = {false, false, false, !subject, false, false, false};
        set.add(values, nulls);
    }
}

// The report of events that retention deleted before they were read, as an event of its own.
void add_lost(const Call::Set& set, const ops::EventBatch& batch, std::string_view subscription) {
    if (batch.lost == 0) {
        return;
    }
    char upto[core::kEventPlaceChars];
    core::encode(batch.lost_upto, upto);
    const auto details = store::Details()
                             .add("count", batch.lost)
                             .add("first_event_id", batch.lost_first)
                             .add("last_event_id", batch.lost_last);
    const Datum values[] = {pg::text_datum(batch.lost_last),
                            CStringGetTextDatum("outbox"),
                            CStringGetTextDatum("events_lost"),
                            pg::text_datum(subscription),
                            JsonbPGetDatum(details.jsonb()),
                            Int64GetDatum(batch.reported_at),
                            PointerGetDatum(cstring_to_text_with_len(upto, sizeof upto))};
    const bool nulls[7] = {};
    set.add(values, nulls);
}

}  // namespace

Datum create_subscription(const Call& call) {
    ops::create_subscription(call.tables, call.required_text(0, "p_subscription"),
                             call.has(1) ? std::optional(call.texts(1, "p_topics")) : std::nullopt,
                             call.required_text(2, "p_from"));
    return call.nothing();
}

Datum drop_subscription(const Call& call) {
    ops::drop_subscription(call.tables, call.required_text(0, "p_subscription"));
    return call.nothing();
}

Datum read_events(const Call& call) {
    const auto set = call.set();
    auto clock = call.clock(3);
    const auto name = call.required_text(0, "p_subscription");
    const auto batch = ops::read_events(call.tables, name, call.int4(1), call.int8(2), &clock);
    add_lost(set, batch, name);
    add_events(set, batch.old, false, batch.lease);
    add_events(set, batch.current, batch.by_xid, batch.lease);
    return call.nothing();
}

Datum ack_events(const Call& call) {
    auto clock = call.clock(2);
    ops::ack_events(call.tables, call.required_text(0, "p_subscription"),
                    call.required_text(1, "p_upto"), &clock);
    return call.nothing();
}

}  // namespace belay::entry

using namespace belay;

// Behind the view of subscriptions: what it reads of the hub is the owner's.
BELAY_FUNCTION(belay_event_horizon_pid) {
    const Oid table = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
    const store::Hub* hub = store::find_hub(get_rel_namespace(table), true);
    if (hub == nullptr || RecoveryInProgress()) {
        PG_RETURN_NULL();
    }
    const auto horizon = pg::as_role(hub->owner, [hub] {
        return event_writers::horizon(hub->schema, hub->relations.outbox_events_position);
    });
    const int32 pid =
        horizon.exact ? horizon.writer_pid : BackendXidGetPid(GetActiveSnapshot()->xmin);
    if (pid == 0) {
        PG_RETURN_NULL();
    }
    PG_RETURN_INT32(pid);
}
