# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory of vbng: one folder for each command of vbng-lab, and lab for what they share. cli.py has the table of commands."""
