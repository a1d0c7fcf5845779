#!/usr/bin/env bash
# Bugs that tests plant are in no library that users get: the names of mutants are not in belay.so, or
# in the library that is given.
set -euo pipefail
library=$(realpath -m -- "${1:-$(dirname "${BASH_SOURCE[0]}")/../../belay.so}")
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

names=$(grep -oE '"[a-z]+\.[a-z_]+"' src/shmem/mutants.cpp | tr -d '"' || true)
# As many as there are enumerators besides kCount.
wanted=$(sed -n '/^enum class Mutant/,/^};/p' src/shmem/mutants.hpp | grep -cE '^    k[A-Z]' || true)
if [[ -z $names ]] || (($(wc -l <<<"$names") != wanted - 1)); then
    complain "src/shmem/mutants.cpp:1" "names no mutants, or others than mutants.hpp has"
fi
if [[ ! -e $library ]]; then
    complain "$library:1" "is not built"
    verdict
fi
for name in $names; do
    ! grep -qF -- "$name" "$library" || complain "${library##*/}:1" "has the mutant $name"
done
verdict
