#!/usr/bin/env bash
# Measures hubs on the nodes of a Citus cluster: cycles (enqueue, fetch, ack) per second by the number of nodes.
#
#   bench/family.sh [OPTION]...
#
#   --coordinator CONNINFO   a cluster with belay on each node, as a superuser; its workers are used in the order of their names. Without it,
#                            throw-away servers on this machine: that shows that it works, and what Citus costs one hub, but not how it grows
#   --nodes "N ..."          numbers of nodes (default "1 2 4"; throw-away servers "1 2")
#   --hubs N                 hubs of each node (default 4)
#   --clients N              clients of each node (default 4)
#   --seconds N              length of a run (default 10)
#   --rounds N               runs of each number; the median counts (default 3). With throw-away servers, those without Citus and with it take turns
#   --built                  do not set up and build first
#
# A client runs beside each node only if this script does: start it on a machine that is none of them, with enough cores. Goals: 1.9 times the
# cycles for twice the nodes; on throw-away servers 0.8 of a server without Citus. Throw-away servers share one machine, so twice as many do not do twice
# as much; what can be told is the CPU time that a cycle takes on all servers together: nodes grow linearly, on machines of their own, if it stays the same.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

coordinator=
nodes=
hubs=4
clients=4
seconds=10
rounds=3
built=no
arguments=("$@")
while (($# > 0)); do
    case $1 in
        --coordinator | --nodes | --hubs | --clients | --seconds | --rounds)
            declare "${1#--}=${2:?$1 needs a value}"
            shift
            ;;
        --built) built=yes ;;
        *) die "unknown argument $1" ;;
    esac
    shift
done

prepare
if ((EUID == 0)); then
    reachable || die "user $(test_user) cannot read $root"
    exec "${test_user_prefix[@]}" "$root/bench/family.sh" --built "${arguments[@]}"
fi
PATH=$BELAY_BINDIR:$PATH
work=$(mktemp -d /tmp/belay-XXXXXX)

# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    local data
    for data in "$work"/*/data; do
        [[ ! -e $data/postmaster.pid ]] || pg_ctl -D "$data" -m immediate -w -s stop || true
    done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# start_server NAME LIBRARIES: its socket is in $work/NAME.
start_server() {
    local home=$work/$1
    mkdir "$home"
    initdb -N -A trust -U postgres -E UTF8 --locale=C.UTF-8 -D "$home/data" >/dev/null
    cat >>"$home/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$home'
fsync = off
autovacuum = off
wal_level = logical
max_prepared_transactions = 50
max_worker_processes = 20
shared_preload_libraries = '$2'
CONF
    if [[ $2 == citus* ]]; then
        printf "%s\n" "citus.node_conninfo = 'sslmode=disable'" "citus.local_hostname = '$home'" \
            "citus.enable_statistics_collection = off" >>"$home/data/postgresql.conf"
    fi
    pg_ctl -D "$home/data" -l "$home/log" -w -s start >/dev/null
}

sql() { psql -XAtq -v ON_ERROR_STOP=1 -d "$1" -c "$2"; }

# Citus may cancel what changes a whole schema as a distributed deadlock: then again.
insist() {
    local try
    for try in 1 2 3 4 5; do
        sql "$@" >/dev/null 2>"$work/error" && return
    done
    cat "$work/error" >&2
    die "failed $try times: $2"
}

# server_ticks: the CPU time of all sessions of throw-away servers that have ended, in clock ticks.
server_ticks() {
    local data sum=0 fields
    for data in "$work"/*/data; do
        [[ -e $data/postmaster.pid ]] || continue
        # The name of the program may have blanks: what follows it counts.
        fields=$(sed 's/.*) //' "/proc/$(head -n 1 "$data/postmaster.pid")/stat")
        sum=$((sum + $(awk '{print $14 + $15}' <<<"$fields"))) # cutime and cstime
    done
    printf '%s\n' "$sum"
}

# run_cycles HUBS_OF_FIRST_NODE...: each argument is "CONNINFO HUB HUB...", a node and its hubs. Runs all nodes at once; prints cycles per second, and
# microseconds of CPU per cycle on throw-away servers.
run_cycles() {
    local node place hub files pids=() at=0 pid before
    before=$(server_ticks)
    for node; do
        read -r place node <<<"$node"
        files=()
        for hub in $node; do
            printf '%s\n' "SELECT $hub.enqueue_worker_work('{\"ActivityExecute\":{\"name\":\"x\"}}');" \
                "SELECT $hub.ack_worker(lock_token) FROM $hub.fetch_work_item(60000);" >"$work/$hub.sql"
            files+=(-f "$work/$hub.sql")
        done
        at=$((at + 1))
        pgbench -n -M prepared -c "$clients" -j "$clients" -T "$seconds" "${files[@]}" "$place" >"$work/run.$at" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || {
            cat "$work"/run.* >&2
            die "a run failed"
        }
    done
    sleep 1 # a server notes the time of a session when it has ended
    awk -v ticks=$(($(server_ticks) - before)) -v hz="$(getconf CLK_TCK)" '/^tps = /{sum += $3}
        /^number of transactions actually processed/{sub("/.*", "", $6); count += $6}
        END {printf "%d %.1f\n", sum, ticks * 1000000 / hz / count}' "$work"/run.*
    rm -f "$work"/run.*
}

