#!/usr/bin/env bash
# Runs the tests of durable functions: run.sh BUILD_DIR [--gtest_filter=FILTER]. Prints as
# GoogleTest does. A filter "MustNotCompile*" runs only what must not compile.
set -uo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
build=${1:?the build directory}
filter=${2:-}
failed=0

if [[ $filter != *MustNotCompile* ]]; then
    "$build/bin/runtime_tests" ${filter:+"$filter"} || failed=1
fi
if [[ -z $filter || $filter == *MustNotCompile* ]]; then
    "$here/must_not_compile/run.sh" || failed=1
fi
exit "$failed"
