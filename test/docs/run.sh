#!/usr/bin/env bash
# The suite docs: what pages and the demo show works, and the generated page is what its sources say.
#
#   test/server.sh --preload -- test/docs/run.sh [PAGE]
#
# PAGE may be "demo". Prints a line "ok ..." or "not ok ..." for each.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

failed=0
[[ ${1:-} == demo ]] || "$here/pages.sh" "$@" || failed=1
if (($# == 0)) || [[ $1 == docs/sql-reference.md ]]; then
    "$here/reference.sh" || failed=1
fi
if (($# == 0)) || [[ $1 == README.md ]]; then
    "$here/readme.sh" || failed=1
fi
if (($# == 0)) || [[ $1 == demo ]]; then
    "$here/demo.sh" || failed=1
fi
(($# > 0)) || "$here/selftest.sh" || failed=1
exit "$failed"
