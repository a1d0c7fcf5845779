#!/usr/bin/env bash
# Runs the server module with AddressSanitizer and UndefinedBehaviorSanitizer: under random and
# hostile arguments, failing store calls, attacks, and the regression tests.
#
#   test/sanitize.sh [ARGUMENT of test/run.sh]...
#
# The library has one name, so it is built in a copy of the checkout, build/sanitized, that is
# kept: the next run compiles only what has changed. A finding aborts the server process, which
# fails the test that met it; its text is in build/sanitized/build/run/log.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$root/test/setup.sh"
copy=$root/build/sanitized
mkdir -p "$copy"
# Files keep their dates; what was removed here goes there as well.
find "$copy" -mindepth 1 -maxdepth 1 ! -name build ! -name belay.so -exec rm -rf {} +
tar -C "$root" --exclude=./.git --exclude=./build --exclude='./*.so' -cf - . | tar -C "$copy" -xf -
export BELAY_SANITIZE_MODULE=address,undefined
unset BELAY_BINDIR
if (($# == 0)); then
    set -- --suite robust --suite regress-preload --suite regress --suite isolation
fi
code=0
"$copy/test/run.sh" "$@" || code=$?
# Also one that a test did not notice.
for report in "$copy"/build/run/log/{asan,ubsan}.*; do
    [[ -e $report ]] || continue
    say "--- ${report##*/}"
    head -n 60 "$report"
    code=1
done
exit "$code"
