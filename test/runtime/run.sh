#!/usr/bin/env bash
# Runs the tests of durable functions: run.sh BUILD_DIR CLANG_BUILD_DIR [--gtest_filter=FILTER].
# Prints as GoogleTest does. Without a filter all of them run as g++ has built them, and those that
# depend on the compiler also as clang++ has: everything without a server, and the examples with
# one. What compilers make of coroutines also runs optimized, with both. A filter "MustNotCompile*" runs only what must not compile.
set -uo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
build=${1:?the build directory}
clang_build=${2:?the build directory of clang++}
filter=${3:-}
failed=0

if [[ $filter != *MustNotCompile* ]]; then
    "$build/bin/runtime_tests" ${filter:+"$filter"} || failed=1
    if [[ -z $filter && -x $clang_build/bin/runtime_tests ]]; then
        "$clang_build/bin/runtime_tests" --gtest_filter='-*RuntimeServer*' || failed=1
        "$clang_build/bin/runtime_tests" --gtest_filter='*RuntimeServer*Examples*' || failed=1
        "$clang_build/bin/idioms_tests" || failed=1
    fi
    if [[ -z $filter ]]; then
        "$build/bin/idioms_tests" || failed=1
    fi
fi
if [[ -z $filter || $filter == *MustNotCompile* ]]; then
    "$here/must_not_compile/run.sh" || failed=1
fi
exit "$failed"
