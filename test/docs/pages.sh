#!/usr/bin/env bash
# Runs the examples of the pages, so that they stay true.
#
#   test/server.sh --preload -- test/docs/pages.sh [PAGE]...      (all pages if none is named)
#
# Run by test/server.sh: the examples find the server through the environment. Each page has a
# database and a directory of its own. In the order of the text:
#
#   ```sql   runs, all of a page in one psql session. A statement that ends with "--> text" has to
#            return that: columns are separated by |, rows by " / ", no row is "no row"
#   ```sh    runs if the line before it is <!-- run -->
#   ```cpp   a block with a main() is a program: it is compiled; if the first line of a block is
#            "// NAME.cpp", an sh block that names the file finds it, and compiles it instead
#
# A block after <!-- skip: reason --> is left out. One line "ok PAGE:LINE" or "not ok PAGE:LINE" per
# block; programs need the client library in BELAY_PREFIX, by default build/prefix. BELAY_NO_PROGRAMS=1 leaves them out.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/belay-docs-XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=${BELAY_PREFIX:-$root/build/prefix$sanitized}
pc=$(find "$prefix/lib" -name belay.pc 2>/dev/null | head -n 1 || true)
export PKG_CONFIG_PATH=${pc%/*} PATH=$PATH:$prefix/bin

# blocks PAGE: writes each block that runs to blocks/N.LANGUAGE and prints "N LANGUAGE LINE FILE".
# FILE is the name of a program, or - .
blocks() {
    awk '
        function done() {
            close(out)
            if (language == "cpp" && !program) { n--; return }
            print n, language, line, name
        }
        inside && /^```[ \t]*$/ { if (out != "/dev/null") done(); inside = 0; mark = ""; next }
        inside {
            print >out
            if (language == "cpp" && /^int main\(/) program = 1
            if (language == "cpp" && FNR == line + 1 && /^\/\/ [a-z_]+\.cpp$/) { name = $2; program = 1 }
            next
        }
        /^```(sh|sql|cpp)[ \t]*$/ {
            language = substr($1, 4)
            inside = 1; line = FNR; program = 0; name = "-"
            if (mark ~ /^<!-- skip: .*-->/ || (language == "sh" && mark !~ /^<!-- run -->/)) {
                out = "/dev/null"
            } else {
                out = "blocks/" ++n "." language
                printf "" >out
            }
            next
        }
        /^```/ { inside = 1; out = "/dev/null"; next }
        { mark = $0 }
        END { if (inside) print "-", "open", line, "-" }
    ' "$1"
}

# expect_answers N: lets psql write the answers of statements that end with "--> text" to files, and
# compare them.
expect_answers() {
    perl -i -pe '
        next unless /^(.*);[ \t]*--> (.*?)[ \t]*$/;
        my ($statement, $expected, $file) = ($1, $2, "answer." . ++$k);
        (my $quoted = $expected) =~ s/\x27/\x27\\\x27\x27/g;
        $_ = "$statement \\g (format=unaligned tuples_only=on fieldsep=\x27|\x27 recordsep=\x27 / \x27) $file\n"
           . "\\! got=\$(cat $file); [ \"\${got:-no row}\" = \x27$quoted\x27 ] || echo \"wrong: \${got:-no row}, not \x27$quoted\x27\"\n";
    ' "blocks/$1.sql"
}

# run_page PAGE DATABASE: writes "ok" and "not ok" lines.
run_page() {
    local page=$1 database=$2 n language line name entry place places=() script=session.psql newest_role
    mkdir blocks
    mapfile -t list < <(blocks "$root/$page")
    : >"$script"
    for entry in "${list[@]}"; do
        read -r n language line name <<<"$entry"
        place=$page:$line
        case $language in
            open)
                say "not ok $place (the block does not end)"
                continue
                ;;
            sql)
                expect_answers "$n"
                # psql tells where it is, so that an error has a place.
                printf '\\echo begin %s\n\\i %s\n\\echo end %s\n' "$place" "blocks/$n.sql" "$place" >>"$script"
                ;;
            sh)
                printf '\\echo begin %s\n\\! timeout 120 bash -euo pipefail %s 2>&1 && echo end %s\n' \
                    "$place" "blocks/$n.sh" "$place" >>"$script"
                ;;
            cpp)
                # Where only the server is installed there is no library to compile against.
                [[ -z ${BELAY_NO_PROGRAMS:-} ]] || continue
                if [[ $name != - ]]; then
                    cp "blocks/$n.cpp" "$name"
                fi
                if [[ $name == - ]] || ! grep -qF -- "$name" blocks/*.sh; then
                    # shellcheck disable=SC2046  # Many words.
                    if c++ -std=c++20 -fsyntax-only "blocks/$n.cpp" $(pkg-config --cflags belay) 2>compiler; then
                        say "ok $place"
                    else
                        say "not ok $place"
                        head -n 40 compiler
                    fi
                fi
                continue
                ;;
        esac
        places+=("$place")
    done
    ((${#places[@]} > 0)) || return 0
    createdb "$database"
    newest_role=$(psql -XAt -d postgres -c 'SELECT max(oid) FROM pg_roles')
    PGDATABASE=$database timeout 300 psql -X -q -v ON_ERROR_STOP=1 -P pager=off -f "$script" >out 2>&1 || true
    for place in "${places[@]}"; do
        if sed -n "\\|^begin $place\$|,\\|^end $place\$|p" out | grep -q '^wrong: '; then
            say "not ok $place"
            sed -n "\\|^begin $place\$|,\\|^end $place\$|p" out | grep '^wrong: '
        elif grep -qxF "end $place" out; then
            say "ok $place"
        elif grep -qxF "begin $place" out; then
            say "not ok $place"
            sed -n "\\|^begin $place\$|,\$p" out | head -n 40
        else
            say "not ok $place (not reached)"
        fi
    done
    # Roles belong to the whole server: those of this page go, so that pages do not meet.
    dropdb --force "$database"
    psql -XqAt -d postgres -c "SELECT format('DROP ROLE %I;', rolname) FROM pg_roles WHERE oid > $newest_role" |
        psql -Xq -v ON_ERROR_STOP=1 -d postgres
}

if (($# == 0)); then
    mapfile -t pages < <(cd "$root" && printf '%s\n' *.md docs/*.md client/*.md)
    set -- "${pages[@]}"
fi
number=0
for page in "$@"; do
    database=docs_$((++number))
    mkdir "$work/$database"
    (cd "$work/$database" && run_page "$page" "$database")
done | tee "$work/verdict"
! grep -q '^not ok' "$work/verdict"
