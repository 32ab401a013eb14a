# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab vm: vbng in a virtual machine made of Debian packages (doc/vm.md)."""
