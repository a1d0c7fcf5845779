#!/usr/bin/env bash
# The suite languages: the workers of docs/languages.md do what the page says.
#
#   test/server.sh --preload -- test/languages/run.sh [LANGUAGE]
#
# Each worker starts on a queue that never had a task, and waits. It completes a task, retries one that fails, keeps a lease longer than it was granted for,
# drops a task that is cancelled, with all processes of its handler, also if the handler fails then, and ends at SIGTERM: after the
# task that it has, or at once if it waits. It leaves no process behind. Prints a line "ok ..." or "not ok ..." for each. Anything that is missing is a failure.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

page=$root/docs/languages.md
npm_modules=$root/build/languages/npm/node_modules
jdbc=/usr/share/java/postgresql.jar
work=$(mktemp -d "${TMPDIR:-/tmp}/belay-languages-XXXXXX")
worker=
bridge=
# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    local pid
    for pid in $worker $bridge; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap clean_up EXIT

# block NAME: the block of the page whose first line, or second after #!, is a comment with that name.
block() {
    awk -v name="$1" '
        /^```/ && !inside { inside = 1; n = 0; text = ""; found = 0; next }
        /^```$/ && inside { if (found) { printf "%s", text; exit }; inside = 0; next }
        inside { text = text $0 "\n"; if (++n <= 2 && ($0 == "# " name || $0 == "// " name)) found = 1 }
    ' "$page"
}

sql() { psql -XqAt -v ON_ERROR_STOP=1 -d "$database" "$@"; }
send() { sql -c "SELECT app.send('mail', '$1', policy => '{\"backoff\": {\"kind\": \"fixed\", \"delay_ms\": 100}}')"; }
# ends ID: how a task ends, with its attempt.
ends() {
    sql -c "CALL app.await_result('$1'::uuid, '60 s')" >/dev/null
    sql -c "SELECT concat_ws(' ', state, attempt, result) FROM app.status('$1')"
}
# until_true SQL: waits until it returns t, for a minute at most.
until_true() {
    local i
    for ((i = 0; i < 600; i++)); do
        [[ $(sql -c "$1") != t ]] || return 0
        sleep 0.1
    done
    echo "never true: $1" >&2
    return 1
}
until_active() { until_true "SELECT state = 'active' FROM app.status('$1')"; }

# waits: until the worker sleeps in await.
waits() {
    until_true "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = '$database' AND pid <> pg_backend_pid() AND state = 'active' AND query ILIKE '%call app.await(%'"
}

# The worker and what it starts are found by this variable of their environment.
mark=belay-languages-$$
start() {
    BELAY_TEST_MARK=$mark "${command[@]}" >>"$work/$language.log" 2>&1 &
    worker=$!
}
# stop: SIGTERM, and whether it ends with 0 within 20 s, sooner than a wait does.
stop() {
    local i code=0
    kill -TERM "$worker"
    for ((i = 0; i < 200; i++)); do
        kill -0 "$worker" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "$worker" 2>/dev/null && { echo "it did not end" >&2; worker=; return 1; }
    wait "$worker" || code=$?
    worker=
    ((code == 0)) || { echo "it ended with $code" >&2; return 1; }
    for ((i = 0; i < 50; i++)); do
        grep -qszx "BELAY_TEST_MARK=$mark" /proc/[0-9]*/environ || return 0
        sleep 0.1
    done
    echo "it left processes: $(grep -lszx "BELAY_TEST_MARK=$mark" /proc/[0-9]*/environ)" >&2
    return 1
}

expect() {
    [[ $2 == "$3" ]] || { echo "$1: \"$2\", expected \"$3\"" >&2; return 1; }
}

