// The entry functions of all verbs: decode, call the operation, encode.
#pragma once

#include "entry/call.hpp"

namespace belay::entry {

Datum abandon_orchestration_item(const Call& call);
Datum abandon_work_item(const Call& call);
Datum ack_and_fetch_work_item(const Call& call);
Datum ack_events(const Call& call);
Datum ack_orchestration_item(const Call& call);
Datum ack_worker(const Call& call);
Datum ack_workers(const Call& call);
Datum acquire_slots(const Call& call);
Datum append_history(const Call& call);
Datum cancel_activities(const Call& call);
Datum cancel_instance(const Call& call);
Datum cleanup_orphaned_sessions(const Call& call);
Datum cleanup_schema(const Call& call);
Datum create_subscription(const Call& call);
Datum delete_instance(const Call& call);
Datum delete_instances_atomic(const Call& call);
Datum delete_instances_bulk(const Call& call);
Datum discard_dead_letter(const Call& call);
Datum drop_subscription(const Call& call);
Datum enqueue_orchestrator_items(const Call& call);
Datum enqueue_orchestrator_work(const Call& call);
Datum enqueue_worker_items(const Call& call);
Datum enqueue_worker_work(const Call& call);
Datum explain_fetch(const Call& call);
Datum fetch_history(const Call& call);
Datum fetch_history_with_execution(const Call& call);
Datum fetch_orchestration_item(const Call& call);
Datum fetch_orchestration_item_jsonb(const Call& call);
Datum fetch_work_item(const Call& call);
Datum fetch_work_items(const Call& call);
Datum get_custom_status(const Call& call);
Datum get_execution_info(const Call& call);
Datum get_instance_info(const Call& call);
Datum get_instance_stats(const Call& call);
Datum get_instance_tree(const Call& call);
Datum get_kv_all_values(const Call& call);
Datum get_kv_value(const Call& call);
Datum get_parent_id(const Call& call);
Datum get_queue_depths(const Call& call);
Datum get_system_metrics(const Call& call);
Datum guard(const Call& call);
Datum latest_execution_id(const Call& call);
Datum list_children(const Call& call);
Datum list_dead_letters(const Call& call);
Datum list_executions(const Call& call);
Datum list_instances(const Call& call);
Datum list_instances_by_status(const Call& call);
Datum list_work_items(const Call& call);
Datum pause_hub(const Call& call);
Datum prune_executions(const Call& call);
Datum prune_executions_bulk(const Call& call);
Datum raise_event(const Call& call);
Datum read_events(const Call& call);
Datum read_history(const Call& call);
Datum receive_intents(const Call& call);
Datum reconcile(const Call& call);
Datum redrive_dead_letter(const Call& call);
Datum redrive_dead_letters(const Call& call);
Datum release_slots(const Call& call);
Datum renew_orchestration_item_lock(const Call& call);
Datum renew_orchestration_item_lock_secs(const Call& call);
Datum renew_session_lock(const Call& call);
Datum renew_work_item_lock(const Call& call);
Datum renew_work_item_lock_secs(const Call& call);
Datum renew_work_item_locks(const Call& call);
Datum resume_hub(const Call& call);
Datum send_to_hub(const Call& call);
Datum start_orchestration(const Call& call);
Datum wait_for_work(const Call& call);

}  // namespace belay::entry
