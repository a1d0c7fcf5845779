#!/usr/bin/env bash
# Proves that every lint can fail: plants violations in a copy of the checkout and expects each to
# be reported where it was planted.
#
# shellcheck disable=SC2016  # $1 is a parameter of a statement.
set -euo pipefail
# shellcheck source=test/lint/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

copy=$lint_tmp/copy
mkdir -p "$copy"
tar -cf - --exclude=./.git --exclude=./build --exclude='./*.so' . | tar -C "$copy" -xf -
# The compiling lints need not look at the rest again.
export LINT_ONLY=planted LINT_CACHE=$lint_tmp/cache

planted=" "
# plant LINT FILE TEXT: appends the text to a file of the copy, runs the lint there, expects that it
# fails and names the file, and takes the text back.
plant() {
    local lint=$1 file=$copy/$2 text=$3 saved=$lint_tmp/saved existed=no output code=0
    planted+="$lint "
    mkdir -p "${file%/*}"
    if [[ -e $file ]]; then
        existed=yes
        cp -p "$file" "$saved"
    fi
    printf '%s\n' "$text" >>"$file"
    output=$("$copy/test/lint/$lint.sh" 2>&1) || code=$?
    ((code != 0)) || complain "test/lint/$lint.sh:1" "passes, though this is in $2: $text"
    ((code == 0)) || grep -qF "$2:" <<<"$output" ||
        complain "test/lint/$lint.sh:1" "fails, but does not name $2: ${output:0:300}"
    if [[ $existed == yes ]]; then
        cp -p "$saved" "$file"
    else
        rm -f "$file"
    fi
}

# plant_sql TEXT: a statement of the store.
plant_sql() {
    plant qualified_sql src/store/planted.cpp "constexpr auto kPlanted = R\"sql($1)sql\";"
}
# keep_sql TEXT: a statement that is right.
keep_sql() {
    printf '%s\n' "constexpr auto kPlanted = R\"sql($1)sql\";" >"$copy/src/store/planted.cpp"
    local output
    output=$("$copy/test/lint/qualified_sql.sh" 2>&1 | grep planted || true)
    [[ -z $output ]] || complain "test/lint/qualified_sql.sh:1" "finds fault with a right statement: $output"
    rm -f "$copy/src/store/planted.cpp"
}

# `make format` and its lint fail if git or clang-format fails.
mkdir -p "$lint_tmp/bin"
! make -s -C "$copy" --no-print-directory format >/dev/null 2>&1 || complain Makefile:1 "'make format' passes outside of a repository"
git -C "$copy" init -q
git -C "$copy" add src/core/hash.hpp
make -s -C "$copy" --no-print-directory format || complain Makefile:1 "'make format' fails"
printf '#!/bin/sh\nexit 3\n' >"$lint_tmp/bin/clang-format"
chmod +x "$lint_tmp/bin/clang-format"
! PATH=$lint_tmp/bin:$PATH make -s -C "$copy" --no-print-directory format >/dev/null 2>&1 ||
    complain Makefile:1 "'make format' passes if clang-format fails"
! PATH=$lint_tmp/bin:$PATH "$copy/test/lint/format.sh" >/dev/null 2>&1 || complain test/lint/format.sh:1 "passes if clang-format fails"
rm -rf "$copy/.git"

