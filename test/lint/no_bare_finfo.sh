#!/usr/bin/env bash
# Words that are dangerous in the server, each only where it is meant to be.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# only REGEX WHERE WHAT: complains about code that matches outside the files of regex WHERE.
only() {
    local file files=()
    for file in src/**/*.[ch]pp; do
        [[ $file =~ ^src/($2)$ ]] || files+=("$file")
    done
    complain_each "$3" < <(code_matches "$1" "${files[@]}")
}

only '\bPG_FUNCTION_INFO_V1\b' 'pg/boundary\.hpp' 'declare SQL functions with BELAY_FUNCTION'
only '\bPG_TRY\b' 'pg/(boundary|scopes|subtransaction)\.[ch]pp|worker/duties\.cpp' \
    'catching is a subtransaction: use try_in_subtransaction'
only '\bcatch\s*\(' 'pg/boundary\.hpp' 'exceptions are caught at the boundary'
only '\bthrow\b' 'pg/faults\.[ch]pp|entry/language\.cpp' \
    'nothing throws in the server but the fault points that prove the boundary: ereport'
only '\bnew\b(?!\w)' 'pg/(boundary|scopes|memory)\.[ch]pp' 'allocate with palloc, or make_in'
only '\bdelete\b(?!\s*;|\s*\()' 'pg/(scopes|memory)\.[ch]pp' 'nothing is deleted in the server'
only '\bstd::j?thread\b|\bpthread_create\b|\bstd::async\b' 'none' 'a backend has one thread'
only '\bstd::(snprintf|printf|strerror|this_thread)\b' 'none' "PostgreSQL replaces these functions"

# One catch of errors for a subtransaction and one for a duty; more would be a second policy.
count=$(code_matches '\bPG_TRY\b' src/**/*.[ch]pp | wc -l)
((count <= 2)) || complain "src:1" "PG_TRY is used $count times, at most 2 are meant"
verdict
