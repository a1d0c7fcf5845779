#!/usr/bin/env bash
# Writes the source archive: a commit, and the built pages of the dashboard. FILE ends in .zip or .tar.
#
#   test/package/dist.sh COMMIT NAME FILE
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=${1:?}
name=${2:?}
file=$(realpath -m "${3:?}")
cd "$root"
web=build/dashboard
[[ -e $web/index.html && -e $web/hash && -e $web/version ]] || {
    echo "dist.sh: no pages in $web: run client/dashboard/build.sh" >&2
    exit 1
}
pages=("--prefix=$name/$web/" "--add-file=$web/index.html" "--add-file=$web/hash" "--add-file=$web/version" "--prefix=$name/$web/assets/")
for asset in "$web"/assets/*; do
    pages+=("--add-file=$asset")
done
git archive "${pages[@]}" "--prefix=$name/" -o "$file" "$commit"
