# SPDX-License-Identifier: BSD-3-Clause
"""One small adapter per switch; base.py has their contract."""

from .basicfwd import Basicfwd
from .bess import Bess
from .direct import Direct
from .fastclick import FastClick
from .ip_forward import IpForward
from .linux_bridge import LinuxBridge
from .ovs_dpdk import OvsDpdk
from .ovs_kernel import OvsKernel
from .snabb import Snabb
from .sriov import Sriov
from .t4p4s import T4p4s
from .testpmd import Testpmd
from .vale import Vale
from .vpp import Vpp

ALL = {s.name: s for s in (Direct, Testpmd, Basicfwd, OvsDpdk, Vpp, Snabb, Bess, FastClick, T4p4s, Vale, LinuxBridge, OvsKernel,
                           IpForward, Sriov)}
