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

rows=1000000
take_option() {
    [[ $1 == --rows ]] || return 1
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || die "--rows needs a number above 0"
    rows=$2
}
begin_benchmark reads.sh "$@"
exec "$root/test/server.sh" --preload --conf autovacuum=off --conf belay.reconcile_interval=0 --conf jit=off \
    --conf shared_buffers=2GB --conf max_wal_size=16GB --conf checkpoint_timeout=1h --conf fsync=off -- \
    psql -Xq -v rows="$rows" -f "$root/bench/reads.sql"
