#!/usr/bin/env bash
# Runs a command with a throw-away server.
#
#   test/server.sh [--preload] [--conf name=value]... -- COMMAND...
#
#   --preload   with shared_preload_libraries = belay
#   --conf      a line for postgresql.conf
#
#
# The command finds the server through PGHOST, PGPORT, PGUSER and PGDATABASE; PATH begins with
# the staged programs, BELAY_BINDIR names their directory, BELAY_SERVER_LOG the server's log. The
# server listens on a unix socket only. It and its data are gone when this script ends, however
# it ends; the exit code is the command's. If a server process crashed, or the log tells of another
# mistake (as mistakes_in of test/cluster/cluster.cpp has them), it is shown and the exit code is not 0.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

arguments=("$@")
preload=
conf=()
while (($# > 0)); do
    case $1 in
        --preload) preload=belay ;;
        --conf)
            conf+=("${2:?--conf needs name=value}")
            shift
            ;;
        --)
            shift
            break
            ;;
        *) die "unknown argument $1" ;;
    esac
    shift
done
(($# > 0)) || die "usage: test/server.sh [--preload] [--conf name=value]... -- COMMAND..."

prepare
if ((EUID == 0)); then
    reachable || die "user $(test_user) cannot read $root; test/run.sh and test/demo.sh can"
    exec "${test_user_prefix[@]}" "$root/test/server.sh" "${arguments[@]}"
fi
mkdir -p "$run_dir/server" "$run_dir/log"

data=$(mktemp -d "$run_dir/server/XXXXXX")
# The path of a socket may have 107 bytes, and the project may lie deep.
socket_dir=$(mktemp -d /tmp/belay-XXXXXX)
export BELAY_SERVER_LOG=$run_dir/log/server-${data##*/}.log
command_pid=

# shellcheck disable=SC2317,SC2329  # Called by the trap.
clean_up() {
    local code=$?
    trap - EXIT
    trap '' INT TERM HUP
    if [[ -n $command_pid ]]; then
        kill -TERM "$command_pid" 2>/dev/null || true
    fi
    if [[ -e $data/postmaster.pid ]]; then
        "$BELAY_BINDIR/pg_ctl" -D "$data" -m immediate -w -s stop >/dev/null 2>&1 || true
    fi
    rm -rf "$data" "$socket_dir"
    if ((code == 0)); then
        rm -f "$BELAY_SERVER_LOG"
    fi
    exit "$code"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

show_log() {
    {
        say "--- end of the server's log, $BELAY_SERVER_LOG"
        tail -n 60 "$BELAY_SERVER_LOG" 2>/dev/null || true
        say "---"
    } >&2
}

"$BELAY_BINDIR/initdb" -N -A trust -U postgres -E UTF8 --locale=C.UTF-8 -D "$data" \
    >"$BELAY_SERVER_LOG" 2>&1 || {
    show_log
    die "initdb failed"
}
: >"$BELAY_SERVER_LOG"
{
    say "listen_addresses = ''"
    say "unix_socket_directories = '$socket_dir'"
    say "fsync = off"
    say "max_connections = 100"
    say "max_prepared_transactions = 20"
    say "log_line_prefix = '%m [%p] %q%a '"
    say "log_min_messages = warning"
    say "timezone = 'UTC'"
    say "belay.dense_epochs = on"
    say "shared_preload_libraries = '$preload'"
    for line in "${conf[@]}"; do
        say "$line"
    done
} >>"$data/postgresql.conf"
"$BELAY_BINDIR/pg_ctl" -D "$data" -l "$BELAY_SERVER_LOG" -w -s start >/dev/null || {
    show_log
    die "the server did not start"
}

export PGHOST=$socket_dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
export PATH=$BELAY_BINDIR:$PATH
unset PGSERVICE PGPASSWORD PGSSLMODE

# Warnings of the server about its modules.
left_open='WARNING:  .*( leak: |resource was not closed: | still active|you don.t own a|problem in (alloc set|slab|bump|generation context)'
left_open+='|transaction left non-empty SPI stack)'

# In the background, because bash answers a signal only between commands.
code=0
"$@" <&0 &
command_pid=$!
wait "$command_pid" || code=$?
command_pid=

if grep -Eq 'was terminated by signal|PANIC:|TRAP: ' "$BELAY_SERVER_LOG"; then
    say "a server process crashed" >&2
    show_log
    ((code != 0)) || code=1
elif grep -E "$left_open" "$BELAY_SERVER_LOG" >&2; then
    say "a server process left a resource open, or overwrote memory" >&2
    show_log
    ((code != 0)) || code=1
fi
"$BELAY_BINDIR/pg_ctl" -D "$data" -m fast -w -s stop >/dev/null || {
    show_log
    say "the server did not stop" >&2
    ((code != 0)) || code=1
}
exit "$code"
