#!/usr/bin/env bash
# The runs of bench/clients/run.sh, which starts the server and sets the variables.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../test/lib.sh"
# shellcheck source=bench/clients/systems.sh
source "$root/bench/clients/systems.sh"

# A run that hangs must not hang the rest.
time_limit=900
read -ra systems <<<"$BENCH_SYSTEMS"
read -ra measurements <<<"$BENCH_MEASUREMENTS"
runs=$BENCH_WORK/runs.tsv
failures=0
run_number=0
child=
redis_pid=

# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    trap '' INT TERM HUP
    [[ -z $child ]] || kill -TERM "$child" 2>/dev/null || true
    [[ -z $redis_pid ]] || kill -TERM "$redis_pid" 2>/dev/null || true
    wait
    [[ -z ${REDIS_SOCKET:-} ]] || rm -rf "$(dirname "$REDIS_SOCKET")"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Redis, without a port and without snapshots; the log of commands is its only file, and is not rewritten
# in the middle of a run. Debian's redis-tools have the server's program under another name, and start no
# service.
start_redis() {
    local directory
    directory=$(mktemp -d /tmp/belay-XXXXXX)
    export REDIS_SOCKET=$directory/socket
    ln -s "$(command -v redis-server || command -v redis-check-rdb)" "$directory/redis-server"
    mkdir -p "$BENCH_WORK/redis"
    "$directory/redis-server" --port 0 --unixsocket "$REDIS_SOCKET" --dir "$BENCH_WORK/redis" \
        --appendonly yes --auto-aof-rewrite-percentage 0 --save '' --daemonize no >"$BENCH_WORK/redis.log" 2>&1 &
    redis_pid=$!
    for _ in {1..100}; do
        [[ $(redis-cli -s "$REDIS_SOCKET" ping 2>/dev/null) != PONG ]] || return 0
        kill -0 "$redis_pid" 2>/dev/null || break
        sleep 0.1
    done
    cat "$BENCH_WORK/redis.log" >&2
    die "Redis did not start"
}

# run_one MEASUREMENT SYSTEM ROUND
run_one() {
    local program=${system_program[$2]} database code=0 figure value
    run_number=$((run_number + 1))
    database=bench_$run_number
    createdb "$database"
    psql -qXc CHECKPOINT
    set_arguments "$1" "$2"
    if is_native "$2"; then
        command=("$BENCH_PROGRAMS/clients_$program")
    else
        command=(node --no-warnings "$BENCH_PEERS/$program.mjs")
    fi
    PGDATABASE=$database timeout -k 10 "$time_limit" "${command[@]}" "${arguments[@]}" \
        >"$BENCH_WORK/out" 2>"$BENCH_WORK/err" &
    child=$!
    wait "$child" || code=$?
    child=
    if ((code != 0)); then
        failures=$((failures + 1))
        say "$1 of $2 failed in round $3 (exit code $code): ${arguments[*]}"
        tail -n 20 "$BENCH_WORK/err"
    else
        while read -r figure value; do
            printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$figure" "$value" >>"$runs"
        done <"$BENCH_WORK/out"
    fi
    dropdb --force "$database"
}

for system in "${systems[@]}"; do
    if needs_redis "$system"; then
        start_redis
        break
    fi
done

printf 'measurement\tsystem\tround\tfigure\tvalue\n' >"$runs"
for measurement in "${measurements[@]}"; do
    taking_part=()
    for system in "${systems[@]}"; do
        [[ ${system_measurements[$system]} != *" $measurement "* ]] || taking_part+=("$system")
    done
    for ((round = 1; round <= BENCH_ROUNDS; ++round)); do
        # Each round begins with another system.
        for ((i = 0; i < ${#taking_part[@]}; ++i)); do
            run_one "$measurement" "${taking_part[(i + round - 1) % ${#taking_part[@]}]}" "$round"
        done
    done
    awk -v measurement="$measurement" -v what=table -f "$root/bench/clients/report.awk" "$runs"
done

awk -v what=summary -f "$root/bench/clients/report.awk" "$runs" >"$BENCH_WORK/summary.tsv"
for file in runs summary; do
    tr '\t' ',' <"$BENCH_WORK/$file.tsv" >"$BENCH_WORK/$file.csv"
done
awk -f "$root/bench/clients/goals.awk" "$BENCH_WORK/summary.tsv"
awk -f "$root/bench/clients/plot.awk" "$BENCH_WORK/summary.tsv" >"$BENCH_WORK/clients.svg"
if ((failures > 0)); then
    say ""
    say "runs that failed: $failures"
    exit 1
fi
