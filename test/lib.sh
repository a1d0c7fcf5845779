# Shared by the scripts in test/: where things are, and who runs them. Sourced, never run.
# shellcheck shell=bash

# shellcheck disable=SC2034  # The variables here are for the scripts that source this file.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
run_dir=$root/build/run
# BELAY_SANITIZE names sanitizers: what CMake builds with them lies apart.
sanitized=${BELAY_SANITIZE:+-${BELAY_SANITIZE//,/-}}
cmake_dir=$root/build/cmake$sanitized
# Coroutines differ between compilers: the tests of durable functions are also built with clang++.
clang_dir=$root/build/clang$sanitized
# The Makefile knows it by this name, when it builds and when it installs.
if [[ -n ${BELAY_SANITIZE_MODULE:-} ]]; then
    export SANITIZE=$BELAY_SANITIZE_MODULE
fi

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Finds the PostgreSQL to build for and sets PG_CONFIG, major and stage_bin. Needs test/setup.sh
# to have run.
find_postgres() {
    if [[ -z ${PG_CONFIG:-} ]]; then
        PG_CONFIG=$(pg_config_candidate) ||
            die "no PostgreSQL with server headers found: run 'make setup', or set PG_CONFIG"
    fi
    export PG_CONFIG
    pg_config_complete "$PG_CONFIG" ||
        die "$PG_CONFIG: no PostgreSQL server with its development files (initdb, pgxs, postgres.h)"
    major=$("$PG_CONFIG" --version)
    major=${major#PostgreSQL }
    major=${major%%[!0-9]*}
    stage_root=$root/build/stage/$major
    stage_bin=$stage_root$("$PG_CONFIG" --bindir)
    pg_regress_dir=$(dirname "$("$PG_CONFIG" --pgxs)")/../test
}

# True if a pg_config belongs to an installation that can build and run a server. Debian's client
# package has pgxs.mk, so it says nothing about the headers.
pg_config_complete() {
    local pgxs
    pgxs=$("$1" --pgxs 2>/dev/null) &&
        [[ -f $pgxs && -f $("$1" --includedir-server)/postgres.h && -x $("$1" --bindir)/initdb ]]
}

# True if packages can be made for the PostgreSQL of PG_CONFIG, or for the one that we would choose:
# dpkg is there, and the server lies where Debian has it.
makes_debs() {
    local pg_config
    command -v dpkg >/dev/null || return
    # None at all: test/setup.sh installs Debian's.
    pg_config=${PG_CONFIG:-$(pg_config_candidate)} || return 0
    [[ $("$pg_config" --pkglibdir) == /usr/lib/postgresql/*/lib ]]
}

# Prints the pg_config to use if the caller named none: the one in PATH, else the oldest of
# Debian's that we support.
pg_config_candidate() {
    local candidate
    for candidate in pg_config /usr/lib/postgresql/{15,16,17,18}/bin/pg_config; do
        if command -v "$candidate" >/dev/null && pg_config_complete "$candidate"; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# PostgreSQL refuses to run as root. Prints who runs servers and tests instead; nothing if we
# are not root.
test_user() {
    if ((EUID == 0)); then
        if id postgres >/dev/null 2>&1; then
            say postgres
        else
            say nobody
        fi
    fi
}

# Sets the array test_user_prefix: put before a command, it makes that user run it, with this
# environment. Empty if we are not root.
set_test_user_prefix() {
    local user
    user=$(test_user)
    test_user_prefix=()
    if [[ -n $user ]]; then
        test_user_prefix=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --init-groups
            env "HOME=$run_dir" "USER=$user" "LOGNAME=$user")
    fi
}

# Makes build/run, which belongs to the test user: all that tests write is in there.
make_run_dir() {
    local user
    user=$(test_user)
    mkdir -p "$run_dir"
    if [[ -n $user && $(stat -c %U "$run_dir") != "$user" ]]; then
        chown -R "$user" "$run_dir"
    fi
}

# True if the test user can read the project and write build/run.
reachable() {
    make_run_dir
    set_test_user_prefix
    "${test_user_prefix[@]}" test -r "$root/Makefile" -a -x "$root/test/run.sh" -a -w "$run_dir" \
        2>/dev/null
}

# If the test user cannot reach the project (it lies in a private home directory), runs the named
# script of test/ in a private copy that the user can read, and exits with its code. The copy has the built
# files with their dates, so nothing is compiled again.
move_if_unreachable() {
    local script=$1 copy user code=0
    shift
    if reachable; then
        return 0
    fi
    user=$(test_user)
    copy=$(mktemp -d "${TMPDIR:-/tmp}/belay-XXXXXX")
    # shellcheck disable=SC2064  # $copy is meant as it is now.
    trap "rm -rf '$copy'" EXIT
    say "user $user cannot read this directory; the tests run in a copy, $copy"
    chown "$user" "$copy"
    chmod 0755 "$copy"
    tar -C "$root" --exclude=./.git --exclude=./build/run --exclude=./build/stage -cf - . |
        tar -C "$copy" -xf - --no-same-owner
    chmod -R u+rwX,go+rX "$copy"
    (cd "$copy" && "test/$script" --built "$@") || code=$?
    mkdir -p "$run_dir"
    cp -r "$copy/build/run/log" "$run_dir/" 2>/dev/null || true
    exit "$code"
}

# Number of compilers to run at once; under make -jN its own job server decides.
make_jobs() {
    if [[ ${MAKEFLAGS:-} != *-j* ]]; then
        say "-j$(nproc)"
    fi
}

# with_progress WHAT LOG COMMAND...: runs the command with its output in a file. A terminal shows a line with what
# is done and the time; elsewhere there is one line at the end. A failure shows the end of the log. All of it goes to
# standard error: what a script prints may be an answer.
with_progress() {
    local what=$1 log=$2 began=$SECONDS pid code=0
    shift 2
    mkdir -p "${log%/*}"
    "$@" >"$log" 2>&1 &
    pid=$!
    while [[ -t 2 ]] && kill -0 "$pid" 2>/dev/null; do
        printf '\r\033[K%s: %s%d s' "$what" "$(progress_in "$log")" $((SECONDS - began)) >&2
        sleep 0.5
    done
    wait "$pid" || code=$?
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    if ((code != 0)); then
        tail -n 60 "$log" >&2
        die "$what failed, see $(realpath --relative-to="$PWD" "$log")"
    fi
    say "$what: $((SECONDS - began)) s" >&2
}

# How far the build that writes this log is: CMake's last percentage, or the files that make has compiled.
progress_in() {
    local percent files
    percent=$(grep -oE '^\[ *[0-9]+%\]' "$1" | tail -n 1 | tr -d '[] ') || true
    files=$(grep -c '^CXX ' "$1") || true
    if [[ -n $percent ]]; then
        printf '%s, ' "$percent"
    elif ((files > 0)); then
        printf '%d files, ' "$files"
    fi
}

# build_module [GOAL]...
# shellcheck disable=SC2120  # Called without goals, too.
build_module() {
    # shellcheck disable=SC2046  # At most one word.
    with_progress 'building the server module' "$root/build/make.log" \
        make -C "$root" --no-print-directory $(make_jobs) "${@:-all}" PG_CONFIG="$PG_CONFIG"
}

# Findings of a module with sanitizers go to files, and end the server process.
use_sanitized_module() {
    if [[ -n ${BELAY_SANITIZE_MODULE:-} ]]; then
        export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1:log_path=$run_dir/log/ubsan
    fi
}

# Findings in what CMake builds with sanitizers go to files that begin with PATH: a test may kill the process that had
# one, or not look at its exit code.
log_findings() {
    local path=$1
    if [[ -n ${BELAY_SANITIZE:-} ]]; then
        export ASAN_OPTIONS=log_path=$path UBSAN_OPTIONS=print_stacktrace=1:log_path=$path \
            TSAN_OPTIONS=second_deadlock_stack=1:log_path=$path
    fi
}

# build_cmake [TARGET]...: builds all that CMake builds, or these targets.
build_cmake() {
    with_progress 'building client library, tool and tests' "$root/build/cmake.log" run_cmake "$@"
}

run_cmake() {
    local target targets=() libdir
    for target; do
        targets+=(--target "$target")
    done
    # Laid out as Debian's packages, so that the tests can make packages of it. For backtraces, names and lines are
    # enough; types and variables would take a fifth of the compiler's time. $optimize is for builds that are only tested.
    libdir=lib/$(c++ -print-multiarch 2>/dev/null || true)
    cmake -S "$root" -B "$cmake_dir" -DPG_CONFIG="$PG_CONFIG" -DBELAY_SANITIZE="${BELAY_SANITIZE:-}" \
        -DCMAKE_INSTALL_LIBDIR="${libdir%/}" -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="${optimize:--O2} -g1 -DNDEBUG" &&
        cmake --build "$cmake_dir" -j "$(nproc)" "${targets[@]}"
}

# Set up, build and stage, once per command: a script called by another finds it done. With
# built=yes (option --built of the scripts) set-up and build are left out.
prepare() {
    if [[ -n ${BELAY_BINDIR:-} ]]; then
        return 0
    fi
    if [[ ${built:-no} == no ]]; then
        "$root/test/setup.sh"
        find_postgres
        build_module
    fi
    find_postgres
    "$root/test/stage.sh" --built
    export BELAY_BINDIR=$stage_bin
}

# begin_benchmark SCRIPT ARGUMENT...: reads the options of a script of bench/, then builds and prepares; bench_target is a
# CMake target that it needs. Options besides --built and --help have a value and go to the script's take_option, which
# returns 1 for an unknown one.
begin_benchmark() {
    local script=$1
    shift
    local arguments=("$@")
    built=no
    while (($# > 0)); do
        case $1 in
            --built) built=yes ;;
            --help)
                sed -n '2,/^set -euo/s/^# \{0,1\}//p' "$root/bench/$script"
                exit 0
                ;;
            *)
                if [[ $(type -t take_option) != function ]] || ! take_option "$1" "${2:-}"; then
                    die "unknown option '$1'; see --help"
                fi
                shift
                ;;
        esac
        shift
    done
    if [[ -z ${BELAY_BINDIR:-} && $built == no ]]; then
        "$root/test/setup.sh"
        find_postgres
        build_module
        if [[ -n ${bench_target:-} ]]; then
            build_cmake "$bench_target"
        fi
    fi
    move_if_unreachable "../bench/$script" "${arguments[@]}"
    built=yes
    prepare
}

# Stops the servers that a program of tests left behind, should it have died, and removes all that
# it wrote: BELAY_RUN_DIR and BELAY_SOCKET_DIR.
stop_left_servers() {
    local data
    for data in "$BELAY_RUN_DIR"/cluster-*/data; do
        [[ ! -e $data/postmaster.pid ]] || "$BELAY_BINDIR/pg_ctl" -D "$data" -m immediate -s stop || true
    done
    rm -rf "$BELAY_SOCKET_DIR" "$BELAY_RUN_DIR"
}
