#!/usr/bin/env bash
# Static analysis of src/core and the client, beside the compilers' warnings and the lints.
#
#   test/analyze.sh tidy|cppcheck [FILE]...
#   make tidy, make cppcheck
#
# tidy: clang-tidy with the checks of .clang-tidy. cppcheck: with test/cppcheck.suppressions. Prints what they find, and
# fails if there is anything.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

tool=${1:-}
shift || true
[[ $tool == tidy || $tool == cppcheck ]] || die "usage: test/analyze.sh tidy|cppcheck [FILE]..."
"$root/test/setup.sh" analysis
find_postgres
cd "$root"
files=("$@")
((${#files[@]} > 0)) || files=(src/core/*.cpp client/{src,runtime,tool,tool/dashboard}/*.cpp)
includes='-Isrc -Iclient/include -Iclient/src -Iclient/runtime -Iclient/tool'
case $tool in
    tidy)
        # Headers of others are system headers: findings are about our code only.
        flags="-std=c++20 $includes -isystem $("$PG_CONFIG" --includedir) -DBELAY_WITH_DASHBOARD"
        export flags
        # shellcheck disable=SC2016  # The inner shell expands.
        printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 sh -c '
            found=$(clang-tidy --quiet "$1" -- $flags 2>&1) || { printf "%s\n" "$found"; exit 1; }' -
        ;;
    cppcheck)
        # shellcheck disable=SC2086  # Many words.
        cppcheck --std=c++20 --enable=warning,portability --inline-suppr --suppressions-list=test/cppcheck.suppressions \
            --error-exitcode=1 --quiet -j "$(nproc)" $includes "${files[@]}"
        ;;
esac
