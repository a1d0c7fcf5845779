// The verb table. Sorted by name; a lint compares it with src/sql/hub/objects/*.sql.
#include "entry/verbs.hpp"

#include <algorithm>

namespace belay::entry {

namespace {

// Reads by id are a client's and a monitor's; histories a worker's and a monitor's.
constexpr uint8 kForAll = core::kForClient | core::kForMonitor;
constexpr uint8 kForReader = core::kForWorker | core::kForMonitor;

using core::kForClient;
using core::kForMonitor;
using core::kForOperator;
using core::kForWorker;

constexpr Verb kVerbs[] = {
    {"abandon_orchestration_item", abandon_orchestration_item, 4, "text, int8, int8, bool", "text",
     Access::kWrite, kForWorker},
    {"abandon_work_item", abandon_work_item, 4, "text, int8, int8, bool", "void", Access::kWrite,
     kForWorker},
    {"ack_and_fetch_work_item", ack_and_fetch_work_item, 10,
     "text, text, text, int8, int8, text, int8, text[], text, int4[]", "setof (text, text, int4)",
     Access::kWrite, kForWorker},
    {"ack_events", ack_events, 3, "text, text, int8", "void", Access::kWrite, kForWorker},
    {"ack_orchestration_item", ack_orchestration_item, 8,
     "text, int8, int8, jsonb, jsonb, jsonb, jsonb, jsonb", "void", Access::kWrite, kForWorker},
    {"ack_worker", ack_worker, 4, "text, text, text, int8", "void", Access::kWrite, kForWorker},
    {"ack_workers", ack_workers, 2, "jsonb, int8", "setof (int4, text, bool, text)", Access::kWrite,
     kForWorker},
    {"acquire_slots", acquire_slots, 5, "text, text, int4, int8, int8", "int4[]", Access::kWrite,
     kForWorker},
    {"append_history", append_history, 3, "text, int8, jsonb", "void", Access::kWrite, kForWorker},
    {"cancel_activities", cancel_activities, 1, "jsonb", "int8", Access::kWrite, kForOperator},
    {"cancel_instance", cancel_instance, 3, "text, text, int8", "void", Access::kWrite, kForClient},
    {"cancel_task", cancel_task, 5, "uuid, text, text, int8, int8",
     "setof (text, uuid, text, text, bool)", Access::kWrite, kForWorker},
    {"change_priority", change_priority, 3, "uuid, int4, int8", "setof (text, uuid, int4, int4)",
     Access::kWrite, kForOperator},
    {"check_tasks", check_tasks, 1, "uuid", "setof (text, text)", Access::kRead, kForMonitor},
    {"claim_tasks", claim_tasks, 8, "text, text, text[], text[], int8, int4, int4[], int8",
     "setof (uuid, text, text, jsonb, jsonb, int4, int4, text, int4, int4, int4, int8, text, int8, "
     "int8, int8, jsonb, "
     "jsonb, uuid, text, jsonb, jsonb)",
     Access::kWrite, kForWorker},
    {"cleanup_orphaned_sessions", cleanup_orphaned_sessions, 1, "int8", "int8", Access::kWrite,
     kForWorker},
    {"cleanup_schema", cleanup_schema, 0, "", "void", Access::kWrite, core::kNoLevel,
     kOnlyDuroxidePg},
    {"complete_and_claim", complete_and_claim, 11,
     "uuid, int8, jsonb, text, text, text[], text[], int8, int4, int4[], int8",
     "setof (uuid, text, text, jsonb, jsonb, int4, int4, text, int4, int4, int4, int8, text, int8, "
     "int8, int8, jsonb, "
     "jsonb, uuid, text, jsonb, jsonb)",
     Access::kWrite, kForWorker},
    {"complete_task", complete_task, 5, "uuid, int8, jsonb, text, int8",
     "setof (text, uuid, text, int8)", Access::kWrite, kForWorker},
    {"create_subscription", create_subscription, 3, "text, text[], text", "void", Access::kWrite,
     kForOperator},
    {"create_task", create_task, 14,
     "text, jsonb, uuid, text, int4, int8, int8, int8, text[], jsonb, text, int8, jsonb, int8",
     "setof (uuid, text, bool)", Access::kWrite, kForClient},
    {"create_tasks", create_tasks, 2, "jsonb, int8", "setof (int4, uuid, text, bool)",
     Access::kWrite, kForClient},
    {"delay_task", delay_task, 5, "uuid, int8, int8, jsonb, int8", "setof (text, int8)",
     Access::kWrite, kForWorker},
    {"delete_instance", delete_instance, 2, "text, bool", "setof (int8, int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"delete_instances_atomic", delete_instances_atomic, 2, "text[], bool",
     "setof (int8, int8, int8, int8)", Access::kWrite, kForOperator},
    {"delete_instances_bulk", delete_instances_bulk, 1, "jsonb", "setof (int8, int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"delete_task", delete_task, 1, "uuid", "bool", Access::kWrite, kForOperator},
    {"discard_dead_letter", discard_dead_letter, 1, "int8", "void", Access::kWrite, kForOperator},
    {"drop_subscription", drop_subscription, 1, "text", "void", Access::kWrite, kForOperator},
    {"enqueue_orchestrator_items", enqueue_orchestrator_items, 2, "jsonb, int8", "int8",
     Access::kWrite, kForClient},
    {"enqueue_orchestrator_work", enqueue_orchestrator_work, 6,
     "text, text, timestamptz, text, text, int8", "void", Access::kWrite, kForClient},
    {"enqueue_worker_items", enqueue_worker_items, 2, "jsonb, int8", "int8", Access::kWrite,
     kForClient},
    {"enqueue_worker_work", enqueue_worker_work, 7, "text, int8, text, int8, int8, text, text",
     "void", Access::kWrite, kForClient},
    {"explain_claim", explain_claim, 4, "uuid, text[], int4[], int8", "setof (text, jsonb)",
     Access::kRead, kForMonitor},
    {"explain_fetch", explain_fetch, 4, "text, int8, int8, int8", "setof (text, text, timestamptz)",
     Access::kRead, kForMonitor},
    {"fail_task", fail_task, 8, "uuid, int8, text, text, jsonb, int8, text, int8",
     "setof (text, text, int8, int4)", Access::kWrite, kForWorker},
    {"fetch_history", fetch_history, 1, "text", "setof (text)", Access::kRead, kForReader},
    {"fetch_history_with_execution", fetch_history_with_execution, 2, "text, int8", "setof (text)",
     Access::kRead, kForReader},
    {"fetch_orchestration_item", fetch_orchestration_item, 5, "int8, int8, int8, int8, int4[]",
     "setof (text, text, text, int8, json, json, text, int4, json)", Access::kWrite, kForWorker,
     kOnlyBelay},
    {"fetch_orchestration_item_jsonb", fetch_orchestration_item_jsonb, 5,
     "int8, int8, int8, int8, int4[]",
     "setof (text, text, text, int8, jsonb, jsonb, text, int4, jsonb)", Access::kWrite, kForWorker,
     kOnlyDuroxidePg},
    {"fetch_work_item", fetch_work_item, 7, "int8, int8, text, int8, text[], text, int4[]",
     "setof (text, text, int4)", Access::kWrite, kForWorker},
    {"fetch_work_items", fetch_work_items, 9,
     "int8, int8, text, int8, text[], text, int4, int4, int4[]", "setof (text, text, int4)",
     Access::kWrite, kForWorker},
    {"get_custom_status", get_custom_status, 2, "text, int8", "setof (text, int8)", Access::kRead,
     kForAll},
    {"get_execution_info", get_execution_info, 2, "text, int8",
     "setof (int8, text, text, timestamptz, timestamptz, int8)", Access::kRead, kForAll},
    {"get_instance_info", get_instance_info, 1, "text",
     "setof (text, text, text, int8, timestamptz, timestamptz, text, text, text)", Access::kRead,
     kForAll},
    {"get_instance_stats", get_instance_stats, 1, "text",
     "setof (bool, int8, int8, int8, int8, int8)", Access::kRead, kForMonitor},
    {"get_instance_tree", get_instance_tree, 1, "text", "setof (text, text, int4)", Access::kRead,
     kForMonitor},
    {"get_kv_all_values", get_kv_all_values, 1, "text", "setof (text, text)", Access::kRead,
     kForAll},
    {"get_kv_value", get_kv_value, 2, "text, text", "setof (text, bool)", Access::kRead, kForAll},
    {"get_parent_id", get_parent_id, 1, "text", "text", Access::kRead, kForAll},
    {"get_queue_depths", get_queue_depths, 1, "int8", "setof (int8, int8, int8)", Access::kRead,
     kForMonitor},
    {"get_system_metrics", get_system_metrics, 0, "", "setof (int8, int8, int8, int8, int8, int8)",
     Access::kRead, kForMonitor},
    {"get_task", get_task, 1, "uuid", "jsonb", Access::kRead, kForAll},
    {"guard", guard, 1, "text", "void", Access::kRead, kForWorker},
    {"guard_task", guard_task, 2, "uuid, int8", "void", Access::kRead, kForWorker},
    {"latest_execution_id", latest_execution_id, 1, "text", "int8", Access::kRead, kForAll},
    {"list_children", list_children, 1, "text", "setof (text)", Access::kRead, kForMonitor},
    {"list_dead_letters", list_dead_letters, 5, "text, text, text, int8, int4",
     "setof (int8, text, int8, text, int8, int8, text, text, text, int4, text, text, timestamptz, "
     "timestamptz)",
     Access::kRead, kForOperator},
    {"list_executions", list_executions, 1, "text", "setof (int8)", Access::kRead, kForMonitor},
    {"list_expired_leases", list_expired_leases, 5, "int8, text, int8, uuid, int4",
     "setof (uuid, text, text, int8, int8, text, text, int4)", Access::kRead, kForMonitor},
    {"list_instances", list_instances, 7, "text, text, text, int8, int8, text, int4",
     "setof (text)", Access::kRead, kForMonitor},
    {"list_instances_by_status", list_instances_by_status, 1, "text", "setof (text)", Access::kRead,
     kForMonitor},
    {"list_tasks", list_tasks, 3, "jsonb, uuid, int4",
     "setof (uuid, text, text, text, int4, uuid, text, text, int4, int4, int4, int4, int8, int8, "
     "text, text, int8, int8, "
     "text, text, jsonb, int8, int8, int8)",
     Access::kRead, kForMonitor},
    {"list_work_items", list_work_items, 4, "jsonb, text, int4, int8",
     "setof (int8, text, text, text, int8, int8, text, text, timestamptz, int8, text, int4, "
     "timestamptz, text)",
     Access::kRead, kForOperator},
    {"pause_hub", pause_hub, 2, "text, text", "void", Access::kWrite, kForOperator},
    {"pause_lane", pause_lane, 1, "text", "void", Access::kWrite, kForOperator},
    {"progress_task", progress_task, 7, "uuid, int8, numeric, text, jsonb, int8, int8",
     "setof (int8)", Access::kWrite, kForWorker},
    {"prune_executions", prune_executions, 3, "text, int4, int8", "setof (int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"prune_executions_bulk", prune_executions_bulk, 2, "jsonb, jsonb", "setof (int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"raise_event", raise_event, 5, "text, text, text, bool, int8", "void", Access::kWrite,
     kForClient},
    {"read_events", read_events, 4, "text, int4, int8, int8",
     "setof (text, text, text, text, jsonb, int8, text)", Access::kWrite, kForWorker},
    {"read_history", read_history, 4, "text, int8, int8, int4",
     "setof (int8, int8, text, text, timestamptz)", Access::kRead, kForReader},
    {"receive_intents", receive_intents, 1, "jsonb", "int8", Access::kWrite, kForClient},
    {"reconcile", reconcile, 2, "int8, text[]", "setof (text, int8, int8)", Access::kWrite,
     kForOperator},
    {"redrive_dead_letter", redrive_dead_letter, 1, "int8", "int8", Access::kWrite, kForOperator},
    {"redrive_dead_letters", redrive_dead_letters, 1, "jsonb", "int8", Access::kWrite,
     kForOperator},
    {"release_slots", release_slots, 2, "text, text", "void", Access::kWrite, kForWorker},
    {"release_task", release_task, 4, "uuid, int8, int8, int8", "setof (text, int8)",
     Access::kWrite, kForWorker},
    {"renew_orchestration_item_lock", renew_orchestration_item_lock, 3, "text, int8, int8", "void",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"renew_orchestration_item_lock_secs", renew_orchestration_item_lock_secs, 3,
     "text, int8, int8", "void", Access::kWrite, kForWorker, kOnlyDuroxidePg},
    {"renew_session_lock", renew_session_lock, 4, "text[], int8, int8, int8", "int8",
     Access::kWrite, kForWorker},
    {"renew_task", renew_task, 4, "uuid, int8, int8, int8", "setof (int8, bool)", Access::kWrite,
     kForWorker},
    {"renew_tasks", renew_tasks, 4, "uuid[], int8[], int8, int8", "setof (uuid, bool, int8, text)",
     Access::kWrite, kForWorker},
    {"renew_work_item_lock", renew_work_item_lock, 3, "text, int8, int8", "void", Access::kWrite,
     kForWorker, kOnlyBelay},
    {"renew_work_item_lock_secs", renew_work_item_lock_secs, 3, "text, int8, int8", "void",
     Access::kWrite, kForWorker, kOnlyDuroxidePg},
    {"renew_work_item_locks", renew_work_item_locks, 3, "text[], int8, int8",
     "setof (int4, text, bool, int8, text)", Access::kWrite, kForWorker},
    {"replay_task", replay_task, 3, "uuid, bool, int8",
     "setof (text, uuid, text, int4, uuid[], uuid[])", Access::kWrite, kForOperator},
    {"resume_hub", resume_hub, 1, "text", "void", Access::kWrite, kForOperator},
    {"resume_lane", resume_lane, 1, "text", "void", Access::kWrite, kForOperator},
    {"revoke_lease", revoke_lease, 6, "uuid, text, text, text, int8, int8",
     "setof (text, text, text, int8)", Access::kWrite, kForOperator},
    {"send_to_hub", send_to_hub, 4, "name, text, text, timestamptz", "int8", Access::kWrite,
     kForClient},
    {"set_lane", set_lane, 2, "text, jsonb", "void", Access::kWrite, kForOperator},
    {"start_orchestration", start_orchestration, 6, "text, text, text, text, int8, int8", "text",
     Access::kWrite, kForClient},
    {"wait_for_work", wait_for_work, 4, "text[], int4, text, text", "procedure (text, text)",
     Access::kWait, kForClient},
};

constexpr bool by_name(const Verb& verb, std::string_view name) {
    return std::string_view(verb.name) < name;
}

static_assert(std::is_sorted(std::begin(kVerbs), std::end(kVerbs),
                             [](const Verb& a, const Verb& b) { return by_name(a, b.name); }));

}  // namespace

std::span<const Verb> verbs() {
    return kVerbs;
}

const Verb* find_verb(std::string_view name) {
    const auto* verb = std::lower_bound(std::begin(kVerbs), std::end(kVerbs), name, by_name);
    return verb != std::end(kVerbs) && name == verb->name ? verb : nullptr;
}

}  // namespace belay::entry
