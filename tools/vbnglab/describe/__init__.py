# SPDX-License-Identifier: BSD-3-Clause
"""What a configuration needs of the machine that will run it, made from `vbng --plan=json`: doc/describe.md.

    from vbnglab.describe import description, source
    d = description.describe(source.load_plan(["--topology", "2x10x2", "cfg/bng-4port.cfg"]))

source gets the plan, description makes a dict of it with the rules of ports, smt and pcie; tosca, k8s and text write that
dict in one form each. dot draws the plan itself.
"""
