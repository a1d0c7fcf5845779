#!/usr/bin/env bash
# Runs the server module with UndefinedBehaviorSanitizer: under random and hostile arguments, failing
# store calls, attacks, and the regression tests; and under valgrind, with random arguments.
#
#   test/sanitize.sh [ARGUMENT of test/run.sh]...
#
# The library has one name, so it is built in a copy of the checkout, build/sanitized, that is
# kept: the next run compiles only what has changed. A finding of the sanitizer aborts the server
# process, which fails the test that met it. Of what valgrind finds, only reports with a frame of
# ours count: the server has some of its own. Reports are in build/sanitized/build/run/log and, of
# valgrind, in build/sanitized/build/run/valgrind. Under valgrind all is slow: BELAY_FUZZ_ROUNDS says
# how often each function is called there (default 10, at most for two minutes).
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$root/test/setup.sh"
copy=$root/build/sanitized
mkdir -p "$copy"
# Files keep their dates; what was removed here goes there as well.
find "$copy" -mindepth 1 -maxdepth 1 ! -name build ! -name belay.so -exec rm -rf {} +
tar -C "$root" --exclude=./.git --exclude=./build --exclude='./*.so' -cf - . | tar -C "$copy" -xf -
export BELAY_SANITIZE_MODULE=undefined SANITIZE=undefined
unset BELAY_BINDIR
"$copy/test/stage.sh"

# The server of the copy starts under valgrind if BELAY_VALGRIND names a directory for reports.
find_postgres
server=$copy/build/stage/$major$("$PG_CONFIG" --bindir)/postgres
if [[ ! -e $server.real ]]; then
    mv "$server" "$server.real"
fi
cat >"$server" <<'wrapper'
#!/usr/bin/env bash
# initdb and pg_ctl ask for the version, and make the first database.
real=$(readlink -f "$0").real
if [[ -z ${BELAY_VALGRIND:-} || ${1:-} =~ ^(-V|--version|--boot|--check|--single)$ ]]; then
    exec "$real" "$@"
fi
exec valgrind --quiet --leak-check=no --error-limit=no --num-callers=30 --log-file="$BELAY_VALGRIND/valgrind.%p" "$real" "$@"
wrapper
chmod 755 "$server"

code=0
# run_copy ARGUMENT...: the tests of the copy, and what no test has noticed.
run_copy() {
    local report
    "$copy/test/run.sh" "$@" || code=1
    for report in "$copy"/build/run/log/ubsan.*; do
        [[ -e $report ]] || continue
        say "--- ${report##*/}"
        head -n 60 "$report"
        code=1
    done
}

if (($# > 0)); then
    run_copy "$@"
    exit "$code"
fi
run_copy --suite robust --suite regress-preload --suite regress --suite isolation

BELAY_VALGRIND=$copy/build/run/valgrind
rm -rf "$BELAY_VALGRIND"
mkdir -m 777 "$BELAY_VALGRIND"
export BELAY_VALGRIND
# Without large arguments: what they cost is not for valgrind to tell.
BELAY_FUZZ_ROUNDS=${BELAY_FUZZ_ROUNDS:-10} run_copy --built --suite robust \
    --only 'Fuzz.NothingButExpectedErrors:Fuzz.TypeAndLanguage'
# Reports are separated by lines that are empty but for the process.
found=$(cat "$BELAY_VALGRIND"/valgrind.* | awk '/^==[0-9]+== $/ {if (ours) printf "%s\n", text; text = ""; ours = 0; next}
    {text = text $0 "\n"; ours = ours || /belay\.so|belay::/} END {if (ours) printf "%s\n", text}')
if [[ -n $found ]]; then
    say "--- valgrind"
    head -n 200 <<<"$found"
    code=1
else
    say "valgrind: nothing of ours in the reports of $(find "$BELAY_VALGRIND" -type f | wc -l) processes"
fi
exit "$code"
