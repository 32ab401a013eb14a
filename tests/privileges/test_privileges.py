# SPDX-License-Identifier: BSD-3-Clause
"""vbng without privileges: as an ordinary user, in the sandbox of its systemd unit, what it leaves open to others, and what
others put in its way."""

import glob
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import pytest

from tests.common.limits import limit
from tests.common.verdict import judge, params
from tests.privileges import others

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
UNIT = os.path.join(TOP, "tools", "deploy", "vbng.service")

NOBODY = 65534
EXPOSURE = 15  # of 100, that systemd may find in the unit; it finds 9 without one for NICs
DEMO = ["--quiet", "--share-cpus", "--set", "idle=sleep", "--duration", "500ms", *(
    word for gen in ("cpe0", "cpe1", "core0", "core1") for word in ("--set", f"gen_{gen}.rate=10kpps"))]  # fmt: skip
FORBIDDEN = (["touch", "/var/tmp/vbng-privileges"], ["chown", str(NOBODY), "."], [sys.executable, "-c", "import mmap; mmap.mmap(-1, 4096, prot=7)"])
SOCKETS = """
name = "sockets"; memory = "no-huge"; idle = "sleep";
ports = ( {{ name = "vhost"; device = "net_vhost0,iface={0}/vhost.sock"; }},
          {{ name = "memif"; device = "net_memif0,role=server,socket={0}/memif.sock,socket-abstract=no"; }} );
tasks = ( {{ name = "there"; type = "forward"; from = "vhost"; to = "memif"; }},
          {{ name = "back"; type = "forward"; from = "memif"; to = "vhost"; }} );
layout = ( {{ core = "0"; tasks = ["there", "back"]; }} );
"""


class Place:
    """A folder that an ordinary user may write to, with the program and its configurations."""

    def __init__(self, binary):
        self.binary = binary

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="vbng-privileges-")
        os.chmod(self.path, 0o755)
        self.run = os.path.join(self.path, "run")
        os.mkdir(self.run, 0o700)
        self.binary = shutil.copy(self.binary, self.path)
        for part in ("cfg", "pkt_templates"):
            shutil.copytree(os.path.join(TOP, part), os.path.join(self.path, part))
        self.demo = [self.binary, *DEMO, "--control", f"{self.run}/control.sock", os.path.join(self.path, "cfg", "bng-qos-4port.cfg")]
        if os.getuid() == 0:
            os.chown(self.run, NOBODY, NOBODY)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def try_it(self, command, **environment):
        # the file that LSAN_OPTIONS names is one that an ordinary user may not be able to read
        environment = {"XDG_RUNTIME_DIR": self.run, "LSAN_OPTIONS": ""} | environment
        done = subprocess.run(command, cwd=self.run, capture_output=True, text=True, timeout=limit(100), check=False,
                              env=os.environ | environment)  # fmt: skip
        left = glob.glob(f"{self.run}/dpdk/*") + glob.glob(f"{self.run}/*.sock")
        return [f"exit status {done.returncode}: {done.stdout}{done.stderr}"] * (done.returncode != 0) + [f"left {path}" for path in left]


def ordinary(place):
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []
    return place.try_it([*drop, *place.demo])


def confined(place):
    confine = [sys.executable, os.path.join(HERE, "confine.py"), UNIT, place.run]
    wrong = [f"the sandbox lets one {' '.join(command)}" for command in FORBIDDEN if not place.try_it([*confine, *command])]
    # LeakSanitizer would attach to its own threads, which the filter does not allow
    return wrong + place.try_it([*confine, *place.demo], ASAN_OPTIONS="detect_leaks=0")


def lacks():
    """Why the sandbox cannot be made here; None: it can."""
    if os.getuid() != 0:
        return "only root can make a sandbox"
    probe = subprocess.run(["unshare", "-m", "mount", "-o", "remount,bind,ro", "/"], capture_output=True, text=True, check=False)
    return f"no mount namespace: {probe.stderr.strip()}" if probe.returncode else no_systemd()


def no_systemd():
    return None if shutil.which("systemd-analyze") else "systemd-analyze is not installed (Debian package systemd)"


def others_may_write(place):
    """No socket or file that vbng makes may be written by others, even if its umask were 0."""
    config = os.path.join(place.path, "sockets.cfg")
    with open(config, "w", encoding="utf-8") as f:
        f.write(SOCKETS.format(place.run))
    command = [place.binary, "--quiet", "--share-cpus", "--control", f"{place.run}/control.sock", "--state", f"{place.run}/state",
               "--report", f"{place.run}/report.json", config]  # fmt: skip
    with subprocess.Popen(command, cwd=place.run, env=os.environ | {"XDG_RUNTIME_DIR": place.run}, umask=0,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as vbng:  # fmt: skip
        wanted = {"control.sock", "vhost.sock", "memif.sock", "dpdk_telemetry.v2"}
        # root's DPDK has its folder in /var/run, another's where XDG_RUNTIME_DIR says
        runtime = [f"{place.run}/dpdk/vbng-{vbng.pid}", f"/var/run/dpdk/vbng-{vbng.pid}"]
        found, end = {}, time.monotonic() + limit(60)
        while not wanted <= {os.path.basename(path) for path in found} and time.monotonic() < end and vbng.poll() is None:
            time.sleep(0.05)
            found = {path: os.stat(path).st_mode for folder in (place.run, *runtime) for path in glob.glob(f"{folder}/*")}
        time.sleep(0.2)
        vbng.send_signal(signal.SIGTERM)
        said = vbng.communicate(timeout=limit(60))[1]
    wrong = [f"exit status {vbng.returncode}: {said}"] * (vbng.returncode != 0)
    wrong += [f"there is no {name}: {said}" for name in wanted - {os.path.basename(path) for path in found}]
    found |= {path: os.stat(path).st_mode for path in glob.glob(f"{place.run}/*")}
    return wrong + [f"{path}: mode {stat.filemode(mode)}" for path, mode in found.items() if mode & stat.S_IWOTH and os.path.basename(path) != "run"]


def unit_is_right(place):
    """systemd understands the unit, and finds little that it leaves open."""
    copy = os.path.join(place.path, "vbng.service")
    with open(UNIT, encoding="utf-8") as f:
        text = f.read()
    with open(copy, "w", encoding="utf-8") as f:  # nothing is installed here
        f.write(text.replace("/usr/local/bin/vbngctl", os.path.join(TOP, "tools", "vbngctl")).replace("/usr/local/bin/vbng ", f"{place.binary} "))
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    rated = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE}", copy],
                           capture_output=True, text=True, check=False)  # fmt: skip
    ours = [line for line in verified.stderr.splitlines() if "vbng" in line]  # it also speaks of the units that the machine has
    wrong = [f"verify: {verified.stdout}{verified.stderr}"] * (verified.returncode != 0 or ours != [])
    return wrong + [f"security: {rated.stdout[-300:]}{rated.stderr}"] * (rated.returncode != 0)


CASES = (("as an ordinary user without capabilities", ordinary, lambda: None), ("in the sandbox of its unit", confined, lacks),
         ("what others may write to", others_may_write, lambda: None), ("its unit", unit_is_right, no_systemd), *others.CASES)  # fmt: skip


@pytest.fixture(scope="module")
def place(vbng):
    with Place(vbng) as made:
        yield made


@pytest.mark.parametrize("name, case, why_not", params(CASES))
def test_privileges(place, name, case, why_not):
    judge(why_not() or case(place))
