#!/usr/bin/env bash
# No file names a directory or host that exists on one machine only.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Home and work directories; hosts of private networks and package mirrors.
paths='(?<![\w.$}*-])/(work|root|farm|mnt|Users|home/\w+|opt/\w+)(/|\b)'
hosts='\b(registry|artifactory|nexus|mirror)\.[a-z0-9-]+\.[a-z]+|\b[a-z0-9-]+\.(internal|corp|lan)\b|\blocalhost:\d+|\b(10(\.\d{1,3}){3}|(192\.168|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2})\b'

while IFS=: read -r file line text; do
    complain "${file#./}:$line" "machine path or host: ${text:0:100}"
done < <(find . \( -path ./.git -o -path ./build -o -path ./results -o -path ./output_iso \) -prune -o \
    -type f ! -path ./test/lint/no_machine_paths.sh ! -name '*.so' -print0 |
    xargs -0 -r grep -nHIP -e "$paths|$hosts" 2>/dev/null || true)
verdict
