# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of vbng for a scenario: the tester, VNFs that hand frames on, and the gateway."""

import os
import re
import shutil

from ..lab import places
from ..vm import qemu
from . import guests
from .scenarios import ACCESS, CORE, GATEWAY, TESTER

MACS = {"up": ("02:c0:00:00:00:0a", "02:c0:00:00:00:0b"), "down": ("02:c0:00:00:00:0b", "02:c0:00:00:00:0a")}  # (source, destination) of a direction
PROBE_BYTES, PROBE_PPS = 128, 5000  # as in cfg/common/tester-measure.cfg
MBUFS = "32K"
# A generator has mbufs of its own, in which its frames stay (doc/generator.md), and few, as they stay in the caches that way.
MADE = ' made = { per = "queue"; mbufs = "2K"; };'
MEMIF_MTU = 1492  # longest frame that fits a buffer of memif with a tunnel around it

TEMPLATE = """# One flow; the destination is {what}.
size 64
ether src {source} dst {target}
ipv4  src 198.18.0.{a} dst 198.19.0.{b}
udp   src 1024 dst 2048
payload 00
"""


def templates(switch):
    """{file: text} of the packet templates for both directions; a switch that routes is sent to by its MAC address."""
    out = {}
    for direction, (source, target) in MACS.items():
        router = getattr(switch, "router_mac", None)
        what = "the router's" if router else "that of the other end"
        a, b = (1, 2) if direction == "up" else (2, 1)
        out[f"{direction}.tmpl"] = TEMPLATE.format(what=what, source=source, target=router or target, a=a, b=b)
    return out


def _ports(switch, names, more=lambda _: "", guest=False):
    devices = {n: qemu.pci_address(i) if guest else switch.ports[n].device for i, n in enumerate(names)}
    return ",\n".join(f'    {{ name = "{n}"; device = "{devices[n]}";{more(n)} }}' for n in names)


def _whole(name, idle, ports, body, tasks, layout, guest=False, pools=""):
    listed = ", ".join(f'"{t}"' for t in layout[1])
    return (f'name = "{name}";\nmemory = "{"hugepages" if guest else "no-huge"}";\nidle = "{idle}";\npools = {{ default = {{ mbufs = "{MBUFS}"; }};{pools} }};\n'
            f"ports = (\n{ports}\n);\n{body}tasks = (\n{tasks}\n);\nlayout = ( {{ core = \"{layout[0]}\"; tasks = [{listed}]; }} );\n")


def _generators(topology, train):
    """Generators of the tester, whose names say which way they send, as vbng-lab measure expects."""
    burst = f" train = {train};" if train else ""
    tasks = []
    for side, direction, ways in (("cpe", "up", topology.up), ("core", "down", topology.down)):
        for i, (source, _) in enumerate(ways):
            tasks.append((f"gen_{side}{i}", f'type = "gen"; template = "{direction}.tmpl"; pool = "made";{burst} to = "{source}";'))
            tasks.append((f"probe_{side}{i}", f'type = "gen"; template = "{direction}.tmpl"; size = "{PROBE_BYTES}"; stamp = true; '
                                              f'rate = "{PROBE_PPS}pps"; train = 1; to = "{source}";'))
    back = ", ".join(f'"{to}"' for to in dict.fromkeys(t for ways in (topology.up, topology.down) for _, t in ways))
    return [*tasks, ("sink", f'type = "sink"; from = [{back}];')]


def tester(scenario, topology, switch, cpu, idle, train=None):
    """Configuration of the tester."""
    ports = _ports(switch, topology.tester_ports)
    if scenario in GATEWAY:
        names = [*(f"gen_{p}" for p in (*ACCESS, *CORE)), "probe_cpe0", "probe_core0", "sink"]
        return _whole(TESTER, idle, ports, "", '@include "common/tester-measure.cfg"', (cpu, names))
    tasks = _generators(topology, train)
    text = ",\n".join(f'    {{ name = "{name}"; {rest} }}' for name, rest in tasks)
    return _whole(TESTER, idle, ports, "", text, (cpu, [name for name, _ in tasks]), pools=MADE)


def vnf(v, switch, cpu, idle, guest=False, more=()):
    """Configuration of a VNF that hands frames on: a task for each way through it. guest: it is one in a guest; more: further tasks, (name, the rest)."""
    tasks = [(f"forward_{a}", f'type = "forward"; from = "{a}"; to = "{b}";') for a, b in v.joined] + list(more)
    text = ",\n".join(f'    {{ name = "{name}"; {rest} }}' for name, rest in tasks)
    return _whole(v.name, idle, _ports(switch, v.ports, guest=guest), "", text, (cpu, [name for name, _ in tasks]), guest)


FILLS = ("fill_up", "fill_down")  # generators that let packets into a circle


