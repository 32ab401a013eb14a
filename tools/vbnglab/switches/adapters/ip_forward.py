# SPDX-License-Identifier: BSD-3-Clause
"""IP forwarding of the Linux kernel: a router in a network namespace.

Each connection is two routing tables, by the interface that a packet comes from. All its interfaces have the same
MAC address, which is also that of every next hop: a VNF that hands frames on unchanged then sends what the router
takes again, so that chains of VNFs work.
"""

from .kernel import KernelSwitch

MAC = "02:b1:00:00:00:01"


class IpForward(KernelSwitch):
    name, title = "ip-forward", "Linux IP forwarding"
    modes = ("learn",)
    layer = 3
    router_mac = MAC

    def wiring(self):
        # the kernel must neither drop martians nor send redirects, as both ports are in one network
        switches = ("ip_forward=1", "conf/all/rp_filter=0", "conf/default/rp_filter=0", "conf/all/send_redirects=0",
                    "conf/default/send_redirects=0", "conf/all/accept_local=1")
        out = [self.inside("sh", "-c", f"echo {value} >/proc/sys/net/ipv4/{key}") for key, value in (s.split("=") for s in switches)]
        # without any address the kernel knows no next hop: that of lo does
        out.append(["ip", "-n", self.netns, "link", "set", "lo", "up"])
        ports = [p for pair in self.pairs() for p in pair]
        for p in ports:
            out += [["ip", "-n", self.netns, "link", "set", p.at, "address", MAC],
                    self.inside("sh", "-c", f"echo 0 >/proc/sys/net/ipv4/conf/{p.at}/rp_filter"),
                    self.inside("sh", "-c", f"echo 0 >/proc/sys/net/ipv4/conf/{p.at}/send_redirects"),
                    ["ip", "-n", self.netns, "neigh", "add", self._next_hop(p), "lladdr", MAC, "dev", p.at, "nud", "permanent"]]
        for a, b in self.pairs():
            for source, target in ((a, b), (b, a)):
                table = str(100 + source.number)
                out += [["ip", "-n", self.netns, "rule", "add", "iif", source.at, "lookup", table],
                        ["ip", "-n", self.netns, "route", "add", "default", "via", self._next_hop(target), "dev", target.at,
                         "onlink", "table", table]]
        return out

    @staticmethod
    def _next_hop(port):
        return f"192.0.2.{port.number + 1}"
