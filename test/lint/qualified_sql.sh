#!/usr/bin/env bash
# Store SQL means the same under every search_path: each function, table and operator is qualified.
#
# The statements of src/store are raw strings R"sql(...)sql". In them {=} stands for
# OPERATOR(pg_catalog.=) and {hub} for the hub's schema. Forbidden are bare operators; casts with
# :: (CAST names its type qualified); IN, BETWEEN, NULLIF, IS DISTINCT FROM, LIKE and simple CASE,
# which look an operator up by name; calls and tables without a schema.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r found; do
    complain "${found%%: *}" "${found#*: }"
done < <(perl -0777 -ne '
    # Words that stand before a parenthesis without being functions.
    my %keyword = map { $_ => 1 } qw(values and or not exists any all some cast coalesce least greatest
        row limit offset over on using returning where as with materialized filter when then else case
        select from union except intersect distinct by array conflict set having join lateral
        within group partition is operator interval fetch first next into window rows range extract);
    # Examples in comments are no statements. Same length, so places stay right.
    s{^[ \t]*//[^\n]*}{" " x length($&)}gme;
    while (/R"sql\((.*?)\)sql"/gs) {
        my ($start, $sql) = ($-[1], $1);
        my $text = $_;
        my $say = sub {
            my ($at, $what) = @_;
            my $line = 1 + (substr($text, 0, $start + $at) =~ tr/\n//);
            print "$ARGV:$line: $what\n";
        };
        my $blank = sub { my $t = shift; $t =~ s/[^\n]/ /g; $t };
        # Comments, strings and quoted names say nothing about names.
        $sql =~ s/--[^\n]*/$blank->($&)/ge;
        $sql =~ s{/\*.*?\*/}{$blank->($&)}gse;
        $sql =~ s/\x27(?:[^\x27]|\x27\x27)*\x27/"\x27" . (" " x (length($&) - 2)) . "\x27"/ge;
        $sql =~ s/"[^"\n]*"/"\"" . ("q" x (length($&) - 2)) . "\""/ge;
        # Qualified operators are good. Same length, so places stay right.
        $sql =~ s/\{[-+*\/<>=~!@#%^&|`?]+\}/"," . (" " x (length($&) - 1))/ge;
        $sql =~ s/OPERATOR\s*\(\s*pg_catalog\.[-+*\/<>=~!@#%^&|`?]+\s*\)/"," . (" " x (length($&) - 1))/gie;
        $sql =~ s/\{(\w+)\}/"q$1q"/ge;

        while ($sql =~ /\b(IN\s*\(|NOT\s+IN\b|BETWEEN\b|NULLIF\b|I?LIKE\b|SIMILAR\b|IS\s+(?:NOT\s+)?DISTINCT\b|NATURAL\b|OVERLAPS\b)/gi) {
            (my $word = uc $1) =~ s/\s*\(//;
            $say->($-[1], "$word looks its operator up in the search_path");
        }
        while ($sql =~ /\bCASE\s+(?!WHEN\b)/gi) {
            $say->($-[0], "simple CASE looks its operator up in the search_path");
        }
        while ($sql =~ /\bUSING\s*\(/gi) {
            # JOIN ... USING compares with an operator it looks up.
            $say->($-[0], "JOIN USING looks its operator up in the search_path");
        }
        while ($sql =~ /::/g) {
            $say->($-[0], "write CAST(x AS pg_catalog.type), not ::");
        }
        # Assignments: SET a = ..., b = ... up to WHERE, FROM, RETURNING or the end.
        (my $bare = $sql) =~ s/::/  /g;
        $bare =~ s/=>/  /g;
        $bare =~ s{\bSET\b(.*?)(?=\bWHERE\b|\bFROM\b|\bRETURNING\b|\z)}{
            my $set = $&;
            1 while $set =~ s/((?:\bSET|,)\s*(?:\([\w\s,]*\)|\w+)\s*)=/$1 /gi;
            $set
        }gsie;
        # Stars of SELECT * and count(*), and t.*.
        $bare =~ s/\(\s*\*\s*\)/$blank->($&)/ge;
        $bare =~ s/(\bSELECT\s+|\bRETURNING\s+|\.|,\s*)\*/$1 /gi;
        # A signed number is no operator call.
        $bare =~ s/((?:^|[(,]|\b(?:THEN|ELSE|SELECT|WHEN|LIMIT)\b)\s*)-(?=\d)/$1 /gi;
        while ($bare =~ /([-+*\/<>=~!@#%^&|`?]+)/g) {
            $say->($-[1], "bare operator $1");
        }
        # Calls.
        while ($bare =~ /(?<![\w.\$])(\w+)(?:\s*\.\s*(\w+))?\s*\(/g) {
            my ($first, $second, $at) = ($1, $2, $-[1]);
            if (defined $second) {
                next if $first =~ /^(pg_catalog|belay|qhubq|quq)$/i;
                my $before = substr($bare, 0, $at);
                $say->($at, "call of $first.$second: not pg_catalog, belay or the hub");
                next;
            }
            next if $keyword{lc $first} || $first =~ /^\d+$/;
            my $before = substr($bare, 0, $at);
            # A name with columns: INSERT INTO t (a, b), WITH t (a) AS, AS t (a, b), type(n).
            next if $before =~ /\b(INTO|WITH|RECURSIVE|AS)\s+$/i;
            next if $before =~ /,\s*$/ && substr($bare, $at) =~ /^\w+\s*\([\w\s,]*\)\s*AS\s*(NOT\s+)?(MATERIALIZED\s*)?\(/i;
            $say->($at, "unqualified call of $first");
        }
        # Tables: names after FROM, JOIN, INTO, UPDATE that are not qualified and no WITH name or alias.
        my %local;
        $local{lc $1} = 1 while $bare =~ /(?:\bWITH\s+(?:RECURSIVE\s+)?|,\s*|\)\s*,?\s*)(\w+)\s*(?:\([\w\s,]*\)\s*)?AS\s*(?:NOT\s+MATERIALIZED\s*|MATERIALIZED\s*)?\(/gi;
        while ($bare =~ /\b(FROM|JOIN|INTO|(?<!KEY )(?<!FOR )(?<!DO )UPDATE)\s+(?:ONLY\s+|LATERAL\s+)?(?![(])(\w+)(?!\w)(\s*\.)?/gi) {
            my ($word, $name, $dot, $at) = ($1, $2, $3, $-[2]);
            next if defined $dot || $local{lc $name} || $keyword{lc $name} || lc $name eq "unnest" && 0;
            next if lc $word eq "update" && substr($bare, 0, $-[1]) =~ /\b(FOR|KEY|DO)\s+$/i;
            $say->($at, "unqualified table $name");
        }
        # Types.
        while ($bare =~ /\bCAST\s*\(.*?\bAS\s+(\w+)(\s*\.)?/gsi) {
            $say->($-[1], "unqualified type $1") unless defined $2;
        }
    }' src/store/**/*.[ch]pp /dev/null)
verdict
