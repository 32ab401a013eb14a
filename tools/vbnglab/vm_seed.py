# SPDX-License-Identifier: BSD-3-Clause
"""A seed disk for cloud-init: vbng, a configuration and what makes a plain cloud image run it.

The disk holds user-data (from tools/deploy/user-data), meta-data, and vbng.tar, which is unpacked at the first
boot. Libraries come from Debian's packages there. Huge pages and ports are what vbng --describe says.
"""

import json
import os
import shutil
import string
import subprocess
import tarfile
import tempfile

from . import run, vm_image
from .vm_qemu import MIB, SpecError

TEMPLATE = os.path.join(run.TOP, "tools", "deploy", "user-data")
LABEL = "CIDATA"  # by which cloud-init finds it
ABI = "23"  # of DPDK 22.11, in the names of Debian 12's packages
LIBRARIES = ("sched", "lpm", "ip-frag", "ethdev", "mempool-ring", "bus-pci", "bus-vdev", "net-ring", "net-virtio")
PACKAGES = ("libconfig9", "libjansson4", *(f"librte-{name}{ABI}" for name in LIBRARIES))


def _described(config, vbng, topology):
    status, out, err = run.query(["--describe", "--topology", topology, config], vbng)
    if status != 0:
        raise SpecError(err.strip())
    return json.loads(out)


def user_data(config, described):
    """The text for cloud-init."""
    huge = described["memory"]["hugepages"] or {"page_bytes": 2 * MIB, "pages": 0}
    pages = -(-huge["page_bytes"] * huge["pages"] // (2 * MIB))
    ports = " ".join(p["device"] for p in described["interfaces"] if p["kind"] == "pci")
    with open(TEMPLATE, encoding="utf-8") as f:
        return string.Template(f.read()).substitute(
            packages=", ".join(PACKAGES), hugepages=pages, ports=ports, config=os.path.basename(config))


def _archive(path, config, vbng):
    """vbng and vbngctl, the configuration's folder, and the packet templates beside it."""
    folder = os.path.dirname(os.path.abspath(config))

    def owned_by_root(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    with tarfile.open(path, "w") as tar:
        tar.add(vbng, "usr/local/bin/vbng", filter=owned_by_root)
        tar.add(os.path.join(run.TOP, "tools", "vbngctl"), "usr/local/bin/vbngctl", filter=owned_by_root)
        tar.add(folder, "etc/vbng/cfg", filter=owned_by_root)
        templates = os.path.join(os.path.dirname(folder), "pkt_templates")
        if os.path.isdir(templates):
            tar.add(templates, "etc/vbng/pkt_templates", filter=owned_by_root)


def _write_iso(folder, output):
    tools = (["xorriso", "-as", "mkisofs", "-quiet"], ["genisoimage", "-quiet"])
    tool = next((t for t in tools if shutil.which(t[0])), None)
    if tool is None:
        raise SpecError("a disk image cannot be written; install the package xorriso")
    done = subprocess.run([*tool, "-o", output, "-V", LABEL, "-J", "-r", folder], capture_output=True, text=True)
    if done.returncode != 0:
        raise SpecError(f"{tool[0]}: {done.stderr.strip()}")


def make(config, output, topology, vbng=None):
    """Write a seed disk for a configuration on a guest of this topology. Raises SpecError or ImageError."""
    if not os.path.isfile(config):
        raise SpecError(f"{config}: there is no such configuration")
    vbng = vbng or vm_image.portable_vbng()
    text = user_data(config, _described(config, vbng, topology))
    with tempfile.TemporaryDirectory(prefix="vbng-seed-") as folder:
        for name, content in (("user-data", text), ("meta-data", "instance-id: vbng\nlocal-hostname: vbng\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(content)
        _archive(os.path.join(folder, "vbng.tar"), config, vbng)
        _write_iso(folder, output)