plant shell test/planted.sh '#!/bin/bash
cd /tmp && planted=($(ls))'
plant typed_statements src/store/planted.cpp 'int f(SPIPlanPtr plan) { return SPI_execute_plan(plan, nullptr, nullptr, false, 0); }'
plant typed_statements src/ops/planted.cpp 'int f() { return SPI_execute("SELECT 1", true, 1); }'
plant typed_statements src/ops/planted.cpp 'Datum f(bool* null) { return SPI_getbinval(nullptr, nullptr, 1, null); }'
plant typed_statements test/lint/typed_statements/planted.cpp '// expect: an error that no compiler has'
plant typed_statements test/lint/typed_statements/planted_too.cpp 'no C++'
plant operator_precedence src/store/planted.cpp 'constexpr auto kPlanted = R"sql(SELECT $1 {-} $2 {*} 3)sql";'
plant operator_precedence src/sql/hub/objects/planted.sql 'SELECT GREATEST(0, a OPERATOR(pg_catalog.-) b OPERATOR(pg_catalog./) 1000);'
plant jumps src/ops/planted.cpp '#include <string>
#include "pg/pg.hpp"
namespace belay::ops {
void planted(const char* text);
void planted(const char* text) {
    std::string copy(text);
    elog(LOG, "%s", copy.c_str());
}
}  // namespace belay::ops'
plant jumps src/ops/planted.cpp '#include <string>
#include "pg/pg.hpp"
namespace belay::ops {
int planted(const char* text);
int planted(const char* text) { return static_cast<int>((std::string(text) + "x").size()); }
}  // namespace belay::ops'
plant jumps src/ops/planted.cpp '#include <string>
#include "pg/pg.hpp"
namespace belay::ops {
template <typename T>
int planted(T copy);
template <typename T>
int planted(T copy) {
    T other = copy;
    return static_cast<int>(other.size());
}
template int planted(std::string_view);
template int planted(std::string);
}  // namespace belay::ops'
plant jumps src/ops/planted.cpp '#include <string>
extern "C" int belay_planted(const char* text);
extern "C" int belay_planted(const char* text) {
    std::string copy(text);
    return static_cast<int>(copy.size());
}'
plant jumps src/ops/planted.cpp '#include <string>
namespace belay::ops {
std::string planted = "a text that is too long to be kept in the object itself";
}'
plant globals src/shmem/planted.cpp '#include <string>
#include "pg/pg.hpp"
namespace belay::planted {
std::string planted = "a text that is too long to be kept in the object itself";
}'
plant globals src/core/planted.cpp '#include <string>
namespace belay::core {
std::string planted = "a text that is too long to be kept in the object itself";
}'
plant layers src/core/planted.hpp '#include "pg/pg.hpp"'
plant layers src/pg/planted.hpp '#include "shmem/gaps.hpp"'
plant layers src/shmem/planted.hpp '#include "store/hub.hpp"'
plant layers src/store/planted.cpp 'void f() { RegisterXactCallback(nullptr, nullptr); }'
plant layers src/ops/planted.hpp '#include "entry/verbs.hpp"'
plant layers src/entry/planted.hpp '#include "store/plan.hpp"'
plant layers src/ops/planted.hpp '#include "access/xact.h"'
plant versions src/ops/planted.cpp '#if PG_VERSION_NUM >= 160000
#endif'
plant verbs src/entry/verbs.cpp '    {"zz_planted", entry::planted, 1},'
plant verbs src/entry/verbs.cpp '    {"aa_planted", entry::planted, 1},'
plant verbs src/sql/hub/planted.sql "CREATE FUNCTION f() RETURNS void LANGUAGE belay AS 'planted';"
plant no_bare_finfo src/ops/planted.cpp 'PG_FUNCTION_INFO_V1(planted);'
plant no_bare_finfo src/ops/planted.cpp 'void f() { PG_TRY(); }'
plant no_bare_finfo src/ops/planted.cpp 'void f() { throw 1; }'
plant no_bare_finfo src/ops/planted.cpp 'void f() try { } catch (...) { }'
plant no_bare_finfo src/ops/planted.cpp 'int* f() { return new int; }'
plant no_bare_finfo src/ops/planted.cpp 'std::thread t;'
plant shards src/store/planted.cpp 'Oid f(const Hub& hub) { return get_relname_relid("tasks", hub.schema); }'
plant settings_sorted src/pg/settings.cpp 'DefineCustomBoolVariable("belay.aaa_planted", "", "", nullptr, false, PGC_SIGHUP);'
plant settings_sorted src/pg/settings.cpp 'DefineCustomBoolVariable("belay.zzz_planted", "", "", nullptr, false, PGC_USERSET);'
plant tests_listed sql/planted.sql 'SELECT 1;'
plant tests_listed expected/planted.out 'SELECT 1;'
plant tests_listed src/entry/verbs.cpp '{"planted_verb", planted, 0, "", "void", Access::kWrite, kForWorker},'
plant sql_comments src/sql/hub/planted.sql \
    "CREATE FUNCTION {hub}.planted() RETURNS void LANGUAGE belay VOLATILE PARALLEL UNSAFE AS 'planted';"
