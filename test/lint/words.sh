#!/usr/bin/env bash
# Comments and docs are plain technical English: they name who acts (a call, a session, a transaction, a worker).
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# It plants such words.
excused='
test/lint/selftest.sh
'

vague='(some|any|every|no)body|(some|any)one|whoever|whatever|himself'
# look BEFORE FILE...: complains about the words behind what begins a comment.
look() {
    local file line text before=$1
    shift
    while IFS=: read -r file line text; do
        [[ $excused == *$'\n'"$file"$'\n'* ]] ||
            complain "$file:$line" "names no actor (a call, a session, a transaction, a worker):$text"
    done < <(grep -nHwiE -e "$before\b($vague)\b" "$@")
}
look '//.*' {src,test}/**/*.[ch]pp client/{examples,include,runtime,src,tool}/**/*.[ch]pp
look '--.*' {src,sql,test}/**/*.sql
look '#.*' test/**/*.{spec,sh} bench/*.sh
look '.*' README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs/**/*.{md,txt,in} {src,client,bench}/**/README.md
verdict
