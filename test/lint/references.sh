#!/usr/bin/env bash
# No file cites a document that is not in the repository: neither a specification by its file name nor
# a section by its number. Rules are cited by their names, which docs/rules.md has.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sections='\b[Ss]ections? [0-9]|§ ?[0-9]'
specifications='\b(engine|orchestration|one-store|front-door|pipeline|waiting)\.md\b'
while IFS=: read -r file line text; do
    complain "${file#./}:$line" "cites what is not here: ${text:0:100}"
done < <(find README.md SECURITY.md CONTRIBUTING.md CHANGELOG.md docs src sql expected test bench client debian \
    \( -name node_modules -o -name dist \) -prune -o -type f ! -path test/lint/references.sh \
    \( -name '*.md' -o -name '*.sql' -o -name '*.out' -o -name '*.spec' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.sh' -o -name '*.txt' -o -name '*.ts' \) \
    -print0 | xargs -0 -r grep -nHIP -e "$sections|$specifications" 2>/dev/null || true)
verdict
