#!/usr/bin/env bash
# Counts the instructions that one backend needs for a worker cycle, a batch, a task, a batch of tasks, a task
# through the front door, a turn, and a portion of turns; prints the goals that follow from them.
#
#   bench/instructions.sh [--against CHECKOUT]... [--only NAME]...
#
#   --against   another checkout of belay, built: its figures stand beside ours, with the ratio
#   --only      cycle, batch, task, task_batch, settle_100, settle_16, door, turn, turn_loop, turns, turns_loop, workflow,
#               workflow_loop, workflows or workflows_loop, or a single verb: task_send and door_send, task_receive and
#               door_receive, task_complete and door_complete; may be repeated
#
# callgrind counts, in single-user mode: the same binary gives the same figure however busy the machine
# is. Each loop of bench/instructions.sql runs twice, with fewer and with more rounds; the difference is
# what a round costs, without start and first planning. A round of `batch` is 100 items, one of
# `task_batch` or `settle_100` 100 tasks, one of `settle_16` 16 tasks, one of `turns` 16 turns; one of `workflow` is a
# workflow of three steps as a Runtime runs it, with its start, turns and activities, one of `workflows` 16 of them in
# portions. The loops with `_loop` behind their name build the arguments and do nothing with them: take them off the others.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

arguments=("$@")
checkouts=("$root")
only=()
while (($# > 0)); do
    case $1 in
        --against)
            checkouts+=("$(cd "${2:?--against needs a directory}" && pwd)")
            shift
            ;;
        --only)
            only+=("${2:?--only needs a name}")
            shift
            ;;
        --help)
            sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
            exit
            ;;
        *) die "unknown argument $1" ;;
    esac
    shift
done
((${#only[@]} > 0)) || only=(cycle batch task task_batch settle_100 settle_16 door turn turn_loop turns turns_loop workflow
    workflow_loop workflows workflows_loop task_send door_send task_receive door_receive task_complete door_complete)

command -v valgrind >/dev/null || die "valgrind is missing: run 'make setup'"
prepare
if ((EUID == 0)); then
    reachable || die "user $(test_user) cannot read $root"
    exec "${test_user_prefix[@]}" "$root/bench/instructions.sh" "${arguments[@]}"
fi
mkdir -p "$run_dir"
work=$(mktemp -d "$run_dir/instructions-XXXXXX")
trap 'rm -rf "$work"' EXIT

# binaries CHECKOUT: where its staged programs are.
binaries() { say "$1${BELAY_BINDIR#"$root"}"; }

# make_cluster CHECKOUT DATA: a cluster with the hub and the loops.
make_cluster() {
    local bin data=$2
    bin=$(binaries "$1")
    [[ -x $bin/postgres ]] || die "$1 is not built: run test/stage.sh there"
    "$bin/initdb" -D "$data" -U postgres -A trust --no-sync >/dev/null
    printf '%s\n' "shared_preload_libraries = 'belay'" "belay.reconcile_interval = 0" \
        "listen_addresses = ''" "unix_socket_directories = '$work'" 'fsync = off' \
        'synchronous_commit = off' 'autovacuum = off' 'jit = off' >>"$data/postgresql.conf"
    "$bin/pg_ctl" -D "$data" -w -s -l "$data.log" start
    {
        say 'CREATE EXTENSION belay;'
        say "SELECT belay.create_hub('app');"
        cat "$root/bench/instructions.sql"
        say 'CALL count.prepare();'
    } | "$bin/psql" -h "$work" -U postgres -d postgres -Xq -v ON_ERROR_STOP=1 >/dev/null
    "$bin/pg_ctl" -D "$data" -w -s stop
}

# collected CHECKOUT DATA LOOP ROUNDS: instructions of the whole process.
collected() {
    local log=$work/callgrind.log
    case $3 in
        *_receive | *_complete)
            say "CALL count.prepare_${3#*_}($4);" |
                "$(binaries "$1")/postgres" --single -D "$2" postgres >"$work/prepare.log" 2>&1 || true
            ! grep ERROR "$work/prepare.log" || die "the loop $3 could not be prepared"
            ;;
    esac
    say "CALL count.$3($4);" | valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" \
        "$(binaries "$1")/postgres" --single -D "$2" postgres >"$work/single.log" 2>&1 ||
        die "the loop $3 failed: $(tail -n 3 "$work/single.log")"
    if grep -q ERROR "$work/single.log"; then
        die "the loop $3 failed: $(grep ERROR "$work/single.log")"
    fi
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$log"
}

# round_of CHECKOUT DATA LOOP: instructions of one round.
round_of() {
    local few=40 many=240 first second
    case $3 in
        batch | task_batch | settle_100 | settle_16 | turns | turns_loop | workflows | workflows_loop) few=4 many=14 ;;
    esac
    # The first rounds do what no later one does: they start instances, and fill empty pages.
    collected "$1" "$2" "$3" "$few" >/dev/null
    first=$(collected "$1" "$2" "$3" "$few")
    second=$(collected "$1" "$2" "$3" "$many")
    say $(((second - first) / (many - few)))
}

number=0
for checkout in "${checkouts[@]}"; do
    make_cluster "$checkout" "$work/data$number"
    number=$((number + 1))
done
declare -A ours=()
printf '%-14s' loop
for checkout in "${checkouts[@]}"; do printf ' %14s' "${checkout##*/}"; done
printf '\n'
for loop in "${only[@]}"; do
    printf '%-14s' "$loop"
    first=
    for ((number = 0; number < ${#checkouts[@]}; number++)); do
        figure=$(round_of "${checkouts[number]}" "$work/data$number" "$loop")
        printf ' %14s' "$figure"
        if [[ -z $first ]]; then
            first=$figure
            ours[$loop]=$figure
        else
            printf ' (%s)' "$(awk -v a="$first" -v b="$figure" 'BEGIN {printf "%.3f", a / b}')"
        fi
    done
    printf '\n'
done

# goal WHAT WANTED EXPRESSION LOOP...: of the expression of the figures a, b, of these loops.
goal() {
    local what=$1 wanted=$2 expression=$3 a=${ours[$4]:-} b=${ours[$5]:-}
    if [[ -z $a || -z $b ]]; then
        printf '%-62s <= %8s %10s  not measured\n' "$what" "$wanted" -
        return
    fi
    awk -v what="$what" -v wanted="$wanted" -v a="$a" -v b="$b" "BEGIN {
        got = $expression
        printf \"%-62s <= %8g %10.3f  %s\\n\", what, wanted, got, got <= wanted ? \"met\" : \"missed\"
    }"
}
printf '\n'
goal 'a task / a work item, in batches of 100' 2.5 'a / b' task_batch batch
goal 'instructions of a turn, in portions of 16' 450000 '(a - b) / 16' turns turns_loop
for verb in send receive complete; do
    goal "$verb of the front door / the function below it" 1.03 'a / b' "door_$verb" "task_$verb"
done