# try LANGUAGE: the whole story. Runs in a condition, so every step returns its failure.
try() {
    local quick flaky slow cancelled last
    start
    waits || return 1
    quick=$(send '{"to": "ada"}') && flaky=$(send '{"to": "bob", "flaky": true}') && slow=$(send '{"to": "eve", "seconds": 12}') || return 1
    expect "a task" "$(ends "$quick")" 'completed 1 {"sent_to": "ada"}' || return 1
    expect "a task that fails once" "$(ends "$flaky")" 'completed 2 {"sent_to": "bob"}' || return 1
    expect "a task longer than its lease" "$(ends "$slow")" 'completed 1 {"sent_to": "eve"}' || return 1
    expect "leases that were lost" "$(sql -c 'SELECT sum(reclaim_count) FROM app.tasks')" 0 || return 1
    # Cancelled while it runs: the worker drops it, long before the task would have ended, and goes on.
    cancelled=$(send '{"to": "dan", "seconds": 600.'$$'}') && until_active "$cancelled" || return 1
    sql -c "SELECT app.cancel('$cancelled')" >/dev/null || return 1
    last=$(send '{"to": "fay"}') || return 1
    expect "a task after one that was cancelled" "$(ends "$last")" 'completed 1 {"sent_to": "fay"}' || return 1
    if grep -qszx "600[.]$$" /proc/[0-9]*/cmdline; then
        echo "a process of the handler outlived the lease" >&2
        return 1
    fi
    # Cancelled, and then the handler itself fails, before a heartbeat has noticed: fail is refused, and the worker goes on.
    cancelled=$(send '{"to": "ivy", "flaky": true, "seconds": 2}') && until_active "$cancelled" || return 1
    sql -c "SELECT app.cancel('$cancelled')" >/dev/null || return 1
    last=$(send '{"to": "jon"}') || return 1
    expect "a task after one that failed when it was cancelled" "$(ends "$last")" 'completed 1 {"sent_to": "jon"}' || return 1
    expect "the cancelled one" "$(sql -c "SELECT state FROM app.status('$cancelled')")" cancelled || return 1
    # Graceful shutdown: the task that it has is completed, the next one is not received.
    slow=$(send '{"to": "gus", "seconds": 2}') && until_active "$slow" || return 1
    last=$(send '{"to": "hal"}') || return 1
    stop || return 1
    expect "the task at the shutdown" "$(ends "$slow")" 'completed 1 {"sent_to": "gus"}' || return 1
    expect "the task after it" "$(sql -c "SELECT state FROM app.status('$last')")" ready || return 1
    # And while it waits.
    start
    expect "the task that was left" "$(ends "$last")" 'completed 1 {"sent_to": "hal"}' || return 1
    waits || return 1
    stop || return 1
    expect "problems" "$(sql -c "SELECT count(*) FROM belay.check_hub('app')")" 0 || return 1
}

run_language() { # LANGUAGE FILE
    language=$1
    local file=$2 lines
    database=languages_$language
    block "$file" >"$work/$file"
    lines=$(wc -l <"$work/$file")
    if ((lines == 0 || lines >= 60)); then
        say "not ok docs/languages.md $language: the worker has $lines lines; it must have 1 to 59"
        return 1
    fi
    createdb "$database"
    sql -c 'CREATE EXTENSION belay' -c "SELECT belay.create_hub('app')" >/dev/null
    export PGDATABASE=$database
    case $language in
        python) command=(python3 "$work/$file") ;;
        nodejs)
            ln -sfn "$npm_modules" "$work/node_modules"
            command=(node "$work/$file")
            ;;
        java)
            [[ -e $jdbc ]] || die "$jdbc is missing: libpostgresql-jdbc-java"
            node "$root/test/languages/bridge.mjs" "$PGHOST/.s.PGSQL.${PGPORT:-5432}" >"$work/port" &
            bridge=$!
            while [[ ! -s $work/port ]]; do
                kill -0 "$bridge" || die "the bridge does not run"
                sleep 0.1
            done
            JDBC_URL="jdbc:postgresql://127.0.0.1:$(<"$work/port")/$database?user=${PGUSER:-$(id -un)}"
            export JDBC_URL
            javac -d "$work" "$work/$file" || return 1
            command=(java -cp "$work:$jdbc" Worker)
            ;;
        shell) command=(bash "$work/$file") ;;
    esac
    if try; then
        say "ok docs/languages.md $language"
        return 0
    fi
    say "not ok docs/languages.md $language"
    tail -n 30 "$work/$language.log"
    [[ -z $worker ]] || kill -KILL "$worker" 2>/dev/null || true
    worker=
    return 1
}

failed=0
for pair in python:worker.py nodejs:worker.mjs java:Worker.java shell:worker.sh; do
    if (($# == 0)) || [[ $1 == "${pair%%:*}" ]]; then
        run_language "${pair%%:*}" "${pair#*:}" || failed=1
    fi
done
exit "$failed"
