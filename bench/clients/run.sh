#!/usr/bin/env bash
# Measures belay's client library beside other job queues and workflow libraries: real workers, one
# throw-away PostgreSQL server with fsync on, and a throw-away Redis server for those that need it.
#
#   bench/clients/run.sh [OPTION]...     `make bench-clients` is this without options
#
#   --rounds N           runs of each system; figures are medians of them (default 5)
#   --jobs N             jobs of one drain; slow systems get fewer (default 50000)
#   --seconds N          length of what runs for a time (default 3)
#   --samples N          lone jobs of one latency run (default 200)
#   --system NAME        only this system; may be repeated
#   --measurement NAME   only this measurement; may be repeated
#   --quick              one small round of everything: shows that it works, measures little
#   --built              do not set up and build first
#   --list               print systems and measurements and stop
#   --help               print this and stop
#
# With other systems than belay's it needs Node.js 20 or newer, npm and Redis: Debian's packages are
# installed if they are missing, and `npm ci --ignore-scripts` puts the libraries into
# build/bench-clients. All connections are unix sockets. bench/clients/README.md explains systems,
# measurements and figures. Exits with 0 if no run failed.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../test/lib.sh"
# shellcheck source=bench/clients/systems.sh
source "$root/bench/clients/systems.sh"

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
rounds=5
jobs=50000
seconds=3
samples=200
systems=()
measurements=()
arguments=("$@")
while (($# > 0)); do
    case $1 in
        --rounds | --jobs | --seconds | --samples)
            number "$1" "${2:-}"
            declare "${1#--}=$2"
            shift
            ;;
        --system)
            one_of system "${2:?--system needs a name}" "${system_names[@]}"
            systems+=("$2")
            shift
            ;;
        --measurement)
            one_of measurement "${2:?--measurement needs a name}" "${measurement_names[@]}"
            measurements+=("$2")
            shift
            ;;
        --quick)
            rounds=1
            jobs=2000
            seconds=1
            samples=20
            ;;
        --built) built=yes ;;
        --list)
            say "systems:      ${system_names[*]}"
            say "measurements: ${measurement_names[*]}"
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
((${#systems[@]} > 0)) || systems=("${system_names[@]}")
((${#measurements[@]} > 0)) || measurements=("${measurement_names[@]}")

peers=no
for system in "${systems[@]}"; do
    is_native "$system" || peers=yes
done

# The libraries and the programs that use them lie in build/, where Node.js finds the ones from the
# others and nothing gets into the checkout.
peers_dir=$root/build/bench-clients
install_peers() {
    local file version
    version=$(node --version)
    version=${version#v}
    ((${version%%.*} >= 20)) || die "Node.js $version is too old for these libraries: they need 20 or newer. Without them:
    ${0##*/} --system belay_worker --system belay_tasks --system belay_engine"
    mkdir -p "$peers_dir"
    for file in package.json package-lock.json .npmrc; do
        if ! cmp -s "$root/bench/clients/$file" "$peers_dir/$file"; then
            rm -f "$peers_dir/installed"
            cp "$root/bench/clients/$file" "$peers_dir/"
        fi
    done
    if [[ ! -e $peers_dir/installed ]]; then
        say "installing the libraries of other systems"
        (cd "$peers_dir" && npm ci --ignore-scripts --no-audit --no-fund) >"$peers_dir/npm.log" 2>&1 || {
            tail -n 20 "$peers_dir/npm.log" >&2
            die "npm ci failed, see build/bench-clients/npm.log"
        }
        touch "$peers_dir/installed"
    fi
    cp "$root"/bench/clients/*.mjs "$peers_dir/"
    # The runs are the test user's.
    chmod -R go+rX "$peers_dir"
}

# The results belong to the checkout from which this was called, see move_if_unreachable.
export BELAY_BENCH_RESULTS=${BELAY_BENCH_RESULTS:-$root/build/bench/clients}
if [[ -z ${BELAY_BINDIR:-} && $built == no ]]; then
    if [[ $peers == yes ]]; then
        "$root/test/setup.sh" clients
        install_peers
    else
        "$root/test/setup.sh"
    fi
    find_postgres
    say "building belay for $("$PG_CONFIG" --version)"
    build_module
    build_cmake clients_bench
fi
move_if_unreachable ../bench/clients/run.sh "${arguments[@]}"
built=yes
prepare
[[ -x $cmake_dir/bin/clients_belay ]] || die "clients_belay is missing: run without --built"
[[ $peers == no || -e $peers_dir/installed ]] || die "the libraries of other systems are missing: run without --built"

# Only the test user's directory is sure to be writable inside.
work=$run_dir/bench-clients
set_test_user_prefix
"${test_user_prefix[@]}" rm -rf "$work"
"${test_user_prefix[@]}" mkdir -p "$work"

# As in bench/run.sh: checkpoints come between the runs, by command.
server=(--preload
    --conf fsync=on
    --conf max_connections=300
    --conf shared_buffers=256MB
    --conf wal_buffers=16MB
    --conf min_wal_size=1GB
    --conf max_wal_size=16GB
    --conf checkpoint_timeout=1h
    --conf autovacuum_naptime=5s
    --conf jit=off)

export BENCH_WORK=$work BENCH_PEERS=$peers_dir BENCH_PROGRAMS=$cmake_dir/bin BENCH_ROUNDS=$rounds BENCH_JOBS=$jobs \
    BENCH_SECONDS=$seconds BENCH_SAMPLES=$samples BENCH_SYSTEMS="${systems[*]}" BENCH_MEASUREMENTS="${measurements[*]}"

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
"$root/test/server.sh" "${server[@]}" -- "$root/bench/clients/measure.sh" &
server_pid=$!
wait "$server_pid" || code=$?
server_pid=

if [[ -s $work/runs.tsv ]]; then
    mkdir -p "$BELAY_BENCH_RESULTS"
    rm -f "$BELAY_BENCH_RESULTS"/*.{tsv,csv,svg}
    find "$work" -maxdepth 1 \( -name '*.tsv' -o -name '*.csv' -o -name '*.svg' \) -exec cp -t "$BELAY_BENCH_RESULTS" {} +
    say ""
    say "every single run, and the plot: $(realpath --relative-to="$PWD" "$BELAY_BENCH_RESULTS")"
fi
exit "$code"
