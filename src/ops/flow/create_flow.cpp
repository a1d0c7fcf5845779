// create_flow.cpp — create a whole flow in one call.
//
// Calls    store::insert_flow, store::insert_members, store::insert_edges, store::insert_groups
// Touches  <hub>.flows, <hub>.tasks, <hub>.edges, <hub>.groups, <hub>.queues,
//          <hub>.capability_sets, <hub>.outbox_events
// Locks    queues and capability sets by key, then the flow
// Raises   QB006, QB007, QB014 duplicate edge or cycle, QB016 too many capability sets
#include <algorithm>

#include "ops/flow/items.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

constexpr std::size_t kMaxMembers = 10000;
constexpr std::size_t kMaxEdges = 100000;
constexpr const char* kFlowKeys[] = {"flow_id", "kind", "fail_policy", "tags", "seal", "tasks"};

struct FlowRequest {
    std::optional<pg_uuid_t> id;
    std::string_view kind;
    Jsonb* tags;
    bool fail_fast;
    bool seal;
    bool lists_tasks;
    std::span<const MemberItem> items;
};

std::span<const MemberItem> read_items(store::Tables& tables, json::Value flow) {
    const auto list = json::find(flow, "tasks");
    pg::List<MemberItem> items;
    if (!list || list->kind == json::Kind::kNull) {
        return items.span();
    }
    if (list->kind != json::Kind::kArray) {
        pg::raise_invalid("not_an_array", "p_flow.tasks", "p_flow.tasks must be an array",
                          "List the tasks of the flow.");
    }
    if (const std::size_t count = json::count(*list); count > kMaxMembers) {
        pg::raise(pg::kInvalidArgument, "a flow has at most 10000 tasks in one call",
                  pg::Facts("too_many")
                      .add("path", "p_flow.tasks")
                      .add("elements", static_cast<int64>(count)),
                  "Create it with seal false and add the rest.");
    }
    json::Elements elements(*list);
    json::Value element;
    for (std::size_t i = 0; elements.next(element); ++i) {
        items.add(read_member_item(tables, element, psprintf("p_flow.tasks[%zu]", i)));
        CHECK_FOR_INTERRUPTS();
    }
    return items.span();
}

// A list that a program has computed may be null: an aggregate over nothing is.
bool lists_tasks(json::Value flow) {
    return json::find(flow, "tasks").has_value();
}

FlowRequest read_flow_request(store::Tables& tables, Jsonb* value) {
    const auto flow = checked_object("p_flow", value);
    check_members(flow, "p_flow", kFlowKeys);
    const auto policy = optional_string(flow, "fail_policy", "p_flow").value_or("continue");
    if (policy != "continue" && policy != "fail_fast") {
        pg::raise(pg::kInvalidArgument,
                  psprintf("unrecognized p_flow.fail_policy \"%s\"", pg::excerpt(policy)),
                  pg::Facts("bad_value").add("path", "p_flow.fail_policy").add("value", policy),
                  "Policies are continue and fail_fast.");
    }
    Jsonb* tags = jsonb_member(flow, "tags");
    FlowRequest request{.id = optional_uuid(flow, "flow_id", "p_flow"),
                        .kind = optional_string(flow, "kind", "p_flow").value_or(""),
                        .tags = tags != nullptr ? tags : DatumGetJsonbP(pg::jsonb_datum("{}")),
                        .fail_fast = policy == "fail_fast",
                        .seal = optional_bool(flow, "seal", "p_flow").value_or(true),
                        .lists_tasks = lists_tasks(flow),
                        .items = {}};
    check_new_id("p_flow.flow_id", request.id);
    if (!request.kind.empty()) {
        (void)checked_word("p_flow.kind", request.kind);
    }
    check_tags("p_flow.tags", checked_body(tables, "p_flow.tags", request.tags));
    request.items = read_items(tables, flow);
    return request;
}

// ---- The graph, by the numbers of its tasks ----

struct Graph {
    std::span<const MemberItem> items;
    const int32* by_key;  // numbers of the items, sorted by key
    pg::List<core::GraphEdge> edges;
};

