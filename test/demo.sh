#!/usr/bin/env bash
# Shows worked examples on a throw-away server: docs/demo.sql, the SQL interface, and docs/demo.sh,
# the client library and its tool.
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
    build_cmake belay image_flow order_saga transactional_enqueue
fi
move_if_unreachable demo.sh
built=yes
prepare
say "starting a throw-away server"
# The exit must be waited for, not replaced: a copy made above is removed by our own trap.
# shellcheck disable=SC2016  # The inner shell expands.
"$root/test/server.sh" --preload --conf belay.dense_epochs=off -- bash -euc '
    psql -X -q -v ON_ERROR_STOP=1 -P pager=off -d postgres -f "$1/docs/demo.sql"
    PATH=$2:$PATH "$1/docs/demo.sh"' demo "$root" "$cmake_dir/bin"
say "the server is stopped and removed"
