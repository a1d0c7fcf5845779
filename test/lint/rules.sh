#!/usr/bin/env bash
# Every rule of docs/rules.md is named by a comment of a test, and every rule that a test names is
# there. Rules that have no test are listed in docs/decisions.md, "Rules without a test"; one with
# an addition in parentheses is tested but for that part. "AB-1 to AB-3" names all three.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rules=docs/rules.md
decisions=docs/decisions.md
tests=(sql/*.sql test/isolation/specs/*.spec test/{model,stress,cluster,citus,unit,client,tool,runtime,runtime/must_not_compile}/*.[ch]pp)

# find_rules FILE...: a line "what file line id" for each id: "rule" and "exception" or "part" are
# first cells of tables, "test" is a comment.
find_rules() {
    # shellcheck disable=SC2016  # Perl expands.
    perl -ne '
        BEGIN { $id = qr/(?<![\w-])(?:[A-Z]{2}-|[CEI])[0-9]+(?![\w-])/ }
        $inside = 0 if $. == 1;
        $inside = 1 if $ARGV ne "docs/decisions.md" || /^## Rules without a test$/;
        $inside = 0 if $ARGV eq "docs/decisions.md" && /^## (?!Rules without a test$)/;
        my ($what, $text) = ("test", undef);
        if ($ARGV =~ /\.md$/) {
            ($text) = /^\|([^|]*)\|/ if $inside;
            $what = $ARGV eq "docs/rules.md" ? "rule" : ($text // "") =~ /\(/ ? "part" : "exception";
        } elsif ($ARGV =~ /\.sql$/) {
            ($text) = /--(.*)/;
        } elsif ($ARGV =~ /\.spec$/) {
            ($text) = /^\s*#(.*)/;
        } else {
            ($text) = m{//(.*)};
        }
        if (defined $text) {
            while ($text =~ /($id) to ($id)/g) {
                my ($from, $to) = ($1, $2);
                my ($prefix, $first) = $from =~ /^(\D+)(\d+)$/;
                my ($other, $last) = $to =~ /^(\D+)(\d+)$/;
                next if $prefix ne $other;
                print "$what $ARGV $. $prefix$_\n" for $first + 1 .. $last - 1;
            }
            print "$what $ARGV $. $1\n" while $text =~ /($id)/g;
        }
        close ARGV if eof' "$@"
}

declare -A place=() named=() excepted=()
while read -r what file line id; do
    case $what in
        rule)
            [[ -z ${place[$id]:-} ]] || complain "$file:$line" "$id is listed twice"
            place[$id]=$file:$line
            ;;
        exception | part)
            [[ -n ${place[$id]:-} ]] || complain "$file:$line" "$id is not in $rules"
            [[ $what == part || -z ${named[$id]:-} ]] || complain "$file:$line" "$id is named by ${named[$id]}"
            [[ $what == exception || -n ${named[$id]:-} ]] || complain "$file:$line" "no test names $id, not even in part"
            excepted[$id]=yes
            ;;
        test)
            named[$id]=$file:$line
            [[ -n ${place[$id]:-} ]] || complain "$file:$line" "$id is not in $rules"
            ;;
    esac
done < <(find_rules "$rules" "${tests[@]}" "$decisions")

((${#place[@]} > 0)) || complain "$rules:1" "has no rules that this lint can read"
for id in "${!place[@]}"; do
    [[ -n ${named[$id]:-} || -n ${excepted[$id]:-} ]] || complain "${place[$id]}" "no test names $id"
done
verdict
