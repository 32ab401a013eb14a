# SPDX-License-Identifier: BSD-3-Clause
# Shared by tools/demo and tools/test: packages and build. Sourced, not run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD_PACKAGES="gcc meson ninja-build pkg-config libdpdk-dev libconfig-dev libjansson-dev libcunit1-dev"

say() { printf '%s\n' "== $*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# install PACKAGE...: what is missing, and nothing else. Needs root only when something is missing.
install() {
    local missing=() p
    for p in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
    done
    [ ${#missing[@]} -eq 0 ] && return
    [ "$(id -u)" -eq 0 ] || die "these Debian packages are missing: ${missing[*]}; run: sudo tools/$(basename "$0")"
    say "installing ${missing[*]}"
    (
        # Open vSwitch brings a service, which is neither started nor left to start with the machine
        policy=/usr/sbin/policy-rc.d
        if [ ! -e $policy ]; then
            trap 'rm -f $policy' EXIT
            printf '#!/bin/sh\nexit 101\n' >$policy
            chmod +x $policy
        fi
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
        case " ${missing[*]} " in
        *" openvswitch-switch-dpdk "*)
            ! command -v systemctl >/dev/null || systemctl --quiet disable openvswitch-switch.service 2>/dev/null || true ;;
        esac
    )
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

# build DIR [MESON OPTION...]
build() {
    local dir=$1
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        say "configuring $(basename "$dir")"
        meson setup "$dir" "$top" "$@" >"$dir.log" 2>&1 || { cat "$dir.log"; die "meson setup failed"; }
        mv "$dir.log" "$dir/setup.log"
    fi
    say "building $(basename "$dir")"
    ninja -C "$dir" >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log"; die "the build failed"; }
}
