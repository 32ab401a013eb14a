# SPDX-License-Identifier: BSD-3-Clause
"""The bridge of the Linux kernel, one for each connection."""

from .kernel import KernelSwitch


class LinuxBridge(KernelSwitch):
    name, title = "linux-bridge", "Linux bridge"

    def wiring(self):
        out = []
        for i, (a, b) in enumerate(self.pairs()):
            bridge = f"br{i}"
            # a bridge that learns nothing floods every frame to the only other port
            learning = "on" if self.connections[i][2] == "learn" else "off"
            out.append(["ip", "-n", self.netns, "link", "add", bridge, "mtu", "2000", "type", "bridge", "stp_state", "0",
                        "forward_delay", "0", "mcast_snooping", "0"])  # fmt: skip
            for p in (a, b):
                out += [["ip", "-n", self.netns, "link", "set", p.at, "master", bridge],
                        ["bridge", "-n", self.netns, "link", "set", "dev", p.at, "learning", learning, "flood", "on"]]
            out.append(["ip", "-n", self.netns, "link", "set", bridge, "up"])
        return out
