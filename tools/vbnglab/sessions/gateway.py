# SPDX-License-Identifier: BSD-3-Clause
"""vbng and vbng-cp between two veth pairs of this network namespace: the CPEs' lines, and a core whose host is the kernel."""

import json
import os
import socket
import subprocess
import time

from ..lab import places, run
from ..lab.failure import Failure
from ..lab.network import ip, plain, silence, sysctl

GATEWAY_LINE, GATEWAY_CORE, HOST_MAC = "02:b0:00:00:00:01", "02:b0:00:00:00:02", "02:d0:00:00:00:01"
GATEWAY, CORE, CORE6 = "10.64.0.1", "192.0.2.1", "2001:db8:f::1"
HOST, HOST6 = "192.0.2.2", "2001:db8:f::2"
POOL, WAN, DELEGATED, DELEGATED_LEN = "10.64.0.0/14", "2001:db8:4000::/40", "2001:db9::/32", 56
SERVER4, RELAY4, SERVER6, RELAY6 = "127.0.0.1", "127.0.0.2", "2001:db8:e::547", "2001:db8:e::1"  # of DHCP, on the loopback interface
LINES = "far-line"  # the CPEs' end
PROFILES = {"home-50M": "50M", "gold-200M": "200M"}
START_S = 20
PUNT_S = 0.25  # vbng-cp tries the punt socket each 100 ms
USER_PLANE = """
name = "sessions"; memory = "no-huge"; idle = "sleep"; max_subscribers = {lines}; max_prefixes = {prefixes}; punt_socket = "{folder}/punt.sock";
pools = {{ default = {{ mbufs = "32K"; overcommit = true; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY_LINE}"; addresses = "{GATEWAY}"; on_full = "wait"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{GATEWAY_CORE}"; addresses = ["{CORE}", "{CORE6}"]; on_full = "wait"; }}
);
qos = {{
    profiles = {{ {profiles} }};
    dscp_maps = {{ ip = {{ queues = ( {{ dscp = "46"; class = "0"; }} ); default = {{ class = "be"; }}; }}; }};
    schedulers = {{ access = {{ ports = "line"; dscp_map = "ip"; rate = "10G"; classes = ( {{ class = "0"; queue = 16; }}, {{ class = "be"; queue = 64; }} ); }}; }};
}};
routes = ( {{ prefix = "0.0.0.0/0"; port = "core"; mac = "{HOST_MAC}"; }}, {{ prefix = "::/0"; port = "core"; mac = "{HOST_MAC}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "count_up"; scheduler = "access"; punt = "arp"; }},
    {{ name = "count_up"; type = "account"; direction = "up"; to = "qos_up"; }},
    {{ name = "qos_up"; type = "qos"; scheduler = "access"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; scheduler = "access"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "qos_down"; punt = "arp"; }},
    {{ name = "qos_down"; type = "qos"; scheduler = "access"; direction = "down"; to = "count_down"; }},
    {{ name = "count_down"; type = "account"; direction = "down"; to = "line"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; punt_rate = 20000; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "count_up", "qos_up", "decap", "route", "find", "encap", "qos_down", "count_down", "arp"]; }} );
"""
CONTROL_PLANE = """
control_socket = "{folder}/vbng.sock"; punt_socket = "{folder}/punt.sock"; store = "{folder}/sessions.db"; max_lines = {lines};
{relays}
pools = ( {{ name = "homes"; prefix = "{POOL}"; gateway = "{GATEWAY}"; {relay4} }} );
pools6 = ( {{ name = "homes6"; wan = "{WAN}"; delegated = "{DELEGATED}"; delegated_len = {DELEGATED_LEN}; {relay6} }} );
access = ( {{ port = "line"; pool = "homes"; pool6 = "homes6"; profile = "home-50M"; }} );
"""
RELAYS = {4: f'{{ name = "kea4"; servers = "{SERVER4}"; giaddr = "{RELAY4}"; node = "bng1"; }}',
          6: f'{{ name = "kea6"; servers = "{SERVER6}"; source = "{RELAY6}"; node = "bng1"; }}'}
USER, PASSWORD = "demo", "vbng"
SECRET, AUTHENTICATION, ACCOUNTING = "a secret of the demonstration", 1812, 1813  # of RADIUS, in a network namespace of our own
CHANGES = 3799  # its port for changes
PPPOE = """
pppoe = {{ ac_name = "bng1"; users = ( {{ name = "{USER}"; password = "{PASSWORD}"; }} ); }};
"""
RADIUS = """
pppoe = {{ ac_name = "bng1"; }};
radius = {{ nas_identifier = "bng1"; password = "{PASSWORD}"; accounting = true; count_interval = "1s";
           servers = ( {{ address = "127.0.0.1"; secret = "{SECRET}"; authentication_port = {AUTHENTICATION}; accounting_port = {ACCOUNTING}; }} );
           coa = {{ address = "127.0.0.1"; port = {CHANGES}; clients = ( {{ address = "127.0.0.1"; secret = "{SECRET}"; }} ); }}; }};
"""


def _pair(name):
    ip("link", "add", f"gw-{name}", "mtu", 2000, "type", "veth", "peer", "name", f"far-{name}", "mtu", 2000)
    plain(f"far-{name}")
    for end in ("gw", "far"):
        ip("link", "set", f"{end}-{name}", "up")


