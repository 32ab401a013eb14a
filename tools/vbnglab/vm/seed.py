# SPDX-License-Identifier: BSD-3-Clause
"""A seed disk for cloud-init: vbng, a configuration and what makes a plain cloud image run it.

The disk holds user-data (from tools/deploy/user-data), meta-data, and vbng.tar, which is unpacked at the first
boot. Libraries come from Debian's packages there. Huge pages and ports are those of the configuration's description.
"""

import os
import re
import shutil
import string
import subprocess
import tarfile
import tempfile

from ..describe.description import describe
from ..describe.source import PlanError, read_plan
from ..lab import places, run
from . import image
from .qemu import MIB, SpecError

TEMPLATE = os.path.join(places.BESIDE, "deploy", "user-data")
LABEL = "CIDATA"  # by which cloud-init finds it
DRIVERS = ("mempool-ring", "bus-pci", "bus-vdev", "net-ring", "net-virtio")  # which DPDK loads by itself


def packages(vbng):
    """Names of Debian's packages with the libraries that a vbng is linked to, and with the drivers of a guest. They end in the
    versions of the libraries, which differ from release to release."""
    found = dict(re.findall(r"/lib(rte_\w+|config|jansson)\.so\.(\d+)", "\n".join(image.libraries(vbng))))
    if "rte_eal" not in found:
        raise image.ImageError(f"{vbng} is not linked to DPDK's shared libraries; install Debian's libdpdk-dev and build it again")
    found.update({"rte_" + name.replace("-", "_"): found["rte_eal"] for name in DRIVERS})
    return sorted("lib" + name.replace("_", "-") + ("-" if name[-1].isdigit() else "") + version for name, version in found.items())


def _described(config, vbng, topology):
    try:
        plan, _ = read_plan(["--topology", topology, config], run.binary(vbng))
    except PlanError as e:
        raise SpecError(str(e).strip()) from e
    return describe(plan)


def user_data(config, described, installed):
    """Text of user-data for cloud-init. installed: names of packages."""
    huge = described["memory"]["hugepages"] or {"page_bytes": 2 * MIB, "pages": 0}
    pages = -(-huge["page_bytes"] * huge["pages"] // (2 * MIB))
    ports = " ".join(p["device"] for p in described["interfaces"] if p["kind"] == "pci")
    with open(TEMPLATE, encoding="utf-8") as f:
        return string.Template(f.read()).substitute(
            packages=", ".join(installed), hugepages=pages, ports=ports, config=os.path.basename(config))


def _archive(path, config, vbng):
    """Write a tar archive of vbng, vbngctl, the folder of the configuration, and the packet templates beside it."""
    folder = os.path.dirname(os.path.abspath(config))

    def owned_by_root(member):
        if "__pycache__" in member.name:
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    with tarfile.open(path, "w") as tar:
        tar.add(vbng, "usr/local/bin/vbng", filter=owned_by_root)
        ctl = os.path.realpath(places.program("vbngctl", "tools/vbngctl"))
        for name in ("vbngctl", "vbngcontrol"):
            tar.add(os.path.join(os.path.dirname(ctl), name), f"usr/local/share/vbng/ctl/{name}", filter=owned_by_root)
        link = tarfile.TarInfo("usr/local/bin/vbngctl")
        link.type, link.linkname = tarfile.SYMTYPE, "../share/vbng/ctl/vbngctl"
        tar.addfile(owned_by_root(link))
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
    vbng = vbng or image.portable_vbng()
    text = user_data(config, _described(config, vbng, topology), packages(vbng))
    with tempfile.TemporaryDirectory(prefix="vbng-seed-") as folder:
        for name, content in (("user-data", text), ("meta-data", "instance-id: vbng\nlocal-hostname: vbng\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(content)
        _archive(os.path.join(folder, "vbng.tar"), config, vbng)
        _write_iso(folder, output)
