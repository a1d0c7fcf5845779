#!/usr/bin/env bash
# Uses an installation of the packages as a user would: the quickstart of the README, a program with
# the client library, the tool. Finds the server through the environment, the client library and the
# tool under BELAY_PREFIX.
#
# One line "ok NAME" or "not ok NAME" per check; the exit code tells of failures, too.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

failed=0
[[ $(psql -XAt -c 'SHOW shared_preload_libraries') == belay ]] || {
    say "not ok preloaded"
    failed=1
}
"$root/test/docs/run_readme.sh" || failed=1
# It makes the hub app.
"$root/test/package/run.sh" || failed=1
if [[ $("$BELAY_PREFIX/bin/belay" hubs) == *app* ]]; then
    say "ok tool"
else
    say "not ok tool"
    failed=1
fi
exit "$failed"
