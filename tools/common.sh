# SPDX-License-Identifier: BSD-3-Clause
# Shared by tools/demo, tools/test and tests/distro: packages and build. Sourced, not run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD_PACKAGES="gcc meson ninja-build pkg-config|pkgconf libdpdk-dev libconfig-dev libjansson-dev libsqlite3-dev nettle-dev libcunit1-dev"

targets=()

say() { printf '%s\n' "== $*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# known PACKAGE: apt has a version of it to install
known() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'; }

# has_lists: apt was updated once; until then it knows only what is installed
has_lists() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }

# pick A|B|C: prints the first of these names that is installed, else the first that apt knows
pick() {
    local p
    for p in ${1//|/ }; do
        installed "$p" && { echo "$p"; return; }
    done
    for p in ${1//|/ }; do
        known "$p" && { echo "$p"; return; }
    done
    return 1
}

# look PACKAGE...: fills missing[] with what apt shall install, unknown[] and absent[] with what no list of apt has: the
# packages that are needed, and those that are not
look() {
    local word p
    missing=() unknown=() absent=()
    for word in "$@"; do
        if p=$(pick "${word%\?}"); then
            installed "$p" || missing+=("$p")
        elif [ "$word" = "${word%\?}" ]; then
            unknown+=("$word")
        else
            absent+=("${word%\?}")
        fi
    done
}

# install PACKAGE...: what is missing, and nothing else. Needs root only when something is missing. A|B is whichever of
# them the distribution has; a name with ? at its end is left out where the distribution does not have it.
install() {
    local missing unknown absent
    if ! command -v apt-get >/dev/null; then
        say "no apt here: nothing is installed; on Debian the packages are: $*"
        return
    fi
    look "$@"
    if [ "$(id -u)" -ne 0 ]; then
        missing+=("${unknown[@]%%|*}")
        [ ${#missing[@]} -eq 0 ] || die "these packages are missing: ${missing[*]}; run: sudo $0"
    elif [ $((${#missing[@]} + ${#unknown[@]} + ${#absent[@]})) -gt 0 ]; then
        [ $((${#missing[@]} + ${#unknown[@]})) -eq 0 ] && has_lists || apt-get update -qq
        look "$@"
        [ ${#unknown[@]} -eq 0 ] ||
            die "apt knows no package ${unknown[*]//|/ or }; Debian 12 and 13 have all in main, Ubuntu 24.04 in universe: add-apt-repository universe"
    fi
    [ ${#absent[@]} -eq 0 ] || say "apt knows no package ${absent[*]//|/ or }: tests that need it are skipped"
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}

apt_install() {
    say "installing $*"
    (
        policy=/usr/sbin/policy-rc.d
        if [ ! -e $policy ]; then
            trap 'rm -f $policy' EXIT
            printf '#!/bin/sh\nexit 101\n' >$policy
            chmod +x $policy
        fi
        export DEBIAN_FRONTEND=noninteractive
        apt-get install -y -qq --no-install-recommends "$@" >/dev/null
        for p in openvswitch-switch freeradius kea-dhcp4-server kea-dhcp6-server; do # services, which are neither started nor left to start with the machine
            [[ " $* " != *" $p"* ]] || ! command -v systemctl >/dev/null || systemctl --quiet disable $p.service 2>/dev/null || true
        done
    )
}

# fetch_promtool DIR: has promtool in PATH, in DIR where it is not installed. Debian 13 has it in a package of its own, Debian 12 in prometheus, with which a
# server would come: so it is fetched, and not installed. Where that fails, tests are skipped.
fetch_promtool() {
    local dir=$1 package=promtool folder
    ! command -v promtool >/dev/null || return 0
    PATH=$PATH:$dir
    [ ! -x "$dir/promtool" ] || return 0
    known $package || package=prometheus
    known $package || { say "apt knows no package promtool or prometheus: tests that need promtool are skipped"; return; }
    folder=$(mktemp -d)
    mkdir -p "$dir"
    (cd "$folder" && apt-get download -qq $package && dpkg-deb --extract ./*.deb . && mv usr/bin/promtool "$dir") >"$folder/log" 2>&1 ||
        say "promtool could not be fetched, and tests that need it are skipped: $(tail -n 1 "$folder/log")"
    rm -rf "$folder"
}

# Under sudo what we made belongs to the caller, so that the next run needs no sudo.
give_back() {
    if [ -n "${SUDO_UID:-}" ]; then
        for d in "$top"/build*; do
            [ -d "$d" ] && chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$d"
        done
    fi
    return 0
}
trap give_back EXIT

# compiler_warnings LOG...: prints the lines of builds' logs in which a compiler or linker warns, behind a place or its own name. A line that begins with
# "warning:" is tools/fetch-python's.
compiler_warnings() { grep -h ': warning:' "$@" || true; }

# build DIR [MESON OPTION...]: a folder that is configured keeps its options, unless werror is among them. What is built are the targets in targets[], or all
build() {
    local dir=$1
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        say "configuring $(basename "$dir")"
        meson setup "$dir" "$top" "$@" >"$dir.log" 2>&1 || { cat "$dir.log"; die "meson setup failed"; }
        mv "$dir.log" "$dir/setup.log"
    elif [[ " $* " = *" -Dwerror="* ]]; then
        meson configure "$dir" "$@"
    fi
    say "building $(basename "$dir")"
    ninja -C "$dir" "${targets[@]}" >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log"; die "the build failed"; }
}
