#!/usr/bin/env bash
# Statements of the store are typed: what does not fit its declaration does not compile, with g++
# and clang++. Each file of typed_statements/ has what the compilers say in its first line, after
# "expect:"; the one without compiles.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The header is compiled once for all files.
# shellcheck disable=SC2317,SC2329  # Called by each_source.
prepare() {
    all=${LINT_CACHE:-$lint_tmp}/all.hpp
    gcc_flags=$(make -s --no-print-directory compile-flags CXX=g++)
    clang_flags=$(make -s --no-print-directory compile-flags CXX=clang++)
    export all gcc_flags clang_flags
    [[ ! -e $all ]] || return 0
    echo '#include "store/statements.hpp"' >"$all"
    # shellcheck disable=SC2086  # Many words.
    g++ $gcc_flags -x c++-header "$all" -o "$all.gch"
    # shellcheck disable=SC2086
    clang++ $clang_flags -x c++-header "$all" -o "$all.pch"
}

# shellcheck disable=SC2317,SC2329  # Called by each_source.
check() {
    local expected compiler output code
    expected=$(sed -n '1s|^// expect: ||p' "$1")
    for compiler in g++ clang++; do
        code=0
        if [[ $compiler == g++ ]]; then
            # shellcheck disable=SC2086
            output=$(g++ $gcc_flags -include "$all" -fsyntax-only "$1" 2>&1) || code=$?
        else
            # shellcheck disable=SC2086
            output=$(clang++ $clang_flags -include-pch "$all.pch" -fsyntax-only "$1" 2>&1) || code=$?
        fi
        if [[ -z $expected && $code != 0 ]]; then
            echo "$1:1: $compiler refuses it: $(grep -m 1 'error:' <<<"$output")"
        elif [[ -n $expected && $code == 0 ]]; then
            echo "$1:1: $compiler accepts it"
        elif [[ -n $expected ]] && ! grep -qE -- "$expected" <<<"$output"; then
            echo "$1:1: $compiler says something else: $(grep -m 1 'error:' <<<"$output")"
        fi
    done
}
each_source typed_statements check test/lint/typed_statements/*.cpp

# What runs by other means than store/plan.cpp, and why.
exceptions='
src/ops/admin/run_as_owner.cpp the statement is the caller'"'"'s
src/store/cluster.cpp tables of Citus: of no hub
src/store/hub_row.cpp there is no hub yet: it inserts the row that makes one
src/store/places.cpp a table of the extension, with the rights of its owner: of no hub
src/store/plan.cpp what typed statements stand on
src/store/readiness.cpp a view of the server, without the rights and plans of a hub
'
while IFS=: read -r file line _; do
    grep -q "^$file " <<<"$exceptions" || complain "$file:$line" "runs a statement that is not typed"
done < <(code_matches 'SPI_execute(_with_args|_extended)?\(' src/**/*.[ch]pp)
while read -r file _; do
    [[ -z $file ]] || [[ -n $(code_matches 'SPI_execute(_with_args|_extended|_plan)?\(' "$file") ]] ||
        complain "$file:1" "runs no statement any more: remove it from test/lint/typed_statements.sh"
done <<<"$exceptions"

# Parameters by position and columns by number are left to what the typed form stands on.
complain_each "a statement that is not typed" < <(code_matches 'SPI_getbinval|SPI_execute_plan' src/**/*.[ch]pp | grep -v '^src/store/plan\.cpp:')
verdict
