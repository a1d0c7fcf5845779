#!/usr/bin/env bash
# Looks into the Debian packages that debian/build.sh made of this build, and runs what is in them:
# unpacked beside a copy of the server, not installed. `make check-deb` installs them.
#
#   test/package/deb.sh DIR
#
# One line "ok NAME" or "not ok NAME" per check.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

find_postgres
debs=${1:?the directory of the packages}
work=$run_dir/deb
unpacked=$work/unpacked
extension=usr/share/postgresql/$major/extension
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$root/src/sql/belay.control")
multiarch=$(c++ -print-multiarch)
server=postgresql-$major-belay
packages=("$server" libbelay-dev belay)
rm -rf "$work"
mkdir -p "$unpacked"

# deb PACKAGE: its file.
deb() { find "$debs" -maxdepth 1 -name "$1_${version}_*.deb"; }
field() { dpkg-deb -f "$(deb "$1")" "$2"; }

# check NAME COMMAND...: in the command, a failure does not end it by itself.
check() {
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        say "ok $name"
    else
        cat "$work/out"
        say "not ok $name"
    fi
}

# files_of DIR WHERE: the files under a directory of the checkout, as they lie under WHERE.
files_of() { (cd "$root/$1" && find . -type f -printf "$2/%P\n"); }

# expected PACKAGE: the files that it must have, and no others.
expected() {
    local doc=usr/share/doc/$1
    say "$doc/changelog.gz"
    say "$doc/changelog.Debian.gz"
    say "$doc/copyright"
    case $1 in
        "$server")
            say "usr/lib/postgresql/$major/lib/belay.so"
            say "$extension/belay.control"
            files_of src/sql/extension "$extension"
            files_of src/sql/hub "$extension/belay/hub"
            say "$doc/README.md"
            say "$doc/SECURITY.md"
            files_of docs "$doc/docs" | grep -v /docs/reference/  # sources of the reference
            ;;
        libbelay-dev)
            say usr/bin/belay-lint
            say usr/share/man/man1/belay-lint.1.gz
            files_of client/include usr/include
            printf "usr/lib/$multiarch/%s\n" libbelay_client.a libbelay_runtime.a
            printf "usr/lib/$multiarch/pkgconfig/%s\n" belay.pc belay-runtime.pc
            printf "usr/lib/$multiarch/cmake/belay/%s\n" belayConfig.cmake belayConfigVersion.cmake \
                belayTargets.cmake
            # The last ones are named after the kind of build.
            (cd "$unpacked/$1" && find usr -name 'belay*Targets-*.cmake')
            say "$doc/README.md"
            files_of client/examples "$doc/examples" | grep '\.cpp$'
            ;;
        belay)
            say usr/bin/belay
            say usr/share/man/man1/belay.1.gz
            say usr/share/bash-completion/completions/belay
            say usr/share/zsh/vendor-completions/_belay
            say usr/share/fish/vendor_completions.d/belay.fish
            say "$doc/tool.md"
            say "$doc/licenses.txt"
            files_of client/tool/systemd "$doc/examples/systemd"
            ;;
    esac
}

# shellcheck disable=SC2317,SC2329  # The functions below are called by check.
has_files() {
    dpkg-deb -x "$(deb "$1")" "$unpacked/$1" &&
        diff <(expected "$1" | sort) <(cd "$unpacked/$1" && find . -type f -printf '%P\n' | sort)
}
# shellcheck disable=SC2317,SC2329
belongs_to_root() {
    ! dpkg-deb -c "$(deb "$1")" | grep -vE '^(-rw-r--r--|-rwxr-xr-x|drwxr-xr-x|lrwxrwxrwx) root/root '
}
# shellcheck disable=SC2317,SC2329
has_sums() {
    rm -rf "$work/control"
    # And nothing else: no script runs when it is installed or removed.
    dpkg-deb -e "$(deb "$1")" "$work/control" && (cd "$unpacked/$1" && md5sum --quiet -c "$work/control/md5sums") &&
        [[ $(find "$work/control" -type f -printf '%f\n' | sort | xargs) == "control md5sums" ]]
}
# shellcheck disable=SC2317,SC2329
has_fields() {
    [[ $(field "$1" Version) == "$version" && $(field "$1" Source) =~ ^(belay)?$ &&
        $(field "$1" Architecture) == "$(dpkg --print-architecture)" && -n $(field "$1" Description) ]]
}
# depends PACKAGE NAME...: it depends on these, regardless of the version.
# shellcheck disable=SC2317,SC2329
depends() {
    local depends name
    depends=$(field "$1" Depends)
    say "Depends: $depends"
    for name in "${@:2}"; do
        grep -qE ", ${name}[ ,]" <<<", $depends," || return
    done
}
# shellcheck disable=SC2317,SC2329
manual_names_every_command() {
    local command commands manual
    manual=$(zcat "$unpacked/belay/usr/share/man/man1/belay.1.gz" | sed 's/\\-/-/g; s/[",]/ /g')
    commands=$("$unpacked/belay/usr/bin/belay" --help | sed -n '/^Subcommands:/,$s/^  \([a-z-]\+\) .*/\1/p')
    (($(wc -l <<<"$commands") > 20)) || return
    for command in $commands; do
        grep -qE "^\.BR?( .*)? $command( |$)" <<<"$manual" || {
            say "belay.1 does not name $command"
            return 1
        }
    done
}

