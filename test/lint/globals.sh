#!/usr/bin/env bash
# Nothing runs before _PG_init or after exit: no global constructors, no exit-time destructors. Here are
# the files that the lint of jumps does not compile; it looks for them in the others.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck disable=SC2317,SC2329  # Called by each_source.
check() {
    local headers=
    # shellcheck disable=SC2154  # Set by each_source.
    [[ $1 == src/core/* ]] || headers=$precompiled
    # shellcheck disable=SC2086,SC2154  # Many words; set by each_source.
    clang++ $flags $headers -fsyntax-only -Wglobal-constructors -Wexit-time-destructors -Werror "$1" 2>&1 |
        grep -E ': (fatal )?error: '
}
each_source globals check src/{core,shmem}/**/*.cpp
verdict
