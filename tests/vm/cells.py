# SPDX-License-Identifier: BSD-3-Clause
"""In a guest: the command that makes a row of doc/switches.md's table fills each cell by a figure, or says why there is none. usage: cells.py SWITCH VBNG FOLDER"""

import re
import subprocess
import sys

from vbnglab.switches import adapters

FIGURE = r"[\d.e-]+ \([\d.e-]+–[\d.e-]+\)"
NEEDS = "SR-IOV VF has no ports for a {place}: they are of kind vf, and a {place} takes "
NO_LOOPBACK = "SR-IOV VF sends by MAC address, which the VNFs of this scenario do not change"
CELLS = {
    "ovs-kernel": {"v2v-host": FIGURE, "loopback-host": FIGURE, "bng-host": FIGURE},
    "vale": {"v2v-host": FIGURE, "loopback-host": FIGURE, "bng-host": FIGURE},
    "sriov": {"v2v-host": FIGURE, "loopback-host": NO_LOOPBACK, "bng-host": FIGURE, "bng-container": NEEDS.format(place="container") + "vhost, memif, veth",
              "bng-guest": NEEDS.format(place="guest") + "vhost or tap"},
}  # fmt: skip
SECONDS = 1200  # for a row and the boot before it: all that is emulated counts as disturbed, and is tried twice


def main(name, vbng, folder):
    wanted = CELLS[name]
    done = subprocess.run([sys.executable, "-m", "vbnglab", "switch", "row", "--switch", name, "--quick", "--seconds", "1", "--max-trials", "1",
                           "--only", ",".join(wanted), "--vbng", vbng, "--out", f"{folder}/row"], capture_output=True, text=True)  # fmt: skip
    print(done.stdout, done.stderr)
    cells = next((line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith(f"| {adapters.ALL[name].title} ")), [])
    assert done.returncode == 0 and len(cells) == 1 + len(wanted) and all(map(re.fullmatch, wanted.values(), cells[1:])), (done.returncode, cells)


if __name__ == "__main__":
    main(*sys.argv[1:])