Graph sort_keys(std::span<const MemberItem> items) {
    auto* order = static_cast<int32*>(palloc(sizeof(int32) * (items.size() + 1)));
    for (std::size_t i = 0; i < items.size(); ++i) {
        order[i] = static_cast<int32>(i);
    }
    std::sort(order, order + items.size(),
              [items](int32 a, int32 b) { return items[a].key < items[b].key; });
    for (std::size_t i = 1; i < items.size(); ++i) {
        const MemberItem& item = items[order[i]];
        if (item.key == items[order[i - 1]].key) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("the key \"%s\" is used twice", pg::excerpt(item.key)),
                      pg::Facts("duplicate_key")
                          .add("path", psprintf("%s.key", item.request.path->text()))
                          .add("key", item.key),
                      "Choose another key: it must be unique within the flow.");
        }
    }
    return {items, order, {}};
}

int32 find_key(const Graph& graph, std::string_view key, const char* path) {
    const int32* end = graph.by_key + graph.items.size();
    const int32* found = std::lower_bound(
        graph.by_key, end, key,
        [&graph](int32 at, std::string_view wanted) { return graph.items[at].key < wanted; });
    if (found == end || graph.items[*found].key != key) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("%s names a task that does not exist: \"%s\"", path, pg::excerpt(key)),
                  pg::Facts("unknown_key").add("path", path).add("key", key),
                  "Pass the key of a task in the same flow.");
    }
    return *found;
}

void add_edges(Graph* graph, int32 downstream) {
    const MemberItem& item = graph->items[downstream];
    const char* path = psprintf("%s.after", item.request.path->text());
    for (const After& after : item.after) {
        if (after.key == item.key) {
            raise_self_edge(path, item.key);
        }
        graph->edges.add({find_key(*graph, after.key, path), downstream});
    }
    if (graph->edges.count > static_cast<int>(kMaxEdges)) {
        pg::raise(
            pg::kInvalidArgument, "a flow has at most 100000 edges in one call",
            pg::Facts("too_many").add("path", "p_flow.tasks").add("edges", graph->edges.count),
            "Put tasks in between that join many edges.");
    }
}

void check_quorum(const MemberItem& item, bool seal) {
    if (seal && item.join.kind == core::JoinKind::kQuorum &&
        item.join.k > static_cast<int32>(item.after.size())) {
        const char* path = psprintf("%s.join.k", item.request.path->text());
        pg::raise(pg::kInvalidArgument, psprintf("%s is more than the task has edges", path),
                  pg::Facts("out_of_range")
                      .add("path", path)
                      .add("value", item.join.k)
                      .add("edges", static_cast<int64>(item.after.size())),
                  "Pass a k that is at most the number of the task's edges.");
    }
}

void check_twice(const Graph& graph) {
    for (int i = 1; i < graph.edges.count; ++i) {
        const auto& [upstream, downstream] = graph.edges.items[i];
        const auto& before = graph.edges.items[i - 1];
        if (before.upstream == upstream && before.downstream == downstream) {
            raise_conflict("an edge is given twice",
                           pg::Facts("duplicate_edge")
                               .add("revision", int64{0})
                               .add("upstream", graph.items[upstream].key)
                               .add("downstream", graph.items[downstream].key),
                           "Give each edge only once.");
        }
    }
}

void check_acyclic(const Graph& graph) {
    const auto nodes = static_cast<int32>(graph.items.size());
    auto* scratch = static_cast<int32*>(palloc(sizeof(int32) * (3 * static_cast<Size>(nodes) + 1)));
    auto* cycle = static_cast<int32*>(palloc(sizeof(int32) * (static_cast<Size>(nodes) + 1)));
    const int32 length =
        core::find_cycle(nodes, graph.edges.items, graph.edges.count, scratch, cycle);
    if (length == 0) {
        return;
    }
    pg::List<std::string_view> keys;
    for (int32 i = 0; i < length; ++i) {
        keys.add(graph.items[cycle[i]].key);
    }
    raise_conflict("the tasks of the flow wait for each other in a circle",
                   pg::Facts("cycle").add("revision", int64{0}).add_list("keys", keys.span()),
                   "Remove one of the edges between these tasks.");
}

Graph read_graph(const FlowRequest& request) {
    Graph graph = sort_keys(request.items);
    for (std::size_t i = 0; i < request.items.size(); ++i) {
        add_edges(&graph, static_cast<int32>(i));
        check_quorum(request.items[i], request.seal);
    }
    std::sort(graph.edges.begin(), graph.edges.end(),
              [](const core::GraphEdge& a, const core::GraphEdge& b) {
                  return a.upstream != b.upstream ? a.upstream < b.upstream
                                                  : a.downstream < b.downstream;
              });
    check_twice(graph);
    check_acyclic(graph);
    return graph;
}

// ---- Writing ----

