#!/usr/bin/env bash
# Builds and checks belay for several PostgreSQLs, each in its own copy of the sources.
#
#   test/all_versions.sh PG_CONFIG...
#   make check-all-versions PG_CONFIGS="..."
#
# Without arguments: every PostgreSQL with server headers in Debian's place for them.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pg_configs=("$@")
if ((${#pg_configs[@]} == 0)); then
    for candidate in /usr/lib/postgresql/*/bin/pg_config; do
        if [[ -x $candidate ]] && pg_config_complete "$candidate"; then
            pg_configs+=("$candidate")
        fi
    done
fi
((${#pg_configs[@]} > 0)) || die "no PostgreSQL found: make check-all-versions PG_CONFIGS=\"...\""

failed=0
summary=()
declare -A used=()
for pg_config in "${pg_configs[@]}"; do
    PG_CONFIG=$pg_config
    find_postgres
    # Two servers of one major version, for example one with assertions, do not share their builds.
    key=$major
    ! "$PG_CONFIG" --configure | grep -q -e --enable-cassert || key+=-assertions
    used[$key]=$((${used[$key]:-0} + 1))
    ((used[$key] == 1)) || key+=-${used[$key]}
    copy=$root/build/versions/$key
    mkdir -p "$copy"
    # Sources are replaced, with their dates; what was built for this version stays.
    find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$root" --exclude=./.git --exclude=./build --exclude='./*.so' -cf - . | tar -C "$copy" -xf -
    say "=== $("$PG_CONFIG" --version) ($PG_CONFIG)"
    log=$root/build/versions/$key.log
    code=0
    PG_CONFIG=$PG_CONFIG "$copy/test/run.sh" 2>&1 | tee "$log" || code=$?
    ((code == 0)) || failed=$((failed + 1))
    summary+=("$(printf '%-26s %s' "PostgreSQL $key" "$(tail -n 1 "$log")")")
done

say ""
printf '%s\n' "${summary[@]}"
((failed == 0))
