// Flows: graphs of tasks.
#include "belay/flows.hpp"

#include "rows.hpp"
#include "task_json.hpp"

namespace belay {
namespace {

Json json_of_join(const FlowJoin& join) {
    Json object = {{"kind", text_of(join.kind)}};
    put(object, "k", join.k);
    put(object, "on_satisfied", text_of(join.on_satisfied));
    return object;
}

// The task's fields, and those of a member.
Json item_json(const FlowItem& item) {
    Json object = task_json(item.task);
    object["key"] = item.key;
    object["hold"] = item.hold;
    object["after"] = Json::array();
    for (const auto& edge : item.after) {
        Json upstream = {{"key", edge.key}};
        put(upstream, "pass_as", edge.pass_as);
        object["after"].push_back(std::move(upstream));
    }
    if (item.join) {
        object["join"] = json_of_join(*item.join);
    }
    return object;
}

Json flow_json(const NewFlow& flow) {
    Json object = {{"kind", flow.kind},
                   {"fail_policy", text_of(flow.fail_policy)},
                   {"seal", flow.seal},
                   {"tasks", Json::array()}};
    if (flow.id) {
        object["flow_id"] = flow.id->text();
    }
    put(object, "tags", flow.headers);
    for (const auto& item : flow.tasks) {
        object["tasks"].push_back(item_json(item));
    }
    return object;
}

void read_created_flow(Reader& from, CreatedFlow& to) {
    std::optional<Json> task_ids;
    from >> to.id >> to.state >> to.revision >> to.created >> task_ids;
    const Json by_key = task_ids.value_or(Json::object());
    for (const auto& [key, id] : by_key.items()) {
        to.task_ids.emplace(key, Uuid(id.get<std::string>()));
    }
}

void read_added(Reader& from, AddedTask& to) {
    std::string result;
    from >> result >> to.id >> to.state >> to.revision >> to.node_count;
    to.added = result == "added";
}

}  // namespace

Json FlowFilter::json() const {
    Json object = Json::object();
    put(object, "kind", kind);
    put(object, "tags", headers);
    put(object, "created_from_ms", count_of(created_from));
    put(object, "created_to_ms", count_of(created_before));
    for (const auto state : states) {
        object["state"].push_back(text_of(state));
    }
    return object;
}

// ---- Building. ----

CreatedFlow Flows::create(const NewFlow& flow, Where where) {
    return first_row<CreatedFlow>(hub().call(flow.id ? Effect::kRepeatable : Effect::kWrite, kAll,
                                             "create_flow", {flow_json(flow), hub().now()}, where),
                                  read_created_flow)
        .value();
}

AddedTask Flows::add_task(const Uuid& flow_id, const FlowItem& item,
                          OptionalNumber expected_revision, Where where) {
    return first_row<AddedTask>(
               hub().call(Effect::kWrite, kAll, "add_task_to_flow",
                          {flow_id, item_json(item), expected_revision, hub().now()}, where),
               read_added)
        .value();
}

AddedTask Flows::add_task(const Uuid& flow_id, const Uuid& task_id,
                          OptionalNumber expected_revision, Where where) {
    // A second run finds the member, but not the revision.
    return first_row<AddedTask>(hub().call(expected_revision ? Effect::kWrite : Effect::kRepeatable,
                                           kAll, "add_task_to_flow",
                                           {flow_id, Json{{"task_id", task_id.text()}},
                                            expected_revision, hub().now()},
                                           where),
                                read_added)
        .value();
}

AddedEdge Flows::add_edge(const Uuid& flow_id, const Uuid& upstream_id, const Uuid& downstream_id,
                          const OptionalText& pass_as, OptionalNumber expected_revision,
                          Where where) {
    return first_row<AddedEdge>(hub().call(Effect::kWrite, kAll, "add_edge",
                                           {flow_id, upstream_id, downstream_id, pass_as,
                                            expected_revision, hub().now()},
                                           where),
                                [](Reader& from, AddedEdge& to) {
                                    std::string result;  // "added"; otherwise the call fails
                                    from >> result >> to.edge_state >> to.downstream_state >>
                                        to.unsatisfied >> to.revision;
                                })
        .value();
}

SetJoin Flows::set_join(const Uuid& flow_id, const Uuid& task_id, const FlowJoin& join,
                        OptionalNumber expected_revision, Where where) {
    return first_row<SetJoin>(
               hub().call(Effect::kWrite, kAll, "set_join",
                          {flow_id, task_id, json_of_join(join), expected_revision}, where),
               [](Reader& from, SetJoin& to) {
                   std::string result;
                   from >> result >> to.revision;
                   to.set = result == "set";
               })
        .value();
}

SealedFlow Flows::seal(const Uuid& flow_id, OptionalNumber expected_revision, Where where) {
    return first_row<SealedFlow>(
               hub().call(Effect::kWrite, kAll, "seal_flow",
                          {flow_id, expected_revision, hub().now()}, where),
               [](Reader& from, SealedFlow& to) { from >> to.state >> to.revision; })
        .value();
}

// ---- Steering. ----

CancelledFlow Flows::cancel(const Uuid& flow_id, const FlowCancel& cancel, Where where) {
    return first_row<CancelledFlow>(
               hub().call(Effect::kRepeatable,
                          "result, cancellation_policy, reason, member_count, "
                          "array_to_string(member_ids, ',')",
                          "cancel_flow",
                          {flow_id, cancel.reason, text_of(cancel.policy), count_of(cancel.grace),
                           cancel.requester, hub().now()},
                          where),
               [](Reader& from, CancelledFlow& to) {
                   OptionalText ids;
                   std::string result;
                   from >> result >> to.policy >> to.reason >> to.member_count >> ids;
                   to.cancelled = result == "cancelled";
                   to.member_ids = ids_of(ids.value_or(""));
               })
        .value();
}

void Flows::ack_cancel(const Uuid& flow_id, const Uuid& task_id, Where where) {
    try {
        hub().call(Effect::kAck, kAll, "ack_cancel_member", {flow_id, task_id}, where);
    } catch (const Error& error) {
        if (!was_done_before(error)) {
            throw;
        }
    }
}

bool Flows::remove(const Uuid& flow_id, Where where) {
    return hub().call(Effect::kWrite, kAll, "delete_flow", {flow_id}, where).get<bool>(0, 0);
}

// ---- Reading. ----

std::optional<Json> Flows::get(const Uuid& flow_id, Where where) {
    return hub()
        .call(Effect::kRepeatable, kAll, "get_flow", {flow_id}, where)
        .get<std::optional<Json>>(0, 0);
}

std::vector<FlowInfo> Flows::list(const FlowFilter& filter, Where where) {
    return all_rows<FlowInfo>(
        hub().call(Effect::kRepeatable, kAll, "list_flows",
                   {filter.json(), filter.after, filter.limit}, where),
        [](Reader& from, FlowInfo& to) {
            from >> to.id >> to.kind >> to.state >> to.sealed >> to.revision >> to.fail_policy >>
                to.member_count >> to.open_count >> to.edge_count >> to.headers >>
                to.cancel_reason >> to.created_at >> to.updated_at >> to.ended_at;
        });
}

std::vector<UpstreamResult> Flows::upstream_results(const Uuid& task_id, Where where) {
    return all_rows<UpstreamResult>(
        hub().call(Effect::kRepeatable, kAll, "upstream_results", {task_id}, where),
        [](Reader& from, UpstreamResult& to) {
            from >> to.task_id >> to.key >> to.pass_as >> to.state >> to.result;
        });
}

}  // namespace belay
