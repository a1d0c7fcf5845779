#!/usr/bin/env bash
# Builds the front end if its sources are newer than what was built, and if there is node to do so.
# Never fails: the tool can be built without it, and says so.
#
#   client/tool/dashboard/web.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
web=$root/build/dashboard
sources=$root/client/dashboard
if [[ -e $web/hash && -e $web/version && -z $(find "$sources/src" "$sources/build.mjs" "$sources/package-lock.json" \
    -newer "$web/hash" -print -quit) ]]; then
    exit 0
fi
if ! "$sources/build.sh" >"$root/build/dashboard-web.log" 2>&1; then
    echo "warning: the dashboard's front end was not built, see build/dashboard-web.log" >&2
fi
