#!/usr/bin/env bash
# Operators written as OPERATOR(schema.name), or {=} in store SQL, all have the same precedence and
# associate to the left: a - b / c is (a - b) / c. An expression with two of them needs parentheses.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r found; do
    complain "${found%%: *}" "${found#*: }"
done < <(perl -0777 -ne '
    # Words that end an expression.
    my %end = map { $_ => 1 } qw(and or not when then else select from where on set group order by having limit
        offset returning union except intersect as join using values is in between like for with cross lateral left
        right inner outer filter over partition default check return returns language);
    my ($text, $name) = ($_, $ARGV);
    my @parts;
    if ($name =~ /\.sql$/) {
        push @parts, [0, $text];
    } else {
        # Examples in comments are no statements.
        $text =~ s{^[ \t]*//[^\n]*}{" " x length($&)}gme;
        push @parts, [$-[1], $1] while $text =~ /R"sql\((.*?)\)sql"/gs;
    }
    for (@parts) {
        my ($start, $sql) = @$_;
        my $blank = sub { my $t = shift; $t =~ s/[^\n]/ /g; $t };
        $sql =~ s/--[^\n]*/$blank->($&)/ge;
        $sql =~ s{/\*.*?\*/}{$blank->($&)}gse;
        $sql =~ s/\x27(?:[^\x27]|\x27\x27)*\x27/$blank->($&)/ge;
        my @count = (0);
        while ($sql =~ /(OPERATOR\s*\([^)]*\)|\{[-+*\/<>=~!@#%^&|`?]+\})|([(\[])|([)\]])|([,;])|(\w+)/gi) {
            if (defined $1) {
                if (++$count[-1] == 2) {
                    my $line = 1 + (substr($text, 0, $start + $-[1]) =~ tr/\n//);
                    print "$name:$line: second operator without parentheses\n";
                }
            } elsif (defined $2) {
                push @count, 0;
            } elsif (defined $3) {
                pop @count if @count > 1;
            } elsif (defined $4) {
                $count[-1] = 0;
            } elsif (lc $5 eq "case") {
                push @count, 0;
            } elsif (lc $5 eq "end") {
                pop @count if @count > 1;
            } elsif ($end{lc $5}) {
                $count[-1] = 0;
            }
        }
    }' src/store/**/*.[ch]pp src/sql/hub/*/*.sql src/sql/hub/*/*/*.sql src/sql/extension/*.sql)
verdict
