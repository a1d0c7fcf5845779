#!/usr/bin/env bash
# One file includes Boost: it costs compile time, and everything else should see strings.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS=: read -r file line text; do
    [[ $file == client/tool/dashboard/http_server.cpp ]] ||
        complain "$file:$line" "only client/tool/dashboard/http_server.cpp includes Boost:$text"
done < <(grep -nHE '^ *# *include *<boost/' client/**/*.[ch]pp test/**/*.[ch]pp src/**/*.[ch]pp /dev/null || true)
grep -q '<boost/' client/tool/dashboard/http_server.cpp || complain client/tool/dashboard/http_server.cpp:1 "does not include Boost"
verdict
