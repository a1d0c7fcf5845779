#!/usr/bin/env bash
# Runs the tests; `make check` is this script without arguments.
#
#   test/run.sh [--suite NAME]... [--only TEST] [--jobs N] [--built] [--list]
#
#   --suite   only this suite; may be repeated
#   --only    only this test of it: a file of sql/, a spec, a GoogleTest filter, a lint, a page of docs
#   --jobs    suites at a time (default 3: they wait for servers, locks and clocks half of the time)
#   --built   do not set up and build first
#   --list    print the suites and stop
#
# Sets up, builds, stages a private installation and runs each suite on throw-away servers. In a run of all, a suite begins when
# what it needs is built: it waits for locks and sleeps while the rest is being compiled. Logs are in build/run/log. The last line is "N passed, N failed"; the exit code is 0 if tests ran and
# none failed; a suite, or a part of one, that cannot run here is counted as skipped. BELAY_LONG=1 asks the random and stress tests for their long forms. BELAY_SANITIZE
# (address,undefined or thread) builds what CMake builds with these sanitizers, apart from the rest.
# BELAY_SANITIZE_MODULE does the same for the server module; test/sanitize.sh sets it, in a copy.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

result_dir=$run_dir/result
log_dir=$run_dir/log
# A suite that hangs must not hang the run.
time_limit=$((${BELAY_LONG:-0} == 1 ? 14400 : 1800))

# ---- The suites. Each runs as the test user, writes to its log, and calls finish. ----

# The suites that this checkout has: those that need the server module alone, and that wait more than they compute; then long
# ones first, as they decide when the run ends.
list_early_suites() {
    if compgen -G "$root/test/isolation/specs/*.spec" >/dev/null; then say isolation; fi
    say regress
    say regress-preload
    if [[ -e $root/test/hostile.sql ]]; then say regress-hostile; fi
}
# Those that need no client library besides.
list_engine_suites() { printf '%s\n' cluster model stress robust unit; }
# The regression tests with Citus: loaded, in the database, on hubs that it has distributed.
list_citus_modes() { printf 'citus-%s\n' preload local distributed; }
list_suites() {
    list_early_suites
    say cluster
    if compgen -G "$root/test/citus/*.cpp" >/dev/null; then
        say citus
        list_citus_modes
    fi
    say runtime
    say lint
    if compgen -G "$root/test/model/*.cpp" >/dev/null; then say model; fi
    if compgen -G "$root/test/stress/*.cpp" >/dev/null; then say stress; fi
    say robust
    if compgen -G "$root/test/soak/*.cpp" >/dev/null; then say soak; fi
    if [[ -e $root/client/dashboard/package.json ]]; then say dashboard; fi
    say client
    say tool
    say bench
    say package
    if makes_debs; then say deb; fi
    say unit
    say fuzz
    if [[ -e $root/README.md ]]; then say docs; fi
    say languages
}

# finish CODE PASSED FAILED: a failure that no test accounts for counts as one.
finish() {
    local code=$1 passed=$2 failed=$3
    if ((failed == 0 && (code != 0 || passed == 0))); then
        failed=1
    fi
    echo "$passed $failed" >"$result_dir/$suite"
}

count() { grep -Ec -- "$1" "$2" || true; }

# A finding of a sanitizer is a failure, also in a process that no test waits for. UndefinedBehaviorSanitizer of g++ knows
# no files and prints.
count_findings() {
    local report passed failed
    [[ -n ${BELAY_SANITIZE:-} ]] || return 0
    grep -A 30 ': runtime error: ' "$log_dir/$suite.tests" >"$log_dir/$suite.findings.printed" || true
    for report in "$log_dir/$suite.findings".*; do
        [[ -s $report ]] || continue
        read -r passed failed <"$result_dir/$suite"
        echo "$passed $((failed + 1))" >"$result_dir/$suite"
        say "--- ${report##*/}" | tee -a "$result_dir/$suite.details"
        head -n 80 "$report" | tee -a "$result_dir/$suite.details"
    done
}

with_server() { timeout --foreground -k 20 "$time_limit" "$root/test/server.sh" "$@"; }

# pg_regress_suite KIND [OPTION of test/regress.sh]... -- [OPTION of test/server.sh]...
pg_regress_suite() {
    local kind=$1 options=() code=0 output=$log_dir/$suite.tests
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    [[ -z $only ]] || options+=(--only "$only")
    # Its snapshots would keep rows that a test expects to be gone, at random times.
    with_server --conf 'autovacuum = off' "$@" "$root/test/regress.sh" "$kind" "$suite" "${options[@]}" >"$output" || code=$?
    cat "$output"
    # "test name ... ok" up to PostgreSQL 15, TAP from 16 on.
    finish "$code" "$(count '\.\.\. ok|^ok ' "$output")" "$(count '\.\.\. FAILED|^not ok ' "$output")"
    if [[ -s $run_dir/$suite/regression.diffs ]]; then
        cp "$run_dir/$suite/regression.diffs" "$result_dir/$suite.details"
    fi
}

