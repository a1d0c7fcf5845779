#!/usr/bin/env bash
# Measures the reads of overviews, lists and explanations on a hub with a million ended tasks, instances,
# events, dead letters, queued work items and queued messages: the best of six calls in ms, and the pages read.
#
#   bench/reads.sh [--built] [--rows N]
#
#   --built    do not set up and build first
#   --rows N   rows of each kind (default 1000000)
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

built=no
rows=1000000
arguments=("$@")
while (($# > 0)); do
    case $1 in
        --built) built=yes ;;
        --rows)
            rows=${2:?--rows needs a number}
            [[ $rows =~ ^[1-9][0-9]{0,8}$ ]] || die "--rows needs a number above 0"
            shift
            ;;
        --help)
            sed -n '2,/^set -euo/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
            exit 0
            ;;
        *) die "unknown option '$1'; see --help" ;;
    esac
    shift
done

if [[ -z ${BELAY_BINDIR:-} && $built == no ]]; then
    "$root/test/setup.sh"
    find_postgres
    build_module
fi
move_if_unreachable ../bench/reads.sh "${arguments[@]}"
built=yes
prepare
exec "$root/test/server.sh" --preload --conf autovacuum=off --conf belay.reconcile_interval=0 --conf jit=off \
    --conf shared_buffers=2GB --conf max_wal_size=16GB --conf checkpoint_timeout=1h --conf fsync=off -- \
    psql -Xq -v rows="$rows" -f "$root/bench/reads.sql"
