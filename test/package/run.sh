#!/usr/bin/env bash
# Builds a small program against the client library as it is installed, found by CMake and by
# pkg-config, and runs both. Finds the server through the environment, as test/server.sh sets it; the
# library is in BELAY_PREFIX, by default build/prefix.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

mkdir -p "$run_dir"
work=$(mktemp -d "$run_dir/package-XXXXXX")
prefix=${BELAY_PREFIX:-$root/build/prefix}
failed=0

psql -X -q -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION belay' -c "SELECT belay.create_hub('app')" >/dev/null

# check NAME COMMAND...: the command builds the program as $work/NAME/consumer.
check() {
    local name=$1
    shift
    if "$@" >"$work/$name.log" 2>&1 && [[ $(timeout 60 "$work/$name/consumer") == "Hello, Ada" ]]; then
        say "ok $name"
    else
        cat "$work/$name.log"
        say "not ok $name"
        failed=1
    fi
}

# shellcheck disable=SC2317,SC2329  # Called by check.
with_cmake() {
    cmake -S "$root/test/package" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$work/cmake"
}
# shellcheck disable=SC2317,SC2329
with_pkg_config() {
    local pc flags
    mkdir -p "$work/pkg-config"
    pc=$(dirname "$(find "$prefix" -name belay.pc)")
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs belay) || return
    # shellcheck disable=SC2086  # Many words.
    c++ -std=c++20 -o "$work/pkg-config/consumer" "$root/test/package/main.cpp" $flags
}

check cmake with_cmake
check pkg-config with_pkg_config
rm -rf "$work"
exit "$failed"
