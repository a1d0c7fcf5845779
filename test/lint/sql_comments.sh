#!/usr/bin/env bash
# Every SQL function has a COMMENT and a grant or revocation; functions that users call say their
# volatility and PARALLEL UNSAFE and are not STRICT: they see nulls and answer them by their rules.
#
# A grant is a GRANT or REVOKE that names the function, or one ON ALL FUNCTIONS or ROUTINES in the
# same tree (src/sql/extension or src/sql/hub). In files of steps that later ones replace, only the
# last definition counts, so trees are read as a whole.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# check_tree FILE...
check_tree() {
    perl -0777 -e '
        my (%text, $all);
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
                my $internal = $body =~ /\b(cstring|internal|language_handler|trigger|event_trigger)\b/i
                    || $body =~ /^\(\s*oid\s*\)\s*RETURNS\s+void/i;
                next if $internal;
                $say->("has no GRANT or REVOKE")
                    unless $grants_all || $all =~ /\b(GRANT|REVOKE)\b[^;]*\b\Q$name\E\b/is;
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
while IFS= read -r found; do
    complain "${found%%: *}" "${found#*: }"
done < <(
    hub=(src/sql/hub/**/*.sql)
    extension=(src/sql/extension/**/*.sql)
    ((${#hub[@]} == 0)) || check_tree "${hub[@]}"
    ((${#extension[@]} == 0)) || check_tree "${extension[@]}"
)
verdict
