# SPDX-License-Identifier: BSD-3-Clause
"""The image of tools/deploy/Containerfile, built by buildah on a Debian that debootstrap makes, and run by podman: gateway and tester in two
containers that share a volume. With VBNG_TEST_IMAGE=1 only: it fetches some hundred packages and takes minutes.

A base that was made is left in /var/tmp/vbng-image/base; the images are removed. VBNG_TEST_IMAGE=keep leaves them there, and takes one that is."""

import json
import os
import shutil
import subprocess
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.switch import bed
from vbnglab.switches import adapters, bench, containers

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = "/var/tmp/vbng-image"
BASE, STORE = f"{HOME}/base", f"{HOME}/store"
RELEASE, MIRROR = "bookworm", "http://deb.debian.org/debian"
STORAGE = ["--root", STORE, "--runroot", f"{HOME}/run", "--storage-driver", "overlay"]
RUN = ["podman", *STORAGE, "--cgroup-manager=cgroupfs", "--runtime", "runc", "run", "--rm", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024",
       "--network", "none"]  # fmt: skip
IMAGE, DEBIAN = "localhost/vbng:test", "localhost/vbng-base:test"
CFG = "/usr/local/share/vbng/cfg"
SECONDS = 6
# switch, scenario, number, mode
BEHIND = (
    ("testpmd", "loopback", 1, "patch"),
    ("testpmd", "bng", 1, "patch"),
    ("basicfwd", "loopback", 1, "patch"),
    ("basicfwd", "bng", 1, "patch"),
    ("ovs-dpdk", "loopback", 1, "patch"),
    ("ovs-dpdk", "loopback", 2, "patch"),
    ("ovs-dpdk", "bng", 1, "patch"),
    ("linux-bridge", "loopback", 1, "patch"),
    ("linux-bridge", "bng", 1, "learn"),
    ("ip-forward", "loopback", 1, "learn"),
    ("direct", "loopback", 1, "patch"),
    ("snabb", "loopback", 1, "patch"),  # these where someone has brought them
    ("snabb", "bng", 1, "patch"),
    ("fastclick", "loopback", 1, "patch"),
    ("fastclick", "bng", 1, "patch"),
    ("bess", "loopback", 1, "patch"),
    ("bess", "bng", 1, "patch"),
    ("vpp", "loopback", 1, "patch"),
    ("vpp", "bng", 1, "patch"),
    ("t4p4s", "bng", 1, "learn"),
)
pytestmark = pytest.mark.limit(3000)


