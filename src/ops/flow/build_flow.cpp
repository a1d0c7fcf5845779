// build_flow.cpp — let an open flow grow: tasks, edges, joins; seal it.
//
// Calls    store::insert_members, store::insert_edges, store::insert_groups, store::write_group
// Touches  <hub>.flows, <hub>.tasks, <hub>.edges, <hub>.groups, <hub>.queues,
//          <hub>.capability_sets, <hub>.outbox_events
// Locks    queues and capability sets, the flow, then the task meant
// Raises   QB002, QB006, QB007, QB010, QB012, QB014, QB016
#include <algorithm>

#include "ops/flow/items.hpp"
#include "pg/datum.hpp"
#include "pg/errors.hpp"

namespace belay::ops {

namespace {

namespace json = core::json;

// Holds the flow, which has to be open and as the caller knows it.
store::Flow hold_growing(store::Tables& tables, const pg_uuid_t& id,
                         std::optional<int64> expected_revision, pg::Clock* clock) {
    const auto flow = hold_flow(tables, id, clock);
    if (flow.is_terminal()) {
        pg::raise(pg::kAlreadyTerminal,
                  psprintf("flow %s is %s already", store::uuid_text(id),
                           core::name_of(flow.state).data()),
                  pg::Facts("already_terminal")
                      .add("flow_id", store::uuid_text(id))
                      .add("state", core::name_of(flow.state)),
                  "Create another flow for further tasks.");
    }
    if (flow.sealed) {
        raise_conflict(psprintf("flow %s is sealed", store::uuid_text(id)),
                       conflict_facts("flow_sealed", flow),
                       "Create a flow with seal false to let it grow.");
    }
    if (expected_revision && *expected_revision != flow.revision) {
        raise_conflict(psprintf("flow %s has changed meanwhile", store::uuid_text(id)),
                       conflict_facts("stale_revision", flow).add("expected", *expected_revision),
                       "Read the flow again, and decide anew.");
    }
    return flow;
}

store::Member checked_member(store::Tables& tables, const store::Flow& flow, const pg_uuid_t& id,
                             const char* path) {
    const auto member = store::find_member(tables, id);
    if (!member || !member->flow_id || memcmp(member->flow_id->data, flow.id.data, UUID_LEN) != 0) {
        pg::raise(pg::kInvalidArgument, psprintf("%s is no task of the flow", path),
                  pg::Facts("task_not_in_flow")
                      .add("path", path)
                      .add("task_id", store::uuid_text(id))
                      .add("flow_id", store::uuid_text(flow.id)),
                  "Add the task to the flow first.");
    }
    return *member;
}

void count_edge(core::GroupCounts* counts, core::TaskState upstream) {
    ++counts->total;
    if (core::is_terminal(upstream)) {
        ++(upstream == core::TaskState::kCompleted ? counts->satisfied
           : upstream == core::TaskState::kSkipped ? counts->skipped
                                                   : counts->failed);
    }
}

// An upstream that ended badly is a sink no longer.
void forget_bad_sink(store::Tables& tables, store::Flow* flow, const store::Member& upstream) {
    if (core::is_terminal(upstream.state) && upstream.state != core::TaskState::kCompleted &&
        store::is_sink(tables, upstream.id)) {
        --flow->bad_sinks;
    }
}

AddedTask add_existing(store::Tables& tables, store::Flow* flow, const pg_uuid_t& id,
                       pg::Clock* clock) {
    const auto seen = store::find_member(tables, id);
    if (!seen) {
        raise_no_task(id);
    }
    auto task = store::try_lock_task(tables, id);
    if (!task) {
        clock->mark_waited();
        task = store::lock_task(tables, id);
    }
    if (!task) {
        raise_no_task(id);
    }
    if (task->flow_id) {
        if (memcmp(task->flow_id->data, flow->id.data, UUID_LEN) == 0) {
            return {false, id, task->state, flow->revision, flow->members};
        }
        raise_conflict(psprintf("task %s belongs to another flow", store::uuid_text(id)),
                       conflict_facts(psprintf("already_member_of_different_flow:%s",
                                               store::uuid_text(*task->flow_id)),
                                      *flow),
                       "Add a task that is in no flow.");
    }
    if (task->dedup_key || core::is_terminal(task->state)) {
        pg::raise(pg::kNotEligible, psprintf("task %s cannot join a flow", store::uuid_text(id)),
                  pg::Facts(task->dedup_key ? "has_dedup_key" : "not_eligible")
                      .add("task_id", store::uuid_text(id))
                      .add("state", core::name_of(task->state)),
                  "Add a task that has not ended and has no dedup key.");
    }
    const int64 now = clock->now();
    store::join_flow(tables, *task, flow->id, now);
    ++flow->members;
    ++flow->open_members;
    ++flow->revision;
    store::write_flow(tables, *flow, now);
    return {true, id, task->state, flow->revision, flow->members};
}

// The upstreams of a new member, with their states.
std::span<const store::Member> find_upstreams(store::Tables& tables, const store::Flow& flow,
                                              const MemberItem& item) {
    const char* path = psprintf("%s.after", item.request.path->text());
    pg::List<store::Member> upstreams;
    for (const After& after : item.after) {
        if (after.key == item.key) {
            raise_self_edge(path, item.key);
        }
        const auto member = store::find_member_by_key(tables, flow.id, after.key);
        if (!member) {
            pg::raise(pg::kInvalidArgument,
                      psprintf("%s names a task that does not exist: \"%s\"", path,
                               pg::excerpt(after.key)),
                      pg::Facts("unknown_key").add("path", path).add("key", after.key),
                      "Pass the key of a task in the same flow.");
        }
        for (const store::Member& other : upstreams) {
            if (memcmp(other.id.data, member->id.data, UUID_LEN) == 0) {
                raise_conflict("an edge is given twice",
                               conflict_facts("duplicate_edge", flow).add("upstream", after.key),
                               "Give each edge only once.");
            }
        }
        upstreams.add(*member);
    }
    return upstreams.span();
}

AddedTask add_new(store::Tables& tables, store::Flow* flow, const MemberItem& item, int32 cap_set,
                  int64 now) {
    if (store::find_member_by_key(tables, flow->id, item.key)) {
        pg::raise(pg::kInvalidArgument,
                  psprintf("the key \"%s\" is used already", pg::excerpt(item.key)),
                  pg::Facts("duplicate_key").add("path", "p_task.key").add("key", item.key),
                  "Choose another key: it must be unique within the flow.");
    }
    const auto upstreams = find_upstreams(tables, *flow, item);
    const pg_uuid_t id = item.request.id ? *item.request.id : make_id(now);
    store::NewMember member = new_member(item, id, cap_set, now);
    const int64 known_bad = flow->bad_sinks;
    pg::List<store::NewEdge> edges;
    store::Group group{.downstream = id,
                       .join = item.join,
                       .counts = {0, 0, 0, 0},
                       .state = core::GroupState::kOpen,
                       .held = item.hold,
                       .waiting = member.state};
    for (std::size_t i = 0; i < upstreams.size(); ++i) {
        forget_bad_sink(tables, flow, upstreams[i]);
        count_edge(&group.counts, upstreams[i].state);
        edges.add(
            {upstreams[i].id, id, item.after[i].pass_as, core::edge_after(upstreams[i].state)});
    }
    store::insert_members(tables, flow->id, {&member, 1}, now);
    store::insert_edges(tables, flow->id, edges.span(), now);
    ++flow->members;
    ++flow->open_members;
    flow->edges += edges.count;
    ++flow->revision;
    Cascade cascade(tables, flow, known_bad, tables.hub.options[store::Option::kFanoutBound], now);
    if (edges.count > 0 || item.has_join) {
        store::insert_groups(tables, flow->id, {&group, 1}, now);
    }
    if (edges.count > 0) {
        cascade.judge({&group, 1});
        cascade.run();
    }
    cascade.finish();
    return {true, id, store::find_member(tables, id)->state, flow->revision, flow->members};
}

// The task that is to wait: blocked, or not claimed yet.
store::Task hold_downstream(store::Tables& tables, const store::Flow& flow, const pg_uuid_t& id,
                            pg::Clock* clock) {
    auto task = store::try_lock_task(tables, id);
    if (!task) {
        clock->mark_waited();
        task = store::lock_task(tables, id);
    }
    const bool waits =
        task &&
        (task->state == core::TaskState::kBlocked ||
         ((task->state == core::TaskState::kReady || task->state == core::TaskState::kDelayed) &&
          task->attempt_index == 0));
    if (!waits) {
        raise_conflict(psprintf("task %s has been started", store::uuid_text(id)),
                       conflict_facts("downstream_started", flow)
                           .add("state", task ? core::name_of(task->state) : "deleted"),
                       "Hold a task to add edges to it before it is claimed.");
    }
    return *task;
}

}  // namespace

void raise_no_flow(const pg_uuid_t& id) {
    const char* text = store::uuid_text(id);
    pg::raise(pg::kNotFound, psprintf("flow %s does not exist", text),
              pg::Facts("unknown_flow").add("entity", "flow").add("id", text),
              "Check the id; retention may have deleted what it named.");
}

store::Flow hold_flow(store::Tables& tables, const pg_uuid_t& id, pg::Clock* clock) {
    enter(tables, {.tasks = true}, clock);
    auto flow = store::try_lock_flow(tables, id);
    if (!flow && store::read_flow(tables, id)) {
        clock->mark_waited();
        flow = store::lock_flow(tables, id);
    }
    if (!flow) {
        raise_no_flow(id);
    }
    pg::check_skew(*clock, tables.hub.options[store::Option::kMaxClockSkew]);
    return *flow;
}

AddedTask add_task_to_flow(store::Tables& tables, const pg_uuid_t& flow_id, Jsonb* value,
                           std::optional<int64> expected_revision, pg::Clock* clock) {
    const auto object = checked_object("p_task", value);
    const auto existing = optional_uuid(object, "task_id", "p_task");
    if (existing && json::count(object) == 1) {
        auto flow = hold_growing(tables, flow_id, expected_revision, clock);
        return add_existing(tables, &flow, *existing, clock);
    }
    const MemberItem item = read_member_item(tables, object, "p_task");
    enter(tables, {.tasks = true}, clock);
    if (!store::read_flow(tables, flow_id)) {
        raise_no_flow(flow_id);  // before a queue is made for it
    }
    const TaskRequest* request = &item.request;
    const int32 cap_set = prepare_queues(tables, {&request, 1}, clock->now())[0];
    auto flow = hold_growing(tables, flow_id, expected_revision, clock);
    check_deadline(item.request, clock->now());
    return add_new(tables, &flow, item, cap_set, clock->now());
}

AddedEdge add_edge(store::Tables& tables, const pg_uuid_t& flow_id, const pg_uuid_t& upstream_id,
                   const pg_uuid_t& downstream_id, std::optional<std::string_view> pass_as,
                   std::optional<int64> expected_revision, pg::Clock* clock) {
    if (memcmp(upstream_id.data, downstream_id.data, UUID_LEN) == 0) {
        raise_self_edge("p_downstream_id", store::uuid_text(upstream_id));
    }
    auto flow = hold_growing(tables, flow_id, expected_revision, clock);
    const auto upstream = checked_member(tables, flow, upstream_id, "p_upstream_id");
    (void)checked_member(tables, flow, downstream_id, "p_downstream_id");
    if (store::edge_exists(tables, flow.id, upstream_id, downstream_id)) {
        raise_conflict("the edge is there already", conflict_facts("duplicate_edge", flow),
                       "Give each edge only once.");
    }
    if (store::is_reachable(tables, downstream_id, upstream_id)) {
        raise_conflict(
            "the edge would close a circle", conflict_facts("cycle", flow),
            "Leave the edge out: the upstream task waits for the downstream one already.");
    }
    const auto task = hold_downstream(tables, flow, downstream_id, clock);
    const auto known = store::read_group(tables, downstream_id);
    if (known && known->state != core::GroupState::kOpen) {
        raise_conflict(
            "what the task waits for has been decided",
            conflict_facts("group_closed", flow).add("state", core::name_of(known->state)),
            "Hold the task until all its edges are there.");
    }
    const int64 now = clock->now();
    const int64 known_bad = flow.bad_sinks;
    forget_bad_sink(tables, &flow, upstream);
    const core::EdgeState state = core::edge_after(upstream.state);
    const store::NewEdge edge{upstream_id, downstream_id, pass_as, state};
    store::insert_edges(tables, flow.id, {&edge, 1}, now);
    store::Group group = known ? *known
                               : store::Group{.downstream = downstream_id,
                                              .join = {},
                                              .counts = {0, 0, 0, 0},
                                              .state = core::GroupState::kOpen,
                                              .held = task.held,
                                              .waiting = task.state};
    count_edge(&group.counts, upstream.state);
    if (known) {
        store::write_group(tables, group, now);
    } else {
        store::insert_groups(tables, flow.id, {&group, 1}, now);
    }
    // It waits while the group is judged, which may release it again.
    if (task.state != core::TaskState::kBlocked) {
        store::block(tables, task, now);
    }
    ++flow.edges;
    ++flow.revision;
    Cascade cascade(tables, &flow, known_bad, tables.hub.options[store::Option::kFanoutBound], now);
    cascade.judge({&group, 1});
    cascade.run();
    cascade.finish();
    return {state, store::find_member(tables, downstream_id)->state, group.counts.unresolved(),
            flow.revision};
}

JoinResult set_join(store::Tables& tables, const pg_uuid_t& flow_id, const pg_uuid_t& task,
                    Jsonb* value, std::optional<int64> expected_revision) {
    const core::Join join = read_join(checked_object("p_join", value), "p_join");
    auto clock = pg::start_clock(std::nullopt, 0);
    auto flow = hold_growing(tables, flow_id, expected_revision, &clock);
    const auto member = checked_member(tables, flow, task, "p_task_id");
    const int64 now = clock.now();
    auto group = store::read_group(tables, task);
    if (group && group->join == join) {
        return {false, flow.revision};
    }
    if (group && group->counts.total > 0) {
        raise_conflict("the join of the task is fixed by its edges",
                       conflict_facts("join_already_fixed", flow),
                       "Set the join before the first edge.");
    }
    if (group) {
        group->join = join;
        store::write_group(tables, *group, now);
    } else {
        const store::Group made{.downstream = task,
                                .join = join,
                                .counts = {0, 0, 0, 0},
                                .state = core::GroupState::kOpen,
                                .held = false,
                                .waiting = member.state};
        store::insert_groups(tables, flow.id, {&made, 1}, now);
    }
    ++flow.revision;
    store::write_flow(tables, flow, now);
    return {true, flow.revision};
}

SealedFlow seal_flow(store::Tables& tables, const pg_uuid_t& flow_id,
                     std::optional<int64> expected_revision, pg::Clock* clock) {
    auto flow = hold_growing(tables, flow_id, expected_revision, clock);
    const int64 now = clock->now();
    flow.sealed = true;
    ++flow.revision;
    const auto freed = store::end_hold(tables, flow.id, now);
    Cascade cascade(tables, &flow, 0, tables.hub.options[store::Option::kFanoutBound], now);
    const auto groups = store::open_groups(tables, flow.id);
    cascade.judge(groups);
    // Members that were held and have no edges wait for nothing more.
    pg::List<pg_uuid_t> lone;
    for (const pg_uuid_t& id : freed) {
        // They come by the id of their task.
        const auto* found =
            std::lower_bound(groups.data(), groups.data() + groups.size(), id,
                             [](const store::Group& group, const pg_uuid_t& wanted) {
                                 return memcmp(group.downstream.data, wanted.data, UUID_LEN) < 0;
                             });
        if (found == groups.data() + groups.size() ||
            memcmp(found->downstream.data, id.data, UUID_LEN) != 0) {
            lone.add(id);
        }
    }
    (void)store::release_blocked(tables, lone.span(), now);
    cascade.run();
    cascade.finish();
    return {flow.state, flow.revision};
}

}  // namespace belay::ops
