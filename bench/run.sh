#!/usr/bin/env bash
# Measures belay's worker queue and turns beside others, all on one throw-away server with fsync on.
#
#   bench/run.sh [OPTION]...          `make bench` is this without options
#
#   --seconds N         length of one run (default 2)
#   --rounds N          runs of each row; figures are medians of them (default 3)
#   --clients "N ..."   numbers of clients of cycles; enqueue has the last one (default "1 4 16 64")
#   --turn-clients "N ..."   numbers of clients of turns (default "1 4 16")
#   --only ROW          only this row; may be repeated
#   --workload NAME     only this workload; may be repeated
#   --hold-seconds N    how long old_snapshot runs with its snapshot held (default 300)
#   --rival-seconds N   the same for others than belay, if that is less (default 60)
#   --fill N            rows put into the queue by backlog; a tenth of them first (default 1000000)
#   --cpu-cycles N      cycles of one run of backend_cpu (default 5000)
#   --quick             one short round of everything: shows that it works, measures little
#   --built             do not set up and build first
#   --list              print rows and workloads and stop
#   --help              print this and stop
#
# Rows and workloads are explained in bench/README.md. Tables go to the terminal, every single run
# to build/bench/*.tsv. Exits with 0 if no run failed.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"
# shellcheck source=bench/rows.sh
source "$root/bench/rows.sh"

usage() { sed -n '2,/^set -euo/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# number NAME VALUE: dies unless the value is a whole number above 0.
number() { [[ ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] || die "$1 needs a number above 0"; }

# one_of WHAT WORD LIST...: dies unless the word is in the list.
one_of() {
    local what=$1 word=$2
    shift 2
    [[ " $* " == *" $word "* ]] || die "no $what '$word'; there are: $*"
}

built=no
seconds=2
rounds=3
clients="1 4 16 64"
turn_clients="1 4 16"
hold_seconds=300
rival_seconds=60
fill=1000000
cpu_cycles=5000
only=
workloads=
arguments=("$@")
while (($# > 0)); do
    case $1 in
        --seconds | --rounds | --hold-seconds | --rival-seconds | --fill | --cpu-cycles)
            number "$1" "${2:-}"
            variable=${1#--}
            declare "${variable//-/_}=$2"
            shift
            ;;
        --clients | --turn-clients)
            for count in ${2:?"$1 needs a list of numbers"}; do
                number "$1" "$count"
                ((count <= 80)) || die "at most 80 clients"
            done
            variable=${1#--}
            declare "${variable//-/_}=$2"
            shift
            ;;
        --only)
            one_of row "${2:?--only needs a row}" "${row_names[@]}"
            only+=" $2"
            shift
            ;;
        --workload)
            one_of workload "${2:?--workload needs a name}" "${workload_names[@]}"
            workloads+=" $2"
            shift
            ;;
        --quick)
            seconds=1
            rounds=1
            clients="1 4"
            turn_clients="1 4"
            hold_seconds=5
            rival_seconds=5
            fill=20000
            cpu_cycles=1000
            ;;
        --built) built=yes ;;
        --list)
            say "rows:      ${row_names[*]}"
            say "workloads: ${workload_names[*]}"
            exit
            ;;
        --help | -h)
            usage
            exit
            ;;
        *) die "unknown argument $1; see --help" ;;
    esac
    shift
done

# The results belong to the checkout from which this was called, see move_if_unreachable.
export BELAY_BENCH_RESULTS=${BELAY_BENCH_RESULTS:-$root/build/bench}
if [[ -z ${BELAY_BINDIR:-} && $built == no ]]; then
    "$root/test/setup.sh"
    find_postgres
    say "building belay for $("$PG_CONFIG" --version)"
    build_module
fi
move_if_unreachable ../bench/run.sh "${arguments[@]}"
built=yes
prepare

# Only the test user's directory is sure to be writable inside.
work=$run_dir/bench
set_test_user_prefix
"${test_user_prefix[@]}" rm -rf "$work"
"${test_user_prefix[@]}" mkdir -p "$work"

# The same server for all rows. Checkpoints come between the runs, by command. Autovacuum comes
# often enough for the queues to meet it in short runs.
server=(--preload
    --conf belay.dense_epochs=off
    --conf fsync=on
    --conf shared_buffers=256MB
    --conf wal_buffers=16MB
    --conf min_wal_size=1GB
    --conf max_wal_size=16GB
    --conf checkpoint_timeout=1h
    --conf autovacuum_naptime=5s
    --conf jit=off)

export BENCH_WORK=$work BENCH_SECONDS=$seconds BENCH_ROUNDS=$rounds BENCH_CLIENTS=$clients \
    BENCH_TURN_CLIENTS=$turn_clients BENCH_HOLD_SECONDS=$hold_seconds BENCH_RIVAL_SECONDS=$rival_seconds BENCH_FILL=$fill BENCH_CPU_CYCLES=$cpu_cycles \
    BENCH_ONLY=$only BENCH_WORKLOADS=$workloads

server_pid=
# shellcheck disable=SC2317,SC2329  # Called by the trap.
stop_server() {
    trap '' INT TERM HUP
    if [[ -n $server_pid ]]; then
        kill -TERM "$server_pid" 2>/dev/null || true
        wait "$server_pid" || true
    fi
}
trap stop_server EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# In the background, because bash answers a signal only between commands.
code=0
"$root/test/server.sh" "${server[@]}" -- "$root/bench/measure.sh" &
server_pid=$!
wait "$server_pid" || code=$?
server_pid=

if compgen -G "$work/*.tsv" >/dev/null; then
    mkdir -p "$BELAY_BENCH_RESULTS"
    rm -f "$BELAY_BENCH_RESULTS"/*.{tsv,csv,svg}
    cp "$work"/*.tsv "$BELAY_BENCH_RESULTS/"
    find "$work" -maxdepth 1 \( -name '*.csv' -o -name '*.svg' \) -exec cp -t "$BELAY_BENCH_RESULTS" {} +
    say ""
    say "every single run, and plots: $(realpath --relative-to="$PWD" "$BELAY_BENCH_RESULTS")"
fi
exit "$code"
