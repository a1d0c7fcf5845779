#!/usr/bin/env bash
# No file cites a document that is not in the repository: neither a specification, as such or by its file
# name, nor a section by its number, nor a rule that docs/rules.md does not have.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sections='\b[Ss]ections? [0-9]|§ ?[0-9]'
specifications='\b(engine|orchestration|one-store|front-door|pipeline|waiting)\.md\b|\b[Ss]pecifications?\b'
# The names of rules, as cells of tables and in texts.
rule='(?<![\w-])[A-Z]{2}-[0-9]+(?![\w-])'
grep '^|' docs/rules.md | grep -oP "$rule" | sort -u >"$lint_tmp/rules"
mapfile -d '' -t files < <(find README.md SECURITY.md CONTRIBUTING.md CHANGELOG.md docs src sql expected test bench client debian \
    \( -name node_modules -o -name dist \) -prune -o -type f ! -path test/lint/references.sh \
    \( -name '*.md' -o -name '*.sql' -o -name '*.out' -o -name '*.spec' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.sh' -o -name '*.awk' -o -name '*.txt' -o -name '*.ts' \) -print0)
((${#files[@]} > 0)) || complain test/lint/references.sh:1 "finds no files"
while IFS=: read -r file line text; do
    complain "$file:$line" "cites what is not here: ${text:0:100}"
done < <(grep -nHIP -e "$sections|$specifications" "${files[@]}" || true)
# The self-test plants some.
while IFS=: read -r file line name; do
    complain "$file:$line" "cites a rule that docs/rules.md does not have: $name"
done < <(grep -noHIP -e "$rule" "${files[@]}" | grep -v '^test/lint/selftest\.sh:' |
    awk -F: 'FILENAME != "-" { known[$1]; next } !($3 in known)' "$lint_tmp/rules" -)
verdict
