// The verb table. Sorted by name; a lint compares it with src/sql/hub/objects/*.sql.
//
// Touches  nothing
// Must not call a verb; language.cpp does, after its checks
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

// Columns of the types received and task_status.
constexpr const char* kReceivedRows =
    "setof (uuid, text, text, jsonb, jsonb, int4, text, timestamptz, timestamptz, jsonb, jsonb, "
    "jsonb)";
constexpr const char* kStatusRow =
    "(uuid, text, text, text, int4, jsonb, text, text, numeric, text, text, timestamptz, "
    "timestamptz, timestamptz, timestamptz, timestamptz, timestamptz)";

// Columns of an ack, then of a turn.
constexpr const char* kTurnRows =
    "setof (int4, text, text, text, text, text, text, int8, json, json, text, int4, json, int8, "
    "int8, int8)";
constexpr const char* kTurnRowsJsonb =
    "setof (int4, text, text, text, text, text, text, int8, jsonb, jsonb, text, int4, jsonb, "
    "int8, int8, int8)";

// Of calls that act on many tasks or instances: filter, reason or cascade, order, after, limit,
// scan, clock.
constexpr const char* kBulkArguments = "jsonb, text, text, text, int4, int4, int8";

// Of every browse function: filter, order, after, limit, scan, preview.
constexpr const char* kPageArguments = "jsonb, text, text, int4, int4, int4";

