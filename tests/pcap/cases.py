# SPDX-License-Identifier: BSD-3-Clause
"""All cases, in the order in which they run."""

import cases_arp
import cases_downstream
import cases_drops
import cases_icmp
import cases_truncated
import cases_upstream

PARTS = (cases_upstream, cases_downstream, cases_drops, cases_truncated, cases_arp, cases_icmp)


def all_cases():
    return [case for part in PARTS for case in part.cases()]
