#!/usr/bin/env bash
# Statements of the store are typed: what does not fit its declaration does not compile, with g++
# and clang++. Each file of typed_statements/ has what the compilers say in its first line, after
# "expect:"; the one without compiles.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The header is compiled once for all files.
all=$lint_tmp/all.hpp
gcc_flags=$(make -s --no-print-directory compile-flags CXX=g++)
clang_flags=$(make -s --no-print-directory compile-flags CXX=clang++)
export all gcc_flags clang_flags
echo '#include "store/statements.hpp"' >"$all"
# shellcheck disable=SC2086  # Many words.
g++ $gcc_flags -x c++-header "$all" -o "$all.gch"
# shellcheck disable=SC2086
clang++ $clang_flags -x c++-header "$all" -o "$all.pch"

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

# Parameters by position and columns by number are left to what the typed form stands on.
complain_each "a statement that is not typed" < <(code_matches 'SPI_getbinval|SPI_execute_plan' src/**/*.[ch]pp | grep -v '^src/store/plan\.cpp:')
verdict
