# Shared by the lints. Sourced, never run.
# shellcheck shell=bash
#
# Each lint looks at the checkout that it lies in, prints file:line: what for each violation, and
# ends with complain's count as its verdict.

lint_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$lint_root" || exit 1
shopt -s globstar nullglob
# A compiler called through ccache does not print its syntax tree: the lint of jumps would pass.
export CCACHE_DISABLE=1

complaints=0
# complain WHERE WHAT
complain() {
    printf '%s: %s\n' "$1" "$2"
    complaints=$((complaints + 1))
}
verdict() {
    ((complaints == 0))
    exit
}

lint_tmp=$(mktemp -d "${TMPDIR:-/tmp}/belay-lint-XXXXXX")
trap 'rm -rf "$lint_tmp"' EXIT

# code_matches REGEX FILE...: file:line:text of lines whose code matches; comments, the contents
# of strings, and includes do not count. What is left of a file is kept for the next call.
code_matches() {
    (($# > 1)) || return 0
    perl -e '
        my $kept_in = shift @ARGV;
        my $regex = shift @ARGV;
        sub code {
            my $file = shift;
            my $kept = $kept_in . "/code-" . $file =~ s{/}{-}gr;
            open my $in, "<", -e $kept ? $kept : $file or die "$file: $!\n";
            my $text = do { local $/; <$in> };
            return $text if -e $kept;
            $text =~ s{ //[^\n]* | /\*.*?\*/ | R"(\w*)\(.*?\)\1" | "(?:[^"\\\n]|\\.)*"
                        | (?<!\w)\x27(?:[^\x27\\\n]|\\.)+\x27 }
                      { my $t = $&; $t =~ s/[^\n]/ /g; $t }gsex;
            $text =~ s/^[ \t]*#[ \t]*include\b[^\n]*//gm;
            open my $out, ">", $kept or die "$kept: $!\n";
            print $out $text;
            return $text;
        }
        for my $file (@ARGV) {
            my $line = 0;
            for (split /\n/, code($file)) {
                $line++;
                next unless /$regex/;
                s/\s+/ /g;
                print "$file:$line:$_\n";
            }
        }' "$lint_tmp" "$@"
}

# complain_each WHAT: complains about each line of file:line:text on standard input.
complain_each() {
    local file line text
    while IFS=: read -r file line text; do
        complain "$file:$line" "$1:$text"
    done
}

# each_source NAME CHECK FILE...: calls CHECK FILE for each, several at once, and complains about
# every line file:line: text that it prints. CHECK finds clang's flags in $flags, and in $precompiled
# those that bring PostgreSQL's headers and the standard library's without reading them again. A file
# that passed is not looked at again until it, a header or the check changes. LINT_ONLY, part of a
# name, restricts it to some files. If there are any, the function prepare is called first, if the
# lint has one. LINT_CACHE names a folder for what several runs share, while no header changes.
each_source() {
    local name=$1 check=$2 file cache=${LINT_CACHE:-build/run/lint}/$1 newest text precompiled_in=${LINT_CACHE:-$lint_tmp}
    shift 2
    flags=$(make -s --no-print-directory compile-flags CXX=clang++)
    precompiled="-include-pch $precompiled_in/precompiled.pch"
    export flags precompiled cache
    mkdir -p "$cache"
    newest=$(find src test/lint "$(dirname "$0")" \( -name '*.hpp' -o -name lib.sh -o -name "$name.sh" \) \
        -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
    for file in "$@"; do
        [[ $file == *${LINT_ONLY:-}* ]] || continue
        if [[ ! $cache/${file//\//-} -nt $file || ! $cache/${file//\//-} -nt $newest ]]; then
            printf '%s\n' "$file"
        fi
    done >"$cache/todo"
    if grep -q '^src/' "$cache/todo" && [[ ! -e $precompiled_in/precompiled.pch ]]; then
        make -s --no-print-directory precompiled-header >"$precompiled_in/precompiled.hpp"
        # shellcheck disable=SC2086  # Many words.
        clang++ $flags -x c++-header "$precompiled_in/precompiled.hpp" -o "$precompiled_in/precompiled.pch"
    fi
    if [[ -s $cache/todo && $(type -t prepare) == function ]]; then
        prepare
    fi
    export -f "${check?}"
    # shellcheck disable=SC2016  # The inner shell expands.
    xargs -r -P "$(nproc)" -I{} bash -c '
        stamp=$cache/$(tr / - <<<"$2")
        "$1" "$2" >"$stamp.out" 2>&1
        if [[ -s $stamp.out ]]; then rm -f "$stamp"; else touch "$stamp"; fi' - "$check" {} <"$cache/todo"
    while IFS= read -r file; do
        while IFS= read -r text; do
            complain "${text%%: *}" "${text#*: }"
        done <"$cache/${file//\//-}.out"
    done <"$cache/todo"
}
