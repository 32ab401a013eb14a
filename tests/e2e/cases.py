# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the modules of this folder, as pytest's parameters: (title, function of a process.Context)."""

import re

from tests.common.verdict import params

# Of cases that differ in a delay or a configuration alone, the short run has a few; of those that fill a rate for seconds, none.
SAME = re.compile("SIG(INT|TERM) after|both directions forward|TCP of both families")
SOME = re.compile(r"SIGINT after (0\.0|1\.)|SIGTERM after 0\.[59]|: bng-(qos-4port-shards|4port-pipeline|dual-4port)\.cfg$")


def in_short_run(title):
    return not SAME.match(title) or SOME.search(title) is not None


def of(*modules):
    return params([case for module in modules for case in module.tests()], short=in_short_run)
