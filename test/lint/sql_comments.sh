#!/usr/bin/env bash
# Every SQL function has a COMMENT and a grant or revocation; functions that users call say their
# volatility and PARALLEL UNSAFE and are not STRICT: they see nulls and answer them by their rules.
#
# A grant is a GRANT or REVOKE that names the function, or one ON ALL FUNCTIONS or ROUTINES in the
# same tree (src/sql/extension or src/sql/hub). The functions of a hub are granted by level: there
# the level in the verb table counts instead.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# check_tree VERB_TABLE FILE...
check_tree() {
    perl -0777 -e '
        my (%text, $all);
        my $verbs = shift @ARGV;
        for my $file (@ARGV) {
            local $/; open my $in, "<", $file or die "$file: $!"; my $sql = <$in>;
            $sql =~ s/--[^\n]*/" " x length $&/ge;
            $text{$file} = $sql; $all .= $sql;
        }
        my $grants_all = $all =~ /\b(GRANT|REVOKE)\b[^;]*\bON\s+ALL\s+(FUNCTIONS|ROUTINES)\b/is;
        my $prefix = qr/(?:[\w{}@]+\.)?/;
        for my $file (sort keys %text) {
            my $sql = $text{$file};
            while ($sql =~ /\bCREATE\s+(?:OR\s+REPLACE\s+)?(FUNCTION|PROCEDURE)\s+$prefix"?(\w+)"?\s*(\(.*?);/gsi) {
                my ($kind, $name, $body, $line) = (uc $1, $2, $3, 1 + (substr($sql, 0, $-[0]) =~ tr/\n//));
                my $say = sub { print "$file:$line: ", lc $kind, " $name @_\n" };
                $say->("has no COMMENT")
                    unless $all =~ /\bCOMMENT\s+ON\s+(FUNCTION|PROCEDURE|ROUTINE)\s+$prefix"?\Q$name\E"?\b/i;
                # What PostgreSQL itself calls: handler, validator, input and output of types.
                my $internal = $body =~ /\b(cstring|internal|language_handler|trigger|event_trigger|hub_mark)\b/i
                    || $body =~ /^\(\s*oid\s*\)\s*RETURNS\s+void/i;
                next if $internal;
                $say->("has no grant")
                    unless $grants_all || $verbs =~ /\{"\Q$name\E",[^}]*\bk(For\w+|NoLevel)\b/ || $all =~ /\b(GRANT|REVOKE)\b[^;]*\b\Q$name\E\b/is;
                next if $kind eq "PROCEDURE";
                # Functions of our own type, in indexes and comparisons, are ordinary.
                $say->("does not say VOLATILE, STABLE or IMMUTABLE")
                    unless $body =~ /\b(VOLATILE|STABLE|IMMUTABLE)\b/i;
                $say->("does not say PARALLEL UNSAFE")
                    unless $body =~ /\bPARALLEL\s+UNSAFE\b/i || $body =~ /\bIMMUTABLE\b/i;
                $say->("is STRICT")
                    if $body =~ /\bSTRICT\b|\bRETURNS\s+NULL\s+ON\s+NULL\s+INPUT\b/i && $body !~ /\bIMMUTABLE\b/i;
                $say->("is SECURITY DEFINER") if $body =~ /\bSECURITY\s+DEFINER\b/i;
            }
        }' "$@"
}
verbs=$(cat src/entry/verbs.cpp 2>/dev/null || true)
while IFS= read -r found; do
    complain "${found%%: *}" "${found#*: }"
done < <(
    hub=(src/sql/hub/**/*.sql)
    extension=(src/sql/extension/**/*.sql)
    ((${#hub[@]} == 0)) || check_tree "$verbs" "${hub[@]}"
    ((${#extension[@]} == 0)) || check_tree "" "${extension[@]}"
)
verdict
