#!/usr/bin/env bash
# C++ is formatted by clang-format; `make format` applies it.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

files=({src,test,client,bench}/**/*.[ch]pp)
clang-format --dry-run "${files[@]}" >"$lint_tmp/found" 2>&1 || complain test/lint/format.sh:1 "clang-format failed: $(tail -n 1 "$lint_tmp/found")"
while IFS= read -r line; do
    complain "${line%%: *}" "not as clang-format has it (make format)"
done < <(grep ': warning: ' "$lint_tmp/found")
verdict
