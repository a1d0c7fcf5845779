#!/usr/bin/env bash
# Measures what a fetch of every tag, a claim of all queues, a receive and a change of a queue cost
# with 10, 1,000 and 10,000 tags or queues: the median of 50 calls in one session, and the least.
#
#   bench/streams.sh [--built]
#
#   --built   do not set up and build first
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

begin_benchmark streams.sh "$@"
exec "$root/test/server.sh" --preload --conf autovacuum=off --conf belay.reconcile_interval=0 -- \
    psql -Xq -f "$root/bench/streams.sql"
