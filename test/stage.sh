#!/usr/bin/env bash
# Makes a private installation of PostgreSQL with belay under build/stage/<major>, so that tests
# never touch the one of the system. Incremental.
#
# The layout of the installation is mirrored. The server finds its directories relative to its
# own binary, after following symbolic links: so programs are copied and all else is linked.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:-} == --built ]]; then
    find_postgres
else
    "$root/test/setup.sh"
    find_postgres
    build_module
fi
bindir=$("$PG_CONFIG" --bindir)
sharedir=$("$PG_CONFIG" --sharedir)
pkglibdir=$("$PG_CONFIG" --pkglibdir)

# link_all FROM TO: links each entry of a directory that is not there yet.
link_all() {
    local entry
    mkdir -p "$2"
    for entry in "$1"/*; do
        [[ -e $2/${entry##*/} ]] || ln -sfn "$entry" "$2/${entry##*/}"
    done
}

# Our files may also be installed in the system; its copies must not show through.
unlink_belay() {
    local file
    for file in "$@"; do
        [[ ! -L $file ]] || rm -f "$file"
    done
}

version=$("$PG_CONFIG" --version)
if [[ $(cat "$stage_root/.version" 2>/dev/null) != "$version $bindir" ]]; then
    rm -rf "$stage_root"
    mkdir -p "$stage_bin"
    cp -L "$bindir"/* "$stage_bin/"
    link_all "$sharedir" "$stage_root$sharedir"
    rm -f "$stage_root$sharedir/extension"
    printf '%s %s\n' "$version" "$bindir" >"$stage_root/.version"
fi
# Each time: an extension may have been installed since.
link_all "$sharedir/extension" "$stage_root$sharedir/extension"
link_all "$pkglibdir" "$stage_root$pkglibdir"
unlink_belay "$stage_root$sharedir"/extension/belay* "$stage_root$pkglibdir"/belay.so

# Installed again only if something that is installed is newer.
if [[ ! -e $stage_root/.installed ||
    -n $(find "$root/belay.so" "$root/src/sql" "$root/Makefile" -newer "$stage_root/.installed" \
        -print -quit) ]]; then
    rm -f "$stage_root$sharedir"/extension/belay--*.sql
    make -C "$root" --no-print-directory -s install DESTDIR="$stage_root" PG_CONFIG="$PG_CONFIG"
    touch "$stage_root/.installed"
fi
# Extensions that only the tests need.
cp "$root"/test/extension/* "$stage_root$sharedir/extension/"
