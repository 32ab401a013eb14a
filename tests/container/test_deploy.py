# SPDX-License-Identifier: BSD-3-Clause
"""The examples of tools/deploy: the Pod asks for what its configurations need, the seed disk says what vbng describes."""

import json
import os
import re
import shutil
import subprocess
import tempfile

from tests.common import need
from tests.common.verdict import judge, nothing
from vbnglab.describe import k8s
from vbnglab.describe.description import describe
from vbnglab.describe.source import read_plan
from vbnglab.vm import seed as seeds

yaml = need.module("yaml", "python3-yaml")

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(TOP, "tools", "deploy")


def described(binary, config):
    plan, _ = read_plan(["--topology", "1x2x1", config], binary)
    return describe(plan)


def configuration(arguments):
    """The one of cfg/ that a container runs."""
    (path,) = (a for a in arguments if a.endswith(".cfg"))
    return os.path.join(TOP, "cfg", os.path.basename(path)), path


def wrong_pod(binary):
    with open(os.path.join(DEPLOY, "pod.yaml"), encoding="utf-8") as f:
        spec = yaml.safe_load(f)["spec"]
    volumes, wrong = {v["name"] for v in spec["volumes"]}, []
    for c in spec["containers"]:
        config, installed = configuration(c["args"])
        if not os.path.exists(config) or not installed.startswith("/usr/local/share/vbng/cfg/"):
            wrong.append(f"{c['name']}: {installed} is not in the image")
            continue
        need = yaml.safe_load(k8s.write(described(binary, config), "vbng"))["spec"]["containers"][0]["resources"]
        if c["resources"] != need:
            wrong.append(f"{c['name']} asks for {c['resources']}, its description for {need}")
        wrong += [f"{c['name']} mounts {m['name']}" for m in c["volumeMounts"] if m["name"] not in volumes]
    return wrong


def containerfile():
    with open(os.path.join(DEPLOY, "Containerfile"), encoding="utf-8") as f:
        return f.read()


def wrong_copies(build):
    """What it copies is there, and all is copied that is installed from the sources."""
    copied = [m for line in re.findall(r"^COPY (?!--from)(.*) \S+$", containerfile(), re.M) for m in line.split()]
    wrong = [f"{p} is not in the tree" for p in copied if not os.path.exists(os.path.join(TOP, p))]
    done = subprocess.run([need.program("meson"), "introspect", "--installed", build], capture_output=True, text=True, check=True)
    for path in json.loads(done.stdout):
        name = os.path.relpath(path, TOP)
        if os.path.isabs(path) and not path.startswith(f"{build}/") and not any(name == c or name.startswith(f"{c}/") for c in copied):
            wrong.append(f"{name} is installed and not copied")
    return wrong + ([] if copied else ["it copies nothing"])


def packages(*words):
    """What tools/deploy/packages says: (status, names of packages, errors)."""
    done = subprocess.run([os.path.join(DEPLOY, "packages"), *words], capture_output=True, text=True)
    return done.returncode, done.stdout.split(), done.stderr


def eal(binary):
    """Path of the library to which it is linked."""
    return re.search(r"=> (\S+/librte_eal\.so\.\d+)", subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout)[1]


def wrong_packages(binary):
    """The packages of its drivers have them, and those of the program have all that it is linked to."""
    drivers = re.search(r'ARG DRIVERS="(.*?)"', containerfile(), re.S)[1].replace("\\\n", " ").split()
    status, names, said = packages(binary, "--", *drivers)
    if status != 0:
        return [said]
    listed = subprocess.run(["dpkg-query", "-L", *names], capture_output=True, text=True, check=True).stdout.split()
    files = {os.path.basename(path) for path in listed}
    linked = re.findall(r"NEEDED.*\[(\S+)\]", subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True).stdout)
    wrong = [f"nothing has {f}" for f in linked if f not in files and not f.startswith(("ld-linux", "libasan", "libubsan"))]
    return wrong + [f"nothing has the driver {d}" for d in drivers if not any(re.fullmatch(rf"librte_{d}\.so\.\d+", f) for f in files)]


def wrong_user_data(binary):
    config = os.path.join(TOP, "cfg", "bng-vm.cfg")
    need = described(binary, config)
    text, wrong = seeds.user_data(config, need, seeds.packages(binary)), []
    data = yaml.safe_load(text)
    files = {f["path"]: f["content"] for f in data["write_files"]}
    if f"= {need['memory']['hugepages']['pages']}\n" not in files["/etc/sysctl.d/80-vbng.conf"]:
        wrong.append("huge pages are not those of the description")
    if "in 0000:00:10.0 0000:00:11.0 0000:00:12.0 0000:00:13.0; do" not in files["/usr/local/sbin/vbng-bind-ports"]:
        wrong.append("ports are not those of the configuration")
    if " /etc/vbng/cfg/bng-vm.cfg\n" not in files["/etc/systemd/system/vbng.service"]:
        wrong.append("the service runs another configuration")
    script = subprocess.run(["sh", "-n"], input=files["/usr/local/sbin/vbng-bind-ports"], text=True, capture_output=True)
    return wrong + [script.stderr] * (script.returncode != 0) + schema(text)


def schema(text):
    """What cloud-init itself says of it, where it is installed."""
    if shutil.which("cloud-init") is None:
        return []
    with tempfile.NamedTemporaryFile("w", prefix="vbng-user-data-") as f:
        f.write(text)
        f.flush()
        done = subprocess.run(["cloud-init", "schema", "--config-file", f.name], capture_output=True, text=True)
    return [] if done.returncode == 0 else [done.stdout + done.stderr]


def wrong_seed(binary, folder):
    if not shutil.which("xorriso"):
        return "xorriso is not installed (Debian package xorriso)"
    iso = os.path.join(folder, "seed.iso")
    seeds.make(os.path.join(TOP, "cfg", "bng-vm.cfg"), iso, "1x2x1", binary)
    subprocess.run(["xorriso", "-osirrox", "on", "-indev", iso, "-extract", "/", f"{folder}/disk"], check=True, capture_output=True)
    listed = subprocess.run(["tar", "tf", f"{folder}/disk/vbng.tar"], capture_output=True, text=True, check=True).stdout.split()
    wanted = {"usr/local/bin/vbng", "usr/local/bin/vbngctl", "etc/vbng/cfg/bng-vm.cfg", "etc/vbng/cfg/common/gateway.cfg",
              "etc/vbng/pkt_templates/cpe0.tmpl"}  # fmt: skip
    return sorted(wanted - set(listed)) + sorted({"user-data", "meta-data"} - set(os.listdir(f"{folder}/disk")))


def test_pod_asks_for_what_the_description_says(vbng):
    nothing(wrong_pod(vbng))


def test_containerfile_copies_what_is_installed(build):
    nothing(wrong_copies(str(build)))


def test_packages_of_the_image(vbng):
    """Found by ldd and dpkg: no list has to be kept."""
    need.program("dpkg-query", "dpkg")
    nothing(wrong_packages(vbng))


def test_packages_that_cannot_be_found(vbng):
    need.program("dpkg-query", "dpkg")
    assert packages(vbng, "--", "net_none")[::2] == (1, f"{DEPLOY}/packages: there is no DPDK driver net_none beside {eal(vbng)}\n")
    assert packages("/bin/true")[::2] == (1, f"{DEPLOY}/packages: /bin/true is not linked to DPDK's shared libraries\n")
    assert packages()[0] == 2


def test_user_data_for_cloud_init(vbng):
    nothing(wrong_user_data(vbng))


def test_seed_disk(vbng, folder):
    judge(wrong_seed(vbng, str(folder)))
