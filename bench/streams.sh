#!/usr/bin/env bash
# Measures what a fetch of every tag and a claim of all queues cost with 100 and with 10,000 of them:
# the median of 50 calls in one session.
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
