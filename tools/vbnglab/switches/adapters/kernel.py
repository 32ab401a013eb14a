# SPDX-License-Identifier: BSD-3-Clause
"""What the switches of the Linux kernel have in common: a network namespace of their own, and veth pairs whose other
ends vbng opens as packet sockets, or tap interfaces, which are the ports of guests."""

import json
import os
import platform
import subprocess

from .base import Port, Switch, installed

MTU = 2000  # MTU of veth ends, with room for tags and tunnels
MODULES = "/sys/module"
NOTHING = {"tx": {"dropped": 0}}  # what a tap's other end counts
FANOUT_STEP = 1024  # distance of the interface indices of two ports


class KernelSwitch(Switch):
    """A switch of the kernel, in the namespace vb-TAG. Port N is the end sN of a veth pair there, whose end vbTAGpN the VNF has, or the tap
    interface sN, which QEMU opens there."""

    kinds = ("veth", "tap")
    modes = ("patch", "learn")
    own_cpu = False
    forgets = False  # the adapter makes the interfaces, and they stay when the VNF goes
    needs = "Debian package iproute2, and the right to make network namespaces"

    @property
    def netns(self):
        """Name of the namespace."""
        return f"vb-{self.tag}"

    @classmethod
    def probe(cls):
        path, why = installed("ip", cls.needs)
        if path is None:
            return None, why
        made = subprocess.run(["unshare", "-nm", "true"], capture_output=True, text=True)
        if made.returncode != 0:
            return None, f"no network namespace can be made here ({made.stderr.strip()})"
        return cls.kernel()

    @classmethod
    def kernel(cls):
        """For probe(): the version of the kernel, or what it lacks."""
        return f"Linux {platform.release().split('-')[0]}", ""

    def attach(self, name, kind, number, device):
        device = f"net_af_packet{number},iface={self._far(number)},framecnt=2048" if kind == "veth" else ""
        return Port(name, kind, number, device, f"s{number}")

    def _far(self, number):
        """Name of the VNF's end of a veth pair."""
        return f"vb{self.tag}p{number}"

    def inside(self, *command):
        return ["ip", "netns", "exec", self.netns, *command]

    def cables(self):
        """Commands that make the namespace and the interfaces, without IPv6, which would send packets of its own."""
        quiet = "echo 1 >/proc/sys/net/ipv6/conf/{}/disable_ipv6 || true"
        out = [["ip", "netns", "add", self.netns], self.inside("sh", "-c", quiet.format("all")),
               self.inside("sh", "-c", quiet.format("default"))]
        for p in self.ports.values():
            if p.kind == "tap":
                out += [["ip", "-n", self.netns, "tuntap", "add", p.at, "mode", "tap"],
                        ["ip", "-n", self.netns, "link", "set", p.at, "mtu", str(MTU), "up"]]
                continue
            far = self._far(p.number)
            out += [["ip", "link", "add", far, "index", str(self.index(p.number)), "mtu", str(MTU), "type", "veth",
                     "peer", "name", p.at, "mtu", str(MTU), "netns", self.netns],
                    ["sh", "-c", quiet.format(far)], ["ip", "link", "set", far, "up"],
                    ["ip", "-n", self.netns, "link", "set", p.at, "up"]]  # fmt: skip
        return out

    def index(self, number):
        """Interface index of the VNF's end of a port. net_af_packet joins the fanout group (process id XOR index) mod 65536, and
        the kernel refuses a group that another interface has. Two processes that start less than FANOUT_STEP processes apart
        differ in the low bits, which all these indices have in common, and so in their groups."""
        return (int(self.tag, 16) % 0x7FFF + 1) << 16 | number * FANOUT_STEP

    def before(self):
        return [*self.cables(), *self.wiring()]

    def wiring(self):
        """Commands that make the namespace the switch."""
        raise NotImplementedError

    def counters(self):
        """Counters of the veth ends in the namespace. What finds a CPU's backlog full is in "dropped" of the end that sends it: of the VNF's end, too."""
        out = {}
        inside, beside = (self._links(*words) for words in (("-n", self.netns), ()))
        for p in self.ports.values():
            s, far = inside.get(p.at), beside.get(self._far(p.number), NOTHING)
            if s:
                out[p.name] = {"rx_packets": s["rx"]["packets"], "rx_drop": s["rx"]["dropped"] + s["rx"]["errors"] + far["tx"]["dropped"],
                               "tx_packets": s["tx"]["packets"], "tx_drop": s["tx"]["dropped"] + s["tx"]["errors"]}
        return out

    def _links(self, *where):
        """{name: counters} of the interfaces in a namespace."""
        links = json.loads(self.run(["ip", *where, "-s", "-j", "link", "show"]))
        return {link["ifname"]: link["stats64"] for link in links if "stats64" in link}

    def undo(self):
        """Commands that remove namespace and veth pairs; the pairs would end with the namespace, but too late for the next switch."""
        pairs = (p for p in self.ports.values() if p.kind == "veth")
        return [*(["ip", "link", "del", self._far(p.number)] for p in pairs), ["ip", "netns", "del", self.netns]]


def module(name):
    """Tell whether the kernel has a module, loadable or built in."""
    return os.path.isdir(f"{MODULES}/{name}")
