#!/usr/bin/env bash
# Tests of the dashboard's front end: types, pure parts, and its pages in Chromium against a stand-in
# for the server: what they do, hostile values, large flows and bodies; with BELAY_LONG=1 or a pattern
# also each screen in each state, theme and width. Prints TAP.
#
#   client/dashboard/test/run.sh [PATTERN]   only tests whose name matches
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
chromium=${CHROMIUM:-/usr/bin/chromium}
for needed in "$chromium" "$here/node_modules/typescript" "$here/../../build/dashboard/index.html"; do
    [[ -e $needed ]] || {
        echo "not ok 1 - dashboard_setup"
        echo "# $needed is missing: run test/setup.sh dashboard and client/dashboard/build.sh"
        exit 1
    }
done
pattern=()
[[ -z ${1:-} ]] || pattern=("--test-name-pattern=$1")
failed=0
cd "$here"
if [[ -z ${1:-} ]]; then
    if node node_modules/typescript/bin/tsc --noEmit; then
        echo "ok 1 - types"
    else
        echo "not ok 1 - types"
        failed=1
    fi
fi
node test/unit.mjs "${pattern[@]}" || failed=1
# real.sh opens each screen with the real server; with the stand-in they meet what is hard to produce
# there. One file at a time: each starts a browser of its own.
for file in test/browser/*.test.mjs; do
    if [[ $file == */screens.test.mjs && -z ${1:-} && ${BELAY_LONG:-0} != 1 ]]; then
        pattern=(--test-name-pattern='^B(2|3|15|16|17) ')
    fi
    node --test --test-reporter=tap "${pattern[@]}" "$file" || failed=1
done
exit "$failed"
