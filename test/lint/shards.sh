#!/usr/bin/env bash
# On the node of a hub that Citus has distributed, the relation that has a table's name is an empty
# shell: store::relation_named finds the one that has the rows.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Where the name itself is meant: what maps it to the shard, rights, views, and schemas without a hub.
by_name='src/(store/(cluster|grants|hub|places|plan|shards)|ops/admin/(check_hub|create_hub))\.cpp'
sources=()
for file in src/**/*.[ch]pp; do
    [[ $file =~ ^$by_name$ ]] || sources+=("$file")
done
complain_each 'use store::relation_named, this may be a shell' < <(
    code_matches '\b(get_relname_relid|RangeVarGetRelid\w*)\b' "${sources[@]}"
)
verdict