# shellcheck disable=SC2317,SC2329
has_completions() {
    local share=$unpacked/belay/usr/share
    bash -n "$share/bash-completion/completions/belay" && zsh -n "$share/zsh/vendor-completions/_belay" &&
        fish -n "$share/fish/vendor_completions.d/belay.fish"
}
# shellcheck disable=SC2317,SC2329
programs_have_manuals() {
    local program
    for program in "$unpacked"/{libbelay-dev,belay}/usr/bin/*; do
        [[ -e ${program%/bin/*}/share/man/man1/${program##*/}.1.gz ]] || {
            say "${program##*/} has no manual page"
            return 1
        }
    done
}

# systemd has nothing to say about the units. The programs that they start have to be there.
# shellcheck disable=SC2317,SC2329
has_sound_units() {
    local units=$unpacked/belay/usr/share/doc/belay/examples/systemd faults
    mkdir "$work/units"
    sed "s,=/usr/bin/,=$unpacked/belay/usr/bin/," "$units/belay-dashboard.service" >"$work/units/belay-dashboard.service"
    sed "s,=/usr/bin/,=$unpacked/belay/usr/bin/," "$units/belay-receive@.service" >"$work/units/belay-receive@mail.service"
    faults=$(systemd-analyze verify --man=no "$work"/units/*.service 2>&1) || faults+=" exit code $?"
    [[ -z $faults ]] || {
        say "$faults"
        return 1
    }
}

# What the pages of the dashboard bundle is in the copyright file, with its license.
# shellcheck disable=SC2317,SC2329
names_bundled_licenses() {
    local doc=$unpacked/belay/usr/share/doc/belay name
    grep -q '^License: Expat$' "$doc/copyright" || return
    while read -r name; do
        grep -qF "$name" "$doc/copyright" || {
            say "debian/copyright does not name $name"
            return 1
        }
    done < <(sed -nE 's/^(@?[a-z/-]+) [0-9]+\.[0-9]+\.[0-9]+$/\1/p' "$doc/licenses.txt") &&
        grep -q '^uplot ' "$doc/licenses.txt"
}

for package in "${packages[@]}"; do
    check "$package-files" has_files "$package"
    check "$package-owner" belongs_to_root "$package"
    check "$package-sums" has_sums "$package"
    check "$package-fields" has_fields "$package"
done
check "$server-depends" depends "$server" "postgresql-$major" libpq5 'libstdc\+\+6'
check libbelay-dev-depends depends libbelay-dev libpq-dev
check belay-depends depends belay libpq5 'libstdc\+\+6'
check "$server-has-no-mutants" "$root/test/lint/no_mutants.sh" "$unpacked/$server/usr/lib/postgresql/$major/lib/belay.so"
check belay-manual manual_names_every_command
check manuals programs_have_manuals
check belay-completions has_completions
check belay-licenses names_bundled_licenses
if command -v systemd-analyze >/dev/null; then
    check belay-units has_sound_units
fi

# A server with the package in it, and nothing else of belay.
cp -a "$stage_root" "$work/server"
rm -rf "$work/server$("$PG_CONFIG" --pkglibdir)/belay.so" "$work/server/$extension"/belay*
cp -a "$unpacked/$server/usr" "$work/server/"
cp -a "$unpacked/libbelay-dev" "$work/prefix"
cp -a "$unpacked/belay/usr" "$work/prefix/"
BELAY_BINDIR=$work/server$("$PG_CONFIG" --bindir)
export BELAY_BINDIR BELAY_PREFIX=$work/prefix/usr
"$root/test/server.sh" --preload -- "$root/test/package/installed.sh" ||
    say "not ok server"
rm -rf "$work"
