// Entry functions of flows: decode, call the operation, encode.
#include "ops/flow/flow.hpp"

#include "entry/answers.hpp"
#include "entry/verbs.hpp"
#include "ops/input.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::entry {

Datum create_flow(const Call& call) {
    auto clock = call.clock(1);
    const auto created = ops::create_flow(call.tables, call.jsonb(0), &clock);
    return answer_row(call, [&created](Datum* values, bool*) {
        values[0] = uuid_datum(created.flow.id);
        values[1] = pg::text_datum(core::name_of(created.flow.state));
        values[2] = Int64GetDatum(created.flow.revision);
        values[3] = BoolGetDatum(created.created);
        values[4] = pg::jsonb_datum(created.task_ids);
    });
}

Datum add_task_to_flow(const Call& call) {
    auto clock = call.unchecked_clock(3);
    const auto added = ops::add_task_to_flow(call.tables, call.required_uuid(0, "p_flow_id"),
                                             call.jsonb(1), call.int8(2), &clock);
    return answer_row(call, [&added](Datum* values, bool*) {
        values[0] = CStringGetTextDatum(added.added ? "added" : "already_member");
        values[1] = uuid_datum(added.id);
        values[2] = pg::text_datum(core::name_of(added.state));
        values[3] = Int64GetDatum(added.revision);
        values[4] = Int64GetDatum(added.members);
    });
}

Datum add_edge(const Call& call) {
    const auto pass_as = call.text(3);
    if (pass_as) {
        (void)ops::checked_word("p_pass_as", *pass_as);
    }
    auto clock = call.unchecked_clock(5);
    const auto added = ops::add_edge(
        call.tables, call.required_uuid(0, "p_flow_id"), call.required_uuid(1, "p_upstream_id"),
        call.required_uuid(2, "p_downstream_id"), pass_as, call.int8(4), &clock);
    return answer_row(call, [&added](Datum* values, bool*) {
        values[0] = CStringGetTextDatum("added");
        values[1] = pg::text_datum(core::name_of(added.edge));
        values[2] = pg::text_datum(core::name_of(added.downstream));
        values[3] = Int32GetDatum(added.unsatisfied);
        values[4] = Int64GetDatum(added.revision);
    });
}

Datum set_join(const Call& call) {
    const auto result =
        ops::set_join(call.tables, call.required_uuid(0, "p_flow_id"),
                      call.required_uuid(1, "p_task_id"), call.jsonb(2), call.int8(3));
    return answer_row(call, [&result](Datum* values, bool*) {
        values[0] = CStringGetTextDatum(result.set ? "set" : "already_set");
        values[1] = Int64GetDatum(result.revision);
    });
}

Datum seal_flow(const Call& call) {
    auto clock = call.unchecked_clock(2);
    const auto sealed =
        ops::seal_flow(call.tables, call.required_uuid(0, "p_flow_id"), call.int8(1), &clock);
    return answer_row(call, [&sealed](Datum* values, bool*) {
        values[0] = pg::text_datum(core::name_of(sealed.state));
        values[1] = Int64GetDatum(sealed.revision);
    });
}

Datum cancel_flow(const Call& call) {
    const auto word = call.text(2).value_or("cancel_all");
    const auto policy = core::parse_cancel_policy(word);
    if (!policy) {
        pg::raise(pg::kInvalidArgument, psprintf("unrecognized policy \"%s\"", pg::excerpt(word)),
                  pg::Facts("bad_value").add("path", "p_policy").add("value", word),
                  "Policies are cancel_all, cancel_pending and flow_only.");
    }
    const ops::CancelFlowRequest request{
        .reason = ops::clip(call.text(1).value_or(""), ops::kMaxMessage),
        .policy = *policy,
        .grace_ms = ops::checked_delay("p_grace_ms", call.int8(3)).value_or(0),
        .requester = ops::clip(call.text(4).value_or(""), ops::kMaxMessage)};
    auto clock = call.unchecked_clock(5);
    const auto cancelled =
        ops::cancel_flow(call.tables, call.required_uuid(0, "p_flow_id"), request, &clock);
    return answer_row(call, [&cancelled](Datum* values, bool* nulls) {
        values[0] = CStringGetTextDatum(cancelled.cancelled ? "cancelled" : "already_terminal");
        nulls[1] = !cancelled.policy;
        values[1] = cancelled.policy ? pg::text_datum(core::name_of(*cancelled.policy)) : 0;
        nulls[2] = !cancelled.reason;
        values[2] = cancelled.reason ? pg::text_datum(*cancelled.reason) : 0;
        values[3] = Int64GetDatum(cancelled.member_count);
        values[4] = store::make_array_of<pg_uuid_t>(cancelled.members).value;
    });
}

Datum ack_cancel_member(const Call& call) {
    ops::ack_cancel_member(call.tables, call.required_uuid(0, "p_flow_id"),
                           call.required_uuid(1, "p_task_id"));
    return call.nothing();
}

Datum delete_flow(const Call& call) {
    return BoolGetDatum(ops::delete_flow(call.tables, call.required_uuid(0, "p_flow_id")));
}

Datum get_flow(const Call& call) {
    const auto id = call.uuid(0);
    Jsonb* flow = id ? ops::get_flow(call.tables, *id, call.text(1)) : nullptr;
    return answer_jsonb(call, flow);
}

Datum list_flows(const Call& call) {
    const auto filter = ops::checked_object("p_filter", call.jsonb(0));
    call.set().add_rows(ops::list_flows(call.tables, filter, call.uuid(1), page_limit(call, 2)));
    return call.nothing();
}

Datum upstream_results(const Call& call) {
    const auto set = call.set();
    if (const auto id = call.uuid(0)) {
        set.add_rows(ops::upstream_results(call.tables, *id));
    }
    return call.nothing();
}

}  // namespace belay::entry
