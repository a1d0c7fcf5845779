#!/usr/bin/env bash
# ereport(ERROR) jumps out of functions without running destructors. So where PostgreSQL may raise,
# no variable and no temporary has one. Looks for them in clang's syntax tree.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck disable=SC2317,SC2329  # Called by each_source.
check() {
    # shellcheck disable=SC2086,SC2154  # Many words; set by each_source.
    clang++ $flags -fsyntax-only -fno-color-diagnostics -Xclang -ast-dump \
        -Xclang -ast-dump-filter=belay "$1" 2>&1 | perl -ne '
        # A place is printed in full only where its file differs from the place before. Macros of
        # PostgreSQL lead into its headers; we report the last place of our own.
        while (m{(?:<|, |> )(?:(line|[^<>\s:]+):)(\d+):\d+}g) {
            my ($name, $number) = ($1, $2);
            $file = $name if $name ne "line";
            ($ours, $line) = ($file, $number) if $file =~ m{^(\./)?src/};
        }
        print if /^\S+:\d+:\d+: (fatal )?error: /;
        # What is thrown is destroyed by whoever catches it; another lint says who may throw.
        my $depth = /^[ |`-]*/ ? $+[0] : 0;
        undef $throw if defined $throw && $depth <= $throw;
        $throw //= $depth if /\bCXXThrowExpr\b/;
        next if defined $throw;
        my $what;
        $what = "variable $1 has a destructor" if /\bVarDecl\b.*?\b(\w+) \x27.*\bdestroyed\b/;
        $what = "a temporary has a destructor: $1" if /\bCXXBindTemporaryExpr\b.*?\x27([^\x27]+)\x27/;
        print "$ours:$line: $what\n" if $what && !$seen{"$ours:$line:$what"}++;'
}
each_source jumps check src/belay.cpp src/{pg,store,ops,entry,worker}/**/*.cpp
verdict
