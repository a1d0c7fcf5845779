#!/usr/bin/env bash
# What the tests reach: lines and branches of src/core, src/ops and the client, with gcov.
#
#   test/coverage.sh [SUITE]...
#   make coverage
#
# Without arguments: the suites unit, regress-preload, isolation, client, tool and runtime. Builds in a copy of the sources,
# build/coverage/source, so that no other build is touched. Prints the figures of each part; those of each file
# are in build/coverage/files.txt, with the lines that were not reached.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:-} != --inside ]]; then
    copy=$root/build/coverage/source
    mkdir -p "$copy"
    # Sources are replaced, with their dates; what was built stays.
    find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$root" --exclude=./.git --exclude=./build --exclude='./*.so' -cf - . | tar -C "$copy" -xf -
    exec "$copy/test/coverage.sh" --inside "$@"
fi
shift
suites=("$@")
((${#suites[@]} > 0)) || suites=(unit regress-preload isolation client tool runtime)

"$root/test/setup.sh" analysis
find_postgres
# For the Makefile, here and when it installs; CMake takes the flags when it configures.
export COVERAGE=1
flags='--coverage -fprofile-update=atomic'
targets=()
goals=(all)
for suite in "${suites[@]}"; do
    [[ $suite != @(cluster|model) ]] || goals=(all mutants)
    case $suite in
        unit | cluster | model | stress | robust | client | tool) targets+=("${suite}_tests") ;;
        runtime)
            targets+=(runtime_tests)
            cmake_dir=$clang_dir CXX=clang++ optimize=-O1 build_cmake runtime_tests
            ;;
    esac
done
build_module "${goals[@]}"
CXXFLAGS=$flags LDFLAGS=--coverage optimize=-O1 build_cmake "${targets[@]}"
"$root/test/stage.sh" --built

# Counts are written by the test user, who cannot write beside the object files.
counts=$root/build/counts
rm -rf "$counts"
mkdir -m 1777 "$counts"
slashes=${root//[^\/]/}
arguments=()
for suite in "${suites[@]}"; do arguments+=(--suite "$suite"); done
code=0
GCOV_PREFIX=$counts GCOV_PREFIX_STRIP=${#slashes} "$root/test/run.sh" --built "${arguments[@]}" || code=$?
find "$root/build" -name '*.gcda' ! -path "$counts/*" -delete
cp -r "$counts/." "$root/"
python3 "$root/test/coverage.py" "$root" "$root/../files.txt"
exit "$code"
