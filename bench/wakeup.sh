#!/usr/bin/env bash
# Measures how fast a waiting consumer learns of work: belay, LISTEN/NOTIFY and polling in one run.
#
#   bench/wakeup.sh [--items N] [--seconds N] [--built]
#
#   --items N     items of each latency row (default 300)
#   --seconds N   length of each throughput row (default 5)
#   --built       do not set up and build first
#
# The throw-away server has belay preloaded and fsync on. bench/README.md explains the columns.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

take_option() {
    case $1 in
        --items) export BELAY_BENCH_ITEMS=${2:?--items needs a number} ;;
        --seconds) export BELAY_BENCH_SECONDS=${2:?--seconds needs a number} ;;
        *) return 1 ;;
    esac
}
bench_target=wakeup_bench
begin_benchmark wakeup.sh "$@"
program=$root/build/cmake/bin/wakeup_bench
[[ -x $program ]] || die "$program is missing: run without --built"
exec "$root/test/server.sh" --preload --conf fsync=on --conf synchronous_commit=on \
    --conf max_connections=200 --conf max_wal_size=4GB -- "$program"
