#!/usr/bin/env bash
# C++ is formatted by clang-format; `make format` applies it.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

files=({src,test,client,bench}/**/*.[ch]pp)
while IFS= read -r line; do
    complain "${line%%: *}" "not as clang-format has it (make format)"
done < <(clang-format --dry-run "${files[@]}" 2>&1 | grep ': warning: ')
verdict
