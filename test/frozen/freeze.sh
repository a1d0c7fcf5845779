#!/usr/bin/env bash
# Makes, in test/frozen/<version>, <api>.sql, dumps of hubs that this version has made, with a row of every kind, and
# <api>.surface, what programs can call and read. The tests of this version and of later ones restore, upgrade and use the
# hubs, and look for the surface (test/cluster/frozen_test.cpp). `make freeze-hub` runs it: until the version is tagged, after
# every change of what a hub consists of; afterwards the files never change, and this refuses.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
here=$root/test/frozen
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$root/src/sql/belay.control")

# Inside: the server is there.
if [[ ${1:-} == --with-server ]]; then
    out=$2
    run_psql() { psql -qX -v ON_ERROR_STOP=1 -o /dev/null "$@"; }
    for level in owner client worker operator monitor; do
        run_psql -c "CREATE ROLE upgrade_$level LOGIN"
    done
    for api in belay duroxide-pg; do
        database=${api//-/_}
        run_psql -c "CREATE DATABASE $database TEMPLATE template0"
        run_psql -d "$database" -c "CREATE EXTENSION belay" -c "GRANT USAGE ON LANGUAGE belay TO upgrade_owner" \
            -c "GRANT CREATE ON DATABASE $database TO upgrade_owner"
        run_psql -d "$database" -U upgrade_owner -c "CREATE SCHEMA kept" -c "SELECT belay.create_hub('old', '$api')"
        for level in client worker operator monitor; do
            run_psql -d "$database" -U upgrade_owner -c "SELECT belay.grant_hub('old', 'upgrade_$level', '$level')"
        done
        run_psql -d "$database" -U upgrade_owner -f "$here/fill_$api.sql"
        {
            say "-- A hub of api $api as version $version made it. Written by test/frozen/freeze.sh; do not edit."
            # What only this server or this pg_dump writes is left out.
            pg_dump -n old -n kept "$database" | sed -E '/^(-- Dumped (from|by)|\\(un)?restrict |SET transaction_timeout)/d' | cat -s
        } >"$out/$api.sql"
        run_psql -d "$database" -o "$out/$api.surface" -c "COPY ($(<"$here/surface.sql")) TO STDOUT"
    done
    exit 0
fi

find_postgres
((major == 15)) || die "freeze with PostgreSQL 15: the dumps have to be readable by all servers from 15 on, PG_CONFIG is of $major"
if git -C "$root" rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
    die "version $version is tagged: its hubs stay as they are"
fi
"$root/test/stage.sh"
make_run_dir
out=$(mktemp -d "$run_dir/frozen.XXXXXX")
trap 'rm -rf "$out"' EXIT
chmod 777 "$out"  # The server's user writes it.
"$root/test/server.sh" --preload --conf belay.reconcile_interval=0 -- "$here/freeze.sh" --with-server "$out"
mkdir -p "$here/$version"
cp "$out"/* "$here/$version/"
ls -l "$here/$version"
