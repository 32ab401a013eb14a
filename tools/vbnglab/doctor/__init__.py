# SPDX-License-Identifier: BSD-3-Clause
"""What of a machine keeps a configuration from running well: vbng-lab doctor, doc/doctor.md.

A check is a generator of findings: check(machine, needs). machine.py reads /proc and /sys below a root, needs.py says
what the configuration uses, memory.py, cpus.py and devices.py have the checks, report.py runs and prints them.
"""
