#!/usr/bin/env bash
# The dashboard's pages in Chromium against `belay dashboard` and a real database, which the
# environment names: run it with test/server.sh --preload. Prints TAP.
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
load=
# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    for pid in $dashboard $load; do
        kill "$pid" 2>/dev/null || true
    done
    wait
    rm -rf "$work"
}
trap clean_up EXIT
# Here, because a dashboard asks for hubs once a minute.
psql -Xqc "CREATE EXTENSION belay" -c "SELECT belay.create_hub(hub) FROM unnest('{app,hostile,waits,why,idle,drawn,goals}'::text[]) AS hub" \
    -c "SELECT belay.create_hub('\"><img src=x onerror=window.hacked=1>')" >/dev/null
# Some of everything: until there is, however slow the machine is.
"$belay" demo-load --hub app --rate 12 >"$work/load" 2>&1 &
load=$!
everything="SELECT EXISTS (SELECT FROM app.list_tasks('{\"state\": \"failed\"}')) AND EXISTS (SELECT FROM app.list_tasks('{\"state\": \"suspended\"}'))
    AND EXISTS (SELECT FROM app.list_tasks('{\"state\": \"completed\"}')) AND EXISTS (SELECT FROM app.list_dead_letters())
    AND EXISTS (SELECT FROM app.list_instances(p_status => 'Failed')) AND EXISTS (SELECT FROM app.list_instances(p_status => 'Completed'))
    AND EXISTS (SELECT FROM app.list_instances(p_status => 'Running') WHERE instance_id LIKE 'order-%') AND EXISTS (SELECT FROM app.list_flows('{\"state\": \"completed\"}'))"
ready=no
for _ in {1..1200}; do
    if [[ $(psql -XqAtc "$everything") == t ]]; then
        ready=yes
        break
    fi
    kill -0 "$load" 2>/dev/null || break
    sleep 0.2
done
# Tests look at what stays as it is; pictures show a hub at work.
if [[ ${1:-} != --shots || $ready == no ]]; then
    kill -TERM "$load" 2>/dev/null || true
    wait "$load" || true
    load=
fi
if [[ $ready == no ]]; then
    echo "not ok 1 - real_load"
    sed 's/^/# /' "$work/load"
    exit 1
fi
"$belay" dashboard --listen 127.0.0.1:0 >"$work/url" &
dashboard=$!
for _ in {1..600}; do
    [[ ! -s $work/url ]] || break
    sleep 0.1
done
BELAY_DASHBOARD_URL=$(cat "$work/url")
export BELAY_DASHBOARD_URL BELAY_PROGRAM=$belay
cd "$here"
if [[ ${1:-} == --shots ]]; then
    node test/real/screenshots.mjs "${@:2}"
else
    pattern=()
    [[ -z ${1:-} ]] || pattern=("--test-name-pattern=$1")
    failed=0
    for file in test/real/*.test.mjs; do
        node --test --test-reporter=tap "${pattern[@]}" "$file" || failed=1
    done
    exit "$failed"
fi
