#!/usr/bin/env bash
# Builds the dashboard's assets into build/dashboard: index.html, assets/, hash.
#
#   client/dashboard/build.sh [--packages]
#
#   --packages   only install the packages of the lock file, in build/dashboard/npm
#
# Needs node 18 or newer and npm. The packages' own scripts do not run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
npm_dir=$root/build/dashboard/npm

major=$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/') || true
if [[ -z $major ]] || ((major < 18)) || ! command -v npm >/dev/null; then
    echo "build.sh: needs node 18 or newer and npm; Debian's packages are nodejs and npm" >&2
    exit 1
fi

# Apart from the sources, so that whatever reads the sources does not meet them.
if ! cmp -s "$here/package-lock.json" "$npm_dir/installed-lock.json"; then
    mkdir -p "$npm_dir"
    cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$npm_dir/"
    (cd "$npm_dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$here/package-lock.json" "$npm_dir/installed-lock.json"
fi
if [[ ! -e $here/node_modules ]]; then
    ln -sfn ../../build/dashboard/npm/node_modules "$here/node_modules"
fi
if [[ ${1:-} != --packages ]]; then
    node "$here/build.mjs" "$root/build/dashboard"
fi
