#!/usr/bin/env bash
# Installs the npm packages of the lock file in build/languages/npm. Their own scripts do not run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
npm_dir=$(cd "$here/../.." && pwd)/build/languages/npm

if ! cmp -s "$here/package-lock.json" "$npm_dir/installed-lock.json"; then
    mkdir -p "$npm_dir"
    cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$npm_dir/"
    (cd "$npm_dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$here/package-lock.json" "$npm_dir/installed-lock.json"
fi
