# SPDX-License-Identifier: BSD-3-Clause
"""All cases, in the order in which they run."""

from tests.pcap import cases_arp
from tests.pcap import cases_core
from tests.pcap import cases_downstream
from tests.pcap import cases_drops
from tests.pcap import cases_ecmp
from tests.pcap import cases_hosts
from tests.pcap import cases_icmp
from tests.pcap import cases_icmp6
from tests.pcap import cases_ipv6
from tests.pcap import cases_ipv6_core
from tests.pcap import cases_nd
from tests.pcap import cases_nd_core
from tests.pcap import cases_pppoe
from tests.pcap import cases_truncated
from tests.pcap import cases_tunnel6
from tests.pcap import cases_upstream

PARTS = (cases_upstream, cases_downstream, cases_drops, cases_core, cases_truncated, cases_arp, cases_icmp, cases_hosts, cases_ecmp, cases_ipv6, cases_ipv6_core,
         cases_nd, cases_nd_core, cases_icmp6, cases_tunnel6, cases_pppoe)


def all_cases():
    return [case for part in PARTS for case in part.cases()]
