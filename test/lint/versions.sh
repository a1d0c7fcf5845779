#!/usr/bin/env bash
# Differences between PostgreSQL versions live in one header.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

files=()
for file in src/**/*.[ch]pp; do
    [[ $file == src/pg/compat.hpp ]] || files+=("$file")
done
complain_each "PG_VERSION_NUM belongs in pg/compat.hpp" \
    < <(code_matches '\bPG_(VERSION_NUM|MAJORVERSION\w*)\b' "${files[@]}")
verdict
