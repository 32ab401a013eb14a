# SPDX-License-Identifier: BSD-3-Clause
"""The unit under a real systemd, in a container of systemd-nspawn with this machine's /usr and an installed vbng. container.sh is what
happens there."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.common import need
from tests.common.limits import limit

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
CASE = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash /case/container.sh
"""


def root_folder(folder):
    """What a container has beside /usr: no machine's settings but its users' names and its libraries."""
    root = folder / "root"
    for name in ("usr", "etc/systemd/system/multi-user.target.wants", "var/log/journal", "run", "tmp", "proc", "sys", "dev", "root", "case", "results"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "shadow", "nsswitch.conf", "ld.so.cache", "os-release"):
        shutil.copy(f"/etc/{name}", root / "etc" / name)
    for mask in ("systemd-firstboot.service", "dpdk.service"):
        (root / "etc/systemd/system" / mask).symlink_to("/dev/null")
    # A first boot, without this, would enable all units that are installed.
    (root / "etc/machine-id").write_text("0" * 31 + "1\n")
    (root / "etc/systemd/system/case.service").write_text(CASE)
    (root / "etc/systemd/system/multi-user.target.wants/case.service").symlink_to("../case.service")
    return root


@pytest.fixture(scope="module")
def steps(build, module_folder):
    """{step: (what it printed, exit status)}"""
    nspawn = need.program("systemd-nspawn", "systemd-container")
    need.root("a container with systemd in it")
    if not os.path.samefile("/bin", "/usr/bin"):
        need.skip("/bin is not /usr/bin here")
    installed = subprocess.run([need.program("meson"), "install", "-C", build, "--no-rebuild", "--quiet"], capture_output=True, text=True,
                               env={**os.environ, "DESTDIR": str(module_folder / "installed")}, check=False)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    if not (prefix := module_folder / "installed/usr/local").is_dir():
        need.skip("the build's prefix is not /usr/local")
    root = root_folder(module_folder)
    for path in (HERE / "container.sh", TOP / "doc/service.md", TOP / "tools/deploy/vbng.service"):
        shutil.copy(path, root / "case")
    results = module_folder / "results"
    results.mkdir()
    ran = subprocess.run([nspawn, "--quiet", "--register=no", "--keep-unit", f"--directory={root}", "--bind-ro=/usr", f"--bind={prefix}:/usr/local",
                          f"--bind={results}:/results", "--bind-ro=/sys/module",  # which DPDK reads
                          "--private-network", "--console=pipe", "--boot", "systemd.unit=multi-user.target"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit(400), check=False)
    if not list(results.iterdir()):
        need.skip(f"systemd does not start in a container here: {ran.stdout.decode(errors='replace').strip()[-300:]}")
    found = {}
    for path in results.iterdir():
        *lines, status = path.read_text(errors="replace").splitlines() or ["0"]
        found[path.name] = ("\n".join(lines), int(status))
    assert "done" in found, found
    return found


pytestmark = [pytest.mark.long, pytest.mark.limit(450)]


def test_systemd_has_nothing_to_say_of_the_unit(steps):
    assert steps["verify"] == ("", 0)


def test_a_wrong_configuration_is_told_at_once(steps):
    """By the command that starts it, with the line in the journal as an error; and it is not tried again."""
    assert steps["wrong"][1] != 0
    assert "/etc/vbng/vbng.cfg:1: error: key 'nonsense'" in steps["wrong_journal"][0], steps["wrong_journal"]
    assert steps["wrong_restarts"] == ("0", 0), steps["wrong_all"]


def test_an_example_alone_is_a_service(steps):
    assert steps["example"][1] == 0, steps["example"]
    assert steps["active"] == ("active", 0)
    assert steps["status"][0].startswith("forwarding: 8 ports, 65536 subscribers")
    assert steps["reload"][1] == 0, steps["reload"]


def test_who_may_use_the_control_socket(steps):
    """Members of the group, and no others."""
    assert steps["operator"][1] == 0 and '"received"' in steps["operator"][0], steps["operator"]
    assert steps["stranger"][1] != 0


def test_the_lab_finds_the_service(steps):
    assert steps["exporter"][1] == 0 and "classify" in steps["exporter"][0], steps["exporter"]


def test_the_control_plane(steps):
    """Its unit: it starts with RADIUS, the exporter finds it, it is started again when it was killed, and follows a vbng that is started anew."""
    if "cp_start" not in steps:
        need.skip("vbng-cp is not built here (Debian package libsqlite3-dev)")
    assert steps["cp_verify"] == ("", 0)
    assert steps["cp_start"][1] == 0, steps["cp_first"]
    for name in ("cp_compared", "cp_again", "cp_follows", "cp_stop"):
        assert steps[name][1] == 0, (name, steps[name], steps["cp_journal"])
    assert steps["cp_pid"] == ("1", 0) and steps["cp_result"] == ("success", 0), steps["cp_journal"]
    if "prometheus_client is not installed" not in steps["cp_metrics"][0]:
        assert "vbng_cp_up 1.0" in steps["cp_metrics"][0].splitlines(), steps["cp_metrics"]


def test_the_watchdog_starts_it_again(steps):
    assert steps["watchdog"][1] == 0, steps["watchdog_journal"]
    assert re.search("watchdog", steps["watchdog_journal"][0], re.I)


def test_a_stop_is_clean(steps):
    assert steps["stop"][1] == 0
    assert steps["stop_result"] == ("success", 0)
    assert "balances" in steps["ledger"][0], steps["ledger"]


def test_nics_may_come_late(steps):
    """It is started again as often as it takes, far more often than systemd's five times in ten seconds."""
    assert steps["late"][1] != 0
    assert steps["late_often"][1] == 0
    assert steps["late_active"][1] == 0, steps["late_journal"]
    assert steps["late_stop"][1] == 0
