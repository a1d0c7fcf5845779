#!/usr/bin/env bash
# Builds the Debian packages; `make deb` is this script without arguments. Prints their paths.
#
#   debian/build.sh [--reuse] [--output DIR]
#
#   --reuse    take client library and tool from build/cmake instead of compiling them with Debian's
#              flags, and make no packages of debug symbols: for tests, which have built them
#   --output   where the packages go (default build/deb)
#
# PG_CONFIG selects the server, one of Debian's layout; the package is named after its major version.
# The packages are built in a copy of the sources, so the checkout stays as it is. What `make` has
# built is copied, too, and compiled again only if it is out of date.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../test/lib.sh"

reuse=no
output=$root/build/deb
while (($# > 0)); do
    case $1 in
        --reuse) reuse=yes ;;
        --output)
            output=${2:?--output needs a directory}
            shift
            ;;
        *) die "unknown argument $1" ;;
    esac
    shift
done

if [[ $reuse == no ]]; then
    "$root/test/setup.sh" deb pages
    # In the checkout: what npm brings is kept there.
    "$root/client/dashboard/build.sh" >/dev/null || die "the dashboard's pages were not built"
fi
[[ -e $root/build/dashboard/hash ]] || die "the dashboard's pages are missing: run client/dashboard/build.sh"
find_postgres
makes_debs || die "$PG_CONFIG: no PostgreSQL as Debian installs it, so no package can depend on it"

work=$output/work-$major
sources=$work/belay
rm -rf "$work"
mkdir -p "$sources"
# Of the format posix, because the others cut the fractions of dates.
tar -C "$root" --format=posix --exclude=./.git --exclude=./build --exclude=./results --exclude=./log \
    --exclude=./output_iso --exclude=./client/dashboard/node_modules -cf - . | tar -C "$sources" -xf - --no-same-owner
if [[ -d $root/build/obj ]]; then
    tar -C "$root" --format=posix -cf - build/obj | tar -C "$sources" -xf - --no-same-owner
fi
tar -C "$root" --format=posix --exclude=build/dashboard/npm -cf - build/dashboard | tar -C "$sources" -xf - --no-same-owner
sed -i -E "s/\b(postgresql-(server-dev-)?|PostgreSQL )15\b/\1$major/g" "$sources/debian/control"

# Which compiler made what lies in build/ is decided by the Makefile, not by who calls us.
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR
options=parallel=$(nproc)
if [[ $reuse == yes ]]; then
    options+=' noautodbgsym'
    export BELAY_CMAKE_DIR=$cmake_dir
fi
# -d: test/setup.sh has looked for what is needed, also outside of packages. -nc: nothing to clean.
if ! (cd "$sources" && DEB_BUILD_OPTIONS=$options dpkg-buildpackage -b -us -uc -d -nc) >"$output/build-$major.log" 2>&1; then
    tail -n 60 "$output/build-$major.log"
    die "building the packages failed, see $output/build-$major.log"
fi
find "$output" -maxdepth 1 \( -name "postgresql-$major-belay*" -o -name 'libbelay-dev*' -o -name 'belay[_-]*' \) -type f -delete
mv "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$output/"
rm -rf "$work"
find "$output" -maxdepth 1 -name '*.deb' | sort
