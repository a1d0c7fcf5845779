#!/usr/bin/env bash
# The dashboard's pages make no HTML and no code from text, have no inline styles, and ask no other host.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

files=(client/dashboard/src/**/*.{ts,tsx,js,html,css,svg})
((${#files[@]} > 20)) || complain client/dashboard/src:1 "has no sources that this lint can read"
words='innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|set(Timeout|Interval)\(["'\''`]|\bstyle=|javascript:|srcdoc|dangerouslySetInnerHTML'
while IFS=: read -r file line text; do
    complain "$file:$line" "is not for the dashboard's pages:$text"
done < <(grep -nHE -e "$words" "${files[@]}" /dev/null || true)
# Names of XML are no addresses.
while IFS=: read -r file line text; do
    complain "$file:$line" "names another host:$text"
done < <(grep -nHE -e '(https?:)?//[a-z0-9-]+\.[a-z]' "${files[@]}" /dev/null |
    grep -v 'http://www\.w3\.org/2000/svg' | grep -vE '^[^:]+:[0-9]+: *(//|/?\*)' || true)
# The lock file names versions and sums, not where one machine found them.
while IFS=: read -r line text; do
    complain "client/dashboard/package-lock.json:$line" "names a registry: $text"
done < <(grep -nE '"resolved":' client/dashboard/package-lock.json || true)
verdict