def do(*command, seconds=60):
    """Run a command that must succeed. Returns what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(seconds))
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-3000:]}"
    return done.stdout


def forget():
    subprocess.run(["podman", *STORAGE, "rmi", "--all", "--force"], capture_output=True)
    shutil.rmtree(STORE, ignore_errors=True)
    shutil.rmtree(f"{HOME}/run", ignore_errors=True)


@pytest.fixture(scope="module")
def image():
    """The image, built of the tree as it is."""
    if not os.environ.get("VBNG_TEST_IMAGE"):
        need.skip("building an image fetches packages and takes minutes: set VBNG_TEST_IMAGE=1")
    need.root("buildah with chroot isolation")
    for program in ("buildah", "podman", "runc", "debootstrap"):
        need.program(program)
    keep = os.environ["VBNG_TEST_IMAGE"] == "keep"
    os.makedirs(HOME, mode=0o700, exist_ok=True)
    if not os.path.exists(BASE):
        shutil.rmtree(f"{BASE}.part", ignore_errors=True)
        do("debootstrap", "--variant=minbase", RELEASE, f"{BASE}.part", os.environ.get("VBNG_TEST_MIRROR", MIRROR), seconds=600)
        os.rename(f"{BASE}.part", BASE)
    if keep and subprocess.run(["podman", *STORAGE, "image", "exists", IMAGE]).returncode == 0:
        yield IMAGE
        return
    forget()
    try:
        do("sh", "-c", 'base=$1; shift; tar -C "$base" -c . | podman "$@"', "sh", BASE, *STORAGE, "import", "-", DEBIAN, seconds=120)
        do("buildah", *STORAGE, "build", "--isolation", "chroot", "--pull-never", "--build-arg", f"BASE={DEBIAN}", "-f",
           f"{TOP}/tools/deploy/Containerfile", "-t", IMAGE, TOP, seconds=1500)  # fmt: skip
        yield IMAGE
    finally:
        if not keep:
            forget()


def inside(*words):
    return do(*RUN, "--entrypoint", "sh", IMAGE, "-c", " ".join(words))


def test_all_that_it_is_linked_to_is_there(image):
    """The program starts; it and each driver find their libraries; the compiler of the first stage is not there."""
    assert do(*RUN, image, "--version").startswith("vbng ")
    said = inside("ldd /usr/local/bin/vbng /usr/lib/*/dpdk/pmds-*/*.so.*; command -v gcc || echo no compiler")
    assert "librte_net_virtio.so" in said and "not found" not in said, said
    assert said.endswith("no compiler\n"), said


def test_the_control_plane_is_there(image):
    assert do(*RUN, "--entrypoint", "vbng-cp", image, "--version").startswith("vbng-cp ")
    assert "not found" not in inside("ldd /usr/local/bin/vbng-cp")


def test_configurations_and_clients(image):
    assert do(*RUN, image, "--check", f"{CFG}/bng-virtio-user.cfg") is not None
    assert "usage" in inside("vbngctl --help").lower()


def first_core(folder, config, core="c0"):
    """A file with a layout for a configuration: all of it on the first core of those that its container was given. Returns options for it."""
    (folder / f"{core}-{config}").write_text(f'layout = ( {{ core = "{core}"; tasks = "*"; }} );\n')
    return ["--layout", f"/run/vbng/{core}-{config}"]


@pytest.mark.parametrize("cpuset", [False, True], ids=["with all CPUs", "with one CPU each"])
def test_gateway_and_tester(image, folder, cpuset):
    """Two containers with one volume: both ledgers balance, packets arrive and none is wrong. With a cpuset for each, as of a Pod, each runs on
    the CPU that it was given, by a layout that names none."""
    folder.chmod(0o777)
    cpus, shared = bed.cpus(), ["-v", f"{folder}:/run/vbng"]
    given = {name: ["--cpuset-cpus", str(cpu)] if cpuset else [] for name, cpu in (("t", cpus[0]), ("g", cpus[-1]))}

    def command(name, seconds, config):
        return [*RUN, *shared, *given[name], image, "--quiet", "--share-cpus", "--duration", f"{seconds}s", "--report", f"{name}.json",
                *(first_core(folder, config) if cpuset else []), f"{CFG}/{config}"]  # fmt: skip

    tester = subprocess.Popen(command("t", SECONDS + 4, "gen-vhost.cfg"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        end = time.monotonic() + limit(30)
        while len(list(folder.glob("*.sock"))) < 4 and tester.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        do(*command("g", SECONDS, "bng-virtio-user.cfg"))
        said = tester.communicate(timeout=limit(60))[0]
    finally:
        tester.kill()
    assert tester.returncode == 0, said
    reports = {name: json.loads((folder / f"{name}.json").read_text()) for name in "tg"}
    assert all(r["ledger"]["balances"] for r in reports.values())
    streams = [s for t in reports["t"]["tasks"] if t["type"] == "sink" for s in t["measured"]["streams"]]
    assert streams and all(s["received"] > 0 and not any(s["wrong"].values()) for s in streams), streams
    if cpuset:
        assert [c["cpu"] for name in "tg" for c in reports[name]["cores"]] == [cpus[0], cpus[-1]]


def test_a_core_beyond_the_cpuset(image, folder):
    """A layout with more cores than the container was given is refused, and the message says which it was given."""
    cpu = bed.cpus()[-1]
    done = subprocess.run([*RUN, "-v", f"{folder}:/run/vbng", "--cpuset-cpus", str(cpu), image, "--quiet", *first_core(folder, "bng-virtio-user.cfg", "c1"),
                           f"{CFG}/bng-virtio-user.cfg"], capture_output=True, text=True, timeout=limit(60))  # fmt: skip
    assert done.returncode != 0 and f"this process was given 1 physical core, CPU {cpu}" in done.stderr, done.stderr


@pytest.mark.parametrize("name, scenario, number, mode", [pytest.param(*case, id=": ".join(map(str, case))) for case in BEHIND])
def test_behind_a_switch(image, vbng, folder, name, scenario, number, mode):
    """VNFs in containers behind a switch, by the adapter of vbng-lab switch: each packet is found again."""
    bed.installed(adapters.ALL[name])
    places = containers.Containers(image, tuple(STORAGE))
    bed.all_found_again(bench.make(adapters.ALL[name], bench.Setup(scenario, number, mode, vnf_in="container"), str(folder), bed.cpus(), vbng, places=places))


@pytest.mark.parametrize("scenario", ["loopback", "bng"])
def test_a_pod_behind_ovs(image, vbng, folder, scenario):
    """A VNF that is given the last CPU alone, and whose layout is on c0, runs there, and each packet is found again."""
    bed.installed(adapters.ALL["ovs-dpdk"])
    places = containers.Containers(image, tuple(STORAGE), cpuset=True)
    one = bench.make(adapters.ALL["ovs-dpdk"], bench.Setup(scenario, vnf_in="container"), str(folder), bed.cpus(), vbng, places=places)
    (vnf,) = one.vnfs
    bed.all_found_again(one)
    assert [c["cpu"] for c in one.last["reports"][vnf]["cores"]] == [one.where[vnf]] == [bed.cpus()[-1]]
