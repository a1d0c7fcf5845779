// Entry functions of suspensions: decode, call the operation, encode.
#include "ops/suspension/suspension.hpp"

#include "entry/task_call.hpp"
#include "entry/verbs.hpp"
#include "ops/input.hpp"

namespace belay::entry {

namespace {

constexpr int32 kMaxPage = 1000;

std::string_view required_secret(const Call& call, int i) {
    if (!call.has(i)) {
        refuse_null("p_secret");
    }
    const bytea* secret = DatumGetByteaPP(call.fcinfo->args[i].value);
    return {VARDATA_ANY(secret), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(secret))};
}

Datum answer_delivered(const Call& call, const ops::DeliveredSignal& delivered) {
    return answer_row(call, [&delivered](Datum* values, bool* nulls) {
        values[0] = CStringGetTextDatum(delivered.result);
        values[1] = delivered.effect == nullptr ? 0 : CStringGetTextDatum(delivered.effect);
        values[2] = state_datum(delivered.state);
        nulls[1] = delivered.effect == nullptr;
    });
}

}  // namespace

Datum suspend_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = lease_fence(call, 1);
    const auto suspension = ops::checked_object(
        "p_suspension", ops::checked_body(call.tables, "p_suspension", call.jsonb(2)));
    auto clock = call.unchecked_clock(3);
    const auto suspended = ops::suspend_task(call.tables, id, fence, suspension, &clock);
    return answer_row(call, [&suspended](Datum* values, bool* nulls) {
        values[0] = CStringGetTextDatum(suspended.result);
        nulls[1] = !suspended.suspension_id;
        values[1] = suspended.suspension_id ? uuid_datum(*suspended.suspension_id) : 0;
        values[2] = pg::jsonb_datum(suspended.waitpoints);
    });
}

Datum create_waitpoint(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto fence = lease_fence(call, 1);
    const auto key = ops::checked_word("p_key", call.required_text(2, "p_key"));
    const auto expires_in =
        call.has(3) ? std::optional(ops::checked_timeout("p_expires_in_ms", call.int8(3)))
                    : std::nullopt;
    auto clock = call.unchecked_clock(4);
    const auto made = ops::create_waitpoint(call.tables, id, fence, key, expires_in, &clock);
    return answer_row(call, [&made](Datum* values, bool*) {
        values[0] = uuid_datum(made.id);
        values[1] = CStringGetTextDatum(made.token);
    });
}

Datum deliver_signal(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const pg_uuid_t waitpoint = call.required_uuid(1, "p_waitpoint_id");
    const auto signal =
        ops::read_signal(call.tables, ops::checked_object("p_signal", call.jsonb(3)));
    auto clock = call.unchecked_clock(4);
    return answer_delivered(
        call, ops::deliver_signal(call.tables, id, waitpoint, call.text(2), signal, &clock));
}

Datum approve_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const pg_uuid_t waitpoint = call.required_uuid(1, "p_waitpoint_id");
    ops::SignalRequest signal{};
    signal.name = ops::checked_word("p_name", call.required_text(2, "p_name"));
    signal.idempotency_key = call.text(3);
    if (signal.idempotency_key) {
        (void)ops::checked_word("p_idempotency", *signal.idempotency_key);
    }
    signal.source = "operator";
    auto clock = call.unchecked_clock(4);
    return answer_delivered(call, ops::approve_task(call.tables, id, waitpoint, signal, &clock));
}

Datum resume_task(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const auto trigger = ops::checked_word("p_trigger", call.text(1).value_or("operator"));
    const int64 delay = ops::checked_delay("p_delay_ms", call.int8(2)).value_or(0);
    auto clock = call.unchecked_clock(3);
    return answer_requeued(call, ops::resume_task(call.tables, id, trigger, delay, &clock));
}

Datum list_waitpoints(const Call& call) {
    constexpr int kHash = 5;
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const int limit = ops::checked_limit("p_limit", call.int4(2), 100, kMaxPage);
    const auto set = call.set();
    const auto [rows, hashes] = ops::list_waitpoints(call.tables, id, call.uuid(1), limit);
    Datum values[rows.kMostColumns];
    bool nulls[rows.kMostColumns];
    if (rows.count > 0) {
        rows.check(set.row);
    }
    for (uint64 at = 0; at < rows.count; ++at) {
        rows.get(at, values, nulls);
        const char* hash = hashes[static_cast<std::size_t>(at)];
        nulls[kHash] = hash == nullptr;
        values[kHash] = hash == nullptr ? 0 : CStringGetTextDatum(hash);
        set.add(values, nulls);
    }
    return call.nothing();
}

Datum list_signals(const Call& call) {
    const pg_uuid_t id = call.required_uuid(0, "p_task_id");
    const int limit = ops::checked_limit("p_limit", call.int4(2), 100, kMaxPage);
    const auto set = call.set();
    set.add_rows(ops::list_signals(call.tables, id, call.int8(1).value_or(0), limit));
    return call.nothing();
}

Datum seed_waitpoint_key(const Call& call) {
    const bool added = ops::seed_waitpoint_key(call.tables, call.required_text(0, "p_kid"),
                                               required_secret(call, 1));
    return call.answer(added ? "seeded" : "unchanged");
}

Datum rotate_waitpoint_key(const Call& call) {
    const auto grace = ops::checked_delay("p_grace_ms", call.int8(2));
    if (!grace) {
        refuse_null("p_grace_ms");
    }
    const bool added = ops::rotate_waitpoint_key(call.tables, call.required_text(0, "p_kid"),
                                                 required_secret(call, 1), *grace);
    return call.answer(added ? "rotated" : "unchanged");
}

}  // namespace belay::entry
