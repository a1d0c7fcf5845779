#!/usr/bin/env bash
# Every SQLSTATE of belay's own is produced by a test and explained in docs/errors.md, and
# docs/troubleshooting.md says what to do; neither tests nor docs speak of one that does not exist. The
# same for the words of code_detail. What docs/errors.md says of PostgreSQL's codes, too, has its advice.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

declared=$(perl -ne 'print "$1$2$3$4$5\n" if /MAKE_SQLSTATE\(\x27(.)\x27, \x27(.)\x27, \x27(.)\x27, \x27(.)\x27, \x27(.)\x27\)/' src/pg/errors.hpp)
[[ -n $declared ]] || complain src/pg/errors.hpp:1 "has no SQLSTATE that this lint can read"
# What tests really saw: expected output.
outputs=(expected/*.out test/isolation/expected/*.out)
for code in $declared; do
    grep -qswF -e "$code" "${outputs[@]}" /dev/null ||
        complain src/pg/errors.hpp:1 "no expected output has $code"
    grep -qsE "^\| \`$code\` \| [^|]+ \| [^|]+ \| [^|]+ \|" docs/errors.md ||
        complain src/pg/errors.hpp:1 "docs/errors.md has no row for $code"
done
advice=$(sed -n 's/^| \(`[^|]*\) |.*/\1/p' docs/troubleshooting.md)
# shellcheck disable=SC2016  # Backquotes of Markdown.
while IFS= read -r code; do
    grep -qF -e "$code" <<<"$advice" || complain docs/errors.md:1 "docs/troubleshooting.md has no row for $code"
done < <(sed -n 's/^| \(`[^|]*\) |.*/\1/p' docs/errors.md | grep -oE '`[0-9A-Z]{2}([0-9A-Z]{3}|…)`' | sort -u)
# The reverse: a code that is never raised. (The decisions also say which codes there are not.)
complain_each "there is no such SQLSTATE" < <(
    grep -nowHE 'QB[0-9A-Z]{3}' docs/*.md README.md SECURITY.md client/README.md "${outputs[@]}" src/**/*.[ch]pp client/**/*.[ch]pp |
        { grep -v '^docs/decisions.md:' || true; } | { grep -vwF -e "$declared" || true; }
)

# The words of code_detail: what the source gives to Facts and raise_invalid, and what the page has.
words=$(perl -0777 -ne 's{//[^\n]*}{}g;
    print "$1\n" while /\b(?:Facts\(|raise_invalid\()\s*"([a-z_ ]+)"/g' src/**/*.[ch]pp | sort -u)
[[ $(wc -l <<<"$words") -gt 20 ]] || complain src/pg/errors.hpp:1 "has no words that this lint can read"
while IFS= read -r word; do
    grep -qsF -e "\`$word\`" docs/errors.md || complain docs/errors.md:1 "does not explain the word $word"
done <<<"$words"
verdict
