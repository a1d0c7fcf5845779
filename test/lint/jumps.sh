#!/usr/bin/env bash
# ereport(ERROR) jumps out of functions without running destructors. So where PostgreSQL may raise,
# no variable and no temporary has one. Looks for them in clang's syntax tree.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Precompiled headers are not in the dump; none of ours is among them. The files are compiled for the
# lint of globals, too: to compile them is what takes the time.
#
# shellcheck disable=SC2317,SC2329  # Called by each_source.
check() {
    # shellcheck disable=SC2086,SC2154  # Many words; set by each_source.
    clang++ $flags $precompiled -Wglobal-constructors -Wexit-time-destructors -Werror -fsyntax-only -fno-color-diagnostics \
        -Xclang -ast-dump "$1" 2>&1 | perl -ne '
        print if /^\S+:\d+:\d+: (fatal )?error: /;
        # A place is printed in full only where its file differs from the place before. Macros of
        # PostgreSQL lead into its headers; we report the last place of our own.
        while (m{(?:<|, |> )(?:(line|[^<>\s:]+):)(\d+):\d+}g) {
            my ($name, $number) = ($1, $2);
            $file = $name if $name ne "line";
            ($ours, $line) = ($file, $number) if $file =~ m{^(\./)?src/};
        }
        # The namespaces of the standard library are at the top of the tree, like ours.
        $foreign = /\bNamespaceDecl\b/ && !/ belay$/ if /^[|`]-/;
        next if $foreign;
        # What is thrown is destroyed by what catches it; another lint says who may throw.
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
