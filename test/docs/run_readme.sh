#!/usr/bin/env bash
# Runs the examples of README.md, or of the files named, so that they stay true.
#
# Run by test/server.sh: the examples find the server through the environment. In the order of the
# text: all ```sql blocks of a file in one psql session, in a new database; ```sh blocks only if
# the line before them is <!-- run -->. Any block after <!-- skip: reason --> is left out.
# One line "ok FILE:LINE" or "not ok FILE:LINE" per block.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/belay-docs-XXXXXX")
trap 'rm -rf "$work"' EXIT

# blocks FILE: writes each block that runs to $work/N.LANGUAGE and prints "N LANGUAGE LINE".
blocks() {
    awk -v dir="$work" '
        inside && /^```[ \t]*$/ { inside = 0; mark = ""; close(out); next }
        inside { print >out; next }
        /^```(sh|sql)[ \t]*$/ {
            language = substr($1, 4)
            inside = 1
            if (mark ~ /^<!-- skip: .*-->/ || (language == "sh" && mark !~ /^<!-- run -->/)) {
                out = "/dev/null"
            } else {
                out = dir "/" ++n "." language
                printf "" >out
                print n, language, FNR
            }
            next
        }
        /^```/ { inside = 1; out = "/dev/null"; next }
        { mark = $0 }
    ' "$1"
}

failed=0
number=0
cd "$root"
(($# > 0)) || set -- README.md
for file in "$@"; do
    rm -f "$work"/*
    database=docs_$((++number))
    createdb "$database"
    mapfile -t list < <(blocks "$file")
    script=$work/session.psql
    places=()
    : >"$script"
    for entry in "${list[@]}"; do
        read -r n language line <<<"$entry"
        if [[ $language == sh ]]; then
            if PGDATABASE=$database bash -euo pipefail "$work/$n.sh" >"$work/out" 2>&1; then
                say "ok $file:$line"
            else
                say "not ok $file:$line"
                tail -n 40 "$work/out"
                failed=1
            fi
        else
            places+=("$file:$line")
            # psql tells where it is, so that an error has a place.
            printf '\\echo begin %s\n\\i %s\n\\echo end %s\n' "$file:$line" "$work/$n.sql" "$file:$line" >>"$script"
        fi
    done
    ((${#places[@]} > 0)) || continue
    psql -X -q -v ON_ERROR_STOP=1 -P pager=off -d "$database" -f "$script" >"$work/out" 2>&1 || failed=1
    for place in "${places[@]}"; do
        if grep -qxF "end $place" "$work/out"; then
            say "ok $place"
        elif grep -qxF "begin $place" "$work/out"; then
            say "not ok $place"
            sed -n "\\|^begin $place\$|,\$p" "$work/out" | tail -n 40
            failed=1
        else
            say "not ok $place (not reached)"
            failed=1
        fi
    done
done
exit "$failed"
