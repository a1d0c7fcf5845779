#!/usr/bin/env bash
# Installs the Debian packages in a clean Debian 12 that has its own PostgreSQL and nothing of belay,
# uses them as the README says, and purges them. `make check-deb` is this script.
#
#   test/package/chroot.sh [--docker] [DIR]
#
#   --docker   instead: runs the commands of the Dockerfile there, in place of its base image
#   DIR        the packages; else they are built
#
# Needs root or sudo, and the package archive that apt knows. BELAY_CHROOT names a tar archive of the
# clean system, which is made if it does not exist; without it, it is made anew each time. Processes
# and mounts end with the script, the directory is removed.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

docker=no
if [[ ${1:-} == --docker ]]; then
    docker=yes
    shift
fi
"$root/test/setup.sh" deb chroot
find_postgres
debs=${1:-}
if [[ -z $debs && $docker == no ]]; then
    "$root/debian/build.sh"
    debs=$root/build/deb
fi
if ((EUID != 0)); then
    command -v sudo >/dev/null || die "a chroot needs root"
    arguments=("$debs")
    [[ $docker == no ]] || arguments=(--docker)
    exec sudo env PG_CONFIG="$PG_CONFIG" BELAY_CHROOT="${BELAY_CHROOT:-}" "$0" "${arguments[@]}"
fi

failed=0
# check NAME COMMAND...: in the command, a failure does not end it by itself.
check() {
    local name=$1 code=0
    shift
    "$@" >"$work/out" 2>&1 || code=$?
    grep -E '^(ok|not ok) ' "$work/out" || true
    if ((code == 0)); then
        say "ok $name"
    else
        tail -n 60 "$work/out"
        say "not ok $name"
        failed=1
    fi
}

work=$(mktemp -d "${TMPDIR:-/tmp}/belay-chroot-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"
system=$work/system

if [[ ! -e ${BELAY_CHROOT:-} ]]; then
    archive=${BELAY_CHROOT:-$work/system.tar}
    say "making a Debian 12 with postgresql-$major"
    mmdebstrap --quiet --variant=apt --include="postgresql-$major" bookworm "$archive"
    BELAY_CHROOT=$archive
fi
mkdir "$system"
tar -C "$system" -xf "$BELAY_CHROOT"
cp -L /etc/resolv.conf "$system/etc/resolv.conf"

# inside COMMAND...: in the system, with processes and mounts of its own that end with the command.
inside() {
    # shellcheck disable=SC2016,SC2317,SC2329  # The inner shell expands.
    unshare --mount --pid --fork --kill-child bash -euc '
        system=$1
        shift
        mount -t proc proc "$system/proc"
        mount --bind /dev "$system/dev"
        mount -t tmpfs tmpfs "$system/dev/shm"
        exec chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive PG_MAJOR='"$major"' "$@"' - "$system" "$@"
}

# copy_sources ENTRY...: these of the checkout, into /belay.
copy_sources() {
    mkdir -p "$system/belay"
    (cd "$root" && cp -a --parents "$@" "$system/belay/")
}

# ---- The Dockerfile: what COPY names, and each RUN in order. ----

if [[ $docker == yes ]]; then
    mapfile -t copied < <(sed -n 's/^COPY \([^-].*\) [^ ]*$/\1/p' "$root/Dockerfile")
    copy_sources "${copied[@]}"
    number=0
    while IFS= read -r command; do
        check "docker-run-$((++number))" inside sh -euc "cd /belay && $command"
    done < <(sed -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' "$root/Dockerfile" | sed -n 's/^RUN //p')
    cp -a "$system/out/." "$system/"
    copy_sources README.md test
    check docker-server inside sh -euc "
        pg_dropcluster $major main
        pg_createcluster $major main --start
        setpriv --reuid=postgres --regid=postgres --init-groups psql -XAt -c 'SHOW shared_preload_libraries' | grep -qx belay
        setpriv --reuid=postgres --regid=postgres --init-groups env HOME=/tmp BELAY_NO_PROGRAMS=1 /belay/test/docs/pages.sh README.md"
    exit "$failed"
fi

# ---- The packages. ----

# shellcheck disable=SC2317,SC2329
lints() { lintian --fail-on error,warning --tag-display-limit 0 "$debs"/*.deb; }
# shellcheck disable=SC2317,SC2329
installs() {
    mkdir -p "$system/packages" && cp "$debs"/*.deb "$system/packages/" && rm -f "$system"/packages/*-dbgsym_* &&
        inside sh -euc "apt-get -q update && apt-get -q -y install --no-install-recommends $1"
}
# What a user does after the installation, in one go: the server ends with it.
# shellcheck disable=SC2317,SC2329
works() {
    inside bash -euc "
        pg_conftool $major main set shared_preload_libraries belay
        pg_ctlcluster $major main start
        mkdir -p /belay/build
        chown postgres /belay/build
        cd /belay
        setpriv --reuid=postgres --regid=postgres --init-groups env HOME=/tmp BELAY_PREFIX=/usr PATH=\$PATH \
            test/package/installed.sh
        pg_ctlcluster $major main stop"
}
# The quickstart with the server's package alone.
# shellcheck disable=SC2317,SC2329
quickstart() {
    inside bash -euc "
        pg_ctlcluster $major main start
        cd /belay
        setpriv --reuid=postgres --regid=postgres --init-groups env HOME=/tmp BELAY_NO_PROGRAMS=1 test/docs/pages.sh README.md
        pg_ctlcluster $major main stop"
}
# shellcheck disable=SC2317,SC2329
purges() {
    inside sh -euc "dpkg -L postgresql-$major-belay libbelay-dev belay | sort -u | grep ^/ >/packages/files
        apt-get -q -y purge postgresql-$major-belay libbelay-dev belay
        ! dpkg -l | grep belay" || return
    local file left=0
    # Directories may belong to other packages, too; then dpkg knows them.
    while IFS= read -r file; do
        if [[ -e $system$file ]] && ! { [[ -d $system$file ]] && inside dpkg -S "$file" >/dev/null 2>&1; }; then
            [[ $file == /. ]] || { say "left: $file" && left=1; }
        fi
    done <"$system/packages/files"
    find "$system" -xdev \( -path "$system/belay" -o -path "$system/packages" \) -prune -o -name '*belay*' -print | grep . && left=1
    ((left == 0))
}
# shellcheck disable=SC2317,SC2329
starts_without() {
    inside bash -euc "pg_conftool $major main set shared_preload_libraries ''
        pg_ctlcluster $major main start
        pg_ctlcluster $major main stop"
}

check lintian lints
check nothing-before inside sh -c '! find / -xdev -name "*belay*" | grep .'
check install-server installs "./packages/postgresql-$major-belay_*.deb"
copy_sources README.md test
check quickstart quickstart
check install-rest installs './packages/*.deb cmake g++ make pkg-config'
check use works
check purge purges
check server-after-purge starts_without
exit "$failed"
