#!/usr/bin/env bash
# docs/sql-reference.md is what docs/reference/generate.sh makes of this build, and the generator
# refuses sources that do not say everything. Run by test/server.sh --preload.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/belay-reference-XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
# verdict NAME: of the command before, whose output is in $work/log.
verdict() {
    local code=$?
    if ((code == 0)); then
        say "ok $1"
    else
        say "not ok $1"
        head -n 60 "$work/log"
        failed=1
    fi
}

# The page names what differs between major versions nowhere, so one page fits all of them.
{ "$root/docs/reference/generate.sh" >"$work/page" 2>"$work/log" &&
    diff -u "$root/docs/sql-reference.md" "$work/page" >"$work/log"; } && true
verdict "docs/sql-reference.md is what docs/reference/generate.sh prints"

# refuses NAME FILE SED: with that change to a source the generator fails and names what is missing.
refuses() {
    local name=$1 file=$2 change=$3 word=$4
    rm -rf "$work/sources"
    cp -r "$root/docs/reference" "$work/sources"
    sed -i -E "$change" "$work/sources/$file"
    ! cmp -s "$root/docs/reference/$file" "$work/sources/$file" &&
        ! "$work/sources/generate.sh" >/dev/null 2>"$work/log" && grep -qF -- "$word" "$work/log" && true
    verdict "$name"
}
refuses "a function that no part of the page shows is an error" sql-reference.md.in '/^\{\{function app\.ack_worker\}\}$/d' app.ack_worker
refuses "a view that no part of the page shows is an error" sql-reference.md.in '/^\{\{view app\.queue_depths\}\}$/d' app.queue_depths
refuses "an object that does not exist is an error" sql-reference.md.in 's/^\{\{function app\.ack_worker\}\}$/&\n{{function app.planted}}/' app.planted
refuses "an argument without a meaning is an error" arguments.txt '/^p_lock_timeout_ms:/d' p_lock_timeout_ms
# shellcheck disable=SC2016  # An address of sed.
refuses "a meaning of an argument that no function has is an error" arguments.txt '$ap_planted: nothing' p_planted
refuses "an option without a meaning is an error" options.txt '/^slot_count:/d' slot_count

# names PAGE WHAT WORD...: the page names each of them.
names() {
    local page=$1 what=$2 word
    shift 2
    : >"$work/log"
    (($# > 0)) || echo "there are none" >"$work/log"
    for word; do
        grep -qF -- "\`$word\`" "$root/$page" || echo "$word is not in $page" >>"$work/log"
    done
    [[ ! -s $work/log ]]
    verdict "$page names $what"
}
mapfile -t codes < <(sed -nE "s/.*MAKE_SQLSTATE\('Q', 'B', '(.)', '(.)', '(.)'\).*/QB\1\2\3/p" "$root/src/pg/errors.hpp")
names docs/errors.md "every error code" "${codes[@]}" && true
names docs/troubleshooting.md "every error code" "${codes[@]}" && true
mapfile -t duties < <(psql -XqAt <<'SQL'
BEGIN;
CREATE EXTENSION belay;
SELECT belay.create_hub('app') \g /dev/null
SELECT duty FROM app.reconcile();
ROLLBACK;
SQL
)
names docs/operations.md "every duty of the background worker" "${duties[@]}" && true
mapfile -t points < <(psql -XqAt <<'SQL'
BEGIN;
CREATE EXTENSION belay;
SELECT regexp_replace(point, '^duty\..*', 'duty.<name>') FROM belay.faults();
ROLLBACK;
SQL
)
names docs/operations.md "every fault point" "${points[@]}" && true
exit "$failed"
