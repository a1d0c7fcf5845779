#!/usr/bin/env bash
# Installation from the sources: what `make install` writes, `make uninstall` removes; `make dist`
# has all that it takes; a checkout has one run of the tests at a time.
#
# One line "ok NAME" or "not ok NAME" per check; the exit code tells of failures, too.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

find_postgres
mkdir -p "$run_dir"
work=$(mktemp -d "$run_dir/sources-XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
# Also if a make has called us.
unset MAKEFLAGS MFLAGS MAKELEVEL

# check NAME COMMAND...: in the command, a failure does not end it by itself.
check() {
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        say "ok $name"
    else
        cat "$work/out"
        say "not ok $name"
        failed=1
    fi
}

# shellcheck disable=SC2317,SC2329  # Called by the functions below, and these by check.
to_dest() { make -C "$root" --no-print-directory -s "$1" DESTDIR="$work/dest" PG_CONFIG="$PG_CONFIG"; }

# shellcheck disable=SC2317,SC2329
installs() {
    local share
    share=$work/dest$("$PG_CONFIG" --sharedir)/extension
    # Another extension, which is none of our business.
    mkdir -p "$share" && touch "$share/belayer.control" "$share/belayer--1.0.sql" &&
        to_dest install &&
        [[ -e $work/dest$("$PG_CONFIG" --pkglibdir)/belay.so && -e $share/belay.control ]] &&
        diff -r "$root/src/sql/hub" "$share/belay/hub" &&
        diff <(cd "$root/src/sql/extension" && ls) <(cd "$share" && ls belay--*)
}
# shellcheck disable=SC2317,SC2329
uninstalls() {
    to_dest uninstall &&
        diff <(printf '%s\n' belayer--1.0.sql belayer.control) <(find "$work/dest" -name 'belay*' -printf '%f\n' | sort)
}
# shellcheck disable=SC2317,SC2329
makes_dist() {
    local listed
    # The checkout may belong to another user.
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
        "$root/test/package/dist.sh" HEAD dist "$work/dist.tar" || return
    listed=$(tar -tf "$work/dist.tar") || return
    grep -qx dist/META.json <<<"$listed" && grep -qx dist/Makefile <<<"$listed" && ! grep -E '^dist/\.(git|ci)' <<<"$listed" &&
        grep -qx dist/build/dashboard/assets/app.js <<<"$listed" || return
    # The tool is built from it without node, with its pages: nothing of them is out of date.
    mkdir "$work/unpacked" "$work/no-node" && tar -C "$work/unpacked" -xf "$work/dist.tar" || return
    printf '#!/bin/sh\nexit 127\n' >"$work/no-node/node" && chmod +x "$work/no-node/node" || return
    PATH=$work/no-node:$PATH BELAY_WEB_REQUIRED=1 "$work/unpacked/dist/client/tool/dashboard/web.sh" || return
    # Without them a package is not built.
    rm "$work/unpacked/dist/build/dashboard/hash"
    ! PATH=$work/no-node:$PATH BELAY_WEB_REQUIRED=1 "$work/unpacked/dist/client/tool/dashboard/web.sh" 2>/dev/null
}

# Module and tool are built from the archive, on a machine without node.
# shellcheck disable=SC2317,SC2329
builds_from_dist() {
    local source=$work/from_dist/dist
    mkdir "$work/from_dist" && tar -C "$work/from_dist" -xf "$work/dist.tar" || return
    export PATH=$work/no-node:$PATH BELAY_WEB_REQUIRED=1
    ! node --version || return
    make -C "$source" --no-print-directory -s -j "$(nproc)" PG_CONFIG="$PG_CONFIG" && [[ -s $source/belay.so ]] &&
        cmake -S "$source" -B "$work/from_dist/cmake" -DPG_CONFIG="$PG_CONFIG" -DBELAY_TESTS=OFF &&
        cmake --build "$work/from_dist/cmake" -j "$(nproc)" --target belay || return
    [[ $(find "$work/from_dist/cmake" -name belay -type f -perm -u+x -exec {} --version \;) == "belay $(sed -n "s/^default_version = '\(.*\)'/\1/p" \
        "$source/src/sql/belay.control")" ]]
}

# A second run of the tests in a checkout is refused. A first one has the lock, or this check has it.
# shellcheck disable=SC2317,SC2329
runs_one_at_a_time() {
    local lock
    exec {lock}<"$root/build/run.lock" || return
    flock -n "$lock" || true
    ! "$root/test/run.sh" --built --suite unit --only None.None || return
    grep -q 'another test/run.sh works in this checkout' "$work/out"
}

check install installs
check uninstall uninstalls
check one-run runs_one_at_a_time
# A copy of the sources has no history to make an archive of.
if [[ -e $root/.git ]]; then
    check dist makes_dist
    # Some minutes of compiling.
    if ((${BELAY_LONG:-0} == 1)); then
        check dist-builds builds_from_dist
    fi
fi
exit "$failed"
