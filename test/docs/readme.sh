#!/usr/bin/env bash
# The README keeps its size, and its durable function runs: a start from SQL completes it.
#
#   test/server.sh --preload -- test/docs/readme.sh
#
# Its programs need the client library in build/prefix; BELAY_NO_PROGRAMS=1 leaves them out.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/belay-docs-XXXXXX")
runtime=
# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    [[ -z $runtime ]] || kill -KILL "$runtime" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
failed=0
verdict() { # NAME PROBLEM, empty if there is none
    if [[ -z $2 ]]; then
        say "ok README.md: $1"
    else
        say "not ok README.md: $1: $2"
        failed=1
    fi
}
at_most() { # NAME MOST LINES
    local problem=
    (($3 > 0 && $3 <= $2)) || problem="$3 lines"
    verdict "$1 has at most $2 lines" "$problem"
}

# block TEXT: the first fenced block that contains the text.
block() {
    awk -v text="$1" '
        /^```/ && !inside { inside = 1; lines = ""; found = 0; next }
        /^```$/ { if (found) { printf "%s", lines; exit }; inside = 0; next }
        inside { lines = lines $0 "\n"; if (index($0, text)) found = 1 }' "$root/README.md"
}

at_most "the page" 200 "$(wc -l <"$root/README.md")"
at_most "the quickstart, from CREATE EXTENSION to a completed task," 12 \
    "$(block 'CREATE EXTENSION belay' | awk '{n++} /--> completed/ {print n; exit} END {if (!n) print 0}')"
block 'belay::Durable<' >"$work/order.cpp"
at_most "the durable function" 20 "$(wc -l <"$work/order.cpp")"

# The page waits a day; the test does not.
run_durable() {
    local pc
    sed 's/std::chrono::hours(24)/std::chrono::milliseconds(100)/' "$work/order.cpp" >"$work/quick.cpp"
    if cmp -s "$work/order.cpp" "$work/quick.cpp"; then
        echo "the function no longer waits for 24 hours"
        return
    fi
    pc=$(find "$root/build/prefix$sanitized" -name belay-runtime.pc 2>/dev/null | head -n 1)
    # shellcheck disable=SC2046  # Many words.
    PKG_CONFIG_PATH=${pc%/*} c++ -std=c++20 -o "$work/order" "$work/quick.cpp" \
        $(PKG_CONFIG_PATH=${pc%/*} pkg-config --cflags --libs belay-runtime) >"$work/log" 2>&1 || {
        echo "it does not compile: $(head -n 20 "$work/log")"
        return
    }
    createdb readme
    export PGDATABASE=readme
    psql -Xqv ON_ERROR_STOP=1 -c 'CREATE EXTENSION belay' -c "SELECT belay.create_hub('app')" >/dev/null
    "$work/order" >"$work/log" 2>&1 &
    runtime=$!
    psql -XqAtv ON_ERROR_STOP=1 -c "SELECT app.start('Order', '\"7\"', id => 'order-7')" >/dev/null
    local answer
    answer=$(psql -XqAtv ON_ERROR_STOP=1 -c "CALL app.await_result('order-7', '120 s')")
    [[ $answer == 'completed|"shipped 7"' ]] || echo "it ended as $answer; $(tail -n 5 "$work/log")"
    kill -TERM "$runtime"
    wait "$runtime" || true
    runtime=
    dropdb --force readme
}
if [[ -z ${BELAY_NO_PROGRAMS:-} ]]; then
    verdict "the durable function runs" "$(run_durable)"
fi
exit "$failed"
