# SPDX-License-Identifier: BSD-3-Clause
"""A configuration for so many subscribers: what vbng --plan is asked about, and what one can begin with."""

import ipaddress
from dataclasses import dataclass

PER_SVLAN = 4000  # C-VLANs of each S-VLAN
FIRST_ADDRESS = int(ipaddress.IPv4Address("10.0.0.0"))


@dataclass(frozen=True)
class Gateway:
    """What the configuration is about."""

    subscribers: int
    routes: int
    access: int  # ports
    core: int  # ports
    port_rate: float  # bit/s
    sold: float  # bit/s, of the profile
    shaping: str  # wheel, librte_sched or none
    queue: str  # of best effort, as in a configuration
    mbufs: int  # of the pool
    cores: int  # 1: everything on one; else a core for each direction


def _ranges(g):
    """Ranges of subscribers, as even over the access ports as can be: (port, S-VLANs, C-VLANs, number of the first, how many)."""
    first = 0
    for port in range(g.access):
        left = g.subscribers // g.access + (port < g.subscribers % g.access)
        svlan = 1
        while left > 0:
            rows = max(1, left // PER_SVLAN)
            width = min(left, PER_SVLAN)
            yield port, f"{svlan}-{svlan + rows - 1}", f"1-{width}", first, rows * width
            first, left, svlan = first + rows * width, left - rows * width, svlan + rows


def _subscribers(g):
    """Lines of the ranges, each in a block of addresses of its own."""
    address = FIRST_ADDRESS
    for port, svlan, cvlan, first, n in _ranges(g):
        size = 1 << max(0, (n - 1).bit_length())
        address = (address + size - 1) // size * size
        profile = ' profile = "sold";' if g.shaping != "none" else ""
        yield (f'    {{ port = "access{port}"; svlan = "{svlan}"; cvlan = "{cvlan}"; ipv4 = "{ipaddress.IPv4Address(address)}/{32 - size.bit_length() + 1}"; '
               f'gre_key = "{first}-{first + n - 1}";{profile} }}')
        address += size


def _routes(g):
    """Lines of routes: a default, and /28s over all core ports."""
    yield '    { prefix = "0.0.0.0/0"; port = "core0"; via = "192.0.2.2"; gre = "203.0.113.1"; }'
    each = (g.routes - 1) // g.core
    for port in range(g.core):
        n = each + (port < (g.routes - 1) % g.core)
        if n > 0:
            prefix = ipaddress.IPv4Address((20 + port) << 24)
            yield (f'    {{ prefix = "{prefix}/28"; count = "{n}"; port = "core{port}"; via = "192.0.2.{4 * port + 2}"; gre = "203.0.113.{port + 1}"; }}')


def _tasks(g):
    """(upstream, downstream, slow path), each a list of (name, keys)."""
    access, core = [f"access{i}" for i in range(g.access)], [f"core{i}" for i in range(g.core)]
    shaped = g.shaping != "none"
    by = ' scheduler = "line";' if shaped else ""
    up = [("classify", f'type = "classify"; from = {_list(access)};{by} to = {_list(["shape_up" if shaped else "untag"])}; punt = "arp";'),
          *([("shape_up", 'type = "qos"; scheduler = "line"; direction = "up"; to = "untag";')] if shaped else []),
          ("untag", 'type = "qinq_decap"; to = "route";'), ("route", 'type = "route"; to = "tunnel"; punt = "arp";'),
          ("tunnel", f'type = "gre_encap"; to = {_list(core)};')]
    down = [("untunnel", f'type = "gre_decap"; from = {_list(core)};{by} to = "tag"; punt = "arp";'),
            ("tag", f'type = "qinq_encap"; to = {_list(["shape_down"] if shaped else access)}; punt = "arp";'),
            *([("shape_down", f'type = "qos"; scheduler = "line"; direction = "down"; to = {_list(access)};')] if shaped else [])]
    slow = [("arp", f'type = "arp"; to = {_list(access + core)}; route = "own_route";'), ("own_route", 'type = "route"; to = "tunnel";')]
    return up, down, slow


def _ports(g):
    """Lines of the ports; PCI addresses are made up."""
    kinds = (("access", g.access, 0x01, lambda i: f"100.64.0.{i + 1}"), ("core", g.core, 0x41, lambda i: f"192.0.2.{4 * i + 1}"))
    for kind, n, bus, address in kinds:
        for i in range(n):
            yield f'    {{ name = "{kind}{i}"; device = "0000:{bus + i:02x}:00.0"; addresses = "{address(i)}"; on_full = "wait"; }}'


def _qos(g):
    """The section qos: one profile, a scheduler over all access ports with a subport for each."""
    rate, port = f"{g.sold / 1e6:g}M", f"{g.port_rate / 1e9:g}G"
    names = [f"access{i}" for i in range(g.access)]
    subports = ",\n".join(f'            {{ name = "{n}"; port = "{n}"; rate = "{port}"; }}' for n in names)
    return f"""
qos = {{
    profiles = {{ sold = {{ up = {{ rate = "{rate}"; }}; down = {{ rate = "{rate}"; }}; }}; }};
    dscp_maps = {{ ip = {{ queues = ( {{ dscp = "46"; class = "0"; }} ); default = {{ class = "be"; }}; }}; }};
    schedulers = {{ line = {{
        ports = {_list(names)}; dscp_map = "ip"; rate = "{g.access * g.port_rate / 1e9:g}G"; backend = "{g.shaping}";
        subports = (
{subports}
        );
        classes = ( {{ class = "0"; queue = 16; }}, {{ class = "be"; queue = {g.queue}; }} );
    }}; }};
}};
"""


def _list(names):
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _section(name, lines):
    return f"\n{name} = (\n" + ",\n".join(lines) + "\n);\n"


def configuration(g):
    """The text of a configuration."""
    up, down, slow = _tasks(g)
    cores = [up + down + slow] if g.cores == 1 else [up + slow, down]
    return "".join([
        "# Made by vbng-lab size: devices, addresses and the profile are to be changed.\n",
        f'name = "sized";\nmemory = "hugepages";\npools = {{ default = {{ mbufs = {g.mbufs}; overcommit = true; }}; }};\n',
        _section("ports", _ports(g)), _qos(g) if g.shaping != "none" else "", _section("subscribers", _subscribers(g)), _section("routes", _routes(g)),
        _section("tasks", [f'    {{ name = "{name}"; {keys} }}' for name, keys in up + down + slow]),
        _section("layout", [f'    {{ core = "{i}"; tasks = {_list([name for name, _ in tasks])}; }}' for i, tasks in enumerate(cores)])])
