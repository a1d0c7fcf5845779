#!/usr/bin/env bash
# What must not compile, with $CXX, g++ and clang++: LT-1 to LT-6, AP-2, AP-3. What belay-lint must find where
# the compiler cannot be asked: LT-6. Prints as GoogleTest does.
set -uo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
root=$(cd "$here/../../.." && pwd)
cases=$here/cases.cpp
failed=0

# verdict NAME CODE: one line.
verdict() {
    if (($2 == 0)); then
        echo "[       OK ] MustNotCompile.$1 (0 ms)"
    else
        echo "[  FAILED  ] MustNotCompile.$1 (0 ms)"
        failed=1
    fi
}

# family COMPILER: clang, or gcc with its version, as the guards of the library see it.
family() {
    local macros
    macros=$("$1" -dM -E -x c++ /dev/null)
    if grep -q '#define __clang__ ' <<<"$macros"; then
        echo clang
    else
        echo "gcc $(sed -n 's/^#define __GNUC__ //p' <<<"$macros")"
    fi
}

for compiler in $(printf '%s\n' "${CXX:-g++}" g++ clang++ | awk '!seen[$0]++'); do
    if ! command -v "$compiler" >/dev/null; then
        echo "$compiler is not here"
        continue
    fi
    read -r kind major <<<"$(family "$compiler")"
    name=$(basename "$compiler")
    name=${name//+/x}
    # A header that is compiled once for all cases.
    dir=$(mktemp -d)
    flags=(-std=c++20 -Wall -Wextra -Werror -I"$root/client/include")
    echo '#include <belay/durable.hpp>' >"$dir/all.hpp"
    "$compiler" "${flags[@]}" -x c++-header "$dir/all.hpp" \
        -o "$dir/all.hpp.$([[ $kind == gcc ]] && echo gch || echo pch)" || failed=1
    use=(-include "$dir/all.hpp")
    [[ $kind == gcc ]] || use=(-include-pch "$dir/all.hpp.pch")
    for ((n = 0; n <= $(grep -oE 'CASE == [0-9]+' "$cases" | grep -oE '[0-9]+' | sort -n | tail -1); n++)); do
        line=$(grep -E "CASE == $n( |\$)" "$cases")
        expected=${line##*expect: }
        output=$("$compiler" "${flags[@]}" "${use[@]}" -DCASE="$n" -fsyntax-only "$cases" 2>&1)
        code=$?
        # The guard of LT-6 is for g++ before 13; others may have these.
        if ((n == 0)) || [[ $line == *" gcc expect"* && ($kind != gcc || $major -ge 13) ]]; then
            verdict "${name}_$n" "$code"
        else
            [[ $code != 0 && $output == *"$expected"* ]]
            good=$?
            ((good == 0)) || echo "case $n, expected: $expected; got: ${output:0:2000}"
            verdict "${name}_$n" "$good"
        fi
    done
    # PK-1: coroutines need neither libpq nor threads.
    "$compiler" "${flags[@]}" -M "$dir/all.hpp" | grep -E '/(libpq-fe\.h|thread|mutex|condition_variable)( |$)'
    verdict "${name}_headers" "$((PIPESTATUS[1] == 1 ? 0 : 1))"
    rm -rf "$dir"
done

lint=$root/client/tool/belay-lint
# Each line that expects a report has it, and there is no other.
lint_finds() {
    local report line expected
    report=$("$lint" "$here/lint_cases.txt")
    while IFS=: read -r line expected; do
        grep -qE "^[^:]*:$line: .*${expected//\?/\\?}" <<<"$report" || {
            echo "line $line is not reported: $expected"
            return 1
        }
    done < <(grep -n '// lint: ' "$here/lint_cases.txt" | sed -E 's|:.*// lint: |:|')
    (($(grep -c . <<<"$report") == $(grep -c '// lint: ' "$here/lint_cases.txt")))
}
lint_finds
verdict lint_finds $?
"$lint" "$root/client/examples" "$root/client/runtime" "$root/test/runtime/examples.hpp"
verdict lint_examples $?
"$lint" "$here/lint_cases.txt" >/dev/null
verdict lint_exit_code "$(($? == 1 ? 0 : 1))"
"$lint" /nonexistent 2>/dev/null
verdict lint_arguments "$(($? == 2 ? 0 : 1))"
exit "$failed"