def write_circle(folder, v, switch, cpu, packets):
    """Write the configuration of a VNF in a circle of so many packets, half of them each way, into a folder. Returns its path."""
    # vbng ends when all streams have, so there is one that never begins
    fills = [(name, f'type = "gen"; template = "{way}.tmpl"; to = "{port}"; streams = ( {{ count = {packets // 2}; }}, {{ start = "24h"; }} );')
             for name, way, port in zip(FILLS, MACS, v.ports)]  # fmt: skip
    for name, text in templates(switch).items():
        _save(os.path.join(folder, name), text)
    return _save(os.path.join(folder, f"{v.name}.cfg"), vnf(v, switch, cpu, "pause", more=fills))


ADDRESSES = {"cpe0": ("02:b0:00:00:00:00", "100.64.0.1"), "cpe1": ("02:b0:00:00:00:01", "100.64.0.2"),
             "core0": ("02:b0:00:00:01:00", "192.0.2.1"), "core1": ("02:b0:00:00:01:01", "192.0.2.5")}  # fmt: skip
SUBSCRIBERS = 32768  # of each access port: cfg/common/subscribers.cfg
ONE_MAC = "one-mac.csv"  # table of the same subscribers, those of a port with one MAC address


def far_macs(one=False):
    """{port of the tester: MAC addresses to which the gateway sends there}: CPEs and next hops, by cfg/common. one: all CPEs of a port have one."""
    cpes = {f"t_cpe{i}": [f"02:c{i}:00:00:{n >> 8:02x}:{n & 255:02x}" for n in range(1 if one else SUBSCRIBERS)] for i in range(2)}
    return {**cpes, **{f"t_core{i}": [f"02:dd:00:00:00:0{i}"] for i in range(2)}}


def one_mac():
    """The subscribers of cfg/common/subscribers.cfg as a table, in which those of a port have the MAC address of its first."""
    lines = ["port,svlan,cvlan,ipv4,gre_key,mac"]
    for i in range(2):
        mac = far_macs(True)[f"t_cpe{i}"][0]
        lines += [f"cpe{i},{128 + (n >> 8)},{256 + (n & 255)},10.0.{i << 7 | n >> 8}.{n & 255},{i * SUBSCRIBERS + n},{mac}" for n in range(SUBSCRIBERS)]
    return "\n".join(lines) + "\n"


GATEWAY_TASKS = ("classify", "decap", "route", "fragment", "gre_up", "mpls_up", "mpls_down", "gre_down", "encap",
                 "fragment_down", "arp", "own_route")


def gateway(v, switch, cpu, idle, guest=False):
    """Configuration of the gateway of cfg/bng-4port.cfg at the ports of the switch. guest: it is in a guest."""
    def more(name):
        mac, address = ADDRESSES[name]
        mtu = f" mtu = {MEMIF_MTU};" if switch.ports[name].kind == "memif" and name in CORE else ""
        return f' mac = "{mac}"; addresses = "{address}";{mtu}'

    subscribers = f'subscribers = ( {{ csv = "{ONE_MAC}"; }} );' if switch.one_mac else '@include "common/subscribers.cfg"'
    body = f'{subscribers}\n@include "common/routes.cfg"\n'
    return _whole(v.name, idle, _ports(switch, v.ports, more, guest), body, '@include "common/gateway.cfg"', (cpu, GATEWAY_TASKS), guest)


def write(folder, scenario, topology, switch, cpus, idle, train=None, guest=False):
    """Write all configurations into FOLDER/cfg, with what they include. cpus: {process: CPU}. guest: the VNFs are in guests. Returns {process: path}."""
    home = os.path.join(folder, "cfg")
    os.makedirs(home, exist_ok=True)
    # copies, as a guest that shares the folder cannot follow links out of it
    for source, target in ((os.path.join(places.CONFIGURATIONS, "common"), os.path.join(home, "common")),
                           (places.TEMPLATES, os.path.join(folder, "pkt_templates"))):
        shutil.copytree(source, target, dirs_exist_ok=True)
    if switch.one_mac and scenario in GATEWAY:
        _save(os.path.join(home, ONE_MAC), one_mac())
        _one_source(os.path.join(folder, "pkt_templates"))
    texts = {TESTER: tester(scenario, topology, switch, cpus[TESTER], idle, train)}
    for v in topology.vnfs:
        texts[v.name] = (vnf if v.joined else gateway)(v, switch, guests.CORE if guest else cpus[v.name], idle, guest)
    for name, text in templates(switch).items():
        _save(os.path.join(home, name), text)
    return {name: _save(os.path.join(home, f"{name}.cfg"), text) for name, text in texts.items()}


def _one_source(templates):
    """Have all CPEs of a port send from the MAC address of its first, in the packet templates of a folder."""
    for entry in os.scandir(templates):
        with open(entry.path, encoding="utf-8") as f:
            text = f.read()
        _save(entry.path, re.sub(r"^(ether src 02:c\d:00:00:00:00) \+ user\S* ", r"\1 ", text, flags=re.MULTILINE))


def _save(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path
