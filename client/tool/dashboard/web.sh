#!/usr/bin/env bash
# Builds the front end if its sources are newer than what was built, and if there is node to do so.
#
#   client/tool/dashboard/web.sh
#
# Without node the tool is built without pages, and says so when it is asked for them. With
# BELAY_WEB_REQUIRED=1, as packages are built, that is an error.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
web=$root/build/dashboard
sources=$root/client/dashboard
if [[ -e $web/hash && -e $web/version && -z $(find "$sources/src" "$sources/build.mjs" "$sources/package-lock.json" \
    -newer "$web/hash" -print -quit) ]]; then
    exit 0
fi
if "$sources/build.sh" >"$root/build/dashboard-web.log" 2>&1; then
    exit 0
fi
if [[ ${BELAY_WEB_REQUIRED:-0} == 1 ]]; then
    cat "$root/build/dashboard-web.log" >&2
    echo "error: the dashboard's pages were not built, and a package needs them" >&2
    exit 1
fi
echo "warning: the dashboard's front end was not built, see build/dashboard-web.log" >&2
