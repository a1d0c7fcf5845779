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
#   --rounds N               runs of each number; the median counts (default 3)
#   --built                  do not set up and build first
#
# A client runs beside each node only if this script does: start it on a machine that is none of them, with enough cores. Goals: 1.9 times the
# cycles for twice the nodes; on throw-away servers 0.8 of a server without Citus.
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

# cycles_per_second HUBS_OF_FIRST_NODE...: each argument is "CONNINFO HUB HUB...", a node and its hubs. Runs all nodes at once.
cycles_per_second() {
    local node place hub files pids=() at=0 pid
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
    awk '/^tps = /{sum += $3} END {printf "%d\n", sum}' "$work"/run.*
    rm -f "$work"/run.*
}

median() { sort -n | awk '{value[NR] = $1} END {print value[int((NR + 1) / 2)]}'; }

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
    result=$(for ((r = 0; r < rounds; r++)); do cycles_per_second "${runs[@]}"; done | median)
    first=${first:-$result}
    say "$count nodes, $((count * hubs)) hubs: $result cycles/s, $(awk -v a="$result" -v b="$first" 'BEGIN {printf "%.2f", a / b}') times the first"
    if ((count == 1)) && [[ -n $plain ]]; then
        for hub in "${made[@]}"; do
            sql "$plain" "SELECT belay.create_hub('$hub')" >/dev/null
        done
        alone=$(for ((r = 0; r < rounds; r++)); do cycles_per_second "postgresql:///postgres?host=$work/plain&user=postgres ${made[*]}"; done | median)
        say "the same hubs without Citus: $alone cycles/s; on a node of Citus $(awk -v a="$result" -v b="$alone" 'BEGIN {printf "%.2f", a / b}') of it"
    fi
    for hub in "${made[@]}"; do
        insist "$coordinator" "SELECT belay.undistribute_hub('$hub')"
        sql "$coordinator" "SELECT belay.drop_hub('$hub', true)" >/dev/null
    done
done
