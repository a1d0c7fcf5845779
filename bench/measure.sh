#!/usr/bin/env bash
# The inner part of bench/run.sh: runs the workloads on the server that PGHOST names.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"
# shellcheck source=bench/rows.sh
source "$root/bench/rows.sh"

: "${BENCH_WORK:?called by bench/run.sh}" "${BENCH_SECONDS:?}" "${BENCH_ROUNDS:?}"
: "${BENCH_CLIENTS:?}" "${BENCH_HOLD_SECONDS:?}" "${BENCH_FILL:?}" "${BENCH_CPU_CYCLES:?}"
: "${BENCH_RIVAL_SECONDS:?}" "${BENCH_TURN_CLIENTS:?}" "${BENCH_ONLY=}" "${BENCH_WORKLOADS=}"

# 200 bytes, an activity without an instance.
item='{"ActivityExecute":{"name":"ResizeImage","input":"'
while ((${#item} < 197)); do item+=x; done
item+='"}}'

# What the ack of a turn sends, for format(): 5 events, 2 activities, a message to the instance
# itself, metadata of the first and of the last turn of an execution.
# shellcheck disable=SC2016  # $s belongs to format().
event() {
    local form='{"event_id":%%%d$s,"event_type":"%s",'
    form+='"event_data":"{\\"event_id\\":%%%d$s,\\"type\\":\\"%s\\",%s}"}'
    # shellcheck disable=SC2059  # It is a format.
    printf "$form" "$1" "$2" "$1" "$2" "$3"
}
# shellcheck disable=SC2016
activity() {
    printf '{"ActivityExecute":{"instance":"%%1$s","execution_id":%%2$s,"id":%%%d$s,' "$1"
    printf '"name":"ResizeImage","input":"%s"}}' "$input"
}
input='{\"image\":\"https://images.example/2024/11/5f3a9c1e.jpg\",\"width\":640,\"height\":480,\"format\":\"webp\"}'
scheduled='\"name\":\"ResizeImage\",\"input\":\"image 5f3a9c1e, 640 by 480, webp, quality 80\"'
completed='\"source_event_id\":1,\"result\":\"https://images.example/2024/11/5f3a9c1e.webp\"'
delta="[$(event 1 ExternalEvent '\"name\":\"next\",\"data\":\"another image\"'),$(event 2 ActivityCompleted "$completed")"
delta+=",$(event 3 ActivityCompleted "$completed"),$(event 4 ActivityScheduled "$scheduled")"
delta+=",$(event 5 ActivityScheduled "$scheduled")]"
# shellcheck disable=SC2016  # $s belongs to format().
turn_variables=(-D "delta=$delta"
    -D "activities=[$(activity 3),$(activity 4)]"
    -D 'message=[{"ExternalRaised":{"instance":"%1$s","name":"next","data":"another image"}}]'
    -D 'next=[{"ContinueAsNew":{"instance":"%1$s","orchestration":"Bill","input":"","version":"1.0.0"}}]'
    -D 'born={"orchestration_name":"Bill","orchestration_version":"1.0.0"}'
    -D 'ended={"status":"ContinuedAsNew"}')

# The items of one batch, as enqueue_worker_items takes them.
batch_items() {
    local list='' i
    for ((i = 0; i < $1; i++)); do list+="${list:+,}{\"work_item\":$item}"; done
    printf '[%s]' "$list"
}

# The clients of the workloads that are about one question, not about scaling.
few_clients=4

runs=$BENCH_WORK/runs.tsv
snapshot_runs=$BENCH_WORK/old_snapshot.tsv
curve=$BENCH_WORK/old_snapshot_curve.tsv
summary=$BENCH_WORK/summary.tsv
output=$BENCH_WORK/pgbench.out
errors=$BENCH_WORK/pgbench.err
threads=$(nproc)
tick_us=$((1000000 / $(getconf CLK_TCK)))
failures=0
holder=

sql() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$@"; }

# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    if [[ -n $holder ]]; then
        kill "$holder" 2>/dev/null || true
    fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# made_anew QUEUE: an empty queue, its counters at 0.
made_anew() { sql -f "$root/bench/queues/$1/setup.sql" >/dev/null; }

# options_of ROW: the settings of the sessions of this workload that measure the row.
options_of() { say "$options ${queue_options[${row_queue[$1]}]:-} ${row_options[$1]:-}"; }

# ---- What the server has used. ----

# Sets cpu: the CPU that all processes of the server have used until now, in us. Those that ended
# are in the postmaster's cutime and cstime, so the backends of ended clients are waited for.
read_cpu() {
    local tries=0 pid ns text fields
    while pgrep -P "$postmaster" -f '\[local\]' >/dev/null; do
        ((++tries < 500)) || die "the backends of ended clients do not end"
        sleep 0.02
    done
    cpu=0
    for pid in "$postmaster" $(pgrep -P "$postmaster"); do
        # A worker of autovacuum may end meanwhile.
        if read -r ns _ 2>/dev/null <"/proc/$pid/schedstat"; then
            cpu=$((cpu + ns / 1000))
        fi
    done
    # Before the last parenthesis is the program's name; what follows begins with field 3.
    text=$(<"/proc/$postmaster/stat")
    read -r -a fields <<<"${text##*) }"
    cpu=$((cpu + (fields[13] + fields[14]) * tick_us))
}

# ---- One run. ----

# run_pgbench LIMIT CLIENTS SCRIPT OPTION...: sets transactions and rate.
run_pgbench() {
    local limit=$1 clients=$2 script=$3
    shift 3
    timeout -k 5 "$limit" pgbench -n -M prepared -c "$clients" \
        -j "$((clients < threads ? clients : threads))" -f "$script" \
        -D "item=$item" -D got=0 "${turn_variables[@]}" "${batch_variables[@]}" "$@" \
        >"$output" 2>"$errors" || return 1
    transactions=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$output")
    rate=$(sed -n 's/^tps = \([0-9.]*\) .*/\1/p' "$output")
    [[ -n $transactions && -n $rate ]]
}

failed() {
    failures=$((failures + 1))
    say "  FAILED: $*" >&2
    { grep -v '^progress: ' "$errors" || true; } | head -n 3 | sed 's/^/    /' >&2
}

progress() {
    local load
    read -r load _ </proc/loadavg
    printf '  %-24s %-8s round %d  %-20s %12s   load %s\n' "$@" "$load" >&2
}

# start_instances QUEUE SCRIPT CLIENTS: puts instances into the queue, more than clients can hold at
# once, and takes them through a whole execution.
start_instances() {
    local instances=$(((few_clients > $3 ? few_clients : $3) * 16))
    sql -c "CALL bench.$1_start($instances)" >/dev/null &&
        run_pgbench 120 "$few_clients" "$2" -t "$instances"
}

# measure WORKLOAD VARIANT CLIENTS ROUND PLACE ROW SCRIPT: one run, a line of runs.tsv. Rows that
# the queue has at its beginning, and their delay: $fill_rows, $fill_delay_ms.
measure() {
    local workload=$1 variant=$2 clients=$3 round=$4 place=$5 row=$6 script=$7
    local queue=${row_queue[$row]} connecting=6 held=0
    local schema=${queue_schema[$queue]:-$queue} after=$root/bench/queues/$queue/after.sql
    local connect_cpu used_cpu began left left_before records bytes records_before bytes_before
    local updates hot line count=left
    local -x PGOPTIONS
    PGOPTIONS=$(options_of "$row")
    [[ $script != ack_and_fetch ]] || held=$clients
    [[ $script != turn* ]] || count=turns
    script=$root/bench/queues/$queue/$script.pgbench

    # What connecting and planning cost is measured first, and taken off: it belongs to no item.
    made_anew "$queue"
    if [[ $count == turns ]] && ! start_instances "$queue" "$script" "$clients"; then
        failed "$workload, $row, $clients clients, start"
        return 0
    fi
    read_cpu
    began=$cpu
    if ! run_pgbench 60 "$clients" "$script" -t "$connecting"; then
        failed "$workload, $row, $clients clients"
        return 0
    fi
    read_cpu
    connect_cpu=$((cpu - began))

    sql -c CHECKPOINT
    made_anew "$queue"
    if ((fill_rows > 0)); then
        sql -c "CALL bench.${queue}_fill($fill_rows, $fill_delay_ms, '$item')" >/dev/null
        sql -c 'VACUUM ANALYZE' -c CHECKPOINT
    fi
    if [[ $count == turns ]]; then
        if ! start_instances "$queue" "$script" "$clients"; then
            failed "$workload, $row, $clients clients, start"
            return 0
        fi
        sql -c 'VACUUM ANALYZE' -c CHECKPOINT
    fi
    read -r left_before records_before bytes_before < <(
        sql -c "SELECT bench.${queue}_$count(), wal_records, wal_bytes FROM pg_stat_wal"
    )
    read_cpu
    began=$cpu
    if ! run_pgbench $((BENCH_SECONDS * 2 + 60)) "$clients" "$script" -T "$BENCH_SECONDS"; then
        failed "$workload, $row, $clients clients"
        return 0
    fi
    read_cpu
    used_cpu=$((cpu - began - connect_cpu))
    left=$(sql -c "SELECT bench.${queue}_$count()")
    if [[ -e $after && $workload != enqueue ]]; then
        read_cpu
        began=$cpu
        sql -f "$after" >/dev/null
        read_cpu
        used_cpu=$((used_cpu + cpu - began))
    fi
    read -r records bytes updates hot < <(
        sql -c "SELECT wal_records, wal_bytes, t.*
                FROM pg_stat_wal, (
                    SELECT coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_hot_upd), 0)
                    FROM pg_stat_user_tables
                    WHERE schemaname = '$schema') AS t"
    )

    # A fetch that found nothing leaves an item behind: items are those that left the queue. Turns are
    # counted by what they made.
    line=$(awk -v workload="$workload" -v count="$count" -v n="$transactions" -v rate="$rate" -v cpu="$used_cpu" \
        -v grown=$((left - left_before)) -v held="$held" -v connected=$((clients * connecting)) \
        -v records=$((records - records_before)) -v bytes=$((bytes - bytes_before)) \
        -v updates="$updates" -v hot="$hot" -v size="$batch_size" 'BEGIN {
            items = count == "turns" ? grown : workload == "enqueue" ? n : n * size - grown
            empty = count == "turns" ? n - grown : workload == "enqueue" || grown < held ? 0 : (grown - held) / size
            share = n > 0 ? items / n : 0
            counted = (n - connected) * share
            printf "%d\t%d\t%.1f\t%s\t%s\t%s\t%s\t%.2f", n, items, rate * share,
                (counted > 0 && cpu > 0 ? sprintf("%.1f", cpu / counted) : "-"),
                (items > 0 ? sprintf("%.2f", records / items) : "-"),
                (items > 0 ? sprintf("%.0f", bytes / items) : "-"),
                (updates > 0 ? sprintf("%.1f", 100 * hot / updates) : "-"),
                (n > 0 ? 100 * empty / n : 0)
        }')
    printf '%s\t' "$workload" "$variant" "$clients" "$round" "$place" "$row" >>"$runs"
    printf '%s\n' "$line" >>"$runs"
    progress "$workload $variant" "$clients cl." "$round" "$row" "$(cut -f 3 <<<"$line")/s"
}

# rotated ROUND ROW...: the rows, beginning with another one in each round.
rotated() {
    local shift_by=$((($1 - 1) * ($# - 1) / BENCH_ROUNDS))
    shift
    ((shift_by > 0)) || shift_by=0
    say "${@:shift_by+1}" "${@:1:shift_by}"
}

# ---- The workloads. ----

# rates WORKLOAD SCRIPT CLIENTS ROW...: all rows, interleaved, with each number of clients. SCRIPT
# is "own" for each row's own cycle; a row whose own script is a form of SCRIPT runs that.
rates() {
    local workload=$1 script=$2 numbers=$3 clients round row place own
    shift 3
    for clients in $numbers; do
        for ((round = 1; round <= BENCH_ROUNDS; round++)); do
            place=0
            for row in $(rotated "$round" "$@"); do
                place=$((place + 1))
                own=${row_script[$row]}
                [[ $script == own || $own == "$script"_* ]] || own=$script
                measure "$workload" - "$clients" "$round" "$place" "$row" "$own"
            done
        done
    done
}

workload_cycle() {
    rates cycle own "$BENCH_CLIENTS" "${selected[@]}" $flushed $floor
}

workload_cycle_async() {
    options='-c synchronous_commit=off'
    rates cycle_async own "$BENCH_CLIENTS" "${selected[@]}" $floor ${with_no_op:+no_op}
}

# Ten and a hundred items at once; PgQ has one consumer.
workload_batch() {
    local size round row place clients
    for clients in 1 "$few_clients"; do
        for size in 10 100; do
            batch_size=$size
            batch_variables=(-D "batch_size=$size" -D "items=$(batch_items "$size")")
            for ((round = 1; round <= BENCH_ROUNDS; round++)); do
                place=0
                for row in $(rotated "$round" "${with_batches[@]}"); do
                    place=$((place + 1))
                    [[ $row != pgq || $clients == 1 ]] || continue
                    measure batch "$size" "$clients" "$round" "$place" "$row" batch
                done
            done
        done
    done
    batch_size=1
    batch_variables=()
}

workload_enqueue() {
    ((${#plain[@]} == 0)) || rates enqueue enqueue "${BENCH_CLIENTS##* }" "${plain[@]}"
}

workload_turn() {
    local turns=("${with_turns[@]}")
    [[ -z $flushed ]] || turns+=("$flushed")
    ((${#turns[@]} == 0)) || rates turn turn "$BENCH_TURN_CLIENTS" "${turns[@]}"
}

workload_turn_async() {
    options='-c synchronous_commit=off'
    ((${#with_turns[@]} == 0)) || rates turn_async turn "$BENCH_TURN_CLIENTS" "${with_turns[@]}"
}

# One backend by itself, no client: calls from a PL/pgSQL loop, with its commits.
workload_backend_cpu() {
    local round row place figures queue call
    options='-c synchronous_commit=off'
    for ((round = 1; round <= BENCH_ROUNDS; round++)); do
        place=0
        for row in $(rotated "$round" "${selected[@]}" ${with_no_op:+no_op}); do
            place=$((place + 1))
            queue=${row_queue[$row]}
            made_anew "$queue"
            call="CALL bench.${queue}_${row_script[$row]}"
            if ! figures=$(PGOPTIONS=$(options_of "$row") timeout -k 5 600 psql -X -q -A -t -F $'\t' -v ON_ERROR_STOP=1 \
                -v item="$item" -v cycles="$BENCH_CPU_CYCLES" 2>"$errors" <<<"
                    $call(300, :'item');
                    SELECT bench.cpu_ns() AS cpu, clock_timestamp() AS clock \\gset
                    $call(:cycles, :'item');
                    SELECT round(:cycles / extract(epoch FROM clock_timestamp() - :'clock'), 1),
                        round((bench.cpu_ns() - :cpu) / 1000.0 / :cycles, 2);"); then
                failed "backend_cpu, $row"
                continue
            fi
            printf '%s\t' backend_cpu - 1 "$round" "$place" "$row" "$BENCH_CPU_CYCLES" \
                "$BENCH_CPU_CYCLES" >>"$runs"
            printf '%s\t-\t-\t-\t-\n' "$figures" >>"$runs"
            progress backend_cpu '1 cl.' "$round" "$row" "$(cut -f 2 <<<"$figures") us"
        done
    done
}

# hold_snapshot SECONDS: holds a snapshot until release_snapshot: what dies from now on cannot be
# removed.
hold_snapshot() {
    local tries=0
    PGAPPNAME=bench_holder sql -c 'BEGIN ISOLATION LEVEL REPEATABLE READ' \
        -c 'SELECT count(*) FROM pg_class' \
        -c "SELECT pg_sleep($(($1 * 2 + 120)))" >/dev/null 2>&1 &
    holder=$!
    while [[ $(sql -c "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bench_holder'
            AND backend_xmin IS NOT NULL AND wait_event = 'PgSleep'") != 1 ]]; do
        ((++tries < 200)) || die "the session with the old snapshot does not start"
        sleep 0.05
    done
}
release_snapshot() {
    sql -c "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE application_name = 'bench_holder'" >/dev/null
    wait "$holder" 2>/dev/null || true
    holder=
}

# The fresh rate is that of a short run before, on a new queue and without the snapshot. Others than
# belay are held shorter: they have fallen long before. The curve has a line per second.
workload_old_snapshot() {
    local row place=0 fresh last script hold last_seconds
    local -x PGOPTIONS
    options='-c synchronous_commit=off'
    for row in "${plain[@]}"; do
        place=$((place + 1))
        script=$root/bench/queues/${row_queue[$row]}/cycle.pgbench
        hold=$BENCH_HOLD_SECONDS
        [[ $row == belay ]] || hold=$((hold < BENCH_RIVAL_SECONDS ? hold : BENCH_RIVAL_SECONDS))
        last_seconds=$(((hold + 9) / 10))
        PGOPTIONS=$(options_of "$row")
        sql -c CHECKPOINT
        made_anew "${row_queue[$row]}"
        if ! run_pgbench $((BENCH_SECONDS * 2 + 60)) "$few_clients" "$script" -T "$BENCH_SECONDS"; then
            failed "old_snapshot, $row, fresh"
            continue
        fi
        fresh=$rate
        made_anew "${row_queue[$row]}"
        hold_snapshot "$hold"
        if run_pgbench $((hold * 2 + 60)) "$few_clients" "$script" -T "$hold" -P 1; then
            awk -v row="$row" '/^progress: / { printf "%s\t%s\t%s\n", row, $2, $4 }' "$errors" >>"$curve"
            last=$(awk -v wanted="$last_seconds" '/^progress: / {
                    rates[++n] = $4
                } END {
                    for (i = n; i > 0 && i > n - wanted; --i) {
                        sum += rates[i]
                        ++seconds
                    }
                    printf "%.1f", (seconds > 0 ? sum / seconds : 0)
                }' "$errors")
            printf '%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%s\n' "$place" "$row" "$few_clients" \
                "$hold" "$last_seconds" "$transactions" "$fresh" "$last" >>"$snapshot_runs"
            progress old_snapshot "$few_clients cl." 1 "$row" "$last/s"
        else
            failed "old_snapshot, $row"
        fi
        release_snapshot
    done
}

# backlog ROUNDS VARIANT...: a variant is a name, a number of rows and their delay.
backlog() {
    local rounds=$1 round row place variant
    shift
    for ((round = 1; round <= rounds; round++)); do
        place=0
        for row in $(rotated "$round" "${plain[@]}"); do
            for variant in "$@"; do
                place=$((place + 1))
                IFS=: read -r variant fill_rows fill_delay_ms <<<"$variant"
                measure backlog "$variant" "$few_clients" "$round" "$place" "$row" cycle
            done
        done
    done
    fill_rows=0
    fill_delay_ms=0
}

# To fill a queue takes longer than to measure it: large ones are measured once.
workload_backlog() {
    options='-c synchronous_commit=off'
    ((${#plain[@]} > 0)) || return 0
    backlog "$BENCH_ROUNDS" empty:0:0 "ready:$((BENCH_FILL / 10)):0"
    backlog 1 "ready_many:$BENCH_FILL:0" "future_many:$BENCH_FILL:86400000"
}

# ---- The whole. ----

report() {
    local file=$runs
    [[ $1 != old_snapshot ]] || file=$snapshot_runs
    awk -f "$root/bench/report.awk" -v workload="$1" -v fill="$BENCH_FILL" \
        -v seconds="$BENCH_SECONDS" -v summary="$summary" "$file"
}

fill_rows=0
fill_delay_ms=0
batch_size=1
batch_variables=()
sql -f "$root/bench/common.sql"
postmaster=$(sql -c "SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)")
sql -c 'CALL bench.make_wal_segments(48)' -c CHECKPOINT

# Which rows: those asked for, of those that are there.
selected=()
plain=()
with_turns=()
with_batches=()
with_no_op=
flushed=
floor=
for row in "${row_names[@]}"; do
    [[ -z $BENCH_ONLY || " $BENCH_ONLY " == *" $row "* ]] || continue
    case $row in
        no_op)
            with_no_op=yes
            continue
            ;;
        # Only where commits are flushed does it make a difference.
        belay_async_leases)
            flushed=belay_async_leases
            continue
            ;;
        commits)
            floor=commits
            continue
            ;;
        pgq)
            if ! made_anew pgq 2>"$errors"; then
                say "row pgq is left out: the extension pgq is not installed"
                continue
            fi
            ;;
        belay*)
            if ! made_anew belay 2>"$errors"; then
                failed "row $row cannot be set up"
                continue
            fi
            ;;
    esac
    case ${row_script[$row]} in
        cycle)
            selected+=("$row")
            [[ ! -e $root/bench/queues/${row_queue[$row]}/turn.pgbench ]] || with_turns+=("$row")
            plain+=("$row")
            [[ ! -e $root/bench/queues/${row_queue[$row]}/batch.pgbench ]] || with_batches+=("$row")
            ;;
        batch) with_batches+=("$row") ;;
        turn*) with_turns+=("$row") ;;
        *) selected+=("$row") ;;
    esac
done
((${#selected[@]} + ${#with_turns[@]} + ${#with_batches[@]} > 0)) || [[ -n $with_no_op$flushed$floor ]] || die "no row to measure"

printf '%s\t' workload variant clients round place row transactions items items_per_s \
    cpu_us_per_item wal_records_per_item wal_bytes_per_item hot_percent >"$runs"
printf '%s\n' empty_percent >>"$runs"
printf 'place\trow\tclients\tseconds\tlast_seconds\tcycles\tfresh_per_s\tlast_per_s\n' >"$snapshot_runs"
printf 'row\tsecond\tcycles_per_s\n' >"$curve"
printf 'workload\tvariant\tclients\trow\tmeasure\tmedian\tx_plpgsql_token\tx_provider\n' >"$summary"

read -r load _ </proc/loadavg
say "$(sql -c 'SELECT version()' | cut -d, -f1); $threads cores, load $load at the start;" \
    "$BENCH_ROUNDS rounds of $BENCH_SECONDS s; item of ${#item} bytes"
began=$SECONDS
for workload in ${BENCH_WORKLOADS:-${workload_names[@]}}; do
    options=
    "workload_$workload"
    report "$workload"
done
awk -f "$root/bench/goals.awk" "$summary"
for file in "$BENCH_WORK"/*.tsv; do
    tr '\t' ',' <"$file" >"${file%.tsv}.csv"  # no field has a comma or a quote
done
awk -v what=rates -f "$root/bench/plot.awk" "$summary" >"$BENCH_WORK/cycle.svg"
awk -v what=cpu -f "$root/bench/plot.awk" "$summary" >"$BENCH_WORK/cpu.svg"
awk -v what=curve -f "$root/bench/plot.awk" "$curve" >"$BENCH_WORK/old_snapshot.svg"
say ""
say "$((SECONDS - began)) s, $failures failed runs"
((failures == 0))
