#!/usr/bin/env bash
# The verb table of src/entry/verbs.cpp is sorted and equals the verbs of src/sql/hub.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export LC_ALL=C

table=src/entry/verbs.cpp
[[ -e $table ]] || {
    complain "$table:1" "does not exist"
    verdict
}

# "line verb" of the table, and "verb file:line" of the SQL files.
in_table=$(grep -nPo '^\s*\{"\K[a-z_0-9]+(?=",)' "$table" | tr ':' ' ' || true)
in_sql=$(perl -ne 'print "$1 $ARGV:$.\n" while /\bAS\s+\x27([a-z_0-9]+)\x27/g; close ARGV if eof' \
    src/sql/hub/**/*.sql | sort || true)

previous=
while read -r line verb; do
    [[ -n $verb ]] || continue
    [[ -z $previous || $previous < $verb ]] ||
        complain "$table:$line" "verb \"$verb\" does not sort after \"$previous\""
    previous=$verb
    grep -q "^$verb " <<<"$in_sql" || complain "$table:$line" "no SQL function names verb \"$verb\""
done <<<"$in_table"
while read -r verb where; do
    [[ -n $verb ]] || continue
    grep -q " $verb\$" <<<"$in_table" || complain "$where" "verb '$verb' is not in $table"
done <<<"$in_sql"
verdict
