#!/usr/bin/env bash
# Shows worked examples on a throw-away server: docs/demo.sql, the SQL interface, and docs/demo.sh,
# the client library and its tool.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

built=no
[[ ${1:-} != --built ]] || built=yes
if [[ -z ${BELAY_BINDIR:-} && $built == no ]]; then
    "$root/test/setup.sh" pages
    find_postgres
    say "building belay for $("$PG_CONFIG" --version)"
    build_module
    build_cmake belay image_flow order_saga transactional_enqueue
fi
move_if_unreachable demo.sh
built=yes
prepare
say "starting a throw-away server"
# psql echoes a statement without the \g or \gset that ends it. Statements get a prompt and a semicolon, on a
# terminal also a colour, and of leases the beginning is enough.
# shellcheck disable=SC2016  # awk expands.
statements='
    function shown(line) { return typed prompt line plain }
    match($0, /\047l[A-Za-z0-9_-]+\047/) && RLENGTH == 62 { $0 = substr($0, 1, RSTART + 10) "…" substr($0, RSTART + 61) }
    !inside && /^(ALTER|BEGIN|CALL|COMMIT|CREATE|DROP|INSERT|ROLLBACK|SELECT|SET|UPDATE|WITH)/ { inside = 1; prompt = "=> " }
    inside && /[; ]$/ { sub(/ $/, ";"); print shown($0); inside = 0; fflush(); next }
    inside { print shown($0); prompt = "   "; next }
    { print; fflush() }'
# The exit must be waited for, not replaced: a copy made above is removed by our own trap.
# shellcheck disable=SC2016  # The inner shell expands.
"$root/test/server.sh" --preload --conf belay.dense_epochs=off -- bash -euc '
    set -o pipefail
    title= plain= typed=
    if [[ -t 1 ]]; then
        title=$(printf "\033[1;36m") plain=$(printf "\033[0m") typed=$(printf "\033[33m")
    fi
    psql -X -q -v ON_ERROR_STOP=1 -P pager=off -v "title=$title" -v "plain=$plain" -d postgres -f "$1/docs/demo.sql" |
        awk -v "typed=$typed" -v "plain=$plain" "$3"
    PATH=$2:$PATH "$1/docs/demo.sh"
    echo "${title}What the dashboard would show of these hubs$plain"
    "$2/belay" dashboard --check
    ' demo "$root" "$cmake_dir/bin" "$statements"
say "the server is stopped and removed; make dashboard starts one with a load, and opens the dashboard on it"
