#!/usr/bin/env bash
# The Dockerfile copies what exists and reaches it; the workflow file is YAML, tests every PostgreSQL
# that we support, and calls goals that the Makefile has.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Docker sees only what .dockerignore lets through.
grep -qxF '*' .dockerignore || complain .dockerignore:1 "does not begin with leaving everything out"
while IFS=: read -r line text; do
    read -ra words <<<"${text#COPY }"
    for source in "${words[@]:0:${#words[@]}-1}"; do
        [[ -e $source ]] || complain "Dockerfile:$line" "copies $source, which does not exist"
        grep -qxF "!$source" .dockerignore || complain "Dockerfile:$line" "copies $source, which .dockerignore leaves out"
    done
done < <(grep -n '^COPY ' Dockerfile | grep -v -e '--from=')
while IFS=: read -r line text; do
    [[ $text =~ ^FROM\ postgres:\$\{PG_MAJOR\}-bookworm(\ AS\ [a-z]+)?$ ]] ||
        complain "Dockerfile:$line" "is not built on the official image"
done < <(grep -n '^FROM ' Dockerfile)

# The source archive has no workflows, and no .gitattributes that says so.
if [[ -e .gitattributes ]]; then
    workflow=.github/workflows/ci.yml
    goals=" $(sed -n '/^LOCAL_GOALS = /,/[^\\]$/p' Makefile | sed 's/^LOCAL_GOALS =//; s/\\$//' | xargs) all clean "
    perl -MCPAN::Meta::YAML -e '
        my $file = eval { CPAN::Meta::YAML->read($ARGV[0]) };
        if (!$file) { print "no YAML: $@"; exit }
        my $jobs = $file->[0]{jobs};
        print "tests other versions than 15 to 18\n"
            unless "@{$jobs->{check}{strategy}{matrix}{postgres}}" eq "15 16 17 18";
        print "has more than one document\n" if @$file > 1;
        ' "$workflow" >"$lint_tmp/faults" || complain "$workflow:1" "cannot be judged: perl failed"
    while IFS= read -r text; do
        complain "$workflow:1" "$text"
    done <"$lint_tmp/faults"
    while IFS=: read -r line goal; do
        [[ $goals == *" $goal "* ]] || complain "$workflow:$line" "make has no goal $goal"
    done < <(grep -nE '(^ *(- )?(run: )?)make ' "$workflow" | sed -E 's/^([0-9]+):.*make ((-[^ ]+|[A-Z]+=[^ ]+) ?)*/\1:/; s/^([0-9]+):$/\1:all/')
fi
verdict
