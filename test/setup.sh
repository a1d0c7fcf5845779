#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, if any is missing.
#
#   test/setup.sh [deb] [chroot] [clients] [pages] [dashboard] [languages] [analysis]
#
#   deb         also what building packages needs
#   chroot      also what testing them in a clean system needs
#   clients     also what measuring other client libraries needs, see bench/clients
#   pages       also what building the dashboard's pages needs
#   dashboard   the same, and what testing them in a browser needs
#   languages   also what running the workers of docs/languages.md needs
#   analysis    also what test/analyze.sh and test/coverage.sh need
#
# PG_CONFIG names another PostgreSQL: then none is installed. If it names none and no server has its development files, they
# are installed for the server that is there, or with the newest one that there are packages of.
set -euo pipefail
# shellcheck source=test/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

missing=()
# need PACKAGE TEST...: notes the package if the test fails.
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}
# header NAME: true if the C++ compiler's directories have it.
header() { [[ -e /usr/include/$1 || -e /usr/local/include/$1 ]]; }
library() { compgen -G "/usr/lib/*/$1*" || compgen -G "/usr/lib/$1*" || compgen -G "/usr/local/lib/$1*"; }

# The tests may run as a user whose python3 is Debian's, while ours is another.
imports_psycopg() { python3 -c 'import psycopg' || /usr/bin/python3 -c 'import psycopg'; }

# Debian 12 has node 18.
node_is_new() { (($(node --version | sed -E 's/^v([0-9]+).*/\1/') >= 18)); }

need make command -v make
need g++ command -v g++
need cmake command -v cmake
need pkg-config command -v pkg-config
need clang command -v clang++
# libFuzzer's runtime, of the same version as clang++.
has_libfuzzer() { compgen -G "$(clang++ -print-resource-dir)/lib/linux/libclang_rt.fuzzer-*.a"; }
need libclang-rt-dev has_libfuzzer
need valgrind command -v valgrind
need clang-format command -v clang-format
need shellcheck command -v shellcheck
need libgtest-dev header gtest/gtest.h
need libgtest-dev library libgtest
need nlohmann-json3-dev header nlohmann/json.hpp
need libcli11-dev header CLI/CLI.hpp
need libpq-dev library libpq.so
# Boost.Beast, for `belay dashboard`: headers only.
need libboost-dev header boost/beast.hpp
# The shells whose completion is tested.
need zsh command -v zsh
need fish command -v fish
# promtool, for the alert rules.
need prometheus command -v promtool
# The tests start one of their own; Debian's service stays off.
need pgbouncer test -x /usr/sbin/pgbouncer
for group; do
    case $group in
        deb)
            need debhelper command -v dh
            need dpkg-dev command -v dpkg-buildpackage
            ;;
        chroot)
            need mmdebstrap command -v mmdebstrap
            need lintian command -v lintian
            ;;
        clients)
            need nodejs command -v node
            need npm command -v npm
            # Has the server's program, but no service that the installation would start.
            need redis-tools command -v redis-check-rdb
            ;;
        pages)
            need nodejs node_is_new
            need npm command -v npm
            ;;
        dashboard)
            need nodejs node_is_new
            need npm command -v npm
            need chromium test -x "${CHROMIUM:-/usr/bin/chromium}"
            ;;
        languages)
            need python3 command -v python3
            need python3-psycopg imports_psycopg
            need nodejs node_is_new
            need npm command -v npm
            need default-jdk-headless command -v javac
            need libpostgresql-jdbc-java test -e /usr/share/java/postgresql.jar
            ;;
        analysis)
            need clang-tidy command -v clang-tidy
            need cppcheck command -v cppcheck
            need python3 command -v python3
            ;;
        *) die "unknown group $group" ;;
    esac
done

make_no_cluster=no
if [[ -n ${PG_CONFIG:-} ]]; then
    pg_config_complete "$PG_CONFIG" ||
        die "PG_CONFIG=$PG_CONFIG: no PostgreSQL server with its development files there"
elif ! pg_config_candidate >/dev/null; then
    missing+=(postgresql-server-dev)
fi

if ((${#missing[@]} == 0)); then
    exit 0
fi
stop_pgbouncer=no
[[ " ${missing[*]} " != *" pgbouncer "* ]] || stop_pgbouncer=yes
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)

command -v apt-get >/dev/null ||
    die "missing: ${missing[*]} (Debian's names); this is no Debian, please install them yourself"
if ((EUID == 0)); then
    as_root=(env)
elif command -v sudo >/dev/null; then
    as_root=(sudo env)
else
    die "missing: ${missing[*]}; neither root nor sudo: ask an administrator for
    apt-get install ${missing[*]}"
fi

apt() { "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@"; }
offered() { [[ -n $(apt-cache madison "$1" 2>/dev/null) ]]; }
# The major version of clang++; before it is installed, of the one that will be.
clang_version() {
    if command -v clang++ >/dev/null; then
        clang++ -dumpversion
    else
        apt-cache depends clang | sed -nE 's/^ *Depends: clang-([0-9]+)$/\1/p'
    fi | sed -nE '1s/^([0-9]+).*/\1/p'
}
# Names of packages with the versions that there are here.
packages=()
for package in "${missing[@]}"; do
    case $package in
        libclang-rt-dev)
            version=$(clang_version)
            [[ -n $version ]] || {
                apt update
                version=$(clang_version)
            }
            packages+=("libclang-rt-$version-dev")
            ;;
        postgresql-server-dev)
            version=
            for lists in old new; do
                [[ $lists == old ]] || apt update
                for number in 15 16 17 18; do
                    offered "postgresql-server-dev-$number" || continue
                    version=$number
                    # A server that is there already.
                    [[ ! -x /usr/lib/postgresql/$number/bin/initdb ]] || break
                done
                [[ -z $version ]] || break
            done
            [[ -n $version ]] || die "there are no packages of PostgreSQL 15 to 18; build one and set PG_CONFIG"
            [[ -x /usr/lib/postgresql/$version/bin/initdb ]] || {
                packages+=("postgresql-$version")
                make_no_cluster=yes
            }
            packages+=("postgresql-server-dev-$version")
            ;;
        *) packages+=("$package") ;;
    esac
done
missing=("${packages[@]}")

say "installing: ${missing[*]}"
# Debian makes and starts a server 'main' with the package. It is not needed: the tests make
# their own. The file is there only while the package is being installed.
no_cluster=/etc/postgresql-common/createcluster.d/belay-no-main.conf
if [[ $make_no_cluster == yes ]]; then
    "${as_root[@]}" sh -c "mkdir -p '${no_cluster%/*}' && echo 'create_main_cluster = false' >'$no_cluster'"
    # shellcheck disable=SC2064
    trap "${as_root[*]} rm -f '$no_cluster'" EXIT
fi
if ! apt install --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
    # Most likely the package lists are old or absent.
    apt update
    apt install --no-install-recommends "${missing[@]}"
fi
if [[ $stop_pgbouncer == yes ]] && command -v systemctl >/dev/null; then
    "${as_root[@]}" systemctl disable --now -q pgbouncer >/dev/null 2>&1 || true
fi
say "installed: ${missing[*]}"
