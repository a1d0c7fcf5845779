#!/usr/bin/env bash
# Lets libFuzzer read src/core, with Address- and UndefinedBehaviorSanitizer: first the seeds, then
# what it makes of them, for 15 seconds, or as many as BELAY_FUZZ_SECONDS says; 600 with
# BELAY_LONG=1. BELAY_SEED is its seed. An input that fails is kept in build/run/fuzz.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

work=$run_dir/fuzz
mkdir -p "$work/found" "$work/objects"
flags=(-std=c++20 -O1 -g "-fsanitize=fuzzer,address,undefined" -fno-sanitize-recover=all "-I$root/src")
objects=()
for source in "$root"/src/core/*.cpp "$root"/test/fuzz/core_fuzz.cpp; do
    object=$work/objects/$(basename "$source" .cpp).o
    objects+=("$object")
    if [[ ! -e $object || -n $(find "$source" "$root/src/core" -name '*.[ch]pp' -newer "$object" -print -quit) ]]; then
        clang++ "${flags[@]}" -c "$source" -o "$object"
    fi
done
clang++ "${flags[@]}" "${objects[@]}" -o "$work/core_fuzz"

seconds=${BELAY_FUZZ_SECONDS:-$((${BELAY_LONG:-0} == 1 ? 600 : 15))}
seed=${BELAY_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
export ASAN_OPTIONS=detect_leaks=0
# attempt NAME ARGUMENT...
attempt() {
    local name=$1
    shift
    if "$work/core_fuzz" -artifact_prefix="$work/failed-" -print_final_stats=1 "$@" >"$work/$name.log" 2>&1; then
        grep -E 'stat::number_of_executed_units' "$work/$name.log" || true
        say "ok - $name"
    else
        tail -n 60 "$work/$name.log"
        say "not ok - $name"
    fi
}
say "BELAY_SEED=$seed"
attempt seeds "$root"/test/fuzz/seeds/*
attempt mutations -seed="$((seed % 2147483647 + 1))" -max_total_time="$seconds" -max_len=4096 -timeout=20 \
    "$work/found" "$root/test/fuzz/seeds"
