#!/usr/bin/env bash
# Runs belay's own part of bench/clients with a handful of jobs: that every job is done once, and that
# report, goals and plot can be made of it. No time is judged. Run by test/run.sh with a server.
# shellcheck disable=SC2317,SC2329  # The functions are called through check.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../test/lib.sh"
# shellcheck source=bench/clients/systems.sh
source "$root/bench/clients/systems.sh"

BENCH_WORK=$(mktemp -d "$run_dir/bench-smoke-XXXXXX")
trap 'rm -rf "$BENCH_WORK"' EXIT
native=()
for system in "${system_names[@]}"; do
    ! is_native "$system" || native+=("$system")
done
export BENCH_WORK BENCH_PEERS=none BENCH_PROGRAMS=$cmake_dir/bin BENCH_ROUNDS=1 BENCH_JOBS=300 BENCH_SECONDS=1 \
    BENCH_SAMPLES=5 BENCH_SYSTEMS="${native[*]}" BENCH_MEASUREMENTS="${measurement_names[*]}"

failed=0
# check NAME COMMAND...
check() {
    local name=$1
    shift
    if "$@"; then
        say "ok $name"
    else
        say "not ok $name"
        failed=1
    fi
}

check runs "$root/bench/clients/measure.sh"

# Every system has the figures of each of its measurements.
all_figures() {
    local system measurement missing=0
    for system in "${native[@]}"; do
        for measurement in ${system_measurements[$system]}; do
            if (($(awk -v m="$measurement" -v s="$system" '$1 == m && $2 == s && $5 > 0 { rounds[$3] } END { print length(rounds) }' \
                "$BENCH_WORK/runs.tsv") != 1)); then
                say "no figures: $measurement of $system"
                missing=1
            fi
        done
    done
    ((missing == 0))
}
check figures all_figures

# The plot has a panel for every measurement, and a bar for every system in it.
has_all_bars() {
    (($(grep -c 'class="head"' "$BENCH_WORK/clients.svg") == $(figures_of measurement))) &&
        (($(grep -c '<rect .*<title>' "$BENCH_WORK/clients.svg") == $(figures_of system))) &&
        tail -n 1 "$BENCH_WORK/clients.svg" | grep -qxF '</svg>'
}
figures_of() {
    awk -v what="$1" 'NR > 1 { seen[what == "system" ? $1 " " $2 : $1] } END { print length(seen) }' "$BENCH_WORK/summary.tsv"
}
check plot has_all_bars

refuses_wrong_arguments() {
    ! "$BENCH_PROGRAMS/clients_belay" worker drain jobs=x 2>/dev/null &&
        ! "$BENCH_PROGRAMS/clients_belay" worker nothing 2>/dev/null &&
        ! "$BENCH_PROGRAMS/clients_belay" nothing drain 2>/dev/null
}
check arguments refuses_wrong_arguments

names_no_host() { ! grep -nE '"resolved"|registry' "$root/bench/clients/package-lock.json"; }
check lock_file names_no_host
exit "$failed"
