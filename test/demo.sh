#!/usr/bin/env bash
# Shows a worked example, docs/demo.sql, on a throw-away server.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

built=no
[[ ${1:-} != --built ]] || built=yes
if [[ -z ${BELAY_BINDIR:-} && $built == no ]]; then
    "$root/test/setup.sh"
    find_postgres
    say "building belay for $("$PG_CONFIG" --version)"
    build_module
fi
move_if_unreachable demo.sh
built=yes
prepare
say "starting a throw-away server"
# The exit must be waited for, not replaced: a copy made above is removed by our own trap.
"$root/test/server.sh" --preload -- \
    psql -X -q -v ON_ERROR_STOP=1 -P pager=off -d postgres -f "$root/docs/demo.sql"
say "the server is stopped and removed"
