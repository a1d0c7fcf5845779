#!/usr/bin/env bash
# What is promised beyond a transaction is on disk first, regardless of synchronous_commit.
#
# The list names each function that gives such a promise, with the call of src/pg/durable.hpp that it
# must make. The lint fails if one does not, if a call stands where the list does not name it, and if
# a statement that gives epochs, or a position of an event, is used anywhere else.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# file, function, call, promise
promises='
src/ops/admin/hub_places.cpp set_hub_place flush_at_commit two servers would serve the hub
src/ops/admin/new_incarnation.cpp new_incarnation flush_at_commit old leases would hold again
src/ops/intents/receive_intents.cpp receive_intents flush_at_commit the source deletes what has arrived
src/ops/slot/acquire_slots.cpp acquire_slots flush_at_commit a share of slots has no token
src/store/outbox.cpp write_event flush_at_commit a reader goes on behind the position
src/store/task_claims.cpp acquire flush_at_commit the epoch is the fence of a lease
src/store/task_claims.cpp acquire_heads flush_at_commit the epoch is the fence of a lease
src/worker/relay.cpp send flush_committed the target keeps the key
'

# body FILE FUNCTION: the lines of the function that is defined at the margin, numbered.
body() {
    awk -v name="$2" '
        !inside && $0 ~ "^[A-Za-z].*[ *&]" name "\\(" { inside = 1; text = "" }
        inside { text = text FNR ":" $0 "\n" }
        inside && /^}/ { if (text ~ /{/) printf "%s", text; inside = 0 }
        inside && /;$/ && text !~ /{/ { inside = 0 }' "$1"
}

while read -r file function call promise; do
    [[ -n $file ]] || continue
    if [[ ! -e $file ]]; then
        complain "test/lint/durable.sh:1" "$file is gone: $promise"
    elif ! body "$file" "$function" | grep -q "pg::$call()"; then
        complain "$file:1" "$function does not call pg::$call(): $promise"
    fi
done <<<"$promises"

# Calls that the list does not name.
while IFS=: read -r file line _; do
    found=no
    while read -r named function _; do
        if [[ $named == "$file" ]] && body "$file" "$function" | grep -q "^$line:"; then
            found=yes
        fi
    done <<<"$promises"
    [[ $found == yes ]] || complain "$file:$line" "is not in the list of test/lint/durable.sh"
done < <(code_matches 'pg::flush_(at_commit|committed)\(\)' src/**/*.cpp)

# What gives epochs and positions is used by the functions of the list alone.
# once WHAT REGEX FILE
once() {
    local file line
    while IFS=: read -r file line _; do
        [[ $file == "$3" ]] || complain "$file:$line" "gives $1; only $3 may"
    done < <(code_matches "$2" src/**/*.cpp)
}
once "an epoch" 'core::next_epoch\(' src/ops/task/claim_search.cpp
once "a position of an event" 'nextval_internal\(.*outbox_events_position' src/store/outbox.cpp
verdict