constexpr Verb kVerbs[] = {
    {"abandon_orchestration_item", abandon_orchestration_item, 4, "text, int8, bool, int8", "text",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"abandon_orchestration_item_duroxide_pg", abandon_orchestration_item, 4,
     "text, int8, int8, bool", "text", Access::kWrite, kForWorker, kOnlyDuroxidePg, 1},
    {"abandon_work_item", abandon_work_item, 5, "text, int8, bool, text, int8", "void",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"abandon_work_item_without_reason", abandon_work_item_without_reason, 4,
     "text, int8, int8, bool", "void", Access::kWrite, kForWorker, kOnlyDuroxidePg, 1},
    {"ack_and_fetch_turns", ack_and_fetch_turns, 15,
     "text[], int8[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], int8, int8, int8, int4, int4[], "
     "text, text[], int8",
     kTurnRows, Access::kWrite, kForWorker, kOnlyBelay},
    {"ack_and_fetch_turns_jsonb", ack_and_fetch_turns_jsonb, 15,
     "text[], int8, int8[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], int8, int8, int8, int4, "
     "int4[], text, text[]",
     kTurnRowsJsonb, Access::kWrite, kForWorker, kOnlyDuroxidePg, 1},
    {"ack_and_fetch_work_item", ack_and_fetch_work_item, 10,
     "text, text, text, int8, text, int8, text[], text, int4[], int8", "setof (text, text, int4)",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"ack_and_fetch_work_item_duroxide_pg", ack_and_fetch_work_item, 10,
     "text, text, text, int8, int8, text, int8, text[], text, int4[]", "setof (text, text, int4)",
     Access::kWrite, kForWorker, kOnlyDuroxidePg, 3},
    {"ack_cancel_member", ack_cancel_member, 2, "uuid, uuid", "void", Access::kWrite, kForWorker},
    {"ack_events", ack_events, 3, "text, text, int8", "void", Access::kWrite, kForWorker},
    {"ack_orchestration_item", ack_orchestration_item, 8,
     "text, int8, jsonb, jsonb, jsonb, jsonb, jsonb, int8", "void", Access::kWrite, kForWorker,
     kOnlyBelay},
    {"ack_orchestration_item_duroxide_pg", ack_orchestration_item, 8,
     "text, int8, int8, jsonb, jsonb, jsonb, jsonb, jsonb", "void", Access::kWrite, kForWorker,
     kOnlyDuroxidePg, 1},
    {"ack_worker", ack_worker, 4, "text, text, text, int8", "void", Access::kWrite, kForWorker},
    {"ack_workers", ack_workers, 2, "jsonb, int8", "setof (int4, text, bool, text)", Access::kWrite,
     kForWorker},
    {"acquire_slots", acquire_slots, 5, "text, text, int4, int8, int8", "int4[]", Access::kWrite,
     kForWorker},
    {"add_edge", add_edge, 6, "uuid, uuid, uuid, text, int8, int8",
     "setof (text, text, text, int4, int8)", Access::kWrite, kForClient},
    {"add_task_to_flow", add_task_to_flow, 4, "uuid, jsonb, int8, int8",
     "setof (text, uuid, text, int8, int8)", Access::kWrite, kForClient},
    {"append_history", append_history, 3, "text, int8, jsonb", "void", Access::kWrite, kForWorker},
    {"approve_task", approve_task, 5, "uuid, uuid, text, text, int8", "setof (text, text, text)",
     Access::kWrite, kForOperator},
    {"await", await, 4, "text[], interval, text, text", "procedure (text, text)", Access::kWait,
     kForWorker, kOnlyBelay},
    {"await_one_queue", await_one_queue, 4, "text, interval, text, text", "procedure (text, text)",
     Access::kWait, kForWorker, kOnlyBelay},
    {"await_result", await_result, 4, "uuid, interval, text, jsonb", "procedure (text, jsonb)",
     Access::kWait, kForAll, kOnlyBelay},
    {"await_result_text", await_result_text, 4, "text, interval, text, jsonb",
     "procedure (text, jsonb)", Access::kWait, kForAll, kOnlyBelay},
    {"browse_dead_letters", browse_dead_letters, 6, kPageArguments, "jsonb", Access::kRead,
     kForOperator},
    {"browse_events", browse_events, 6, kPageArguments, "jsonb", Access::kRead, kForMonitor},
    {"browse_flows", browse_flows, 6, kPageArguments, "jsonb", Access::kRead, kForMonitor},
    {"browse_history", browse_history, 8, "text, int8, jsonb, text, text, int4, int4, int4",
     "jsonb", Access::kRead, kForMonitor},
    {"browse_instances", browse_instances, 6, kPageArguments, "jsonb", Access::kRead, kForMonitor},
    {"browse_messages", browse_messages, 6, kPageArguments, "jsonb", Access::kRead, kForOperator},
    {"browse_tasks", browse_tasks, 6, kPageArguments, "jsonb", Access::kRead, kForMonitor},
    {"browse_work_items", browse_work_items, 6, kPageArguments, "jsonb", Access::kRead,
     kForOperator},
    {"cancel", cancel, 2, "uuid, text", "bool", Access::kWrite, kForClient, kOnlyBelay},
    {"cancel_activities", cancel_activities, 1, "jsonb", "int8", Access::kWrite, kForOperator},
    {"cancel_flow", cancel_flow, 6, "uuid, text, text, int8, text, int8",
     "setof (text, text, text, int8, uuid[])", Access::kWrite, kForOperator},
    {"cancel_instance", cancel_instance, 3, "text, text, int8", "void", Access::kWrite, kForClient},
    {"cancel_instances", cancel_instances, 7, kBulkArguments, "jsonb", Access::kWrite,
     kForOperator},
    {"cancel_task", cancel_task, 5, "uuid, text, text, int8, int8",
     "setof (text, uuid, text, text, bool)", Access::kWrite, kForWorker},
    {"cancel_tasks", cancel_tasks, 7, kBulkArguments, "jsonb", Access::kWrite, kForOperator},
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
    {"complete", complete, 2, "text, jsonb", "void", Access::kWrite, kForWorker, kOnlyBelay},
    {"complete_and_claim", complete_and_claim, 11,
     "uuid, int8, jsonb, text, text, text[], text[], int8, int4, int4[], int8",
     "setof (uuid, text, text, jsonb, jsonb, int4, int4, text, int4, int4, int4, int8, text, int8, "
     "int8, int8, jsonb, "
     "jsonb, uuid, text, jsonb, jsonb)",
     Access::kWrite, kForWorker},
    {"complete_and_receive", complete_and_receive, 7,
     "text, jsonb, text[], int4, interval, text, text[]", kReceivedRows, Access::kWrite, kForWorker,
     kOnlyBelay},
    {"complete_and_receive_one_queue", complete_and_receive_one_queue, 7,
     "text, jsonb, text, int4, interval, text, text[]", kReceivedRows, Access::kWrite, kForWorker,
     kOnlyBelay},
    {"complete_task", complete_task, 5, "uuid, int8, jsonb, text, int8",
     "setof (text, uuid, text, int8)", Access::kWrite, kForWorker},
    {"create_flow", create_flow, 2, "jsonb, int8", "setof (uuid, text, int8, bool, jsonb)",
     Access::kWrite, kForClient},
    {"create_schedule", create_schedule, 7, "text, text, jsonb, text, text, text, int8", "int8",
     Access::kWrite, kForOperator},
    {"create_subscription", create_subscription, 3, "text, text[], text", "void", Access::kWrite,
     kForOperator},
    {"create_task", create_task, 14,
     "text, jsonb, uuid, text, int4, int8, int8, int8, text[], jsonb, text, int8, jsonb, int8",
     "setof (uuid, text, bool)", Access::kWrite, kForClient},
    {"create_tasks", create_tasks, 2, "jsonb, int8", "setof (int4, uuid, text, bool)",
     Access::kWrite, kForClient},
    {"create_waitpoint", create_waitpoint, 5, "uuid, int8, text, int8, int8", "setof (uuid, text)",
     Access::kWrite, kForWorker},
    {"delay_task", delay_task, 5, "uuid, int8, int8, jsonb, int8", "setof (text, int8)",
     Access::kWrite, kForWorker},
    {"delete_flow", delete_flow, 1, "uuid", "bool", Access::kWrite, kForOperator},
    {"delete_instance", delete_instance, 2, "text, bool", "setof (int8, int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"delete_instances_atomic", delete_instances_atomic, 2, "text[], bool",
     "setof (int8, int8, int8, int8)", Access::kWrite, kForOperator},
    {"delete_instances_bulk", delete_instances_bulk, 1, "jsonb", "setof (int8, int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"delete_task", delete_task, 1, "uuid", "bool", Access::kWrite, kForOperator},
    {"deliver_signal", deliver_signal, 5, "uuid, uuid, text, jsonb, int8",
     "setof (text, text, text)", Access::kWrite, kForClient},
    {"discard_dead_letter", discard_dead_letter, 1, "int8", "void", Access::kWrite, kForOperator},
    {"discard_dead_letters", discard_dead_letters, 5, "jsonb, text, text, int4, int4", "jsonb",
     Access::kWrite, kForOperator},
    {"drop_schedule", drop_schedule, 1, "text", "void", Access::kWrite, kForOperator},
    {"drop_subscription", drop_subscription, 1, "text", "void", Access::kWrite, kForOperator},
    {"enqueue_orchestrator_items", enqueue_orchestrator_items, 2, "jsonb, int8", "int8",
     Access::kWrite, kForClient},
    {"enqueue_orchestrator_work", enqueue_orchestrator_work, 6,
     "text, text, timestamptz, text, text, int8", "void", Access::kWrite, kForClient},
    {"enqueue_worker_items", enqueue_worker_items, 2, "jsonb, int8", "int8", Access::kWrite,
     kForClient},
    {"enqueue_worker_work", enqueue_worker_work, 7, "text, text, int8, int8, text, text, int8",
     "void", Access::kWrite, kForClient, kOnlyBelay},
    {"enqueue_worker_work_duroxide_pg", enqueue_worker_work, 7,
     "text, int8, text, int8, int8, text, text", "void", Access::kWrite, kForClient,
     kOnlyDuroxidePg, 1},
    {"explain_claim", explain_claim, 4, "uuid, text[], int4[], int8", "setof (text, jsonb)",
     Access::kRead, kForMonitor},
    {"explain_fetch", explain_fetch, 4, "text, int8, int8, int8", "setof (text, text, timestamptz)",
     Access::kRead, kForMonitor},
    {"explain_waits", explain_waits, 3, "text, int4, int8", "setof (text, text, timestamptz)",
     Access::kRead, kForMonitor},
    {"explain_work_item", explain_work_item, 2, "int8, int8", "setof (text, text, timestamptz)",
     Access::kRead, kForMonitor},
    {"extend", extend, 2, "text, interval", "timestamptz", Access::kWrite, kForWorker, kOnlyBelay},
    {"fail", fail, 4, "text, text, interval, text", "timestamptz", Access::kWrite, kForWorker,
     kOnlyBelay},
    {"fail_task", fail_task, 8, "uuid, int8, text, text, jsonb, int8, text, int8",
     "setof (text, text, int8, int4)", Access::kWrite, kForWorker},
    {"fetch_history", fetch_history, 1, "text", "setof (text)", Access::kRead, kForReader},
    {"fetch_history_with_execution", fetch_history_with_execution, 2, "text, int8", "setof (text)",
     Access::kRead, kForReader},
    {"fetch_orchestration_item", fetch_orchestration_item, 5, "int8, int8, int8, int4[], int8",
     "setof (text, text, text, int8, json, json, text, int4, json)", Access::kWrite, kForWorker,
     kOnlyBelay},
    {"fetch_orchestration_item_jsonb", fetch_orchestration_item_jsonb, 5,
     "int8, int8, int8, int8, int4[]",
     "setof (text, text, text, int8, jsonb, jsonb, text, int4, jsonb)", Access::kWrite, kForWorker,
     kOnlyDuroxidePg, 0},
    {"fetch_work_item", fetch_work_item, 7, "int8, text, int8, text[], text, int4[], int8",
     "setof (text, text, int4)", Access::kWrite, kForWorker, kOnlyBelay},
    {"fetch_work_item_duroxide_pg", fetch_work_item, 7,
     "int8, int8, text, int8, text[], text, int4[]", "setof (text, text, int4)", Access::kWrite,
     kForWorker, kOnlyDuroxidePg, 0},
    {"fetch_work_items", fetch_work_items, 9,
     "int8, text, int8, text[], text, int4, int4, int4[], int8", "setof (text, text, int4)",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"fetch_work_items_duroxide_pg", fetch_work_items, 9,
     "int8, int8, text, int8, text[], text, int4, int4, int4[]", "setof (text, text, int4)",
     Access::kWrite, kForWorker, kOnlyDuroxidePg, 0},
    {"find", find, 1, "text", "setof (text, text, text)", Access::kRead, kForMonitor},
    {"get_custom_status", get_custom_status, 2, "text, int8", "setof (text, int8)", Access::kRead,
     kForAll},
    {"get_execution_info", get_execution_info, 2, "text, int8",
     "setof (int8, text, text, timestamptz, timestamptz, int8)", Access::kRead, kForAll},
    {"get_flow", get_flow, 1, "uuid, text", "jsonb", Access::kRead, kForAll},
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
    {"glance", glance, 1, "int4", "jsonb", Access::kRead, kForMonitor},
    {"guard", guard, 1, "text", "void", Access::kRead, kForWorker},
    {"guard_task", guard_task, 2, "uuid, int8", "void", Access::kRead, kForWorker},
    {"latest_execution_id", latest_execution_id, 1, "text", "int8", Access::kRead, kForAll},
    {"list_children", list_children, 1, "text", "setof (text)", Access::kRead, kForMonitor},
    {"list_dead_letters", list_dead_letters, 5, "text, text, text, int8, int4",
     "setof (int8, text, int8, text, int8, int8, text, text, text, int4, text, text, timestamptz, "
     "timestamptz)",
     Access::kRead, kForOperator},
    {"list_executions", list_executions, 1, "text", "setof (int8)", Access::kRead, kForMonitor},
    {"list_expired_leases", list_expired_leases, 5, "text, int8, uuid, int4, int8",
     "setof (uuid, text, text, int8, int8, text, text, int4)", Access::kRead, kForMonitor},
    {"list_flows", list_flows, 3, "jsonb, uuid, int4",
     "setof (uuid, text, text, bool, int8, text, int8, int8, int8, jsonb, text, int8, int8, int8)",
     Access::kRead, kForMonitor},
    {"list_instances", list_instances, 7, "text, text, text, int8, int8, text, int4",
     "setof (text)", Access::kRead, kForMonitor},
    {"list_instances_by_status", list_instances_by_status, 1, "text", "setof (text)", Access::kRead,
     kForMonitor},
    {"list_owners", list_owners, 3, "text, int4, int4", "jsonb", Access::kRead, kForMonitor},
    {"list_queues", list_queues, 1, "int4",
     "setof (text, bool, int8, int8, int8, int8, int8, int8, int8, int8, float8, float8, int8, "
     "text[], text, int8)",
     Access::kRead, kForMonitor},
    {"list_schedules", list_schedules, 0, "",
     "setof (text, text, text, text, jsonb, bool, int8, int8, text, int8)", Access::kRead,
     kForMonitor},
    {"list_signals", list_signals, 3, "uuid, int8, int4",
     "setof (int8, text, uuid, text, text, text, jsonb, int8)", Access::kRead, kForReader},
    {"list_tasks", list_tasks, 3, "jsonb, uuid, int4",
     "setof (uuid, text, text, text, int4, uuid, text, text, int4, int4, int4, int4, int8, int8, "
     "text, text, int8, int8, "
     "text, text, jsonb, int8, int8, int8)",
     Access::kRead, kForMonitor},
    {"list_waitpoints", list_waitpoints, 3, "uuid, uuid, int4",
     "setof (uuid, text, text, uuid, text, text, int8, int8, int8, int8)", Access::kRead,
     kForMonitor},
    {"list_work_items", list_work_items, 4, "jsonb, text, int4, int8",
     "setof (int8, text, text, text, int8, int8, text, text, timestamptz, int8, text, int4, "
     "timestamptz, text)",
     Access::kRead, kForOperator},
    {"next_times", next_times, 4, "text, text, int4, int8", "setof (int8)", Access::kRead,
     kForMonitor},
    {"pause_hub", pause_hub, 2, "text, text", "void", Access::kWrite, kForOperator},
    {"pause_queue", pause_queue, 1, "text", "void", Access::kWrite, kForOperator},
    {"pause_schedule", pause_schedule, 1, "text", "void", Access::kWrite, kForOperator},
    {"progress", progress, 4, "text, numeric, text, jsonb", "void", Access::kWrite, kForWorker,
     kOnlyBelay},
    {"progress_task", progress_task, 7, "uuid, int8, numeric, text, jsonb, int8, int8",
     "setof (int8)", Access::kWrite, kForWorker},
    {"prune_executions", prune_executions, 3, "text, int4, int8", "setof (int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"prune_executions_bulk", prune_executions_bulk, 2, "jsonb, jsonb", "setof (int8, int8, int8)",
     Access::kWrite, kForOperator},
    {"raise", raise, 3, "text, text, jsonb", "void", Access::kWrite, kForClient, kOnlyBelay},
    {"raise_event", raise_event, 5, "text, text, text, bool, int8", "void", Access::kWrite,
     kForClient},
    {"read_body", read_body, 5, "text, text, text, int8, int8", "jsonb", Access::kRead,
     kForMonitor},
    {"read_events", read_events, 4, "text, int4, int8, int8",
     "setof (text, text, text, text, jsonb, int8, text)", Access::kWrite, kForWorker},
    {"read_history", read_history, 4, "text, int8, int8, int4",
     "setof (int8, int8, text, text, timestamptz)", Access::kRead, kForReader},
    {"receive", receive, 5, "text[], int4, interval, text, text[]", kReceivedRows, Access::kWrite,
     kForWorker, kOnlyBelay},
    {"receive_intents", receive_intents, 1, "jsonb", "int8", Access::kWrite, kForClient},
    {"receive_one_queue", receive_one_queue, 5, "text, int4, interval, text, text[]", kReceivedRows,
     Access::kWrite, kForWorker, kOnlyBelay},
    {"reconcile", reconcile, 2, "text[], int8", "setof (text, int8, int8)", Access::kWrite,
     kForOperator},
    {"redrive_dead_letter", redrive_dead_letter, 1, "int8", "int8", Access::kWrite, kForOperator},
    {"redrive_dead_letters", redrive_dead_letters, 5, "jsonb, text, text, int4, int4", "jsonb",
     Access::kWrite, kForOperator},
    {"release", release, 2, "text, interval", "void", Access::kWrite, kForWorker, kOnlyBelay},
    {"release_slots", release_slots, 2, "text, text", "void", Access::kWrite, kForWorker},
    {"release_task", release_task, 4, "uuid, int8, int8, int8", "setof (text, int8)",
     Access::kWrite, kForWorker},
    {"renew_orchestration_item_lock", renew_orchestration_item_lock, 3, "text, int8, int8", "void",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"renew_orchestration_item_lock_secs", renew_orchestration_item_lock_secs, 3,
     "text, int8, int8", "void", Access::kWrite, kForWorker, kOnlyDuroxidePg, 1},
    {"renew_session_lock", renew_session_lock, 4, "text[], int8, int8, int8", "int8",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"renew_session_lock_duroxide_pg", renew_session_lock, 4, "text[], int8, int8, int8", "int8",
     Access::kWrite, kForWorker, kOnlyDuroxidePg, 1},
    {"renew_task", renew_task, 4, "uuid, int8, int8, int8", "setof (int8, bool)", Access::kWrite,
     kForWorker},
    {"renew_tasks", renew_tasks, 4, "uuid[], int8[], int8, int8", "setof (uuid, bool, int8, text)",
     Access::kWrite, kForWorker},
    {"renew_work_item_lock", renew_work_item_lock, 3, "text, int8, int8", "void", Access::kWrite,
     kForWorker, kOnlyBelay},
    {"renew_work_item_lock_secs", renew_work_item_lock_secs, 3, "text, int8, int8", "void",
     Access::kWrite, kForWorker, kOnlyDuroxidePg, 1},
    {"renew_work_item_locks", renew_work_item_locks, 3, "text[], int8, int8",
     "setof (int4, text, bool, int8, text)", Access::kWrite, kForWorker, kOnlyBelay},
    {"renew_work_item_locks_duroxide_pg", renew_work_item_locks, 3, "text[], int8, int8",
     "setof (int4, text, bool, int8, text)", Access::kWrite, kForWorker, kOnlyDuroxidePg, 1},
    {"replay_task", replay_task, 4, "uuid, bool, int4, int8",
     "setof (text, uuid, text, int4, uuid[], uuid[])", Access::kWrite, kForOperator},
    {"replay_tasks", replay_tasks, 7, "jsonb, bool, text, text, int4, int4, int8", "jsonb",
     Access::kWrite, kForOperator},
    {"resume_hub", resume_hub, 1, "text", "void", Access::kWrite, kForOperator},
    {"resume_queue", resume_queue, 1, "text", "void", Access::kWrite, kForOperator},
    {"resume_schedule", resume_schedule, 2, "text, int8", "int8", Access::kWrite, kForOperator},
    {"resume_task", resume_task, 4, "uuid, text, int8, int8", "setof (text, int8)", Access::kWrite,
     kForOperator},
    {"retry", retry, 1, "uuid", "void", Access::kWrite, kForOperator, kOnlyBelay},
    {"revoke_lease", revoke_lease, 6, "uuid, text, text, text, int8, int8",
     "setof (text, text, text, int8)", Access::kWrite, kForOperator},
    {"rotate_waitpoint_key", rotate_waitpoint_key, 3, "text, bytea, int8", "text", Access::kWrite,
     core::kNoLevel},
    {"seal_flow", seal_flow, 3, "uuid, int8, int8", "setof (text, int8)", Access::kWrite,
     kForClient},
    {"seed_waitpoint_key", seed_waitpoint_key, 2, "text, bytea", "text", Access::kWrite,
     core::kNoLevel},
    {"send", send, 9, "text, jsonb, text, text, interval, timestamptz, int4, jsonb, jsonb", "uuid",
     Access::kWrite, kForClient, kOnlyBelay},
    {"send_many", send_many, 9,
     "text, jsonb[], text, text[], interval, timestamptz, int4, jsonb, jsonb", "setof uuid",
     Access::kWrite, kForClient, kOnlyBelay},
    {"send_to_hub", send_to_hub, 4, "name, text, text, timestamptz", "int8", Access::kWrite,
     kForClient},
    {"set_join", set_join, 4, "uuid, uuid, jsonb, int8", "setof (text, int8)", Access::kWrite,
     kForClient},
    {"set_queue", set_queue, 2, "text, jsonb", "void", Access::kWrite, kForOperator},
    {"settle_and_claim_tasks", settle_and_claim_tasks, 20,
     "uuid[], int8[], text[], jsonb[], text[], text[], jsonb[], int8[], jsonb[], jsonb[], text, "
     "text, "
     "text[], text[], int8, int4, int4[], int4, int4, int8",
     "setof (int4, text, text, text, text, int8, int4, bool, uuid, jsonb, "
     "uuid, text, text, jsonb, jsonb, int4, int4, text, int4, int4, int4, int8, text, int8, "
     "int8, int8, jsonb, jsonb, uuid, text, jsonb, jsonb)",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"settle_and_fetch_work_items", settle_and_fetch_work_items, 17,
     "text[], text[], text[], int8[], bool[], text[], int8, text, int8, text[], text, int4, int4, "
     "int4[], int4, int4, int8",
     "setof (int4, text, text, text, text, int4)", Access::kWrite, kForWorker, kOnlyBelay},
    {"settle_and_receive", settle_and_receive, 11,
     "text[], text[], jsonb[], text[], text[], interval[], text[], int4, interval, text, text[]",
     "setof (int4, text, text, text, timestamptz, "
     "uuid, text, text, jsonb, jsonb, int4, text, timestamptz, timestamptz, jsonb, jsonb, jsonb)",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"settle_turns_and_work", settle_turns_and_work, 29,
     "text[], int8[], jsonb[], jsonb[], jsonb[], jsonb[], jsonb[], int8, int8, int8, int4, int4[], "
     "text, text[], text[], text[], text[], int8[], bool[], text[], text, int8, text[], text, "
     "int4, "
     "int4, int4, int8[], int8",
     "setof (int4, text, text, text, text, text, text, int8, json, json, text, int4, json, int8, "
     "int8, int8, text, text, int4, int4)",
     Access::kWrite, kForWorker, kOnlyBelay},
    {"start", start, 4, "text, jsonb, text, text", "text", Access::kWrite, kForClient, kOnlyBelay},
    {"start_orchestration", start_orchestration, 6, "text, text, text, text, int8, int8", "text",
     Access::kWrite, kForClient},
    {"stat_series", stat_series, 5, "int8, int8, int8, text, text",
     "setof (int8, text, text, int8, int8, int8, int8, int8, int8, int8, int8, int8[], int8, "
     "int8[], int8, int8, int8)",
     Access::kRead, kForMonitor},
    {"status", status, 1, "uuid", kStatusRow, Access::kRead, kForAll, kOnlyBelay},
    {"suspend_task", suspend_task, 4, "uuid, int8, jsonb, int8", "setof (text, uuid, jsonb)",
     Access::kWrite, kForWorker},
    {"terminate", terminate, 2, "text, text", "bool", Access::kWrite, kForOperator, kOnlyBelay},
    {"upstream_results", upstream_results, 1, "uuid", "setof (uuid, text, text, text, jsonb)",
     Access::kRead, kForAll},
    {"wait_for_work", wait_for_work, 4, "text[], int4, text, text", "procedure (text, text)",
     Access::kWait, kForAll},
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

bool never_waits(const Verb& verb) {
    constexpr decltype(Verb::call) kFetches[] = {
        claim_tasks,       fetch_orchestration_item, fetch_orchestration_item_jsonb,
        fetch_work_item,   fetch_work_items,         receive,
        receive_one_queue,
    };
    return std::find(std::begin(kFetches), std::end(kFetches), verb.call) != std::end(kFetches);
}

}  // namespace belay::entry
