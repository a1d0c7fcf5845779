#!/usr/bin/env bash
# The fault campaign: a mixed load, faults of every kind, and a checker that saw every call.
#
#   make soak [SECONDS=600] [BELAY_SEED=n]
#
# Prints a line every 10 seconds, and in the end the checker's report. The exit code is 0 if no
# promise was broken.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:-} == --inside ]]; then # As the test user.
    export BELAY_RUN_DIR=$run_dir/soak BELAY_SOCKET_DIR
    BELAY_SOCKET_DIR=$(mktemp -d /tmp/belay-XXXXXX)
    trap stop_left_servers EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    rm -rf "$BELAY_RUN_DIR"
    mkdir -p "$BELAY_RUN_DIR"
    # In the background: a trap waits for a program in the foreground.
    "$cmake_dir/bin/soak_tests" --gtest_filter='Soak.*' --gtest_brief=1 &
    wait $!
    exit
fi

export BELAY_SOAK_SECONDS=${BELAY_SOAK_SECONDS:-600}
built=no
[[ ${1:-} != --built ]] || built=yes
if [[ $built == no ]]; then
    "$root/test/setup.sh"
    find_postgres
    say "building belay for $("$PG_CONFIG" --version)"
    build_module all mutants
    build_cmake soak_tests
fi
move_if_unreachable soak.sh
built=yes
prepare
make_run_dir
set_test_user_prefix
say "running for $BELAY_SOAK_SECONDS s, and until all work is done"
"${test_user_prefix[@]}" "$root/test/soak.sh" --inside
