#!/usr/bin/env bash
# Comments and docs are plain technical English: they name who acts (a call, a session, a transaction, a worker).
# Comments of C++ use the usual verbs: continue, release, return, report, notify.
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

# replaced WORDS USUAL FILE...: complains about phrases in comments that have a usual word.
replaced() {
    local file line text words=$1 usual=$2
    shift 2
    while IFS=: read -r file line text; do
        complain "$file:$line" "say $usual:$text"
    done < <(grep -nHwiE -e "//.*\b($words)\b" "$@")
}
replaced 'goes on|go on|went on' 'continue, as' {src,test,bench}/**/*.[ch]pp client/{examples,include,runtime,src,tool}/**/*.[ch]pp
replaced 'gives? back|given back|gave back' 'release, or return, as' {src,test,bench}/**/*.[ch]pp client/{examples,include,runtime,src,tool}/**/*.[ch]pp
replaced 'in vain|for good|nothing of (the|its)' 'without success, permanently, no part of' {src,test,bench}/**/*.[ch]pp client/{examples,include,runtime,src,tool}/**/*.[ch]pp
replaced 'tells?|told' 'report, return, notify, show or distinguish' src/**/*.[ch]pp client/{examples,include,runtime,src,tool}/**/*.[ch]pp
verdict