plant sql_comments src/sql/hub/planted.sql \
    "CREATE FUNCTION {hub}.planted() RETURNS void LANGUAGE belay STRICT VOLATILE PARALLEL UNSAFE AS 'planted';
COMMENT ON FUNCTION {hub}.planted() IS 'x'; GRANT EXECUTE ON FUNCTION {hub}.planted() TO x;"
plant sql_comments src/sql/extension/planted.sql \
    "CREATE FUNCTION belay.planted(a int) RETURNS int LANGUAGE C AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION belay.planted IS 'x'; GRANT EXECUTE ON FUNCTION belay.planted(int) TO PUBLIC;"
plant rules docs/rules.md '| ZZ-1 | Nobody tests it. |'
plant rules docs/rules.md '| AO-1 | It is there already. |'
plant rules sql/planted.sql '-- ZZ-1: not listed.'
plant rules test/isolation/specs/planted.spec '# Not listed (I99).'
plant rules test/unit/planted.cpp '// AO-20 to AO-22: the last one is not listed.'
plant rules docs/decisions.md '| AO-1 | a test names it |'
plant rules docs/decisions.md '| PO-7 (a part) | no test names the rest |'
plant rules docs/decisions.md '| ZZ-1 | not listed |'
plant monitoring docs/monitoring/belay-alerts.yml '      - {alert: Planted, expr: "sum("}'
plant links docs/operations.md 'See [the plan](planted.md).'
plant links docs/operations.md 'See [the plan](#planted-heading).'
plant links client/README.md 'See [the plan](../docs/operations.md#planted-heading).'
plant links README.md '<img src="docs/pictures/planted.svg">'
plant links docs/planted.md '# Nobody links here'
plant error_style src/ops/planted.cpp 'void f() { pg::raise(pg::kNotFound, "Task is gone", pg::Facts("gone"), "Look."); }'
plant error_style src/ops/planted.cpp 'void f() { pg::raise(pg::kNotFound, "task is gone.", pg::Facts("gone"), "Look."); }'
plant error_style src/ops/planted.cpp 'void f() { pg::raise_invalid("bad_value", "p_mode", psprintf("unknown mode %s", word), "Look."); }'
plant error_style src/ops/planted.cpp 'void f() { pg::raise_invalid("bad_value", "p_mode", "mode is gone", "look there"); }'
plant error_style src/ops/planted.cpp 'void f() { pg::raise(pg::kNotFound, "task is gone", pg::Facts("task gone"), "Look."); }'
plant error_style src/ops/planted.cpp 'void f() { ereport(ERROR, (errcode(1), errmsg("task not found"), errhint("Look."))); }'
plant error_style src/ops/planted.cpp 'void f() { ereport(ERROR, (errcode(1), errmsg("task is gone"), errdetail("it went"))); }'
plant error_style src/ops/planted.cpp 'void f() { pg::raise(pg::kNotFound, "task is gone", pg::Facts("gone"), "It was deleted."); }'
plant error_style src/ops/planted.cpp 'void f() { ereport(ERROR, (errcode(1), errmsg("task is gone"), errhint("Operators have them."))); }'
plant error_style client/src/planted.cpp 'void f() { throw Error({.message = "the task has an unknown key"}); }'
plant error_codes src/pg/errors.hpp "inline constexpr int kPlanted = MAKE_SQLSTATE('Q', 'B', '0', '9', '9');"
plant error_codes docs/errors.md 'It raises `QB098`.'
plant error_codes docs/errors.md "$(sed 's/^| `QB014`/| `QB097`/;t;d' docs/errors.md | head -n 1)"
plant error_codes docs/errors.md '| `22P99` | a code without advice | no |'
plant pictures docs/pictures/planted.svg '<svg viewBox="0 0 1 1"><title>a</title><desc>b</desc><style>.a { fill: #fff; }
@media (prefers-color-scheme: dark) { text { fill: #fff; } }</style><rect class="a"/></svg>'
plant pictures docs/pictures/planted.svg '<svg viewBox="0 0 1 1"><rect fill="#fff"/></svg>'
plant format src/core/planted.cpp 'int   f( ) {return 1 ;}'
plant metadata META.json 'no JSON'
plant metadata src/sql/belay.control "default_version = '9.9.9'"
plant metadata CMakeLists.txt 'project(belay VERSION 9.9.9)'
plant metadata src/core/version.hpp '#define BELAY_VERSION "9.9.9"'
plant metadata README.md 'Version 9.9.9'
plant metadata docs/install.md 'belay-9.9.9.zip'
plant metadata client/tool/belay.1 '.TH BELAY 1 "" "belay 9.9.9" "User Commands"'
plant delivery Dockerfile 'COPY planted .'
plant delivery Dockerfile 'COPY docs .'
plant delivery Dockerfile 'FROM planted'
plant delivery .github/workflows/ci.yml '  planted'
plant delivery .github/workflows/ci.yml '        run: make planted'
plant references sql/planted.sql "-- As $(printf 'section %s' 4.5) demands."
plant references docs/planted.md "$(printf 'engine%s' .md) has the rule."
plant references docs/planted.md "The $(printf 'speci%s' fication) asks for it."
plant references docs/planted.md "It is fast (ZZ-1)."
plant references test/isolation/specs/planted.spec "# A race ($(printf '\302\247%s' 18))."
plant no_machine_paths docs/planted.md "Look in $(printf '/%s/%s' home somebody)/notes."
plant no_machine_paths docs/planted.md "Fetch it from $(printf '%s.%s.%s' registry example org)."
plant no_machine_paths docs/planted.md "Ask $(printf '%s.%s.%s.%s' 10 1 2 3)."
plant no_machine_paths docs/planted.md "Ask $(printf '%s.%s.%s.%s' 192 168 2 3)."
plant boost client/tool/planted.cpp '#include <boost/asio.hpp>'
plant web client/dashboard/src/planted.ts 'element.innerHTML = text;'
plant web client/dashboard/src/planted.tsx '<p style="color: red">x</p>'
plant web client/dashboard/src/planted.ts 'setTimeout("go()", 1);'
plant web client/dashboard/src/planted.ts 'const url = "https://cdn.example.org/x.js";'
plant web client/dashboard/package-lock.json '"resolved": "somewhere"'

plant_sql 'SELECT a FROM {hub}.t WHERE a = 1'
plant_sql 'SELECT a + 1 FROM {hub}.t'
plant_sql 'SELECT a || b FROM {hub}.t'
plant_sql 'UPDATE {hub}.t SET a = b + 1 WHERE c {=} 1'
plant_sql 'UPDATE {hub}.t SET a = $1 WHERE c = 1'
plant_sql 'SELECT a FROM {hub}.t WHERE a IN (1, 2)'
plant_sql 'SELECT a FROM {hub}.t WHERE a BETWEEN 1 AND 2'
plant_sql 'SELECT NULLIF(a, 1) FROM {hub}.t'
plant_sql 'SELECT a FROM {hub}.t WHERE a IS DISTINCT FROM b'
plant_sql 'SELECT CASE a WHEN 1 THEN 2 END FROM {hub}.t'
plant_sql 'SELECT lower(a) FROM {hub}.t'
plant_sql 'SELECT public.lower(a) FROM {hub}.t'
plant_sql 'SELECT a::pg_catalog.int8 FROM {hub}.t'
plant_sql 'SELECT CAST(a AS int8) FROM {hub}.t'
plant_sql 'SELECT a FROM t'
plant_sql 'SELECT a FROM {hub}.t JOIN u ON true'
plant_sql 'INSERT INTO t (a) VALUES (1)'
plant_sql 'SELECT a FROM {hub}.t JOIN {hub}.u USING (a)'
keep_sql 'SELECT count.*, pg_catalog.count(*) FROM {hub}.t AS t WHERE t.a {=} $1 AND NOT (t.b {<=} -1) -- a = b
    ORDER BY t.a LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED'
keep_sql "INSERT INTO {hub}.t AS x (a, b) VALUES (\$1, CAST('=' AS pg_catalog.text))
    ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b, c = x.c {+} 1 WHERE x.b {<>} 'IN (1)' RETURNING x.a"
keep_sql 'WITH due AS MATERIALIZED (SELECT a FROM {hub}.t), gone (a) AS (DELETE FROM {hub}.u AS u USING due
    WHERE u.a {=} due.a RETURNING u.a) SELECT COALESCE(g.a, 0) FROM gone AS g WHERE EXISTS (SELECT 1 FROM due)
    AND g.a {=} ANY (CAST($1 AS pg_catalog.int8[]))'
keep_sql 'UPDATE {hub}.t SET a = a {+} 1, (b, c) = (SELECT 1, 2) FROM pg_catalog.unnest($1, $2) AS v(x, y)
    WHERE t.a {=} v.x AND CASE WHEN t.b {>} 1 THEN true ELSE false END'

plant words src/core/planted.cpp '// The walk goes on.'
plant words client/include/belay/planted.hpp '// The lease is given back.'
plant words test/unit/planted.cpp '// It is tried in vain.'
plant words src/core/planted.cpp '// The caller is told.'
plant words src/core/planted.cpp '// Whoever holds the row changes it.'
plant words src/sql/hub/objects/planted.sql '-- Nobody reads it.'
plant words sql/planted.sql '-- Somebody has the row.'
plant words test/unit/planted_test.cpp '// Anyone may call it.'
plant words test/isolation/specs/planted.spec '# Whatever the order.'
plant words docs/planted.md 'Everybody sees it.'
plant lengths src/core/planted.cpp 'int planted = 1;'
plant lengths client/src/planted.hpp '#pragma once'
plant lengths client/include/belay/planted.hpp "// A file.$(printf '%400s' '' | sed 's/ /\n;/g')"
plant lengths client/tool/planted.cpp "// A file.$(printf '%700s' '' | sed 's/ /\n;/g')"
plant lengths src/ops/planted.cpp "// A file.
namespace belay::ops {
struct Planted {
    int planted(int a) const {$(printf '%79s' '' | sed 's/ /\n;/g')
        return a;
    }
};
}  // namespace belay::ops"
plant durable src/ops/planted.cpp 'void planted() { pg::flush_at_commit(); }'
plant durable src/ops/planted.cpp 'int64 planted(const store::Task& task) { return core::next_epoch(task.lease_epoch, 0, 1); }'
plant durable src/store/planted.cpp 'int64 planted(const Hub& hub) { return nextval_internal(hub.relations.outbox_events_position, false); }'

# The library is no text: one that exports too much.
if command -v gcc >/dev/null; then
    planted+="exports "
    echo 'int planted_symbol(void) { return 1; }' >"$lint_tmp/planted.c"
    gcc -shared -fPIC -o "$copy/belay.so" "$lint_tmp/planted.c"
    ! "$copy/test/lint/exports.sh" >/dev/null 2>&1 ||
        complain "test/lint/exports.sh:1" "passes, though the library exports planted_symbol"
fi

# A library with a mutant; and a list of mutants in which none is found.
planted+="no_mutants "
echo 'lease.any_token' >"$copy/belay.so"
! "$copy/test/lint/no_mutants.sh" >/dev/null 2>&1 ||
    complain "test/lint/no_mutants.sh:1" "passes, though the library has a mutant"
: >"$copy/belay.so"
"$copy/test/lint/no_mutants.sh" >/dev/null 2>&1 ||
    complain "test/lint/no_mutants.sh:1" "fails, though the library has no mutant"
: >"$copy/src/shmem/mutants.cpp"
! "$copy/test/lint/no_mutants.sh" >/dev/null 2>&1 ||
    complain "test/lint/no_mutants.sh:1" "passes, though it finds no names"

for file in test/lint/*.sh; do
    name=$(basename "$file" .sh)
    [[ $name == lib || $name == selftest || $planted == *" $name "* ]] ||
        complain "$file:1" "has no planted violation here"
done
verdict
