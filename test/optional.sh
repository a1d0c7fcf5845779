#!/usr/bin/env bash
# Runs a script that this checkout may not have yet.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ! -x $1 ]]; then
    echo "$1 does not exist yet: nothing to run" >&2
    exit 1
fi
exec "$@"
