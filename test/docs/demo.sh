#!/usr/bin/env bash
# What `make demo` shows works, and is readable without a terminal: every section is there once, in
# order, and nothing of the terminal's colours.
#
#   test/server.sh --preload -- test/docs/demo.sh
#
# The demo starts a server of its own. Its programs are those of build/cmake.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

out=$(mktemp "${TMPDIR:-/tmp}/belay-docs-XXXXXX")
trap 'rm -f "$out"' EXIT
problem=
timeout 300 "$root/test/demo.sh" --built >"$out" 2>&1 || problem="it ended with $?"
titles=$(sed -nE 's/^([0-9]+)\. .*/\1/p' "$out" | xargs)
expected=$(seq -s ' ' "$(cat "$root/docs/demo.sql" "$root/docs/demo.sh" | grep -cE "title'?:? ?'[0-9]+\. |:title'[0-9]+\. ")")
[[ -n $problem || $titles == "$expected" ]] || problem="its sections are $titles, expected $expected"
[[ -n $problem ]] || ! grep -q $'\e' "$out" || problem="it colours what is no terminal"
[[ -n $problem ]] || ! grep -qE '^(ERROR|FATAL|psql:|.*: error:)' "$out" || problem="it shows an error"
if [[ -z $problem ]]; then
    say "ok make demo"
else
    say "not ok make demo: $problem"
    tail -n 40 "$out"
    exit 1
fi
