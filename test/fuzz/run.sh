#!/usr/bin/env bash
# Lets libFuzzer read src/core and the requests of the dashboard, with Address- and
# UndefinedBehaviorSanitizer: first the seeds, then what it makes of them, for 15 seconds each, or as
# many as BELAY_FUZZ_SECONDS says; 600 with BELAY_LONG=1. BELAY_SEED is its seed. An input that fails
# is kept in build/run/fuzz. The second one needs the tool to be built.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

find_postgres
work=$run_dir/fuzz
mkdir -p "$work/found" "$work/objects"
flags=(-std=c++20 -O1 -g "-fsanitize=fuzzer,address,undefined" -fno-sanitize-recover=all)
# compile INCLUDE... -- SOURCE...: sets objects.
compile() {
    local includes=() source object
    while [[ $1 != -- ]]; do
        includes+=("$1")
        shift
    done
    shift
    objects=()
    for source; do
        object=$work/objects/$(basename "$source" .cpp).o
        objects+=("$object")
        if [[ ! -e $object || -n $(find "$source" "$(dirname "$source")" "${includes[0]#-I}" -name '*.[ch]pp' -newer "$object" -print -quit) ]]; then
            clang++ "${flags[@]}" "${includes[@]}" -c "$source" -o "$object"
        fi
    done
}
compile "-I$root/src" -- "$root"/src/core/*.cpp "$root/test/fuzz/core_fuzz.cpp"
clang++ "${flags[@]}" "${objects[@]}" -o "$work/core_fuzz"
# What reads requests is instrumented; the rest of the tool is linked as it was built, in one object
# with what is here a second time: the first definition wins.
dashboard=$root/client/tool/dashboard
read_by_fuzzer=("$dashboard"/{router,actions,action_table,bulk,streams,statement,bodies}.cpp)
compile "-I$root/client/tool" "-I$root/client/include" "-I$root/client/src" "-I$("$PG_CONFIG" --includedir)" -- \
    "${read_by_fuzzer[@]}" "$root/test/fuzz/http_fuzz.cpp"
clang++ "${flags[@]}" -Wl,-z,muldefs "${objects[@]}" "$cmake_dir/client/tool/libbelay_tool.a" "$cmake_dir/client/libbelay_runtime.a" \
    "$cmake_dir/client/libbelay_client.a" "$cmake_dir/libbelay_core.a" -L"$("$PG_CONFIG" --libdir)" -lpq -lcrypto -o "$work/http_fuzz"

seconds=${BELAY_FUZZ_SECONDS:-$((${BELAY_LONG:-0} == 1 ? 600 : 15))}
seed=${BELAY_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
export ASAN_OPTIONS=detect_leaks=0
# attempt NAME PROGRAM ARGUMENT...
attempt() {
    local name=$1 program=$2
    shift 2
    if "$work/$program" -artifact_prefix="$work/failed-" -print_final_stats=1 "$@" >"$work/$name.log" 2>&1; then
        grep -E 'stat::number_of_executed_units' "$work/$name.log" || true
        say "ok - $name"
    else
        tail -n 60 "$work/$name.log"
        say "not ok - $name"
    fi
}
say "BELAY_SEED=$seed"
mutate=(-seed="$((seed % 2147483647 + 1))" -max_total_time="$seconds" -max_len=4096 -timeout=20)
mkdir -p "$work/found_http"
attempt seeds core_fuzz "$root"/test/fuzz/seeds/*
attempt mutations core_fuzz "${mutate[@]}" "$work/found" "$root/test/fuzz/seeds"
attempt seeds_http http_fuzz "$root"/test/fuzz/seeds_http/*
attempt mutations_http http_fuzz "${mutate[@]}" "$work/found_http" "$root/test/fuzz/seeds_http"
