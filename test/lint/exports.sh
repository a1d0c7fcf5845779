#!/usr/bin/env bash
# The module exports its entry points and nothing else.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[[ -e belay.so ]] || {
    complain "belay.so:1" "is not built"
    verdict
}
while read -r symbol; do
    [[ $symbol =~ ^(Pg_magic_func|_PG_init|pg_finfo_belay_[a-z0-9_]+|belay_[a-z0-9_]+)$ ]] ||
        complain "belay.so:1" "exports $symbol"
done < <(nm -D --defined-only belay.so | awk '{print $NF}')
verdict
