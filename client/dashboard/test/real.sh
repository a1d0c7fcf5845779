#!/usr/bin/env bash
# The dashboard's pages in Chromium against `belay dashboard` and a real database, which the
# environment names: run it with test/server.sh. Prints TAP.
#
#   client/dashboard/test/real.sh [PATTERN]          only tests whose name matches
#   client/dashboard/test/real.sh --shots DIRECTORY [NAME]...  pictures of the screens instead of tests
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
belay=${BELAY_PROGRAM:-$here/../../build/cmake/bin/belay}
[[ -x $belay ]] || {
    echo "not ok 1 - real_setup"
    echo "# $belay is missing: build it"
    exit 1
}
work=$(mktemp -d)
dashboard=
# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    [[ -z $dashboard ]] || kill "$dashboard" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap clean_up EXIT
psql -Xqc "CREATE EXTENSION belay" -c "SELECT belay.create_hub('app')" -c "SELECT belay.create_hub('hostile')" >/dev/null
"$belay" demo-load --hub app --seconds "${BELAY_DEMO_SECONDS:-15}" --rate 12 >/dev/null
"$belay" dashboard --listen 127.0.0.1:0 >"$work/url" &
dashboard=$!
for _ in {1..600}; do
    [[ ! -s $work/url ]] || break
    sleep 0.1
done
BELAY_DASHBOARD_URL=$(cat "$work/url")
export BELAY_DASHBOARD_URL
cd "$here"
if [[ ${1:-} == --shots ]]; then
    node test/real/screenshots.mjs "${@:2}"
else
    pattern=()
    [[ -z ${1:-} ]] || pattern=("--test-name-pattern=$1")
    node --test --test-reporter=tap "${pattern[@]}" test/real/real.test.mjs
fi