# gtest_suite COMMAND...: any program that prints as GoogleTest does.
gtest_suite() {
    local code=0 output=$log_dir/$suite.tests
    "$@" ${only:+"--gtest_filter=$only"} >"$output" 2>&1 || code=$?
    cat "$output"
    finish "$code" "$(count '^\[       OK \]' "$output")" \
        "$(count '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$output")"
    # The failed tests' own output, or, after a crash, the last test's.
    awk 'function tell(  i) {for (i = 1; i <= n; i++) print lines[i]; n = 0}
         /^\[ RUN /{n = 0} {lines[++n] = $0} /^\[  FAILED  \].*ms\)$/{tell(); failed++}
         END {if (!failed) tell()}' "$output" | tail -n 200 >"$result_dir/$suite.details"
}

suite_unit() { gtest_suite "$cmake_dir/bin/unit_tests"; }

# own_servers_suite [COMMAND...]: a program of GoogleTests that makes its servers itself, by default
# the one of the suite. Should it die, we stop those it left.
own_servers_suite() {
    export BELAY_ROOT=$root BELAY_RUN_DIR=$run_dir/$suite BELAY_SOCKET_DIR
    BELAY_SOCKET_DIR=$(mktemp -d /tmp/belay-XXXXXX)
    trap stop_left_servers EXIT
    trap 'exit 143' TERM
    rm -rf "$BELAY_RUN_DIR"
    mkdir -p "$BELAY_RUN_DIR"
    (($# > 0)) || set -- "$cmake_dir/bin/${suite}_tests"
    gtest_suite timeout --foreground "$time_limit" "$@"
}
# Tests that choose their times must not meet duties that read the clock.
resting='belay.reconcile_interval = 0'

suite_cluster() { own_servers_suite; }
suite_model() { own_servers_suite; }
suite_stress() { own_servers_suite; }
suite_robust() { own_servers_suite; }
suite_soak() { own_servers_suite; }
# Citus comes from packages of its own: without it, the suite is counted as skipped.
with_citus() {
    local sharedir
    sharedir=$("$PG_CONFIG" --sharedir)
    if [[ -e $sharedir/extension/citus.control ]]; then
        "$@"
    elif [[ ${BELAY_REQUIRE_CITUS:-0} == 1 ]]; then
        say "extension citus is not available in $sharedir"
        finish 1 0 1
    else
        say "suite $suite SKIPPED: extension citus is not available in $sharedir" | tee "$result_dir/$suite.skipped"
        echo '0 0' >"$result_dir/$suite"
    fi
}
suite_citus() { with_citus own_servers_suite; }
# citus_regress preload|local|distributed: as test/regress.sh knows them.
citus_regress() {
    with_citus pg_regress_suite regress --citus "$1" -- --conf "shared_preload_libraries = 'citus,belay'" --conf "$resting" \
        --conf 'max_worker_processes = 20' --conf 'max_locks_per_transaction = 512' \
        --conf 'citus.enable_statistics_collection = off' --
}
suite_citus-preload() { citus_regress preload; }
suite_citus-local() { citus_regress local; }
suite_citus-distributed() { citus_regress distributed; }
suite_client() { own_servers_suite; }
suite_tool() { own_servers_suite; }
# Durable functions: GoogleTests, and what must not compile, with both compilers.
suite_runtime() {
    own_servers_suite "$root/test/runtime/run.sh" "$cmake_dir" "$clang_dir"
    if [[ -z $only && ! -x $clang_dir/bin/runtime_tests ]]; then
        say "suite runtime SKIPPED with clang++: there is no ${clang_dir#"$root"/}/bin/runtime_tests" |
            tee "$result_dir/$suite.skipped"
    fi
}
suite_regress() { pg_regress_suite regress -- --; }
suite_regress-preload() { pg_regress_suite regress -- --preload --conf "$resting" --; }
# With a search path full of traps.
suite_regress-hostile() { pg_regress_suite regress --hostile -- --; }
# Where a notice is printed among the steps differs from run to run.
suite_isolation() { pg_regress_suite isolation -- --preload --conf "$resting" --conf 'client_min_messages = warning' --; }

suite_lint() {
    local script name passed=0 failed=0
    for script in "$root"/test/lint/*.sh; do
        name=$(basename "$script" .sh)
        if [[ $name == lib || (-n $only && $only != "$name") ]]; then
            continue
        fi
        say "lint $name"
        if "$script" >"$log_dir/lint-$name.log" 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            {
                say "lint $name failed:"
                head -n 60 "$log_dir/lint-$name.log"
            } | tee -a "$result_dir/$suite.details"
        fi
    done
    finish 0 "$passed" "$failed"
}

suite_docs() {
    local code=0 output=$log_dir/$suite.tests
    with_server --preload --conf belay.dense_epochs=off -- "$root/test/docs/run.sh" ${only:+"$only"} >"$output" 2>&1 || code=$?
    cat "$output"
    finish "$code" "$(count '^ok ' "$output")" "$(count '^not ok ' "$output")"
}

# The workers of docs/languages.md.
suite_languages() {
    local code=0 output=$log_dir/$suite.tests
    with_server --preload -- "$root/test/languages/run.sh" ${only:+"$only"} >"$output" 2>&1 || code=$?
    cat "$output"
    finish "$code" "$(count '^ok ' "$output")" "$(count '^not ok ' "$output")"
}

suite_fuzz() {
    local code=0 output=$log_dir/$suite.tests
    timeout --foreground "$time_limit" "$root/test/fuzz/run.sh" >"$output" 2>&1 || code=$?
    cat "$output"
    finish "$code" "$(count '^ok ' "$output")" "$(count '^not ok ' "$output")"
}

# belay's own part of bench/clients, as a test.
suite_bench() {
    local code=0 output=$log_dir/$suite.tests
    with_server --preload --conf 'max_connections = 200' -- "$root/bench/clients/smoke.sh" >"$output" 2>&1 || code=$?
    cat "$output"
    finish "$code" "$(count '^ok ' "$output")" "$(count '^not ok ' "$output")"
}

suite_dashboard() {
    local code=0 output=$log_dir/$suite.tests
    {
        timeout --foreground -k 20 "$time_limit" "$root/client/dashboard/test/run.sh" ${only:+"$only"} || code=$?
        BELAY_PROGRAM=$cmake_dir/bin/belay with_server --preload -- "$root/client/dashboard/test/real.sh" ${only:+"$only"} || code=$?
    } >"$output" 2>&1
    cat "$output"
    # Tests in groups are indented; a group counts as one more. What --only leaves out is printed, too.
    finish "$code" "$(grep -v ' # SKIP' "$output" | count '^ *ok [0-9]+ - ' -)" "$(count '^ *not ok [0-9]+ - ' "$output")"
}

suite_package() {
    local code=0 output=$log_dir/$suite.tests
    {
        "$root/test/package/sources.sh" || code=$?
        with_server --preload -- "$root/test/package/run.sh" || code=$?
    } >"$output" 2>&1
    cat "$output"
    finish "$code" "$(count '^ok ' "$output")" "$(count '^not ok ' "$output")"
}

suite_deb() {
    local code=0 output=$log_dir/$suite.tests
    timeout --foreground -k 20 "$time_limit" "$root/test/package/deb.sh" "$root/build/deb-check" >"$output" 2>&1 || code=$?
    cat "$output"
    finish "$code" "$(count '^ok ' "$output")" "$(count '^not ok ' "$output")"
}

# ---- The run. ----

suites=()
only=
jobs=3
built=no
inside=
part=
arguments=("$@")
while (($# > 0)); do
    case $1 in
        --suite)
            suites+=("${2:?--suite needs a name}")
            shift
            ;;
        --only)
            only=${2:?--only needs a test}
            shift
            ;;
        --jobs)
            jobs=${2:?--jobs needs a number}
            shift
            ;;
        --built) built=yes ;;
        --list)
            list_suites
            exit
            ;;
        --inside) # Used by this script itself, for one suite, as the test user.
            inside=${2:?}
            shift
            ;;
        --build) # Used by this script itself: a part of what is built beside the server module.
            part=${2:?}
            shift
            ;;
        *) die "unknown argument $1" ;;
    esac
    shift
done

if [[ -n $inside ]]; then
    suite=$inside
    find_postgres
    use_sanitized_module
    log_findings "$log_dir/$suite.findings"
    "suite_$suite"
    count_findings
    exit
fi

all=no
if ((${#suites[@]} == 0)); then
    all=yes
    # Without preloading, the same files run with a hostile search path as well: that one is enough in the short form. With
    # Citus they take minutes more.
    mapfile -t suites < <(list_suites | if ((${BELAY_LONG:-0} == 1)); then cat; else grep -vxE 'regress|citus-.*'; fi)
fi
for suite in "${suites[@]}"; do
    grep -qx -e "$suite" <<<"$(list_suites)" || die "no suite '$suite'; there are: $(list_suites | xargs)"
done

# cmake_targets SUITE...: the programs that these suites need.
cmake_targets() {
    local suite
    for suite; do
        case $suite in
            unit | cluster | citus | model | stress | robust | soak | client | tool) say "${suite}_tests" ;;
            runtime) printf '%s\n' runtime_tests idioms_tests ;;
            docs) printf '%s\n' belay image_flow order_saga transactional_enqueue ;;
            package | deb | dashboard) say belay ;;
            bench) say clients_bench ;;
            fuzz) say belay ;;
        esac
    done
}

# has NAME: this run has the suite.
has() { [[ " ${suites[*]} " == *" $1 "* ]]; }

# What the suites need beside the server module, in the order in which it is built.
parts=(engine client clang)
build_engine() {
    local of=() targets
    mapfile -t of < <(printf '%s\n' "${suites[@]}" | grep -xFf <(list_engine_suites))
    mapfile -t targets < <(cmake_targets "${of[@]}")
    ((${#targets[@]} == 0)) || build_cmake "${targets[@]}"
}
build_client() {
    local of=() targets
    mapfile -t of < <(printf '%s\n' "${suites[@]}" | grep -vxFf <(list_engine_suites))
    mapfile -t targets < <(cmake_targets "${of[@]}")
    if [[ $all == yes ]]; then
        build_cmake all "${targets[@]}"
    elif ((${#targets[@]} > 0)); then
        build_cmake "${targets[@]}"
    fi
    if has package || has docs; then
        cmake --install "$cmake_dir" --prefix "$root/build/prefix$sanitized" --component client \
            >>"$root/build/cmake.log"
    fi
    if has dashboard; then
        "$root/client/dashboard/build.sh" >"$root/build/dashboard.log" 2>&1 || {
            cat "$root/build/dashboard.log"
            die "the dashboard was not built"
        }
    fi
    if has languages; then
        "$root/test/languages/install.sh" || die "the packages of test/languages were not installed"
    fi
    if has deb; then
        "$root/debian/build.sh" --reuse --output "$root/build/deb-check"
    fi
}
build_clang() {
    if has runtime && command -v clang++ >/dev/null; then
        cmake_dir=$clang_dir CXX=clang++ optimize=-O1 build_cmake runtime_tests idioms_tests
    fi
}

# How many parts have to be built for a suite.
parts_for() {
    if grep -qx -e "$1" <<<"$(list_early_suites)"; then
        say 0
    elif grep -qx -e "$1" <<<"$(list_engine_suites)"; then
        say 1
    elif [[ $1 != runtime ]]; then
        say 2
    else
        say 3
    fi
}

if [[ -n $part ]]; then
    find_postgres
    "build_$part"
    exit
fi

# It replaces what a run before it has left, and what it builds is what the tests use: one at a time.
mkdir -p "$root/build"
[[ -e $root/build/run.lock ]] || : >"$root/build/run.lock"
exec {lock}<"$root/build/run.lock"
flock -n "$lock" || die "another test/run.sh works in this checkout; a second one needs a checkout of its own: git worktree add"

began=$SECONDS
builder=
parts_built=0
builds_beside=no
if [[ $built == no ]]; then
    groups=()
    for suite in deb dashboard languages; do
        ! has "$suite" || groups+=("$suite")
    done
    if has package || has deb; then groups+=(pages); fi
    "$root/test/setup.sh" "${groups[@]}"
    find_postgres
    say "building for $("$PG_CONFIG" --version)"
    goals=(all)
    for suite in cluster model soak; do
        ! has "$suite" || goals=(all mutants)
    done
    build_module "${goals[@]}"
    if [[ $all == yes ]] && reachable; then
        builds_beside=yes
    else
        for part in "${parts[@]}"; do "build_$part"; done
    fi
fi
move_if_unreachable run.sh "${arguments[@]}"
built=yes prepare
say "built and staged in $((SECONDS - began)) s"

# Of earlier runs only the last one's logs are kept.
rm -rf "$result_dir" "$log_dir"
mkdir -p "$result_dir" "$log_dir"
make_run_dir
user=$(test_user)
[[ -z $user ]] || chown "$user" "$result_dir" "$log_dir"
set_test_user_prefix

declare -A suite_of=() began_at=()
# shellcheck disable=SC2317,SC2329  # Called by the trap.
stop_suites() {
    local pid
    trap '' INT TERM HUP
    [[ -z $builder ]] || kill -TERM -- "-$builder" 2>/dev/null || true
    for pid in "${!suite_of[@]}"; do
        # Each suite is a process group: its server cleans up and ends.
        kill -TERM -- "-$pid" 2>/dev/null || true
    done
    wait
}
trap stop_suites EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# Begins the next part of the build, if there is one: in a process group of its own, as the suites.
begin_part() {
    builder=
    ((parts_built < ${#parts[@]})) || return 0
    setsid "$root/test/run.sh" --build "${parts[parts_built]}" > >(cat) 2>&1 </dev/null {lock}<&- &
    builder=$!
}
if [[ $builds_beside == yes ]]; then
    begin_part
else
    parts_built=${#parts[@]}
fi

passed=0
failed=0
skipped=0
ended=0
failed_suites=()

# Minutes and seconds since this script began, building included.
elapsed() { printf '%d:%02d' $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)); }

# Tells how the suite of a process that has ended went.
reap() {
    local pid=$1 suite seconds p f
    suite=${suite_of[$pid]}
    seconds=$((SECONDS - began_at[$pid]))
    unset "suite_of[$pid]"
    if ! read -r p f 2>/dev/null <"$result_dir/$suite"; then
        p=0
        f=1
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    ended=$((ended + 1))
    if [[ -s $result_dir/$suite.skipped ]]; then
        skipped=$((skipped + 1))
        cat "$result_dir/$suite.skipped"
    fi
    printf '%-17s %4d passed, %d failed   %3d s   [%d of %d suites, %s]\n' "$suite" "$p" "$f" "$seconds" "$ended" "${#suites[@]}" \
        "$(elapsed)"
    if ((f > 0)); then
        failed_suites+=("$suite")
        say "--- $suite: $(realpath --relative-to="$PWD" "$log_dir/$suite.log")"
        if [[ -s $result_dir/$suite.details ]]; then
            head -n 300 "$result_dir/$suite.details"
            # After a crash or a failed set-up the reason is in the log, not in a test's part.
            [[ $suite == lint ]] || tail -n 15 "$log_dir/$suite.log"
        else
            tail -n 80 "$log_dir/$suite.log"
        fi
        say "---"
    fi
}

# Waits for a suite, or a part of the build, to end.
await_one() {
    local pid code=0
    wait -n -p pid "${!suite_of[@]}" ${builder:+"$builder"} || code=$?
    if [[ $pid != "$builder" ]]; then
        reap "$pid"
        return
    fi
    if ((code != 0)); then
        builder=
        die "the build failed"
    fi
    parts_built=$((parts_built + 1))
    begin_part
    [[ -n $builder ]] || say "all is built   [$(elapsed)]"
}

# Begins the first suite of those that wait for which enough is built; false if there is none.
begin_suite() {
    local i suite
    for i in "${!waiting[@]}"; do
        suite=${waiting[i]}
        (($(parts_for "$suite") <= parts_built)) || continue
        unset "waiting[$i]"
        printf '%-17s started   [%s]\n' "$suite" "$(elapsed)"
        setsid "${test_user_prefix[@]}" "$root/test/run.sh" --inside "$suite" ${only:+--only "$only"} \
            >"$log_dir/$suite.log" 2>&1 </dev/null {lock}<&- &
        suite_of[$!]=$suite
        began_at[$!]=$SECONDS
        return 0
    done
    return 1
}

waiting=("${suites[@]}")
while ((${#waiting[@]} > 0 || ${#suite_of[@]} > 0)) || [[ -n $builder ]]; do
    while ((${#suite_of[@]} < jobs)) && begin_suite; do :; done
    await_one
done

# Once more in short, where it is seen at the end of a long log.
say ""
for suite in "${failed_suites[@]}"; do
    say "failed in $suite: $(sed -nE 's/^test +([^ ]+) .*FAILED.*/\1/p; s/^not ok [0-9]+ +[-+] ([^ ]+).*/\1/p;
        s/^\[  FAILED  \] ([^ ]+) .*ms\)$/\1/p; s/^lint (.*) failed:$/\1/p; s/^not ok (- )?([^0-9].*)/\2/p' \
        "$log_dir/$suite.log" | sort -u | xargs)"
    [[ ! -s $result_dir/$suite.details ]] || head -n 40 "$result_dir/$suite.details" | cut -c 1-200
done
say "$((SECONDS - began)) s"
if ((skipped > 0)); then
    cat "$result_dir"/*.skipped
    say "$passed passed, $failed failed, $skipped skipped"
else
    say "$passed passed, $failed failed"
fi
((failed == 0 && passed + skipped > 0))