def make_interfaces():
    """The lines, the core and its host. Raises Failure."""
    silence()
    _pair("line")
    make_core()


def make_core():
    """The core and its host. Raises Failure."""
    ip("link", "set", "lo", "up")
    _pair("core")
    ip("link", "set", "far-core", "address", HOST_MAC)
    ip("addr", "add", f"{HOST}/24", "dev", "far-core")
    ip("neigh", "replace", CORE, "lladdr", GATEWAY_CORE, "dev", "far-core")
    ip("route", "add", POOL, "via", CORE)
    try:
        sysctl("ipv6/conf/far-core/disable_ipv6", 0)
    except FileNotFoundError as e:
        raise Failure("the kernel has no IPv6; --protocol ipoe does without") from e
    ip("addr", "add", f"{HOST6}/64", "dev", "far-core", "nodad")
    ip("neigh", "replace", CORE6, "lladdr", GATEWAY_CORE, "dev", "far-core")
    for prefix in (WAN, DELEGATED):
        ip("-6", "route", "add", prefix, "via", CORE6, "dev", "far-core")


def control_plane():
    """Path of vbng-cp: $VBNG_CP, else build/src/cp/vbng-cp of this tree, else the one in $PATH."""
    path = os.environ.get("VBNG_CP") or places.program("vbng-cp", "build/src/cp/vbng-cp")
    if not os.access(path, os.X_OK):
        raise Failure(f"{path}: there is no vbng-cp; a build has it where libsqlite3-dev and nettle-dev are installed")
    return path


def ask(path, **request):
    """What a control socket answers."""
    with socket.socket(socket.AF_UNIX) as s, s.makefile("rb") as f:
        s.settimeout(10)
        s.connect(path)
        s.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(f.readline())


class Gateway:
    """Both programs, from here to stop(). folder: for their sockets, configurations and logs; relayed: families whose addresses servers behind give;
    profiles: names of vbng's, and their rates."""

    def __init__(self, folder, lines, radius, relayed=(), vbng=None, profiles=PROFILES):
        words = globals() | {"folder": folder, "lines": lines, "prefixes": 3 * lines,
                             "profiles": " ".join(f'{name} = {{ rate = "{rate}"; }};' for name, rate in profiles.items()),
                             "relays": "relays = ( " + ", ".join(RELAYS[family] for family in relayed) + " );" if relayed else "",
                             **{f"relay{family}": f'relay = "kea{family}";' if family in relayed else "" for family in RELAYS}}
        self.vbng_socket, self.cp_socket = os.path.join(folder, "vbng.sock"), os.path.join(folder, "vbng-cp.sock")
        self.punt = os.path.join(folder, "punt.sock")
        self.configs = [os.path.join(folder, name) for name in ("vbng.cfg", "vbng-cp.cfg")]
        for path, text in zip(self.configs, (USER_PLANE, CONTROL_PLANE + (RADIUS if radius else PPPOE))):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.format(**words))
        self.log = os.path.join(folder, "vbng-cp.log")
        self.vbng, self.cp = run.start(self.configs[0], share_cpus=True, extra=["--control", self.vbng_socket], vbng=vbng), None

    def ready(self):
        """Start the control plane when there is a user plane, and wait until it has compared its sessions with that. Raises Failure."""
        end = time.monotonic() + START_S
        while not self._answers():
            if not self.vbng.alive() or time.monotonic() > end:
                raise Failure(f"vbng does not start: {self.vbng.stop().error}")
            time.sleep(0.01)
        with open(self.log, "wb") as log:
            self.cp = subprocess.Popen([control_plane(), "--control", self.cp_socket, self.configs[1]], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       process_group=0, preexec_fn=run.end_with_parent)
        while "compared with vbng" not in (said := self.said()):
            if self.cp.poll() is not None or time.monotonic() > end:
                raise Failure(f"vbng-cp does not start: {said[-1000:].strip()}")
            time.sleep(0.02)
        time.sleep(PUNT_S)

    def _answers(self):
        try:
            return os.path.exists(self.punt) and bool(ask(self.vbng_socket, cmd="list-subscribers"))
        except (OSError, ValueError):
            return False

    def said(self):
        """The log of vbng-cp."""
        return run.text_of(self.log)

    def status(self):
        """What vbng-cp says of itself."""
        return ask(self.cp_socket, cmd="show-status")

    def sessions(self):
        """What vbng-cp says of each session that is up."""
        found, first = [], 0
        while first is not None:
            answer = ask(self.cp_socket, cmd="show-sessions", text="up", first=first)
            found += answer["sessions"]
            first = answer["next"]
        return found

    def octets(self):
        """{"up": octets, "down": octets} of all subscribers, as the tasks of type account have counted them."""
        total, first = {"up": 0, "down": 0}, 1
        while first is not None:
            answer = ask(self.vbng_socket, cmd="subscriber-octets", first=first, count=10000)
            for row in answer["octets"]:
                total["up"] += row[3] + row[5]
                total["down"] += row[7] + row[9]
            first = answer["next"]
        return total

    def stop(self):
        """End both. Returns the Result of vbng, with its ledger."""
        run.end(self.cp)
        return self.vbng.stop()
