#!/usr/bin/env bash
# Proves that test/docs/pages.sh can fail: each kind of broken example is reported at its line, and
# those around it are not. Run by test/server.sh.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/belay-docs-XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

# expect NAME VERDICTS: what pages.sh says about the page on standard input, as "ok" or "not ok" and the
# line of each block.
expect() {
    local name=$1 expected=$2 got
    cat >"$work/page.md"
    "$root/test/docs/pages.sh" "$(realpath --relative-to="$root" "$work/page.md")" >"$work/log" 2>&1 || true
    got=$(sed -nE 's/^(ok|not ok) [^:]*:([0-9]+).*/\1 \2/p' "$work/log" | paste -sd, -)
    if [[ $got == "$expected" ]]; then
        say "ok $name"
    else
        say "not ok $name: $got, not $expected"
        cat "$work/log"
        failed=1
    fi
}

expect "good blocks pass, one with a skip is left out" "ok 1,ok 8,ok 12" <<'PAGE'
```sql
SELECT 1;    --> 1
```
<!-- skip: it is wrong -->
```sql
SELECT wrong;
```
```sql
SELECT 1 WHERE false;    --> no row
```
<!-- run -->
```sh
true
```
PAGE
expect "an error fails its block, and those behind it" "ok 1,not ok 4,not ok 7" <<'PAGE'
```sql
SELECT 1;
```
```sql
SELECT wrong;
```
```sql
SELECT 1;
```
PAGE
expect "a wrong answer fails its block only" "not ok 1,ok 5" <<'PAGE'
```sql
SELECT 1,
       2;    --> 1|3
```
```sql
SELECT 1;
```
PAGE
expect "a command that fails fails its block only" "not ok 2,ok 6" <<'PAGE'
<!-- run -->
```sh
false
true
```
```sql
SELECT 1;
```
PAGE
expect "a program that does not compile fails" "not ok 1,ok 4" <<'PAGE'
```cpp
int main() { return wrong; }
```
```cpp
int main() {}
```
PAGE
expect "a block without an end fails" "not ok 4,ok 1" <<'PAGE'
```sql
SELECT 1;
```
```sql
SELECT 1;
PAGE
exit "$failed"
