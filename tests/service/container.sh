#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs under systemd in a container, as doc/service.md tells an operator to go about it. /results gets a file for each step, what it
# printed and, in the last line, its exit status; then the container is switched off.
trap 'systemctl poweroff' EXIT
step() {
    local name=$1
    shift
    if [ "$(type -t "$1")" = function ]; then
        "$@"
    else
        timeout 90 "$@" # one that hangs is a failure
    fi >"/results/$name" 2>&1
    echo "$?" >>"/results/$name"
}
# until SECONDS COMMAND...: whether it succeeds in that time
until_it() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
prop() { systemctl show vbng --property "$1" --value; }
drop_in() { mkdir -p /etc/systemd/system/vbng.service.d && cat >"/etc/systemd/system/vbng.service.d/$1.conf"; }

useradd --system --user-group --home-dir /nonexistent --shell /usr/sbin/nologin vbng
useradd --groups vbng operator
unit=$(ls /usr/local/lib/systemd/system/vbng.service /case/vbng.service 2>/dev/null | tail -n 1)
install -m 644 "$unit" /etc/systemd/system/
# the machine may have fewer CPUs than the configuration
sed -n 's/^ExecStart=/&/p' "$unit" | sed '1i [Service]\nExecStart=' | sed 's/ --quiet/ --quiet --share-cpus/' | drop_in cpus
# LeakSanitizer looks by ptrace(), which the unit does not let it; tests/leaks looks elsewhere
if ldd /usr/local/bin/vbng | grep -q libasan; then
    drop_in sanitizer <<<$'[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0'
fi
step verify systemd-analyze verify --man=no /etc/systemd/system/vbng.service

# a configuration that is wrong
install -D -m 644 /dev/stdin /etc/vbng/vbng.cfg <<<'nonsense = 1;'
systemctl daemon-reload
step wrong systemctl enable --now vbng
step wrong_journal journalctl --no-pager -o cat -u vbng -p err
step wrong_all journalctl --no-pager -o cat -u vbng
step wrong_restarts prop NRestarts
systemctl reset-failed vbng

# an example, copied alone
install -m 644 /usr/local/share/vbng/cfg/bng-4port.cfg /etc/vbng/vbng.cfg
step example systemctl enable --now vbng
step example_journal journalctl --no-pager -o cat -u vbng -n 20
systemctl is-active --quiet vbng || exit
step active prop ActiveState
step status prop StatusText
step operator setpriv --reuid operator --regid operator --init-groups vbngctl --socket /run/vbng/control.sock show ledger
step stranger setpriv --reuid nobody --regid nogroup --clear-groups vbngctl --socket /run/vbng/control.sock show ledger
step exporter setpriv --reuid vbng --regid vbng --clear-groups /usr/bin/env PYTHONDONTWRITEBYTECODE=1 vbng-lab top --once --interval 0.2
step reload systemctl reload vbng

# the control plane beside it, with RADIUS, while either is killed
cp_unit=/usr/local/lib/systemd/system/vbng-cp.service
cp_prop() { systemctl show vbng-cp --property "$1" --value; }
compared() { [ "$(journalctl --no-pager -o cat -u vbng-cp | grep -c 'compared with vbng')" -ge "$1" ]; }
if [ -f "$cp_unit" ]; then
    install -m 644 "$cp_unit" /etc/systemd/system/
    if ldd /usr/local/bin/vbng-cp | grep -q libasan; then
        mkdir -p /etc/systemd/system/vbng-cp.service.d
        echo $'[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0' >/etc/systemd/system/vbng-cp.service.d/sanitizer.conf
    fi
    step cp_verify systemd-analyze verify --man=no /etc/systemd/system/vbng-cp.service
    echo 'punt_socket = "punt.sock";' >>/etc/vbng/vbng.cfg
    systemctl daemon-reload
    timeout 90 systemctl restart vbng
    install -m 644 /dev/stdin /etc/vbng/vbng-cp.cfg <<'CFG'
control_socket = "/run/vbng/control.sock"; punt_socket = "/run/vbng/punt.sock"; store = "/var/lib/vbng/sessions.db";
pools = ( { name = "homes"; prefix = "10.250.0.0/24"; gateway = "10.250.0.1"; } );
access = ( { port = "cpe0"; svlan = "4000"; pool = "homes"; } );
radius = { nas_identifier = "bng1"; password = "x"; servers = ( { address = "127.0.0.1"; secret = "s"; } );
           coa = { address = "127.0.0.1"; clients = ( { address = "127.0.0.1"; secret = "c"; } ); }; };
CFG
    step cp_start systemctl enable --now vbng-cp
    step cp_compared until_it 30 compared 1
    step cp_metrics setpriv --reuid vbng --regid vbng --clear-groups /usr/bin/env PYTHONDONTWRITEBYTECODE=1 vbng-lab exporter --once
    step cp_first journalctl --no-pager -o cat -u vbng-cp -n 20
    pid=$(cp_prop MainPID)
    [ "$pid" -gt 1 ] && kill -KILL "$pid" || exit # what has not started cannot be killed
    cp_again() { [ "$(cp_prop NRestarts)" -ge 1 ] && [ "$(cp_prop ActiveState)" = active ] && compared 2; }
    step cp_again until_it 30 cp_again
    timeout 90 systemctl restart vbng
    step cp_follows until_it 30 compared 3
    step cp_pid cp_prop NRestarts
    step cp_stop systemctl stop vbng-cp
    step cp_result cp_prop Result
    step cp_journal journalctl --no-pager -o cat -u vbng-cp
    sed -i /punt_socket/d /etc/vbng/vbng.cfg
    timeout 90 systemctl restart vbng
fi

# a process that does not go on
drop_in watchdog <<<$'[Service]\nWatchdogSec=2s'
systemctl daemon-reload
timeout 90 systemctl restart vbng
kill -STOP "$(prop MainPID)"
systemctl is-active vbng || exit
restarted() { [ "$(prop NRestarts)" -ge 1 ] && [ "$(prop ActiveState)" = active ]; }
step watchdog until_it 60 restarted
step watchdog_journal journalctl --no-pager -o cat -u vbng
step stop systemctl stop vbng
step stop_result prop Result
step ledger journalctl --no-pager -o cat -u vbng -n 40
rm /etc/systemd/system/vbng.service.d/watchdog.conf

# NICs that come late
sed -n '/^# net_af_packet/,/^```/p' /case/service.md | sed '1i [Service]' | grep -v '```' | drop_in nics
drop_in soon <<<$'[Service]\nRestartSec=100ms'
systemctl daemon-reload
install -m 644 /usr/local/share/vbng/cfg/bng-veth.cfg /etc/vbng/vbng.cfg
step late systemctl start vbng
often() { [ "$(prop NRestarts)" -ge 8 ]; }
step late_often until_it 120 often
for p in cpe0 cpe1 core0 core1; do
    ip link add $p mtu 2000 type veth peer name far-$p && ip link set $p up && ip link set far-$p up
done
active() { [ "$(prop ActiveState)" = active ]; }
step late_active until_it 60 active
step late_journal journalctl --no-pager -o cat -u vbng -n 60
step late_stop systemctl stop vbng
touch /results/done