const char* ids_by_key(std::span<const store::MemberKey> keys) {
    StringInfo text = makeStringInfo();
    appendStringInfoChar(text, '{');
    for (const auto& [id, key] : keys) {
        if (key) {
            appendStringInfoString(text, text->len > 1 ? "," : "");
            append_json(text, *key);
            appendStringInfo(text, ":\"%s\"", store::uuid_text(id));
        }
    }
    appendStringInfoChar(text, '}');
    return text->data;
}

std::span<const store::NewMember> members_of(store::Tables& tables, const FlowRequest& request,
                                             int64 now) {
    pg::List<const TaskRequest*> requests;
    for (const MemberItem& item : request.items) {
        check_deadline(item.request, now);
        requests.add(&item.request);
    }
    const auto sets = prepare_queues(tables, requests.span(), now);
    pg::List<store::NewMember> members;
    for (std::size_t i = 0; i < request.items.size(); ++i) {
        MemberItem item = request.items[i];
        item.hold = item.hold && !request.seal;  // nothing would release it
        const pg_uuid_t id = item.request.id ? *item.request.id : make_id(now);
        members.add(new_member(item, id, sets[i], now));
    }
    return members.span();
}

void write_graph(store::Tables& tables, const pg_uuid_t& flow, const Graph& graph,
                 std::span<const store::NewMember> members, int64 now) {
    pg::List<store::NewEdge> edges;
    pg::List<store::Group> groups;
    for (std::size_t i = 0; i < graph.items.size(); ++i) {
        const MemberItem& item = graph.items[i];
        for (const After& after : item.after) {
            edges.add({members[static_cast<std::size_t>(find_key(graph, after.key, "after"))].id,
                       members[i].id, after.pass_as, core::EdgeState::kUnsatisfied});
        }
        if (!item.after.empty() || item.has_join) {
            groups.add({.downstream = members[i].id,
                        .join = item.join,
                        .counts = {static_cast<int32>(item.after.size()), 0, 0, 0},
                        .state = core::GroupState::kOpen,
                        .held = item.hold,
                        .waiting = members[i].state});
        }
    }
    store::insert_edges(tables, flow, edges.span(), now);
    store::insert_groups(tables, flow, groups.span(), now);
}

}  // namespace

CreatedFlow create_flow(store::Tables& tables, Jsonb* value, pg::Clock* clock) {
    const FlowRequest request = read_flow_request(tables, value);
    const Graph graph = read_graph(request);
    enter(tables, {.tasks = true}, clock);
    const int64 now = clock->now();
    const pg_uuid_t id = request.id ? *request.id : make_id(now);
    if (const auto known = request.id ? store::read_flow(tables, id) : std::nullopt) {
        return {*known, false, ids_by_key(store::member_keys(tables, id))};
    }
    if (request.seal && !request.lists_tasks) {
        pg::raise_invalid(
            "missing_field", "p_flow.tasks",
            "p_flow.tasks is missing, and the flow takes no tasks later",
            "List the tasks, pass [] for a flow that completes at once, or seal false "
            "to add tasks later.");
    }
    const auto members = members_of(tables, request, now);
    const auto count = static_cast<int64>(members.size());
    store::Flow flow{.id = id,
                     .state = request.seal ? core::FlowState::kRunning : core::FlowState::kOpen,
                     .sealed = request.seal,
                     .fail_fast = request.fail_fast,
                     .struck = false,
                     .revision = 1,
                     .members = count,
                     .open_members = count,
                     .bad_sinks = 0,
                     .edges = graph.edges.count,
                     .terminal_at = std::nullopt,
                     .cancellation_policy = std::nullopt,
                     .cancel_reason = std::nullopt,
                     .cancelled_by = std::nullopt};
    if (!store::insert_flow(tables, flow, request.kind, request.tags, now)) {
        const auto known = store::read_flow(tables, id);  // another call was faster
        if (!known) {
            ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                            errmsg("flow %s was deleted meanwhile", store::uuid_text(id)),
                            errhint("Repeat the transaction.")));
        }
        return {*known, false, ids_by_key(store::member_keys(tables, id))};
    }
    store::insert_members(tables, id, members, now);
    write_graph(tables, id, graph, members, now);
    if (flow.sealed && flow.members == 0) {
        Cascade(tables, &flow, 0, 0, now).finish();
    }
    pg::List<store::MemberKey> keys;
    for (const auto& member : members) {
        keys.add({member.id, member.key});
    }
    return {flow, true, ids_by_key(keys.span())};
}

}  // namespace belay::ops
