#!/usr/bin/env bash
# The include arrows of src/README.md: core <- pg <- shmem <- store <- ops <- entry, worker.
# Only pg/pg.hpp includes PostgreSQL's headers; of store, entry and worker see only hub.hpp and tables.hpp.
# Only pg/transactions.cpp registers with the transaction manager.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

declare -A may=(
    [core]="core"
    [pg]="pg core"
    [shmem]="shmem pg core"
    [store]="store shmem pg core"
    [ops]="ops store shmem pg core"
    [entry]="entry ops shmem pg core"
    [worker]="worker ops shmem pg core"
    [belay.cpp]="pg core shmem store ops entry worker"
)

for file in src/**/*.[ch]pp; do
    layer=${file#src/}
    layer=${layer%%/*}
    [[ -n ${may[$layer]:-} ]] || complain "$file:1" "there is no layer '$layer'"
done
while IFS=: read -r file line text; do
    layer=${file#src/}
    layer=${layer%%/*}
    [[ -n ${may[$layer]:-} ]] || continue
    [[ $text =~ ^[[:space:]]*#[[:space:]]*include[[:space:]]*([\"<])([^\">]+) ]] || continue
    quote=${BASH_REMATCH[1]}
    name=${BASH_REMATCH[2]}
    if [[ $quote == '<' ]]; then
        # C++'s headers have no suffix.
        [[ $name != *.h || $file == src/pg/pg.hpp || $file == src/pg/compat.hpp ]] ||
            complain "$file:$line" "only pg/pg.hpp includes <$name>"
        continue
    fi
    target=${name%%/*}
    if [[ $name != */* || -z ${may[$target]:-} ]]; then
        [[ $file == src/pg/pg.hpp || $file == src/pg/compat.hpp ]] ||
            complain "$file:$line" "only pg/pg.hpp includes \"$name\" (our own headers are named from src/)"
    elif [[ " ${may[$layer]} " != *" $target "* && ! ($layer =~ ^(entry|worker)$ && $name =~ ^store/(hub|table/tables)\.hpp$) ]]; then
        complain "$file:$line" "$layer may not include \"$name\""
    fi
done < <(grep -nHE '^[[:space:]]*#[[:space:]]*include' src/**/*.[ch]pp)

complain_each "only pg/transactions.cpp registers callbacks of transactions; be a pg::Participant" < <(
    code_matches 'Register(Xact|SubXact|ResourceRelease)Callback' src/**/*.[ch]pp | grep -v '^src/pg/transactions.cpp:'
)
verdict
