# The rows and workloads of the benchmark. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # The variables are for the scripts that source this file.

# Each row: its name, the directory below bench/queues, and the script that is its cycle. A row whose
# script is a turn or a batch has no cycle.
rows=(
    "plpgsql_token          plpgsql_token   cycle"
    "plpgsql_token_fused    plpgsql_token   ack_and_fetch"
    "provider               provider        cycle"
    "provider_lean          provider        turn_lean"
    "visibility             visibility      cycle"
    "state_column           state_column    cycle"
    "belay                  belay           cycle"
    "belay_async_leases     belay           cycle"
    "belay_ack_and_fetch    belay           ack_and_fetch"
    "belay_tasks            belay_tasks     cycle"
    "belay_tasks_fused      belay_tasks     ack_and_fetch"
    "pgq                    pgq             batch"
    "commits                no_op           commits"
    "no_op                  no_op           cycle"
)
row_names=()
declare -A row_queue=() row_script=()
for row in "${rows[@]}"; do
    read -r name queue script <<<"$row"
    row_names+=("$name")
    row_queue[$name]=$queue
    row_script[$name]=$script
done
unset row name queue script

# The schema with the tables of a queue, where it is not called as the queue.
declare -A queue_schema=([belay]=app [belay_tasks]=task_app)

# Planner settings of a queue's sessions. On a table that is empty now and full of dead rows soon,
# the planner goes wrong at times: it scans and sorts the table, or plans anew with each call. The
# other queues are spared that; belay gets no help.
no_mistakes='-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off'
no_mistakes+=' -c plan_cache_mode=force_generic_plan'
declare -A queue_options=(
    [plpgsql_token]=$no_mistakes
    [provider]=$no_mistakes
    [visibility]=$no_mistakes
    [state_column]=$no_mistakes
)

# Settings of a row's sessions.
declare -A row_options=(
    [belay_async_leases]='-c belay.async_leases=on'
)

workload_names=(cycle cycle_async batch enqueue backend_cpu old_snapshot backlog turn turn_async)
