#!/usr/bin/env bash
# Every test file is run, and every verb is tested: in a regression test, and if it writes also in an
# isolation spec and in a test that lets its store calls fail one by one.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# pairs SOURCE_DIR SUFFIX EXPECTED_DIR: a test and its expected output come together.
pairs() {
    local file name
    for file in "$1"/*."$2"; do
        name=${file##*/}
        name=${name%".$2"}
        [[ -e $3/$name.out ]] || complain "$file:1" "has no expected output $3/$name.out"
    done
    for file in "$3"/*.out; do
        name=${file##*/}
        name=${name%.out}
        # name_1.out is another right answer of test name.
        [[ -e $1/$name.$2 || -e $1/${name%_[0-9]}.$2 ]] || complain "$file:1" "has no test $1/$name.$2"
    done
}
pairs sql sql expected
pairs test/isolation/specs spec test/isolation/expected
for file in test/**/*.spec; do
    [[ $file == test/isolation/specs/* ]] || complain "$file:1" "is not run: specs are in test/isolation/specs"
done
for file in sql/*/*.sql; do
    complain "$file:1" "is not run: pg_regress reads sql/*.sql"
done

# setup.sql has the function that makes store calls fail, and calls of verbs that it does not fail.
fault_tests=$(grep -lisE 'store\.call|test\.fail_each\(' sql/*.sql | grep -vxF sql/setup.sql || true)
# Verbs of the table, a line each with its access.
verbs=$(tr '\n' ' ' <src/entry/verbs.cpp | grep -oE '\{"[a-z_]+", [a-z_]+,[^}]*Access::k(Read|Write)' |
    sed -E 's/^\{"([a-z_]+)".*Access::k(Read|Write)$/\1 \2/')
[[ -n $verbs ]] || complain src/entry/verbs.cpp:1 "has no verbs that this lint can read"
# The function of a verb: it has another name where an api has a form of its own.
functions=$(perl -0777 -ne 'print "$2 $1\n" while /REPLACE (?:FUNCTION|PROCEDURE) \@hub\@\.(\w+)\((?:(?!\bAS \x27).)*?\bAS \x27(\w+)\x27/gs' \
    src/sql/hub/**/*.sql)
# words FILE...: the words of these files, between line ends.
words() { echo && cat "$@" /dev/null | grep -oE '\w+' | sort -u; }
of_sql=$(words sql/*.sql)
of_specs=$(words test/isolation/specs/*.spec)
# shellcheck disable=SC2086  # A list of files without spaces.
of_fault_tests=$(words $fault_tests)
# knows WORDS WORD
knows() { [[ $1$'\n' == *$'\n'"$2"$'\n'* ]]; }
while read -r verb access; do
    if [[ $'\n'$functions =~ $'\n'"$verb "([a-z_0-9]+) ]]; then
        verb=${BASH_REMATCH[1]}
    fi
    knows "$of_sql" "$verb" || complain src/entry/verbs.cpp:1 "no file of sql/ calls $verb"
    [[ $access == Write ]] || continue
    knows "$of_specs" "$verb" || complain src/entry/verbs.cpp:1 "no isolation spec calls $verb"
    knows "$of_fault_tests" "$verb" || complain src/entry/verbs.cpp:1 "no test with fault point store.call calls $verb"
done <<<"$verbs"
verdict
