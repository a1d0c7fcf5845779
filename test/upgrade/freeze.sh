#!/usr/bin/env bash
# Freezes a hub of an older version: prints what pg_dump says of one, with rows of all kinds in it.
#
#   test/upgrade/freeze.sh TREE VERSION >test/upgrade/v<VERSION>.sql
#
#   TREE      the sources of that time, as git has them, in a place that the test user can read
#   VERSION   the last step of a hub there
#
# Everything is made by the library and the hub files of TREE, on a throw-away server. A frozen file is
# never made again: it stands for the hubs that are out there.
set -euo pipefail

tree=$(cd "${1:?usage: test/upgrade/freeze.sh TREE VERSION}" && pwd)
version=${2:?usage: test/upgrade/freeze.sh TREE VERSION}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rows=()
for file in "$here"/rows_*.sql; do
    number=${file##*rows_}
    if ((10#${number%.sql} <= version)); then
        rows+=(-f "$file")
    fi
done

# What runs beside the server, as the test user.
# shellcheck disable=SC2016  # The inner shell expands this.
make='
set -euo pipefail
psql -X -q -v ON_ERROR_STOP=1 <<SQL >&2
CREATE ROLE upgrade_owner LOGIN;
CREATE ROLE upgrade_client LOGIN;
CREATE ROLE upgrade_worker LOGIN;
CREATE ROLE upgrade_operator LOGIN;
CREATE ROLE upgrade_monitor LOGIN;
CREATE EXTENSION belay;
GRANT USAGE ON LANGUAGE belay TO upgrade_owner;
GRANT CREATE ON DATABASE postgres TO upgrade_owner;
SQL
PGUSER=upgrade_owner psql -X -q -v ON_ERROR_STOP=1 -v t=4102444800000 <<SQL >&2
SELECT belay.create_hub('"'old'"');
SELECT belay.grant_hub('"'old'"', '"'upgrade_'"' || level, level)
  FROM unnest(ARRAY['"'client', 'worker', 'operator', 'monitor'"']) AS level;
SQL
PGUSER=upgrade_owner psql -X -q -v ON_ERROR_STOP=1 -v t=4102444800000 "$@" >&2
pg_dump --inserts -n old | grep -v "^\\\\\\(un\\)\\?restrict "
'
cat <<TEXT
-- A hub of version $version, as pg_dump --inserts -n old prints it. Frozen: it stands for the hubs that are out there.
--
-- Made by test/upgrade/freeze.sh with the library and the hub files of that version, and the rows of
-- test/upgrade/rows_*.sql up to its number. Roles upgrade_owner, _client, _worker, _operator and _monitor are those of
-- the cluster.

TEXT
"$tree/test/server.sh" -- bash -c "$make" freeze "${rows[@]}"
