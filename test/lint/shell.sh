#!/usr/bin/env bash
# The scripts have none of the faults that shellcheck warns of. (Its notes ask for style, for example
# about functions whose arguments are optional.) LINT_ONLY, part of a name, restricts it to some files.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Scripts are told by their first line, or by their name if they are only sourced.
mapfile -t scripts < <(find . \( -path ./.git -o -path ./build -o -path ./results -o -name node_modules \) -prune -o -type f -print |
    while IFS= read -r file; do
        first=
        IFS= read -r first 2>/dev/null <"$file" || true
        [[ $file == *${LINT_ONLY:-}* ]] || continue
        if [[ $file == *.sh || $first =~ ^'#!'.*[/\ ](ba)?sh$ ]]; then printf '%s\n' "${file#./}"; fi
    done 2>/dev/null | sort)
((${#scripts[@]} > 0)) || complain test/lint/shell.sh:1 "finds no scripts"
shellcheck --external-sources --severity=warning --format=gcc "${scripts[@]}" >"$lint_tmp/findings" || true
while IFS= read -r finding; do
    complain "${finding%%: *}" "${finding#*: }"
done <"$lint_tmp/findings"
verdict
