# SPDX-License-Identifier: BSD-3-Clause
"""What the switches of the Linux kernel have in common: a network namespace of their own, and veth pairs whose other
ends vbng opens as packet sockets."""

import json
import os
import platform
import subprocess

from .base import Port, Switch, installed

MTU = 2000  # MTU of veth ends, with room for tags and tunnels
MODULES = "/sys/module"
FANOUT_STEP = 1024  # distance of the interface indices of two ports


class KernelSwitch(Switch):
    """A switch of the kernel, in the namespace vb-TAG. Port N is the end sN of a veth pair there; the VNF has the end vbTAGpN."""

    kinds = ("veth",)
    modes = ("patch", "learn")
    own_cpu = False
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
        far = f"vb{self.tag}p{number}"
        return Port(name, kind, number, f"net_af_packet{number},iface={far},framecnt=2048", f"s{number}")

    def inside(self, *command):
        """A command in the namespace."""
        return ["ip", "netns", "exec", self.netns, *command]

    def cables(self):
        """Commands that make the namespace and the veth pairs, without IPv6, which would send packets of its own."""
        quiet = "echo 1 >/proc/sys/net/ipv6/conf/{}/disable_ipv6 || true"
        out = [["ip", "netns", "add", self.netns], self.inside("sh", "-c", quiet.format("all")),
               self.inside("sh", "-c", quiet.format("default"))]
        for p in self.ports.values():
            far = f"vb{self.tag}p{p.number}"
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
        """Counters of the veth ends in the namespace."""
        out = {}
        links = json.loads(self.run(["ip", "-n", self.netns, "-s", "-j", "link", "show"]))
        by_name = {link["ifname"]: link["stats64"] for link in links if "stats64" in link}
        for p in self.ports.values():
            s = by_name.get(p.at)
            if s:
                out[p.name] = {"rx_packets": s["rx"]["packets"], "rx_drop": s["rx"]["dropped"] + s["rx"]["errors"],
                               "tx_packets": s["tx"]["packets"], "tx_drop": s["tx"]["dropped"] + s["tx"]["errors"]}
        return out

    def undo(self):
        """Commands that remove namespace and veth pairs; the pairs would end with the namespace, but too late for the next switch."""
        return [*(["ip", "link", "del", f"vb{self.tag}p{p.number}"] for p in self.ports.values()), ["ip", "netns", "del", self.netns]]


def module(name):
    """Tell whether the kernel has a module, loadable or built in."""
    return os.path.isdir(f"{MODULES}/{name}")