# median COLUMN FILE
median() { sort -n -k "$1,$1" "$2" | awk -v column="$1" '{value[NR] = $column} END {print value[int((NR + 1) / 2)]}'; }

ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }

plain=
if [[ -z $coordinator ]]; then
    [[ -e $("$PG_CONFIG" --sharedir)/extension/citus.control ]] || die "extension citus is not available in $("$PG_CONFIG" --sharedir)"
    nodes=${nodes:-1 2}
    start_server plain belay
    plain="host=$work/plain user=postgres dbname=postgres"
    sql "$plain" "CREATE EXTENSION belay" >/dev/null
    start_server c citus,belay
    coordinator="host=$work/c user=postgres dbname=postgres"
    sql "$coordinator" "CREATE EXTENSION citus" >/dev/null
    sql "$coordinator" "SELECT citus_set_coordinator_host('$work/c', 5432)" >/dev/null
    for ((i = 1; i <= $(tr ' ' '\n' <<<"$nodes" | sort -n | tail -n 1); i++)); do
        start_server "w$i" citus,belay
        sql "host=$work/w$i user=postgres dbname=postgres" "CREATE EXTENSION citus" >/dev/null
        sql "$coordinator" "SELECT citus_add_node('$work/w$i', 5432)" >/dev/null
    done
    sql "$coordinator" "CREATE EXTENSION belay" >/dev/null
fi
mapfile -t workers < <(sql "$coordinator" "SELECT nodename, nodeport FROM pg_dist_node WHERE shouldhaveshards AND noderole = 'primary'
    ORDER BY nodename, nodeport" | tr '|' ' ')
((${#workers[@]} > 0)) || die "the cluster has no node that takes shards"

first=
first_cpu=
for count in ${nodes:-1 2 4}; do
    ((count <= ${#workers[@]})) || die "the cluster has ${#workers[@]} nodes, not $count"
    runs=()
    made=()
    for ((i = 0; i < count; i++)); do
        read -r host port <<<"${workers[i]}"
        run="postgresql:///postgres?host=$host&port=$port&user=postgres"
        for ((k = 0; k < hubs; k++)); do
            hub=family_bench_${i}_$k
            sql "$coordinator" "SELECT belay.create_hub('$hub')" >/dev/null
            insist "$coordinator" "SELECT belay.distribute_hub('$hub', '$host', $port)"
            made+=("$hub")
            run+=" $hub"
        done
        runs+=("$run")
    done
    compares=no
    if ((count == 1)) && [[ -n $plain ]]; then
        compares=yes
        for hub in "${made[@]}"; do
            sql "$plain" "SELECT belay.create_hub('$hub')" >/dev/null
        done
    fi
    rm -f "$work"/result.*
    for ((r = 0; r < rounds; r++)); do
        run_cycles "${runs[@]}" >>"$work/result.nodes"
        if [[ $compares == yes ]]; then
            run_cycles "postgresql:///postgres?host=$work/plain&user=postgres ${made[*]}" >>"$work/result.plain"
        fi
    done
    result=$(median 1 "$work/result.nodes")
    cpu=$(median 2 "$work/result.nodes")
    first=${first:-$result}
    first_cpu=${first_cpu:-$cpu}
    say "$count nodes, $((count * hubs)) hubs: $result cycles/s, $(ratio "$result" "$first") times the first"
    if [[ -n $plain ]]; then
        say "  $cpu us of CPU per cycle on the servers, $(ratio "$cpu" "$first_cpu") times the first"
    fi
    if [[ $compares == yes ]]; then
        alone=$(median 1 "$work/result.plain")
        alone_cpu=$(median 2 "$work/result.plain")
        say "  the same hubs without Citus: $alone cycles/s, on a node of Citus $(ratio "$result" "$alone") of it"
        say "  $alone_cpu us of CPU per cycle without Citus, $(ratio "$alone_cpu" "$cpu") of that on a node of Citus"
    fi
    for hub in "${made[@]}"; do
        insist "$coordinator" "SELECT belay.undistribute_hub('$hub')"
        sql "$coordinator" "SELECT belay.drop_hub('$hub', true)" >/dev/null
    done
done
