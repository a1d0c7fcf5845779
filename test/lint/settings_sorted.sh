#!/usr/bin/env bash
# Settings are defined in src/pg/settings.cpp, sorted by name and documented in docs/. A setting
# that users may change must not change a rule: those are listed here.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export LC_ALL=C

settings=src/pg/settings.cpp
# belay.now is the clock that p_now_ms is, for one transaction, and has the same limit.
user_settings=" belay.async_leases belay.now belay.reason "

[[ -e $settings ]] || {
    complain "$settings:1" "does not exist"
    verdict
}

previous=
while read -r line name context; do
    [[ -z $previous || $previous < $name ]] ||
        complain "$settings:$line" "\"$name\" does not sort after \"$previous\""
    previous=$name
    grep -qwF -- "$name" docs/*.md /dev/null || complain "$settings:$line" "$name is not in docs/*.md"
    [[ $context != PGC_USERSET || $user_settings == *" $name "* ]] ||
        complain "$settings:$line" "$name is PGC_USERSET; is it sure that it changes no rule?"
done < <(perl -0777 -ne '
    while (/DefineCustom\w+Variable\(\s*"(belay\.\w+)"(.*?);/gs) {
        my ($name, $rest, $line) = ($1, $2, 1 + (substr($_, 0, $-[1]) =~ tr/\n//));
        my ($context) = $rest =~ /\b(PGC_\w+)/;
        print "$line $name ", $context // "none", "\n";
    }' "$settings")

files=()
for file in src/**/*.[ch]pp; do
    [[ $file == "$settings" ]] || files+=("$file")
done
complain_each "settings are defined in $settings" \
    < <(code_matches 'DefineCustom\w+Variable' "${files[@]}")
grep -q 'MarkGUCPrefixReserved("belay")' "$settings" ||
    complain "$settings:1" "the prefix belay is not reserved"
verdict
