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

usage() { sed -n '2,/^set -euo/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

built=no
arguments=("$@")
while (($# > 0)); do
    case $1 in
        --items)
            export BELAY_BENCH_ITEMS=${2:?--items needs a number}
            shift
            ;;
        --seconds)
            export BELAY_BENCH_SECONDS=${2:?--seconds needs a number}
            shift
            ;;
        --built) built=yes ;;
        --help)
            usage
            exit 0
            ;;
        *) die "unknown option '$1'; see --help" ;;
    esac
    shift
done

program=$root/build/cmake/bin/wakeup_bench
if [[ -z ${BELAY_BINDIR:-} && $built == no ]]; then
    "$root/test/setup.sh"
    find_postgres
    say "building belay for $("$PG_CONFIG" --version)"
    build_module
    mkdir -p "$root/build"
    { cmake -S "$root" -B "$root/build/cmake" -DPG_CONFIG="$PG_CONFIG" &&
        cmake --build "$root/build/cmake" -j "$(nproc)" --target wakeup_bench; } >"$root/build/cmake.log" 2>&1 ||
        die "the CMake build failed, see build/cmake.log"
fi
move_if_unreachable ../bench/wakeup.sh "${arguments[@]}"
built=yes
prepare
[[ -x $program ]] || die "$program is missing: run without --built"
exec "$root/test/server.sh" --preload --conf fsync=on --conf synchronous_commit=on \
    --conf max_connections=200 --conf max_wal_size=4GB -- "$program"
