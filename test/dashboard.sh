#!/usr/bin/env bash
# Starts a throw-away server with a hub, a load to look at and the dashboard, prints the address of
# the dashboard, and ends with Ctrl-C.
#
#   test/dashboard.sh [--seconds N]   ends by itself after N seconds
#
# Used by `make dashboard`.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:-} != --inside ]]; then
    "$root/test/setup.sh" dashboard
    find_postgres
    build_module
    build_cmake belay
    exec "$root/test/server.sh" --preload -- "$root/test/dashboard.sh" --inside "$@"
fi
shift
seconds=0
[[ ${1:-} != --seconds ]] || seconds=${2:?--seconds needs a number}
belay=$cmake_dir/bin/belay
psql -Xqc "CREATE EXTENSION belay" -c "SELECT belay.create_hub('app')" >/dev/null
load=
# shellcheck disable=SC2317,SC2329  # Called by the trap.
end_load() {
    [[ -z $load ]] || kill "$load" 2>/dev/null || true
    wait
}
trap end_load EXIT
# Its queues are set before their first tasks, of which the server gives notice.
PGOPTIONS="${PGOPTIONS:-} -c client_min_messages=warning" "$belay" demo-load --hub app >/dev/null &
load=$!
if ((seconds > 0)); then
    timeout --foreground -s TERM "$seconds" "$belay" dashboard --listen 127.0.0.1:0 || (($? == 124))
else
    "$belay" dashboard --listen 127.0.0.1:0
fi
