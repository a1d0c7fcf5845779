#!/usr/bin/env bash
# Runs pg_regress or pg_isolation_regress against the server of the environment (PGHOST, ...).
#
#   test/regress.sh regress|isolation OUTPUT [--hostile] [--citus preload|local|distributed] [--only TEST]
#
# OUTPUT names the directory under build/run for results and regression.diffs.
#
# sql/setup.sql or specs/setup.spec runs first. The other files of sql/ run in groups of up to eight at
# once in one database, each with hubs of its own; a file whose first line has "-- serial" runs alone.
#
# --hostile: every session has a search_path in which the schema made by test/hostile.sql, full of
# functions and operators that shadow PostgreSQL's, comes before pg_catalog.
#
# --citus: with Citus loaded in the server (preload), in the database too, with this server as its coordinator (local), or
# as its only node besides (distributed): there belay.create_hub distributes every hub (test/citus/distribute.sql). For
# regress. Tests that test/citus/not_run.txt names do not run.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

kind=${1:?regress or isolation}
output=$run_dir/${2:?output directory}
shift 2
only=
hostile=no
citus=
while (($# > 0)); do
    case $1 in
        --hostile) hostile=yes ;;
        --citus)
            citus=${2:?--citus needs preload, local or distributed}
            shift
            ;;
        --only)
            only=${2:?--only needs a test}
            shift
            ;;
        *) die "unknown argument $1" ;;
    esac
    shift
done

find_postgres
rm -rf "$output"
mkdir -p "$output"
database=regress_belay
schedule=$output/schedule
input=$root

# runs NAME: this run has the test.
runs() {
    local kinds=
    case $citus in
        preload) kinds=preload ;;
        local) kinds='preload|local' ;;
        distributed) kinds='preload|local|distributed' ;;
    esac
    [[ -z $only || $only == "$1" ]] &&
        { [[ -z $citus ]] || ! grep -qE "^($kinds) $1:" "$root/test/citus/not_run.txt"; }
}

# The schedule: "test: a b c" is one group.
write_regress_schedule() {
    local file name group=() serial=()
    [[ ! -e $root/sql/setup.sql ]] || say "test: setup"
    [[ $citus != distributed ]] || say "test: distribute"
    for file in "$root"/sql/*.sql; do
        [[ -e $file ]] || die "no tests in sql/"
        name=$(basename "$file" .sql)
        if [[ $name == setup ]] || ! runs "$name"; then continue; fi
        if head -n 1 "$file" | grep -q -e '-- serial'; then
            serial+=("$name")
        else
            group+=("$name")
        fi
    done
    local i
    for ((i = 0; i < ${#group[@]}; i += 8)); do
        say "test: ${group[*]:i:8}"
    done
    for name in "${serial[@]}"; do
        say "test: $name"
    done
}

write_isolation_schedule() {
    local file name
    say "test: setup"
    for file in "$root"/test/isolation/specs/*.spec; do
        name=$(basename "$file" .spec)
        [[ $name != setup && (-z $only || $only == "$name") ]] || continue
        say "test: $name"
    done
}

# As pg_regress itself makes its database, and with Citus.
make_citus_database() {
    psql -X -q -v ON_ERROR_STOP=1 -d postgres -c "CREATE DATABASE $database TEMPLATE template0" \
        -c "ALTER DATABASE $database SET lc_messages TO 'C'" -c "ALTER DATABASE $database SET bytea_output TO 'hex'"
    psql -X -q -v ON_ERROR_STOP=1 -d "$database" -o /dev/null -c "CREATE EXTENSION citus" \
        -c "SELECT citus_set_coordinator_host('$PGHOST', $PGPORT)"
    if [[ $citus == distributed ]]; then
        psql -X -q -v ON_ERROR_STOP=1 -d "$database" -o /dev/null \
            -c "SELECT citus_set_node_property('$PGHOST', $PGPORT, 'shouldhaveshards', true)"
    fi
    options+=(--use-existing)
    PATH=$root/test/citus/bin:$PATH
}

# The tests' directory with one more file, which runs after the set-up.
make_citus_input() {
    input=$output/input
    mkdir -p "$input/sql" "$input/expected"
    ln -s "$root"/sql/*.sql "$root/test/citus/distribute.sql" "$input/sql"
    ln -s "$root"/expected/*.out "$input/expected"
    cp "$root/test/citus/distribute.sql" "$input/expected/distribute.out"
}

options=("--bindir=$BELAY_BINDIR" "--outputdir=$output" "--schedule=$schedule"
    "--host=$PGHOST" "--port=$PGPORT" "--user=$PGUSER" "--dbname=$database"
    "--dlpath=${BELAY_BINDIR%"$("$PG_CONFIG" --bindir)"}$("$PG_CONFIG" --pkglibdir)")

[[ -z $citus || $citus == preload ]] || make_citus_database
case $kind in
    regress)
        [[ $citus != distributed ]] || make_citus_input
        write_regress_schedule >"$schedule"
        if [[ $hostile == yes ]]; then
            # As pg_regress itself makes its database.
            psql -X -q -v ON_ERROR_STOP=1 -d postgres -c "CREATE DATABASE $database TEMPLATE template0" \
                -c "ALTER DATABASE $database SET lc_messages TO 'C'" \
                -c "ALTER DATABASE $database SET bytea_output TO 'hex'"
            psql -X -q -v ON_ERROR_STOP=1 -d "$database" -f "$root/test/hostile.sql"
            options+=(--use-existing)
            export PGOPTIONS="${PGOPTIONS:-} -c search_path=hostile,pg_catalog,public"
        fi
        exec "$pg_regress_dir/regress/pg_regress" "${options[@]}" "--inputdir=$input"
        ;;
    isolation)
        write_isolation_schedule >"$schedule"
        exec "$pg_regress_dir/isolation/pg_isolation_regress" "${options[@]}" \
            "--inputdir=$root/test/isolation" --load-extension=belay
        ;;
    *) die "unknown kind $kind" ;;
esac
