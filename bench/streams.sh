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

built=no
arguments=("$@")
while (($# > 0)); do
    case $1 in
        --built) built=yes ;;
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
move_if_unreachable ../bench/streams.sh "${arguments[@]}"
built=yes
prepare
exec "$root/test/server.sh" --preload --conf autovacuum=off --conf belay.reconcile_interval=0 -- \
    psql -Xq -f "$root/bench/streams.sql"
