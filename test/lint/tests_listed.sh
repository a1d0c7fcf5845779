#!/usr/bin/env bash
# Every test file is run, and every verb is tested: each file of src/ops is named in a regression
# test, in an isolation spec and in a test that injects faults. An op for which one makes no sense
# says so in its header, with the reason:
#   // Races    none: reads one row
#   // Faults   none: writes nothing
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# pairs SOURCE_DIR SUFFIX EXPECTED_DIR: a test and its expected output come together.
pairs() {
    local file name
    for file in "$1"/*."$2"; do
        name=$(basename "$file" ".$2")
        [[ -e $3/$name.out ]] || complain "$file:1" "has no expected output $3/$name.out"
    done
    for file in "$3"/*.out; do
        name=$(basename "$file" .out)
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

fault_tests=$(grep -lis 'fault' sql/*.sql test/isolation/specs/*.spec test/{cluster,model,stress}/*.cpp || true)
for file in src/ops/**/*.cpp; do
    verb=$(basename "$file" .cpp)
    grep -qswF -e "$verb" sql/*.sql /dev/null || complain "$file:1" "no file of sql/ calls $verb"
    grep -qE '^// Races +none: .' "$file" || grep -qswF -e "$verb" test/isolation/specs/*.spec /dev/null ||
        complain "$file:1" "no isolation spec calls $verb, and the header does not say '// Races  none: reason'"
    # shellcheck disable=SC2086  # A list of files without spaces.
    grep -qE '^// Faults +none: .' "$file" || grep -qswF -e "$verb" $fault_tests /dev/null ||
        complain "$file:1" "no fault test calls $verb, and the header does not say '// Faults  none: reason'"
done
verdict
