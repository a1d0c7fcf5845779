// The calls of a hub that are about flows.
#include <nlohmann/json.hpp>

#include "belay/hub.hpp"
#include "rows.hpp"
#include "task_text.hpp"

namespace belay {
namespace {

using nlohmann::json;

json json_of_join(const FlowJoin& join) {
    json object = {{"kind", join.kind}};
    put(object, "k", join.k);
    put(object, "on_satisfied", join.on_satisfied);
    return object;
}

json json_of_edges(const std::vector<FlowEdge>& edges) {
    json array = json::array();
    for (const auto& edge : edges) {
        json object = {{"key", edge.key}};
        put(object, "pass_as", edge.pass_as);
        array.push_back(std::move(object));
    }
    return array;
}

// The task's fields, and those of a member.
std::string item_text(const FlowItem& item, const Where& where) {
    std::string text = task_text(item.task, where);
    append_json(text, "key", dumped(item.key, where), where);
    append_json(text, "after", dumped(json_of_edges(item.after), where), where);
    if (item.join) {
        append_json(text, "join", dumped(json_of_join(*item.join), where), where);
    }
    append_json(text, "hold", item.hold ? "true" : "false", where);
    return text;
}

std::string flow_text(const NewFlow& flow, const Where& where) {
    json object = {{"kind", flow.kind}, {"fail_policy", flow.fail_policy}, {"seal", flow.seal}};
    put(object, "flow_id", flow.flow_id);
    std::string text = dumped(object, where);
    append_json(text, "tags", flow.tags, where);
    text.back() = ',';
    text += "\"tasks\":[";
    for (const auto& item : flow.tasks) {
        text.append(&item == flow.tasks.data() ? "" : ",").append(item_text(item, where));
    }
    return text + "]}";
}

void read_created(Reader& from, CreatedFlow& to) {
    OptionalText task_ids;
    from >> to.flow_id >> to.state >> to.graph_revision >> to.created >> task_ids;
    if (task_ids) {
        to.task_ids = json::parse(*task_ids).get<std::map<std::string, std::string>>();
    }
}

void read_added(Reader& from, AddedTask& to) {
    from >> to.result >> to.task_id >> to.state >> to.graph_revision >> to.node_count;
}

}  // namespace

// ---- Building. ----

CreatedFlow Hub::create_flow(const NewFlow& flow, Where where) {
    return first_row<CreatedFlow>(
               call(flow.flow_id ? Effect::kRepeatable : Effect::kWrite, kAll, "create_flow",
                    {Json{flow_text(flow, where)}, clock_()}, where),
               read_created)
        .value();
}

AddedTask Hub::add_task_to_flow(std::string_view flow_id, const FlowItem& item,
                                OptionalNumber expected_revision, Where where) {
    return first_row<AddedTask>(
               call(Effect::kWrite, kAll, "add_task_to_flow",
                    {uuid_of(flow_id), Json{item_text(item, where)}, expected_revision, clock_()},
                    where),
               read_added)
        .value();
}

AddedTask Hub::add_task_to_flow(std::string_view flow_id, std::string_view task_id,
                                OptionalNumber expected_revision, Where where) {
    // A second run finds the member, but not the revision.
    return first_row<AddedTask>(call(expected_revision ? Effect::kWrite : Effect::kRepeatable, kAll,
                                     "add_task_to_flow",
                                     {uuid_of(flow_id), Json{dumped({{"task_id", task_id}}, where)},
                                      expected_revision, clock_()},
                                     where),
                                read_added)
        .value();
}

AddedEdge Hub::add_edge(std::string_view flow_id, std::string_view upstream_id,
                        std::string_view downstream_id, const OptionalText& pass_as,
                        OptionalNumber expected_revision, Where where) {
    return first_row<AddedEdge>(call(Effect::kWrite, kAll, "add_edge",
                                     {uuid_of(flow_id), uuid_of(upstream_id),
                                      uuid_of(downstream_id), pass_as, expected_revision, clock_()},
                                     where),
                                [](Reader& from, AddedEdge& to) {
                                    from >> to.result >> to.edge_state >> to.downstream_state >>
                                        to.unsatisfied >> to.graph_revision;
                                })
        .value();
}

SetJoin Hub::set_join(std::string_view flow_id, std::string_view task_id, const FlowJoin& join,
                      OptionalNumber expected_revision, Where where) {
    return first_row<SetJoin>(
               call(Effect::kWrite, kAll, "set_join",
                    {uuid_of(flow_id), uuid_of(task_id), Json{dumped(json_of_join(join), where)},
                     expected_revision},
                    where),
               [](Reader& from, SetJoin& to) { from >> to.result >> to.graph_revision; })
        .value();
}

SealedFlow Hub::seal_flow(std::string_view flow_id, OptionalNumber expected_revision, Where where) {
    return first_row<SealedFlow>(
               call(Effect::kWrite, kAll, "seal_flow",
                    {uuid_of(flow_id), expected_revision, clock_()}, where),
               [](Reader& from, SealedFlow& to) { from >> to.state >> to.graph_revision; })
        .value();
}

// ---- Steering. ----

CancelledFlow Hub::cancel_flow(std::string_view flow_id, const FlowCancel& cancel, Where where) {
    return first_row<CancelledFlow>(call(Effect::kRepeatable,
                                         "result, cancellation_policy, reason, member_count, "
                                         "array_to_string(member_ids, ',')",
                                         "cancel_flow",
                                         {uuid_of(flow_id), cancel.reason, cancel.policy,
                                          count_of(cancel.grace), cancel.requester, clock_()},
                                         where),
                                    [](Reader& from, CancelledFlow& to) {
                                        OptionalText ids;
                                        from >> to.result >> to.cancellation_policy >> to.reason >>
                                            to.member_count >> ids;
                                        to.member_ids = ids_of(ids.value_or(""));
                                    })
        .value();
}

void Hub::ack_cancel_member(std::string_view flow_id, std::string_view task_id, Where where) {
    call(Effect::kRepeatable, kAll, "ack_cancel_member", {uuid_of(flow_id), uuid_of(task_id)},
         where);
}

bool Hub::delete_flow(std::string_view flow_id, Where where) {
    return call(Effect::kWrite, kAll, "delete_flow", {uuid_of(flow_id)}, where).get<bool>(0, 0);
}

// ---- Reading. ----

OptionalText Hub::get_flow(std::string_view flow_id, Where where) {
    return call(Effect::kRepeatable, kAll, "get_flow", {uuid_of(flow_id)}, where)
        .get<OptionalText>(0, 0);
}

std::vector<FlowInfo> Hub::list_flows(std::string_view filter, const OptionalText& after, int limit,
                                      Where where) {
    return all_rows<FlowInfo>(
        call(Effect::kRepeatable, kAll, "list_flows",
             {Json{std::string(filter)}, optional_uuid(after), limit}, where),
        [](Reader& from, FlowInfo& to) {
            from >> to.flow_id >> to.kind >> to.state >> to.sealed >> to.graph_revision >>
                to.fail_policy >> to.member_count >> to.open_count >> to.edge_count >> to.tags >>
                to.cancel_reason >> to.created_at_ms >> to.updated_at_ms >> to.terminal_at_ms;
        });
}

std::vector<UpstreamResult> Hub::upstream_results(std::string_view task_id, Where where) {
    return all_rows<UpstreamResult>(
        call(Effect::kRepeatable, kAll, "upstream_results", {uuid_of(task_id)}, where),
        [](Reader& from, UpstreamResult& to) {
            from >> to.task_id >> to.key >> to.pass_as >> to.state >> to.result;
        });
}

}  // namespace belay
